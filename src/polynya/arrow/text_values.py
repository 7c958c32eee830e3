"""Values as text and text as values, in the forms of Java that Paimon uses when a column changes its type."""

import math
import re
from datetime import date

import numpy as np

_INTEGER = re.compile(r"[+-]?(\d*)(\.\d*)?", re.ASCII)
_DIGITS = re.compile(r"\d+", re.ASCII)
_FLOAT = re.compile(r"[+-]?(NaN|Infinity|(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[fFdD]?)", re.ASCII)
_DATE = re.compile(r"\s*(\d+)\s*(?:-\s*(\d+)\s*(?:-\s*(\d+)\s*)?)?", re.ASCII)
_TIME = re.compile(r"\s*(\d+)\s*(?::\s*(\d+)\s*(?::\s*(\d+)\s*(?:\.(\d*))?\s*)?)?", re.ASCII)
_TIMESTAMP = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})"
    r"(?: (\d{1,2}):(\d{1,2}):(\d{1,2})(\.\d{1,9})?|T(\d{1,2}):(\d{1,2})(?::(\d{1,2})(\.\d{1,9})?)?)?",
    re.ASCII,
)
_TRUE = frozenset(("t", "true", "y", "yes", "1"))
_FALSE = frozenset(("f", "false", "n", "no", "0"))
_EPOCH = date(1970, 1, 1).toordinal()


def print_double(value: float) -> str:
    """The shortest text that gives the same number, with an exponent outside 10^-3 to 10^7."""
    return _print(value, repr(value))


def print_float(value: float) -> str:
    """As `print_double`, for a number of 32 bits."""
    return _print(value, str(np.float32(value)))


def _print(value: float, shortest: str) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0.0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = shortest.lstrip("-").lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0") or "0"
    if not -3 < point <= 7:
        return f"{sign}{digits[0]}.{digits[1:] or '0'}E{point - 1}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    return f"{sign}{digits[:point].ljust(point, '0')}.{digits[point:] or '0'}"


def print_time(millis: int, precision: int) -> str:
    """`HH:mm:ss`, and up to `precision` digits of a second that end at the last one that is not zero."""
    seconds, rest = divmod(millis % 86_400_000, 1000)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if precision == 0:
        return text
    return f"{text}.{f'{rest:03}'[:precision].rstrip('0') or '0'}"


def parse_boolean(text: str) -> bool:
    """t, true, y, yes, 1 or their opposites, in any case."""
    plain = text.lower()
    if plain not in _TRUE | _FALSE:
        raise ValueError("expected a boolean")
    return plain in _TRUE


def parse_integer(text: str, bits: int) -> int:
    """A whole number that fits; a fraction is cut off."""
    found = _INTEGER.fullmatch(text)
    if found is None or text in ("", "+", "-"):
        raise ValueError("expected a whole number")
    value = int(found[1] or "0") * (-1 if text.startswith("-") else 1)
    if not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
        raise ValueError(f"expected a number of {bits} bits")
    return value


def parse_double(text: str) -> float:
    """A number as Java's Double.parseDouble takes it, hexadecimal ones aside."""
    plain = text.strip()
    if _FLOAT.fullmatch(plain) is None:
        raise ValueError("expected a number")
    return float(plain.rstrip("fFdD") if plain[-1] in "fFdD" else plain)


def parse_date(text: str) -> int:
    """Days since 1970 from `y[-m[-d]]`, perhaps with a time after a blank; a text of digits is the number of days."""
    if _DIGITS.fullmatch(text):
        return parse_integer(text, 32)
    head = text.partition(" ")[0] if text.find(" ") > 0 else text
    found = _DATE.fullmatch(head)
    if found is None:
        raise ValueError("expected a date")
    return date(int(found[1]), int(found[2] or 1), int(found[3] or 1)).toordinal() - _EPOCH


def parse_time(text: str) -> int:
    """Milliseconds of the day from `h[:m[:s[.fraction]]]`; a text of digits is the number of milliseconds."""
    if _DIGITS.fullmatch(text):
        return parse_integer(text, 32)
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError("expected a time of day")
    hours, minutes, seconds = (int(part or 0) for part in found.groups()[:3])
    fraction = (found[4] or "").ljust(4, "0")
    millis = int(fraction[:3]) + (fraction[3] >= "5")
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + millis


def parse_timestamp(text: str, precision: int, *, numeric: bool) -> int:
    """The timestamp in the unit of `precision` digits; `numeric` takes a text of digits for such a number."""
    digits = 3 if precision <= 3 else 6 if precision <= 6 else 9
    if numeric and _DIGITS.fullmatch(text):
        if precision not in (0, 3, 6, 9):
            raise ValueError(f"a number is no TIMESTAMP({precision})")
        return parse_integer(text, 64) * int(10 ** (digits - precision))
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        raise ValueError("expected yyyy-MM-dd HH:mm:ss")
    year, month, day = (int(part) for part in found.groups()[:3])
    hours, minutes, seconds = (int(found[i] or found[i + 4] or 0) for i in (4, 5, 6))
    if hours > 23 or minutes > 59 or seconds > 59:
        raise ValueError("expected a time of day")
    whole = ((date(year, month, day).toordinal() - _EPOCH) * 24 + hours) * 3600 + minutes * 60 + seconds
    fraction = (found[7] or found[11] or ".")[1:].ljust(9, "0")[:precision].ljust(digits, "0")
    return whole * int(10**digits) + int(fraction)
