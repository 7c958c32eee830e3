"""Manifests: data files or delete files, with what is known of each, one Avro record a file.

| column | meaning |
|---|---|
| status | 0 EXISTING, 1 ADDED, 2 DELETED |
| snapshot_id, sequence_number, file_sequence_number | null: inherited from the manifest list, see `inherit` |
| content | 0 data, 1 position deletes or a deletion vector, 2 equality deletes |
| partition_<id> | the value of the partition field with that id, in its own type |
| column_sizes ... upper_bounds | pairs of column id and value |
| the rest | as named in Iceberg |

Which columns a partition has, and their types, is told by the spec of the manifest list; manifests are decoded
together that share one.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec.avro import AvroSource, Column, Decoded, decode_columns, encode_file
from polynya.errors import CorruptFileError
from polynya.iceberg import avro_file, bounds, manifest_list, partition_values
from polynya.iceberg.avro_file import Member
from polynya.iceberg.partition_values import PartitionColumn, Stored, column_name

EXISTING, ADDED, DELETED = 0, 1, 2
DATA, POSITION_DELETES, EQUALITY_DELETES = 0, 1, 2
_ALL, _LATER, _V3 = (1, 2, 3), (2, 3), (3,)
_BLOCK_BYTES = 67108864


def _pairs(value: pa.DataType) -> pa.DataType:
    return pa.list_(pa.struct([("key", pa.int32()), ("value", value)]))


COUNTS, BOUNDS = _pairs(pa.int64()), _pairs(pa.binary())


def _entry(
    id: int, name: str, type: pa.DataType, avro: str, versions: Sequence[int], required: Sequence[int]
) -> Member:
    column = Column(name, (name,), type, required=tuple(required) == _ALL)
    return Member(column, id, tuple(versions), tuple(required), avro)


def _file(
    id: int, name: str, type: pa.DataType, avro: object, versions: Sequence[int], required: Sequence[int]
) -> Member:
    column = Column(name, ("data_file", name), type, required=tuple(required) == _ALL)
    return Member(column, id, tuple(versions), tuple(required), avro)


ENTRY = (
    _entry(0, "status", pa.int32(), "int", _ALL, _ALL),
    _entry(1, "snapshot_id", pa.int64(), "long", _ALL, ()),
    _entry(3, "sequence_number", pa.int64(), "long", _LATER, ()),
    _entry(4, "file_sequence_number", pa.int64(), "long", _LATER, ()),
)
FILE = (
    _file(134, "content", pa.int32(), "int", _LATER, _LATER),
    _file(100, "file_path", pa.string(), "string", _ALL, _ALL),
    _file(101, "file_format", pa.string(), "string", _ALL, _ALL),
    _file(103, "record_count", pa.int64(), "long", _ALL, _ALL),
    _file(104, "file_size_in_bytes", pa.int64(), "long", _ALL, _ALL),
    _file(108, "column_sizes", COUNTS, avro_file.map_of(117, 118, "long"), _ALL, ()),
    _file(109, "value_counts", COUNTS, avro_file.map_of(119, 120, "long"), _ALL, ()),
    _file(110, "null_value_counts", COUNTS, avro_file.map_of(121, 122, "long"), _ALL, ()),
    _file(137, "nan_value_counts", COUNTS, avro_file.map_of(138, 139, "long"), _ALL, ()),
    _file(125, "lower_bounds", BOUNDS, avro_file.map_of(126, 127, "bytes"), _ALL, ()),
    _file(128, "upper_bounds", BOUNDS, avro_file.map_of(129, 130, "bytes"), _ALL, ()),
    _file(131, "key_metadata", pa.binary(), "bytes", _ALL, ()),
    _file(132, "split_offsets", pa.list_(pa.int64()), {"type": "array", "items": "long", "element-id": 133}, _ALL, ()),
    _file(135, "equality_ids", pa.list_(pa.int32()), {"type": "array", "items": "int", "element-id": 136}, _LATER, ()),
    _file(140, "sort_order_id", pa.int32(), "int", _ALL, ()),
    _file(142, "first_row_id", pa.int64(), "long", _V3, ()),
    _file(143, "referenced_data_file", pa.string(), "string", _LATER, ()),
    _file(144, "content_offset", pa.int64(), "long", _V3, ()),
    _file(145, "content_size_in_bytes", pa.int64(), "long", _V3, ()),
)
_BLOCK_SIZE = _file(105, "block_size_in_bytes", pa.int64(), "long", (1,), (1,))
MEMBERS = (*ENTRY, *FILE)
_BY_NAME = {one.column.name: one for one in MEMBERS}
PLAIN_SCHEMA = pa.schema([(one.column.name, one.column.type) for one in MEMBERS])


@dataclass(frozen=True)
class Header:
    """What the header of a manifest says of the table, as JSON texts, beside its format."""

    schema: str
    schema_id: int
    partition_spec: str
    partition_spec_id: int
    content: int

    def keys(self, version: int) -> dict[str, str]:
        """The keys of the header."""
        known = {
            "schema": self.schema,
            "schema-id": str(self.schema_id),
            "partition-spec": self.partition_spec,
            "partition-spec-id": str(self.partition_spec_id),
            "format-version": str(version),
        }
        return known if version == 1 else {**known, "content": "deletes" if self.content else "data"}


def no_counts(count: int) -> pa.Array:
    """Empty maps of counts."""
    return pa.ListArray.from_arrays(np.zeros(count + 1, np.int32), pa.array([], COUNTS.value_type), type=COUNTS)


def schema_of(partition: Sequence[PartitionColumn]) -> pa.Schema:
    """The schema of a decoded table."""
    return pa.schema([*PLAIN_SCHEMA, *((column_name(one.field_id), one.type) for one in partition)])


def decode(
    files: Sequence[AvroSource], partition: Sequence[PartitionColumn], columns: Sequence[str] | None = None
) -> Decoded:
    """The entries of manifests of one spec in order: status, the named columns (all when None), the partition's.

    Raises CorruptFileError naming the manifest.
    """
    try:
        return _decode(files, partition, columns)
    except CorruptFileError:
        sources = [partition_values.find_unsized(one) for one in files]
        if not any(sources):
            raise
        pairs = zip(files, sources, strict=True)
        parts = [_decode_either(file, unsized, partition, columns) for file, unsized in pairs]
    return avro_file.joined(parts, parts[0].table.schema)


def _decode_either(
    file: AvroSource, unsized: AvroSource | None, partition: Sequence[PartitionColumn], columns: Sequence[str] | None
) -> Decoded:
    """A manifest as its schema says, or else with sizes before fixed partition values, as Java Iceberg writes them."""
    try:
        return _decode([file], partition, columns)
    except CorruptFileError:
        if unsized is None:
            raise
        return _decode([unsized], partition, columns)


def _decode(
    files: Sequence[AvroSource], partition: Sequence[PartitionColumn], columns: Sequence[str] | None
) -> Decoded:
    names = list(dict.fromkeys(("status", *(PLAIN_SCHEMA.names if columns is None else columns))))
    members = [(_BY_NAME[name].column, _BY_NAME[name].field_id) for name in names]
    how = [_resolved(one, members, partition) for one in files]
    parts = []
    for (plain, stored), group in groupby(zip(files, how, strict=True), lambda pair: pair[1]):
        sources = [source for source, _ in group]
        decoded = decode_columns(sources, (*plain, *partition_values.raw_columns(stored)))
        values = partition_values.typed(decoded.table, partition, stored, name=sources[0].name)
        table = pa.table([*(decoded.table[name] for name in names), *values], _schema(names, partition))
        parts.append(Decoded(table, decoded.names, decoded.row_ends))
    whole = parts[0] if len(parts) == 1 else avro_file.joined(parts, _schema(names, partition))
    return Decoded(_checked(whole), whole.names, whole.row_ends)


def _resolved(
    file: AvroSource, members: Sequence[tuple[Column, int]], partition: Sequence[PartitionColumn]
) -> tuple[tuple[Column, ...], tuple[Stored | None, ...]]:
    """Where a manifest has the columns, and how it stores the partition."""
    by_id = avro_file.fields_by_id(avro_file.header_schema(file), file.name)
    stored = partition_values.find_stored(by_id, partition, name=file.name)
    return avro_file.resolve_by_id(by_id, members), stored


def _schema(names: Sequence[str], partition: Sequence[PartitionColumn]) -> pa.Schema:
    plain = [PLAIN_SCHEMA.field(name) for name in names]
    return pa.schema([*plain, *((column_name(one.field_id), one.type) for one in partition)])


def encode(
    entries: pa.Table, partition: Sequence[PartitionColumn], header: Header, version: int, codec: str = "deflate"
) -> bytes:
    """A manifest of the entries, which have the columns of `schema_of`, in the layout of a format version."""
    entry = [one for one in ENTRY if version in one.versions]
    file = [one for one in FILE if version in one.versions]
    if version == 1:
        entries = entries.append_column("block_size_in_bytes", pa.repeat(_BLOCK_BYTES, entries.num_rows))
        file.insert(next(i for i, one in enumerate(file) if one.field_id == 104) + 1, _BLOCK_SIZE)
    stored, columns = partition_values.to_stored(entries, partition)
    place = next(i for i, one in enumerate(file) if one.field_id == 101) + 1
    fields = [avro_file.member_json(one, version) for one in file]
    fields.insert(place, avro_file.field_json("partition", 102, partition_values.record_json(partition)))
    record = {"type": "record", "name": "r2", "fields": fields}
    whole = [avro_file.member_json(one, version) for one in entry] + [avro_file.field_json("data_file", 2, record)]
    text = json.dumps({"type": "record", "name": "manifest_entry", "fields": whole}, separators=(",", ":"))
    written = [*(one.column for one in (*entry, *file)), *columns]
    return encode_file(text, stored, written, codec, metadata=header.keys(version))


def inherit(decoded: Decoded, metas: pa.Table) -> pa.Table:
    """The entries with what they inherit: `metas` are the manifest list's rows of their manifests, in order.

    A snapshot id is inherited always, sequence numbers by ADDED entries and by all of manifests without one, first row
    ids by live entries of data manifests that have one.
    """
    table = decoded.table
    starts = np.array((0, *decoded.row_ends), np.int64)
    of = pa.array(np.repeat(np.arange(metas.num_rows), np.diff(starts)))
    status = table["status"]
    sequence = metas["sequence_number"].take(of)
    inherits = pc.or_(pc.equal(status, ADDED), pc.equal(sequence, 0))
    own = pc.if_else(inherits, sequence, pa.scalar(None, pa.int64()))
    given = {
        "snapshot_id": pc.coalesce(table["snapshot_id"], metas["added_snapshot_id"].take(of)),
        "sequence_number": pc.coalesce(table["sequence_number"], own),
        "file_sequence_number": pc.coalesce(table["file_sequence_number"], own),
        "first_row_id": _row_ids(table, metas, of, starts),
        "content": pc.fill_null(table["content"], DATA),
    }
    for name, column in given.items():
        table = table.set_column(table.schema.get_field_index(name), name, column)
    return table


def meta_of(
    entries: pa.Table,
    partition: Sequence[PartitionColumn],
    place: Mapping[str, object],
    snapshot_id: int,
    sequence: int,
) -> pa.Table:
    """The row of a manifest list for a new manifest of these entries.

    `place` gives manifest_path, manifest_length, partition_spec_id and content.
    """
    status, rows = entries["status"].to_numpy(), entries["record_count"].to_numpy()
    live = entries.filter(pc.not_equal(entries["status"], DELETED))
    least = pc.min(live["sequence_number"]).as_py()
    row = {
        **place,
        "sequence_number": sequence,
        "min_sequence_number": sequence if least is None else min(least, sequence),
        "added_snapshot_id": snapshot_id,
        "partitions": [_summary(entries[column_name(one.field_id)]) for one in partition],
        "key_metadata": None,
        "first_row_id": None,
    }
    for name, value in (("added", ADDED), ("existing", EXISTING), ("deleted", DELETED)):
        row[f"{name}_files_count"] = int((status == value).sum())
        row[f"{name}_rows_count"] = int(rows[status == value].sum())
    return pa.Table.from_pylist([row], manifest_list.SCHEMA)


def _checked(decoded: Decoded) -> pa.Table:
    table = decoded.table
    limits = {"status": DELETED, "content": EQUALITY_DELETES}
    for name, highest in limits.items():
        if name in table.column_names:
            wrong = pc.or_(pc.less(table[name], 0), pc.greater(table[name], highest))
            decoded.reject(wrong, f"{name}: expected 0 to {highest}")
    if "record_count" in table.column_names:
        decoded.reject(pc.less(table["record_count"], 0), "record_count: expected 0 or more")
    return table


def _row_ids(table: pa.Table, metas: pa.Table, of: pa.Array, starts: np.ndarray) -> pa.ChunkedArray:
    stored = table["first_row_id"]
    takes = pc.and_(pc.is_null(stored), pc.not_equal(table["status"], DELETED)).to_numpy()
    rows = np.where(takes, table["record_count"].to_numpy(), 0)
    before = np.concatenate(([0], np.cumsum(rows)))
    offsets = pa.array(before[:-1] - np.repeat(before[starts[:-1]], np.diff(starts)))
    counted = pc.add(metas["first_row_id"].take(of), offsets)
    return pc.coalesce(stored, pc.if_else(pa.array(takes), counted, pa.scalar(None, pa.int64())))


def _summary(values: pa.ChunkedArray) -> dict[str, object]:
    flat = values.combine_chunks()
    low, high = bounds.extremes(flat)
    is_float = pa.types.is_floating(flat.type)
    return {
        "contains_null": flat.null_count > 0,
        "contains_nan": bool(pc.any(pc.is_nan(flat)).as_py()) if is_float else False,
        "lower_bound": bounds.encode(low)[0].as_py(),
        "upper_bound": bounds.encode(high)[0].as_py(),
    }
