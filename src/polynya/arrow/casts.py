"""Values of an old column type as values of the new one, exactly as Paimon reads them after a type change.

| from, to | rule |
|---|---|
| integers | low bits are kept |
| float to integer | toward zero, beyond INT (BIGINT) its end, NaN is 0; to TINYINT and SMALLINT then low bits |
| to DECIMAL | half up; null where it does not fit |
| DECIMAL to integer | toward zero, low bits |
| to text | as Java prints; then cut to VARCHAR(n), padded to CHAR(n) |
| text to a value | what cannot be parsed is an error |
| bytes to text | what is no UTF-8 becomes U+FFFD |
| TIMESTAMP to fewer digits | cut |
| TIMESTAMP to DATE | milliseconds are divided toward zero: the last day before 1970 is 1970-01-01 |
| TIMESTAMP to and from INT, BIGINT | whole seconds |

Instants and wall clocks are converted in UTC. Casts that go through text cost a Python call per distinct value, all
others are vectorised.
"""

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polynya.arrow import text_values
from polynya.errors import InvalidInputError, UnsupportedError
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_type
from polynya.model.value_text import render_float, render_time

Cast = Callable[[pa.Array], pa.Array]

_INTEGERS = (t.TinyInt, t.SmallInt, t.Int, t.BigInt)
_FLOATS = (t.Float, t.Double)
_TEXT = (t.Char, t.VarChar)
_BYTES = (t.Binary, t.VarBinary)
_TIMESTAMPS = (t.Timestamp, t.LocalTimestamp)
_DAY_MS = 86_400_000
_PER_MS = {"ms": 1, "us": 1_000, "ns": 1_000_000}
_WIDE = Context(prec=400)
_NEAREST = "half_towards_infinity"


def find_cast(source: t.DataType, target: t.DataType, column: str) -> Cast:
    """How values of `source` become values of `target`; UnsupportedError names the column and both types."""
    for sources, targets, make in _RULES:
        if isinstance(source, sources) and isinstance(target, targets):
            return make(source, target, column)
    raise UnsupportedError(f"column '{column}': no cast from {source} to {target}")


def _plain(source: t.DataType, target: t.DataType, column: str) -> Cast:
    return lambda array: array.cast(to_arrow_type(target), safe=False)


def _float_to_integer(source: t.DataType, target: t.DataType, column: str) -> Cast:
    bits = 64 if isinstance(target, t.BigInt) else 32
    least, greatest = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    narrow = to_arrow_type(target).to_pandas_dtype()

    def cast(array: pa.Array) -> pa.Array:
        values = array.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False)
        inside = np.nan_to_num(np.trunc(values), nan=0.0, posinf=0.0, neginf=0.0)
        high, low = values >= 2.0 ** (bits - 1), values <= least
        whole = np.where(high | low, 0.0, inside).astype(np.int64)
        whole[high], whole[low] = greatest, least
        return pa.array(whole.astype(narrow), to_arrow_type(target), mask=_nulls(array))

    return cast


def _integer_to_boolean(source: t.DataType, target: t.DataType, column: str) -> Cast:
    return lambda array: pc.not_equal(array, 0)


def _to_decimal(source: t.DataType, target: t.DataType, column: str) -> Cast:
    assert isinstance(target, t.Decimal)
    type = to_arrow_type(target)
    limit = pa.scalar(Decimal(10) ** (target.precision - target.scale), pa.decimal256(76, target.scale))

    def cast(array: pa.Array) -> pa.Array:
        if pa.types.is_boolean(array.type):
            array = array.cast(pa.int8())
        if pa.types.is_integer(array.type):
            array = array.cast(pa.int64()).cast(pa.decimal128(19, 0))
        scale = max(array.type.scale, target.scale)
        exact = array.cast(pa.decimal256(76, scale))
        rounded = pc.round(exact, ndigits=target.scale, round_mode=_NEAREST).cast(pa.decimal256(76, target.scale))
        fits = pc.less(pc.abs(rounded), limit)
        return pc.if_else(fits, rounded, pa.scalar(None, rounded.type)).cast(type)

    return cast


def _float_to_decimal(source: t.DataType, target: t.DataType, column: str) -> Cast:
    return _by_value(lambda value: _fit(Decimal(repr(value)), target), target, column, pa.float64())


def _text_to_decimal(source: t.DataType, target: t.DataType, column: str) -> Cast:
    return _by_value(lambda value: _fit(Decimal(value), target), target, column)


def _fit(value: Decimal, target: t.DataType) -> Decimal | None:
    """The decimal at the scale of the target, or None when it has too many digits."""
    assert isinstance(target, t.Decimal)
    if not value.is_finite():
        raise ValueError(f"{value} is no number")
    rounded = value.quantize(Decimal(1).scaleb(-target.scale), ROUND_HALF_UP, _WIDE)
    return rounded if rounded.adjusted() < target.precision - target.scale or not rounded else None


def _decimal_to_integer(source: t.DataType, target: t.DataType, column: str) -> Cast:
    def cast(array: pa.Array) -> pa.Array:
        whole = pc.trunc(array).cast(pa.decimal128(38, 0))
        words = np.frombuffer(whole.buffers()[1], np.int64).reshape(-1, 2)[whole.offset : whole.offset + len(whole), 0]
        return pa.array(words, pa.int64(), mask=_nulls(array)).cast(to_arrow_type(target), safe=False)

    return cast


def _decimal_to_float(source: t.DataType, target: t.DataType, column: str) -> Cast:
    through = _by_value(float, t.Double(), column)
    return lambda array: through(array).cast(to_arrow_type(target), safe=False)


def _to_text(source: t.DataType, target: t.DataType, column: str) -> Cast:
    fit = _fit_text(target)
    match source:
        case t.Float():
            printed = _by_value(lambda value: render_float(np.float32(value)), t.VarChar(), column)
        case t.Double():
            printed = _by_value(render_float, t.VarChar(), column)
        case t.Decimal():
            printed = _by_value(lambda value: format(value, "f"), t.VarChar(), column)
        case t.Time(precision=precision):
            printed = _by_value(partial(render_time, precision=precision), t.VarChar(), column, pa.int32())
        case t.Timestamp(precision=precision) | t.LocalTimestamp(precision=precision):
            printed = partial(_print_timestamps, precision=precision)
        case _:
            printed = partial(pc.cast, target_type=pa.string())
    return lambda array: fit(printed(array))


def _print_timestamps(array: pa.Array, precision: int) -> pa.Array:
    """At least `precision` digits of a second, and no more zeros after them than needed."""
    text = array.view(pa.timestamp(array.type.unit)).cast(pa.string())
    spare = {"ms": 3, "us": 6, "ns": 9}[array.type.unit] - precision
    if spare == 0:
        return text
    return pc.replace_substring_regex(pc.replace_substring_regex(text, f"0{{1,{spare}}}$", ""), r"\.$", "")


def _text_to_text(source: t.DataType, target: t.DataType, column: str) -> Cast:
    return _fit_text(target)


def _fit_text(target: t.DataType) -> Cast:
    assert isinstance(target, (t.Char, t.VarChar))
    length = target.length
    if isinstance(target, t.Char):
        return lambda array: pc.utf8_rpad(pc.utf8_slice_codeunits(array, 0, length), length, " ")
    if length == t.MAX_LENGTH:
        return lambda array: array
    return lambda array: pc.utf8_slice_codeunits(array, 0, length)


def _bytes_to_text(source: t.DataType, target: t.DataType, column: str) -> Cast:
    by_value = _by_value(lambda value: value.decode("utf-8", "replace"), t.VarChar(), column)

    def cast(array: pa.Array) -> pa.Array:
        try:
            return array.cast(pa.string())
        except pa.ArrowInvalid:  # some value is no UTF-8
            return by_value(array)

    return cast


def _to_bytes(source: t.DataType, target: t.DataType, column: str) -> Cast:
    assert isinstance(target, (t.Binary, t.VarBinary))
    length = target.length
    if isinstance(target, t.Binary):
        return _by_value(lambda value: value[:length].ljust(length, b"\0"), target, column, pa.binary())
    if length == t.MAX_LENGTH:
        return lambda array: array.cast(pa.binary())
    return lambda array: pc.binary_slice(array.cast(pa.binary()), 0, length)


def _text_to_value(source: t.DataType, target: t.DataType, column: str) -> Cast:
    match target:
        case t.Boolean():
            parse: Callable[[str], Any] = text_values.parse_boolean
        case t.Float() | t.Double():
            through = _by_value(text_values.parse_double, t.Double(), column)
            return lambda array: through(array).cast(to_arrow_type(target), safe=False)
        case t.Date():
            parse = text_values.parse_date
        case t.Time():
            parse = text_values.parse_time
        case t.Timestamp(precision=precision):
            parse = partial(text_values.parse_timestamp, precision=precision, numeric=True)
        case t.LocalTimestamp(precision=precision):
            parse = partial(text_values.parse_timestamp, precision=precision, numeric=False)
        case _:
            bits = to_arrow_type(target).bit_width
            parse = partial(text_values.parse_integer, bits=bits)
    return _by_value(parse, target, column)


def _timestamp_to_timestamp(source: t.DataType, target: t.DataType, column: str) -> Cast:
    assert isinstance(source, _TIMESTAMPS)
    assert isinstance(target, _TIMESTAMPS)
    type = to_arrow_type(target)

    def cast(array: pa.Array) -> pa.Array:
        if target.precision < source.precision:
            array = _cut(array, target.precision)
        try:
            return array.view(pa.timestamp(array.type.unit)).cast(pa.timestamp(type.unit)).view(type)
        except pa.ArrowInvalid as error:
            raise UnsupportedError(f"column '{column}': {error}; Arrow holds nanoseconds of 1677 to 2262") from error

    return cast


def _cut(array: pa.Array, precision: int) -> pa.Array:
    """Drop digits: below the millisecond always down, above it toward zero."""
    values = _integers(array)
    digits = {"ms": 3, "us": 6, "ns": 9}[array.type.unit]
    values -= values % 10 ** (digits - max(precision, 3))
    if precision < 3:
        values -= np.fmod(values, 10 ** (digits - precision))
    return pa.array(values, pa.int64(), mask=_nulls(array)).view(array.type)


def _timestamp_to_date(source: t.DataType, target: t.DataType, column: str) -> Cast:
    def cast(array: pa.Array) -> pa.Array:
        days = np.trunc(_millis(array) / _DAY_MS).astype(np.int32)
        return pa.array(days, pa.int32(), mask=_nulls(array)).view(pa.date32())

    return cast


def _timestamp_to_time(source: t.DataType, target: t.DataType, column: str) -> Cast:
    def cast(array: pa.Array) -> pa.Array:
        times = (_millis(array) % _DAY_MS).astype(np.int32)
        return pa.array(times, pa.int32(), mask=_nulls(array)).view(pa.time32("ms"))

    return cast


def _timestamp_to_integer(source: t.DataType, target: t.DataType, column: str) -> Cast:
    def cast(array: pa.Array) -> pa.Array:
        millis = _millis(array)
        seconds = (millis - np.fmod(millis, 1000)) // 1000
        return pa.array(seconds, pa.int64(), mask=_nulls(array)).cast(to_arrow_type(target), safe=False)

    return cast


def _to_timestamp(source: t.DataType, target: t.DataType, column: str) -> Cast:
    type = to_arrow_type(target)
    millis_each = {t.Date: _DAY_MS, t.Time: 1}.get(source.__class__, 1000)

    def cast(array: pa.Array) -> pa.Array:
        values = _integers(array) * (millis_each * _PER_MS[type.unit])
        return pa.array(values, pa.int64(), mask=_nulls(array)).view(type)

    return cast


def _integers(array: pa.Array) -> np.ndarray:
    """The integers under dates, times, timestamps and integers, 0 for null, in memory of their own."""
    plain = array.view(pa.int64()) if pa.types.is_timestamp(array.type) else array
    if pa.types.is_date32(plain.type) or pa.types.is_time32(plain.type):
        plain = plain.view(pa.int32())
    return np.array(plain.fill_null(0).to_numpy(zero_copy_only=False), np.int64)


def _millis(array: pa.Array) -> np.ndarray:
    return np.array(_integers(array) // _PER_MS[array.type.unit])


def _nulls(array: pa.Array) -> np.ndarray | None:
    return pc.is_null(array).to_numpy(zero_copy_only=False) if array.null_count else None


def _by_value(
    convert: Callable[[Any], Any], target: t.DataType, column: str, physical: pa.DataType | None = None
) -> Cast:
    """A cast that converts every distinct value once, in Python."""
    type = to_arrow_type(target)
    integer = {t.Date: pa.int32(), t.Time: pa.int32(), t.Timestamp: pa.int64(), t.LocalTimestamp: pa.int64()}
    stored = integer.get(target.__class__, type)

    def checked(value: object) -> object:
        try:
            return convert(value)
        except (ValueError, InvalidOperation, OverflowError) as error:
            raise InvalidInputError(f"column '{column}': cannot read {value!r} as {type}; {error}") from error

    def cast(array: pa.Array) -> pa.Array:
        encoded = (array if physical is None else array.cast(physical)).dictionary_encode()
        values = pa.array([checked(value) for value in encoded.dictionary.to_pylist()], stored)
        return values.take(encoded.indices).view(type) if stored != type else values.take(encoded.indices)

    return cast


_Rule = tuple[tuple[type[t.DataType], ...], tuple[type[t.DataType], ...], Callable[[t.DataType, t.DataType, str], Cast]]
_RULES: tuple[_Rule, ...] = (
    (_INTEGERS, (*_INTEGERS, *_FLOATS), _plain),
    (_FLOATS, _FLOATS, _plain),
    (_FLOATS, _INTEGERS, _float_to_integer),
    (_FLOATS, (t.Decimal,), _float_to_decimal),
    ((t.Boolean,), (*_INTEGERS, *_FLOATS), _plain),
    (_INTEGERS, (t.Boolean,), _integer_to_boolean),
    ((*_INTEGERS, t.Boolean, t.Decimal), (t.Decimal,), _to_decimal),
    ((t.Decimal,), _INTEGERS, _decimal_to_integer),
    ((t.Decimal,), _FLOATS, _decimal_to_float),
    (_TEXT, _TEXT, _text_to_text),
    (_BYTES, _TEXT, _bytes_to_text),
    ((*_TEXT, *_BYTES), _BYTES, _to_bytes),
    (_TEXT, (t.Decimal,), _text_to_decimal),
    (_TEXT, (t.Boolean, *_INTEGERS, *_FLOATS, t.Date, t.Time, *_TIMESTAMPS), _text_to_value),
    ((t.Boolean, *_INTEGERS, *_FLOATS, t.Decimal, t.Date, t.Time, *_TIMESTAMPS), _TEXT, _to_text),
    (_TIMESTAMPS, _TIMESTAMPS, _timestamp_to_timestamp),
    (_TIMESTAMPS, (t.Date,), _timestamp_to_date),
    (_TIMESTAMPS, (t.Time,), _timestamp_to_time),
    (_TIMESTAMPS, (t.Int, t.BigInt), _timestamp_to_integer),
    ((t.Date, t.Time, t.Int, t.BigInt), _TIMESTAMPS, _to_timestamp),
    ((t.Time,), (t.Time,), _plain),
)
