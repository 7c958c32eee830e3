"""Cutting files that must be merged into key ranges that are merged apart, and whose results stand side by side.

A cut lies at the largest key of a file, which belongs to the range below it. How much work a range is, is guessed: the
bytes of a file are spread evenly over the pieces of the key space that it reaches into.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from polynya.table.conflict import key_ranks


@dataclass(frozen=True)
class KeyRange:
    """The keys after one key and up to another, which are rows in binary; None is without a bound."""

    after: bytes | None = None
    through: bytes | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all keys are in it."""
        return self.after is None and self.through is None


@dataclass(frozen=True)
class RangePart:
    """The files that reach into a range, and about how many of their bytes lie in it."""

    files: pa.Table
    size_bytes: int
    range: KeyRange = field(default_factory=KeyRange)


AFTER, THROUGH = "after_key", "through_key"  # columns of files that are read for a range of their keys


def range_of(files: pa.Table) -> KeyRange:
    """The range for which the files, all of one section, are read."""
    if AFTER not in files.column_names:
        return KeyRange()
    return KeyRange(files[AFTER][0].as_py(), files[THROUGH][0].as_py())


def cut_sections(files: pa.Table, key_types: Sequence[pa.DataType], part_bytes: int) -> pa.Table:
    """The files of a plan with sections that are much larger than a part cut into ranges, which are sections too.

    A file stands there once for each range that it reaches into. The column `weight` tells its bytes, or its share in
    those of the range.
    """
    sections = files["section"].to_numpy()
    sizes = np.bincount(sections, files["file_size"].to_numpy())
    merged = np.bincount(sections, ~np.asarray(files["raw"])) > 0
    heavy = np.flatnonzero(merged & (sizes > 1.5 * part_bytes)) if can_cut(key_types) else np.zeros(0, np.int64)
    cut = [_whole(files.filter(pa.array(~np.isin(sections, heavy))))]
    number = len(sizes)
    for section in heavy.tolist():
        for part in cut_by_key(files.filter(pa.array(sections == section)), key_types, part_bytes):
            cut.append(_ranged(part, number))
            number += 1
    return pa.concat_tables(cut)


def _whole(files: pa.Table) -> pa.Table:
    none = pa.nulls(files.num_rows, pa.binary())
    weights = files["file_size"].cast(pa.float64())
    return files.append_column("weight", weights).append_column(AFTER, none).append_column(THROUGH, none)


def _ranged(part: RangePart, section: int) -> pa.Table:
    files, count = part.files, part.files.num_rows
    numbers = pa.array(np.full(count, section), pa.int64())
    files = files.set_column(files.schema.get_field_index("section"), "section", numbers)
    files = files.append_column("weight", pa.array(np.full(count, part.size_bytes / count)))
    for name, key in ((AFTER, part.range.after), (THROUGH, part.range.through)):
        files = files.append_column(name, pa.array([key] * count, pa.binary()))
    return files


def can_cut(key_types: Sequence[pa.DataType]) -> bool:
    """Whether keys of these types have one order everywhere: NaN and the two zeros of floats have not."""
    return bool(key_types) and not any(pa.types.is_floating(type) for type in key_types)


def cut_by_key(files: pa.Table, key_types: Sequence[pa.DataType], part_bytes: int) -> list[RangePart]:
    """The files of one bucket in ranges of about so many bytes, in key order; one range where they cannot be cut."""
    sizes = files["file_size"].to_numpy()
    total = int(sizes.sum())
    wanted = math.ceil(total / max(1, part_bytes))
    if wanted < 2 or files.num_rows < 2 or not can_cut(key_types):
        return [RangePart(files, total)]
    low, high = key_ranks(files, key_types)
    ends, place = np.unique(high, return_index=True)
    first, last = np.searchsorted(ends, low), np.searchsorted(ends, high)
    weights = _spread(sizes, first, last, len(ends))
    reached = np.cumsum(weights)
    cuts = np.searchsorted(reached, total * np.arange(1, wanted) / wanted)
    stops = np.unique(np.append(cuts, len(ends) - 1))
    keys = files["max_key"].take(pa.array(place)).to_pylist()
    parts = []
    for start, stop in zip([0, *(stops[:-1] + 1).tolist()], stops.tolist(), strict=True):
        after = keys[start - 1] if start else None
        through = keys[stop] if stop < len(ends) - 1 else None
        inside = files.filter(pa.array((first <= stop) & (last >= start)))
        parts.append(RangePart(inside, int(weights[start : stop + 1].sum()), KeyRange(after, through)))
    return parts


def _spread(sizes: np.ndarray, first: np.ndarray, last: np.ndarray, count: int) -> np.ndarray:
    """The weight of each piece, to which every file gives an equal share of its size from its first to its last."""
    share = sizes / (last - first + 1)
    steps = np.bincount(first, share, count + 1) - np.bincount(last + 1, share, count + 1)
    return np.cumsum(steps)[:count]
