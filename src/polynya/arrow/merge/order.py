"""The order of records: by key, then oldest to newest within a key.

Every column that takes part becomes an array of 64-bit codes that compare as its values do: nulls first, numbers by
value, text and bytes by unsigned byte, false before true, floats with -0.0 before 0.0 and NaN last. Several columns
are packed into one code. Sorting, finding the borders of keys and comparing sequences are then integer work, and a
stable sort of codes is cheap on rows that come as a few sorted runs.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from polynya.model.merge_spec import MergeSpec
from polynya.model.schema import SEQUENCE_NUMBER, VALUE_KIND

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_MAX_CODE = 2**63 - 1
_SHORT_BYTES = 7  # with their length they fit a code


@dataclass(frozen=True)
class Groups:
    """The rows of a table in merge order, cut into keys."""

    order: Ints  # positions of the rows, by key, oldest to newest
    starts: Ints  # where each key begins in `order`
    several: Bools  # which keys came with more than one record; a single record is never changed
    is_merged: bool = False  # the rows stand in this order, each key once

    @property
    def ends(self) -> Ints:
        """Where each key ends in `order`."""
        return np.append(self.starts[1:], len(self.order))[: len(self.starts)]

    @property
    def sizes(self) -> Ints:
        """How many records each key has."""
        return np.diff(self.starts, append=len(self.order))


def group_rows(rows: pa.Table, spec: MergeSpec) -> Groups:
    """Sort the rows for merging and find the keys."""
    key = codes([rows.column(name) for name in spec.key])
    if (key[1:] > key[:-1]).all():
        order = np.arange(len(key))
        return Groups(order, order, np.zeros(len(key), bool), is_merged=True)
    order = np.argsort(key, kind="stable")  # merges presorted runs instead of sorting anew
    key = key[order]
    same = key[1:] == key[:-1]
    starts = np.flatnonzero(np.concatenate(([True], ~same)))
    if not _is_oldest_first(rows, spec, order, same):
        order = _oldest_first(rows, spec, order, starts)
    return Groups(order, starts, np.diff(starts, append=len(order)) > 1)


def nearest_level(groups: Groups, level: Ints) -> Groups:
    """Keep the records of level 0 and, of the deeper ones, that of the level next to it.

    On tables that look up, a record of a level holds everything below it; merging the deeper ones would count twice.
    """
    level = level[groups.order]
    depth = np.where(level > 0, level, np.iinfo(np.int64).max)
    nearest = np.repeat(np.minimum.reduceat(depth, groups.starts), groups.sizes) if len(depth) else depth
    kept = (level <= 0) | (level == nearest)
    starts = np.cumsum(kept)[groups.starts] - kept[groups.starts]
    return Groups(groups.order[kept], starts, groups.several)


def codes(columns: Sequence[pa.ChunkedArray | pa.Array], *, descending: bool = False) -> Ints:
    """One number per row that orders rows as the columns do, compared one after the other; nulls are always first."""
    packed, span = _single(columns[0], descending)
    for column in columns[1:]:
        more, more_span = _single(column, descending)
        if span * more_span > _MAX_CODE:
            packed, span = _dense(packed)
        if span * more_span > _MAX_CODE:
            more, more_span = _dense(more)
        packed = (packed - _low(packed)) * more_span + (more - _low(more))
        span *= more_span
    return packed


def to_array(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """The column in one piece."""
    if isinstance(column, pa.Array):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def comparable(column: pa.Array) -> pa.Array:
    """Values that compare in Arrow and in Python as the column's values do in Paimon: integers, decimals or bytes."""
    type = column.type
    if pa.types.is_boolean(type):
        return column.cast(pa.int8())
    if pa.types.is_floating(type):
        return _float_codes(column)
    if pa.types.is_string(type) or pa.types.is_large_string(type):
        return column.view(pa.binary() if pa.types.is_string(type) else pa.large_binary())
    if pa.types.is_temporal(type):
        return column.view(pa.int32() if type.bit_width == 32 else pa.int64())
    if pa.types.is_dictionary(type):
        return comparable(column.dictionary_decode())
    return column


def _single(column: pa.ChunkedArray | pa.Array, descending: bool) -> tuple[Ints, int]:
    """Codes of one column, and how many codes there can be from the lowest to the highest."""
    values = comparable(to_array(column))
    if not pa.types.is_integer(values.type):
        short = _short_codes(values)
        values = _ranks(values) if short is None else short
    has_nulls = values.null_count > 0
    numbers = np.asarray(values.fill_null(0) if has_nulls else values).astype(np.int64, copy=False)
    if not has_nulls and not descending:
        return numbers, _span(numbers)
    if _span(numbers) >= _MAX_CODE:
        numbers, _ = _dense(numbers)
    if len(numbers):
        numbers = (numbers.max() - numbers if descending else numbers - numbers.min()) + 1
    if has_nulls:
        numbers = np.where(np.asarray(values.is_null()), 0, numbers)
    return numbers, _span(numbers)


def _short_codes(values: pa.Array) -> pa.Array | None:
    """Codes of bytes that differ in a short tail only, like padded numbers: the tail itself, then its length."""
    if not pa.types.is_binary(values.type) or len(values) == values.null_count:
        return None
    extremes = pc.min_max(values)
    prefix = _shared_bytes(extremes["min"].as_py(), extremes["max"].as_py())
    offsets = np.frombuffer(values.buffers()[1], np.int32)[values.offset : values.offset + len(values) + 1]
    sizes = np.maximum(np.diff(offsets).astype(np.int64) - prefix, 0)
    if sizes.max() > _SHORT_BYTES or values.buffers()[2] is None:
        return None
    data = np.frombuffer(values.buffers()[2], np.uint8)
    code = np.zeros(len(values), np.int64)
    for place in range(int(sizes.max())):
        position = np.minimum(offsets[:-1] + (prefix + place), len(data) - 1)
        code = (code << 8) | np.where(place < sizes, data[position], 0)
    code = code * (_SHORT_BYTES + 1) + sizes
    return pa.array(code, mask=np.asarray(values.is_null()) if values.null_count else None)


def _shared_bytes(low: bytes, high: bytes) -> int:
    return next(
        (place for place, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high))
    )


def _ranks(values: pa.Array) -> pa.Array:
    """The rank of every value among the distinct ones."""
    encoded = values.dictionary_encode()
    rank = np.asarray(pc.rank(encoded.dictionary, sort_keys="ascending", tiebreaker="dense")).astype(np.int64)
    indices = encoded.indices
    ranks = rank[np.asarray(indices.fill_null(0))] if len(rank) else np.zeros(len(values), np.int64)
    return pa.array(ranks, mask=np.asarray(values.is_null()) if values.null_count else None)


def _dense(numbers: Ints) -> tuple[Ints, int]:
    distinct, inverse = np.unique(numbers, return_inverse=True)
    return inverse.astype(np.int64), max(1, len(distinct))


def _low(numbers: Ints) -> int:
    return int(numbers.min()) if len(numbers) else 0


def _span(numbers: Ints) -> int:
    return int(numbers.max()) - int(numbers.min()) + 1 if len(numbers) else 1


def _float_codes(column: pa.Array) -> pa.Array:
    """Integers in the order of Java's Double.compare; all NaN are one."""
    numbers = np.array(column.fill_null(0) if column.null_count else column, np.float64)
    numbers[np.isnan(numbers)] = np.nan
    bits = numbers.view(np.int64)
    ordered = np.where(bits < 0, bits ^ np.iinfo(np.int64).max, bits)
    return pa.array(ordered, mask=np.asarray(column.is_null()) if column.null_count else None)


def _is_oldest_first(rows: pa.Table, spec: MergeSpec, order: Ints, same: Bools) -> bool:
    if spec.sequence_fields:
        return not same.any()
    sequence = np.asarray(to_array(rows.column(SEQUENCE_NUMBER.name)))[order]
    return not (same & (sequence[1:] <= sequence[:-1])).any()


def _oldest_first(rows: pa.Table, spec: MergeSpec, order: Ints, starts: Ints) -> Ints:
    """Put the records of each key in order: user sequence fields, sequence number, retract before add."""
    sizes = np.diff(starts, append=len(order))
    group = np.repeat(np.arange(len(starts)), sizes)
    tied = np.flatnonzero(np.repeat(sizes > 1, sizes))
    some = rows.select(dict.fromkeys((*spec.sequence_fields, SEQUENCE_NUMBER.name, VALUE_KIND.name)))
    some = some.take(pa.array(order[tied]))
    age = codes([some.column(SEQUENCE_NUMBER.name), pa.array(1 - is_retract(some).astype(np.int8))])
    if spec.sequence_fields:
        user = codes([some.column(name) for name in spec.sequence_fields], descending=spec.descending)
        age = codes([pa.array(user), pa.array(age)])
    sort = np.argsort(codes([pa.array(group[tied]), pa.array(age)]), kind="stable")
    result = order.copy()
    result[tied] = order[tied][sort]
    return result


def is_retract(rows: pa.Table) -> Bools:
    """Which rows are -U or -D."""
    kind = np.asarray(to_array(rows.column(VALUE_KIND.name)))
    return (kind & 1).astype(bool)
