"""Bound predicates as Spark columns, exact for every row.

Spark's truths are ours: three-valued logic, NaN equal to NaN and above all numbers, texts by their bytes. Three things
are put differently so that they stay exact. Comparisons of floats that NaN satisfies get an `isnan` beside them:
statistics of files leave NaN out, and a filter that Spark pushes to them would lose such rows. A zero is asked for with
either sign, because readers of files tell -0.0 from 0.0. Literals are built without the session's time zone.
"""

from collections.abc import Callable
from functools import reduce
from operator import and_, or_

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from polynya.errors import InvalidInputError
from polynya.model import types as t
from polynya.model.evaluate import is_nan
from polynya.model.literals import Value
from polynya.model.predicate import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    Compare,
    In,
    IsNotNull,
    IsNull,
    Like,
    Not,
    Op,
    Or,
    Path,
    Predicate,
)

_OPS: dict[Op, Callable[[Column, Column], Column]] = {
    Op.EQ: lambda column, value: column == value,
    Op.NE: lambda column, value: column != value,
    Op.LT: lambda column, value: column < value,
    Op.LE: lambda column, value: column <= value,
    Op.GT: lambda column, value: column > value,
    Op.GE: lambda column, value: column >= value,
}
_TRUE_OF_NAN = (Op.NE, Op.GT, Op.GE)


def to_column(predicate: Predicate) -> Column:
    """The condition of a bound predicate."""
    match predicate:
        case And(predicates=parts):
            return reduce(and_, map(to_column, parts))
        case Or(predicates=parts):
            return reduce(or_, map(to_column, parts))
        case Not(predicate=inner):
            return ~to_column(inner)
        case AlwaysTrue() | AlwaysFalse():
            return F.lit(isinstance(predicate, AlwaysTrue))
        case Compare(op=op, column=path, value=value):
            return _compare(op, column_of(path), value)
        case In(column=path, values=values):
            return _one_of(column_of(path), values)
        case Like(column=path, pattern=pattern, escape=escape):
            return F.like(column_of(path), F.lit(pattern), F.lit(escape))
        case IsNull(column=path):
            return column_of(path).isNull()
        case IsNotNull(column=path):
            return column_of(path).isNotNull()
        case _:
            raise InvalidInputError(f"{predicate!r} is not a predicate")


def column_of(path: Path) -> Column:
    """The column that the path names, whatever characters its names hold."""
    return F.col(quoted(path))


def quoted(path: Path) -> str:
    """The path in Spark's SQL."""
    return ".".join(f"`{name.replace('`', '``')}`" for name in path)


def narrowed(column: Column, type: t.DataType) -> Column:
    """A nested column with only the members that the type has."""
    match type:
        case t.Row(fields=fields):
            members = (narrowed(column.getField(field.name), field.type).alias(field.name) for field in fields)
            return F.when(column.isNotNull(), F.struct(*members))
        case t.Array(element=element) if t.is_nested(element):
            return F.transform(column, lambda one: narrowed(one, element))
        case t.Map(value=value) if t.is_nested(value):
            return F.transform_values(column, lambda _, one: narrowed(one, value))
        case _:
            return column


def _compare(op: Op, column: Column, value: Value) -> Column:
    if is_nan(value):
        return _compare_nan(op, column)
    truth = _equals_zero(column, value) if op is Op.EQ and _is_zero(value) else _OPS[op](column, _limit(op, value))
    return truth | F.isnan(column) if _is_float(value) and op in _TRUE_OF_NAN else truth


def _limit(op: Op, value: Value) -> Column:
    """The literal that a column is compared with; of the two zeros the one that leaves both in."""
    if not _is_zero(value) or op not in (Op.GE, Op.LE):
        return literal(value)
    assert isinstance(value, pa.Scalar), "bind the predicate first"
    return literal(pa.scalar(-0.0 if op is Op.GE else 0.0, value.type))


def _equals_zero(column: Column, zero: Value) -> Column:
    return (column >= _limit(Op.GE, zero)) & (column <= _limit(Op.LE, zero))


def _compare_nan(op: Op, column: Column) -> Column:
    match op:
        case Op.EQ | Op.GE:
            return F.isnan(column)
        case Op.NE | Op.LT:
            return column.isNotNull() & ~F.isnan(column)
        case Op.LE:
            return column.isNotNull()
        case Op.GT:
            return F.lit(False)


def _one_of(column: Column, values: tuple[Value, ...]) -> Column:
    plain = [literal(value) for value in values if not is_nan(value) and not _is_zero(value)]
    parts = [column.isin(plain)] if plain else []
    parts += [_equals_zero(column, value) for value in values if _is_zero(value)]
    parts += [F.isnan(column)] if any(map(is_nan, values)) else []
    return reduce(or_, parts, F.lit(False))


def _is_float(value: Value) -> bool:
    return isinstance(value, (pa.FloatScalar, pa.DoubleScalar))


def _is_zero(value: Value) -> bool:
    return isinstance(value, (pa.FloatScalar, pa.DoubleScalar)) and value.as_py() == 0


def literal(value: Value) -> Column:
    """A scalar of one of our Arrow types as a literal of the Spark type of its column."""
    assert isinstance(value, pa.Scalar), "bind the predicate first"
    type, kinds = value.type, pa.types
    if kinds.is_date(type):
        return F.date_from_unix_date(F.lit(value.cast(pa.int32()).as_py()))
    if kinds.is_timestamp(type):
        return _timestamp(value)
    if kinds.is_time(type):
        return F.lit(str(value.as_py())).cast("time(6)")
    if kinds.is_decimal(type):
        return F.lit(str(value.as_py())).cast(f"decimal({type.precision},{type.scale})")
    if kinds.is_floating(type):
        return F.lit(repr(value.as_py())).cast("float" if type == pa.float32() else "double")
    if kinds.is_integer(type):
        return F.lit(value.as_py()).cast({8: "tinyint", 16: "smallint", 32: "int", 64: "bigint"}[type.bit_width])
    return F.lit(value.as_py())


def _timestamp(value: pa.Scalar) -> Column:
    if value.type.tz is None:
        return F.lit(value.cast(pa.string()).as_py()).cast("timestamp_ntz")
    micros = value.cast(pa.timestamp("us", tz=value.type.tz)).cast(pa.int64())
    return F.timestamp_micros(F.lit(micros.as_py()).cast("bigint"))
