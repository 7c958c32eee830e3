"""partial-update: columns keep their last non-null value; sequence groups let older records come late.

A group of columns has ordering columns. A record whose ordering columns are all null leaves the group alone; one that
is not older than the group so far sets the columns, nulls included (or adds to their aggregates); an older one touches
only aggregates. Whether a record is older is a running maximum over the ranks of the ordering columns, so no record is
looked at on its own.
"""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from polynya.arrow.merge.aggregates import fold
from polynya.arrow.merge.events import ADD, BASE, RETRACT, REVERSED, Events, Ops, first_of, last_of
from polynya.arrow.merge.folding import DELETE, Folded, forget, merged, records
from polynya.arrow.merge.order import Bools, Groups, Ints, codes, to_array
from polynya.errors import InvalidInputError
from polynya.model.aggregate_functions import LAST_NON_NULL_VALUE, LAST_VALUE, Function
from polynya.model.merge_spec import MergeSpec, SequenceGroup
from polynya.model.schema import SEQUENCE_NUMBER, VALUE_KIND

_REPLACE = Function(LAST_VALUE)
_REPLACE_NON_NULL = Function(LAST_NON_NULL_VALUE)


@dataclass(frozen=True)
class _Records:
    """The records of the keys with several of them."""

    row: Ints
    group: Ints
    group_count: int
    delete: Bools  # -D
    retract: Bools  # -D or -U
    base: Bools  # the row starts anew from this record
    removed: Bools  # a base that also removes the row
    removed_at: Ints  # the column whose turn it was when the sequence group of a -D removed the row, or -1


@dataclass(frozen=True)
class _Accepted:
    """How a sequence group takes the records."""

    present: Bools  # an ordering column is not null
    newer: Bools  # present, and not older than the group so far


def merge_groups(rows: pa.Table, groups: Groups, spec: MergeSpec) -> pa.Table:
    """One row per key: a single record as it is, several laid over one another."""
    found = _records(rows, groups, spec)
    sequence_groups = [group for group in spec.groups if set(group.ordering) <= set(rows.column_names)]
    ignored = found.retract & ~found.base & spec.ignore_delete
    ranks = [np.where(ignored, -1, _ranks(rows, found.row, group)) for group in sequence_groups]
    turns = [min(map(spec.columns.index, group.removing), default=-1) for group in sequence_groups]
    found = _with_removals(found, turns, ranks)
    folded: dict[str, Folded] = {}
    for group, rank in zip(sequence_groups, ranks, strict=True):
        folded |= _fold_group(rows, found, spec, group, _accept(found, rank))
    plain = _plain_events(found)
    _check_not_null(rows, spec, plain)
    for name in rows.column_names:
        if name not in folded and name not in (SEQUENCE_NUMBER.name, VALUE_KIND.name, *spec.key):
            folded[name] = fold(spec.functions.get(name, _REPLACE_NON_NULL), name, rows.column(name), plain)
    folded[SEQUENCE_NUMBER.name] = _sequence(rows, found, spec)
    newest = last_of(found.group, found.group_count, np.ones(len(found.row), bool))
    has_add = np.zeros(found.group_count, bool)
    has_add[found.group[~found.retract]] = True
    return merged(rows, groups, folded, found.removed[newest] | ~has_add)


def _records(rows: pa.Table, groups: Groups, spec: MergeSpec) -> _Records:
    row, group, count = records(groups)
    kind = np.asarray(to_array(rows.column(VALUE_KIND.name)))[row]
    retract = (kind & 1).astype(bool)
    if retract.any() and not (spec.ignore_delete or spec.remove_on_delete or spec.groups):
        raise InvalidInputError(
            "merge-engine 'partial-update' does not take -U and -D records; set 'ignore-delete', "
            "'partial-update.remove-record-on-delete' or a sequence group"
        )
    removed = (kind == DELETE) & spec.remove_on_delete
    base = (_starts(group) & retract) | removed
    return _Records(row, group, count, kind == DELETE, retract, base, removed, np.full(len(row), -1))


def _ranks(rows: pa.Table, row: Ints, group: SequenceGroup) -> Ints:
    """The rank of each record's ordering columns, from 0; -1 where they are all null."""
    some = rows.select(group.ordering).take(pa.array(row))
    absent = np.ones(len(row), bool)
    for column in some.columns:
        absent &= np.asarray(column.is_null())
    rank = codes(some.columns)
    if len(rank) and (int(rank.max()) - int(rank.min()) + 2) * (len(rank) + 1) < 2**63:
        rank = rank - rank.min()
    else:  # too far apart to be counted from the lowest
        _, rank = np.unique(rank, return_inverse=True)
    return np.where(absent, -1, rank)


def _with_removals(found: _Records, turns: list[int], ranks: list[Ints]) -> _Records:
    """Mark the -D records that remove the row because of their group; `turns` says at which column, -1 for never.

    A removal restarts the row and so decides about later ones: each pass settles the next removal of every key.
    """
    removing = sorted((turn, number) for number, turn in enumerate(turns) if turn >= 0)
    while removing:
        turn = np.full(len(found.row), -1)
        for column, number in reversed(removing):
            turn[_accept(found, ranks[number]).newer] = column
        stretch = np.cumsum(found.removed | _starts(found.group)) - 1
        candidate = (turn >= 0) & found.delete & ~found.removed
        first = first_of(stretch, int(stretch[-1]) + 1 if len(stretch) else 0, candidate)
        first = first[first >= 0]
        if not len(first):
            break
        removed, removed_at = found.removed.copy(), found.removed_at.copy()
        removed[first], removed_at[first] = True, turn[first]
        found = replace(found, base=found.base | removed, removed=removed, removed_at=removed_at)
    return found


def _accept(found: _Records, rank: Ints) -> _Accepted:
    """Compare each record with the newest before it, since the row last started anew."""
    stretch = np.cumsum(found.base | _starts(found.group))
    width = int(rank.max(initial=-1)) + 2
    highest = np.maximum.accumulate(stretch * width + rank + 1) - stretch * width - 1
    present = rank >= 0
    return _Accepted(present, present & (rank >= highest))


def _fold_group(
    rows: pa.Table, found: _Records, spec: MergeSpec, group: SequenceGroup, accepted: _Accepted
) -> dict[str, Folded]:
    retract = found.retract & (not spec.ignore_delete)
    accepted_only = _group_events(found, accepted, retract, late=False)
    # A retract moves the ordering columns like an add.
    moves = replace(accepted_only, op=np.where(accepted_only.op == RETRACT, np.uint8(ADD), accepted_only.op))
    folded = {name: fold(_REPLACE, name, rows.column(name), moves) for name in group.ordering}
    for name in group.protected:
        if name in rows.column_names:
            function = spec.functions.get(name)
            if function is None:
                folded[name] = fold(_REPLACE, name, rows.column(name), accepted_only)
                continue
            # A -D is taken back from the columns whose turn came before that of the one that removes the row.
            taken_back = accepted.present & (found.removed_at > spec.columns.index(name))
            events = _group_events(found, accepted, retract, late=True, taken_back=taken_back)
            folded[name] = fold(function, name, rows.column(name), events)
    return folded


def _group_events(
    found: _Records, accepted: _Accepted, retract: Bools, *, late: bool, taken_back: Bools | None = None
) -> Events:
    """The events of a group: what is taken back before, a base, then the record itself unless it removed the row."""
    op = np.where(accepted.newer, ADD, REVERSED)
    op = np.where(retract, RETRACT, op).astype(np.uint8)
    takes_part = (accepted.present if late else accepted.newer) & ~found.removed & (retract | ~found.retract)
    return _events(found, takes_part, op, taken_back)


def _plain_events(found: _Records) -> Events:
    """The events of columns outside groups: retracts leave them alone."""
    return _events(found, ~found.retract, np.full(len(found.row), ADD, np.uint8))


def _events(found: _Records, takes_part: Bools, op: Ops, taken_back: Bools | None = None) -> Events:
    if not found.base.any():
        return Events(found.row, found.group, op, found.group_count).where(takes_part)
    nothing = np.zeros(len(found.row), bool)
    steps = [
        (_starts(found.group) & found.retract, np.full_like(op, BASE)),
        (nothing if taken_back is None else taken_back, np.full_like(op, RETRACT)),
        (found.removed, np.full_like(op, BASE)),
        (takes_part, op),
    ]
    position = np.concatenate([np.flatnonzero(chosen) for chosen, _ in steps])
    ops = np.concatenate([op[chosen] for chosen, op in steps])
    order = np.argsort(position, kind="stable")  # the steps of one record stay in this order
    position = position[order]
    return forget(Events(found.row[position], found.group[position], ops[order], found.group_count))


def _sequence(rows: pa.Table, found: _Records, spec: MergeSpec) -> Folded:
    """The number of the newest record; ignored retracts do not count, and 0 stands where nothing counts."""
    if not spec.ignore_delete:
        return found.row[last_of(found.group, found.group_count, np.ones(len(found.row), bool))]
    newest = last_of(found.group, found.group_count, ~found.retract)
    numbers = np.asarray(to_array(rows.column(SEQUENCE_NUMBER.name)))
    return pa.array(np.where(newest < 0, 0, numbers[found.row[newest]]) if len(newest) else newest)


def _check_not_null(rows: pa.Table, spec: MergeSpec, events: Events) -> None:
    """Without groups, a record must bring every NOT NULL column."""
    if spec.groups:
        return
    for name in spec.not_null.intersection(rows.column_names):
        column = rows.column(name)
        if column.null_count and column.take(pa.array(events.row[events.acts == ADD])).null_count:
            raise InvalidInputError(f"column '{name}': null in a NOT NULL column of a partial update")


def _starts(group: Ints) -> Bools:
    return np.append(True, group[1:] != group[:-1])[: len(group)]
