"""The columns of a data file of an Iceberg table, found by their field ids.

| format | where the id of a field stands |
|---|---|
| Parquet | field_id of the schema element |
| ORC | attribute `iceberg.id` of the type |
| Avro | `field-id` of the field |

A file in which no field has an id is read by the table's name mapping. Types are those of the table, but where a type
was promoted since (int, float, date, a narrower decimal) the file's own.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc

from polynya.arrow.blob_file import open_blob
from polynya.arrow.files.damage import naming_damage
from polynya.codec.avro import AvroSource, decode_container
from polynya.codec.avro_schema import parse_schema
from polynya.errors import CorruptFileError, UnsupportedError
from polynya.iceberg import name_mapping
from polynya.iceberg.name_mapping import MappedField
from polynya.model import types as t
from polynya.model.arrow_types import from_arrow_type
from polynya.storage.protocol import Storage

_PARQUET_ID, _ORC_ID = b"PARQUET:field_id", b"iceberg.id"
_PROMOTED: tuple[type[t.DataType], ...] = (t.Int, t.Float, t.Date, t.Decimal)
_AVRO_TYPES: dict[str, t.DataType] = {
    "boolean": t.Boolean(),
    "int": t.Int(),
    "long": t.BigInt(),
    "float": t.Float(),
    "double": t.Double(),
    "string": t.VarChar(),
    "bytes": t.VarBinary(),
    "fixed": t.VarBinary(),
}


@dataclass(frozen=True)
class Node:
    """A column of a file or a part of one: `parts` are members, the element, or key and value."""

    id: int | None
    name: str
    type: t.DataType | None  # its own, for values that hold no others
    parts: "tuple[Node, ...]" = ()


def read_nodes(storage: Storage, name: str, format: str, mapping: Sequence[MappedField] | None) -> tuple[Node, ...]:
    """The columns of a file with their ids; UnsupportedError where neither the file nor a mapping tells these."""
    nodes = _READERS[format](storage, name) if format in _READERS else _refuse(name, format)
    if any(map(_has_id, nodes)):
        return nodes
    if mapping is None:
        raise UnsupportedError(
            f"data file '{name}': its columns have no field ids, and the table has no '{name_mapping.PROPERTY}'"
        )
    return tuple(_mapped(one, mapping) for one in nodes)


def stored_fields(nodes: Sequence[Node], wanted: Sequence[t.Field]) -> tuple[t.Field, ...]:
    """The wanted columns that the file has, under its names and with its types."""
    by_id = {node.id: node for node in nodes if node.id is not None}
    found = ((by_id.get(field.id), field) for field in wanted)
    return tuple(
        replace(field, name=node.name, type=_stored_type(node, field.type)) for node, field in found if node is not None
    )


def _refuse(name: str, format: str) -> tuple[Node, ...]:
    raise UnsupportedError(f"data file '{name}': format '{format}' is not read; polynya reads {', '.join(_READERS)}")


def _stored_type(node: Node, type: t.DataType) -> t.DataType:
    match type:
        case t.Row(fields=fields) if node.parts:
            # of a struct with new members only, any member tells where it is null
            return replace(type, fields=stored_fields(node.parts, fields) or (_any_member(node),))
        case t.Array(element=element) if len(node.parts) == 1:
            return replace(type, element=_stored_type(node.parts[0], element))
        case t.Map(key=key, value=value) if len(node.parts) == 2:
            return replace(type, key=_stored_type(node.parts[0], key), value=_stored_type(node.parts[1], value))
    if (
        isinstance(node.type, _PROMOTED)
        and node.type.__class__ is not type.__class__
        and _is_promotion(node.type, type)
    ):
        return node.type.with_nullable(type.nullable)
    if isinstance(node.type, t.Decimal) and isinstance(type, t.Decimal):
        return node.type.with_nullable(type.nullable)
    return type


def _is_promotion(old: t.DataType, new: t.DataType) -> bool:
    match old:
        case t.Int():
            return isinstance(new, t.BigInt)
        case t.Float():
            return isinstance(new, t.Double)
        case _:
            return isinstance(old, t.Date) and isinstance(new, (t.Timestamp, t.LocalTimestamp))


def _any_member(node: Node) -> t.Field:
    member = node.parts[0]
    return t.Field(-1, member.name, _own_type(member))


def _own_type(node: Node) -> t.DataType:
    if node.type is not None:
        return node.type
    if len(node.parts) == 2 and {one.name for one in node.parts} == {"key", "value"}:
        return t.Map(_own_type(node.parts[0]).with_nullable(False), _own_type(node.parts[1]))
    if len(node.parts) == 1 and node.parts[0].name == "element":
        return t.Array(_own_type(node.parts[0]))
    return t.Row(tuple(t.Field(-1, one.name, _own_type(one)) for one in node.parts))


def _has_id(node: Node) -> bool:
    return node.id is not None or any(map(_has_id, node.parts))


def _mapped(node: Node, mapping: Sequence[MappedField]) -> Node:
    found = name_mapping.find(mapping, node.name)
    inner = found.fields if found is not None else ()
    return replace(
        node, id=found.field_id if found is not None else None, parts=tuple(_mapped(one, inner) for one in node.parts)
    )


def _parquet_nodes(storage: Storage, name: str) -> tuple[Node, ...]:
    with naming_damage(name, "Parquet"), open_blob(storage, name) as source:
        schema = pq.read_schema(source)
    return tuple(_arrow_node(field, _PARQUET_ID) for field in schema)


def _orc_nodes(storage: Storage, name: str) -> tuple[Node, ...]:
    with naming_damage(name, "ORC"), open_blob(storage, name) as source:
        schema = orc.ORCFile(source).schema
    return tuple(_arrow_node(field, _ORC_ID) for field in schema)


def _arrow_node(field: pa.Field, key: bytes, name: str | None = None) -> Node:
    text = (field.metadata or {}).get(key, b"")
    id = int(text) if text.isdigit() else None
    type, own = field.type, name or field.name
    if pa.types.is_struct(type):
        return Node(id, own, None, tuple(_arrow_node(one, key) for one in type))
    if pa.types.is_map(type):
        return Node(
            id, own, None, (_arrow_node(type.key_field, key, "key"), _arrow_node(type.item_field, key, "value"))
        )
    if pa.types.is_list(type) or pa.types.is_large_list(type):
        return Node(id, own, None, (_arrow_node(type.value_field, key, "element"),))
    return Node(id, own, _simple_type(type))


def _simple_type(type: pa.DataType) -> t.DataType | None:
    plain = type.storage_type if isinstance(type, pa.BaseExtensionType) else type
    try:
        return from_arrow_type(plain)
    except UnsupportedError:
        return None  # the table's own type is taken, and reading says whether the values fit


def _avro_nodes(storage: Storage, name: str) -> tuple[Node, ...]:
    path = storage.local_path(name)
    text = decode_container(AvroSource(name, storage.read(name) if path is None else None, path)).schema_text
    parse_schema(text, name)
    named: dict[str, object] = {}
    try:
        return _avro_members(json.loads(text), named)
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CorruptFileError(f"data file '{name}': avro.schema is not that of a table: {error!r}") from error


def _avro_members(record: Mapping[str, object], named: dict[str, object]) -> tuple[Node, ...]:
    fields = record["fields"]
    assert isinstance(fields, list)
    return tuple(_avro_node(one["name"], one["type"], one.get("field-id"), named) for one in fields)


def _avro_node(name: str, type: object, id: object, named: dict[str, object]) -> Node:
    if isinstance(type, list):
        branches = [one for one in type if one != "null"]
        type = branches[0] if branches else "null"
    own = id if isinstance(id, int) else None
    if isinstance(type, str) and type in named:
        type = named[type]
    if not isinstance(type, dict):
        return Node(own, name, _AVRO_TYPES.get(str(type)))
    if "name" in type:
        named[str(type["name"])] = type
    match type["type"]:
        case "record":
            return Node(own, name, None, _avro_members(type, named))
        case "map":
            key = Node(_int(type.get("key-id")), "key", t.VarChar())
            return Node(own, name, None, (key, _avro_node("value", type["values"], type.get("value-id"), named)))
        case "array" if type.get("logicalType") == "map":
            return Node(own, name, None, _avro_members(type["items"], named))
        case "array":
            return Node(own, name, None, (_avro_node("element", type["items"], type.get("element-id"), named),))
    return Node(own, name, _avro_simple(type))


def _avro_simple(type: Mapping[str, object]) -> t.DataType | None:
    precision, scale = _int(type.get("precision")), _int(type.get("scale"))
    if type.get("logicalType") == "decimal" and precision is not None:
        return t.Decimal(precision, scale or 0)
    if type.get("logicalType") == "date":
        return t.Date()
    return _AVRO_TYPES.get(str(type["type"])) if "logicalType" not in type else None


def _int(value: object) -> int | None:
    return value if isinstance(value, int) else None


_READERS: dict[str, Callable[[Storage, str], tuple[Node, ...]]] = {
    "parquet": _parquet_nodes,
    "orc": _orc_nodes,
    "avro": _avro_nodes,
}
