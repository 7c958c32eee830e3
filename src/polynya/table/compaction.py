"""What a compaction will do: tasks, each for some files of one bucket, as values.

A task is carried out by `arrow.compact`, anywhere, without a look at the table: it holds the manifest entries of its
files. Its edit deletes these entries and adds those of the new files, so it conflicts only with a change that takes one
of its own files away.

A primary-key task merges to one level. Files that overlap no other file keep their rows: a large one is only moved to
the level (upgraded), small ones are written together with their neighbours. Deletes are dropped when nothing older can
lie below the output. Append tasks put files together in order, without the rows that deletion vectors mark.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from polynya.model.arrow_types import to_arrow_type
from polynya.model.bucket_mode import BucketMode, bucket_mode
from polynya.model.options import level_count
from polynya.model.options_keys import COMPACTION_FORCE_REWRITE_ALL_FILES
from polynya.model.predicate import AlwaysTrue, Predicate
from polynya.model.schema import Schema
from polynya.paimon.snapshot import Snapshot
from polynya.table import entries, file_stats, scan
from polynya.table.conflict import key_ranks
from polynya.table.edit import DELETION_VECTORS
from polynya.table.history import TableRoot
from polynya.table.paths import bucket_folder
from polynya.table.pick_append import AppendRules, pick_bucket, pick_unaware, small_size_bytes
from polynya.table.pick_runs import PickRules, SortedRun, Unit, looks_up, pick, pick_full
from polynya.table.record_expiry import expired_rows
from polynya.table.splits import bucket_groups, sections_of

PICK_COLUMNS = ("file_size", "min_sequence_number", "max_sequence_number", "creation_time")

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class CompactionTask:
    """Files of one bucket that become other files; plain data, so that a worker can be told."""

    partition: bytes
    bucket: int
    total_buckets: int
    files: pa.Table  # manifest entries, with where their deletion vectors are
    index: pa.Table  # the index files that hold vectors of these files
    output_level: int = 0
    top_level: int = 0
    drops_deletes: bool = False
    deeper: pa.Table | None = None  # files below the output whose keys are there already: first-row

    @property
    def size_bytes(self) -> int:
        """Bytes of the files."""
        return int(pc.sum(self.files["file_size"]).as_py() or 0)

    @property
    def file_count(self) -> int:
        """How many files."""
        return int(self.files.num_rows)


@dataclass(frozen=True)
class CompactionReport:
    """What a compaction would do, largest task first."""

    schema: Schema
    tasks: tuple[CompactionTask, ...]

    @property
    def file_count(self) -> int:
        """Files that would be compacted."""
        return sum(task.file_count for task in self.tasks)

    @property
    def size_bytes(self) -> int:
        """Bytes of these files."""
        return sum(task.size_bytes for task in self.tasks)

    def __str__(self) -> str:
        lines = [f"{len(self.tasks)} compactions of {self.file_count} files, {self.size_bytes} bytes"]
        for task in self.tasks:
            where = bucket_folder(task.partition, task.bucket, self.schema)
            lines.append(f"{where}: {task.file_count} files, {task.size_bytes} bytes, to level {task.output_level}")
        return "\n".join(lines)


@dataclass(frozen=True)
class CompactionState:
    """The files that a compaction is decided on: live entries with their deletion vectors, and the index files."""

    schema: Schema
    files: pa.Table
    index: pa.Table
    schema_of: Callable[[int], Schema]


@dataclass(frozen=True)
class Within:
    """Where to compact: partitions that match a predicate on their columns, and of those only these buckets."""

    predicate: Predicate = field(default_factory=AlwaysTrue)
    buckets: frozenset[tuple[bytes, int]] | None = None


def read_state(
    root: TableRoot, snapshot: Snapshot | None, schema: Schema, schema_of: Callable[[int], Schema], within: Within
) -> CompactionState:
    """The files of the snapshot that may be compacted."""
    index = entries.read_index(root, snapshot)
    metas = entries.read_metas(root, snapshot) if snapshot is not None else None
    if metas is None:
        return CompactionState(schema, scan.with_vectors(entries.read_live(root, None), index), index, schema_of)
    metas = metas.filter(pa.array(file_stats.manifests_may_match(metas, within.predicate, schema)))
    live = select(entries.fold(entries.read_entries(root, metas)), within, schema)
    return CompactionState(schema, scan.with_vectors(live, index), index, schema_of)


def select(files: pa.Table, within: Within, schema: Schema) -> pa.Table:
    """The files of real buckets that lie within."""
    keep = files["bucket"].to_numpy() >= 0
    if within.buckets is not None:
        partitions = pa.array({partition for partition, _ in within.buckets}, pa.binary())
        keep &= np.asarray(pc.is_in(files["partition"], partitions))
    files = files.filter(pa.array(keep))
    files = files.filter(pa.array(scan.partitions_match(files["partition"], within.predicate, schema)))
    if within.buckets is None or files.num_rows == 0:
        return files
    groups = bucket_groups(files)
    firsts = np.unique(groups, return_index=True)[1]
    places = zip(*(files[name].take(firsts).to_pylist() for name in ("partition", "bucket")), strict=True)
    wanted = [groups[first] for first, place in zip(firsts, places, strict=True) if place in within.buckets]
    return files.filter(pa.array(np.isin(groups, wanted)))


def busy_buckets(files: pa.Table, rules: PickRules) -> frozenset[tuple[bytes, int]]:
    """The buckets of a primary-key table that have enough runs for a compaction to be thought of."""
    if files.num_rows == 0:
        return frozenset()
    group, level = bucket_groups(files), files["level"].to_numpy()
    deep = np.unique(np.stack([group, level])[:, level > 0], axis=1)[0]
    runs = np.bincount(group[level == 0], minlength=group.max() + 1) + np.bincount(deep, minlength=group.max() + 1)
    busy = files.filter(pa.array(runs[group] >= rules.run_count_min)).group_by(["partition", "bucket"]).aggregate([])
    return frozenset(zip(busy["partition"].to_pylist(), busy["bucket"].to_pylist(), strict=True))


def plan(state: CompactionState, *, full: bool, now_ms: int) -> list[CompactionTask]:
    """The compactions that are due, largest first; `now_ms` is the local wall clock."""
    tasks = _key_tasks(state, full, now_ms) if state.schema.primary_key else _append_tasks(state, full)
    return sorted(tasks, key=lambda task: -task.size_bytes)


def bucket_tasks(state: CompactionState) -> list[CompactionTask]:
    """One task for each bucket, with all its files."""
    return [_task(files, state) for files in _by_bucket(state.files)]


def _append_tasks(state: CompactionState, full: bool) -> Iterator[CompactionTask]:
    rules = AppendRules.of(state.schema)
    choose = pick_unaware if bucket_mode(state.schema) is BucketMode.UNAWARE else pick_bucket
    for files in _by_bucket(state.files):
        for group in choose(files, rules, full=full):
            yield _task(files.take(pa.array(group)), state)


def _key_tasks(state: CompactionState, full: bool, now_ms: int) -> Iterator[CompactionTask]:
    rules = PickRules.of(state.schema.options, now_ms)
    for files in _by_bucket(state.files):
        ordered, starts = _runs(files)
        levels = ordered["level"].to_numpy()
        deepest = int(levels.max())
        grown = replace(rules, level_count=max(rules.level_count, deepest + 1))
        top = grown.level_count - 1
        runs = _sorted_runs(ordered, starts)
        unit = pick_full(runs, top) if full else pick(runs, grown)
        chosen = ordered.slice(0, int(np.append(starts, len(levels))[unit.run_count])) if unit is not None else None
        if full and unit is None:
            chosen, unit = ordered.filter(pa.array(_must_rewrite(ordered, state, now_ms))), Unit(1, top)
        if chosen is None or unit is None or not chosen.num_rows:
            continue
        if chosen.num_rows == 1 and levels[0] == unit.output_level and not full:
            continue
        task = replace(
            _task(chosen, state),
            output_level=unit.output_level,
            top_level=top,
            drops_deletes=unit.output_level != 0 and unit.output_level >= deepest,
        )
        below = ordered.slice(chosen.num_rows)
        has_lookup = looks_up(state.schema.options) and below.num_rows > 0 and unit.output_level < top
        yield replace(task, deeper=below) if has_lookup else task


def upgraded(files: pa.Table, schema: Schema) -> pa.Table:
    """New entries of an overwrite on the top level, in the buckets where they neither overlap nor hold deletes."""
    if files.num_rows == 0:
        return files
    group = bucket_groups(files)
    low, high = key_ranks(files, [to_arrow_type(field.type) for field in schema.key_fields])
    order = np.lexsort((high, low, group))
    sections = sections_of(group[order], low[order], high[order])
    clean = np.asarray(pc.fill_null(pc.equal(files["delete_row_count"], 0), False))
    fits = np.ones(group.max() + 1, bool)
    fits[group[order][np.bincount(sections)[sections] > 1]] = False
    fits[group[~clean]] = False
    levels = np.where(fits[group], level_count(schema.options) - 1, files["level"].to_numpy())
    index = files.schema.get_field_index("level")
    return files.set_column(index, "level", pa.array(levels, pa.int32()))


@dataclass(frozen=True)
class Steps:
    """How a primary-key task is carried out."""

    upgraded: pa.Table  # files that only change their level
    rewrites: tuple[pa.Table, ...]  # files that are written anew together, in key order, with a column `section`


def steps_of(task: CompactionTask, rules: "StepRules") -> Steps:
    """The steps of a task, in key order.

    A large file that overlaps no other stands alone. What lies between two of these is written together, unless it is
    one file, which then stands alone too. A file that stands alone moves to the output level or stays there, if it may.
    """
    files, sections = _sections(task.files, rules.schema)
    overlaps = np.bincount(sections)[sections] > 1
    is_apart = ~overlaps & (files["file_size"].to_numpy() >= rules.small_size_bytes)
    opens = is_apart | np.append(True, is_apart[:-1])
    group = np.cumsum(opens) - 1
    stands_alone = ~overlaps & (np.bincount(group)[group] == 1)
    is_there = files["level"].to_numpy() == task.output_level
    may_keep = stands_alone & ~rules.must_rewrite(files)
    moves = may_keep & ~is_there & _may_upgrade(files, task)
    rewritten = ~moves & ~(may_keep & is_there)
    numbered = files.append_column("section", pa.array(sections, pa.int64()))
    rewrites = (numbered.filter(pa.array(rewritten & (group == one))) for one in np.unique(group[rewritten]))
    return Steps(files.filter(pa.array(moves)), tuple(rewrites))


@dataclass(frozen=True)
class StepRules:
    """What decides over the files of a task: which are small, and which must not stay as they are."""

    schema: Schema
    schema_of: Callable[[int], Schema]
    now_ms: int

    @property
    def small_size_bytes(self) -> int:
        """Files below this size are written together."""
        return small_size_bytes(self.schema)

    def must_rewrite(self, files: pa.Table) -> Mask:
        """Files that have deleted or expired rows, or all of them where the option says so."""
        if COMPACTION_FORCE_REWRITE_ALL_FILES.of(self.schema.options):
            return np.ones(files.num_rows, bool)
        rewrite = np.asarray(files["dv_file"].is_valid())
        expired = expired_rows(self.schema, self.now_ms)
        if expired is not None:
            rewrite |= file_stats.values_may_match(files, expired, self.schema, self.schema_of)
        return rewrite


def _must_rewrite(files: pa.Table, state: CompactionState, now_ms: int) -> Mask:
    return StepRules(state.schema, state.schema_of, now_ms).must_rewrite(files)


def _may_upgrade(files: pa.Table, task: CompactionTask) -> Mask:
    """Files whose rows are right on the output level as they are: no delete reaches the top, no key is there twice."""
    if task.deeper is not None:
        return np.zeros(files.num_rows, bool)
    if task.output_level != task.top_level:
        return np.ones(files.num_rows, bool)
    return np.asarray(pc.fill_null(pc.equal(files["delete_row_count"], 0), False))


def _sections(files: pa.Table, schema: Schema) -> tuple[pa.Table, Ints]:
    low, high = key_ranks(files, [to_arrow_type(field.type) for field in schema.key_fields])
    order = np.lexsort((high, low))
    group = np.zeros(files.num_rows, np.int64)
    return files.take(pa.array(order)), sections_of(group, low[order], high[order])


def _by_bucket(files: pa.Table) -> Iterator[pa.Table]:
    """The files of each bucket."""
    if files.num_rows == 0:
        return
    group = bucket_groups(files)
    order = np.argsort(group, kind="stable")
    ordered, group = files.take(pa.array(order)), group[order]
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(group)], strict=True):
        yield ordered.slice(start, end - start)


def _runs(files: pa.Table) -> tuple[pa.Table, Ints]:
    """The files of a bucket run by run, newest run first, and where each run starts."""
    level = files["level"].to_numpy()
    name = files["file_name"].combine_chunks()
    rank = np.asarray(pc.rank(name, sort_keys="ascending", tiebreaker="first")).astype(np.int64)
    low, high = (files[f"{end}_sequence_number"].to_numpy() for end in ("min", "max"))
    created = files["creation_time"].cast(pa.int64()).to_numpy()
    order = np.lexsort((rank, created, low, -high, level))
    level = level[order]
    opens = np.diff(level, prepend=-1) != 0
    return files.take(pa.array(order)), np.flatnonzero(opens | (level == 0))


def _sorted_runs(ordered: pa.Table, starts: Ints) -> list[SortedRun]:
    sizes = np.add.reduceat(ordered["file_size"].to_numpy(), starts)
    newest = np.maximum.reduceat(ordered["creation_time"].cast(pa.int64()).to_numpy(), starts)
    levels = ordered["level"].to_numpy()[starts]
    return [SortedRun(*run) for run in zip(levels.tolist(), sizes.tolist(), newest.tolist(), strict=True)]


def _task(files: pa.Table, state: CompactionState) -> CompactionTask:
    first = files.slice(0, 1)
    vectors = pc.equal(state.index["index_type"], DELETION_VECTORS)
    named = pc.is_in(state.index["file_name"], pc.drop_null(pc.unique(files["dv_file"])))
    return CompactionTask(
        partition=first["partition"][0].as_py(),
        bucket=first["bucket"][0].as_py(),
        total_buckets=first["total_buckets"][0].as_py(),
        files=files,
        index=state.index.filter(pc.and_(vectors, named)),
    )
