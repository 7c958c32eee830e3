"""Partition values inside manifests: a record with one nullable member for each field of the spec.

| type | Avro |
|---|---|
| boolean, int, long, float, double, string, binary | the same; bytes for binary |
| date; time; timestamps | int date; long time-micros; long timestamp-micros or -nanos with `adjust-to-utc` |
| uuid, fixed[L] | fixed of 16 or L bytes |
| decimal(P,S) | fixed, as small as P digits allow, big-endian |

Other writers store decimals as bytes and times in milliseconds; the file's own schema tells, and is followed. Java
Iceberg declares values of fixed[L] as fixed and writes them as bytes, with their size before them.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec.avro import AvroSource, Column, decode_container, encode_container
from polynya.errors import CorruptFileError, UnsupportedError
from polynya.iceberg import avro_file, bounds
from polynya.iceberg.avro_file import Raw

_PLAIN = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "bytes": pa.binary(),
}
_NAMES = {type: name for name, type in _PLAIN.items()}
_PARTITION_ID = 102
_UNITS = {"millis": "ms", "micros": "us", "nanos": "ns"}


@dataclass(frozen=True)
class PartitionColumn:
    """A value of the partition tuple: the id and name of its field, and the type that the transform gives."""

    field_id: int
    name: str
    type: pa.DataType


@dataclass(frozen=True)
class Stored:
    """How a file stores a value."""

    path: tuple[str, ...]
    type: pa.DataType
    unit: str | None


def column_name(field_id: int) -> str:
    """The name of the column that holds the values of a partition field."""
    return f"partition_{field_id}"


def find_stored(by_id: Raw, partition: Sequence[PartitionColumn], *, name: str) -> tuple[Stored | None, ...]:
    """How the manifest `name`, which has these fields, stores each value; None for a field that it lacks."""
    return tuple(_stored(by_id, one, name) for one in partition)


def raw_columns(stored: Sequence[Stored | None]) -> list[Column]:
    """The columns to decode for values that are stored so."""
    return [Column(f"c{i}", one.path, one.type, required=False) for i, one in enumerate(stored) if one is not None]


def typed(
    decoded: pa.Table, partition: Sequence[PartitionColumn], stored: Sequence[Stored | None], *, name: str
) -> list[pa.Array]:
    """The partition values of decoded entries; null for a field that the manifests lack."""
    return [
        pa.nulls(decoded.num_rows, one.type)
        if how is None
        else _typed(decoded[f"c{i}"].combine_chunks(), how, one, name)
        for i, (one, how) in enumerate(zip(partition, stored, strict=True))
    ]


def find_unsized(source: AvroSource) -> AvroSource | None:
    """The manifest with partition values of fixed size declared as bytes; None where there are no such values."""
    container = decode_container(source)
    by_id = avro_file.fields_by_id(container.schema_text, source.name)
    if _PARTITION_ID not in by_id:
        return None
    names: set[str] = set()
    schema = _with_bytes(json.loads(container.schema_text), names, inside=False)
    if not names:
        return None
    text = json.dumps(schema, separators=(",", ":"))
    return AvroSource(source.name, encode_container(text, container.codec, container.blocks, container.metadata))


def _with_bytes(node: object, names: set[str], *, inside: bool) -> object:
    """The schema, in which fixed values without a meaning of their own, inside of the partition, are bytes."""
    if isinstance(node, list):
        return [_with_bytes(one, names, inside=inside) for one in node]
    if not isinstance(node, dict):
        return "bytes" if inside and node in names else node
    if inside and node.get("type") == "fixed" and "logicalType" not in node:
        names.add(str(node["name"]))
        return "bytes"
    within = inside or node.get("field-id") == _PARTITION_ID
    return {key: _with_bytes(value, names, inside=within and key != "name") for key, value in node.items()}


def to_stored(entries: pa.Table, partition: Sequence[PartitionColumn]) -> tuple[pa.Table, list[Column]]:
    """The entries with their partition values as they are stored, and the columns of these."""
    if not partition:
        none = pa.array([{}] * entries.num_rows, pa.struct([]))
        return entries.append_column("partition", none), [Column("partition", ("data_file", "partition"), none.type)]
    columns = []
    for one in partition:
        name = column_name(one.field_id)
        values = _physical(entries[name].combine_chunks())
        entries = entries.set_column(entries.schema.get_field_index(name), name, values)
        path = ("data_file", "partition", avro_file.avro_name(one.name))
        columns.append(Column(name, path, values.type, required=False))
    return entries, columns


def record_json(partition: Sequence[PartitionColumn]) -> dict[str, object]:
    """The record of partition values."""
    fields = [avro_file.field_json(one.name, one.field_id, ["null", _avro_type(one)]) for one in partition]
    return {"type": "record", "name": "r102", "fields": fields}


def decimal_bytes(precision: int) -> int:
    """The fewest bytes that hold any number of so many digits."""
    return (10**precision).bit_length() // 8 + 1


def _stored(by_id: Raw, column: PartitionColumn, name: str) -> Stored | None:
    if column.field_id not in by_id:
        return None
    path, type = by_id[column.field_id]
    branches = [one for one in type if one != "null"] if isinstance(type, list) else [type]
    if len(branches) != 1:
        raise CorruptFileError(f"'{name}', partition field {column.name}: expected one type, found {type}")
    node = branches[0]
    logical = str(node.get("logicalType", "")) if isinstance(node, dict) else ""
    base = node.get("type") if isinstance(node, dict) else node
    physical = pa.binary() if base == "fixed" else _PLAIN.get(str(base))
    if physical is None:
        raise CorruptFileError(f"'{name}', partition field {column.name}: expected a plain type, found {node}")
    return Stored(path, physical, _UNITS.get(logical.rpartition("-")[2]))


def _typed(values: pa.Array, stored: Stored, column: PartitionColumn, name: str) -> pa.Array:
    type = column.type
    try:
        if pa.types.is_decimal(type):
            return bounds.decode(values.cast(pa.binary()), type, name=name)
        if pa.types.is_timestamp(type):
            return values.cast(pa.int64()).cast(pa.timestamp(stored.unit or type.unit, type.tz)).cast(type)
        if pa.types.is_time64(type):
            in_millis = stored.unit == "ms"
            return (values.cast(pa.int32()).cast(pa.time32("ms")) if in_millis else values.cast(pa.int64())).cast(type)
        return values.cast(type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise CorruptFileError(f"'{name}', partition field {column.name}: expected a {type}: {error}") from error


def _physical(values: pa.Array) -> pa.Array:
    type = values.type
    if pa.types.is_decimal(type):
        stored = bounds.encode_fixed_decimals(values, decimal_bytes(type.precision))
        return pc.if_else(values.is_valid(), stored, pa.scalar(None, pa.binary()))
    if pa.types.is_date32(type):
        return values.cast(pa.int32())
    if pa.types.is_timestamp(type) or pa.types.is_time64(type):
        return values.cast(pa.int64())
    return values.cast(pa.binary()) if pa.types.is_fixed_size_binary(type) else values


def _avro_type(column: PartitionColumn) -> object:
    type = column.type
    if type in _NAMES:
        return _NAMES[type]
    if pa.types.is_date32(type):
        return {"type": "int", "logicalType": "date"}
    if pa.types.is_time64(type):
        return {"type": "long", "logicalType": "time-micros"}
    if pa.types.is_timestamp(type):
        logical = "timestamp-nanos" if type.unit == "ns" else "timestamp-micros"
        return {"type": "long", "logicalType": logical, "adjust-to-utc": type.tz is not None}
    if pa.types.is_decimal(type):
        size, name = decimal_bytes(type.precision), f"decimal_{type.precision}_{type.scale}"
        known = {"type": "fixed", "size": size, "name": name, "logicalType": "decimal"}
        return {**known, "precision": type.precision, "scale": type.scale}
    if pa.types.is_fixed_size_binary(type):
        return {"type": "fixed", "size": type.byte_width, "name": f"fixed_{type.byte_width}"}
    raise UnsupportedError(f"partition field {column.name}: values of type {type} cannot be stored")
