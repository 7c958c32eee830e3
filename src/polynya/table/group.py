"""Group commit: appends of many threads of one process become few snapshots.

Threads take turns: whoever has the turn commits the changes of all who wait by then. Only plain appends of authors
without an identifier are grouped: such a change fits any table and belongs to no one in particular. Each caller gets a
Commit of its own, with its own counts, of the snapshot that it shares.
"""

from collections import defaultdict
from dataclasses import dataclass

import pyarrow as pa

from polynya.errors import ConflictError, PolynyaError
from polynya.paimon.snapshot import CommitKind
from polynya.table import commit as commits
from polynya.table.commit import Author, Commit, Target
from polynya.table.edit import Change, Edit
from polynya.table.turns import Member, TableTurns


@dataclass(frozen=True)
class _Wanted:
    """One change that waits to be committed."""

    target: Target
    change: Change


_Waiting = Member[_Wanted, Commit]


def commit(target: Target, change: Change, author: Author | None) -> Commit:
    """Commit the change; without an author, together with what other threads bring for the same table."""
    if author is not None or not _can_share(change):
        return commits.commit(target, change, author or commits.new_author(target))
    return TURNS.of(target.root).join(_Wanted(target, change), target.surroundings.wait)


def _can_share(change: Change) -> bool:
    parts = commits.parts_of(change)
    return len(parts) == 1 and parts[0].kind == CommitKind.APPEND and not change.append.index.num_rows


def _commit_all(members: list[_Waiting]) -> None:
    """Commit for everybody who waits; those who write with one schema share a snapshot."""
    groups: dict[tuple[int, int], list[_Waiting]] = defaultdict(list)
    for member in members:
        schema = member.work.target.schema
        groups[schema.id, schema.time_ms].append(member)
    for group in groups.values():
        _commit_together(group)


TURNS = TableTurns(_commit_all)


def _commit_together(members: list[_Waiting]) -> None:
    target, changes = members[0].work.target, [member.work.change for member in members]
    try:
        made = commits.commit(target, _together(changes), commits.new_author(target))
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
        for member in members:
            edit = member.work.change.append
            own = Commit(made.snapshot_id, made.commit_kind, edit.added.num_rows, 0, edit.record_count)
            member.answer.set_result(own)


def _together(changes: list[Change]) -> Change:
    """All appends as one, based on the oldest of the snapshots that they are based on."""
    if len(changes) == 1:
        return changes[0]
    edits, based_on = [change.append for change in changes], [change.based_on for change in changes]
    files, changelog = (
        pa.concat_tables(tables) for tables in zip(*((e.files, e.changelog) for e in edits), strict=True)
    )
    known = [id for id in based_on if id is not None]
    return Change(Edit(files, changelog), based_on=min(known) if len(known) == len(changes) else None)
