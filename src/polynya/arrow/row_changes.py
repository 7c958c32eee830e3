"""Deleting and updating rows of append tables, in one OVERWRITE commit.

| table | rows that match | other rows of their files |
|---|---|---|
| with deletion vectors | are marked; an update writes them anew | stay where they are |
| without | go, or change | are written anew with them; files without a match stay |

The change names what it replaces: data files, or the index files that hold vectors. When somebody else changed one of
them the commit conflicts; then all is done again on the new snapshot.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from polynya.arrow import file_rows
from polynya.arrow.compact import discard
from polynya.arrow.file_rows import DataFile
from polynya.arrow.incoming import conform
from polynya.arrow.read import Reader, reader_of
from polynya.arrow.vector_files import read_vectors, write_vectors
from polynya.arrow.write import TableWriter, WriteSpec
from polynya.codec.bitmap import Bitmap, from_positions, keep_mask, positions
from polynya.errors import CommitUnknownError, ConflictError, PolynyaError, UnsupportedError
from polynya.model import bind, evaluate
from polynya.model.bucket_mode import BucketMode, bucket_mode
from polynya.model.options_data import ROW_TRACKING_ENABLED
from polynya.model.options_keys import DELETION_VECTORS_BITMAP64, DELETION_VECTORS_ENABLED
from polynya.model.predicate import AlwaysTrue, Predicate
from polynya.model.schema import Schema
from polynya.paimon import index_manifest
from polynya.paimon.snapshot import Snapshot
from polynya.table import commit as commits
from polynya.table import entries, history, scan
from polynya.table.bucket_state import read_bucket_state
from polynya.table.commit import Commit, Target
from polynya.table.edit import DELETION_VECTORS, Change, Edit, Overwrite
from polynya.table.entries import DELETE, with_kind
from polynya.table.plan import Plan

ATTEMPTS_MAX = 5
TRUNCATE = "TRUNCATE"  # what a snapshot says of a delete that only drops partitions

Ints = npt.NDArray[np.int64]
Assign = Callable[[pa.RecordBatch], pa.RecordBatch]  # rows of the table to rows of the table


@dataclass(frozen=True)
class RowChange:
    """Which rows change, and how: `assign` gives the new rows, None deletes them. The predicate is bound."""

    predicate: Predicate
    assign: Assign | None = None


def change_rows(target: Target, change: RowChange) -> Commit:
    """Delete or update rows of an append table; ConflictError when others were first time and again."""
    for attempt in range(ATTEMPTS_MAX):
        made = _try_change(target, change, is_last=attempt == ATTEMPTS_MAX - 1)
        if made is not None:
            return made
    raise AssertionError("the last attempt answers or raises")


def plan_rows(target: Target, snapshot: Snapshot | None, predicate: Predicate) -> tuple[Plan, Reader]:
    """The files that may hold matching rows, and how to read them."""
    schema_of = history.schemas_by_id(target.root, target.schema)
    source = scan.ScanSource(target.root, snapshot, target.schema, schema_of)
    plan = scan.plan(source, scan.ScanRequest(target.schema.names, predicate))
    file_schemas = {id: schema_of(id) for id in plan.files["schema_id"].unique().to_pylist()}
    return plan, reader_of(plan, target.root.storage, file_schemas, None)


def dropped_partitions(plan: Plan, predicate: Predicate, schema: Schema) -> Overwrite | None:
    """What to drop where the predicate takes whole partitions, or the whole table; None where it looks at rows."""
    if isinstance(predicate, AlwaysTrue):
        return Overwrite()
    if all(path[0] in schema.partition_by for path in bind.columns(predicate)):
        return Overwrite(partitions=tuple(pc.unique(plan.files["partition"]).to_pylist()))
    return None


def drop(target: Target, dropped: Overwrite) -> Commit:
    """Drop partitions, without a look at their rows."""
    return commits.commit(target, Change(overwrite=dropped, operation=TRUNCATE), commits.new_author(target))


def _try_change(target: Target, change: RowChange, *, is_last: bool) -> Commit | None:
    """One attempt; None when it has to be done again on a newer snapshot."""
    snapshot = history.find_latest(target.root)
    plan, reader = plan_rows(target, snapshot, change.predicate)
    if plan.file_count == 0:
        return Commit()
    dropped = dropped_partitions(plan, change.predicate, target.schema) if change.assign is None else None
    if dropped is not None:
        return drop(target, dropped)
    edit = _write(target, snapshot, plan, reader, change)
    try:
        return commits.commit(target, Change(append=edit), commits.new_author(target))
    except CommitUnknownError:
        raise  # the files may be in the table
    except ConflictError:
        discard(target.root.storage, target.schema, edit)
        if is_last:
            raise
        return None
    except PolynyaError:
        discard(target.root.storage, target.schema, edit)
        raise


def _write(target: Target, snapshot: Snapshot | None, plan: Plan, reader: Reader, change: RowChange) -> Edit:
    """Write new files and vectors; what was begun is deleted when it fails."""
    buckets = read_bucket_state(target.root, snapshot, target.schema)
    writer = TableWriter(WriteSpec(target.root.storage, target.schema, buckets), target.surroundings.new_uuid)
    with ExitStack() as unless_written:
        unless_written.callback(writer.abort)
        touched = dict(_touched(reader, plan.files))
        if DELETION_VECTORS_ENABLED.of(target.schema.options):
            rows = _matching_rows(reader, touched, change.assign) if change.assign is not None else iter(())
        else:
            rows = _rewritten_rows(reader, touched, change.assign)
        for batch in rows:
            writer.write(batch)
        added = writer.finish()
        if DELETION_VECTORS_ENABLED.of(target.schema.options):
            edit = Edit(added, index=_marked(target, entries.read_index(target.root, snapshot), touched))
        else:
            edit = Edit(pa.concat_tables([_deleted(target, snapshot, touched), added]))
        unless_written.pop_all()
    return edit


def _touched(reader: Reader, files: pa.Table) -> Iterator[tuple[DataFile, Ints]]:
    """The files with rows that match and are not deleted yet, and where these rows are."""
    names = dict.fromkeys(path[0] for path in bind.columns(reader.predicate))
    wanted = reader.schema.select(names or reader.schema.names[:1])  # a batch without columns has no rows to count

    def find(file: DataFile) -> Ints:
        found = [
            first_row + np.flatnonzero(evaluate.mask(reader.predicate, batch))
            for first_row, batch in file_rows.read_positions(reader, file, wanted, reader.predicate)
        ]
        rows: Ints = np.concatenate([np.array([], np.int64), *found])
        if file.dv_file is None or not len(rows):
            return rows
        deleted = positions(file_rows.read_vector(reader, file)).astype(np.int64)
        return rows[~np.isin(rows, deleted, assume_unique=True)]

    listed = file_rows.files_of(files)
    with ThreadPoolExecutor(thread_name_prefix="polynya-rows") as pool:
        for file, rows in zip(listed, pool.map(find, listed), strict=True):
            if len(rows):
                yield file, rows


def _matching_rows(reader: Reader, touched: Mapping[DataFile, Ints], assign: Assign) -> Iterator[pa.RecordBatch]:
    """The rows that match as they are after the change."""
    for file, rows in touched.items():
        for batch, is_hit in _with_hits(reader, file, rows):
            if is_hit.any():
                yield assign(batch.filter(pa.array(is_hit)))


def _rewritten_rows(
    reader: Reader, touched: Mapping[DataFile, Ints], assign: Assign | None
) -> Iterator[pa.RecordBatch]:
    """All rows of the touched files as they are after the change."""
    for file, rows in touched.items():
        for batch, is_hit in _with_hits(reader, file, rows):
            if assign is None:
                yield batch.filter(pa.array(~is_hit))
            elif is_hit.any():
                changed = assign(batch.filter(pa.array(is_hit)))
                source = np.arange(batch.num_rows)
                source[is_hit] = batch.num_rows + np.arange(changed.num_rows)
                yield pa.concat_batches([batch, changed]).take(pa.array(source))
            else:
                yield batch


def _with_hits(reader: Reader, file: DataFile, rows: Ints) -> Iterator[tuple[pa.RecordBatch, npt.NDArray[np.bool_]]]:
    """The batches of a file, and which of their rows are among those given; rows deleted before are left out."""
    vector = file_rows.read_vector(reader, file) if file.dv_file is not None else None
    for first_row, batch in file_rows.read_positions(reader, file, reader.schema.fields, AlwaysTrue()):
        inside = rows[np.searchsorted(rows, first_row) : np.searchsorted(rows, first_row + batch.num_rows)]
        is_hit = np.zeros(batch.num_rows, bool)
        is_hit[inside - first_row] = True
        if vector is not None:
            live = keep_mask(vector, first_row, batch.num_rows)
            batch, is_hit = batch.filter(live), is_hit[np.asarray(live)]
        yield batch, is_hit


def _marked(target: Target, index: pa.Table, touched: Mapping[DataFile, Ints]) -> pa.Table:
    """The index change that marks the rows: index files replaced by others with more positions."""
    changes = [index_manifest.empty()]
    by_place: dict[tuple[bytes, int], dict[DataFile, Ints]] = {}
    for file, rows in touched.items():
        by_place.setdefault((file.partition, file.bucket), {})[file] = rows
    for place, files in by_place.items():
        replaced = _replaced(index, place, files, target.schema)
        vectors = _with_rows(read_vectors(target.root.storage, replaced, target.schema), files, target.schema)
        added = write_vectors(
            target.root.storage,
            target.schema,
            place,
            vectors,
            uuid=target.surroundings.new_uuid(),
            in_one_file=bucket_mode(target.schema) is not BucketMode.UNAWARE,
        )
        changes += [with_kind(replaced, DELETE), added]
    return pa.concat_tables(changes)


def _replaced(index: pa.Table, place: tuple[bytes, int], files: Mapping[DataFile, Ints], schema: Schema) -> pa.Table:
    """The index files that have to be written anew: those of the files, or the one of a bucket."""
    vectors = index.filter(pc.equal(index["index_type"], DELETION_VECTORS))
    if bucket_mode(schema) is BucketMode.UNAWARE:
        names = {file.dv_file for file in files if file.dv_file is not None}
        return vectors.filter(pc.is_in(vectors["file_name"], pa.array(names, pa.string())))
    partition, bucket = place
    return vectors.filter(pc.and_(pc.equal(vectors["partition"], partition), pc.equal(vectors["bucket"], bucket)))


def _with_rows(vectors: Mapping[str, Bitmap], files: Mapping[DataFile, Ints], schema: Schema) -> dict[str, Bitmap]:
    """The vectors with more rows, all of the version that the table writes."""
    wide = DELETION_VECTORS_BITMAP64.of(schema.options)
    merged = {name: from_positions(positions(vector).astype(np.int64), wide=wide) for name, vector in vectors.items()}
    for file, rows in files.items():
        new = from_positions(rows, wide=wide)
        old = merged.get(file.file_name)
        merged[file.file_name] = new if old is None else old | new  # type: ignore[operator]  # both are of one kind
    return merged


def _deleted(target: Target, snapshot: Snapshot | None, touched: Mapping[DataFile, Ints]) -> pa.Table:
    """The entries that take the touched files away."""
    if any(file.dv_file is not None for file in touched):
        raise UnsupportedError(
            "a file has a deletion vector, but 'deletion-vectors.enabled' is off: compact the table (full) first"
        )
    live = entries.read_live(target.root, snapshot)
    names = pa.array([file.file_name for file in touched], pa.string())
    return with_kind(live.filter(pc.is_in(live["file_name"], names)), DELETE)


def require_changeable(schema: Schema) -> None:
    """Raise UnsupportedError for tables whose rows have ids that a change would have to keep."""
    if ROW_TRACKING_ENABLED.of(schema.options):
        raise UnsupportedError("option 'row-tracking.enabled' = 'true': polynya does not change rows that have ids")


def conforming(assign: Assign, schema: Schema) -> Assign:
    """The same assignment with its result checked against the columns of the table."""
    return lambda rows: conform(assign(rows), schema)
