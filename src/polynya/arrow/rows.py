"""Delete and update, for tables of both kinds.

On a primary-key table the matching rows are read, merged, and written again as -D or +U records, as far as the merge
engine takes these. On an append table files or deletion vectors change: see `row_changes`. Who reads and writes the
files, this process or others, is the business of an `Engine`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polynya.arrow import ingest, read
from polynya.arrow.change_files import Assign
from polynya.arrow.ingest import KINDS, WriteRequest
from polynya.arrow.row_changes import (
    RowChange,
    Spread,
    change_rows,
    conforming,
    drop,
    dropped_partitions,
    plan_rows,
)
from polynya.errors import InvalidInputError, UnsupportedError
from polynya.model.aggregate_functions import LAST_NON_NULL_VALUE, LAST_VALUE
from polynya.model.arrow_types import to_arrow_type
from polynya.model.literals import Value
from polynya.model.merge_spec import merge_spec
from polynya.model.options_keys import (
    AGGREGATION_REMOVE_RECORD_ON_DELETE,
    IGNORE_DELETE,
    MERGE_ENGINE,
    PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE,
    PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP,
    ROWKIND_FIELD,
)
from polynya.model.predicate import Predicate
from polynya.model.schema import VALUE_KIND, Schema, require_columns
from polynya.table import history
from polynya.table.commit import Commit, Target

Assignments = Mapping[str, str | Value]  # a text is an SQL expression, anything else a value


@dataclass(frozen=True)
class Engine:
    """Who carries a change out: on the files of append tables, and as records of primary-key tables."""

    change_files: Spread | None
    write_records: Callable[[Target, RowChange, str], Commit]


def write_records(target: Target, change: RowChange, kind: str) -> Commit:
    """Read the rows as they are now and write them as records of the kind, in this process."""
    snapshot = history.find_latest(target.root)
    plan, reader = plan_rows(target, snapshot, change.predicate)
    records = (record_batch(rows, change, kind, target.schema) for rows in read.read_plan(reader, plan))
    return ingest.write(target, snapshot, records, RECORDS)


HERE = Engine(None, write_records)
RECORDS = WriteRequest(rowkind=VALUE_KIND.name)  # how records are written that `record_batch` makes


def delete(target: Target, predicate: Predicate, engine: Engine = HERE) -> Commit:
    """Delete the rows that match; whole partitions go without a look at their rows."""
    if not target.schema.primary_key:
        return change_rows(target, RowChange(predicate), engine.change_files)
    snapshot = history.find_latest(target.root)
    plan, _ = plan_rows(target, snapshot, predicate)
    if plan.file_count == 0:
        return Commit()
    dropped = dropped_partitions(plan, predicate, target.schema)
    if dropped is not None:
        return drop(target, dropped)
    _require_deletes(target.schema)
    return engine.write_records(target, RowChange(predicate), "-D")


def update(target: Target, assignments: Assignments, predicate: Predicate, engine: Engine = HERE) -> Commit:
    """Set columns of the rows that match."""
    schema = target.schema
    require_columns(schema, assignments, "update")
    if not assignments:
        raise InvalidInputError("update: expected a column to set, found none")
    assign = _assignment(assignments, schema)
    if not schema.primary_key:
        return change_rows(target, RowChange(predicate, conforming(assign, schema)), engine.change_files)
    _require_updates(schema, assignments)
    if MERGE_ENGINE.of(schema.options) == "partial-update":
        assign = _refusing_nulls(assign, tuple(name for name in assignments if not _takes_null(name, schema)))
    return engine.write_records(target, RowChange(predicate, conforming(assign, schema)), "+U")


def record_batch(rows: pa.RecordBatch, change: RowChange, kind: str, schema: Schema) -> pa.RecordBatch:
    """Rows that match as records of the kind, with `_VALUE_KIND` as the last column."""
    rows = change.assign(rows) if change.assign is not None else rows
    named = ROWKIND_FIELD.find(schema.options)
    if named is not None:  # the column overrules the kind that stands beside the row
        index = rows.schema.get_field_index(named)
        rows = rows.set_column(index, rows.schema.field(index), pa.repeat(pa.scalar(kind), rows.num_rows))
    return rows.append_column(VALUE_KIND.name, pa.array(np.full(rows.num_rows, KINDS[kind], np.int8)))


def _require_deletes(schema: Schema) -> None:
    options, engine = schema.options, MERGE_ENGINE.of(schema.options)
    if IGNORE_DELETE.of(options):
        raise UnsupportedError("delete: option 'ignore-delete' = 'true' drops delete records; no row would go")
    takes = {
        "deduplicate": True,
        "partial-update": PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE.of(options)
        or bool(PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP.find(options)),
        "aggregation": AGGREGATION_REMOVE_RECORD_ON_DELETE.of(options),
        "first-row": False,
    }
    if not takes[engine]:
        raise UnsupportedError(
            f"delete: a delete record does not remove a row with merge-engine '{engine}'; "
            "set its option 'remove-record-on-delete', where it has one, or delete whole partitions"
        )


def _require_updates(schema: Schema, assignments: Assignments) -> None:
    engine = MERGE_ENGINE.of(schema.options)
    if engine not in ("deduplicate", "partial-update"):
        raise UnsupportedError(f"update: merge-engine '{engine}' does not take the new values of a row as they are")
    for name in assignments:
        if name in schema.primary_key:
            raise UnsupportedError(f"update: column '{name}' is part of the primary key, which cannot be updated")
    for name, function in merge_spec(schema).functions.items():
        if function.name not in (LAST_VALUE, LAST_NON_NULL_VALUE):  # the old value would be combined with itself
            raise UnsupportedError(
                f"update: column '{name}' is combined by '{function.name}', which does not take the row as it is"
            )


def _takes_null(name: str, schema: Schema) -> bool:
    """Whether a partial update with a null changes the column: in a sequence group it does."""
    spec = merge_spec(schema)
    function = spec.functions.get(name)
    protected = any(name in group.protected for group in spec.groups)
    return protected and (function is None or function.name == LAST_VALUE)


def _refusing_nulls(assign: Assign, names: tuple[str, ...]) -> Assign:
    """The same assignment, refused where a value of the columns would become null: the merge keeps the old one."""

    def checked(rows: pa.RecordBatch) -> pa.RecordBatch:
        changed = assign(rows)
        for name in names:
            if pc.any(pc.and_(changed[name].is_null(), rows[name].is_valid())).as_py():
                raise UnsupportedError(
                    f"update: column '{name}' would become null, which a partial update takes for no change"
                )
        return changed

    return checked


def _assignment(assignments: Assignments, schema: Schema) -> Assign:
    from polynya.arrow import expressions  # noqa: PLC0415 - the SQL parser costs a fifth of a second to load

    computed = {
        name: expressions.parse(value, schema.fields) if isinstance(value, str) else expressions.always(value)
        for name, value in assignments.items()
    }

    def assign(rows: pa.RecordBatch) -> pa.RecordBatch:
        changed = rows
        for name, compute in computed.items():
            wanted = to_arrow_type(schema.column(name).type)
            new = expressions.assign_type(expressions.evaluate_expression(compute, rows), wanted, name)
            changed = changed.set_column(changed.schema.get_field_index(name), name, new)
        return changed

    return assign
