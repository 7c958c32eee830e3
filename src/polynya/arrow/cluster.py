"""Rewriting append tables so that rows near each other in some columns stand near each other in files.

Each partition is sorted as a whole. First only the columns of the order are read, to find the place of every row; then
the rows are read and written, in as many rounds as the budget asks for. A partition is published as an OVERWRITE that
replaces exactly the files that were read: rows that others add meanwhile stay.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from polynya.arrow import file_rows
from polynya.arrow.append_writer import AppendWriter
from polynya.arrow.compact import Compactor, discard, discard_files, edit_of, give_up, index_without, place_of
from polynya.arrow.compact_table import (
    ROUNDS_MAX,
    Outcomes,
    Runner,
    compactor_of,
    outcome_of,
    require_changed,
    state_of,
    sum_of,
)
from polynya.arrow.curve import ORDERS, Clustering, positions_on
from polynya.arrow.file_sink import WRITE_ROWS
from polynya.arrow.file_spec import file_spec
from polynya.arrow.write import entries_table
from polynya.errors import (
    CommitUnknownError,
    ConflictError,
    InvalidInputError,
    NotFoundError,
    PolynyaError,
    UnsupportedError,
)
from polynya.model.arrow_types import to_arrow_schema
from polynya.model.bucket_mode import BucketMode, bucket_mode
from polynya.model.predicate import AlwaysTrue
from polynya.model.schema import Schema, require_columns
from polynya.model.types import is_nested
from polynya.table import commit as commits
from polynya.table import row_ids
from polynya.table.commit import Commit, Target
from polynya.table.compaction import CompactionTask, Within, bucket_tasks
from polynya.table.edit import Change, Edit

Ints = npt.NDArray[np.int64]


def clustering_of(schema: Schema, columns: tuple[str, ...], order: str | None) -> Clustering:
    """What the caller asks for, checked: one column is sorted, up to four go along a Z, more along a Hilbert curve."""
    if schema.primary_key or bucket_mode(schema) is not BucketMode.UNAWARE:
        raise UnsupportedError("order_by: only append tables without buckets can be rewritten in another order")
    if not columns:
        raise InvalidInputError("order_by: expected columns, found none")
    require_columns(schema, columns, "order_by")
    for field in schema.select(columns):
        if is_nested(field.type):
            raise UnsupportedError(f"order_by: column '{field.name}' is nested and has no order")
    chosen = order or ("sort" if len(columns) == 1 else "zorder" if len(columns) < 5 else "hilbert")
    if chosen not in ORDERS:
        raise InvalidInputError(f"order must be one of {', '.join(ORDERS)}, got '{order}'")
    return Clustering(columns, chosen)


def cluster(target: Target, within: Within, clustering: Clustering, runner: Runner | None = None) -> Commit:
    """Rewrite every partition in order, one commit for each; the answer is for all of them together.

    ConflictError when a partition changes again and again while it is sorted; the others are in order then.
    """
    total, done = Commit(), set[bytes]()
    for _ in range(ROUNDS_MAX):
        state = state_of(target, within)
        tasks = sorted(bucket_tasks(state), key=lambda task: -task.size_bytes)
        tasks = [task for task in tasks if task.partition not in done]
        with closing((runner or _run_in_turn)(compactor_of(target, state), tasks, clustering)) as outcomes:
            for task, outcome in outcomes:
                if isinstance(outcome, NotFoundError):
                    require_changed(target, task, outcome)
                elif (made := _commit(target, outcome)) is not None:
                    total = sum_of(total, made)
                    done.add(task.partition)
        if all(task.partition in done for task in tasks):
            return total
    raise ConflictError(
        f"{target.root.storage.location}: a partition was changed by others {ROUNDS_MAX} times while it was sorted; "
        "try again when fewer writers run"
    )


def _run_in_turn(
    compactor: Compactor, tasks: Sequence[CompactionTask], clustering: Clustering | None = None
) -> Outcomes:
    assert clustering is not None
    sort = partial(_run, clustering=clustering)
    return ((task, outcome_of(sort, compactor, task)) for task in tasks)


def _run(compactor: Compactor, task: CompactionTask, clustering: Clustering) -> Edit:
    """Write the files of a partition anew, in order, and return what that changes."""
    written = rewrite(compactor, task, clustering)
    with ExitStack() as unless_written:
        unless_written.callback(discard_files, compactor.storage, compactor.schema, written)
        index = index_without(compactor, task)
        unless_written.pop_all()
    return edit_of(task.files, written, index)


def rewrite(compactor: Compactor, task: CompactionTask, clustering: Clustering, part: int = 0, of: int = 1) -> pa.Table:
    """Write one part out of so many of the rows of a partition in order, and return the entries."""
    ranks = _ranks(compactor, task, clustering)
    first, last = len(ranks) * part // of, len(ranks) * (part + 1) // of
    spec = file_spec(compactor.storage, compactor.schema, fields=row_ids.fields_with_ids(compactor.schema))
    writer = AppendWriter(spec, place_of(task), compactor.new_uuid)
    with ExitStack() as unless_written:
        unless_written.callback(give_up, compactor.storage, writer)
        for start, end in _rounds(compactor, task, first, last):
            for batch in _sorted_part(compactor, task, ranks, start, end):
                writer.write(batch)
        writer.roll()
        unless_written.pop_all()
    return entries_table(writer.entries)


def _ranks(compactor: Compactor, task: CompactionTask, clustering: Clustering) -> Ints:
    """The place of every row in the new order, in the order of reading."""
    fields = compactor.schema.select(clustering.columns)
    batches = file_rows.read_run(compactor, task.files, fields, AlwaysTrue())
    rows = pa.Table.from_batches(batches, to_arrow_schema(fields))
    order = np.argsort(positions_on(clustering.order, rows.columns), kind="stable")
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks


def _rounds(compactor: Compactor, task: CompactionTask, first_row: int, end_row: int) -> Iterator[tuple[int, int]]:
    """Ranges of places between two, such that the rows of a range fit the budget twice: as read and as sorted."""
    first = next(_rows(compactor, task), None)
    if first is None:
        return
    row_bytes = max(1, first.nbytes // max(1, first.num_rows))
    step = max(WRITE_ROWS, compactor.budget_bytes // (2 * row_bytes))
    for start in range(first_row, end_row, step):
        yield start, min(start + step, end_row)


def _sorted_part(
    compactor: Compactor, task: CompactionTask, ranks: Ints, start: int, end: int
) -> Iterator[pa.RecordBatch]:
    """The rows whose places are in the range, in order."""
    kept: list[pa.RecordBatch] = []
    places: list[Ints] = []
    read = 0
    for batch in _rows(compactor, task):
        rank = ranks[read : read + batch.num_rows]
        read += batch.num_rows
        inside = (rank >= start) & (rank < end)
        kept.append(batch if inside.all() else batch.filter(pa.array(inside)))
        places.append(rank[inside])
    rows = pa.Table.from_batches(kept)
    yield from rows.take(pa.array(np.argsort(np.concatenate(places)))).to_batches()


def _rows(compactor: Compactor, task: CompactionTask) -> Iterator[pa.RecordBatch]:
    return file_rows.read_run(compactor, task.files, row_ids.fields_with_ids(compactor.schema), AlwaysTrue())


def _commit(target: Target, edit: Edit) -> Commit | None:
    """Publish the edit of a partition; None when its files are gone, after its new files are deleted."""
    try:
        return commits.commit(target, Change(append=edit), commits.new_author(target))
    except CommitUnknownError:
        raise  # the files may be in the table
    except ConflictError:
        discard(target.root.storage, target.schema, edit)
        return None
    except PolynyaError:
        discard(target.root.storage, target.schema, edit)
        raise
