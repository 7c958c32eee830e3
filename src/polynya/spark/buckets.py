"""The bucket of each row of a DataFrame, so that one task gets all rows of a bucket.

Paimon's default function hashes the bucket key as a BinaryRow: 8 bytes of header, then 8 bytes for each column, as
32-bit words through MurmurHash3. For keys of integers and days, never null, it is spelled out in Spark's own
arithmetic, which costs no trip to Python. Other keys go through an Arrow function over the key columns alone.

The arithmetic is on unsigned 32-bit numbers held in BIGINT. No product reaches 2^63, so that ANSI mode has nothing to
object to. Each step is a column of its own because later steps use it twice.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

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

BUCKET = "__bucket"
_SEED, _C1, _C2, _ADD = 42, 0xCC9E2D51, 0x1B873593, 0xE6546B64
_FINAL_1, _FINAL_2 = 0x85EBCA6B, 0xC2B2AE35
_MASK = 0xFFFFFFFF
_STEP = "__step_{}"
_KEY_COLUMNS_MAX = 4
_BITS = {t.TinyInt: 0xFF, t.SmallInt: 0xFFFF, t.Int: _MASK, t.Date: _MASK}
_SPARK_INTEGERS = (s.ByteType, s.ShortType, s.IntegerType, s.LongType)


def with_bucket(frame: DataFrame, schema: Schema, bucket_count: int) -> DataFrame:
    """The frame with a column of bucket numbers at its end."""
    fields = schema.select(bucket_key(schema))
    function = BUCKET_FUNCTION_TYPE.of(schema.options)
    names = [column_of((name,)) for name in frame.columns]
    if function != "default" or not _is_plain(frame, fields):
        return frame.withColumn(BUCKET, _python_bucket(fields, bucket_count, function))
    steps = _Steps()
    bucket = _bucket_text(steps, fields, bucket_count)
    columns = [F.expr(text).alias(name) for name, text in steps.texts]
    return frame.select(*names, *columns, F.expr(bucket).cast("int").alias(BUCKET)).select(*names, F.col(BUCKET))


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


@dataclass(frozen=True)
class _Steps:
    """Columns that build on one another, as SQL texts."""

    texts: list[tuple[str, str]] = field(default_factory=list)

    def add(self, text: str) -> str:
        name = _STEP.format(len(self.texts))
        self.texts.append((name, text))
        return name


def _bucket_text(steps: _Steps, fields: tuple[t.Field, ...], bucket_count: int) -> str:
    state = str(_mix_header())
    for word in _words(steps, fields):
        state = steps.add(f"{state} ^ {_mixed(steps, word)}" if word != "0" else state)
        state = steps.add(f"({_rotated(state, 13)} * 5 + {_ADD}) & {_MASK}")
    state = steps.add(f"{state} ^ {8 + 8 * len(fields)}")
    for shift, factor in ((16, _FINAL_1), (13, _FINAL_2)):
        state = steps.add(f"{state} ^ shiftrightunsigned({state}, {shift})")
        state = steps.add(_product(state, factor))
    state = steps.add(f"{state} ^ shiftrightunsigned({state}, 16)")
    signed = f"({state} - if({state} >= {2**31}, {2**32}, 0L))"
    return f"abs({signed} % {bucket_count})"


def _words(steps: _Steps, fields: tuple[t.Field, ...]) -> Iterator[str]:
    """The 32-bit words of the slots of the key's columns, the low one first."""
    for one in fields:
        name = f"`{one.name.replace('`', '``')}`"
        value = f"unix_date({name})" if isinstance(one.type, t.Date) else name
        number = steps.add(f"coalesce(cast({value} as bigint), 0L)")
        yield steps.add(f"{number} & {_BITS.get(one.type.__class__, _MASK)}L")
        yield steps.add(f"shiftrightunsigned({number}, 32)") if isinstance(one.type, t.BigInt) else "0"


def _mixed(steps: _Steps, word: str) -> str:
    first = steps.add(_product(word, _C1))
    return steps.add(_product(steps.add(_rotated(first, 15)), _C2))


def _product(word: str, factor: int) -> str:
    """The product modulo 2^32, by the halves of the factor."""
    low, high = factor & 0xFFFF, factor >> 16
    return f"({word} * {low}L + (({word} * {high}L) & 65535L) * 65536L) & {_MASK}"


def _rotated(word: str, bits: int) -> str:
    return f"((shiftleft({word}, {bits}) | shiftrightunsigned({word}, {32 - bits})) & {_MASK})"


def _mix_header() -> int:
    """The state behind the two words of the header, which are zero where nothing is null."""
    state = _SEED
    for _ in range(2):
        state = ((state << 13 | state >> 19) * 5 + _ADD) & _MASK
    return state


def _python_bucket(fields: tuple[t.Field, ...], bucket_count: int, function: str) -> Column:
    nullable = tuple(replace(field, type=field.type.with_nullable(True)) for field in fields)
    key = Schema(nullable)

    def bucket(*columns: pa.Array) -> pa.Array:
        rows = conform(pa.RecordBatch.from_arrays(list(columns), names=list(key.names)), key)
        return bucket_ids(rows.columns, bucket_count, function)

    hashed = F.arrow_udf(bucket, "int")
    return hashed(*(column_of((field.name,)) for field in fields))
