"""Where data files are: the path of every file of a plan, from its partition, bucket and name.

A file with an external path stands where that says, provided the table's options declare the place; every other file
stands in its bucket's folder under the table. Partition values are never taken from paths, only put into them.
"""

import os
from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec import binary_rows
from polynya.errors import CorruptFileError
from polynya.model import partition
from polynya.model.arrow_types import to_arrow_type
from polynya.model.options_data import (
    DATA_FILE_EXTERNAL_PATHS,
    DATA_FILE_PATH_DIRECTORY,
    PARTITION_DEFAULT_NAME,
    PARTITION_LEGACY_NAME,
)
from polynya.model.schema import Schema
from polynya.paimon import layout


def partition_names(schema: Schema) -> partition.PartitionNames:
    """How the table writes partition values into paths."""
    options = schema.options
    return partition.PartitionNames(
        default_name=PARTITION_DEFAULT_NAME.of(options),
        legacy=PARTITION_LEGACY_NAME.of(options),
        zone=local_zone(),
    )


def local_zone() -> tzinfo:
    """The zone of this process, in which instants are shown in paths."""
    name = os.environ.get("TZ", "").lstrip(":") or os.path.realpath("/etc/localtime").partition("zoneinfo/")[2]
    try:
        return ZoneInfo(name) if name else UTC
    except (ZoneInfoNotFoundError, ValueError):
        return datetime.now().astimezone().tzinfo or UTC


def partition_paths(partitions: pa.Array, schema: Schema) -> pa.Array:
    """The folder of each partition row, with a slash at its end; empty for a table without partitions."""
    if not schema.partition_by:
        return pa.repeat(pa.scalar(""), len(partitions))
    fields = schema.partition_fields
    types = [to_arrow_type(field.type) for field in fields]
    columns = binary_rows.decode_rows(partitions, types, name="partition of a manifest entry")
    return partition.paths(columns, fields, partition_names(schema))


def bucket_folder(partition_row: bytes, bucket: int, schema: Schema) -> str:
    """The folder of one bucket, relative to the table."""
    path = partition_paths(pa.array([partition_row], pa.binary()), schema)[0].as_py()
    return layout.data_folder(path, bucket, DATA_FILE_PATH_DIRECTORY.find(schema.options))


def data_paths(files: pa.Table, schema: Schema) -> pa.Array:
    """The path of each data file: relative to the table, or the URL of an external path."""
    folders = data_folders(files, schema)
    inside = pc.binary_join_element_wise(folders, _flat(files["file_name"]), "/")
    external = _flat(files["external_path"])
    if external.null_count == len(external):
        return inside
    require_declared(pc.unique(pc.drop_null(external)).to_pylist(), schema)
    return pc.coalesce(external, inside)


def has_external_paths(schema: Schema) -> bool:
    """Whether files of the table may stand outside of it."""
    return bool(DATA_FILE_EXTERNAL_PATHS.find(schema.options))


def data_folders(files: pa.Table, schema: Schema) -> pa.Array:
    """The bucket folder of each file, relative to the table; the text of a partition is made once."""
    codes = _flat(files["partition"]).dictionary_encode()
    partitions = partition_paths(codes.dictionary, schema).take(codes.indices)
    buckets = _flat(files["bucket"]).dictionary_encode()
    names = pa.array([layout.bucket_folder(bucket) for bucket in buckets.dictionary.to_pylist()], pa.string())
    directory = layout.data_folder("", 0, DATA_FILE_PATH_DIRECTORY.find(schema.options)).removesuffix(
        layout.bucket_folder(0)
    )
    return pc.binary_join_element_wise(directory, partitions, names.take(buckets.indices), "")


def require_declared(urls: Sequence[str], schema: Schema) -> None:
    """Raise CorruptFileError for a URL outside of the external paths that the table's options declare."""
    roots = (DATA_FILE_EXTERNAL_PATHS.find(schema.options) or "").split(",")
    declared = [_plain_url(root.strip()).rstrip("/") + "/" for root in roots if root.strip()]
    for url in urls:
        if not any(_plain_url(url).startswith(root) for root in declared) or ".." in url.split("/") or "\0" in url:
            raise CorruptFileError(
                f"data file '{url}': expected a path under 'data-file.external-paths' ({', '.join(declared) or 'none'})"
            )


def _plain_url(url: str) -> str:
    """The URL with one slash after `file:`, as some writers have it."""
    return "file:/" + url.removeprefix("file:").lstrip("/") if url.startswith("file:") else url


def _flat(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks()
