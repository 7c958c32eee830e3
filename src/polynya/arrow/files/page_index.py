"""The page index of a Parquet file: where the pages of a column are, and between which bounds their values lie.

| footer, column chunk | what |
|---|---|
| 4, 5 | where the offset index is: of each page its place, its size and its first row |
| 6, 7 | where the column index is: of each page whether all is null, least and greatest value, number of nulls |

Bounds may be shorter than the values, which keeps them bounds. They count only where the file says that it orders
values as their type does, and where the stored type is that of the schema; anything else is unknown and prunes nothing.
"""

from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from polynya.arrow.files.parquet_leaves import Leaf
from polynya.codec import thrift
from polynya.errors import CorruptFileError
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_type
from polynya.table.prune import ColumnStats

_SCHEMA, _ROW_GROUPS, _COLUMN_ORDERS = 2, 4, 7
_CHUNKS = 1  # of a row group
_TYPE_ORDER = 1  # the column order that follows the type
_OFFSET_INDEX, _COLUMN_INDEX = (4, 5), (6, 7)
_LOCATIONS = 1
_NULL_PAGES, _MINIMA, _MAXIMA, _NULL_COUNTS = 1, 2, 3, 5
_NUMBERS = {"INT32": "<i4", "INT64": "<i8", "FLOAT": "<f4", "DOUBLE": "<f8"}
_EXACT = Context(prec=40)

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Pages:
    """The data pages of a column chunk, in order."""

    offsets: Ints
    sizes: Ints
    first_rows: Ints  # counted from the first of the row group


class PageIndex:
    """The page indexes of one file, read when they are asked for."""

    def __init__(self, parquet: pq.ParquetFile, source: pa.NativeFile, name: str) -> None:
        self.parquet, self._source, self.name = parquet, source, name
        self._pages: dict[tuple[int, int], Pages | None] = {}

    @cached_property
    def footer(self) -> thrift.Struct:
        """The footer of the file."""
        size = self.parquet.metadata.serialized_size
        return thrift.decode(self.read(self._source.size() - 8 - size, size), self.name)

    @property
    def schema(self) -> list[thrift.Struct]:
        """The schema elements, the root first."""
        return thrift.values(self.footer, _SCHEMA, dict, self.name)

    def chunk(self, group: int, leaf: int) -> thrift.Struct:
        """What the footer says of a column in a row group."""
        chunks = thrift.values(self._row_groups[group], _CHUNKS, dict, self.name)
        if leaf >= len(chunks):
            raise CorruptFileError(f"data file '{self.name}', row group {group}: it has no column {leaf}")
        return chunks[leaf]

    @cached_property
    def _row_groups(self) -> list[thrift.Struct]:
        found = thrift.values(self.footer, _ROW_GROUPS, dict, self.name)
        if len(found) != self.parquet.metadata.num_row_groups:
            raise CorruptFileError(f"data file '{self.name}': its footer has another number of row groups")
        return found

    def read(self, offset: int, length: int) -> bytes:
        """A range of the file."""
        if offset < 0 or length < 0 or offset + length > self._source.size():
            raise CorruptFileError(f"data file '{self.name}': a range of the page index is outside of the file")
        self._source.seek(offset)
        data: bytes = self._source.read(length)
        return data

    def row_count(self, group: int) -> int:
        """The number of rows of a row group."""
        return int(self.parquet.metadata.row_group(group).num_rows)

    def pages(self, group: int, leaf: int) -> Pages | None:
        """Where the pages are, if the file tells."""
        if (group, leaf) not in self._pages:
            self._pages[group, leaf] = self._find_pages(group, leaf)
        return self._pages[group, leaf]

    def _find_pages(self, group: int, leaf: int) -> Pages | None:
        found = self._index(group, leaf, _OFFSET_INDEX)
        if found is None:
            return None
        places = [
            [thrift.value(place, id, int, self.name) for id in (1, 2, 3)]
            for place in thrift.values(found, _LOCATIONS, dict, self.name)
        ]
        offsets, sizes, first_rows = np.array(places, np.int64).reshape(-1, 3).T
        steps = np.diff(first_rows, append=self.row_count(group))
        if not places or first_rows[0] != 0 or (steps <= 0).any() or (sizes <= 0).any():
            raise CorruptFileError(f"data file '{self.name}', column {leaf}: its offset index has no rising rows")
        return Pages(offsets, sizes, first_rows)

    def bounds(self, group: int, leaf: Leaf) -> ColumnStats | None:
        """What is known of each page; the number of nulls is 0, unknown, or (all are null) the greatest there is."""
        found = self._index(group, leaf.index, _COLUMN_INDEX)
        if found is None or not self._orders_by_type(leaf.index):
            return None
        empty = np.array(thrift.values(found, _NULL_PAGES, bool, self.name), bool)
        physical = self.parquet.schema.column(leaf.index).physical_type
        decoded = [
            _decoded(thrift.values(found, id, bytes, self.name), empty, physical, leaf) for id in (_MINIMA, _MAXIMA)
        ]
        if decoded[0] is None or decoded[1] is None:
            return None
        counts = thrift.values(found, _NULL_COUNTS, int, self.name) if _NULL_COUNTS in found else [1] * len(empty)
        nulls = np.array(counts, np.int64)
        if not len(empty) == len(decoded[0]) == len(decoded[1]) == len(nulls):
            raise CorruptFileError(f"data file '{self.name}', column {leaf.index}: its column index has gaps")
        known = pa.array(np.where(empty, np.iinfo(np.int64).max, 0), mask=~empty & (nulls != 0))
        return ColumnStats(decoded[0], decoded[1], known)

    def _index(self, group: int, leaf: int, place: tuple[int, int]) -> thrift.Struct | None:
        chunk = self.chunk(group, leaf)
        if any(id not in chunk for id in place):
            return None
        offset, length = (thrift.value(chunk, id, int, self.name) for id in place)
        return thrift.decode(self.read(offset, length), self.name)

    def _orders_by_type(self, leaf: int) -> bool:
        if _COLUMN_ORDERS not in self.footer:
            return False
        orders = thrift.values(self.footer, _COLUMN_ORDERS, dict, self.name)
        return leaf < len(orders) and set(orders[leaf]) == {_TYPE_ORDER}


def _decoded(values: list[bytes], empty: Bools, physical: str, leaf: Leaf) -> pa.Array | None:
    """One bound of each page in the Arrow type of the schema; None where they do not tell in that type."""
    type, target = leaf.type, to_arrow_type(leaf.type)
    if len(values) != len(empty):
        return None
    if isinstance(type, (t.Char, t.VarChar)) and pa.types.is_string(leaf.stored):
        return _texts(values, empty)
    if isinstance(type, t.Decimal):
        return _decimals(values, empty, physical, leaf)
    if physical not in _NUMBERS or not _is_same(leaf.stored, target):
        return None
    width = np.dtype(_NUMBERS[physical]).itemsize
    padded = [bytes(width) if is_empty else value for value, is_empty in zip(values, empty, strict=True)]
    if any(len(value) != width for value in padded):
        return None
    try:
        numbers = pa.array(np.frombuffer(b"".join(padded), _NUMBERS[physical]), mask=empty)
        return numbers.cast(target) if pa.types.is_integer(target) else numbers.view(target)
    except pa.ArrowInvalid:
        return None  # wider than the column can hold


def _is_same(stored: pa.DataType, target: pa.DataType) -> bool:
    """Whether a number in the file means the same in the column."""
    if pa.types.is_integer(target):
        return bool(pa.types.is_signed_integer(stored))
    if pa.types.is_timestamp(target):
        return bool(pa.types.is_timestamp(stored)) and stored.unit == target.unit
    return bool(stored == target) and bool(pa.types.is_floating(target) or pa.types.is_date32(target))


def _texts(values: list[bytes], empty: Bools) -> pa.Array | None:
    try:
        return pa.array(values, pa.binary(), mask=empty).cast(pa.string())
    except pa.ArrowInvalid:
        return None  # cut inside of a character


def _decimals(values: list[bytes], empty: Bools, physical: str, leaf: Leaf) -> pa.Array | None:
    target = to_arrow_type(leaf.type)
    if not pa.types.is_decimal(leaf.stored) or leaf.stored.scale != target.scale:
        return None
    order: Literal["big", "little"] = "little" if physical in ("INT32", "INT64") else "big"
    numbers = (int.from_bytes(value, order, signed=True) for value in values)
    exact = [
        None if is_empty else Decimal(number).scaleb(-target.scale, _EXACT)
        for number, is_empty in zip(numbers, empty, strict=True)
    ]
    try:
        return pa.array(exact, target)
    except pa.ArrowInvalid:
        return None  # more digits than the column can hold
