"""Text as values, read as leniently as Paimon does when a column changes its type; ValueError where even that fails.

What people write in specs and defaults is read by `model.value_text`, which takes nothing that could be a slip.
"""

import re
from datetime import date

from polynya.model import value_text

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
_EPOCH = date(1970, 1, 1).toordinal()


def parse_boolean(text: str) -> bool:
    """A boolean as every text of one is read."""
    found = value_text.parse_boolean(text)
    if found is None:
        raise ValueError("expected a boolean")
    return found


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
