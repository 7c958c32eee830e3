"""Group commit: appends of many threads of one process become few snapshots.

Whoever finds nobody committing to the table commits for all who wait by then; the others wait for their answer. Only
plain appends of authors without an identifier are grouped: such a change fits any table and belongs to no one in
particular. Each caller gets a Commit of its own, with its own counts, of the snapshot that it shares.
"""

import threading
from collections import defaultdict
from concurrent.futures import Future
from dataclasses import dataclass

import pyarrow as pa

from polynya.errors import CommitUnknownError, PolynyaError
from polynya.paimon.snapshot import CommitKind
from polynya.table import commit as commits
from polynya.table.commit import Author, Commit, Target
from polynya.table.edit import Change, Edit


@dataclass(frozen=True)
class _Member:
    """One change that waits to be committed."""

    target: Target
    change: Change
    answer: "Future[Commit]"


@dataclass
class _Queue:
    """Who waits for one table, and whether somebody commits."""

    waiting: list[_Member]
    is_busy: bool = False


_QUEUES: dict[tuple[str, str], _Queue] = defaultdict(lambda: _Queue([]))
_LOCK = threading.Lock()


def commit(target: Target, change: Change, author: Author | None) -> Commit:
    """Commit the change; without an author, together with what other threads bring for the same table."""
    if author is not None or not _can_share(change):
        return commits.commit(target, change, author or commits.new_author(target))
    answer: Future[Commit] = Future()
    key = (target.root.storage.location, target.root.branch)
    with _LOCK:
        queue = _QUEUES[key]
        queue.waiting.append(_Member(target, change, answer))
        leads, queue.is_busy = not queue.is_busy, True
    if leads:
        _lead(key, queue)
    return answer.result()


def _can_share(change: Change) -> bool:
    parts = commits.parts_of(change)
    return len(parts) == 1 and parts[0].kind == CommitKind.APPEND and not change.append.index.num_rows


def _lead(key: tuple[str, str], queue: _Queue) -> None:
    """Commit for everybody who waits, round after round, until nobody does; nobody is left without an answer."""
    batch: list[_Member] = []
    try:
        while batch := _next_round(key, queue):
            for members in _by_schema(batch):
                _commit_together(members)
    finally:
        if batch:
            _give_up(key, batch)


def _next_round(key: tuple[str, str], queue: _Queue) -> list[_Member]:
    with _LOCK:
        batch, queue.waiting = queue.waiting, []
        if not batch:
            _QUEUES.pop(key, None)
    return batch


def _give_up(key: tuple[str, str], batch: list[_Member]) -> None:
    """The committing thread was interrupted: tell those who wait."""
    with _LOCK:
        batch = [*batch, *_QUEUES.pop(key).waiting]
    for member in batch:
        if not member.answer.done():
            member.answer.set_exception(
                CommitUnknownError(f"commit to {key[0]}: the thread that committed for several was interrupted")
            )


def _by_schema(batch: list[_Member]) -> list[list[_Member]]:
    groups: dict[int, list[_Member]] = defaultdict(list)
    for member in batch:
        groups[member.target.schema.id].append(member)
    return list(groups.values())


def _commit_together(members: list[_Member]) -> None:
    target, edits = members[0].target, [member.change.append for member in members]
    files, changelog = (
        pa.concat_tables(tables) for tables in zip(*((e.files, e.changelog) for e in edits), strict=True)
    )
    known = [member.change.based_on for member in members if member.change.based_on is not None]
    based_on = min(known) if len(known) == len(members) else None
    try:
        made = commits.commit(target, Change(Edit(files, changelog), based_on=based_on), commits.new_author(target))
    except PolynyaError as error:
        for member in members:
            member.answer.set_exception(error)
        return
    for member, edit in zip(members, edits, strict=True):
        own = Commit(made.snapshot_id, made.commit_kind, edit.added.num_rows, 0, edit.record_count)
        member.answer.set_result(own)
