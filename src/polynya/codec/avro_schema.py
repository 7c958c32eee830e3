"""Avro schemas as the JSON in a container's header: read, stripped of logical types, and searched by path.

A schema node is a type name, a union (list) or an object with a `type`. Logical types are dropped: a timestamp is the
long it is stored as, and the reader that asks for a timestamp casts it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from polynya.errors import CorruptFileError

Node: TypeAlias = str | list["Node"] | dict[str, object]

_DEPTH_MAX = 32
_MEMBERS = {"array": "items", "map": "values"}
_KEPT = ("type", "name", "namespace", "symbols", "size")


@dataclass(frozen=True, slots=True)
class Column:
    """A column to decode: its name, the path of Avro field names that leads to it, and its type in the table.

    Structs in the type have Avro's field names. A required column has a value in every record.
    """

    name: str
    path: tuple[str, ...]
    type: pa.DataType
    required: bool = True


def parse_schema(text: str, name: str) -> Node:
    """The schema of a file as nested lists and dicts, without logical types, documentation and defaults.

    `name` is the file, for the CorruptFileError.
    """
    try:
        node = _plain(json.loads(text), 0)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CorruptFileError(f"'{name}': avro.schema is not an Avro schema: {error!r}") from error
    if not is_record(node):
        raise CorruptFileError(f"'{name}': avro.schema: expected a record, found {text[:60]!r}")
    return node


def is_record(node: Node | None) -> bool:
    """Whether the node is a record, not a union with one."""
    return isinstance(node, dict) and node["type"] == "record"


def fields_of(node: Node) -> list[tuple[str, Node]]:
    """The fields of a record in order."""
    assert isinstance(node, dict)
    return node["fields"]  # type: ignore[return-value]  # `_plain` made it a list of pairs


def find_node(schema: Node, path: Sequence[str]) -> Node | None:
    """The node at the end of a path of field names, None where the file has no such field."""
    node: Node | None = schema
    for step in path:
        if node is None or not is_record(node):
            return None
        node = dict(fields_of(node)).get(step)
    return node


def render_schema(node: Node) -> Node:
    """The node as JSON values, the inverse of `parse_schema`."""
    if isinstance(node, str):
        return node
    if isinstance(node, list):
        return [render_schema(branch) for branch in node]
    plain = dict(node)
    if is_record(node):
        plain["fields"] = [{"name": name, "type": render_schema(type)} for name, type in fields_of(node)]
    for key in _MEMBERS.values():
        if key in node:
            plain[key] = render_schema(node[key])  # type: ignore[arg-type]  # `_plain` made it a node
    return plain


def _plain(node: object, depth: int) -> Node:
    if depth > _DEPTH_MAX:
        raise ValueError(f"more than {_DEPTH_MAX} levels")
    if isinstance(node, str):
        return node
    if isinstance(node, list):
        return [_plain(branch, depth + 1) for branch in node]
    if isinstance(node, dict):
        return _plain_object(node, depth)
    raise ValueError(f"expected a type, found {str(node)[:60]}")


def _plain_object(node: dict[str, Any], depth: int) -> Node:
    match node["type"]:
        case "record":
            fields = [(str(field["name"]), _plain(field["type"], depth + 1)) for field in node["fields"]]
            return {**_kept(node), "fields": fields}
        case "array" | "map" as kind:
            member = _MEMBERS[kind]
            return {"type": kind, member: _plain(node[member], depth + 1)}
        case "enum" | "fixed":
            return _kept(node)
        case other:
            return _plain(other, depth + 1)


def _kept(node: dict[str, Any]) -> dict[str, object]:
    return {key: node[key] for key in _KEPT if key in node}
