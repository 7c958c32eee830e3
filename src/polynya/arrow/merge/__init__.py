"""Merging the records of primary keys, vectorised.

Rows are Arrow tables of `_SEQUENCE_NUMBER`, `_VALUE_KIND` (0 +I, 1 -U, 2 +U, 3 -D) and the value columns by name; key
columns are value columns. A column `_LEVEL` says on which level a record lies, for tables that look up.
"""

import numpy as np
import pyarrow as pa

from polynya.arrow.merge import aggregation, deduplicate, first_row, partial_update
from polynya.arrow.merge.folding import take_rows
from polynya.arrow.merge.order import Groups, Ints, group_rows, is_retract, nearest_level, to_array
from polynya.errors import UnsupportedError
from polynya.model.merge_spec import Engine, MergeSpec, merge_spec, required_columns
from polynya.model.schema import LEVEL

__all__ = [
    "Engine",
    "MergeSpec",
    "drop_deletes",
    "losers",
    "merge",
    "merge_spec",
    "required_columns",
    "sort_rows",
]


def merge(rows: pa.Table, spec: MergeSpec) -> pa.Table:
    """One row per key, in key order; retracts stay, as -U and -D.

    The rows are those of several sorted runs, in any order, with every record of the keys they hold. A key with a
    single record keeps it unchanged. Rows that come run by run sort fastest.
    """
    groups = group_rows(rows, spec)
    if LEVEL.name in rows.column_names:
        if spec.engine is not Engine.FIRST_ROW and not groups.is_merged:
            groups = nearest_level(groups, np.asarray(to_array(rows.column(LEVEL.name))).astype(np.int64))
        rows = rows.drop_columns([LEVEL.name])
    if groups.is_merged:
        return rows
    match spec.engine:
        case Engine.DEDUPLICATE | Engine.FIRST_ROW:
            return take_rows(rows, _winners(rows, groups, spec))
        case Engine.PARTIAL_UPDATE if groups.several.any():
            return partial_update.merge_groups(rows, groups, spec)
        case Engine.AGGREGATION if groups.several.any():
            return aggregation.merge_groups(rows, groups, spec)
        case _:
            return take_rows(rows, groups.order)


def sort_rows(rows: pa.Table, spec: MergeSpec) -> pa.Table:
    """All rows by key, and oldest first within a key."""
    return take_rows(rows, group_rows(rows, spec).order)


def drop_deletes(rows: pa.Table) -> pa.Table:
    """The rows without those that say a key is gone."""
    gone = is_retract(rows)
    return rows.filter(pa.array(~gone)) if gone.any() else rows


def losers(rows: pa.Table, spec: MergeSpec) -> pa.BooleanArray:
    """Which rows a reader must not see: those that a record of their key supersedes, and retracts.

    For engines that keep whole rows. The rows need the key, the sequence fields and the two system columns only.
    """
    if spec.engine not in (Engine.DEDUPLICATE, Engine.FIRST_ROW):
        raise UnsupportedError(f"merge-engine '{spec.engine.value}' changes rows, so none of them simply loses")
    hidden = np.ones(rows.num_rows, bool)
    hidden[_winners(rows, group_rows(rows, spec), spec)] = False
    return pa.array(hidden | is_retract(rows))


def _winners(rows: pa.Table, groups: Groups, spec: MergeSpec) -> Ints:
    if spec.engine is Engine.FIRST_ROW:
        return first_row.winners(rows, groups, spec)
    return deduplicate.winners(rows, groups, spec)
