"""What a caller may have meant: names and numbers are checked where they come in, before anything is done."""

import os
from collections.abc import Iterable, Mapping

from polynya.errors import InvalidInputError


def text(value: object, what: str) -> str:
    """The value, which must be text."""
    if not isinstance(value, str):
        raise InvalidInputError(f"{what}: expected text, found {value!r}")
    return value


def whole_number(value: object, what: str) -> int:
    """The value, which must be a whole number."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidInputError(f"{what}: expected a whole number, found {value!r}")
    return value


def location(value: object) -> None:
    """Raise unless the value can name a place."""
    if not isinstance(value, str | os.PathLike):
        raise InvalidInputError(f"location: expected a path or URL, found {value!r}")


def names(value: object, what: str) -> tuple[str, ...]:
    """The names of columns; one name may stand alone."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Iterable):
        raise InvalidInputError(f"{what}: expected names of columns, found {value!r}")
    return tuple(text(one, what) for one in value)


def mapping(value: object, what: str) -> None:
    """Raise unless the value maps names to values."""
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{what}: expected a mapping of names to values, found {value!r}")
