"""Bitmap indexes: for each value the rows that have it (big-endian; bitmaps as `codec.bitmap` has them).

Version 2, the default, can be searched without reading all values:

| bytes | what |
|---|---|
| 1 | 2 |
| 4, 4 | rows, distinct values |
| 1 | 1 when there are nulls, then: int32 offset and int32 length of their bitmap |
| 4 | number of blocks, then per block: its first value, int32 where it begins after the blocks' total size |
| 4 | size of all blocks |
| ... | blocks: int32 number of entries, each a value, int32 offset, int32 length; values ascend |
| rest | bitmaps: the nulls' first, the others in the order of a Java hash map |

Version 1 is: 1, rows, distinct values, nulls or not and their offset, then value and offset of each in the order of the
hash map, then the bitmaps. An offset counts from the first bitmap. A value of a single row has no bitmap: its offset is
-1 - row, its length -1 (for nulls the length of the bitmap that was left out).
"""

import bisect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap

from polynya.codec.bitmap import decode32, encode32, from_rows, size32
from polynya.codec.int128 import I64
from polynya.errors import CorruptFileError, InvalidInputError
from polynya.model import types as t
from polynya.model.predicate import Predicate
from polynya.paimon.file_index.byte_reader import ByteReader
from polynya.paimon.file_index.hash_order import key_order
from polynya.paimon.file_index.keys import (
    Key,
    KeyForm,
    form_of,
    int32s,
    join,
    key_form,
    key_type,
    octets_of,
    offsets_of,
    read_key,
    stored,
    to_keys,
)
from polynya.paimon.file_index.result import REMAIN, Result, check_row_count, check_rows
from polynya.paimon.file_index.settings import size
from polynya.paimon.file_index.value_rows import I32, ValueRows, encode_groups
from polynya.paimon.file_index.wanted import Nullness, points, wanted

SETTINGS = frozenset({"version", "index-block-size"})

_LIST, _BLOCKS = 1, 2  # the versions
_UNKNOWN = -1


def accepts(type: t.DataType) -> bool:
    """Whether the type can have a bitmap index."""
    return key_form(type) is not None and not isinstance(type, (t.Decimal, t.Binary, t.VarBinary))


class Writer:
    """Builds the index of a column."""

    def __init__(self, type: t.DataType, settings: Mapping[str, str]) -> None:
        version = settings.get("version", str(_BLOCKS)).strip()
        if version not in (str(_LIST), str(_BLOCKS)):
            raise InvalidInputError(f"'version' must be 1 or 2, got '{version}'")
        self._version = int(version)
        self._block_size = size(settings, "index-block-size", "16kb")
        self._type = type
        self._form = form_of(type)
        self._rows = ValueRows(key_type(self._form))

    def add(self, array: pa.Array) -> None:
        """Add the values of the next rows."""
        self._rows.add(to_keys(array, self._type))

    def finish(self) -> bytes:
        """The body."""
        keys, codes = self._rows.finish()
        nulls = np.flatnonzero(codes < 0)
        null_bitmap = encode32(from_rows(nulls))
        bitmaps, offsets, lengths = _place(keys, codes, self._form, len(null_bitmap) if len(nulls) > 1 else 0)
        head = bytes([self._version]) + _int32(len(codes)) + _int32(len(keys)) + bytes([len(nulls) > 0])
        if len(nulls):
            head += _int32(-1 - int(nulls[0]) if len(nulls) == 1 else 0)
        body = (null_bitmap if len(nulls) > 1 else b"") + bitmaps
        if self._version == _LIST:
            order = pa.array(key_order(keys, self._form))
            entries = join(stored(keys.take(order), self._form), int32s(offsets[order]))
            return head + octets_of(entries).tobytes() + body
        if len(nulls):
            head += _int32(len(null_bitmap))
        return head + _encode_blocks(keys, offsets, lengths, self._form, self._block_size) + body


def _place(keys: pa.Array, codes: I32, form: KeyForm, start: int) -> tuple[bytes, I64, I64]:
    """The bitmaps of values of several rows, and offset and length per key."""
    order = key_order(keys, form)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    valid = np.flatnonzero(codes >= 0)
    places = rank[codes[valid]]
    rows = valid[np.argsort(places, kind="stable")]
    counts = np.bincount(places, minlength=len(order))
    is_single = counts == 1
    in_group = np.repeat(~is_single, counts)
    bitmaps = encode_groups(rows[in_group], counts[~is_single])
    bounds = offsets_of(bitmaps)
    offsets, lengths = np.empty(len(order), dtype=np.int64), np.full(len(order), _UNKNOWN, dtype=np.int64)
    offsets[is_single] = -1 - rows[~in_group]
    offsets[~is_single] = start + bounds[:-1]
    lengths[~is_single] = np.diff(bounds)
    return octets_of(bitmaps).tobytes(), offsets[rank], lengths[rank]


def _encode_blocks(keys: pa.Array, offsets: I64, lengths: I64, form: KeyForm, block_size: int) -> bytes:
    ascending = pc.array_sort_indices(keys)
    values = stored(keys.take(ascending), form)
    entries = join(values, int32s(offsets[ascending]), int32s(lengths[ascending]))
    bounds, octets = offsets_of(entries), octets_of(entries).tobytes()
    heads, blocks, at, blocks_size = [], [], 0, 0
    while at < len(entries):
        end = int(np.searchsorted(bounds, bounds[at] + block_size - 4, side="right")) - 1
        end = max(end, at + 1)  # a value beyond the size has a block to itself
        heads += [values[at].as_py(), _int32(blocks_size)]
        blocks += [_int32(end - at), octets[bounds[at] : bounds[end]]]
        blocks_size += 4 + int(bounds[end] - bounds[at])
        at = end
    return b"".join([_int32(len(heads) // 2), *heads, _int32(blocks_size), *blocks])


def _int32(number: int) -> bytes:
    return number.to_bytes(4, "big", signed=True)


def evaluate(body: bytes, leaf: Predicate, type: t.DataType, row_count: int, *, name: str) -> Result:
    """The rows that match `=`, `<>`, IN, NOT IN and IS [NOT] NULL; nulls are in none of the first four."""
    form = form_of(type)
    asked = wanted(leaf, type, form)
    keys = [] if isinstance(asked, Nullness) else points(asked)
    if keys is None:
        return REMAIN
    index = _read(body, form, row_count, name)
    if asked is Nullness.NULL:
        return index.nulls
    if asked is Nullness.NOT_NULL:
        return BitMap(range(row_count)) - index.nulls
    found = reduce(or_, (index.rows(key) for key in keys), BitMap())
    return found if not asked.negated else BitMap(range(row_count)) - index.nulls - found


@dataclass(frozen=True)
class _Index:
    """The head of an index; `reader` stands at the first block, or in version 1 at the first entry."""

    form: KeyForm
    row_count: int
    reader: ByteReader
    null_at: tuple[int, int] | None
    blocks: tuple[tuple[Key, int], ...]  # first value and start
    entries: Mapping[Key, int]  # offsets, in version 1
    bitmaps_at: int

    @property
    def nulls(self) -> BitMap:
        return BitMap() if self.null_at is None else self._bitmap(*self.null_at)

    def rows(self, key: Key) -> BitMap:
        """The rows that have the key."""
        if key in self.entries:
            return self._bitmap(self.entries[key], _UNKNOWN)
        place = bisect.bisect_right(self.blocks, key, key=lambda block: block[0]) - 1
        if place < 0:
            return BitMap()
        reader = self.reader.at_offset(self.blocks[place][1])
        for _ in range(reader.count(reader.int32(), size=9)):
            value, offset, length = read_key(reader, self.form), reader.int32(), reader.int32()
            if value == key:
                return self._bitmap(offset, length)
        return BitMap()

    def _bitmap(self, offset: int, length: int) -> BitMap:
        name = self.reader.name
        if offset < 0:
            if -1 - offset >= self.row_count:
                raise CorruptFileError(f"{name}, bitmap: expected a row below {self.row_count}, found {-1 - offset}")
            return BitMap([-1 - offset])
        reader = ByteReader(self.reader.data, name, at=self.bitmaps_at).at_offset(offset)
        if length == _UNKNOWN:
            length = size32(reader.data[reader.at :], name=name)
        return check_rows(decode32(reader.take(length), name=name), self.row_count, name)


def _read(body: bytes, form: KeyForm, row_count: int, name: str) -> _Index:
    reader = ByteReader(body, name)
    version = reader.version(_LIST, _BLOCKS)
    check_row_count(reader.int32(), row_count, name)
    value_count, has_nulls = reader.int32(), reader.flag()
    null_at = (reader.int32(), reader.int32() if version == _BLOCKS else _UNKNOWN) if has_nulls else None
    if version == _LIST:
        entries = {}
        for _ in range(reader.count(value_count, size=5)):
            key = read_key(reader, form)
            entries[key] = reader.int32()
        return _Index(form, row_count, reader, null_at, (), entries, reader.at)
    blocks = []
    for _ in range(reader.count(reader.int32(), size=5)):
        key, start = read_key(reader, form), reader.int32()
        blocks.append((key, start))
    blocks_size = reader.count(reader.int32())
    if any(not 0 <= start < blocks_size for _, start in blocks):
        raise CorruptFileError(f"{name}, bitmap: expected blocks within {blocks_size} bytes, found others")
    return _Index(form, row_count, reader, null_at, tuple(blocks), {}, reader.at + blocks_size)
