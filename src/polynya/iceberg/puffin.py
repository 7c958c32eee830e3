"""Puffin: a file of blobs with a directory at its end.

| bytes | what |
|---|---|
| 4 | `PFA1` |
| ... | the blobs |
| 4 | `PFA1` |
| n | the directory, JSON in UTF-8 |
| 4 | n, little-endian |
| 4 | flags; the lowest bit says that the directory is compressed |
| 4 | `PFA1` |

A deletion vector is a blob of type `deletion-vector-v1`: the record of `codec.deletion_vector`, version 2.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from polynya.codec import json_text
from polynya.codec.json_text import JsonObject
from polynya.errors import CorruptFileError, UnsupportedError

DELETION_VECTOR = "deletion-vector-v1"
_MAGIC = b"PFA1"
MAGIC_BYTES = len(_MAGIC)
_TRAILER_BYTES = 12
_POSITION_FIELD_ID = 2147483645


@dataclass(frozen=True)
class PuffinBlob:
    """A blob as the directory describes it."""

    type: str
    offset: int
    length: int
    fields: tuple[int, ...] = ()
    snapshot_id: int = -1
    sequence_number: int = -1
    compression_codec: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


def decode(data: bytes, *, name: str) -> tuple[PuffinBlob, ...]:
    """The directory of a whole file; UnsupportedError where it is compressed."""
    if len(data) < len(_MAGIC) + _TRAILER_BYTES or data[:4] != _MAGIC or data[-4:] != _MAGIC:
        raise CorruptFileError(f"'{name}': expected a Puffin file, found {len(data)} bytes without its marks")
    size = int.from_bytes(data[-12:-8], "little", signed=True)
    start = len(data) - _TRAILER_BYTES - size
    if size < 0 or start < 2 * len(_MAGIC) or data[start - 4 : start] != _MAGIC:
        raise CorruptFileError(f"'{name}', directory: expected {size} bytes after the mark PFA1, found none")
    if data[-8] & 1:
        raise UnsupportedError(f"'{name}', directory: a compressed directory is not supported")
    found = json_text.decode(data[start : start + size], name=name)
    return tuple(_blob(one, start - 4) for one in found.objects("blobs"))


def require_magic(data: bytes, *, name: str) -> None:
    """Raise CorruptFileError for the beginning of another file."""
    if data != _MAGIC:
        raise CorruptFileError(f"'{name}': expected a Puffin file, found {data.hex()} at its beginning")


def encode(blobs: Sequence[tuple[PuffinBlob, bytes]]) -> tuple[bytes, tuple[PuffinBlob, ...]]:
    """The file of the blobs and their bytes, and the directory with the offsets that they got."""
    parts, placed, offset = [_MAGIC], list[PuffinBlob](), len(_MAGIC)
    for blob, content in blobs:
        placed.append(
            PuffinBlob(
                blob.type,
                offset,
                len(content),
                blob.fields,
                blob.snapshot_id,
                blob.sequence_number,
                blob.compression_codec,
                blob.properties,
            )
        )
        parts.append(content)
        offset += len(content)
    directory = json.dumps({"blobs": [_blob_json(one) for one in placed]}, separators=(",", ":")).encode()
    parts += (_MAGIC, directory, len(directory).to_bytes(4, "little"), bytes(4), _MAGIC)
    return b"".join(parts), tuple(placed)


def deletion_vector_blob(data_file: str, cardinality: int) -> PuffinBlob:
    """The description of the deletion vector of a data file, before it has a place."""
    properties = {"referenced-data-file": data_file, "cardinality": str(cardinality)}
    return PuffinBlob(DELETION_VECTOR, 0, 0, (_POSITION_FIELD_ID,), properties=properties)


def _blob(found: JsonObject, end: int) -> PuffinBlob:
    offset, length = found.integer("offset"), found.integer("length")
    if offset < len(_MAGIC) or length < 0 or offset + length > end:
        found.refuse("offset", f"a place before byte {end}")
    fields = tuple(one for one in found.list("fields") if isinstance(one, int))
    return PuffinBlob(
        found.text("type"),
        offset,
        length,
        fields,
        found.integer("snapshot-id"),
        found.integer("sequence-number"),
        found.find_text("compression-codec"),
        found.text_map("properties") if found.members.get("properties") is not None else {},
    )


def _blob_json(blob: PuffinBlob) -> dict[str, object]:
    known: dict[str, object] = {
        "type": blob.type,
        "fields": list(blob.fields),
        "snapshot-id": blob.snapshot_id,
        "sequence-number": blob.sequence_number,
        "offset": blob.offset,
        "length": blob.length,
    }
    if blob.compression_codec is not None:
        known["compression-codec"] = blob.compression_codec
    return {**known, "properties": dict(blob.properties)} if blob.properties else known
