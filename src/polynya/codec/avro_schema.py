"""Avro schemas as the JSON in a container's header: read, made plain, and searched by path.

A schema node is a primitive's name, a union (list) or an object with a `type`. A plain schema has no logical types,
no defaults and no references: a timestamp is the long it is stored as, and a type used twice stands there twice.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from typing import Any, TypeAlias

import pyarrow as pa

from polynya.errors import CorruptFileError

Node: TypeAlias = str | list["Node"] | dict[str, object]

PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
_DEPTH_MAX = 32
_NODES_MAX = 20_000
_FIXED_BYTES_MAX = 1 << 20
_MEMBERS = {"array": "items", "map": "values"}


@dataclass(frozen=True, slots=True)
class Column:
    """A column to decode or encode: its name, the path of Avro field names to it, and its type in the table.

    Structs in the type have Avro's field names. A required column has a value in every record.
    """

    name: str
    path: tuple[str, ...]
    type: pa.DataType
    required: bool = True


def parse_schema(text: str, name: str) -> Node:
    """The plain schema of a file; `name` is the file, for the CorruptFileError."""
    try:
        node = _parse_plain(text)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CorruptFileError(f"'{name}': avro.schema is not an Avro schema: {error!r}") from error
    if not is_record(node):
        raise CorruptFileError(f"'{name}': avro.schema: expected a record, found {text[:60]!r}")
    return node


@lru_cache(maxsize=64)  # a few texts stand in all files
def _parse_plain(text: str) -> Node:
    return _Parser().parse(json.loads(text), 0)


def is_record(node: Node | None) -> bool:
    """Whether the node is a record, not a union with one."""
    return isinstance(node, dict) and node["type"] == "record"


def fields_of(node: Node) -> list[tuple[str, Node]]:
    """The fields of a record in order."""
    assert isinstance(node, dict)
    return node["fields"]  # type: ignore[return-value]  # the parser made it a list of pairs


def find_node(schema: Node, path: Sequence[str]) -> Node | None:
    """The node at the end of a path of field names, None where the file has no such field."""
    node: Node | None = schema
    for step in path:
        if node is None or not is_record(node):
            return None
        node = dict(fields_of(node)).get(step)
    return node


def render_schema(schema: Node) -> Node:
    """The plain schema as JSON values; its types get new names, since a name may be defined only once."""
    return _render(schema, count())


def _render(node: Node, numbers: Iterator[int]) -> Node:
    if isinstance(node, str):
        return node
    if isinstance(node, list):
        return [_render(branch, numbers) for branch in node]
    rendered = dict(node)
    if node["type"] in ("record", "enum", "fixed"):
        rendered["name"] = f"type{next(numbers)}"
    if is_record(node):
        rendered["fields"] = [{"name": name, "type": _render(type, numbers)} for name, type in fields_of(node)]
    for key in _MEMBERS.values():
        if key in node:
            rendered[key] = _render(node[key], numbers)  # type: ignore[arg-type]  # the parser made it a node
    return rendered


@dataclass(slots=True)
class _Parser:
    """Makes a schema plain; holds the types named so far and keeps the plain schema small."""

    named: dict[str, tuple[Node, int]] = field(default_factory=dict)
    node_count: int = 0

    def parse(self, node: object, depth: int) -> Node:
        self._count(1)
        if depth > _DEPTH_MAX:
            raise ValueError(f"more than {_DEPTH_MAX} levels")
        if isinstance(node, str):
            return node if node in PRIMITIVES else self._named(node)
        if isinstance(node, list):
            return [self.parse(branch, depth + 1) for branch in node]
        if isinstance(node, dict):
            return self._object(node, depth)
        raise ValueError(f"expected a type, found {str(node)[:60]}")

    def _object(self, node: dict[str, Any], depth: int) -> Node:
        before = self.node_count
        match node["type"]:
            case "record":
                fields = [(str(member["name"]), self.parse(member["type"], depth + 1)) for member in node["fields"]]
                return self._define(node, {"type": "record", "fields": fields}, before)
            case "array" | "map" as kind:
                items = self.parse(node[_MEMBERS[kind]], depth + 1)
                if not _takes_bytes(items):
                    raise ValueError("items without bytes, of which a file could claim any number")
                return {"type": kind, _MEMBERS[kind]: items}
            case "enum":
                return self._define(node, {"type": "enum", "symbols": list(map(str, node["symbols"]))}, before)
            case "fixed":
                return self._define(node, {"type": "fixed", "size": _fixed_size(node["size"])}, before)
            case other:
                return self.parse(other, depth + 1)

    def _define(self, node: dict[str, Any], plain: Node, before: int) -> Node:
        self.named[_short(str(node["name"]))] = plain, self.node_count - before
        return plain

    def _named(self, name: str) -> Node:
        # A record is defined when it is complete, so none can hold itself.
        if _short(name) not in self.named:
            raise ValueError(f"unknown type '{name[:60]}'")
        node, size = self.named[_short(name)]
        self._count(size)
        return node

    def _count(self, nodes: int) -> None:
        self.node_count += nodes
        if self.node_count > _NODES_MAX:
            raise ValueError(f"more than {_NODES_MAX} types")


def _fixed_size(size: object) -> int:
    if not isinstance(size, int) or not 0 <= size <= _FIXED_BYTES_MAX:
        raise ValueError(f"expected a size of at most {_FIXED_BYTES_MAX} bytes, found {str(size)[:20]}")
    return size


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _takes_bytes(node: Node) -> bool:
    if isinstance(node, dict) and node["type"] == "record":
        return any(_takes_bytes(type) for _, type in fields_of(node))
    return node != "null" and not (isinstance(node, dict) and node.get("size") == 0)
