"""The settings of one index, as the texts of a table's options give them."""

from collections.abc import Mapping

from polynya.errors import InvalidInputError
from polynya.model.option_kinds import parse_size

_INT_MAX = 2**31 - 1


def positive(settings: Mapping[str, str], key: str, default: int) -> int:
    """A whole number above 0."""
    text = settings.get(key, str(default)).strip()
    if not (text.isascii() and text.isdigit()) or not 0 < int(text) <= _INT_MAX:
        raise InvalidInputError(f"'{key}' must be a whole number from 1 to {_INT_MAX}, got '{text}'")
    return int(text)


def real(settings: Mapping[str, str], key: str, default: float) -> float:
    """A number with a fraction."""
    text = settings.get(key, str(default))
    try:
        return float(text)
    except ValueError:
        raise InvalidInputError(f"'{key}' must be a number, got '{text}'") from None


def size(settings: Mapping[str, str], key: str, default: str) -> int:
    """A number of bytes."""
    text = settings.get(key, default)
    try:
        value = parse_size(text)
    except ValueError:
        raise InvalidInputError(f"'{key}' must be a size such as '16 kb', got '{text}'") from None
    if value > _INT_MAX:
        raise InvalidInputError(f"'{key}' must be below 2 GB, got '{text}'")
    return value
