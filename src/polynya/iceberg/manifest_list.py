"""Manifest lists: the manifests of a snapshot, with what is needed to skip them, one Avro record a manifest.

| version | differs |
|---|---|
| 1 | no content and sequence numbers (they are 0); counts may be null, which means unknown |
| 2 | everything but key_metadata and partitions is there |
| 3 | data manifests have a first_row_id |

`partitions` has one summary for each field of the manifest's spec, in the order of the spec.
"""

import json
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec.avro import AvroSource, Column, encode_file
from polynya.iceberg import avro_file
from polynya.iceberg.avro_file import Member

DATA, DELETES = 0, 1
_FLAG, _BOUND = pa.bool_(), pa.binary()
SUMMARY = pa.struct({"contains_null": _FLAG, "contains_nan": _FLAG, "lower_bound": _BOUND, "upper_bound": _BOUND})
_LATER = (2, 3)
_ALL = (1, 2, 3)


def _member(
    id: int, name: str, type: pa.DataType, avro: object, versions: Sequence[int], required: Sequence[int]
) -> Member:
    column = Column(name, (name,), type, required=tuple(required) == _ALL)
    return Member(column, id, tuple(versions), tuple(required), avro)


_SUMMARY_RECORD = {
    "type": "record",
    "name": "r508",
    "fields": [
        avro_file.field_json("contains_null", 509, "boolean"),
        avro_file.field_json("contains_nan", 518, ["null", "boolean"]),
        avro_file.field_json("lower_bound", 510, ["null", "bytes"]),
        avro_file.field_json("upper_bound", 511, ["null", "bytes"]),
    ],
}
MEMBERS = (
    _member(500, "manifest_path", pa.string(), "string", _ALL, _ALL),
    _member(501, "manifest_length", pa.int64(), "long", _ALL, _ALL),
    _member(502, "partition_spec_id", pa.int32(), "int", _ALL, _ALL),
    _member(517, "content", pa.int32(), "int", _LATER, _LATER),
    _member(515, "sequence_number", pa.int64(), "long", _LATER, _LATER),
    _member(516, "min_sequence_number", pa.int64(), "long", _LATER, _LATER),
    _member(503, "added_snapshot_id", pa.int64(), "long", _ALL, _LATER),
    _member(504, "added_files_count", pa.int32(), "int", _ALL, _LATER),
    _member(505, "existing_files_count", pa.int32(), "int", _ALL, _LATER),
    _member(506, "deleted_files_count", pa.int32(), "int", _ALL, _LATER),
    _member(512, "added_rows_count", pa.int64(), "long", _ALL, _LATER),
    _member(513, "existing_rows_count", pa.int64(), "long", _ALL, _LATER),
    _member(514, "deleted_rows_count", pa.int64(), "long", _ALL, _LATER),
    _member(
        507, "partitions", pa.list_(SUMMARY), {"type": "array", "items": _SUMMARY_RECORD, "element-id": 508}, _ALL, ()
    ),
    _member(519, "key_metadata", pa.binary(), "bytes", _ALL, ()),
    _member(520, "first_row_id", pa.int64(), "long", (3,), ()),
)
SCHEMA = pa.schema([(one.column.name, one.column.type) for one in MEMBERS])
_ZERO_WHEN_ABSENT = ("content", "sequence_number", "min_sequence_number")
#: Names that some writers gave to counts; only files without field ids need them.
_LEGACY_NAMES = {
    "added_files_count": "added_data_files_count",
    "existing_files_count": "existing_data_files_count",
    "deleted_files_count": "deleted_data_files_count",
}


def decode(files: Sequence[AvroSource]) -> pa.Table:
    """The manifests that the lists name, in order; what version 1 lacks is 0 where that is its meaning, else null.

    Raises CorruptFileError naming the list.
    """
    decoded = avro_file.decode(files, [(one.column, one.field_id) for one in MEMBERS])
    table = decoded.table
    for name in _ZERO_WHEN_ABSENT:
        table = table.set_column(table.schema.get_field_index(name), name, pc.fill_null(table[name], 0))
    decoded.reject(pc.less(table["manifest_length"], 0), "manifest_length: expected 0 or more")
    decoded.reject(
        pc.invert(pc.is_in(table["content"], pa.array([DATA, DELETES], pa.int32()))), "content: expected 0 or 1"
    )
    return table


def encode(
    metas: pa.Table, version: int, header: Mapping[str, str], codec: str = "deflate", *, legacy_names: bool = False
) -> bytes:
    """A manifest list in the layout of a format version; `header` are its keys beside format-version."""
    members = [one for one in MEMBERS if version in one.versions]
    if legacy_names:
        members = [_renamed(one) for one in members]
    fields = [avro_file.member_json(one, version) for one in members]
    schema = json.dumps({"type": "record", "name": "manifest_file", "fields": fields}, separators=(",", ":"))
    columns = [one.column for one in members]
    return encode_file(schema, metas, columns, codec, metadata={**header, "format-version": str(version)})


def empty() -> pa.Table:
    """No manifests."""
    return SCHEMA.empty_table()


def _renamed(member: Member) -> Member:
    name = _LEGACY_NAMES.get(member.column.name)
    if name is None:
        return member
    column = Column(member.column.name, (name,), member.column.type, member.column.required)
    return Member(column, member.field_id, member.versions, member.required_in, member.type)
