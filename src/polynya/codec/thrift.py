"""Thrift's compact protocol, in which Parquet keeps its metadata: bytes to plain values and back.

| what | bytes |
|---|---|
| struct | fields, then 0 |
| field | (id - id before) << 4 \\| type, or type and the zigzag varint id; then the value |
| bool | in a struct the type itself, 1 true, 2 false; in a list a byte |
| i8 (3) | a byte |
| i16, i32, i64 (4, 5, 6) | a zigzag varint |
| double (7) | 8 bytes |
| binary (8) | varint length, bytes |
| list, set (9, 10) | size << 4 \\| type, or 15 << 4 \\| type and the varint size; then the values |
| map (11) | varint size; unless it is 0 key type << 4 \\| value type, then the entries |
| struct (12) | as above |

A struct is a dict of its fields by id, each with its type, so that what was decoded can be encoded again.
"""

from typing import Any, NamedTuple, TypeVar

from polynya.errors import CorruptFileError

TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)
DEPTH_MAX = 32


class Field(NamedTuple):
    """A value and how it is written."""

    type: int
    value: Any


class List(NamedTuple):
    """Values of one type."""

    type: int
    values: list[Any]


Struct = dict[int, Field]
T = TypeVar("T")


def decode(data: bytes, name: str) -> Struct:
    """The struct that the bytes begin with; CorruptFileError names the file."""
    try:
        return _Cursor(data).struct(0)
    except (IndexError, ValueError) as error:
        raise CorruptFileError(f"'{name}': expected a Thrift struct, found damaged bytes: {error}") from error


def value(struct: Struct, id: int, kind: type[T], name: str) -> T:
    """The value of a field; CorruptFileError names the file where it is missing or of another kind."""
    found = struct[id].value if id in struct else None
    if type(found) is not kind or (isinstance(found, int) and not -(2**63) <= found < 2**63):
        raise CorruptFileError(f"'{name}', Thrift field {id}: expected {kind.__name__}, found {type(found).__name__}")
    return found


def values(struct: Struct, id: int, kind: type[T], name: str) -> list[T]:
    """The values of a list, all of the kind; CorruptFileError names the file."""
    found = value(struct, id, List, name)
    return [value({id: Field(found.type, one)}, id, kind, name) for one in found.values]


def encode(struct: Struct, name: str) -> bytes:
    """The bytes of a struct; CorruptFileError names the file where it holds a double, a map or a list of bools."""
    out = bytearray()
    try:
        _put_struct(out, struct)
    except ValueError as error:
        raise CorruptFileError(f"'{name}': expected a struct as footers of Parquet have it, found {error}") from error
    return bytes(out)


class _Cursor:
    """A place in the bytes, which moves on with every value."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def struct(self, depth: int) -> Struct:
        if depth > DEPTH_MAX:
            raise ValueError("structs too deep inside each other")
        fields: Struct = {}
        id = 0
        while header := self._byte():
            type = header & 15
            id = id + (header >> 4) if header >> 4 else self._integer()
            fields[id] = Field(type, type == TRUE if type in (TRUE, FALSE) else self._value(type, depth))
        return fields

    def _value(self, type: int, depth: int) -> Any:  # noqa: ANN401 - whatever the type says
        if type in (I16, I32, I64):
            return self._integer()
        if type == BINARY:
            return self._take(self._varint())
        if type == STRUCT:
            return self.struct(depth + 1)
        if type in (LIST, SET):
            return self._list(depth + 1)
        if type in (TRUE, FALSE):
            return self._byte() == TRUE
        if type == BYTE:
            return self._byte()
        if type == DOUBLE:
            return self._take(8)
        if type == MAP:
            return self._map(depth + 1)
        raise ValueError(f"type {type}")

    def _list(self, depth: int) -> List:
        header = self._byte()
        type = header & 15
        size = header >> 4 if header >> 4 < 15 else self._varint()
        if size > len(self._data) - self._at or depth > DEPTH_MAX:
            raise ValueError(f"a list of {size} values")
        return List(type, [self._value(type, depth) for _ in range(size)])

    def _map(self, depth: int) -> list[tuple[Any, Any]]:
        size = self._varint()
        if size > len(self._data) - self._at or depth > DEPTH_MAX:
            raise ValueError(f"a map of {size} entries")
        types = self._byte() if size else 0
        return [(self._value(types >> 4, depth), self._value(types & 15, depth)) for _ in range(size)]

    def _byte(self) -> int:
        byte = self._data[self._at]
        self._at += 1
        return byte

    def _take(self, length: int) -> bytes:
        end = self._at + length
        if end > len(self._data):
            raise ValueError(f"{length} bytes wanted, {len(self._data) - self._at} left")
        taken = self._data[self._at : end]
        self._at = end
        return taken

    def _varint(self) -> int:
        data, at = self._data, self._at
        byte = data[at]
        result, shift = byte & 127, 7
        while byte > 127:
            at += 1
            byte = data[at]
            result |= (byte & 127) << shift
            shift += 7
            if shift > 70:
                raise ValueError("a number of more than 64 bits")
        self._at = at + 1
        return result

    def _integer(self) -> int:
        number = self._varint()
        return (number >> 1) ^ -(number & 1)


def _put_struct(out: bytearray, struct: Struct) -> None:
    last = 0
    for id, (type, value) in sorted(struct.items()):
        kind = (TRUE if value else FALSE) if type in (TRUE, FALSE) else type
        if 0 < id - last < 16:
            out.append((id - last) << 4 | kind)
        else:
            out.append(kind)
            _put_integer(out, id)
        if type not in (TRUE, FALSE):
            _put(out, type, value)
        last = id
    out.append(0)


def _put(out: bytearray, type: int, value: Any) -> None:  # noqa: ANN401 - whatever the type says
    if type in (I16, I32, I64):
        _put_integer(out, value)
    elif type == BYTE:
        out.append(value)
    elif type == BINARY:
        _put_varint(out, len(value))
        out += value
    elif type == STRUCT:
        _put_struct(out, value)
    elif type not in (LIST, SET):
        raise ValueError(f"a value of Thrift type {type}")
    else:
        if len(value.values) < 15:
            out.append(len(value.values) << 4 | value.type)
        else:
            out.append(15 << 4 | value.type)
            _put_varint(out, len(value.values))
        for one in value.values:
            _put(out, value.type, one)


def _put_integer(out: bytearray, value: int) -> None:
    _put_varint(out, value << 1 if value >= 0 else (-value << 1) - 1)


def _put_varint(out: bytearray, value: int) -> None:
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
