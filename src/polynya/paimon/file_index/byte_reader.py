"""A place in big-endian bytes that moves on as values are taken, and never beyond the end."""

import struct
from typing import Any

from polynya.errors import CorruptFileError


class ByteReader:
    """Takes values one after the other; CorruptFileError, naming the file, when there are too few bytes."""

    __slots__ = ("at", "data", "name")

    def __init__(self, data: bytes, name: str, at: int = 0) -> None:
        self.data = data
        self.name = name
        self.at = at

    def take(self, size: int) -> bytes:
        """The next `size` bytes."""
        start = self.at
        self.skip(size)
        return self.data[start : self.at]

    def skip(self, size: int) -> None:
        """Move on by `size` bytes."""
        if not 0 <= size <= len(self.data) - self.at:
            raise CorruptFileError(
                f"{self.name}, file index: expected {size} bytes at {self.at}, found {len(self.data) - self.at}"
            )
        self.at += size

    def at_offset(self, offset: int) -> "ByteReader":
        """A reader of the same bytes, `offset` further on."""
        moved = ByteReader(self.data, self.name, at=self.at)
        moved.skip(offset)
        return moved

    def unpack(self, layout: struct.Struct) -> tuple[Any, ...]:
        """The next values of the layout."""
        return layout.unpack(self.take(layout.size))

    def uint8(self) -> int:
        """The next byte."""
        return self.take(1)[0]

    def uint16(self) -> int:
        """The next two bytes."""
        return int.from_bytes(self.take(2), "big")

    def int32(self) -> int:
        """The next four bytes."""
        return int.from_bytes(self.take(4), "big", signed=True)

    def int64(self) -> int:
        """The next eight bytes."""
        return int.from_bytes(self.take(8), "big", signed=True)

    def flag(self) -> bool:
        """The next byte, which is 0 or 1."""
        value = self.uint8()
        if value > 1:
            raise CorruptFileError(f"{self.name}, file index: expected 0 or 1 at {self.at - 1}, found {value}")
        return value == 1

    def version(self, *known: int) -> int:
        """The next byte, which is one of the known versions."""
        value = self.uint8()
        if value not in known:
            raise CorruptFileError(f"{self.name}, file index: expected version {known[-1]}, found {value}")
        return value

    def count(self, value: int, *, size: int = 1) -> int:
        """A number of things of at least `size` bytes each, checked to fit into what is left."""
        left = len(self.data) - self.at
        if not 0 <= value * size <= left:
            raise CorruptFileError(f"{self.name}, file index: expected at most {left} bytes, found {value} * {size}")
        return value

    def part(self, size: int) -> "ByteReader":
        """The next `size` bytes as a reader of their own."""
        return ByteReader(self.take(size), self.name)
