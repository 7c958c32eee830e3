"""One option of a table: its key, how its text is read, and what polynya does about it.

| kind | text | value |
|---|---|---|
| integer, long | 5, -1 | int |
| real | 0.7 | float |
| boolean | true, FALSE | bool |
| duration | 1 h, 10min, 100 (milliseconds) | int, milliseconds |
| size | 128 mb, 8kb, 100 (bytes) | int, bytes |
| choice | one of its words, in any case | the word as listed |
| text | anything | str |
| names | a, b | tuple of str |
| levels | 0:avro,5:orc | dict of int to str |
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Generic, TypeVar

from polynya.errors import InvalidInputError

V_co = TypeVar("V_co", covariant=True)


class Kind(StrEnum):
    """How the text of an option is read."""

    INTEGER = "integer"
    LONG = "long"
    REAL = "real"
    BOOLEAN = "boolean"
    DURATION = "duration"
    SIZE = "size"
    CHOICE = "choice"
    TEXT = "text"
    NAMES = "names"
    LEVELS = "levels"


class Support(Enum):
    """What happens when an option has a value other than its default."""

    HONOURED = "honoured"
    REFUSED_ON_WRITE = "refused on write"
    REFUSED_ON_READ = "refused on read and write"
    IRRELEVANT = "no effect on rows"


HONOURED = Support.HONOURED
REFUSED_ON_WRITE = Support.REFUSED_ON_WRITE
REFUSED_ON_READ = Support.REFUSED_ON_READ
IRRELEVANT = Support.IRRELEVANT

TUNING = "speed, memory or layout only"
COMPANION = "goes with an option that is refused, or says nothing without it"
FLINK = "only Flink jobs read it"
ENGINE = "a setting of another engine"
CATALOG = "a setting of another catalog"
ADDRESS = "part of the address of the table"
STRICT = "a damaged or missing file is always an error"
INDEX = "global indexes are not used to read"
STREAMING = "polynya has no streaming reads yet"
EXPIRY = "polynya expires nothing yet: what is old stays until another writer removes it"
TAGS = "polynya makes no tags yet"
ALTER = "polynya does not alter tables yet"
ORDER = "rows are read in no promised order"
OWN_COLUMNS = "a write with other columns than the table's is an error"
OWN_FILES = "a commit never repeats the files of another"

_NUMBER_AND_UNIT = re.compile(r"(\d+)\s*(\D*)", re.ASCII)
_NANOS = {
    **dict.fromkeys(("d", "day", "days"), 86_400 * 10**9),
    **dict.fromkeys(("h", "hour", "hours"), 3600 * 10**9),
    **dict.fromkeys(("min", "m", "minute", "minutes"), 60 * 10**9),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 10**9),
    **dict.fromkeys(("", "ms", "milli", "millis", "millisecond", "milliseconds"), 10**6),
    **dict.fromkeys(("µs", "micro", "micros", "microsecond", "microseconds"), 10**3),
    **dict.fromkeys(("ns", "nano", "nanos", "nanosecond", "nanoseconds"), 1),
}
_BYTES = {
    **dict.fromkeys(("", "b", "bytes"), 1),
    **dict.fromkeys(("k", "kb", "kibibytes"), 2**10),
    **dict.fromkeys(("m", "mb", "mebibytes"), 2**20),
    **dict.fromkeys(("g", "gb", "gibibytes"), 2**30),
    **dict.fromkeys(("t", "tb", "tebibytes"), 2**40),
}


@dataclass(frozen=True)
class Option(Generic[V_co]):
    """One option; `accepted` are the values that are fine although the others are refused."""

    key: str
    kind: Kind
    default: str | None
    support: Support
    meaning: str
    reason: str
    read: Callable[[str], V_co]
    expected: str
    choices: tuple[str, ...] = ()
    fallbacks: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()

    def find(self, options: Mapping[str, str]) -> V_co | None:
        """The value that is set under the key or an older one, else the default, else None."""
        text = self.find_text(options)
        if text is None:
            text = self.default
        return None if text is None else self.parse(text)

    def of(self, options: Mapping[str, str]) -> V_co:
        """The value of an option that has a default, or that must be set."""
        value = self.find(options)
        if value is None:
            raise InvalidInputError(f"option '{self.key}' is not set: expected {self.expected}")
        return value

    def find_text(self, options: Mapping[str, str]) -> str | None:
        """The text that is set under the key or an older one."""
        return next((options[key] for key in (self.key, *self.fallbacks) if key in options), None)

    def parse(self, text: str) -> V_co:
        """The value of a text; InvalidInputError says what was expected."""
        try:
            return self.read(text)
        except ValueError:
            raise InvalidInputError(f"option '{self.key}' must be {self.expected}, got '{text}'") from None

    def is_refused(self, text: str) -> bool:
        """Whether this value is one of those that polynya does not honour."""
        value = self.parse(text)
        if isinstance(value, dict):
            return not set(value.values()) <= set(self.accepted)
        fine = [*self.accepted, *([] if self.default is None else [self.default])]
        return value not in [self.parse(other) for other in fine]


def integer(
    key: str,
    default: int | None,
    support: Support,
    meaning: str,
    reason: str = "",
    *,
    check: Callable[[int], bool] = lambda value: True,
    expected: str = "a whole number of 32 bits",
    fallbacks: tuple[str, ...] = (),
) -> Option[int]:
    """An option of 32 bits."""
    text = None if default is None else str(default)
    read = _checked(_integer(32), check)
    return Option(key, Kind.INTEGER, text, support, meaning, reason, read, expected, fallbacks=fallbacks)


def long(
    key: str, default: int | None, support: Support, meaning: str, reason: str = "", *, fallbacks: tuple[str, ...] = ()
) -> Option[int]:
    """An option of 64 bits."""
    text, expected = None if default is None else str(default), "a whole number of 64 bits"
    return Option(key, Kind.LONG, text, support, meaning, reason, _integer(64), expected, fallbacks=fallbacks)


def real(key: str, default: float | None, support: Support, meaning: str, reason: str = "") -> Option[float]:
    """An option that is a number with a fraction."""
    text = None if default is None else str(default)
    return Option(key, Kind.REAL, text, support, meaning, reason, float, "a number")


def boolean(
    key: str,
    default: bool | None,
    support: Support,
    meaning: str,
    reason: str = "",
    *,
    accepted: str = "",
    fallbacks: tuple[str, ...] = (),
) -> Option[bool]:
    """An option that is on or off."""
    text = None if default is None else str(default).lower()
    return Option(
        *(key, Kind.BOOLEAN, text, support, meaning, reason, parse_boolean, "true or false"),
        fallbacks=fallbacks,
        accepted=tuple(accepted.split()),
    )


def duration(key: str, default: str | None, support: Support, meaning: str, reason: str = "") -> Option[int]:
    """An option that is a time, in milliseconds."""
    return Option(key, Kind.DURATION, default, support, meaning, reason, parse_duration, "a time such as '10 min'")


def size(key: str, default: str | None, support: Support, meaning: str, reason: str = "") -> Option[int]:
    """An option that is a number of bytes."""
    return Option(key, Kind.SIZE, default, support, meaning, reason, parse_size, "a size such as '128 mb'")


def choice(
    key: str,
    default: str | None,
    choices: str,
    support: Support,
    meaning: str,
    reason: str = "",
    *,
    accepted: str = "",
    fallbacks: tuple[str, ...] = (),
) -> Option[str]:
    """An option that is one of the words in `choices`."""
    words = tuple(choices.split())
    by_lower = {word.lower(): word for word in words}

    def read(text: str) -> str:
        if text.lower() not in by_lower:
            raise ValueError
        return by_lower[text.lower()]

    expected = f"one of {', '.join(words)}"
    return Option(
        *(key, Kind.CHOICE, default, support, meaning, reason, read, expected, words),
        fallbacks=fallbacks,
        accepted=tuple(accepted.split()),
    )


def text(
    key: str,
    default: str | None,
    support: Support,
    meaning: str,
    reason: str = "",
    *,
    accepted: str = "",
    fallbacks: tuple[str, ...] = (),
    read: Callable[[str], str] = str,
    expected: str = "a text",
) -> Option[str]:
    """An option that is any text, or any that `read` lets pass."""
    return Option(
        *(key, Kind.TEXT, default, support, meaning, reason, read, expected),
        fallbacks=fallbacks,
        accepted=tuple(accepted.split()),
    )


def names(
    key: str, default: str | None, support: Support, meaning: str, reason: str = "", *, fallbacks: tuple[str, ...] = ()
) -> Option[tuple[str, ...]]:
    """An option that is a list of names between commas."""
    expected = "names between commas"
    return Option(key, Kind.NAMES, default, support, meaning, reason, parse_names, expected, fallbacks=fallbacks)


def levels(key: str, support: Support, meaning: str, reason: str = "", *, accepted: str = "") -> Option[dict[int, str]]:
    """An option that gives levels a word of their own."""
    expected = "levels such as '0:avro,5:orc'"
    return Option(
        *(key, Kind.LEVELS, "", support, meaning, reason, parse_levels, expected), accepted=tuple(accepted.split())
    )


def parse_boolean(text: str) -> bool:
    """The truth value of `true` or `false` in any case; ValueError for anything else."""
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


def parse_duration(text: str) -> int:
    """The milliseconds of a text such as `10 min`; ValueError when it is none."""
    return _amount(text, _NANOS) // 10**6


def parse_size(text: str) -> int:
    """The bytes of a text such as `128 mb`; ValueError when it is none."""
    return _amount(text, _BYTES)


def parse_name_start(text: str) -> str:
    """The start of a file name; ValueError for a text that would lead into another folder."""
    if "/" in text or "\0" in text:
        raise ValueError(text)
    return text


def parse_folder(text: str) -> str:
    """The path of a folder below the table, without outer slashes; ValueError for one that could lead out of it."""
    path = text.strip("/")
    if "\0" in path or (path and any(part in ("", ".", "..") for part in path.split("/"))):
        raise ValueError(text)
    return path


def parse_names(text: str) -> tuple[str, ...]:
    """The names between the commas, without blanks around them."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def parse_levels(text: str) -> dict[int, str]:
    """The level and word of each `<level>:<word>`; ValueError when the text is something else."""
    found = {}
    for part in parse_names(text):
        level, separator, word = part.partition(":")
        if not separator or not word.strip():
            raise ValueError(text)
        found[_integer(32)(level.strip())] = word.strip()
    return found


def _amount(text: str, units: Mapping[str, int]) -> int:
    found = _NUMBER_AND_UNIT.fullmatch(text.strip())
    if found is None or len(found[1]) > 19 or found[2].strip().lower() not in units:
        raise ValueError(text)
    amount = int(found[1]) * units[found[2].strip().lower()]
    if amount >= 2**63 and units is _BYTES:
        raise ValueError(text)
    return amount


def _integer(bits: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch(r"[+-]?\d{1,19}", text, re.ASCII) or not -(2 ** (bits - 1)) <= int(text) < 2 ** (bits - 1):
            raise ValueError(text)
        return int(text)

    return read


def _checked(read: Callable[[str], int], check: Callable[[int], bool]) -> Callable[[str], int]:
    def checked(text: str) -> int:
        value = read(text)
        if not check(value):
            raise ValueError(text)
        return value

    return checked
