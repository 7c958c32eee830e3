"""Patterns of LIKE: what they ask for, as pieces and as shapes.

`%` is any text, `_` one character; the escape character makes the next `%`, `_` or escape character stand for itself,
and may stand before nothing else.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from polynya.errors import InvalidInputError
from polynya.model.predicate import Like

_LAST_CODE_POINT = 0x10FFFF
_SURROGATES_START, _SURROGATES_END = 0xD800, 0xE000  # code points that no text holds


class Wildcard(Enum):
    """A piece of a pattern that is not literal."""

    ANY_TEXT = "%"
    ONE_CHARACTER = "_"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern cut into literal texts and wildcards."""

    pieces: tuple[str | Wildcard, ...]

    @property
    def exact(self) -> str | None:
        """The only text that matches, or None."""
        if any(isinstance(piece, Wildcard) for piece in self.pieces):
            return None
        return "".join(str(piece) for piece in self.pieces)

    @property
    def prefix(self) -> str:
        """What every matching text begins with."""
        first = self.pieces[0] if self.pieces else ""
        return first if isinstance(first, str) else ""

    @property
    def is_prefix(self) -> bool:
        """Whether every text with the prefix matches."""
        tail = self.pieces[1:] if self.prefix else self.pieces
        return tail == (Wildcard.ANY_TEXT,)

    @property
    def regex(self) -> str:
        """A regular expression that finds exactly the matching texts."""
        return r"(?s)\A" + "".join(map(_regex, self.pieces)) + r"\z"


def pattern_of(leaf: Like) -> Pattern:
    """The pattern cut up; InvalidInputError when an escape stands before an ordinary character."""
    if len(leaf.escape) != 1:
        raise InvalidInputError(f"{leaf}: expected one escape character, found {leaf.escape!r}")
    pieces: list[str | Wildcard] = []
    for piece in _cut(leaf):
        last = pieces[-1] if pieces else None
        if isinstance(piece, str) and isinstance(last, str):
            pieces[-1] = last + piece
        elif piece is not Wildcard.ANY_TEXT or last is not Wildcard.ANY_TEXT:
            pieces.append(piece)
    return Pattern(tuple(pieces))


def _cut(leaf: Like) -> Iterator[str | Wildcard]:
    characters = iter(leaf.pattern)
    for character in characters:
        if character == leaf.escape:
            escaped = next(characters, "")
            if escaped not in ("%", "_", leaf.escape):
                raise InvalidInputError(f"{leaf}: the escape character may stand only before %, _ and itself")
            yield escaped
        elif character in "%_":
            yield Wildcard(character)
        else:
            yield character


def _regex(piece: str | Wildcard) -> str:
    match piece:
        case Wildcard.ANY_TEXT:
            return ".*"
        case Wildcard.ONE_CHARACTER:
            return "."
        case _:
            return re.escape(piece)


def after_prefix(prefix: str) -> str | None:
    """The least text above all that begin with the prefix, or None when there is none."""
    head = prefix.rstrip(chr(_LAST_CODE_POINT))
    if not head:
        return None
    following = ord(head[-1]) + 1
    return head[:-1] + chr(_SURROGATES_END if following == _SURROGATES_START else following)
