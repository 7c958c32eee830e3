"""Range bitmaps: the rank of each row's value among the distinct values, as bit slices (big-endian).

| bytes | what |
|---|---|
| 4 | size of the head that follows |
| ... | 1, int32 rows, int32 distinct values, least and greatest of them if any, int32 size of the dictionary |
| ... | dictionary: the values in chunks |
| rest | bit slices: the ranks |

Dictionary: int32 13, 1, int32 chunks, int32 size of their offsets, int32 size of their heads, then int32 offset of each
head, the heads, the keys. The head of a chunk: 1, its first value, that value's rank, int32 offset of its other keys,
int32 number of these, then for texts: size of the keys' offsets, size of the keys; for numbers: size of the keys, width
of one. Before the keys of a chunk of texts stand their offsets.

Bit slices: int32 size of the head, 1, uint8 slices, int32 size of the bitmap of rows with a value, int32 size of the
list, the list: int32 offset and size of each slice, then the bitmap, then the slices from the lowest bit up.
"""

import bisect
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap

from polynya.codec.bitmap import decode32, encode32
from polynya.errors import CorruptFileError
from polynya.model import types as t
from polynya.model.predicate import Predicate
from polynya.paimon.file_index.bit_slices import BitSlices, slice_bits
from polynya.paimon.file_index.byte_reader import ByteReader
from polynya.paimon.file_index.keys import (
    Key,
    KeyForm,
    form_of,
    key_form,
    key_type,
    octets_of,
    offsets_of,
    read_key,
    stored,
    to_keys,
)
from polynya.paimon.file_index.result import Result, check_row_count, check_rows
from polynya.paimon.file_index.settings import size
from polynya.paimon.file_index.value_rows import ValueRows
from polynya.paimon.file_index.wanted import Nullness, Span, wanted

SETTINGS = frozenset({"chunk-size"})

_VERSION = 1
_DECIMAL_DIGITS_MAX = 18
_SLICES_OF_NOTHING = 64  # as Paimon writes them where all rows are null


def accepts(type: t.DataType) -> bool:
    """Whether the type can have a range bitmap."""
    form = key_form(type)
    if form is None or not form.is_exact or isinstance(type, (t.Binary, t.VarBinary)):
        return False
    return not isinstance(type, t.Decimal) or type.precision <= _DECIMAL_DIGITS_MAX


class Writer:
    """Builds the index of a column."""

    def __init__(self, type: t.DataType, settings: Mapping[str, str]) -> None:
        self._type = type
        self._form = form_of(type)
        is_small = isinstance(type, (t.Boolean, t.TinyInt, t.SmallInt))
        self._chunk_size = size(settings, "chunk-size", "0b" if is_small else "16kb")
        self._rows = ValueRows(key_type(self._form))

    def add(self, array: pa.Array) -> None:
        """Add the values of the next rows."""
        self._rows.add(to_keys(array, self._type))

    def finish(self) -> bytes:
        """The body."""
        keys, codes = self._rows.finish()
        ascending = pc.array_sort_indices(keys).to_numpy()
        rank = np.empty(len(keys), dtype=np.int64)
        rank[ascending] = np.arange(len(keys))
        values = stored(keys.take(pa.array(ascending)), self._form)
        rows = np.flatnonzero(codes >= 0)
        slice_count = max(1, (len(keys) - 1).bit_length()) if len(keys) else _SLICES_OF_NOTHING
        dictionary = _encode_dictionary(values, self._form, self._chunk_size)
        head = struct.pack(">Bii", _VERSION, len(codes), len(keys))
        head += values[0].as_py() + values[-1].as_py() if len(keys) else b""
        head += struct.pack(">i", len(dictionary))
        slices = _encode_slices(slice_bits(rows, rank[codes[rows]], slice_count))
        return b"".join([struct.pack(">i", len(head)), head, dictionary, slices])


def _encode_dictionary(values: pa.LargeBinaryArray, form: KeyForm, chunk_size: int) -> bytes:
    bounds, octets = offsets_of(values), octets_of(values).tobytes()
    offsets, heads, keys, at = [], [], [], 0
    heads_size = keys_size = 0
    while at < len(values):
        first = octets[bounds[at] : bounds[at + 1]]
        end = int(np.searchsorted(bounds, bounds[at + 1] + chunk_size, side="right")) - 1
        if form.width is None:
            end = min(end, at + 1 + chunk_size // 4)
        others = octets[bounds[at + 1] : bounds[end]]
        places = b"" if form.width else (bounds[at + 1 : end] - bounds[at + 1]).astype(">i4").tobytes()
        sizes = (len(others), form.width) if form.width else (len(places), len(others))
        head = bytes([_VERSION]) + first + struct.pack(">iiiii", at, keys_size, end - at - 1, *sizes)
        offsets.append(heads_size)
        heads.append(head)
        keys += [places, others]
        heads_size += len(head)
        keys_size += len(places) + len(others)
        at = end
    head = struct.pack(">Biii", _VERSION, len(heads), 4 * len(offsets), heads_size)
    listed = np.array(offsets, dtype=">i4").tobytes()
    return b"".join([struct.pack(">i", len(head)), head, listed, *heads, *keys])


def _encode_slices(sliced: BitSlices) -> bytes:
    existence, slices = encode32(sliced.existence), [encode32(own) for own in sliced.slices]
    sizes = np.array([len(own) for own in slices])
    listed = np.column_stack([np.cumsum(sizes) - sizes, sizes]).astype(">i4").tobytes()
    head = struct.pack(">BBii", _VERSION, len(slices), len(existence), len(listed)) + listed
    return b"".join([struct.pack(">i", len(head)), head, existence, *slices])


def evaluate(body: bytes, leaf: Predicate, type: t.DataType, row_count: int, *, name: str) -> Result:
    """The rows that match a comparison, IN, NOT IN, IS [NOT] NULL or the prefix of a LIKE; nulls only IS NULL."""
    form = form_of(type)
    asked = wanted(leaf, type, form)
    index = _read(body, form, row_count, name)
    if asked is Nullness.NULL:
        return BitMap(range(row_count)) - index.sliced.existence
    if isinstance(asked, Nullness):
        return index.sliced.existence
    found = BitMap()
    for span in asked.spans:
        found |= index.rows(span)
    return index.sliced.existence - found if asked.negated else found


@dataclass(frozen=True)
class _Chunk:
    """A chunk of the dictionary: its first value, that value's rank, and the other values."""

    form: KeyForm
    first: Key
    rank: int
    count: int
    places: bytes  # where each key begins, of texts
    keys: ByteReader

    def key(self, at: int) -> Key:
        """One of the other values."""
        place = at * self.form.width if self.form.width else int.from_bytes(self.places[4 * at : 4 * at + 4], "big")
        return read_key(self.keys.at_offset(place), self.form)


@dataclass(frozen=True)
class _Dictionary:
    """The distinct values, ascending; `offsets` say where the head of each chunk begins."""

    form: KeyForm
    value_count: int
    offsets: Sequence[int]
    heads: ByteReader
    keys: ByteReader

    def rank(self, key: Key, *, is_after: bool) -> int:
        """How many values are below the key, or, with `is_after`, not above it."""
        place = bisect.bisect_right(range(len(self.offsets)), key, key=lambda at: self._chunk(at).first) - 1
        if place < 0:
            return 0
        chunk = self._chunk(place)
        search = bisect.bisect_right if is_after else bisect.bisect_left
        rank = chunk.rank + (chunk.first != key or is_after)
        if chunk.first != key:
            rank += search(range(chunk.count), key, key=chunk.key)
        if not 0 <= rank <= self.value_count:
            raise CorruptFileError(
                f"{self.heads.name}, range bitmap: expected ranks up to {self.value_count}, found {rank}"
            )
        return rank

    def _chunk(self, at: int) -> _Chunk:
        head = self.heads.at_offset(self.offsets[at])
        head.version(_VERSION)
        first = read_key(head, self.form)
        rank, keys_at, count = head.int32(), head.int32(), head.int32()
        sizes = head.int32(), head.int32()
        keys = self.keys.at_offset(keys_at)
        places = b"" if self.form.width else keys.take(sizes[0])
        own = keys.part(sizes[0] if self.form.width else sizes[1])
        own.count(count, size=self.form.width or 4)
        return _Chunk(self.form, first, rank, count, places, own)


@dataclass(frozen=True)
class _Index:
    """The parts of an index that a search needs; the slices are read only where a value was found."""

    row_count: int
    dictionary: _Dictionary
    slices: ByteReader

    @cached_property
    def sliced(self) -> BitSlices:
        """The ranks of the rows."""
        return _read_slices(self.slices.at_offset(0), self.row_count)

    def rows(self, span: Span) -> BitMap:
        """The rows whose value lies in the span."""
        first = 0 if span.low is None else self.dictionary.rank(span.low, is_after=span.low_open)
        end = self.dictionary.value_count
        if span.high is not None:
            end = self.dictionary.rank(span.high, is_after=not span.high_open)
        return self.sliced.between(first, end - 1) if first < end else BitMap()


def _read(body: bytes, form: KeyForm, row_count: int, name: str) -> _Index:
    reader = ByteReader(body, name)
    head = reader.part(reader.int32())
    head.version(_VERSION)
    check_row_count(head.int32(), row_count, name)
    value_count = head.int32()
    if not 0 <= value_count <= row_count:
        raise CorruptFileError(f"{name}, range bitmap: expected up to {row_count} values, found {value_count}")
    for _ in range(2 if value_count else 0):  # the least and the greatest, which the dictionary holds too
        read_key(head, form)
    dictionary = _read_dictionary(reader.part(head.int32()), form, value_count)
    return _Index(row_count, dictionary, reader)


def _read_dictionary(reader: ByteReader, form: KeyForm, value_count: int) -> _Dictionary:
    head = reader.part(reader.int32())
    head.version(_VERSION)
    chunk_count, offsets_size, heads_size = head.int32(), head.int32(), head.int32()
    if offsets_size != 4 * chunk_count:
        raise CorruptFileError(
            f"{reader.name}, range bitmap: expected offsets of {chunk_count} chunks, found {offsets_size} bytes"
        )
    offsets = np.frombuffer(reader.take(offsets_size), dtype=">i4").tolist()
    heads = reader.part(heads_size)
    return _Dictionary(form, value_count, offsets, heads, reader.part(len(reader.data) - reader.at))


def _read_slices(reader: ByteReader, row_count: int) -> BitSlices:
    head = reader.part(reader.int32())
    head.version(_VERSION)
    slice_count, existence_size, _ = head.uint8(), head.int32(), head.int32()
    listed = [(head.int32(), head.int32()) for _ in range(slice_count)]
    existence = check_rows(decode32(reader.take(existence_size), name=reader.name), row_count, reader.name)
    return BitSlices(existence, [_read_slice(reader, offset, length) for offset, length in listed])


def _read_slice(reader: ByteReader, offset: int, length: int) -> BitMap:
    return decode32(reader.at_offset(offset).take(length), name=reader.name)
