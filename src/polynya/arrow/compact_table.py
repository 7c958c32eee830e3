"""Compacting a table: tasks are planned, carried out largest first, and committed in batches.

Writers are never waited for and never blocked. A batch that does not fit any more, because somebody took one of its
files away, is committed task by task; the buckets of those that still do not fit are planned anew.
"""

import logging
import os
import threading
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import pyarrow as pa

from polynya.arrow.compact import BUDGET_BYTES, Compactor, discard, run
from polynya.arrow.file_sink import local_wall_clock_ms
from polynya.errors import CommitUnknownError, ConflictError, PolynyaError
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

_LOG = logging.getLogger(__name__)
_RUNNING: dict[tuple[str, str], threading.Lock] = defaultdict(threading.Lock)


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


def compact(target: Target, request: CompactRequest) -> Commit:
    """Compact what is due and answer for all commits together: the last snapshot, the sum of the counts.

    ConflictError when buckets change again and again while they are compacted; the others are compacted then.
    """
    total = Commit()
    for _ in range(ROUNDS_MAX):
        state, tasks = plan_table(target, request)
        made, failed = carry_out(target, compactor_of(target, state), tasks)
        total = sum_of(total, made)
        if not failed:
            return total
        buckets = frozenset((task.partition, task.bucket) for task in failed)
        request = replace(request, within=replace(request.within, buckets=buckets))
    raise ConflictError(
        f"compaction of {target.root.storage.location}: {len(failed)} buckets were changed by others "
        f"{ROUNDS_MAX} times while they were compacted; try again when fewer writers run"
    )


def compact_after_write(target: Target, written: pa.Table, before: BucketState) -> None:
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
            compact(target, CompactRequest(within=Within(buckets=busy)))
    except PolynyaError as error:
        _LOG.warning("compaction of %s after a write: %s", target.root.storage.location, error)
    finally:
        lock.release()


def carry_out(
    target: Target, compactor: Compactor, tasks: Sequence[CompactionTask]
) -> tuple[Commit, list[CompactionTask]]:
    """Run the tasks and commit them in batches; the tasks that do not fit any more come back."""
    workers = max(1, min(os.cpu_count() or 1, len(tasks)))
    share = replace(compactor, budget_bytes=compactor.budget_bytes // workers)
    total, failed = Commit(), list[CompactionTask]()
    batch: list[tuple[CompactionTask, Edit]] = []
    with ThreadPoolExecutor(workers, thread_name_prefix="polynya-compact") as pool:
        for task, edit in zip(tasks, pool.map(lambda one: run(share, one), tasks), strict=True):
            batch.append((task, edit))
            if sum(one.size_bytes for one, _ in batch) >= BATCH_BYTES or task is tasks[-1]:
                made, unfit = commit_edits(target, batch)
                total, batch = sum_of(total, made), []
                failed += unfit
    return total, failed


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
