"""Table options of the file formats: sizes, and refusing what a writer cannot honour."""

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from polynya.errors import InvalidInputError, UnsupportedError

_SIZE = re.compile(r"(\d+)\s*([a-z]*)")
_UNITS = {
    "": 1, "b": 1, "bytes": 1,
    "k": 2**10, "kb": 2**10, "kibibytes": 2**10,
    "m": 2**20, "mb": 2**20, "mebibytes": 2**20,
    "g": 2**30, "gb": 2**30, "gibibytes": 2**30,
    "t": 2**40, "tb": 2**40, "tebibytes": 2**40,
}  # fmt: skip


def parse_bytes(text: str, option: str) -> int:
    """A size such as '128 mb' in bytes."""
    found = _SIZE.fullmatch(text.strip().lower())
    if found is None or found[2] not in _UNITS:
        raise InvalidInputError(f"option '{option}' must be a size such as '128 mb', got '{text}'")
    return int(found[1]) * _UNITS[found[2]]


def parse_flag(text: str, option: str) -> bool:
    """true or false, in any case."""
    plain = text.strip().lower()
    if plain not in ("true", "false"):
        raise InvalidInputError(f"option '{option}' must be true or false, got '{text}'")
    return plain == "true"


def refuse_others(options: Mapping[str, str], prefix: str, known: AbstractSet[str]) -> None:
    """Raise UnsupportedError when an option with the prefix is not among those known; `a#column` counts as `a`."""
    for name in options:
        if name.startswith(prefix) and name.partition("#")[0] not in known:
            raise UnsupportedError(f"option '{name}' is not honoured when files are written; remove it from the table")
