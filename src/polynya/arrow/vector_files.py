"""Deletion vectors of a table, read and written as index files."""

from collections.abc import Iterable, Mapping

import pyarrow as pa

from polynya.codec.bitmap import Bitmap
from polynya.codec.deletion_vector import encode_vector
from polynya.model.options_data import INDEX_FILE_IN_DATA_FILE_DIR
from polynya.model.options_keys import DELETION_VECTOR_INDEX_FILE_TARGET_SIZE
from polynya.model.schema import Schema
from polynya.paimon import deletion_file, index_manifest, layout
from polynya.storage.protocol import Storage
from polynya.table.edit import DELETION_VECTORS
from polynya.table.entries import ADD
from polynya.table.paths import bucket_folder


def read_vectors(storage: Storage, index: pa.Table, schema: Schema) -> dict[str, Bitmap]:
    """Every vector of these index files, by data file."""
    vectors: dict[str, Bitmap] = {}
    for path, ranges in zip(vector_paths(index, schema), index["dv_ranges"], strict=True):
        vectors |= deletion_file.decode_file(storage.read(path), ranges.values, name=path)
    return vectors


def write_vectors(
    storage: Storage,
    schema: Schema,
    place: tuple[bytes, int],
    vectors: Mapping[str, Bitmap],
    *,
    uuid: str,
    in_one_file: bool,
) -> pa.Table:
    """Write the vectors of a partition and bucket, and return the rows that add them to the index manifest.

    A table with buckets has its vectors `in_one_file`; others roll at 'deletion-vector.index-file.target-size'.
    """
    partition, bucket = place
    limit = None if in_one_file else DELETION_VECTOR_INDEX_FILE_TARGET_SIZE.of(schema.options)
    rows = []
    for number, part in enumerate(_rolled(vectors, limit)):
        name = layout.index_name(uuid, number)
        data, ranges = deletion_file.encode_file(part)
        storage.put(_path(name, partition, bucket, schema), data)
        rows.append(
            {
                "kind": ADD,
                "partition": partition,
                "bucket": bucket,
                "index_type": DELETION_VECTORS,
                "file_name": name,
                "file_size": len(data),
                "row_count": len(part),
                "dv_ranges": ranges.to_pylist(),
            }
        )
    return pa.Table.from_pylist(rows, schema=index_manifest.SCHEMA)


def vector_paths(index: pa.Table, schema: Schema) -> list[str]:
    """The paths of the index files."""
    rows = zip(*(index[name].to_pylist() for name in ("file_name", "partition", "bucket")), strict=True)
    return [_path(name, partition, bucket, schema) for name, partition, bucket in rows]


def _rolled(vectors: Mapping[str, Bitmap], limit_bytes: int | None) -> Iterable[dict[str, Bitmap]]:
    part: dict[str, Bitmap] = {}
    size = 0
    for name, vector in vectors.items():
        part[name] = vector
        size += len(encode_vector(vector)[0]) if limit_bytes is not None else 0
        if limit_bytes is not None and size >= limit_bytes:
            yield part
            part, size = {}, 0
    if part:
        yield part


def _path(name: str, partition: bytes, bucket: int, schema: Schema) -> str:
    if INDEX_FILE_IN_DATA_FILE_DIR.of(schema.options):
        return f"{bucket_folder(partition, bucket, schema)}/{name}"
    return layout.index_path(name)
