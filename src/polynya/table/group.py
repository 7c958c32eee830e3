"""Group commit: appends of many threads of one process become few snapshots.

Every thread puts its change into the table's queue and then waits for its turn. Whoever has the turn commits for all
who wait by then; those find their answer when their own turn comes. Only plain appends of authors without an identifier
are grouped: such a change fits any table and belongs to no one in particular. Each caller gets a Commit of its own,
with its own counts, of the snapshot that it shares.
"""

import threading
from collections import defaultdict
from concurrent.futures import Future
from dataclasses import dataclass, field

import pyarrow as pa

from polynya.errors import CommitUnknownError, ConflictError, PolynyaError
from polynya.paimon.snapshot import CommitKind
from polynya.table import commit as commits
from polynya.table.commit import Author, Commit, Target
from polynya.table.edit import Change, Edit


@dataclass(frozen=True, eq=False)
class _Member:
    """One change that waits to be committed."""

    target: Target
    change: Change
    answer: "Future[Commit]" = field(default_factory=Future)


@dataclass
class _Queue:
    """Who waits for one table, in order of arrival, and the turn to commit for all of them."""

    waiting: list[_Member] = field(default_factory=list)
    turn: threading.Lock = field(default_factory=threading.Lock)


_QUEUES: dict[tuple[str, str], _Queue] = defaultdict(_Queue)
_LOCK = threading.Lock()


def commit(target: Target, change: Change, author: Author | None) -> Commit:
    """Commit the change; without an author, together with what other threads bring for the same table."""
    if author is not None or not _can_share(change):
        return commits.commit(target, change, author or commits.new_author(target))
    member = _Member(target, change)
    with _LOCK:
        queue = _QUEUES[target.root.storage.location, target.root.branch]
        queue.waiting.append(member)
    try:
        with queue.turn:
            if not member.answer.done():
                _commit_all(_take(queue))
        return member.answer.result()
    finally:
        with _LOCK:
            if member in queue.waiting:  # interrupted while waiting: nobody shall commit it later
                queue.waiting.remove(member)


def _can_share(change: Change) -> bool:
    parts = commits.parts_of(change)
    return len(parts) == 1 and parts[0].kind == CommitKind.APPEND and not change.append.index.num_rows


def _take(queue: _Queue) -> list[_Member]:
    with _LOCK:
        members, queue.waiting = queue.waiting, []
    return members


def _commit_all(members: list[_Member]) -> None:
    """Commit for everybody who waits; nobody is left without an answer."""
    try:
        for group in _by_schema(members):
            _commit_together(group)
    finally:
        for member in members:
            if not member.answer.done():
                location = member.target.root.storage.location
                message = f"commit to {location}: the thread that committed for several was interrupted"
                member.answer.set_exception(CommitUnknownError(message))


def _by_schema(members: list[_Member]) -> list[list[_Member]]:
    groups: dict[int, list[_Member]] = defaultdict(list)
    for member in members:
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
    except ConflictError as error:
        if len(members) == 1:
            members[0].answer.set_exception(error)
        else:  # one of them does not fit; that is no reason to refuse the others
            for member in members:
                _commit_together([member])
    except PolynyaError as error:
        for member in members:
            member.answer.set_exception(error)
    else:
        for member, edit in zip(members, edits, strict=True):
            own = Commit(made.snapshot_id, made.commit_kind, edit.added.num_rows, 0, edit.record_count)
            member.answer.set_result(own)
