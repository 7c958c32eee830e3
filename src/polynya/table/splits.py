"""Cutting the files of a plan into splits, the units of reading.

Files are taken bucket by bucket. A *section* is a set of files whose key ranges overlap one another and none outside;
a section must be merged as a whole. Files that need no merge are *raw*. Splits are bins of neighbouring sections (raw
files count as sections of their own), filled in order up to a target weight, raw and merged ones apart.

All of it is arithmetic on columns; the only loop is over one in many of the bins themselves.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec.value_codes import value_codes
from polynya.table.conflict import key_ranks

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_STRIDE_POWER = 5


@dataclass(frozen=True)
class SplitRules:
    """How the files of one table are cut."""

    target_size_bytes: int
    open_file_cost_bytes: int
    key_types: Sequence[pa.DataType] = ()
    reads_compacted_raw: bool = False  # deletion vectors or first-row: files above level 0 need no merge
    by_row_id: bool = False  # data evolution: files of one row-id range are read together


def cut(files: pa.Table, rules: SplitRules) -> pa.Table:
    """The files in reading order, with columns `split` and `section` (numbers from 0) and `raw`."""
    if files.num_rows == 0:
        return _numbered(files, *(np.zeros(0, np.int64),) * 2, np.zeros(0, bool))
    group = bucket_groups(files)
    if rules.by_row_id:
        return _cut_by_row_id(files, group, rules)
    if rules.key_types:
        return _cut_by_key(files, group, rules)
    order = _order(group, files["min_sequence_number"].to_numpy())
    files, group = _take(files, order), group[order]
    sections = np.arange(files.num_rows)
    raw = np.ones(files.num_rows, bool)
    return _numbered(files, _bins(_weights(files, rules), group, rules.target_size_bytes), sections, raw)


def bucket_groups(files: pa.Table) -> Ints:
    """A number for each (partition, bucket), the same for files of the same one."""
    partition, _ = value_codes(files["partition"].combine_chunks())
    bucket = files["bucket"].to_numpy().astype(np.int64)
    low = int(bucket.min())
    return partition * (int(bucket.max()) - low + 1) + bucket - low


def sections_of(group: Ints, low: Ints, high: Ints) -> Ints:
    """The section of each file; files are ordered by group and smallest key."""
    span = int(high.max()) + 1
    start, end = group * span + low, group * span + high
    reach = np.maximum.accumulate(end)
    opens = np.ones(len(group), bool)
    opens[1:] = start[1:] > reach[:-1]
    return np.cumsum(opens) - 1


def _cut_by_key(files: pa.Table, group: Ints, rules: SplitRules) -> pa.Table:
    low, high = key_ranks(files, rules.key_types)
    order = np.lexsort((high, low, group))
    files, group = _take(files, order), group[order]
    sections = sections_of(group, low[order], high[order])
    has_no_deletes = _has_no_deletes(files)
    raw = has_no_deletes & (np.bincount(sections)[sections] == 1)
    raw |= _compacted_buckets(files, group, has_no_deletes, rules.reads_compacted_raw)
    sections = _split_raw(sections, raw)
    return _pack_sections(files, group, sections, raw, rules)


def _cut_by_row_id(files: pa.Table, group: Ints, rules: SplitRules) -> pa.Table:
    first = pc.fill_null(files["first_row_id"], -1).to_numpy()
    last = first + files["row_count"].to_numpy() - 1
    order = np.lexsort((files["max_sequence_number"].to_numpy(), first, group))
    files, group = _take(files, order), group[order]
    first, last = first[order], last[order]
    sections = sections_of(group, first + 1, last + 1)
    has_id = first >= 0
    sections = _split_raw(sections, ~has_id)
    raw = ~has_id | ((np.bincount(sections)[sections] == 1) & np.asarray(pc.is_null(files["write_cols"])))
    return _pack_sections(files, group, sections, raw, rules)


def _pack_sections(files: pa.Table, group: Ints, sections: Ints, raw: Mask, rules: SplitRules) -> pa.Table:
    """Bins of whole sections, raw ones and merged ones apart; raw files weigh their own size."""
    order = np.lexsort((sections, ~raw, group))
    files, group, sections, raw = _take(files, order), group[order], sections[order], raw[order]
    starts = np.flatnonzero(np.diff(sections, prepend=-1))
    sizes = np.add.reduceat(files["file_size"].to_numpy(), starts)
    weights = np.maximum(sizes, rules.open_file_cost_bytes)
    bins = _bins(weights, group[starts] * 2 + ~raw[starts], rules.target_size_bytes)
    counts = np.diff(np.append(starts, files.num_rows))
    return _numbered(files, np.repeat(bins, counts), np.repeat(np.arange(len(starts)), counts), raw)


def _compacted_buckets(files: pa.Table, group: Ints, has_no_deletes: Mask, reads_compacted_raw: bool) -> Mask:
    """Files of buckets that need no merge: all above level 0, without deletes, on one level or with vectors."""
    level = files["level"].to_numpy()
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    lowest, highest = np.minimum.reduceat(level, starts), np.maximum.reduceat(level, starts)
    clean = np.logical_and.reduceat(has_no_deletes, starts)
    fine = clean & (lowest > 0) & (reads_compacted_raw | (lowest == highest))
    return np.repeat(fine, np.diff(np.append(starts, files.num_rows)))


def _has_no_deletes(files: pa.Table) -> Mask:
    return np.asarray(pc.fill_null(pc.equal(files["delete_row_count"], 0), False))


def _split_raw(sections: Ints, raw: Mask) -> Ints:
    """Sections anew, each raw file one of its own."""
    opens = np.diff(sections, prepend=-1) != 0
    opens |= raw
    opens[1:] |= raw[:-1]
    return np.cumsum(opens) - 1


def _bins(weights: Ints, group: Ints, target: int) -> Ints:
    """The bin of each item: neighbours of one group as long as their weights stay within the target."""
    reached = np.concatenate(([0], np.cumsum(weights)))
    fits = np.searchsorted(reached, reached[:-1] + target, side="right") - 1
    group_end = np.append(np.flatnonzero(np.diff(group)) + 1, len(group))
    end = np.repeat(group_end, np.diff(group_end, prepend=0))
    following = np.minimum(np.maximum(fits, np.arange(1, len(group) + 1)), end)
    opens, following = np.zeros(len(group) + 1, bool), np.append(following, len(group))
    starts = np.fromiter(_strides(following), np.int64)
    for _ in range(1 << _STRIDE_POWER):
        opens[starts] = True
        starts = following[starts]
    return np.cumsum(opens[:-1], dtype=np.int64) - 1


def _strides(following: Ints) -> Iterator[int]:
    """The first item of the first bin and of each 2 ** _STRIDE_POWER bins after it."""
    stride = following
    for _ in range(_STRIDE_POWER):
        stride = stride[stride]
    start, end = 0, len(following) - 1
    while start < end:
        yield start
        start = stride.item(start)


def _weights(files: pa.Table, rules: SplitRules) -> Ints:
    return np.maximum(files["file_size"].to_numpy(), rules.open_file_cost_bytes)


def _order(group: Ints, then: Ints) -> Ints:
    return np.lexsort((then, group))


def _take(files: pa.Table, order: Ints) -> pa.Table:
    is_sorted = bool((np.diff(order) == 1).all())
    return files if is_sorted else files.take(pa.array(order))


def _numbered(files: pa.Table, splits: Ints, sections: Ints, raw: Mask) -> pa.Table:
    for name, column in (("split", pa.array(splits, pa.int64())), ("section", pa.array(sections, pa.int64()))):
        files = files.append_column(name, column)
    return files.append_column("raw", pa.array(raw, pa.bool_()))
