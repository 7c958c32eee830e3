"""Index manifests: all index files of a snapshot, one Avro record a file.

| index_type | the file | row_count |
|---|---|---|
| HASH | the key hashes of a bucket | number of hashes |
| DELETION_VECTORS | deletion vectors of data files, found by `dv_ranges` | number of vectors |
| others | a global index over row ids, described by `global_index` | rows |

`row_range_end` is inclusive. The length in `dv_ranges` counts as the vector's version does: see `deletion_file`.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec.avro import AvroSource, Column, Decoded
from polynya.paimon.avro_file import AvroKind, check_codes, check_file_names

VERSION = 1
DELETION_VECTORS = "DELETION_VECTORS"

#: Names in the table, and in the file.
_RANGE_NAMES = {"file_name": "f0", "offset": "f1", "length": "f2", "cardinality": "_CARDINALITY"}
_GLOBAL_NAMES = {
    "row_range_start": "_ROW_RANGE_START",
    "row_range_end": "_ROW_RANGE_END",
    "index_field_id": "_INDEX_FIELD_ID",
    "extra_field_ids": "_EXTRA_FIELD_IDS",
    "index_meta": "_INDEX_META",
    "source_meta": "_SOURCE_META",
}
_RANGE_TYPES = (pa.string(), pa.int32(), pa.int32(), pa.int64())
_GLOBAL_TYPES = (pa.int64(), pa.int64(), pa.int32(), pa.list_(pa.int32()), pa.binary(), pa.binary())

RANGE = pa.struct(list(zip(_RANGE_NAMES, _RANGE_TYPES, strict=True)))
GLOBAL_INDEX = pa.struct(list(zip(_GLOBAL_NAMES, _GLOBAL_TYPES, strict=True)))
_STORED_RANGE = pa.struct(list(zip(_RANGE_NAMES.values(), _RANGE_TYPES, strict=True)))
_STORED_GLOBAL_INDEX = pa.struct(list(zip(_GLOBAL_NAMES.values(), _GLOBAL_TYPES, strict=True)))

COLUMNS = (
    Column("kind", ("_KIND",), pa.int8()),
    Column("partition", ("_PARTITION",), pa.binary()),
    Column("bucket", ("_BUCKET",), pa.int32()),
    Column("index_type", ("_INDEX_TYPE",), pa.string()),
    Column("file_name", ("_FILE_NAME",), pa.string()),
    Column("file_size", ("_FILE_SIZE",), pa.int64()),
    Column("row_count", ("_ROW_COUNT",), pa.int64()),
    Column("dv_ranges", ("_DELETIONS_VECTORS_RANGES",), pa.list_(_STORED_RANGE), required=False),
    Column("external_path", ("_EXTERNAL_PATH",), pa.string(), required=False),
    Column("global_index", ("_GLOBAL_INDEX",), _STORED_GLOBAL_INDEX, required=False),
)

SCHEMA_TEXT = (
    '{"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated",'
    '"fields":[{"name":"_VERSION","type":"int"},{"name":"_KIND","type":"int"},'
    '{"name":"_PARTITION","type":"bytes"},{"name":"_BUCKET","type":"int"},'
    '{"name":"_INDEX_TYPE","type":"string"},{"name":"_FILE_NAME","type":"string"},'
    '{"name":"_FILE_SIZE","type":"long"},{"name":"_ROW_COUNT","type":"long"},'
    '{"name":"_DELETIONS_VECTORS_RANGES","type":["null",{"type":"array","items":["null",{"type":"record",'
    '"name":"record__DELETIONS_VECTORS_RANGES","fields":[{"name":"f0","type":"string"},'
    '{"name":"f1","type":"int"},{"name":"f2","type":"int"},'
    '{"name":"_CARDINALITY","type":["null","long"],"default":null}]}]}],"default":null},'
    '{"name":"_EXTERNAL_PATH","type":["null","string"],"default":null},'
    '{"name":"_GLOBAL_INDEX","type":["null",{"type":"record","name":"record__GLOBAL_INDEX",'
    '"fields":[{"name":"_ROW_RANGE_START","type":"long"},{"name":"_ROW_RANGE_END","type":"long"},'
    '{"name":"_INDEX_FIELD_ID","type":"int"},'
    '{"name":"_EXTRA_FIELD_IDS","type":["null",{"type":"array","items":"int"}],"default":null},'
    '{"name":"_INDEX_META","type":["null","bytes"],"default":null},'
    '{"name":"_SOURCE_META","type":["null","bytes"],"default":null}]}],"default":null}]}'
)

_KIND = AvroKind("index manifest", VERSION, SCHEMA_TEXT, COLUMNS)
_TYPES = {"dv_ranges": pa.list_(RANGE), "global_index": GLOBAL_INDEX}
SCHEMA = pa.schema([(field.name, _TYPES.get(field.name, field.type)) for field in _KIND.schema])
_EMPTY = SCHEMA.empty_table()


def decode(files: Sequence[AvroSource], columns: Sequence[str] | None = None) -> pa.Table:
    """The index files that the index manifests name, in order, all columns of `SCHEMA` or the named ones.

    Raises CorruptFileError naming the index manifest, UnsupportedError for another version of the format.
    """
    decoded = _KIND.decode(files, columns)
    check_codes(decoded, "kind", "ADD", "DELETE")
    check_file_names(decoded, "file_name")
    _check_ranges(decoded)
    return _renamed(decoded.table, SCHEMA)


def encode(entries: pa.Table, codec: str = "zstandard", level: int | None = 1) -> bytes:
    """An index manifest of the entries; `level` is that of zstandard."""
    return _KIND.encode(_renamed(entries, _KIND.schema), codec, level)


def empty() -> pa.Table:
    """No index files."""
    return _EMPTY


def _check_ranges(decoded: Decoded) -> None:
    """Raise CorruptFileError where ranges and type contradict each other: deleted rows would come back unnoticed."""
    if not {"index_type", "dv_ranges"} <= set(decoded.table.column_names):
        return
    ranges, types = decoded.table["dv_ranges"], decoded.table["index_type"]
    contradicts = pc.xor(pc.is_valid(ranges), pc.equal(types, DELETION_VECTORS))
    decoded.reject(contradicts, f"dv_ranges: expected with index_type {DELETION_VECTORS} and no other", "index_type")
    if pc.list_flatten(ranges).null_count:
        absent = pc.list_parent_indices(ranges).filter(pc.is_null(pc.list_flatten(ranges)))
        rows = pc.is_in(pa.array(range(len(ranges))), value_set=absent.unique().cast(pa.int64()))
        decoded.reject(rows, "dv_ranges: expected a range for each vector, found null")


def _renamed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table with the nested field names of the schema, member by member."""
    for index, name in enumerate(table.column_names):
        if name in _TYPES:
            type = schema.field(name).type
            array = pa.chunked_array([_retyped(chunk, type) for chunk in table[name].chunks], type)
            table = table.set_column(index, name, array)
    return table


def _retyped(array: pa.Array, type: pa.DataType) -> pa.Array:
    """The same values under a type that differs in the names of struct members only."""
    if pa.types.is_list(type):
        ends = np.cumsum(pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False))
        # A null offset makes a null list.
        absent = np.append(array.is_null().to_numpy(zero_copy_only=False), False)
        offsets = pa.array(np.insert(ends, 0, 0), pa.int32(), mask=absent)
        return pa.ListArray.from_arrays(offsets, _retyped(array.flatten(), type.value_type), type=type)
    return pa.StructArray.from_arrays(array.flatten(), fields=list(type), mask=array.is_null())
