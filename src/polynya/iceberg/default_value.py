"""Default values as they stand in the JSON of schemas, format version 3.

| type | JSON |
|---|---|
| boolean, numbers | as they are |
| decimal, date, time, timestamps | text: `1.50`, `2024-01-31`, `22:31:08.000001`, `2024-01-31T22:31:08.000001+00:00` |
| string; uuid | text; `f79c3e09-677c-4bbd-a479-3f349cb785e7` |
| fixed, binary | hexadecimal text |
| list; map | array; `{"keys": [...], "values": [...]}` |
| struct | `{}`: its members have defaults of their own |

`initial-default` is the value of a column in all files that lack it.
"""

import uuid
from collections.abc import Mapping, Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa

from polynya.codec.json_text import Json, JsonObject, corrupt
from polynya.iceberg import type_json
from polynya.model.arrow_types import to_arrow_type


def initial_defaults(fields: Sequence[Json], *, name: str) -> dict[int, pa.Scalar]:
    """The values of columns and struct members, by id, in files that lack them; CorruptFileError names the file."""
    found: dict[int, pa.Scalar] = {}
    for field in (JsonObject({}, name).inside(one, "field") for one in fields):
        type = field.members.get("type")
        value = field.members.get("initial-default")
        if value is not None:
            found[field.integer("id")] = to_scalar(value, type, name=name)
        for members in _members_within(type):
            found |= initial_defaults(members, name=name)
    return found


def to_scalar(value: Json, type: Json, *, name: str) -> pa.Scalar:
    """The value of a type as an Arrow scalar."""
    model = type_json.to_model(type, required=False, name=name)
    try:
        return pa.scalar(_value(value, type), to_arrow_type(model))
    except (ValueError, TypeError, ArithmeticError, KeyError, AttributeError, pa.ArrowException):
        raise corrupt(name, "initial-default", f"a value of type {type}", value) from None


def _value(value: Json, type: Json) -> object:
    """The value as pyarrow takes it."""
    if value is None:
        return None
    if isinstance(type, Mapping):
        return _nested(value, type)
    kind = str(type).partition("(")[0].partition("[")[0]
    if kind in ("float", "double"):
        return float(value)  # type: ignore[arg-type]  # a wrong one is caught above
    if kind == "decimal":
        return Decimal(str(value))
    if kind == "uuid":
        return uuid.UUID(str(value)).bytes
    if kind in ("fixed", "binary"):
        return bytes.fromhex(str(value))
    if kind in ("date", "time") or kind.startswith("timestamp"):
        return _time(str(value), kind)
    return value


def _time(text: str, kind: str) -> int:
    """Days, or micro- or nanoseconds, since 1970 or midnight."""
    if kind == "date":
        return int(np.datetime64(text, "D").astype(np.int64))
    if kind == "time":
        return int(np.datetime64(f"1970-01-01T{text}", "us").astype(np.int64))
    plain = text.removesuffix("+00:00").removesuffix("Z")
    moment = np.datetime64(plain, "ns") if kind.endswith("_ns") else np.datetime64(plain, "us")
    return int(moment.astype(np.int64))


def _nested(value: Json, type: Mapping[str, Json]) -> object:
    match type.get("type"), value:
        case "list", list():
            return [_value(one, type["element"]) for one in value]
        case "map", Mapping():
            keys, values = value["keys"], value["values"]
            assert isinstance(keys, list)
            assert isinstance(values, list)
            pairs = zip(keys, values, strict=True)
            return [(_value(key, type["key"]), _value(one, type["value"])) for key, one in pairs]
        case "struct", Mapping():
            members = type["fields"]
            assert isinstance(members, list)
            return {one["name"]: _value(one.get("initial-default"), one["type"]) for one in members}
        case _:
            raise ValueError("another shape")


def _members_within(type: Json) -> list[Sequence[Json]]:
    """The fields of every struct that the type is or holds, outermost structs only."""
    if not isinstance(type, Mapping):
        return []
    if type.get("type") == "struct":
        members = type.get("fields")
        return [members] if isinstance(members, list) else []
    return [one for part in ("element", "key", "value") for one in _members_within(type.get(part))]
