"""Avro object container files: the header and the blocks, without looking into the records.

| part | bytes |
|---|---|
| magic | `Obj` 0x01 |
| metadata | map of string to bytes: `avro.schema` (JSON), `avro.codec` (absent: null) |
| sync | 16 bytes, random per file |
| blocks, to the end of the file | record count (long), size (long), compressed records, sync |

A long is a zigzag varint. Blocks are independent of each other and of their file, so a block can be copied to another
file of the same schema and codec as it is.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from polynya.codec.avro_codecs import decompress
from polynya.errors import CorruptFileError, InvalidInputError, NotFoundError, StorageError

BLOCK_BYTES_MAX = 1 << 28
SYNC_BYTES = 16
_MAGIC = b"Obj\x01"


@dataclass(frozen=True, slots=True)
class AvroSource:
    """A container file to read: its bytes, or a path in the local file system.

    `name` stands in error messages. `size_bytes` is the size recorded elsewhere: a file cut between two blocks is
    whole in itself, and only its size tells.
    """

    name: str
    data: bytes | memoryview | None = None
    path: str | None = None
    size_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """Some records, compressed with the codec of their file."""

    count: int
    data: bytes | memoryview


@dataclass(frozen=True, slots=True)
class Container:
    """A container file: what its header says, and its blocks in order; `metadata` are the keys that are not Avro's."""

    name: str
    schema_text: str
    codec: str
    blocks: tuple[Block, ...]
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def record_count(self) -> int:
        """The number of records that the blocks claim to hold."""
        return sum(block.count for block in self.blocks)

    def records(self, block: Block) -> bytes | memoryview:
        """The bytes of the block's records, decompressed."""
        raw = decompress(self.codec, memoryview(block.data), BLOCK_BYTES_MAX, self.name)
        if block.count > len(raw):
            raise CorruptFileError(f"'{self.name}': a block claims {block.count} records in {len(raw)} bytes")
        return raw


def decode_container(source: AvroSource) -> Container:
    """Find the header and the blocks of a container file; nothing is decompressed."""
    data = _load(source)
    if source.size_bytes is not None and len(data) != source.size_bytes:
        raise CorruptFileError(f"'{source.name}': expected {source.size_bytes} bytes, found {len(data)}")
    if data[:4] != _MAGIC:
        found = bytes(data[:4]).hex() or "nothing"
        raise CorruptFileError(f"'{source.name}': expected an Avro container file (4f626a01), found {found}")
    try:
        return _parse(source.name, data)
    except _Damage as damage:
        raise CorruptFileError(f"'{source.name}': damaged Avro container: {damage}") from damage


def encode_container(
    schema_text: str, codec: str, blocks: Iterable[Block], metadata: Mapping[str, str] | None = None
) -> bytes:
    """A container file of the blocks, which must be compressed with `codec` and follow the schema."""
    sync = os.urandom(SYNC_BYTES)
    header = encode_header(schema_text, codec, sync, metadata)
    return b"".join([header, *(part for block in blocks for part in _block_parts(block, sync))])


def encode_header(schema_text: str, codec: str, sync: bytes, metadata: Mapping[str, str] | None = None) -> bytes:
    """The bytes before the first block; `metadata` stands beside Avro's own keys."""
    header = {"avro.schema": schema_text, "avro.codec": codec, **(metadata or {})}
    entries = b"".join(_sized(key) + _sized(value) for key, value in header.items())
    return _MAGIC + encode_long(len(header)) + entries + encode_long(0) + sync


def encode_block(block: Block, sync: bytes) -> bytes:
    """A block with its counts before and the sync marker of its file behind."""
    return b"".join(_block_parts(block, sync))


def _block_parts(block: Block, sync: bytes) -> tuple[bytes | memoryview, ...]:
    return encode_long(block.count), encode_long(len(block.data)), block.data, sync


def encode_long(value: int) -> bytes:
    """A zigzag varint."""
    rest = (value << 1) ^ (value >> 63)
    digits = bytearray()
    while rest > 0x7F:
        digits.append(rest & 0x7F | 0x80)
        rest >>= 7
    digits.append(rest)
    return bytes(digits)


class _Damage(ValueError):
    """The bytes are no container file; the caller knows the name."""


def _load(source: AvroSource) -> memoryview:
    if source.data is not None:
        return memoryview(source.data)
    if source.path is None:
        raise InvalidInputError(f"'{source.name}': expected bytes or a path, found neither")
    try:
        return memoryview(Path(source.path).read_bytes())
    except FileNotFoundError as error:
        raise NotFoundError(f"'{source.name}': no such file") from error
    except OSError as error:
        raise StorageError(f"'{source.name}': cannot be read: {error}") from error


def _parse(name: str, data: memoryview) -> Container:
    metadata, position = _decode_metadata(data, len(_MAGIC))
    sync, position = _take(data, position, SYNC_BYTES, "sync marker")
    try:
        schema_text = metadata["avro.schema"].decode()
        codec = metadata.get("avro.codec", b"null").decode()
    except KeyError:
        raise _Damage("the header has no avro.schema") from None
    except UnicodeDecodeError as error:
        raise _Damage(f"the header is not UTF-8: {error}") from error
    others = {key: value.decode(errors="replace") for key, value in metadata.items() if not key.startswith("avro.")}
    return Container(name, schema_text, codec, tuple(_decode_blocks(data, position, sync)), others)


def _decode_metadata(data: memoryview, position: int) -> tuple[dict[str, bytes], int]:
    metadata: dict[str, bytes] = {}
    while True:
        count, position = _decode_long(data, position)
        if count == 0:
            return metadata, position
        if count < 0:
            _, position = _decode_long(data, position)
        for _ in range(abs(count)):
            key, position = _decode_sized(data, position, "metadata key")
            value, position = _decode_sized(data, position, "metadata value")
            metadata[bytes(key).decode(errors="replace")] = bytes(value)


def _decode_blocks(data: memoryview, position: int, sync: memoryview) -> Iterable[Block]:
    while position < len(data):
        start = position
        count, position = _decode_long(data, position)
        records, position = _decode_sized(data, position, "block")
        if count < 0 or (count > 0 and not len(records)):
            raise _Damage(f"the block at {start} claims {count} records in {len(records)} bytes")
        marker, position = _take(data, position, SYNC_BYTES, "sync marker")
        if marker != sync:
            raise _Damage(f"the block at {start} does not end with the sync marker")
        yield Block(count, records)


def _decode_sized(data: memoryview, position: int, what: str) -> tuple[memoryview, int]:
    size, position = _decode_long(data, position)
    return _take(data, position, size, what)


def _take(data: memoryview, position: int, size: int, what: str) -> tuple[memoryview, int]:
    end = position + size
    if size < 0 or end > len(data):
        raise _Damage(f"{what} at {position}: expected {size} bytes, found {len(data) - position}")
    return data[position:end], end


def _decode_long(data: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    for byte in data[position : position + 10]:
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), position
        shift += 7
    raise _Damage(f"no number ends before {position}")


def _sized(text: str) -> bytes:
    data = text.encode()
    return encode_long(len(data)) + data
