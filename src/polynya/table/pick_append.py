"""Which files of an append table are put together.

| table | picked |
|---|---|
| without buckets | per partition: small files, and files with many deleted rows, in bins of twice the target size |
| with buckets | per bucket: runs of neighbours in the order of their rows, which is kept |

A deletion vector is applied when its file is rewritten. On tables without buckets many vectors stand in one index file;
files that share one are rewritten together, so that two compactions never replace the same index file.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from polynya.model.options import target_file_size
from polynya.model.options_keys import (
    COMPACTION_DELETE_RATIO_THRESHOLD,
    COMPACTION_FILE_NUM_LIMIT,
    COMPACTION_MIN_FILE_NUM,
    COMPACTION_SMALL_FILE_RATIO,
)
from polynya.model.options_scan import SOURCE_SPLIT_OPEN_FILE_COST
from polynya.model.schema import Schema

FULL_FILE_COUNT_MIN = 3  # of a bucket

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class AppendRules:
    """The options of a table that decide."""

    target_size_bytes: int
    small_size_bytes: int
    open_file_cost_bytes: int
    file_count_min: int
    file_count_max: int
    delete_ratio: float

    @classmethod
    def of(cls, schema: Schema) -> "AppendRules":
        """Read them from a table's options."""
        options: Mapping[str, str] = schema.options
        return cls(
            target_size_bytes=target_file_size(schema),
            small_size_bytes=small_size_bytes(schema),
            open_file_cost_bytes=SOURCE_SPLIT_OPEN_FILE_COST.of(options),
            file_count_min=COMPACTION_MIN_FILE_NUM.of(options),
            file_count_max=COMPACTION_FILE_NUM_LIMIT.of(options),
            delete_ratio=COMPACTION_DELETE_RATIO_THRESHOLD.of(options),
        )


def small_size_bytes(schema: Schema) -> int:
    """A file below this size is small."""
    return int(target_file_size(schema) * COMPACTION_SMALL_FILE_RATIO.of(schema.options))


def pick_unaware(files: pa.Table, rules: AppendRules, *, full: bool) -> list[Ints]:
    """The groups of files (positions in `files`, all of one partition) that are to be put together.

    A full compaction takes any two small files, and every file with deleted rows.
    """
    small = files["file_size"].to_numpy() < rules.small_size_bytes
    chosen = np.flatnonzero(small | _is_worn(files, rules, full=full))[: rules.file_count_max]
    has_vector = np.asarray(files["dv_file"].is_valid())
    marked = _by_index_file(chosen[has_vector[chosen]], files)
    rest = [np.array([file]) for file in chosen[~has_vector[chosen]]]
    pools = [[*marked, *rest]] if full else [marked, rest]
    count_min = 2 if full else rules.file_count_min
    picked = []
    for pool in pools:
        bins, left = _pack(pool, files, rules)
        # The last bin may be too small to pay, but what has deleted rows is always rewritten.
        picked += [*bins, left] if len(left) >= count_min or has_vector[left].any() else bins
    return picked


def pick_bucket(files: pa.Table, rules: AppendRules, *, full: bool) -> list[Ints]:
    """The groups of neighbouring files (positions in `files`, all of one bucket) that are to be put together."""
    order = np.argsort(files["min_sequence_number"].to_numpy(), kind="stable")
    sizes = files["file_size"].to_numpy()[order]
    has_vector = np.asarray(files["dv_file"].is_valid())[order]
    if full:
        return [order[start:] for start in _full_start(sizes, has_vector, rules)]
    windows = _windows(sizes, rules)
    # The vectors of a bucket stand in one file, which only one compaction can replace.
    marked = [window for window in windows if has_vector[slice(*window)].any()]
    return [order[slice(*window)] for window in windows if window not in marked[1:]]


def _is_worn(files: pa.Table, rules: AppendRules, *, full: bool) -> npt.NDArray[np.bool_]:
    """Which files have so many deleted rows, or an unknown number of them, that they are rewritten."""
    has_vector = np.asarray(files["dv_file"].is_valid())
    deleted = pc.fill_null(files["dv_cardinality"], np.iinfo(np.int64).max).to_numpy()
    limit = 0.0 if full else rules.delete_ratio
    return has_vector & (deleted > files["row_count"].to_numpy() * limit)


def _by_index_file(chosen: Ints, files: pa.Table) -> list[Ints]:
    codes = files["dv_file"].combine_chunks().dictionary_encode().indices.to_numpy(zero_copy_only=False)[chosen]
    return [chosen[codes == code] for code in np.unique(codes)]


def _pack(groups: list[Ints], files: pa.Table, rules: AppendRules) -> tuple[list[Ints], Ints]:
    """Bins of groups, smallest first, each of more than one file and twice the target; and what is left."""
    sizes = files["file_size"].to_numpy()
    costs = [int(sizes[group].sum()) for group in groups]
    bins: list[Ints] = []
    current: list[Ints] = [np.array([], np.int64)]
    size = count = 0
    for index in np.argsort(costs, kind="stable"):
        current.append(groups[index])
        count += len(groups[index])
        size += costs[index] + rules.open_file_cost_bytes * len(groups[index])
        if count > 1 and size >= 2 * rules.target_size_bytes:
            bins.append(np.concatenate(current))
            current, size, count = current[:1], 0, 0
    return bins, np.concatenate(current)


def _full_start(sizes: Ints, has_vector: npt.NDArray[np.bool_], rules: AppendRules) -> list[int]:
    """Where the files begin that a full compaction takes, if it takes any: big ones before it are left alone."""
    is_small = sizes < rules.small_size_bytes
    wanted = np.flatnonzero(is_small | has_vector)
    if not len(wanted):
        return []
    start = int(wanted[0])
    small, all_files = int(is_small[start:].sum()), len(sizes) - start
    pays = all_files >= FULL_FILE_COUNT_MIN and small > all_files - small
    return [start] if pays or has_vector.any() else []


def _windows(sizes: Ints, rules: AppendRules) -> list[tuple[int, int]]:
    """Neighbours, as many as the least number of files, that are together below twice the target size."""
    found, start, total = [], 0, 0
    for end, size in enumerate(sizes.tolist(), 1):
        total += size
        if end - start >= rules.file_count_min:
            found.append((start, end))
            start, total = end, 0
        elif total >= 2 * rules.target_size_bytes:
            total -= int(sizes[start])
            start += 1
    return found
