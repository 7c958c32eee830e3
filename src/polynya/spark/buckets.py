"""The bucket of each row of a DataFrame, so that one task gets all rows of a bucket.

Paimon's default function hashes the bucket key as a BinaryRow, 8 bytes of header and 8 bytes for each column, with
MurmurHash3 in 32-bit words. Spark's `hash` of bytes is the same function with the same seed. So for keys of integers
and days, never null, Spark only has to lay out the bytes, which costs no trip to Python and little to plan. Other keys
go through an Arrow function over the key columns alone.

Spark has no cast from numbers to bytes in ANSI mode; a number turns into bytes by way of its hexadecimal digits.
"""

from dataclasses import replace

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as s

from polynya.arrow.incoming import conform
from polynya.arrow.route import bucket_ids
from polynya.model import types as t
from polynya.model.bucket_mode import bucket_key
from polynya.model.options_data import BUCKET_FUNCTION_TYPE
from polynya.model.schema import Schema
from polynya.spark.filters import column_of

_KEY_COLUMNS_MAX = 4
_BITS = {t.TinyInt: 0xFF, t.SmallInt: 0xFFFF, t.Int: 0xFFFFFFFF, t.Date: 0xFFFFFFFF}
_SPARK_INTEGERS = (s.ByteType, s.ShortType, s.IntegerType, s.LongType)


def bucket_of(frame: DataFrame, schema: Schema, bucket_count: int) -> Column:
    """The bucket number of each row of the frame; an expression, since any name of a column may be taken."""
    fields = schema.select(bucket_key(schema))
    function = BUCKET_FUNCTION_TYPE.of(schema.options)
    if function != "default" or not _is_plain(frame, fields):
        return _python_bucket(fields, bucket_count, function)
    return F.expr(f"cast(abs(hash({_row(fields)}) % {bucket_count}) as int)")


def _is_plain(frame: DataFrame, fields: tuple[t.Field, ...]) -> bool:
    """Whether the key is integers and days that are never null, as wide as the table has them or narrower."""
    found = {field.name: field.dataType for field in frame.schema.fields}
    return len(fields) <= _KEY_COLUMNS_MAX and all(
        not field.type.nullable
        and field.default is None
        and (
            (isinstance(field.type, (t.TinyInt, t.SmallInt, t.Int, t.BigInt)) and _is_integer(found.get(field.name)))
            or (isinstance(field.type, t.Date) and isinstance(found.get(field.name), s.DateType))
        )
        for field in fields
    )


def _is_integer(type: s.DataType | None) -> bool:
    return isinstance(type, _SPARK_INTEGERS)


def _row(fields: tuple[t.Field, ...]) -> str:
    """The bytes of the BinaryRow: a header of zeros, then each column with its lowest byte first."""
    first, *others = (f"hex({_reversed(_number(one))})" for one in fields)
    slots = [f"lpad({first}, 32, '0')", *(f"lpad({one}, 16, '0')" for one in others)]
    return f"unhex({slots[0]})" if not others else f"unhex(concat({', '.join(slots)}))"


def _number(field: t.Field) -> str:
    """The value of the column's slot."""
    name = f"`{field.name.replace('`', '``')}`"
    value = f"unix_date({name})" if isinstance(field.type, t.Date) else name
    number = f"coalesce(cast({value} as bigint), 0L)"
    mask = _BITS.get(field.type.__class__)
    return number if mask is None else f"({number} & {mask}L)"


def _reversed(number: str) -> str:
    """The number with its eight bytes in reverse order."""
    low = [f"shiftleft({number} & {0xFF << 8 * byte}L, {56 - 16 * byte})" for byte in range(4)]
    high = [f"shiftrightunsigned({number}, {16 * byte - 56}) & {0xFF << 8 * (7 - byte)}L" for byte in range(4, 8)]
    return " | ".join(f"({part})" for part in (*low, *high))


def _python_bucket(fields: tuple[t.Field, ...], bucket_count: int, function: str) -> Column:
    nullable = tuple(replace(field, type=field.type.with_nullable(True)) for field in fields)
    key = Schema(nullable)

    def bucket(*columns: pa.Array) -> pa.Array:
        rows = conform(pa.RecordBatch.from_arrays(list(columns), names=list(key.names)), key)
        return bucket_ids(rows.columns, bucket_count, function)

    hashed = F.arrow_udf(bucket, "int")
    return hashed(*(column_of((field.name,)) for field in fields))
