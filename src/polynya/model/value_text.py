"""Values as text and back, as Paimon casts them: partition names, default values, statistics.

A physical value is what Arrow stores: days for DATE, milliseconds for TIME, a count of the type's unit since 1970 for
TIMESTAMP; the other types are their Python values.
"""

import functools
import math
import re
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from polynya.errors import InvalidInputError, UnsupportedError
from polynya.model import types as t
from polynya.model.arrow_types import timestamp_unit, to_arrow_type
from polynya.model.literals import parse_date, parse_time, parse_timestamp

Physical: TypeAlias = bool | int | float | Decimal | str | bytes

_NANOS = 10**9
_DAY_NANOS = 86_400 * _NANOS
_UNIT_NANOS = {"ms": 10**6, "us": 10**3, "ns": 1}
_EPOCH = datetime(1970, 1, 1)
_TRUE = frozenset(("t", "true", "y", "yes", "1"))
_FALSE = frozenset(("f", "false", "n", "no", "0"))
_INTEGER = re.compile(r"[+-]?\d{1,19}", re.ASCII)
_REAL = re.compile(r"[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|NaN|Infinity)", re.ASCII)
_BITS: dict[type[t.DataType], int] = {t.TinyInt: 8, t.SmallInt: 16, t.Int: 32, t.BigInt: 64, t.Date: 32, t.Time: 32}
_WIDE = Context(prec=100)


def render(value: Physical, type: t.DataType, zone: tzinfo = UTC) -> str:
    """The text of a physical value; an instant is shown on the wall clock of `zone`."""
    match value, type:
        case bool(), _:
            return "true" if value else "false"
        case float(), t.Float():
            return render_float(np.float32(value))
        case float(), _:
            return render_float(value)
        case Decimal(), _:
            return format(value, "f")
        case bytes(), _:
            return value.decode("utf-8", "replace")
        case int(), t.Date():
            return _date_text(value)
        case int(), t.Time(precision=precision):
            return render_time(value, precision)
        case int(), t.Timestamp(precision=precision):
            return _moment_text(_nanos(value, precision), precision)
        case int(), t.LocalTimestamp(precision=precision):
            nanos = _nanos(value, precision)
            return _moment_text(nanos + _offset_nanos(nanos, zone), precision)
        case _:
            return str(value)


def render_float(value: float | np.float32) -> str:
    """The shortest text that is read back to the number: 1.0, 0.001, 1.0E10; a float32 has fewer digits."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    text = np.format_float_scientific(value, unique=True, trim="-", exp_digits=1)
    mantissa, _, exponent = text.partition("e")
    if len(mantissa.lstrip("-")) == 1:  # at least two digits are shown: the closest two
        mantissa, _, exponent = f"{float(value):.1e}".partition("e")
    power = int(exponent)
    if -3 <= power < 7:
        plain = np.format_float_positional(value, unique=True, trim="0")
        return plain if "." in plain else plain + ".0"
    return f"{mantissa}E{power}"


def render_time(millis: int, precision: int) -> str:
    """`HH:mm:ss`, and `precision` digits of a second or fewer, where only zeros would follow."""
    seconds = millis // 1000
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if precision == 0:
        return text
    digits = f"{millis % 1000:03}"
    shown = max(len(digits.rstrip("0")), 1)
    return f"{text}.{digits[: min(shown, precision)]}"


def render_iso(value: int, precision: int) -> str:
    """A timestamp as ISO text: seconds only when not zero, then 3, 6 or 9 digits as needed."""
    days, rest = divmod(_nanos(value, precision), _DAY_NANOS)
    seconds, nanos = divmod(rest, _NANOS)
    text = f"{_iso_date(days)}T{seconds // 3600:02}:{seconds // 60 % 60:02}"
    if seconds % 60 or nanos:
        text += f":{seconds % 60:02}"
    if nanos:
        digits = f"{nanos:09}"
        text += "." + (digits[:3] if nanos % 10**6 == 0 else digits[:6] if nanos % 1000 == 0 else digits)
    return text


def physical(column: pa.Array) -> list[Physical | None]:
    """The physical values of an Arrow column."""
    kind = column.type
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        column = column.cast(pa.int32())
    elif pa.types.is_timestamp(kind):
        column = column.cast(pa.int64())
    found: list[Physical | None] = column.to_pylist()
    return found


def parse(text: str, type: t.DataType, zone: tzinfo = UTC) -> pa.Scalar:
    """The value that a text names; a time without a zone is read on the wall clock of `zone` where that matters.

    DATE, TIME and TIMESTAMP are also read as the whole number that is stored (TIMESTAMP in units of its precision).
    """
    value = _parse(text, type, zone)
    if value is None:
        raise InvalidInputError(f"text {text!r}: expected a value of {type.__class__.__name__.upper()}, found none")
    return pa.scalar(value, to_arrow_type(type))


def parse_boolean(text: str) -> bool | None:
    """t, true, y, yes, 1 or their opposites, in any case, or None."""
    plain = text.lower()
    return True if plain in _TRUE else False if plain in _FALSE else None


def _parse(text: str, type: t.DataType, zone: tzinfo) -> Physical | None:
    match type:
        case t.Boolean():
            return parse_boolean(text)
        case t.TinyInt() | t.SmallInt() | t.Int() | t.BigInt():
            return _integer(text, _BITS[type.__class__])
        case t.Float() | t.Double():
            return float(text) if _REAL.fullmatch(text.strip()) else None
        case t.Decimal(precision=precision, scale=scale):
            return _decimal(text, precision, scale)
        case t.Char(length=length) | t.VarChar(length=length):
            return text if len(text) <= length else None
        case t.Binary(length=length) | t.VarBinary(length=length):
            data = text.encode("utf-8")
            return data if len(data) <= length else None
        case t.Date():
            day = parse_date(text)
            return _integer(text, 32) if day is None else day.toordinal() - _EPOCH.toordinal()
        case t.Time():
            time = parse_time(text)
            if time is None:
                return _integer(text, 32)
            return ((time.hour * 60 + time.minute) * 60 + time.second) * 1000 + time.microsecond // 1000
        case t.Timestamp(precision=precision):
            return _timestamp(text, precision, None)
        case t.LocalTimestamp(precision=precision):
            return _timestamp(text, precision, zone)
        case _:
            raise UnsupportedError(f"text {text!r}: values of {type.__class__.__name__.upper()} are not read from text")


def _integer(text: str, bits: int) -> int | None:
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -(2 ** (bits - 1)) <= number < 2 ** (bits - 1) else None


def _decimal(text: str, precision: int, scale: int) -> Decimal | None:
    if len(text) > 100:
        return None
    try:
        value = Decimal(text).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _WIDE)
    except InvalidOperation:  # not a number, or one of far too many digits
        return None
    return value if value.is_finite() and abs(value) < Decimal(10) ** (precision - scale) else None


def _timestamp(text: str, precision: int, zone: tzinfo | None) -> int | None:
    unit = _UNIT_NANOS[timestamp_unit(precision)]
    count = _integer(text, 64)
    if count is not None and zone is None and precision in (0, 3, 6, 9):
        return count * 1000 if precision == 0 else count
    moment = parse_timestamp(text)
    if moment is None:
        return None
    if isinstance(moment, pa.Scalar):
        nanos, zoned = moment.value, moment.type.tz is not None
    else:
        zoned = moment.tzinfo is not None
        local = moment.astimezone(UTC).replace(tzinfo=None) if zoned else moment
        nanos = (local - _EPOCH) // timedelta(microseconds=1) * 1000
    if zone is None and zoned:
        return None
    if zone is not None and not zoned:
        nanos -= _offset_nanos(nanos, zone, wall=True)
    step = 10 ** (9 - precision)
    return int(nanos // step * step // unit)


def _nanos(value: int, precision: int) -> int:
    return value * _UNIT_NANOS[timestamp_unit(precision)]


def _offset_nanos(nanos: int, zone: tzinfo, *, wall: bool = False) -> int:
    # Years outside 1 to 9999 take the offset of the nearest year that Python's calendar has.
    seconds = min(max(nanos // _NANOS, -62_135_510_400), 253_402_214_400)
    moment = _EPOCH + timedelta(seconds=seconds)
    local = moment.replace(tzinfo=zone) if wall else moment.replace(tzinfo=UTC).astimezone(zone)
    offset = local.utcoffset() or timedelta(0)
    return offset // timedelta(microseconds=1) * 1000


@functools.lru_cache(maxsize=4096)
def _calendar(days: int) -> tuple[int, int, int]:
    day = np.datetime64(days, "D")
    month = day.astype("M8[M]")
    months = int(month.astype(np.int64))
    return 1970 + months // 12, months % 12 + 1, days - int(month.astype("M8[D]").astype(np.int64)) + 1


def _date_text(days: int) -> str:
    # Four characters for the year, whatever it is: that is how the directories of such years are called.
    year, month, day = _calendar(days)
    digits = (chr(ord("0") + int(math.fmod(int(year / power), 10))) for power in (1000, 100, 10, 1))
    return f"{''.join(digits)}-{month:02}-{day:02}"


def _iso_date(days: int) -> str:
    year, month, day = _calendar(days)
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04}-{month:02}-{day:02}"


def _moment_text(nanos: int, precision: int) -> str:
    days, rest = divmod(nanos, _DAY_NANOS)
    seconds, fraction = divmod(rest, _NANOS)
    text = f"{_date_text(days)} {seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    digits = f"{fraction:09}".rstrip("0").ljust(precision, "0")
    return f"{text}.{digits}" if digits else text
