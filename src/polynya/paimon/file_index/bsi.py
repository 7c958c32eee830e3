"""Bit-slice indexes of whole numbers (deprecated in favour of range-bitmap; big-endian).

| bytes | what |
|---|---|
| 1 | 1 |
| 4 | rows |
| 1 | 1 when there are values of 0 and above, then: their slices |
| 1 | 1 when there are negative values, then: the slices of these without their sign |

Slices: one byte 1, int64 minimum (0), int64 maximum, the bitmap of rows that have a value, int32 number of slices, the
slices from the lowest bit up. Values are stored less the minimum. -2^63 has no positive twin and cannot be stored.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap

from polynya.codec.bitmap import encode32, size32
from polynya.codec.int128 import I64
from polynya.errors import InvalidInputError
from polynya.model import types as t
from polynya.model.predicate import Predicate
from polynya.paimon.file_index.bit_slices import BitSlices, slice_bits
from polynya.paimon.file_index.byte_reader import ByteReader
from polynya.paimon.file_index.keys import form_of, key_form, to_keys
from polynya.paimon.file_index.result import Result, check_row_count, check_rows
from polynya.paimon.file_index.wanted import Nullness, Span, wanted

SETTINGS: frozenset[str] = frozenset()

_VERSION = 1
_LEAST = -(2**63)
_BEYOND = 2**127  # above every number of 38 digits


def accepts(type: t.DataType) -> bool:
    """Whether the type can have a bit-slice index."""
    form = key_form(type)
    return form is not None and form.width is not None and not form.is_float and not form.is_boolean


class Writer:
    """Builds the index of a column."""

    def __init__(self, type: t.DataType, settings: Mapping[str, str]) -> None:
        self._type = type
        self._parts = [pa.array([], pa.int64())]

    def add(self, array: pa.Array) -> None:
        """Add the values of the next rows."""
        self._parts.append(to_keys(array, self._type))

    def finish(self) -> bytes:
        """The body."""
        keys = pa.chunked_array(self._parts)
        rows = np.flatnonzero(pc.is_valid(keys).to_numpy())
        numbers = keys.drop_null().to_numpy()
        if (numbers == _LEAST).any():
            raise InvalidInputError(f"bsi cannot hold {_LEAST}; use range-bitmap for this column")
        negative = numbers < 0
        parts = [struct.pack(">Bi", _VERSION, len(keys))]
        parts += [_encode(rows[~negative], numbers[~negative]), _encode(rows[negative], -numbers[negative])]
        return b"".join(parts)


def _encode(rows: I64, numbers: I64) -> bytes:
    if not len(rows):
        return b"\0"
    high = int(numbers.max())
    sliced = slice_bits(rows, numbers, high.bit_length())
    head = struct.pack(">BBqq", 1, _VERSION, 0, high)
    slices = map(encode32, sliced.slices)
    return b"".join([head, encode32(sliced.existence), struct.pack(">i", len(sliced.slices)), *slices])


def evaluate(body: bytes, leaf: Predicate, type: t.DataType, row_count: int, *, name: str) -> Result:
    """The rows that match a comparison, IN, NOT IN or IS [NOT] NULL; nulls match none of the others."""
    asked = wanted(leaf, type, form_of(type))
    reader = ByteReader(body, name)
    reader.version(_VERSION)
    check_row_count(reader.int32(), row_count, name)
    positive = _read(reader, row_count)
    negative = _read(reader, row_count)
    valid = positive.sliced.existence | negative.sliced.existence
    if asked is Nullness.NULL:
        return BitMap(range(row_count)) - valid
    if isinstance(asked, Nullness):
        return valid
    found = BitMap()
    for span in asked.spans:
        low, high = _bounds(span)
        found |= positive.between(max(low, 0), high) | negative.between(max(-high, 1), -low)
    return valid - found if asked.negated else found


def _bounds(span: Span) -> tuple[int, int]:
    low = -_BEYOND if span.low is None else int(span.low) + span.low_open
    high = _BEYOND if span.high is None else int(span.high) - span.high_open
    return low, high


@dataclass(frozen=True)
class _Half:
    """The values of one sign, without it."""

    low: int
    sliced: BitSlices

    def between(self, low: int, high: int) -> BitMap:
        return self.sliced.between(low - self.low, high - self.low)


def _read(reader: ByteReader, row_count: int) -> _Half:
    if not reader.flag():
        return _Half(0, BitSlices(BitMap(), ()))
    reader.version(_VERSION)
    low, _ = reader.int64(), reader.int64()
    existence = check_rows(_read_bitmap(reader), row_count, reader.name)
    slices = [_read_bitmap(reader) for _ in range(reader.count(reader.int32(), size=8))]
    return _Half(low, BitSlices(existence, slices))


def _read_bitmap(reader: ByteReader) -> BitMap:
    length = size32(reader.data[reader.at :], name=reader.name)  # checks all of it
    return BitMap.deserialize(reader.take(length))
