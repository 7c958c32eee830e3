"""What manifest lists and manifests share: fields found by id, whatever their names, and schemas made from tables.

Avro files of Iceberg carry a `field-id` on every field. A field is looked up by its id, and by its usual name in files
that have no ids. Field names that Avro forbids are escaped; letters beyond ASCII are not.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby

import pyarrow as pa

from polynya.codec.avro import AvroSource, Column, Decoded, decode_columns, decode_container
from polynya.codec.avro_schema import parse_schema
from polynya.errors import CorruptFileError

Path = tuple[str, ...]
Raw = dict[int, tuple[Path, object]]  # by field id: the path of names, and the type as written


@dataclass(frozen=True)
class Member:
    """A field of a record: its column in tables, its id, and which format versions have and require it."""

    column: Column
    field_id: int
    versions: tuple[int, ...] = (1, 2, 3)
    required_in: tuple[int, ...] = ()
    type: object = None


def nullable(type: object) -> list[object]:
    """The union of null and a type."""
    return ["null", type]


def map_of(key_id: int, value_id: int, value: str) -> dict[str, object]:
    """The type of a map from ints, which Avro stores as an array of pairs."""
    members = [
        {"name": "key", "type": "int", "field-id": key_id},
        {"name": "value", "type": value, "field-id": value_id},
    ]
    pair = {"type": "record", "name": f"k{key_id}_v{value_id}", "fields": members}
    return {"type": "array", "logicalType": "map", "items": pair}


def field_json(name: str, field_id: int, type: object) -> dict[str, object]:
    """A field of a record; one that may be null is null by default."""
    plain = avro_name(name)
    known: dict[str, object] = {"name": plain, "type": type}
    if isinstance(type, list):
        known["default"] = None
    known["field-id"] = field_id
    return known if plain == name else {**known, "iceberg-field-name": name}


def member_json(member: Member, version: int) -> dict[str, object]:
    """The field of a member in files of a format version."""
    type = member.type if version in member.required_in else nullable(member.type)
    return field_json(member.column.path[-1], member.field_id, type)


def avro_name(name: str) -> str:
    """The name with the characters escaped that Avro does not allow."""
    if all(one.isalnum() or one == "_" for one in name) and not name[:1].isdigit():
        return name
    first = f"_{name[0]}" if name[0].isdigit() else _escaped(name[0])
    return first + "".join(map(_escaped, name[1:]))


def decode(sources: Sequence[AvroSource], columns: Sequence[tuple[Column, int]]) -> Decoded:
    """The columns, each found by its field id, of all records of all files in order."""
    found = [resolve(source, columns) for source in sources]
    parts = [
        decode_columns([source for source, _ in group], resolved)
        for resolved, group in groupby(zip(sources, found, strict=True), lambda pair: pair[1])
    ]
    if len(parts) == 1:
        return parts[0]
    schema = pa.schema([(column.name, column.type) for column, _ in columns])
    return joined(parts, schema)


def joined(parts: Sequence[Decoded], schema: pa.Schema) -> Decoded:
    """The records of all parts as one."""
    ends: list[int] = []
    for part in parts:
        before = ends[-1] if ends else 0
        ends += [before + end for end in part.row_ends]
    names = tuple(name for part in parts for name in part.names)
    table = pa.concat_tables([part.table for part in parts]) if parts else schema.empty_table()
    return Decoded(table, names, tuple(ends))


def resolve(source: AvroSource, columns: Sequence[tuple[Column, int]]) -> tuple[Column, ...]:
    """The columns with the paths that they have in this file."""
    return resolve_by_id(fields_by_id(header_schema(source), source.name), columns)


def resolve_by_id(by_id: Raw, columns: Sequence[tuple[Column, int]]) -> tuple[Column, ...]:
    """The columns with the paths that they have in a file of these fields."""
    return tuple(replace(column, path=by_id[id][0] if id in by_id else column.path) for column, id in columns)


def header_schema(source: AvroSource) -> str:
    """The Avro schema of the file as text."""
    return decode_container(source).schema_text


@lru_cache(maxsize=64)
def fields_by_id(schema_text: str, name: str) -> Raw:
    """The fields of the record and of records in it, by id; empty for a file without ids."""
    parse_schema(schema_text, name)
    found: Raw = {}
    try:
        _collect(json.loads(schema_text), (), found)
    except (KeyError, TypeError, AttributeError) as error:
        raise CorruptFileError(f"'{name}': avro.schema is not an Avro schema: {error!r}") from error
    return found


def _collect(record: dict[str, object], path: Path, found: Raw) -> None:
    for field in record["fields"]:  # type: ignore[attr-defined]  # the schema was parsed before
        step, type = (*path, str(field["name"])), field["type"]
        if isinstance(field.get("field-id"), int):
            found.setdefault(field["field-id"], (step, type))
        if isinstance(type, dict) and type.get("type") == "record":
            _collect(type, step, found)


def _escaped(one: str) -> str:
    return one if one.isalnum() or one == "_" else f"_x{ord(one):X}"
