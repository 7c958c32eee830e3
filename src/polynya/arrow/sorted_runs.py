"""Merging sorted runs of a bucket with bounded memory.

Of each run only a head is loaded. Every key up to the smallest last key of the heads is complete, since a run is
sorted: those rows are merged and given out, the rest waits for more. So the memory is that of the heads and of one
merge, whatever the runs hold.
"""

from collections import deque
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polynya.arrow.budget import head_bytes
from polynya.arrow.merge import Engine, MergeSpec, drop_deletes, merge
from polynya.arrow.merge.order import comparable, is_retract
from polynya.errors import InvalidInputError
from polynya.model.schema import LEVEL, SEQUENCE_NUMBER, VALUE_KIND

Key = tuple[tuple[bool, object], ...]  # per column: is it there, and a value that compares as Paimon's does

_KINDS = pa.array(["+I", "-U", "+U", "-D"])


def merge_runs(
    runs: Sequence[Iterator[pa.RecordBatch]],
    spec: MergeSpec,
    *,
    budget_bytes: int,
    keep_deletes: bool = False,
    levels: Sequence[int] | None = None,
) -> Iterator[pa.RecordBatch]:
    """One row per key, in key order, from runs that are sorted by key and hold each key once.

    `levels` gives the level of each run on tables that look up, where a record stands for all those on deeper levels.
    The budget holds for runs that come in batches as `arrow.budget` says.
    """
    if levels is None or spec.engine is Engine.FIRST_ROW or len({level for level in levels if level > 0}) < 2:
        levels = None  # then no record hides another
    heads = [_Head(run, spec.key, None if levels is None else levels[number]) for number, run in enumerate(runs)]
    share = head_bytes(budget_bytes, len(runs))
    while heads := [head for head in heads if head.fill(share)]:
        if len(heads) == 1:
            yield from _given_out(heads[0].take_rest(), keep_deletes)
            return
        bounds = [head.last_key() for head in heads if not head.is_complete]
        bound = min(bounds, default=None)
        parts = [part for head in heads if (part := head.take_through(bound))]
        yield from _given_out(_merged(parts, spec), keep_deletes)


def merge_buffer(rows: pa.Table, spec: MergeSpec, first_sequence: int) -> tuple[pa.Table, int]:
    """What a flush writes of rows in order of arrival: numbered, sorted, one per key; and how many are retracts.

    The rows are value columns, with `_VALUE_KIND` where they are not all +I. `rowkind.field` overrides it. Rows that
    `ignore-delete` or `ignore-update-before` drop take no number.
    """
    kind = _kinds(rows, spec)
    kept = (kind == 0) | (kind == 2) | (not spec.ignore_delete)
    kept &= (kind != 1) | (not spec.ignore_update_before)
    values = rows.drop_columns([VALUE_KIND.name]) if VALUE_KIND.name in rows.column_names else rows
    values = values if kept.all() else values.filter(pa.array(kept))
    sequence = np.arange(first_sequence, first_sequence + values.num_rows, dtype=np.int64)
    numbered = values.add_column(0, pa.field(SEQUENCE_NUMBER.name, pa.int64(), False), pa.array(sequence))
    numbered = numbered.add_column(1, pa.field(VALUE_KIND.name, pa.int8(), False), pa.array(kind[kept]))
    merged = merge(numbered, spec)
    return merged, int(is_retract(merged).sum())


def key_at(rows: pa.RecordBatch, position: int, names: Sequence[str]) -> Key:
    """The key of one row as a tuple that compares in Python as keys do in Paimon."""
    values = (comparable(rows.column(name).slice(position, 1))[0].as_py() for name in names)
    return tuple((value is not None, value) for value in values)


def count_through(batch: pa.RecordBatch, bound: Key, names: Sequence[str]) -> int:
    """How many rows of a sorted batch, from its first on, have keys up to the bound, which is part of them."""
    low, high = 0, int(batch.num_rows)
    if high and key_at(batch, high - 1, names) <= bound:
        return high
    while low < high:
        middle = (low + high) // 2
        if key_at(batch, middle, names) <= bound:
            low = middle + 1
        else:
            high = middle
    return low


class _Head:
    """The loaded part of a run; rows leave it in key order."""

    def __init__(self, run: Iterator[pa.RecordBatch], key: Sequence[str], level: int | None) -> None:
        self._run = run
        self._key = key
        self._level = level
        self._batches: deque[pa.RecordBatch] = deque()
        self.is_complete = False  # nothing is left to load

    def fill(self, size_bytes: int) -> bool:
        """Load until the head has this size or the run ends; False when no row is left."""
        loaded = sum(batch.nbytes for batch in self._batches)
        while not self.is_complete and (not self._batches or loaded < size_bytes):
            batch = next(self._run, None)
            if batch is None:
                self.is_complete = True
            elif batch.num_rows:
                self._batches.append(batch)
                loaded += batch.nbytes
        return bool(self._batches)

    def last_key(self) -> Key:
        """The key of the last loaded row."""
        return key_at(self._batches[-1], self._batches[-1].num_rows - 1, self._key)

    def take_through(self, bound: Key | None) -> list[pa.RecordBatch]:
        """Remove and give the rows up to the bound, which is part of them; None takes all."""
        taken: list[pa.RecordBatch] = []
        while self._batches:
            batch = self._batches.popleft()
            count = batch.num_rows if bound is None else count_through(batch, bound, self._key)
            if count:
                taken.append(self._with_level(batch.slice(0, count)))
            if count < batch.num_rows:
                self._batches.appendleft(batch.slice(count))
                break
        return taken

    def take_rest(self) -> Iterator[pa.RecordBatch]:
        """Give all rows that are left, loaded or not."""
        yield from self._batches
        yield from self._run

    def _with_level(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self._level is None:
            return batch
        level = pa.array(np.full(batch.num_rows, self._level, np.int32))
        return batch.append_column(pa.field(LEVEL.name, pa.int32(), False), level)


def _merged(parts: list[list[pa.RecordBatch]], spec: MergeSpec) -> Iterator[pa.RecordBatch]:
    if len(parts) == 1:
        return iter(parts[0])
    return iter(merge(pa.Table.from_batches([batch for part in parts for batch in part]), spec).to_batches())


def _given_out(batches: Iterator[pa.RecordBatch], keep_deletes: bool) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = pa.Table.from_batches([batch])
        if LEVEL.name in rows.column_names:
            rows = rows.drop_columns([LEVEL.name])
        for out in (rows if keep_deletes else drop_deletes(rows)).to_batches():
            if out.num_rows:
                yield out


def _kinds(rows: pa.Table, spec: MergeSpec) -> np.ndarray:
    if spec.rowkind_field is None:
        if VALUE_KIND.name in rows.column_names:
            return np.asarray(rows.column(VALUE_KIND.name)).astype(np.int8, copy=False)
        return np.zeros(rows.num_rows, np.int8)
    named = rows.column(spec.rowkind_field)
    kinds = pc.index_in(named, value_set=_KINDS)
    if kinds.null_count:
        wrong = named.filter(kinds.is_null())[0].as_py()
        raise InvalidInputError(f"rowkind.field '{spec.rowkind_field}': expected +I, -U, +U or -D, found {wrong!r}")
    return np.asarray(kinds).astype(np.int8)
