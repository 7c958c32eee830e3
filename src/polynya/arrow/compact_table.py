"""Compacting a table: tasks are planned, carried out largest first, and committed in batches.

Writers are never waited for and never blocked. A batch that does not fit any more, because somebody took one of its
files away, is committed task by task; the buckets of those that still do not fit are planned anew.

Tasks are carried out by threads of this process, or by another runner that the caller brings.
"""

import logging
import os
import threading
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from polynya.arrow.compact import BUDGET_BYTES, Compactor, discard, run
from polynya.arrow.curve import Clustering
from polynya.arrow.file_sink import local_wall_clock_ms
from polynya.errors import CommitUnknownError, ConflictError, NotFoundError, PolynyaError
from polynya.model.options_keys import WRITE_ONLY
from polynya.table import commit as commits
from polynya.table import entries, history
from polynya.table.bucket_state import BucketState
from polynya.table.commit import Commit, Target
from polynya.table.compaction import (
    PICK_COLUMNS,
    CompactionState,
    CompactionTask,
    Within,
    busy_buckets,
    plan,
    read_state,
    select,
)
from polynya.table.edit import Change, Edit
from polynya.table.pick_runs import PickRules

BATCH_BYTES = 4 * 2**30  # input of the tasks that are committed together
ROUNDS_MAX = 5  # how often buckets are planned anew after a conflict

Outcome = Edit | NotFoundError  # what a task changes, or that one of its files is not there any more
Outcomes = Generator[tuple[CompactionTask, Outcome], None, None]

_LOG = logging.getLogger(__name__)
_RUNNING: dict[tuple[str, str], threading.Lock] = defaultdict(threading.Lock)


class Runner(Protocol):
    """Whoever carries out tasks: compactions, or with a clustering partitions that are written in order."""

    def __call__(
        self, compactor: Compactor, tasks: Sequence[CompactionTask], clustering: Clustering | None = None
    ) -> Outcomes:
        """What becomes of each task, as it becomes known; other errors come when nothing more can be done."""


@dataclass(frozen=True)
class CompactRequest:
    """What is to be compacted; `full` leaves one sorted run, or as few files as possible."""

    full: bool = False
    within: Within = field(default_factory=Within)


def state_of(target: Target, within: Within) -> CompactionState:
    """The files of the latest snapshot that may be compacted."""
    schema_of = history.schemas_by_id(target.root, target.schema)
    return read_state(target.root, history.find_latest(target.root), target.schema, schema_of, within)


def plan_table(target: Target, request: CompactRequest) -> tuple[CompactionState, list[CompactionTask]]:
    """The files of the latest snapshot, and the compactions of them that are due."""
    state = state_of(target, request.within)
    return state, plan(state, full=request.full, now_ms=local_wall_clock_ms())


def compactor_of(target: Target, state: CompactionState, budget_bytes: int = BUDGET_BYTES) -> Compactor:
    """What carries out the tasks that were planned on this state."""
    schemas = {id: state.schema_of(id) for id in state.files["schema_id"].unique().to_pylist()}
    return Compactor(target.root.storage, target.schema, schemas, local_wall_clock_ms(), budget_bytes)


def compact(target: Target, request: CompactRequest, runner: Runner | None = None) -> Commit:
    """Compact what is due and answer for all commits together: the last snapshot, the sum of the counts.

    ConflictError when buckets change again and again while they are compacted; the others are compacted then.
    """
    total = Commit()
    for _ in range(ROUNDS_MAX):
        state, tasks = plan_table(target, request)
        made, failed = carry_out(target, (runner or run_in_threads)(compactor_of(target, state), tasks))
        total = sum_of(total, made)
        if not failed:
            return total
        buckets = frozenset((task.partition, task.bucket) for task in failed)
        request = replace(request, within=replace(request.within, buckets=buckets))
    raise ConflictError(
        f"compaction of {target.root.storage.location}: {len(failed)} buckets were changed by others "
        f"{ROUNDS_MAX} times while they were compacted; try again when fewer writers run"
    )


def compact_after_write(target: Target, written: pa.Table, before: BucketState, runner: Runner | None = None) -> None:
    """Compact the buckets of a primary-key table that were just written to, if it is time.

    The write is published already: whatever goes wrong here is logged, and left to the next compaction. Of several
    threads that write to one table, one compacts. Buckets that had few runs before the write cost nothing.
    """
    if not target.schema.primary_key or WRITE_ONLY.of(target.schema.options) or written.num_rows == 0:
        return
    rules = PickRules.of(target.schema.options, local_wall_clock_ms())
    touched = _crowded(written, before, rules)
    lock = _RUNNING[target.root.storage.location, target.root.branch]
    if not touched or not lock.acquire(blocking=False):
        return
    try:
        live = entries.read_live(target.root, history.find_latest(target.root), PICK_COLUMNS)
        busy = busy_buckets(select(live, Within(buckets=touched), target.schema), rules)
        if busy:
            compact(target, CompactRequest(within=Within(buckets=busy)), runner)
    except PolynyaError as error:
        _LOG.warning("compaction of %s after a write: %s", target.root.storage.location, error)
    finally:
        lock.release()


def run_in_threads(
    compactor: Compactor, tasks: Sequence[CompactionTask], clustering: Clustering | None = None
) -> Outcomes:
    """Carry out compactions on the cores of this machine."""
    assert clustering is None
    workers = max(1, min(os.cpu_count() or 1, len(tasks)))
    share = replace(compactor, budget_bytes=compactor.budget_bytes // workers)
    with ThreadPoolExecutor(workers, thread_name_prefix="polynya-compact") as pool:
        yield from zip(tasks, pool.map(partial(outcome_of, run, share), tasks), strict=True)


def outcome_of(run: Callable[[Compactor, CompactionTask], Edit], compactor: Compactor, task: CompactionTask) -> Outcome:
    """What becomes of one task."""
    try:
        return run(compactor, task)
    except NotFoundError as error:
        return error


def carry_out(target: Target, outcomes: Outcomes) -> tuple[Commit, list[CompactionTask]]:
    """Commit what becomes of tasks in batches; the tasks that do not fit any more come back."""
    total, failed = Commit(), list[CompactionTask]()
    with closing(outcomes):  # what still runs ends when a commit fails
        for batch in _batches(target, outcomes, failed):
            made, unfit = commit_edits(target, batch)
            total = sum_of(total, made)
            failed += unfit
    return total, failed


def _batches(
    target: Target, outcomes: Outcomes, failed: list[CompactionTask]
) -> Iterator[list[tuple[CompactionTask, Edit]]]:
    """What is committed together; tasks whose files are gone are added to those that failed."""
    batch: list[tuple[CompactionTask, Edit]] = []
    try:
        for task, outcome in outcomes:
            if isinstance(outcome, NotFoundError):
                require_changed(target, task, outcome)
                failed.append(task)
                continue
            batch.append((task, outcome))
            if sum(one.size_bytes for one, _ in batch) >= BATCH_BYTES:
                yield batch
                batch = []
    except PolynyaError:
        if batch:
            yield batch  # what is done stays done
        raise
    if batch:
        yield batch


def require_changed(target: Target, task: CompactionTask, error: NotFoundError) -> None:
    """Raise the error of a file that is missing, unless somebody else has taken files of the task out of the table."""
    live = entries.read_live(target.root, history.find_latest(target.root), PICK_COLUMNS)
    if pc.all(pc.is_in(task.files["file_name"], live["file_name"].combine_chunks())).as_py():
        raise error


def commit_edits(target: Target, batch: Sequence[tuple[CompactionTask, Edit]]) -> tuple[Commit, list[CompactionTask]]:
    """Publish the edits of tasks as one COMPACT snapshot; those that do not fit are discarded and their tasks told."""
    edits = [edit for _, edit in batch]
    together = Edit(
        pa.concat_tables([edit.files for edit in edits]), index=pa.concat_tables([edit.index for edit in edits])
    )
    if together.is_empty:
        return Commit(), []
    try:
        return commits.commit(target, Change(compact=together), commits.new_author(target)), []
    except CommitUnknownError:
        raise  # the files may be in the table
    except ConflictError:
        if len(batch) > 1:
            answers = [commit_edits(target, [one]) for one in batch]
            return sum_of(*(made for made, _ in answers)), [task for _, failed in answers for task in failed]
        discard(target.root.storage, target.schema, together)
        return Commit(), [task for task, _ in batch]
    except PolynyaError:
        discard(target.root.storage, target.schema, together)
        raise


def _crowded(written: pa.Table, before: BucketState, rules: PickRules) -> frozenset[tuple[bytes, int]]:
    """The buckets written to that may have enough runs now."""
    places = written.group_by(["partition", "bucket"]).aggregate([("file_name", "count")])
    keys = zip(places["partition"].to_pylist(), places["bucket"].to_pylist(), strict=True)
    new = zip(keys, places["file_name_count"].to_pylist(), strict=True)
    return frozenset(key for key, count in new if before.run_counts.get(key, 0) + count >= rules.run_count_min)


def sum_of(*commits_made: Commit) -> Commit:
    """One answer for several commits: the last snapshot, the sum of the counts."""
    made = [one for one in commits_made if one.snapshot_id is not None]
    if not made:
        return Commit()
    added, deleted, records = (
        sum(getattr(one, name) for one in made) for name in ("added_files", "deleted_files", "record_count")
    )
    return Commit(made[-1].snapshot_id, made[-1].commit_kind, added, deleted, records)
