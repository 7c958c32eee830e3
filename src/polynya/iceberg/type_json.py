"""Iceberg types as they stand in the JSON of schemas, and their counterparts in Arrow and in the model.

| Iceberg | Arrow | model |
|---|---|---|
| boolean, int, long, float, double | bool, int32, int64, float, double | BOOLEAN, INT, BIGINT, FLOAT, DOUBLE |
| decimal(P,S) | decimal128 | DECIMAL |
| string, binary | string, binary | STRING, BYTES |
| date, time | date32, time64[us] | DATE, its own |
| timestamp, timestamptz | timestamp[us], with UTC | TIMESTAMP(6), with local time zone |
| timestamp_ns, timestamptz_ns | timestamp[ns], with UTC | TIMESTAMP(9), with local time zone |
| uuid, fixed[L] | fixed_size_binary | BINARY(16), BINARY(L) |
| list, map, struct | list, map, struct | ARRAY, MAP, ROW |
| variant, geometry, geography | as in the model | VARIANT, GEOMETRY, GEOGRAPHY |
| unknown | null | its own |

A list element, a map key and a map value have ids in Iceberg. Data files of Paimon derive them from the id F of the
named field around them and the depth d, counted from 1:

| part | id |
|---|---|
| element, value | 536870911 + 1024 F + d |
| key | 536870911 - 1024 F - d |
"""

import re
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from polynya.codec.json_text import Json, JsonObject, corrupt
from polynya.errors import UnsupportedError
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_type

_PART_ID_BASE = (2**31 - 1) // 4
_PART_ID_SPAN = 1024
_UTC = "UTC"

_PLAIN: dict[str, tuple[pa.DataType, t.DataType]] = {
    "boolean": (pa.bool_(), t.Boolean()),
    "int": (pa.int32(), t.Int()),
    "long": (pa.int64(), t.BigInt()),
    "float": (pa.float32(), t.Float()),
    "double": (pa.float64(), t.Double()),
    "string": (pa.string(), t.VarChar()),
    "binary": (pa.binary(), t.VarBinary()),
    "date": (pa.date32(), t.Date()),
    "time": (pa.time64("us"), t.TimeMicros()),
    "timestamp": (pa.timestamp("us"), t.Timestamp(6)),
    "timestamptz": (pa.timestamp("us", _UTC), t.LocalTimestamp(6)),
    "timestamp_ns": (pa.timestamp("ns"), t.Timestamp(9)),
    "timestamptz_ns": (pa.timestamp("ns", _UTC), t.LocalTimestamp(9)),
    "uuid": (pa.binary(16), t.Binary(16)),
    "unknown": (pa.null(), t.Unknown()),
    "variant": (to_arrow_type(t.Variant()), t.Variant()),
}
_DECIMAL = re.compile(r"decimal\(\s*(\d{1,2})\s*,\s*(\d{1,2})\s*\)")
_FIXED = re.compile(r"fixed\[\s*(\d{1,9})\s*\]")
_GEOMETRY = re.compile(r"geometry(?:\(\s*(.*?)\s*\))?")
_GEOGRAPHY = re.compile(r"geography(?:\(\s*(.*?)\s*(?:,\s*(\w+)\s*)?\))?")
_PARTS = {"list": ("element",), "map": ("key", "value")}
_DEPTH_MAX = 64


def to_arrow(type: Json, *, name: str) -> pa.DataType:
    """The Arrow type of values of the type; CorruptFileError, naming the file `name`, when it is none."""
    return _arrow(type, name, 0)


def to_model(type: Json, *, required: bool, name: str) -> t.DataType:
    """The type in terms of the model."""
    return _model(type, name, 0).with_nullable(not required)


def to_model_field(field: Json, *, name: str) -> t.Field:
    """The column or struct member with its id; defaults are not carried over."""
    found = JsonObject({}, name).inside(field, "field")
    type = to_model(found.members.get("type"), required=is_required(found), name=name)
    return t.Field(found.integer("id"), found.text("name"), type, found.find_text("doc"))


def is_required(field: JsonObject, key: str = "required") -> bool:
    """Whether the field says that every value is there."""
    required = field.members.get(key)
    return required if isinstance(required, bool) else field.refuse(key, "true or false")


def from_model_fields(fields: Sequence[t.Field]) -> list[Json]:
    """The columns as JSON, with the ids that Paimon's data files carry; UnsupportedError names a column without one."""
    return [_json_field(field) for field in fields]


def ids_of(fields: Sequence[Json]) -> Iterator[int]:
    """Every id in the fields' JSON, those of elements, keys and values too."""
    for field in fields:
        if isinstance(field, dict):
            yield field["id"]
            yield from _ids_within(field["type"])


def _ids_within(type: Json) -> Iterator[int]:
    if not isinstance(type, dict):
        return
    if type["type"] == "struct":
        yield from ids_of(type["fields"])
    for part in _PARTS.get(type["type"], ()):
        yield type[f"{part}-id"]
        yield from _ids_within(type[part])


def leaves(fields: Sequence[Json], prefix: str = "") -> Iterator[tuple[str, int, Json]]:
    """Every column and part that holds no others: its name with those around it, its id and its type."""
    for field in fields:
        if isinstance(field, Mapping):
            yield from _leaves_within(f"{prefix}{field['name']}", field["id"], field["type"])


def _leaves_within(name: str, id: Json, type: Json) -> Iterator[tuple[str, int, Json]]:
    assert isinstance(id, int)
    if not isinstance(type, Mapping):
        yield name, id, type
    elif type["type"] == "struct":
        members = type["fields"]
        assert isinstance(members, list)
        yield from leaves(members, f"{name}.")
    else:
        for part in _PARTS[str(type["type"])]:
            yield from _leaves_within(f"{name}.{part}", type[f"{part}-id"], type[part])


def _arrow(type: Json, name: str, depth: int) -> pa.DataType:
    if isinstance(type, str):
        return _primitive(type, name)[0]
    found = _nested(type, name, depth)
    match found.members.get("type"):
        case "struct":
            members = [
                pa.field(one.text("name"), _arrow(one.members.get("type"), name, depth + 1), not is_required(one))
                for one in found.objects("fields")
            ]
            return pa.struct(members)
        case "list":
            nullable = not is_required(found, "element-required")
            return pa.list_(pa.field("element", _arrow(found.members.get("element"), name, depth + 1), nullable))
        case "map":
            nullable = not is_required(found, "value-required")
            value = pa.field("value", _arrow(found.members.get("value"), name, depth + 1), nullable)
            return pa.map_(_arrow(found.members.get("key"), name, depth + 1), value)
        case _:
            return found.refuse("type", "struct, list or map")


def _model(type: Json, name: str, depth: int) -> t.DataType:
    if isinstance(type, str):
        return _primitive(type, name)[1]
    found = _nested(type, name, depth)
    match found.members.get("type"):
        case "struct":
            return t.Row(tuple(to_model_field(one.members, name=name) for one in found.objects("fields")))
        case "list":
            element = _model(found.members.get("element"), name, depth + 1)
            return t.Array(element.with_nullable(not is_required(found, "element-required")))
        case "map":
            key = _model(found.members.get("key"), name, depth + 1).with_nullable(False)
            value = _model(found.members.get("value"), name, depth + 1)
            return t.Map(key, value.with_nullable(not is_required(found, "value-required")))
        case _:
            return found.refuse("type", "struct, list or map")


def _nested(type: Json, name: str, depth: int) -> JsonObject:
    if depth > _DEPTH_MAX:
        raise corrupt(name, "type", f"at most {_DEPTH_MAX} levels", type)
    return JsonObject({}, name).inside(type, "type")


def _primitive(text: str, name: str) -> tuple[pa.DataType, t.DataType]:
    plain = _PLAIN.get(text)
    if plain is not None:
        return plain
    if match := _DECIMAL.fullmatch(text):
        precision, scale = int(match[1]), int(match[2])
        if 1 <= precision <= 38 and scale <= precision:
            return pa.decimal128(precision, scale), t.Decimal(precision, scale)
    elif match := _FIXED.fullmatch(text):
        length = int(match[1])
        if length:
            return pa.binary(length), t.Binary(length)
    elif match := _GEOMETRY.fullmatch(text):
        return pa.binary(), t.Geometry(match[1]) if match[1] else t.Geometry()
    elif match := _GEOGRAPHY.fullmatch(text):
        crs, algorithm = match[1] or t.Geography().crs, match[2] or t.Geography().algorithm
        return pa.binary(), t.Geography(crs, algorithm)
    raise corrupt(name, "type", "an Iceberg type", text)


def _json_field(field: t.Field) -> Json:
    known: dict[str, Json] = {"id": field.id, "name": field.name, "required": not field.type.nullable}
    known["type"] = _json_type(field.type, field, 1)
    return known if field.description is None else {**known, "doc": field.description}


def _json_type(type: t.DataType, owner: t.Field, depth: int) -> Json:
    part_id = _PART_ID_BASE + _PART_ID_SPAN * owner.id + depth
    match type:
        case t.Row(fields=fields):
            return {"type": "struct", "fields": from_model_fields(fields)}
        case t.Array(element=element):
            return {
                "type": "list",
                "element-id": part_id,
                "element-required": not element.nullable,
                "element": _json_type(element, owner, depth + 1),
            }
        case t.Map(key=key, value=value):
            return _json_map(key, value, owner, depth)
        case t.Multiset(element=element):
            return _json_map(element, t.Int(nullable=False), owner, depth)
        case _:
            return _json_primitive(type, owner)


def _json_map(key: t.DataType, value: t.DataType, owner: t.Field, depth: int) -> Json:
    offset = _PART_ID_SPAN * owner.id + depth
    return {
        "type": "map",
        "key-id": _PART_ID_BASE - offset,
        "key": _json_type(key, owner, depth + 1),
        "value-id": _PART_ID_BASE + offset,
        "value-required": not value.nullable,
        "value": _json_type(value, owner, depth + 1),
    }


def _json_primitive(type: t.DataType, owner: t.Field) -> str:
    match type:
        case t.Boolean():
            return "boolean"
        case t.TinyInt() | t.SmallInt() | t.Int():
            return "int"
        case t.BigInt():
            return "long"
        case t.Float():
            return "float"
        case t.Double():
            return "double"
        case t.Decimal(precision=precision, scale=scale):
            return f"decimal({precision}, {scale})"
        case t.Char() | t.VarChar():
            return "string"
        case t.Binary() | t.VarBinary():
            return "binary"
        case t.Date():
            return "date"
        case t.Time():
            return "time"
        case t.Timestamp(precision=precision):
            return "timestamp" if precision <= 6 else "timestamp_ns"
        case t.LocalTimestamp(precision=precision):
            return "timestamptz" if precision <= 6 else "timestamptz_ns"
        case _:
            kind = type.__class__.__name__.upper()
            raise UnsupportedError(f"column '{owner.name}': values of type {kind} have no counterpart in Iceberg files")
