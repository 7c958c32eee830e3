"""Manifest lists: the manifests of a snapshot, with what is needed to skip them, one Avro record a manifest.

Statistics are over all entries, added and deleted. `min_row_id` and `max_row_id` are null unless every entry has a
first row id. Bucket, level and row id ranges are null in lists of older writers.
"""

from collections.abc import Sequence

import pyarrow as pa

from polynya.codec.avro import AvroSource, Column
from polynya.paimon.avro_file import AvroKind, check_file_names

VERSION = 2

COLUMNS = (
    Column("file_name", ("_FILE_NAME",), pa.string()),
    Column("file_size", ("_FILE_SIZE",), pa.int64()),
    Column("num_added_files", ("_NUM_ADDED_FILES",), pa.int64()),
    Column("num_deleted_files", ("_NUM_DELETED_FILES",), pa.int64()),
    Column("partition_stats_min", ("_PARTITION_STATS", "_MIN_VALUES"), pa.binary()),
    Column("partition_stats_max", ("_PARTITION_STATS", "_MAX_VALUES"), pa.binary()),
    Column("partition_stats_null_counts", ("_PARTITION_STATS", "_NULL_COUNTS"), pa.list_(pa.int64()), required=False),
    Column("schema_id", ("_SCHEMA_ID",), pa.int64()),
    Column("min_bucket", ("_MIN_BUCKET",), pa.int32(), required=False),
    Column("max_bucket", ("_MAX_BUCKET",), pa.int32(), required=False),
    Column("min_level", ("_MIN_LEVEL",), pa.int32(), required=False),
    Column("max_level", ("_MAX_LEVEL",), pa.int32(), required=False),
    Column("min_row_id", ("_MIN_ROW_ID",), pa.int64(), required=False),
    Column("max_row_id", ("_MAX_ROW_ID",), pa.int64(), required=False),
)

SCHEMA_TEXT = (
    '{"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated",'
    '"fields":[{"name":"_VERSION","type":"int"},{"name":"_FILE_NAME","type":"string"},'
    '{"name":"_FILE_SIZE","type":"long"},{"name":"_NUM_ADDED_FILES","type":"long"},'
    '{"name":"_NUM_DELETED_FILES","type":"long"},'
    '{"name":"_PARTITION_STATS","type":{"type":"record","name":"record__PARTITION_STATS",'
    '"fields":[{"name":"_MIN_VALUES","type":"bytes"},{"name":"_MAX_VALUES","type":"bytes"},'
    '{"name":"_NULL_COUNTS","type":["null",{"type":"array","items":["null","long"]}],"default":null}]}},'
    '{"name":"_SCHEMA_ID","type":"long"},{"name":"_MIN_BUCKET","type":["null","int"],"default":null},'
    '{"name":"_MAX_BUCKET","type":["null","int"],"default":null},'
    '{"name":"_MIN_LEVEL","type":["null","int"],"default":null},'
    '{"name":"_MAX_LEVEL","type":["null","int"],"default":null},'
    '{"name":"_MIN_ROW_ID","type":["null","long"],"default":null},'
    '{"name":"_MAX_ROW_ID","type":["null","long"],"default":null}]}'
)

_KIND = AvroKind("manifest list", VERSION, SCHEMA_TEXT, COLUMNS)
SCHEMA = _KIND.schema


def decode(files: Sequence[AvroSource], columns: Sequence[str] | None = None) -> pa.Table:
    """The manifests that the lists name, in order, all columns of `SCHEMA` or the named ones.

    Raises CorruptFileError naming the list, UnsupportedError for another version of the format.
    """
    decoded = _KIND.decode(files, columns)
    check_file_names(decoded, "file_name")
    return decoded.table


def encode(metas: pa.Table, codec: str = "zstandard", level: int | None = 1) -> bytes:
    """A manifest list of the manifests; `level` is that of zstandard."""
    return _KIND.encode(metas, codec, level)


def empty() -> pa.Table:
    """No manifests."""
    return SCHEMA.empty_table()
