"""The values that predicates compare with: Python values or Arrow scalars, and their SQL text.

A text of a time may have nine digits of a second, Python's datetime has six: a longer one becomes an Arrow scalar.
"""

import math
import re
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import TypeAlias

import pyarrow as pa

from polynya.errors import InvalidInputError

Value: TypeAlias = bool | int | float | Decimal | str | bytes | date | time | datetime | pa.Scalar | None

NANOS_PER_SECOND = 10**9
NANOS_PER_DAY = 86_400 * NANOS_PER_SECOND
EPOCH = datetime(1970, 1, 1)

_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})", re.ASCII)
_TIME = re.compile(r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?", re.ASCII)
_ZONE = re.compile(r"\s*(?:Z|UTC|([+-])(\d{1,2}):(\d{2}))", re.ASCII)


def parse_date(text: str) -> date | None:
    """The day that `yyyy-m-d` names, or None."""
    found = _DATE.fullmatch(text.strip())
    try:
        return date(*map(int, found.groups())) if found else None
    except ValueError:  # no such day in the calendar
        return None


def parse_time(text: str) -> time | None:
    """The time of day that `h:m[:s[.f]]` names, or None; at most six digits of a second."""
    found = _TIME.fullmatch(text.strip())
    nanos = _nanos_of_day(found) if found else None
    if nanos is None or nanos % 1000:
        return None
    return (EPOCH + timedelta(microseconds=nanos // 1000)).time()


def parse_timestamp(text: str) -> datetime | pa.Scalar | None:
    """The moment that a day, then perhaps a time, then perhaps a zone name, or None.

    With a zone (`Z`, `UTC`, `+hh:mm`) the value has one. Digits finer than microseconds give a timestamp[ns] scalar.
    """
    text = text.strip()
    day = _DATE.match(text)
    start = parse_date(day.group()) if day else None
    if day is None or start is None:
        return None
    rest = text[day.end() :]
    if not rest:
        return datetime(start.year, start.month, start.day)
    clock = _TIME.match(rest, 1)
    nanos = _nanos_of_day(clock) if clock and rest[0] in " T" else None
    if clock is None or nanos is None:
        return None
    zone_text = rest[clock.end() :]
    zone = _ZONE.fullmatch(zone_text)
    if zone_text and (zone is None or int(zone[2] or 0) > 18 or int(zone[3] or 0) > 59):
        return None
    return _moment(datetime(start.year, start.month, start.day), nanos, zone)


def _nanos_of_day(clock: re.Match[str]) -> int | None:
    hour, minute, second = (int(part or 0) for part in clock.groups()[:3])
    if hour > 23 or minute > 59 or second > 59:
        return None
    return ((hour * 60 + minute) * 60 + second) * NANOS_PER_SECOND + int((clock[4] or "").ljust(9, "0"))


def _moment(midnight: datetime, nanos: int, zone: re.Match[str] | None) -> datetime | pa.Scalar | None:
    offset = timedelta(0)
    if zone and zone[1]:
        offset = timedelta(hours=int(zone[2]), minutes=int(zone[3])) * (-1 if zone[1] == "-" else 1)
    try:
        if nanos % 1000 == 0:
            moment = midnight + timedelta(microseconds=nanos // 1000)
            return moment.replace(tzinfo=timezone(offset)) if zone else moment
        total = wall_nanos(midnight - offset) + nanos
        return pa.scalar(total, pa.timestamp("ns", "UTC" if zone else None))
    except (OverflowError, pa.ArrowInvalid):  # nanoseconds reach from 1677 to 2262 only
        return None


def wall_nanos(moment: datetime) -> int:
    """Nanoseconds from 1970 to a datetime without a zone."""
    return (moment - EPOCH) // timedelta(microseconds=1) * 1000


def render(value: Value) -> str:
    """The value as a SQL literal that the parser reads back to an equal value."""
    match value:
        case pa.Scalar():
            return _render_scalar(value)
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return str(value)
        case float():
            return _render_float(value)
        case Decimal():
            return _render_decimal(value)
        case str():
            return render_text(value)
        case bytes():
            return f"X'{value.hex().upper()}'"
        case datetime():
            return f"TIMESTAMP '{value.isoformat(' ')}'"
        case date():
            return f"DATE '{value.isoformat()}'"
        case time():
            return f"TIME '{value.isoformat()}'"
        case _:
            raise InvalidInputError(f"a predicate cannot hold {value!r} of type {type(value).__name__}")


def render_text(text: str) -> str:
    """A string as a SQL literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def _render_decimal(value: Decimal) -> str:
    if not value.is_finite():
        return _render_float(float(value))
    return format(value, "f") if abs(value.adjusted()) < 1000 else f"{value}BD"


def _render_float(value: float) -> str:
    if math.isfinite(value):
        return f"{value!r}D"
    name = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return f"CAST('{name}' AS DOUBLE)"


def _render_scalar(scalar: pa.Scalar) -> str:
    if not scalar.is_valid:
        return "NULL"
    if pa.types.is_timestamp(scalar.type):
        return f"TIMESTAMP '{scalar.cast(pa.string()).as_py()}'"
    if pa.types.is_date(scalar.type):  # its text knows years that Python's date does not
        return f"DATE '{scalar.cast(pa.string()).as_py()}'"
    return render(scalar.as_py())
