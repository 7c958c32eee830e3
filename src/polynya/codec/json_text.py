"""The JSON of metadata files: read with checks, written as Paimon prints it.

{                                 one member a line, two spaces deeper, a space on both sides of the colon
  "id" : 0,
  "keys" : [ "a", "b" ],          arrays on one line, objects inside them indented as if the array were not there
  "options" : { },                empty ones with a space inside
}                                 no line end after the last brace
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import NoReturn, TypeAlias

from polynya.errors import CorruptFileError, InvalidInputError

Json: TypeAlias = "bool | int | str | Decimal | Sequence[Json] | Mapping[str, Json] | None"

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1
DEPTH_MAX = 320  # a hundred ROWs inside each other, three levels each; far more could be read and not be written

_ESCAPES = {ord('"'): '\\"', ord("\\"): "\\\\", 8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r"}
_ESCAPES = {code: f"\\u{code:04X}" for code in range(32)} | _ESCAPES


def corrupt(name: str, part: str, expected: str, found: object) -> CorruptFileError:
    """The error for a part of the file `name` that is not what its format says."""
    shown = repr(found)
    return CorruptFileError(
        f"file '{name}', {part}: expected {expected}, found {shown if len(shown) <= 80 else shown[:77] + '...'}"
    )


@dataclass(frozen=True)
class JsonObject:
    """An object inside the file `name`, at `path`; every accessor checks the type of what it gives."""

    members: Mapping[str, Json]
    name: str
    path: str = ""

    def find_int(self, key: str, *, highest: int = LONG_MAX) -> int | None:
        """The integer, or None where it is absent or null."""
        value = self.members.get(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not -highest - 1 <= value <= highest:
            self.refuse(key, f"an integer from {-highest - 1} to {highest}")
        return value

    def integer(self, key: str, *, highest: int = LONG_MAX) -> int:
        """The integer."""
        value = self.find_int(key, highest=highest)
        return self.refuse(key, "an integer") if value is None else value

    def find_text(self, key: str) -> str | None:
        """The string, or None where it is absent or null."""
        value = self.members.get(key)
        return value if value is None or isinstance(value, str) else self.refuse(key, "a string")

    def text(self, key: str) -> str:
        """The string."""
        value = self.find_text(key)
        return self.refuse(key, "a string") if value is None else value

    def list(self, key: str) -> Sequence[Json]:
        """The array."""
        value = self.members.get(key)
        return value if isinstance(value, list) else self.refuse(key, "an array")

    def texts(self, key: str) -> tuple[str, ...]:
        """The array of strings."""
        values = tuple(value for value in self.list(key) if isinstance(value, str))
        return values if len(values) == len(self.list(key)) else self.refuse(key, "an array of strings")

    def text_map(self, key: str) -> dict[str, str]:
        """The object whose values are strings."""
        found = self.object(key).members
        values = {inner: value for inner, value in found.items() if isinstance(value, str)}
        return values if len(values) == len(found) else self.refuse(key, "an object of strings")

    def object(self, key: str) -> "JsonObject":
        """The inner object."""
        return self.inside(self.members.get(key), key)

    def objects(self, key: str) -> "tuple[JsonObject, ...]":
        """The array of objects."""
        return tuple(self.inside(value, f"{key}[{place}]") for place, value in enumerate(self.list(key)))

    def inside(self, value: Json, key: str) -> "JsonObject":
        """The value, which stands at `key`, as an object."""
        if not isinstance(value, Mapping):
            raise corrupt(self.name, self._part(key), "an object", value)
        return JsonObject(value, self.name, self._part(key))

    def refuse(self, key: str, expected: str) -> NoReturn:
        """Raise the CorruptFileError that says what was expected at `key`."""
        raise corrupt(self.name, self._part(key), expected, self.members.get(key))

    def _part(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key


def decode(data: bytes, *, name: str) -> JsonObject:
    """The object that the file holds; CorruptFileError when it is not one JSON object in UTF-8."""
    try:
        value = json.loads(data.decode("utf-8"), parse_float=Decimal, parse_constant=_no_constant)
        json.dumps(value, ensure_ascii=False, default=str).encode("utf-8")  # finds halves of surrogate pairs
    except RecursionError:
        raise corrupt(name, "whole file", "JSON of reasonable depth", data[:20]) from None
    except InvalidOperation:
        raise CorruptFileError(
            f"file '{name}', whole file: expected JSON, found an exponent beyond all numbers"
        ) from None
    except ValueError as error:
        raise CorruptFileError(f"file '{name}', whole file: expected JSON in UTF-8, found {error}") from None
    if not _is_shallow(value):
        raise corrupt(name, "whole file", "JSON of reasonable depth", data[:20])
    if not isinstance(value, dict):
        raise corrupt(name, "whole file", "a JSON object", value)
    return JsonObject(value, name)


def encode(members: Mapping[str, Json]) -> bytes:
    """The object as a file; members that are None are left out. InvalidInputError for text that is not Unicode."""
    text = render(members)
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        found = text[max(error.start - 20, 0) : error.end]
        raise InvalidInputError(
            f"text for a JSON file: expected Unicode, found half of a character: {found!r}"
        ) from None


def render(value: Json, indent: str = "") -> str:
    """The value in the printed form of the files."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | Decimal():
            return str(value)
        case str():
            return quote(value)
        case None:
            return "null"
        case Mapping():
            inner = indent + "  "
            lines = [f"{inner}{quote(key)} : {render(part, inner)}" for key, part in value.items() if part is not None]
            return "{\n" + ",\n".join(lines) + f"\n{indent}}}" if lines else "{ }"
        case _:
            return f"[ {', '.join(render(part, indent) for part in value)} ]" if value else "[ ]"


def render_flat(value: Json) -> str:
    """The value on one line without spaces, as system tables show it."""
    match value:
        case Mapping():
            parts = [f"{quote(key)}:{render_flat(part)}" for key, part in value.items() if part is not None]
            return "{" + ",".join(parts) + "}"
        case list() | tuple():
            return "[" + ",".join(map(render_flat, value)) + "]"
        case _:
            return render(value)


def quote(text: str) -> str:
    """The string between quotation marks, control characters escaped."""
    return f'"{text.translate(_ESCAPES)}"'


def _is_shallow(value: Json) -> bool:
    """Whether at most `DEPTH_MAX` arrays and objects stand inside each other."""
    level = [value]
    for _ in range(DEPTH_MAX):
        inner = [one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)]
        if not inner:
            return True
        level = [part for parts in inner for part in parts]
    return False


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"the number {text}")
