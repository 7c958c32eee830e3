"""Deletion-vector index files: the deleted rows of the data files of a bucket.

| bytes | what |
|---|---|
| 1 | 1, for both versions of vectors |
| rest | records of `codec.deletion_vector`, one after the other |

Which data file a vector belongs to stands in the index manifest alone: its ranges hold the name of the data file, the
offset of the record and the listed length. One vector can be read by its range, without the rest of the file.
"""

from collections.abc import Iterator, Mapping

import pyarrow as pa

from polynya.codec.bitmap import Bitmap
from polynya.codec.deletion_vector import FRAME_BYTES, decode_vector, encode_vector
from polynya.errors import CorruptFileError, InvalidInputError
from polynya.paimon.index_manifest import RANGE

_VERSION = b"\1"
_FILE_BYTES_MAX = 2**31 - 1


def record_bytes(length: int) -> int:
    """How many bytes to read at a range's offset, at most: the end of the file may come sooner."""
    return length + FRAME_BYTES


def decode_file(data: bytes, ranges: pa.StructArray, *, name: str) -> dict[str, Bitmap]:
    """The vectors of a whole file by data file, as the ranges (of RANGE) list them."""
    if data[:1] != _VERSION:
        raise CorruptFileError(f"{name}, deletion vectors: expected version 1, found {data[:1].hex() or 'no byte'}")
    vectors: dict[str, Bitmap] = {}
    for file_name, offset, length, cardinality in _columns(ranges):
        if not 1 <= offset < len(data) or length < 0:
            raise CorruptFileError(f"{name}, vector of {file_name}: expected an offset in the file, found {offset}")
        vector = decode_vector(data[offset : offset + record_bytes(length)], length, name=name)
        if cardinality is not None and cardinality != len(vector):
            raise CorruptFileError(f"{name}, vector of {file_name}: expected {cardinality} rows, found {len(vector)}")
        vectors[file_name] = vector
    return vectors


def encode_file(vectors: Mapping[str, Bitmap]) -> tuple[bytes, pa.StructArray]:
    """The file of the vectors, and its ranges in the same order; the kind of the bitmaps is the version.

    The vectors of one file are of one version. No vectors make a file of one byte, which replaces an older one.
    """
    if len({type(vector) for vector in vectors.values()}) > 1:
        raise InvalidInputError("deletion vectors: expected one version in a file, found 32-bit and 64-bit bitmaps")
    records = [_VERSION]
    offset, ranges = 1, []
    for file_name, vector in vectors.items():
        record, length = encode_vector(vector)
        ranges.append({"file_name": file_name, "offset": offset, "length": length, "cardinality": len(vector)})
        records.append(record)
        offset += len(record)
    if offset > _FILE_BYTES_MAX:
        raise InvalidInputError(
            f"deletion vectors: expected a file below 2 GB, found {offset} bytes; use several files"
        )
    return b"".join(records), pa.array(ranges, RANGE)


def _columns(ranges: pa.StructArray) -> Iterator[tuple[str, int, int, int | None]]:
    return zip(*(ranges.field(field.name).to_pylist() for field in RANGE), strict=True)
