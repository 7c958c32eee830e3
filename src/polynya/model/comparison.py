"""One column compared with one literal: the exact comparison in the column's own type.

The values of most types are points of a grid: whole multiples of a unit between two ends. A literal covers the points
from `first` to `last` (none when it lies between two points, then last = first - 1), and every comparison follows:

| | becomes |
|---|---|
| =, <> | first <= c <= last, and its opposite |
| <, <= | c <= first - 1, c <= last |
| >, >= | c >= last + 1, c >= first |
"""

import math
import struct
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pyarrow as pa

from polynya.errors import InvalidInputError
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_type
from polynya.model.literals import (
    NANOS_PER_DAY,
    NANOS_PER_SECOND,
    Value,
    parse_date,
    parse_time,
    parse_timestamp,
    render,
    wall_nanos,
)
from polynya.model.predicate import FALSE, Compare, IsNotNull, Op, Path, Predicate, all_of, any_of, column_text

_INTEGER_BITS = {t.TinyInt: 8, t.SmallInt: 16, t.Int: 32, t.BigInt: 64}
_UNIT_NANOS = {"ms": 10**6, "us": 10**3, "ns": 1}
_REACH = 100  # decimal exponents; a DECIMAL has 38 digits
_TRUE_AT_EQUAL = (Op.EQ, Op.LE, Op.GE)


def compare(op: Op, column: Path, type: t.DataType, value: Value) -> Predicate:
    """`column op value` as a bound predicate; InvalidInputError when the two cannot be compared."""
    if value is None or (isinstance(value, pa.Scalar) and not value.is_valid):
        return FALSE
    match type:
        case t.Float() | t.Double():
            return _compare_float(op, column, type, _float(_number(column, type, value)))
        case t.TinyInt() | t.SmallInt() | t.Int() | t.BigInt() | t.Decimal():
            return _compare_number(op, column, type, _number(column, type, value))
        case t.Date() | t.Time() | t.Timestamp() | t.LocalTimestamp():
            grid = _grid(type)
            nanos = Fraction(_nanos(column, type, value)) / grid.unit
            return _on_grid(op, column, grid, math.ceil(nanos), math.floor(nanos))
        case t.Boolean() | t.Char() | t.VarChar() | t.Binary() | t.VarBinary():
            return Compare(op, column, _same(column, type, value))
        case _:
            raise _mismatch(column, type, value)


def type_text(type: t.DataType) -> str:
    """The type as messages name it."""
    match type:
        case t.VarChar(length=t.MAX_LENGTH):
            return "STRING"
        case t.VarBinary(length=t.MAX_LENGTH):
            return "BYTES"
        case t.Decimal(precision=precision, scale=scale):
            return f"DECIMAL({precision}, {scale})"
        case t.LocalTimestamp(precision=precision):
            return f"TIMESTAMP({precision}) WITH LOCAL TIME ZONE"
        case t.Timestamp(precision=size) | t.Time(precision=size):
            return f"{type.__class__.__name__.upper()}({size})"
        case t.Char(length=size) | t.VarChar(length=size) | t.Binary(length=size) | t.VarBinary(length=size):
            return f"{type.__class__.__name__.upper()}({size})"
        case _:
            return type.__class__.__name__.upper()


def _mismatch(column: Path, type: t.DataType, value: Value) -> InvalidInputError:
    return InvalidInputError(f"column '{column_text(column)}': cannot compare {type_text(type)} with {render(value)}")


def _same(column: Path, type: t.DataType, value: Value) -> pa.Scalar:
    """The value of a type whose values are compared as they are."""
    plain = value.as_py() if isinstance(value, pa.Scalar) else value
    wanted = bool if isinstance(type, t.Boolean) else str if isinstance(type, (t.Char, t.VarChar)) else bytes
    if not isinstance(plain, wanted):
        raise _mismatch(column, type, value)
    return pa.scalar(plain, to_arrow_type(type))


# ---- the grid


@dataclass(frozen=True, slots=True)
class _Grid:
    type: pa.DataType
    low: int
    high: int
    unit: Fraction = Fraction(1)

    def scalar(self, point: int) -> pa.Scalar:
        if pa.types.is_decimal(self.type):
            digits = tuple(map(int, str(abs(point))))
            return pa.scalar(Decimal((int(point < 0), digits, -self.type.scale)), self.type)
        return pa.scalar(point, self.type)


@lru_cache(maxsize=256)
def _grid(type: t.DataType) -> _Grid:
    """The points of a type; the unit is a number, or nanoseconds for days and clocks."""
    arrow = to_arrow_type(type)
    match type:
        case t.Decimal(precision=precision, scale=scale):
            return _Grid(arrow, 1 - 10**precision, 10**precision - 1, Fraction(1, 10**scale))
        case t.Date():
            return _Grid(arrow, -(2**31), 2**31 - 1, Fraction(NANOS_PER_DAY))
        case t.TimeMicros():
            return _Grid(arrow, 0, NANOS_PER_DAY // 1000 - 1, Fraction(_UNIT_NANOS["us"]))
        case t.Time():
            return _Grid(arrow, 0, 86_400_000 - 1, Fraction(_UNIT_NANOS["ms"]))
        case t.Timestamp() | t.LocalTimestamp():
            return _Grid(arrow, -(2**63), 2**63 - 1, Fraction(_UNIT_NANOS[arrow.unit]))
        case _:
            bits = _INTEGER_BITS[type.__class__]
            return _Grid(arrow, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _on_grid(op: Op, column: Path, grid: _Grid, first: int, last: int) -> Predicate:
    if first == last and grid.low <= first <= grid.high:
        return Compare(op, column, grid.scalar(first))
    match op:
        case Op.EQ:
            return all_of(_at_least(column, grid, first), _at_most(column, grid, last)) if first <= last else FALSE
        case Op.NE:
            below, above = _at_most(column, grid, first - 1), _at_least(column, grid, last + 1)
            return any_of(below, above) if first <= last and below != above else IsNotNull(column)
        case Op.LT:
            return _at_most(column, grid, first - 1)
        case Op.LE:
            return _at_most(column, grid, last)
        case Op.GT:
            return _at_least(column, grid, last + 1)
        case Op.GE:
            return _at_least(column, grid, first)


def _at_most(column: Path, grid: _Grid, point: int) -> Predicate:
    if point >= grid.high:
        return IsNotNull(column)
    return Compare(Op.LE, column, grid.scalar(point)) if point >= grid.low else FALSE


def _at_least(column: Path, grid: _Grid, point: int) -> Predicate:
    if point <= grid.low:
        return IsNotNull(column)
    return Compare(Op.GE, column, grid.scalar(point)) if point <= grid.high else FALSE


# ---- numbers


def _number(column: Path, type: t.DataType, value: Value) -> int | float | Decimal:
    plain = value.as_py() if isinstance(value, pa.Scalar) else value
    if isinstance(plain, bool) or not isinstance(plain, (int, float, Decimal)):
        raise _mismatch(column, type, value)
    return plain


def _float(value: int | float | Decimal) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _compare_number(op: Op, column: Path, type: t.DataType, value: int | float | Decimal) -> Predicate:
    grid = _grid(type)
    if not math.isfinite(value):
        beyond = grid.low - 1 if value < 0 else grid.high + 1  # NaN is above everything
        return _on_grid(op, column, grid, beyond, beyond)
    if isinstance(value, float):
        return _on_grid(op, column, grid, *_rounding_to(value, grid.unit))
    exact = Fraction(_within_reach(value)) / grid.unit
    return _on_grid(op, column, grid, math.ceil(exact), math.floor(exact))


def _within_reach(value: int | Decimal) -> int | Decimal:
    """The number, or one just as far beyond every grid: 1E+999999999 as a fraction would fill the memory."""
    if isinstance(value, int) or not value or -_REACH <= value.adjusted() <= _REACH:
        return value
    return Decimal((int(value < 0), (1,), _REACH if value.adjusted() > 0 else -_REACH))


def _rounding_to(value: float, unit: Fraction) -> tuple[int, int]:
    """The first and last multiple of the unit that is `value` once rounded to a float."""
    below, above = math.nextafter(value, -math.inf), math.nextafter(value, math.inf)
    exact = Fraction(value)
    low = (exact + Fraction(below)) / 2 if math.isfinite(below) else exact
    high = (exact + Fraction(above)) / 2 if math.isfinite(above) else exact
    first, last = math.ceil(low / unit), math.floor(high / unit)
    if struct.unpack("<q", struct.pack("<d", value))[0] % 2:  # a tie goes to the even neighbour, which is not this one
        first, last = math.floor(low / unit) + 1, math.ceil(high / unit) - 1
    return first, last


def _compare_float(op: Op, column: Path, type: t.Float | t.Double, value: float) -> Predicate:
    if math.isnan(value):
        return _compare_nan(op, column, type)
    if isinstance(type, t.Double) or _narrow(value) == value:
        return Compare(op, column, pa.scalar(value, to_arrow_type(type)))
    match op:
        case Op.EQ:
            return FALSE
        case Op.NE:
            return IsNotNull(column)
        case Op.LT | Op.LE:
            return Compare(Op.LE, column, pa.scalar(_narrow_beside(value, -math.inf), pa.float32()))
        case Op.GT | Op.GE:
            return Compare(Op.GE, column, pa.scalar(_narrow_beside(value, math.inf), pa.float32()))


def _compare_nan(op: Op, column: Path, type: t.Float | t.Double) -> Predicate:
    match op:
        case Op.LE:
            return IsNotNull(column)
        case Op.GT:
            return FALSE
        case _:
            nan = pa.scalar(math.nan, to_arrow_type(type))
            return Compare(Op.EQ if op in _TRUE_AT_EQUAL else Op.NE, column, nan)


def _narrow(value: float) -> float:
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _narrow_beside(value: float, toward: float) -> float:
    """The FLOAT nearest to a number that is none, on the side of `toward`."""
    near = _narrow(value)
    if (near > value) == (toward > 0):
        return near
    return float(np.nextafter(np.float32(near), np.float32(toward)))


# ---- days and clocks


def _nanos(column: Path, type: t.DataType, value: Value) -> int:
    """Nanoseconds since 1970, or since midnight for TIME."""
    moment = _moment(type, value)
    if moment is None:
        raise _mismatch(column, type, value)
    nanos, zoned = moment
    if zoned and not isinstance(type, t.LocalTimestamp):
        raise InvalidInputError(f"{_mismatch(column, type, value)}; {type_text(type)} has no time zone")
    return nanos


def _moment(type: t.DataType, value: Value) -> tuple[int, bool] | None:
    """The nanoseconds of a literal and whether it has a time zone; None when it does not fit the type."""
    if isinstance(value, str):
        value = _parsed(type, value)
    if isinstance(value, pa.Scalar):
        return _scalar_moment(type, value)
    match value:
        case time() if isinstance(type, t.Time) and value.tzinfo is None:
            seconds = (value.hour * 60 + value.minute) * 60 + value.second
            return seconds * NANOS_PER_SECOND + value.microsecond * 1000, False
        case datetime() if not isinstance(type, t.Time):
            if value.tzinfo is None:
                return wall_nanos(value), False
            return wall_nanos(value.astimezone(UTC).replace(tzinfo=None)), True
        case date() if not isinstance(type, t.Time):
            return wall_nanos(datetime(value.year, value.month, value.day)), False
        case _:
            return None


def _parsed(type: t.DataType, text: str) -> Value:
    match type:
        case t.Date():
            return parse_date(text)
        case t.Time():
            return parse_time(text)
        case _:
            return parse_timestamp(text)


def _scalar_moment(type: t.DataType, scalar: pa.Scalar) -> tuple[int, bool] | None:
    if pa.types.is_time(scalar.type) and isinstance(type, t.Time):
        return scalar.cast(pa.time64("ns")).value, False
    if pa.types.is_date32(scalar.type) and not isinstance(type, t.Time):
        return scalar.value * NANOS_PER_DAY, False
    if pa.types.is_timestamp(scalar.type) and not isinstance(type, t.Time):
        unit = NANOS_PER_SECOND if scalar.type.unit == "s" else _UNIT_NANOS[scalar.type.unit]
        return scalar.value * unit, scalar.type.tz is not None
    return None
