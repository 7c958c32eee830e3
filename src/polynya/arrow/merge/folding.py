"""From folded columns back to rows: what partial-update and aggregation share."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from polynya.arrow.merge.events import BASE, FORGOTTEN, Events, last_of
from polynya.arrow.merge.order import Bools, Groups, Ints, to_array
from polynya.model.schema import VALUE_KIND

INSERT = 0
DELETE = 3

Folded: TypeAlias = (
    "Ints | pa.Array"  # for each key with several records: the row that holds the value (-1: null), or the value
)


def records(groups: Groups) -> tuple[Ints, Ints, int]:
    """The rows of the keys with several records, the number of the key of each, and how many such keys there are."""
    sizes = groups.sizes
    row = groups.order[np.repeat(groups.several, sizes)]
    count = int(groups.several.sum())
    return row, np.repeat(np.arange(count), sizes[groups.several]), count


def forget(events: Events) -> Events:
    """Mark what stands before the last BASE of each key as forgotten."""
    base = last_of(events.group, events.group_count, events.op == BASE)
    undone = np.arange(len(events)) < base[events.group]
    return replace(events, op=events.op + np.where(undone, np.uint8(FORGOTTEN), np.uint8(0)))


def merged(rows: pa.Table, groups: Groups, folded: Mapping[str, Folded], deleted: Bools) -> pa.Table:
    """The result: single records as they are, folded columns where keys had several; other columns of the newest."""
    newest = groups.order[groups.ends - 1]
    several = np.flatnonzero(groups.several)
    kind = np.asarray(to_array(rows.column(VALUE_KIND.name)))[newest]
    kind[several] = np.where(deleted, DELETE, INSERT)
    columns: dict[str, pa.ChunkedArray] = {VALUE_KIND.name: pa.chunked_array([pa.array(kind)])}
    for name, value in folded.items():
        if not isinstance(value, np.ndarray):
            columns[name] = take_column(rows.column(name), newest, several, value)
        elif not np.array_equal(value, newest[several]):
            positions = newest.copy()
            positions[several] = value
            columns[name] = take_column(rows.column(name), positions, several, None)
    whole = take_rows(rows.select([name for name in rows.column_names if name not in columns]), newest)
    columns |= dict(zip(whole.column_names, whole.columns, strict=True))
    return pa.Table.from_arrays([columns[name] for name in rows.column_names], schema=rows.schema)


def take_rows(rows: pa.Table, positions: Ints) -> pa.Table:
    """The rows at the positions, each at most once, in that order.

    Columns go one by one, so that no more than one is in memory in pieces, in one piece and in its new order. Of
    chunked rows the others are left out before any are moved.
    """
    ascending = bool((positions[1:] > positions[:-1]).all())
    if ascending and len(positions) == rows.num_rows:
        return rows
    mask = None
    if len(positions) < rows.num_rows and not _is_one_piece(rows):
        chosen = np.zeros(rows.num_rows, bool)
        chosen[positions] = True
        mask, positions = pa.array(chosen), _ranks(chosen)[positions]
    order = None if mask is not None and ascending else pa.array(positions)
    columns = [_moved(column, mask, order) for column in rows.columns]
    return pa.Table.from_arrays(columns, schema=rows.schema)


def _moved(column: pa.ChunkedArray, mask: pa.Array | None, order: pa.Array | None) -> pa.Array:
    kept = to_array(column if mask is None else column.filter(mask))
    return kept if order is None else kept.take(order)


def take_column(column: pa.ChunkedArray, positions: Ints, several: Ints, computed: pa.Array | None) -> pa.ChunkedArray:
    """The values at the positions (-1: null); for the keys in `several` the computed values instead, where given."""
    mask = np.zeros(len(column), bool)
    used = positions >= 0
    if computed is not None:
        used[several] = False
    mask[positions[used]] = True
    kept = column.filter(pa.array(mask))
    indices = np.full(len(positions), -1, np.int64)
    indices[used] = _ranks(mask)[positions[used]]
    if computed is not None:
        indices[several] = len(kept) + np.arange(len(several))
        kept = pa.chunked_array([*kept.chunks, computed], type=column.type)
    if kept.num_chunks != 1:
        kept = pa.chunked_array([kept.combine_chunks()], type=column.type)
    return kept.take(pa.array(indices, mask=indices < 0))


def _ranks(mask: Bools) -> Ints:
    return np.cumsum(mask) - 1


def _is_one_piece(rows: pa.Table) -> bool:
    return all(column.num_chunks == 1 for column in rows.columns)
