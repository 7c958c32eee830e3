"""Paimon types <-> Arrow types: how every value looks in memory.

| Paimon | Arrow |
|---|---|
| BOOLEAN, TINYINT..BIGINT, FLOAT, DOUBLE | bool, int8..int64, float, double |
| DECIMAL(p, s) | decimal128(p, s) |
| CHAR, VARCHAR | string |
| BINARY, VARBINARY, BLOB, GEOMETRY, GEOGRAPHY | binary |
| DATE, TIME(p) | date32, time32[ms] |
| TIMESTAMP(p): p <= 3, <= 6, <= 9 | timestamp[ms], [us], [ns] |
| TIMESTAMP(p) WITH LOCAL TIME ZONE | the same with tz=UTC |
| ARRAY, VECTOR, MULTISET, MAP, ROW | list, list, map to int32, map, struct |
| VARIANT | struct<value: binary, metadata: binary> |
| of Iceberg: time, unknown | time64[us], null |

It stands in the model, below the formats, because statistics, partitions and keys are decoded straight into Arrow.
"""

import pyarrow as pa

from polynya.errors import InvalidInputError, UnsupportedError
from polynya.model import types as t

_PLAIN: dict[type[t.DataType], pa.DataType] = {
    t.Boolean: pa.bool_(),
    t.TinyInt: pa.int8(),
    t.SmallInt: pa.int16(),
    t.Int: pa.int32(),
    t.BigInt: pa.int64(),
    t.Float: pa.float32(),
    t.Double: pa.float64(),
    t.Char: pa.string(),
    t.VarChar: pa.string(),
    t.Binary: pa.binary(),
    t.VarBinary: pa.binary(),
    t.Blob: pa.binary(),
    t.Geometry: pa.binary(),
    t.Geography: pa.binary(),
    t.Date: pa.date32(),
    t.Time: pa.time32("ms"),
    t.TimeMicros: pa.time64("us"),
    t.Unknown: pa.null(),
}

_FROM_PLAIN: dict[pa.DataType, t.DataType] = {
    pa.bool_(): t.Boolean(),
    pa.int8(): t.TinyInt(),
    pa.int16(): t.SmallInt(),
    pa.int32(): t.Int(),
    pa.int64(): t.BigInt(),
    pa.float32(): t.Float(),
    pa.float64(): t.Double(),
    pa.string(): t.VarChar(),
    pa.large_string(): t.VarChar(),
    pa.string_view(): t.VarChar(),
    pa.binary(): t.VarBinary(),
    pa.large_binary(): t.VarBinary(),
    pa.binary_view(): t.VarBinary(),
    pa.date32(): t.Date(),
    pa.time32("s"): t.Time(precision=0),
    pa.time32("ms"): t.Time(precision=3),
}

_UNIT_PRECISION = {"s": 0, "ms": 3, "us": 6, "ns": 9}


def timestamp_unit(precision: int) -> str:
    """The Arrow unit that holds `precision` digits of a second."""
    return "ms" if precision <= 3 else "us" if precision <= 6 else "ns"


def to_arrow_type(type: t.DataType) -> pa.DataType:
    """The Arrow type of a Paimon type."""
    match type:
        case t.Decimal(precision=precision, scale=scale):
            return pa.decimal128(precision, scale)
        case t.Timestamp(precision=precision):
            return pa.timestamp(timestamp_unit(precision))
        case t.LocalTimestamp(precision=precision):
            return pa.timestamp(timestamp_unit(precision), tz="UTC")
        case t.Array(element=element) | t.Vector(element=element):
            return pa.list_(pa.field("element", to_arrow_type(element), element.nullable))
        case t.Multiset(element=element):
            return pa.map_(to_arrow_type(element), pa.field("value", pa.int32(), nullable=False))
        case t.Map(key=key, value=value):
            return pa.map_(to_arrow_type(key), pa.field("value", to_arrow_type(value), value.nullable))
        case t.Row(fields=fields):
            return pa.struct([to_arrow_field(field) for field in fields])
        case t.Variant():
            return pa.struct([pa.field("value", pa.binary(), False), pa.field("metadata", pa.binary(), False)])
        case _:
            return _PLAIN[type.__class__]


def to_arrow_field(field: t.Field) -> pa.Field:
    """The Arrow field of a column or ROW member, without ids."""
    return pa.field(field.name, to_arrow_type(field.type), field.type.nullable)


def to_arrow_schema(fields: tuple[t.Field, ...]) -> pa.Schema:
    """The Arrow schema of columns."""
    return pa.schema([to_arrow_field(field) for field in fields])


def from_arrow_type(type: pa.DataType, *, nullable: bool = True, name: str = "") -> t.DataType:
    """The Paimon type of an Arrow type; members of a ROW get the id -1, which `assign_ids` replaces.

    `name` is the column, for the message of the UnsupportedError or InvalidInputError.
    """
    return _from_arrow(type, name).with_nullable(nullable)


def _from_arrow(type: pa.DataType, name: str) -> t.DataType:
    plain = _FROM_PLAIN.get(type)
    if plain is not None:
        return plain
    if pa.types.is_decimal(type):
        return _decimal(type, name)
    if pa.types.is_timestamp(type):
        precision = _UNIT_PRECISION[type.unit]
        return t.Timestamp(precision) if type.tz is None else t.LocalTimestamp(precision)
    if pa.types.is_fixed_size_binary(type):
        return t.Binary(type.byte_width)
    if pa.types.is_dictionary(type):
        return _from_arrow(type.value_type, name)
    if pa.types.is_fixed_size_list(type):
        return t.Vector(_from_field(type.value_field, name), type.list_size)
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        return t.Array(_from_field(type.value_field, name))
    if pa.types.is_map(type):
        return t.Map(_from_arrow(type.key_type, name).with_nullable(False), _from_field(type.item_field, name))
    if pa.types.is_struct(type):
        members = (t.Field(-1, member.name, _from_field(member, f"{name}.{member.name}")) for member in type)
        return t.Row(tuple(members))
    raise UnsupportedError(
        f"column '{name}': Arrow type {type} has no Paimon counterpart; cast the column to a supported type"
    )


def _from_field(field: pa.Field, name: str) -> t.DataType:
    return _from_arrow(field.type, name).with_nullable(field.nullable)


def _decimal(type: pa.DataType, name: str) -> t.DataType:
    if not 1 <= type.precision <= 38 or not 0 <= type.scale <= type.precision:
        raise InvalidInputError(f"column '{name}': expected a decimal of 1 to 38 digits, found {type}")
    return t.Decimal(type.precision, type.scale)
