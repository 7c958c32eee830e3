"""The container of the indexes of one data file: a file beside it, or bytes in the manifest (big-endian).

| bytes | what |
|---|---|
| 8 | 1493475289347502 |
| 4 | version 1 |
| 4 | where the bodies begin |
| 4 | number of columns |
| ... | per column: name, int32 number of indexes, then per index: type, int32 start, int32 length |
| 4 | 0: bytes that a later version may add to the head |
| rest | bodies |

A start counts from the first byte; -1 marks an index of a map key over no row at all, which has no body. Names are in
Java's modified UTF-8 after a uint16 of their bytes. A map key is a column of its own, named `m[key]`. Columns and types
stand in any order.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from polynya.errors import CorruptFileError, InvalidInputError
from polynya.paimon.file_index.byte_reader import ByteReader

_MAGIC = 1493475289347502
_VERSION = 1
_EMPTY = -1
_FIXED_HEAD = struct.Struct(">qiii")
_SIZE_MAX = 2**31 - 1
_NAME_MAX = 2**16 - 1


@dataclass(frozen=True)
class FileIndex:
    """A decoded container: `slots` gives, per column and type, the start and length of the body."""

    data: bytes
    name: str
    slots: Mapping[str, Mapping[str, tuple[int, int]]]

    def types(self, column: str) -> tuple[str, ...]:
        """The types of index that the column has."""
        return tuple(self.slots.get(column, ()))

    def body(self, column: str, type: str) -> bytes | None:
        """The bytes of one index; None for the index over no row."""
        start, length = self.slots[column][type]
        return None if start == _EMPTY else self.data[start : start + length]


def decode(data: bytes, name: str) -> FileIndex:
    """The container in the bytes; `name` is the file, for the message of an error."""
    reader = ByteReader(data, name)
    magic, version, head_size, column_count = reader.unpack(_FIXED_HEAD)
    if magic != _MAGIC or version != _VERSION:
        raise CorruptFileError(
            f"{name}, file index: expected {_MAGIC} and version {_VERSION}, found {magic} and version {version}"
        )
    if not reader.at <= head_size <= len(data) or column_count < 0:
        raise CorruptFileError(
            f"{name}, file index: expected a head within {len(data)} bytes, found {head_size}, {column_count} columns"
        )
    head = ByteReader(data[:head_size], name, at=reader.at)
    slots: dict[str, dict[str, tuple[int, int]]] = {}
    for _ in range(column_count):
        column = _read_name(head)
        slots.setdefault(column, {}).update(_read_slot(head, len(data)) for _ in range(head.count(head.int32())))
    return FileIndex(data, name, slots)


def _read_slot(head: ByteReader, size: int) -> tuple[str, tuple[int, int]]:
    type = _read_name(head)
    start, length = head.int32(), head.int32()
    if start != _EMPTY and not (0 <= start <= start + length <= size and length >= 0):
        raise CorruptFileError(
            f"{head.name}, file index: expected a {type} body within {size} bytes, found {start} + {length}"
        )
    return type, (start, length)


def encode(columns: Mapping[str, Mapping[str, bytes | None]]) -> bytes:
    """The container of bodies per column and type; None stands for the index of a map key over no row."""
    bodies = [body for types in columns.values() for body in types.values()]
    names = [*columns, *(type for types in columns.values() for type in types)]
    at = _FIXED_HEAD.size + sum(len(_encode_name(name)) for name in names) + 4 * len(columns) + 8 * len(bodies) + 4
    parts = [_FIXED_HEAD.pack(_MAGIC, _VERSION, at, len(columns))]
    for column, types in columns.items():
        parts += [_encode_name(column), struct.pack(">i", len(types))]
        for type, body in types.items():
            if at + len(body or b"") > _SIZE_MAX:
                raise InvalidInputError("file index: expected less than 2 GB, found more; index fewer columns")
            parts += [_encode_name(type), struct.pack(">ii", *((_EMPTY, 0) if body is None else (at, len(body))))]
            at += len(body or b"")
    return b"".join([*parts, struct.pack(">i", 0), *(body for body in bodies if body is not None)])


def is_map_key(column: str) -> bool:
    """Whether a name in a container stands for one key of a map: `m[key]`."""
    return "[" in column and column.endswith("]")


def _read_name(head: ByteReader) -> str:
    stored = head.take(head.uint16())
    try:
        units = stored.replace(b"\xc0\x80", b"\0").decode("utf-8", "surrogatepass")
        return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise CorruptFileError(f"{head.name}, file index: expected a name, found {stored!r}") from None


def _encode_name(name: str) -> bytes:
    units = name.encode("utf-16-be")
    codes = (int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2))
    stored = "".join(map(chr, codes)).encode("utf-8", "surrogatepass").replace(b"\0", b"\xc0\x80")
    if len(stored) > _NAME_MAX:
        raise InvalidInputError(f"file index: expected a name of at most {_NAME_MAX} bytes, found {name[:40]!r}...")
    return struct.pack(">H", len(stored)) + stored
