"""Row ids and sequence numbers of tables with row tracking, given at commit time.

A new data file gets the next free range of row ids; a file whose smallest sequence number is 0 is stamped with the id
of the snapshot. Files that are written anew from such rows store both as columns behind those of the table:

| column | of a row that stays as it is | of a row that changes |
|---|---|---|
| `_ROW_ID` | its id | its id |
| `_SEQUENCE_NUMBER` | its number | null, which reads as the largest number of the file: that of the commit |

The largest number of a file with such nulls is 0 until its commit stamps it.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polynya.model.options_data import ROW_TRACKING_ENABLED
from polynya.model.schema import ROW_ID, SEQUENCE_NUMBER, Schema
from polynya.model.types import Field
from polynya.table.commit_options import CommitOptions
from polynya.table.entries import ADD

APPEND_SOURCE = 0


def has_row_ids(options: Mapping[str, str]) -> bool:
    """Whether the table tracks its rows."""
    return ROW_TRACKING_ENABLED.of(options)


def fields_with_ids(schema: Schema, *, has_changes: bool = False) -> tuple[Field, ...]:
    """The columns of files that are written anew: those of the table, and what its rows are known by, if they are."""
    if not has_row_ids(schema.options):
        return schema.fields
    type = SEQUENCE_NUMBER.type.with_nullable(has_changes)
    return (*schema.fields, ROW_ID, replace(SEQUENCE_NUMBER, type=type))


def assign(files: pa.Table, options: CommitOptions, next_row_id: int, snapshot_id: int) -> tuple[pa.Table, int]:
    """The entries with row ids, and the next free row id; unchanged on tables without row tracking."""
    if not options.has_row_ids or files.num_rows == 0:
        return files, next_row_id
    if options.groups_row_ids_by_partition:
        files = _grouped_by_partition(files)
    files = _stamp_sequence(files, snapshot_id)
    wants = np.asarray(_wants_row_ids(files))
    rows = np.where(wants, files["row_count"].to_numpy(), 0)
    firsts = next_row_id + np.cumsum(rows) - rows
    given = pc.if_else(pa.array(wants), pa.array(firsts, pa.int64()), files["first_row_id"])
    return _replace(files, "first_row_id", given), next_row_id + int(rows.sum())


def _wants_row_ids(files: pa.Table) -> pa.ChunkedArray:
    is_new = pc.and_(pc.equal(files["kind"], ADD), pc.equal(files["file_source"], APPEND_SOURCE))
    has_none = pc.is_null(files["first_row_id"])
    columns = pc.binary_join(_flat(files["write_cols"]), "\x01")
    framed = pc.binary_join_element_wise("", pc.fill_null(columns, ""), "", "\x01")
    brings_own = pc.match_substring(framed, f"\x01{ROW_ID.name}\x01")
    return pc.fill_null(pc.and_(pc.and_(is_new, has_none), pc.invert(brings_own)), False)


def _stamp_sequence(files: pa.Table, snapshot_id: int) -> pa.Table:
    low, high = files["min_sequence_number"], files["max_sequence_number"]
    is_low_unset, is_high_unset = pc.equal(low, 0), pc.equal(high, 0)
    high = pc.if_else(pc.or_(is_low_unset, is_high_unset), snapshot_id, high)
    low = pc.if_else(is_low_unset, snapshot_id, low)
    return _replace(_replace(files, "min_sequence_number", low), "max_sequence_number", high)


def _grouped_by_partition(files: pa.Table) -> pa.Table:
    codes = _flat(files["partition"]).dictionary_encode().indices
    return files.take(pa.array(np.argsort(np.asarray(codes), kind="stable")))


def _flat(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks()


def _replace(table: pa.Table, name: str, column: pa.ChunkedArray) -> pa.Table:
    index = table.schema.get_field_index(name)
    return table.set_column(index, table.schema.field(index), column)
