"""Who works on the simulated table."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from commit_cases import deleted, files_of, new_file, store_files
from polynya.arrow import shared_write
from polynya.errors import CommitUnknownError, NotFoundError, PolynyaError, StorageError
from polynya.paimon.snapshot import BATCH_COMMIT_IDENTIFIER, CommitKind
from polynya.table import commit as commits
from polynya.table import entries, group, history
from polynya.table.commit import Author, Commit, Target
from polynya.table.edit import Change, Edit, Overwrite
from polynya.table.paths import data_paths
from simulator.judge import Judge, Operation, Outcome

PARTITIONS = (1, 2)
REPEATS_MAX = 3


@dataclass
class Crew:
    """What the actors share."""

    target: Target
    judge: Judge
    random: random.Random
    next_file: int = 0

    def new_names(self, count: int) -> list[str]:
        first, self.next_file = self.next_file, self.next_file + count
        return [f"f{number}" for number in range(first, first + count)]


def writer(crew: Crew, name: str, commit_count: int) -> None:
    """Appends files; sometimes as a job that numbers its commits and repeats them when it was told nothing."""
    numbers = crew.random.random() < 0.5
    for number in range(1, commit_count + 1):
        key = (name, number) if numbers else (f"{name}-{number}", BATCH_COMMIT_IDENTIFIER)
        added = {file: crew.random.choice(PARTITIONS) for file in crew.new_names(crew.random.randint(1, 2))}
        files = files_of(*(new_file(file, p, rows=len(file)) for file, p in added.items()))
        _attempt(crew, Operation(key, CommitKind.APPEND, added), Change(Edit(files)))


def grouped_writer(crew: Crew, name: str, commit_count: int) -> None:
    """Appends files, or rows, as a thread of a process in which others do so too."""
    brings_rows = crew.random.random() < 0.6
    for number in range(1, commit_count + 1):
        key, p = (f"{name}-{number}", BATCH_COMMIT_IDENTIFIER), crew.random.choice(PARTITIONS)
        (mark,) = crew.new_names(1)
        operation = Operation(key, CommitKind.APPEND, {mark: p}, is_grouped=True)
        if brings_rows:
            rows = pa.table({"p": [p], "k": [number], "v": [mark]}, crew.target.schema.arrow)
            crew.judge.operations.append(operation)
            _settle(operation, partial(shared_write.write, crew.target, rows))
        else:
            change = Change(Edit(files_of(new_file(mark, p))))
            _attempt(crew, operation, change, partial(group.commit, crew.target, change, None))


def overwriter(crew: Crew, name: str) -> None:
    """Replaces a partition, or the whole table, by one file."""
    (file,), p = crew.new_names(1), crew.random.choice(PARTITIONS)
    whole = crew.random.random() < 0.4
    change = Change(
        Edit(files_of(new_file(file, p, rows=3))),
        overwrite=Overwrite() if whole else Overwrite(partitions=(new_file(file, p)["partition"],)),
    )
    replaces = None if whole else frozenset([p])
    operation = Operation((name, 1), CommitKind.OVERWRITE, {file: p}, replaces=replaces)
    _attempt(crew, operation, change)


def compactor(crew: Crew, name: str) -> None:
    """Replaces the files of a partition by one file with all their rows."""
    p = crew.random.choice(PARTITIONS)
    try:
        latest = history.find_latest(crew.target.root)
        live = entries.read_live(crew.target.root, latest, None)
    except (StorageError, NotFoundError):
        return
    chosen = [row for row in live.to_pylist() if row["partition"] == new_file("", p)["partition"]]
    if not chosen:
        return
    (file,) = crew.new_names(1)
    made = new_file(file, p, rows=sum(row["row_count"] for row in chosen), file_source=1)
    change = Change(compact=Edit(files_of(*map(deleted, chosen), made)))
    gone = frozenset(row["file_name"] for row in chosen)
    _attempt(crew, Operation((name, 1), CommitKind.COMPACT, {file: p}, gone), change)


def manifest_compactor(crew: Crew, name: str) -> None:
    """Rewrites the manifests."""
    operation = Operation((name, BATCH_COMMIT_IDENTIFIER), CommitKind.COMPACT)
    crew.judge.operations.append(operation)
    _settle(operation, lambda: commits.compact_manifests(crew.target, Author(*operation.key)))


def reader(crew: Crew, name: str, times: int) -> None:
    """Reads the latest snapshot, and tells the judge what it saw."""
    for _ in range(times):
        try:
            latest = history.find_latest(crew.target.root)
            live = entries.read_live(crew.target.root, latest, ["row_count"])
        except StorageError:
            continue
        if latest is not None:
            crew.judge.seen.append((latest.id, frozenset(live["file_name"].to_pylist())))


def _attempt(crew: Crew, operation: Operation, change: Change, act: Callable[[], Commit] | None = None) -> None:
    """Write the files, commit, and do as a careful caller does: delete after a failure, repeat when told nothing."""
    added = (change.append if change.append.files.num_rows else change.compact).added
    try:
        store_files(crew.target, added)
    except StorageError:
        return
    crew.judge.operations.append(operation)
    author = Author(*operation.key)
    act = act or partial(commits.commit, crew.target, change, author)
    _settle(operation, act)
    for _ in range(REPEATS_MAX):
        if operation.outcome is Outcome.UNKNOWN and author.is_repeatable:
            _settle(operation, act, is_repeat=True)
    if operation.outcome is Outcome.FAILED:
        crew.judge.storage.delete(data_paths(added, crew.target.schema).to_pylist())


def _settle(operation: Operation, act, *, is_repeat: bool = False) -> None:
    try:
        made: Commit = act()
    except CommitUnknownError:
        operation.outcome = Outcome.UNKNOWN
    except PolynyaError:
        # What failed cleanly is not there; but an earlier try of unknown outcome may be.
        operation.outcome = Outcome.UNKNOWN if is_repeat else Outcome.FAILED
    else:
        operation.outcome, operation.snapshot_id = Outcome.ACKNOWLEDGED, made.snapshot_id
