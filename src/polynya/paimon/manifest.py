"""Manifests: which data files a commit adds and deletes, one Avro record a file.

| column | Avro field | meaning |
|---|---|---|
| kind | _KIND | 0 ADD, 1 DELETE |
| partition | _PARTITION | BinaryRow |
| bucket, total_buckets | _BUCKET, _TOTAL_BUCKETS | -1 and -2 where buckets are not counted |
| the rest | _FILE._... | the data file, see `COLUMNS` |

`creation_time` is the wall clock of the writer's zone. Keys and statistics are BinaryRows; `value_stats_cols` is null
where the statistics cover every column. Fields that older writers lack are null.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec.avro import AvroSource, Column, Decoded
from polynya.codec.avro_container import encode_long
from polynya.codec.binary_rows import decode_rows, encode_rows
from polynya.errors import InvalidInputError
from polynya.paimon import manifest_list
from polynya.paimon.avro_file import AvroKind, check_codes, check_file_names

VERSION = 2
ADD = 0
DELETE = 1
FILE_SOURCES = ("APPEND", "COMPACT")

#: What makes a file the same file: an ADD and a DELETE that agree on these cancel out.
IDENTITY = ("partition", "bucket", "level", "file_name", "extra_files", "embedded_file_index", "external_path")

_LONGS = pa.list_(pa.int64())
_STRINGS = pa.list_(pa.string())

COLUMNS = (
    Column("kind", ("_KIND",), pa.int8()),
    Column("partition", ("_PARTITION",), pa.binary()),
    Column("bucket", ("_BUCKET",), pa.int32()),
    Column("total_buckets", ("_TOTAL_BUCKETS",), pa.int32()),
    Column("file_name", ("_FILE", "_FILE_NAME"), pa.string()),
    Column("file_size", ("_FILE", "_FILE_SIZE"), pa.int64()),
    Column("row_count", ("_FILE", "_ROW_COUNT"), pa.int64()),
    Column("min_key", ("_FILE", "_MIN_KEY"), pa.binary()),
    Column("max_key", ("_FILE", "_MAX_KEY"), pa.binary()),
    Column("key_stats_min", ("_FILE", "_KEY_STATS", "_MIN_VALUES"), pa.binary()),
    Column("key_stats_max", ("_FILE", "_KEY_STATS", "_MAX_VALUES"), pa.binary()),
    Column("key_stats_null_counts", ("_FILE", "_KEY_STATS", "_NULL_COUNTS"), _LONGS, required=False),
    Column("value_stats_min", ("_FILE", "_VALUE_STATS", "_MIN_VALUES"), pa.binary()),
    Column("value_stats_max", ("_FILE", "_VALUE_STATS", "_MAX_VALUES"), pa.binary()),
    Column("value_stats_null_counts", ("_FILE", "_VALUE_STATS", "_NULL_COUNTS"), _LONGS, required=False),
    Column("min_sequence_number", ("_FILE", "_MIN_SEQUENCE_NUMBER"), pa.int64()),
    Column("max_sequence_number", ("_FILE", "_MAX_SEQUENCE_NUMBER"), pa.int64()),
    Column("schema_id", ("_FILE", "_SCHEMA_ID"), pa.int64()),
    Column("level", ("_FILE", "_LEVEL"), pa.int32()),
    Column("extra_files", ("_FILE", "_EXTRA_FILES"), _STRINGS),
    Column("creation_time", ("_FILE", "_CREATION_TIME"), pa.timestamp("ms"), required=False),
    Column("delete_row_count", ("_FILE", "_DELETE_ROW_COUNT"), pa.int64(), required=False),
    Column("embedded_file_index", ("_FILE", "_EMBEDDED_FILE_INDEX"), pa.binary(), required=False),
    Column("file_source", ("_FILE", "_FILE_SOURCE"), pa.int8(), required=False),
    Column("value_stats_cols", ("_FILE", "_VALUE_STATS_COLS"), _STRINGS, required=False),
    Column("external_path", ("_FILE", "_EXTERNAL_PATH"), pa.string(), required=False),
    Column("first_row_id", ("_FILE", "_FIRST_ROW_ID"), pa.int64(), required=False),
    Column("write_cols", ("_FILE", "_WRITE_COLS"), _STRINGS, required=False),
)

SCHEMA_TEXT = (
    '{"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated",'
    '"fields":[{"name":"_VERSION","type":"int"},{"name":"_KIND","type":"int"},'
    '{"name":"_PARTITION","type":"bytes"},{"name":"_BUCKET","type":"int"},'
    '{"name":"_TOTAL_BUCKETS","type":"int"},'
    '{"name":"_FILE","type":{"type":"record","name":"record__FILE","fields":[{"name":"_FILE_NAME",'
    '"type":"string"},{"name":"_FILE_SIZE","type":"long"},{"name":"_ROW_COUNT","type":"long"},'
    '{"name":"_MIN_KEY","type":"bytes"},{"name":"_MAX_KEY","type":"bytes"},'
    '{"name":"_KEY_STATS","type":{"type":"record","name":"record__FILE__KEY_STATS",'
    '"fields":[{"name":"_MIN_VALUES","type":"bytes"},{"name":"_MAX_VALUES","type":"bytes"},'
    '{"name":"_NULL_COUNTS","type":["null",{"type":"array","items":["null","long"]}],"default":null}]}},'
    '{"name":"_VALUE_STATS","type":{"type":"record","name":"record__FILE__VALUE_STATS",'
    '"fields":[{"name":"_MIN_VALUES","type":"bytes"},{"name":"_MAX_VALUES","type":"bytes"},'
    '{"name":"_NULL_COUNTS","type":["null",{"type":"array","items":["null","long"]}],"default":null}]}},'
    '{"name":"_MIN_SEQUENCE_NUMBER","type":"long"},{"name":"_MAX_SEQUENCE_NUMBER","type":"long"},'
    '{"name":"_SCHEMA_ID","type":"long"},{"name":"_LEVEL","type":"int"},'
    '{"name":"_EXTRA_FILES","type":{"type":"array","items":"string"}},'
    '{"name":"_CREATION_TIME","type":["null",{"type":"long","logicalType":"timestamp-millis"}],"default":null},'
    '{"name":"_DELETE_ROW_COUNT","type":["null","long"],"default":null},'
    '{"name":"_EMBEDDED_FILE_INDEX","type":["null","bytes"],"default":null},'
    '{"name":"_FILE_SOURCE","type":["null","int"],"default":null},'
    '{"name":"_VALUE_STATS_COLS","type":["null",{"type":"array","items":"string"}],"default":null},'
    '{"name":"_EXTERNAL_PATH","type":["null","string"],"default":null},'
    '{"name":"_FIRST_ROW_ID","type":["null","long"],"default":null},'
    '{"name":"_WRITE_COLS","type":["null",{"type":"array","items":"string"}],"default":null}]}}]}'
)

_RANGES = ("min_bucket", "max_bucket", "min_level", "max_level")
_MERGED = (*_RANGES, "num_added_files", "num_deleted_files", "partition_stats_min", "partition_stats_max", "schema_id")

_KIND = AvroKind("manifest", VERSION, SCHEMA_TEXT, COLUMNS)
SCHEMA = _KIND.schema
_EMPTY = SCHEMA.empty_table()


def decode(files: Sequence[AvroSource], columns: Sequence[str] | None = None) -> pa.Table:
    """The entries of the manifests in order, all columns of `SCHEMA` or the named ones.

    Raises CorruptFileError naming the manifest, UnsupportedError for another version of the format.
    """
    return decode_sources(files, columns).table


def decode_sources(
    files: Sequence[AvroSource], columns: Sequence[str] | None = None, partitions: Sequence[bytes] = ()
) -> Decoded:
    """As `decode`, with where the entries of each manifest end; at least the entries of the partitions, if given."""
    decoded = _KIND.decode(files, columns, partitions)
    check_codes(decoded, "kind", "ADD", "DELETE")
    check_codes(decoded, "file_source", *FILE_SOURCES)
    _check_buckets(decoded)
    check_file_names(decoded, "file_name")
    check_file_names(decoded, "extra_files")
    return decoded


def _check_buckets(decoded: Decoded) -> None:
    """No bucket is below -2, the one of postponed rows: a reader that hides it would hide rows."""
    if "bucket" in decoded.table.column_names:
        decoded.reject(pc.less(decoded.table["bucket"], -2), "_BUCKET: expected -2 or more, found less")


def encode(entries: pa.Table, codec: str = "zstandard", level: int | None = 1) -> bytes:
    """A manifest of the entries, in the layout of Paimon 2.0; `level` is that of zstandard."""
    return _KIND.encode(entries, codec, level, indexed="partition")


def record_head(kind: int, partition: bytes, bucket: int, total_buckets: int, file_name: str) -> bytes:
    """The bytes that the record of an entry begins with, up to and with its file name."""
    name = file_name.encode()
    numbers = (VERSION, kind, len(partition)), (bucket, total_buckets, len(name))
    before, behind = (b"".join(map(encode_long, group)) for group in numbers)
    return before + partition + behind + name


def empty() -> pa.Table:
    """No entries."""
    return _EMPTY


def meta_of(entries: pa.Table, file_name: str, file_size: int, partition_types: Sequence[pa.DataType]) -> pa.Table:
    """The row of a manifest list that describes a manifest of these entries, of which there is at least one.

    Needs the columns kind, partition, bucket, level, schema_id, row_count and first_row_id.
    """
    if not entries.num_rows:
        raise InvalidInputError(f"manifest '{file_name}': expected at least one entry, found none")
    deleted = pc.sum(pc.equal(entries["kind"], DELETE)).as_py()
    buckets = pc.min_max(entries["bucket"]).as_py()
    levels = pc.min_max(entries["level"]).as_py()
    row = {
        "file_name": file_name,
        "file_size": file_size,
        "num_added_files": entries.num_rows - deleted,
        "num_deleted_files": deleted,
        **_partition_stats(entries["partition"], partition_types, file_name),
        "schema_id": pc.max(entries["schema_id"]).as_py(),
        "min_bucket": buckets["min"],
        "max_bucket": buckets["max"],
        "min_level": levels["min"],
        "max_level": levels["max"],
        **_row_ids(entries),
    }
    return pa.Table.from_pylist([row], manifest_list.SCHEMA)


def can_merge_metas(metas: pa.Table) -> bool:
    """Whether the rows of a list tell all that `merged_meta` needs: older writers left some of it out."""
    counts = metas["partition_stats_null_counts"]
    known = [metas[name] for name in _MERGED] + [counts, pc.list_flatten(counts)]
    return (
        not any(column.null_count for column in known) and not pc.any(pc.greater(metas["num_deleted_files"], 0)).as_py()
    )


def merged_meta(metas: pa.Table, file_name: str, file_size: int, partition_types: Sequence[pa.DataType]) -> pa.Table:
    """The row of a manifest list for a manifest that holds all entries of others, by the rows of these."""
    low, high = (
        decode_rows(metas[f"partition_stats_{end}"], partition_types, name=f"partition statistics of '{file_name}'")
        for end in ("min", "max")
    )
    nulls = np.sum([list(counts) for counts in metas["partition_stats_null_counts"].to_pylist()], axis=0, dtype=int)
    row = {
        "file_name": file_name,
        "file_size": file_size,
        "num_added_files": pc.sum(metas["num_added_files"]).as_py(),
        "num_deleted_files": 0,
        "partition_stats_min": encode_rows([_bounds(column)[0] for column in low], row_count=1)[0].as_py(),
        "partition_stats_max": encode_rows([_bounds(column)[1] for column in high], row_count=1)[0].as_py(),
        "partition_stats_null_counts": nulls.tolist(),
        "schema_id": pc.max(metas["schema_id"]).as_py(),
        **{name: (pc.min if name.startswith("min") else pc.max)(metas[name]).as_py() for name in _RANGES},
        **_merged_row_ids(metas),
    }
    return pa.Table.from_pylist([row], manifest_list.SCHEMA)


def _merged_row_ids(metas: pa.Table) -> dict[str, int | None]:
    low, high = metas["min_row_id"], metas["max_row_id"]
    if low.null_count or high.null_count:
        return {"min_row_id": None, "max_row_id": None}
    return {"min_row_id": pc.min(low).as_py(), "max_row_id": pc.max(high).as_py()}


def _row_ids(entries: pa.Table) -> dict[str, int | None]:
    first = entries["first_row_id"]
    if first.null_count:
        return {"min_row_id": None, "max_row_id": None}
    last = pc.subtract(pc.add(first, entries["row_count"]), 1)
    return {"min_row_id": pc.min(first).as_py(), "max_row_id": pc.max(last).as_py()}


def _partition_stats(partitions: pa.ChunkedArray, types: Sequence[pa.DataType], name: str) -> dict[str, object]:
    counted = pc.value_counts(partitions)
    if isinstance(counted, pa.ChunkedArray):
        counted = counted.combine_chunks()
    counts = counted.field("counts")
    columns = decode_rows(counted.field("values"), types, name=name)
    bounds = [_bounds(column) for column in columns]
    nulls = [pc.sum(pc.if_else(column.is_null(), counts, 0)).as_py() for column in columns]
    return {
        "partition_stats_min": encode_rows([low for low, _ in bounds], row_count=1)[0].as_py(),
        "partition_stats_max": encode_rows([high for _, high in bounds], row_count=1)[0].as_py(),
        "partition_stats_null_counts": nulls,
    }


def _bounds(column: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The least and the greatest value as arrays of one, nulls aside; NaN is the greatest, -0.0 is below 0.0."""
    values = column.drop_null()
    if not len(values):
        return pa.nulls(1, column.type), pa.nulls(1, column.type)
    if pa.types.is_floating(column.type):
        numbers = values.to_numpy()
        order = np.lexsort((~np.signbit(numbers), numbers))
        return values.take([order[0]]), values.take([order[-1]])
    bounds = pc.min_max(values)
    return pa.array([bounds["min"].as_py()], column.type), pa.array([bounds["max"].as_py()], column.type)
