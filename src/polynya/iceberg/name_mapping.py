"""Name mappings: the field ids of columns in data files that carry none, as JSON text in a table property.

[{"field-id": 1, "names": ["id", "key"]}, {"field-id": 2, "names": ["address"], "fields": [...]}]

The element of a list is named `element`, the parts of a map `key` and `value`. A column in no mapping has no id.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from polynya.codec import json_text
from polynya.codec.json_text import INT_MAX, JsonObject

PROPERTY = "schema.name-mapping.default"


@dataclass(frozen=True)
class MappedField:
    """A field with the names under which files may have it, and those inside of it."""

    field_id: int | None
    names: tuple[str, ...]
    fields: "tuple[MappedField, ...]" = ()


def decode(text: str, *, name: str) -> tuple[MappedField, ...]:
    """The mapping; CorruptFileError, naming the metadata file, where it is none."""
    whole = json_text.decode(b'{"fields":' + text.encode(errors="surrogatepass") + b"}", name=f"{name}, {PROPERTY}")
    return _fields(whole)


def find(fields: Sequence[MappedField], name: str) -> MappedField | None:
    """The field that a name stands for."""
    return next((one for one in fields if name in one.names), None)


def _fields(found: JsonObject) -> tuple[MappedField, ...]:
    return tuple(_field(one) for one in found.objects("fields"))


def _field(found: JsonObject) -> MappedField:
    names = found.texts("names")
    inner = _fields(found) if found.members.get("fields") is not None else ()
    return MappedField(found.find_int("field-id", highest=INT_MAX), names, inner)
