"""One deletion vector: the positions of the deleted rows of one data file.

| bytes | what |
|---|---|
| 4 | big-endian size of the body |
| size | body |
| 4 | big-endian CRC-32 of the body |

| version | body |
|---|---|
| 1 | 5e43f2d0, then a bitmap of 32-bit positions |
| 2 | d1d33964, then a bitmap of 64-bit positions |

Where a vector is listed its length is the size of the body in version 1, and of the whole record in version 2. The
record of version 2 is also the deletion-vector blob of Iceberg.
"""

import struct
import zlib

from pyroaring import BitMap, BitMap64

from polynya.codec.bitmap import Bitmap, decode32, decode64, encode32, encode64
from polynya.errors import CorruptFileError, InvalidInputError

FRAME_BYTES = 8  # size and checksum around the body
_MAGIC_1 = bytes.fromhex("5e43f2d0")
_MAGIC_2 = bytes.fromhex("d1d33964")
_POSITION_MAX_1 = 2**31 - 1


def decode_vector(data: bytes, length: int, *, name: str) -> Bitmap:
    """The vector whose record `data` begins with, a 32-bit bitmap for version 1 and a 64-bit one for version 2.

    `length` is the listed length. A reader that does not know the version reads `length + FRAME_BYTES` bytes from the
    listed offset, or up to the end of the file; bytes after the record do not matter.
    """
    size = int.from_bytes(data[:4], "big", signed=True)
    if size < 4 or len(data) < size + FRAME_BYTES:
        raise CorruptFileError(
            f"{name}, deletion vector: expected {size} bytes and a checksum, found {len(data)} bytes"
        )
    body = data[4 : 4 + size]
    checksum = int.from_bytes(data[4 + size : 8 + size], "big")
    if zlib.crc32(body) != checksum:
        raise CorruptFileError(f"{name}, deletion vector: expected checksum {checksum}, found {zlib.crc32(body)}")
    version = {_MAGIC_1: 1, _MAGIC_2: 2}.get(body[:4])
    if version is None:
        raise CorruptFileError(f"{name}, deletion vector: expected magic 5e43f2d0 or d1d33964, found {body[:4].hex()}")
    if length != _listed_length(version, size):
        expected = _listed_length(version, size)
        raise CorruptFileError(f"{name}, deletion vector: expected a listed length of {expected}, found {length}")
    return decode32(body[4:], name=name) if version == 1 else decode64(body[4:], name=name)


def encode_vector(vector: Bitmap) -> tuple[bytes, int]:
    """The record of a vector and its listed length; a 32-bit bitmap makes version 1, a 64-bit one version 2."""
    if isinstance(vector, BitMap64):
        version, body = 2, _MAGIC_2 + encode64(vector)
    else:
        if vector and vector.max() > _POSITION_MAX_1:
            raise InvalidInputError(
                f"deletion vector: expected positions below 2^31 in version 1, found {vector.max()}"
            )
        version, body = 1, _MAGIC_1 + encode32(vector)
    record = struct.pack(">i", len(body)) + body + struct.pack(">I", zlib.crc32(body))
    return record, _listed_length(version, len(body))


def widened(vector: BitMap) -> BitMap64:
    """The same positions as a vector of version 2."""
    return BitMap64(vector)


def _listed_length(version: int, size: int) -> int:
    return size if version == 1 else size + FRAME_BYTES
