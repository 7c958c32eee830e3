"""Paimon types <-> Spark types, and the Arrow types in which Spark takes rows from Python.

| Paimon | Spark | on the way to Spark |
|---|---|---|
| BOOLEAN, TINYINT..BIGINT, FLOAT, DOUBLE, DECIMAL, DATE | the same | as they are |
| CHAR, VARCHAR | string | string |
| BINARY, VARBINARY | binary | binary |
| TIME(p) | time(6), where Spark has it switched on | time64[ns] |
| TIMESTAMP(p) | timestamp_ntz | microseconds; finer values are refused |
| TIMESTAMP(p) WITH LOCAL TIME ZONE | timestamp | microseconds in UTC; finer values are refused |
| ARRAY, VECTOR, MULTISET, MAP, ROW | array, array, map to int, map, struct | list, list, map, map, struct |
| VARIANT | variant | struct<value, metadata> |

Columns are nullable in Spark whatever the table says, as those of Spark's own files are.
"""

from collections.abc import Iterable

import pyarrow as pa
from pyspark.sql import types as s

from polynya.errors import UnsupportedError
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_schema

_PLAIN: dict[type[t.DataType], s.DataType] = {
    t.Boolean: s.BooleanType(),
    t.TinyInt: s.ByteType(),
    t.SmallInt: s.ShortType(),
    t.Int: s.IntegerType(),
    t.BigInt: s.LongType(),
    t.Float: s.FloatType(),
    t.Double: s.DoubleType(),
    t.Char: s.StringType(),
    t.VarChar: s.StringType(),
    t.Binary: s.BinaryType(),
    t.VarBinary: s.BinaryType(),
    t.Date: s.DateType(),
    t.Time: s.TimeType(6),
    t.TimeMicros: s.TimeType(6),
    t.Unknown: s.NullType(),
    t.Timestamp: s.TimestampNTZType(),
    t.LocalTimestamp: s.TimestampType(),
    t.Variant: s.VariantType(),
}
_FROM_PLAIN: dict[type[s.DataType], t.DataType] = {
    s.BooleanType: t.Boolean(),
    s.ByteType: t.TinyInt(),
    s.ShortType: t.SmallInt(),
    s.IntegerType: t.Int(),
    s.LongType: t.BigInt(),
    s.FloatType: t.Float(),
    s.DoubleType: t.Double(),
    s.StringType: t.VarChar(),
    s.BinaryType: t.VarBinary(),
    s.DateType: t.Date(),
    s.TimeType: t.Time(precision=3),
    s.TimestampNTZType: t.Timestamp(precision=6),
    s.TimestampType: t.LocalTimestamp(precision=6),
    s.VariantType: t.Variant(),
}
_VARIANT = pa.struct(
    [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False, metadata={b"variant": b"true"}),
    ]
)


def to_spark_type(type: t.DataType, column: str) -> s.DataType:
    """The Spark type of a Paimon type; UnsupportedError names the column."""
    match type:
        case t.Decimal(precision=precision, scale=scale):
            return s.DecimalType(precision, scale)
        case t.Array(element=element) | t.Vector(element=element):
            return s.ArrayType(to_spark_type(element, column), True)
        case t.Multiset(element=element):
            return s.MapType(to_spark_type(element, column), s.IntegerType(), True)
        case t.Map(key=key, value=value):
            return s.MapType(to_spark_type(key, column), to_spark_type(value, column), True)
        case t.Row(fields=fields):
            return s.StructType([_member(member, column) for member in fields])
    plain = _PLAIN.get(type.__class__)
    if plain is None:
        raise UnsupportedError(
            f"column '{column}': {type.__class__.__name__.upper()} has no counterpart in Spark; select other columns"
        )
    return plain


def to_spark_schema(fields: Iterable[t.Field]) -> s.StructType:
    """The Spark schema of columns."""
    return s.StructType([s.StructField(field.name, to_spark_type(field.type, field.name)) for field in fields])


def _member(member: t.Field, column: str) -> s.StructField:
    return s.StructField(member.name, to_spark_type(member.type, f"{column}.{member.name}"))


def require_known(fields: Iterable[t.Field], *, has_time: bool) -> None:
    """Raise UnsupportedError for a column that the session cannot hold; `has_time`: Spark's time type is on."""
    for field in fields:
        to_spark_type(field.type, field.name)
        if not has_time and _holds_time(field.type):
            raise UnsupportedError(
                f"column '{field.name}': TIME needs a session with 'spark.sql.timeType.enabled' = 'true'; "
                "set it, or select other columns"
            )


def _holds_time(type: t.DataType) -> bool:
    match type:
        case t.Array(element=inner) | t.Vector(element=inner) | t.Multiset(element=inner):
            return _holds_time(inner)
        case t.Map(key=key, value=value):
            return _holds_time(key) or _holds_time(value)
        case t.Row(fields=fields):
            return any(_holds_time(member.type) for member in fields)
        case _:
            return isinstance(type, t.Time)


def transfer_type(type: pa.DataType) -> pa.DataType:
    """The Arrow type in which Spark takes values of one of our Arrow types."""
    kinds = pa.types
    if kinds.is_timestamp(type):
        return pa.timestamp("us", tz=type.tz)
    if kinds.is_time(type):
        return pa.time64("ns")
    if kinds.is_list(type):
        return pa.list_(pa.field("element", transfer_type(type.value_type)))
    if kinds.is_map(type):
        key = pa.field("key", transfer_type(type.key_type), nullable=False)
        return pa.map_(key, pa.field("value", transfer_type(type.item_type)))
    if kinds.is_struct(type):
        return pa.struct([pa.field(member.name, transfer_type(member.type)) for member in type])
    return type


def transfer_schema(fields: Iterable[t.Field]) -> pa.Schema:
    """The Arrow schema in which Spark takes rows of the columns."""
    fields = tuple(fields)
    return pa.schema(
        [
            pa.field(field.name, _VARIANT if isinstance(field.type, t.Variant) else transfer_type(arrow.type))
            for field, arrow in zip(fields, to_arrow_schema(fields), strict=True)
        ]
    )


def to_transfer(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with exactly the types of a transfer schema; UnsupportedError for times finer than a microsecond."""
    return pa.RecordBatch.from_arrays([_transfer(batch, field) for field in schema], schema=schema)


def _transfer(batch: pa.RecordBatch, field: pa.Field) -> pa.Array:
    array = batch.column(field.name)
    if array.type == field.type and array.type.num_fields == 0:
        return array
    if field.type == _VARIANT:
        members = [array.field(0), array.field(1)]
        return pa.StructArray.from_arrays(members, fields=list(_VARIANT), mask=array.is_null())
    try:
        return array.cast(field.type)
    except pa.ArrowInvalid as error:
        raise UnsupportedError(
            f"column '{field.name}': Spark holds {field.type}, a value is finer: {error}; read it without Spark"
        ) from error


def from_spark_type(type: s.DataType, column: str) -> t.DataType:
    """The Paimon type of a Spark type; members of a ROW get the id -1, which the table replaces."""
    match type:
        case s.DecimalType():
            return t.Decimal(type.precision, type.scale)
        case s.CharType():
            return t.Char(type.length)
        case s.VarcharType():
            return t.VarChar(type.length)
        case s.ArrayType():
            return t.Array(from_spark_type(type.elementType, column).with_nullable(type.containsNull))
        case s.MapType():
            key = from_spark_type(type.keyType, column).with_nullable(False)
            return t.Map(key, from_spark_type(type.valueType, column).with_nullable(type.valueContainsNull))
        case s.StructType():
            return t.Row(from_spark_schema(type))
    plain = _FROM_PLAIN.get(type.__class__)
    if plain is None:
        raise UnsupportedError(
            f"column '{column}': Spark's {type.simpleString()} has no Paimon counterpart; cast the column"
        )
    return plain


def from_spark_schema(schema: s.StructType) -> tuple[t.Field, ...]:
    """The columns of a Spark schema, with the id -1."""
    return tuple(
        t.Field(-1, field.name, from_spark_type(field.dataType, field.name).with_nullable(field.nullable))
        for field in schema.fields
    )


def incoming_schema(schema: s.StructType) -> pa.Schema:
    """The Arrow schema that rows of a DataFrame come with, for checks before a job."""
    nulls = {field.name for field in schema.fields if isinstance(field.dataType, s.NullType)}
    typed = from_spark_schema(s.StructType([field for field in schema.fields if field.name not in nulls]))
    known = {field.name: field for field in to_arrow_schema(typed)}
    return pa.schema([known.get(name) or pa.field(name, pa.null()) for name in schema.names])
