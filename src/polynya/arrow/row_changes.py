"""Deleting and updating rows of append tables, in one OVERWRITE commit.

| table | rows that match | other rows of their files |
|---|---|---|
| with deletion vectors | are marked; an update writes them anew | stay where they are |
| without | go, or change | are written anew with them; files without a match stay |

The change names what it replaces: data files, or the index files that hold vectors. When somebody else changed one of
them the commit conflicts; then all is done again on the new snapshot. Rows that have ids keep them, see `row_ids`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from polynya.arrow import file_rows
from polynya.arrow.change_files import Assign, Changed, FileWork, change_files
from polynya.arrow.compact import discard
from polynya.arrow.file_rows import DataFile
from polynya.arrow.incoming import conform
from polynya.arrow.read import Reader, reader_of
from polynya.arrow.vector_files import read_vectors, write_vectors
from polynya.arrow.write import WriteSpec
from polynya.codec.bitmap import Bitmap, decode64, from_positions, positions
from polynya.errors import CommitUnknownError, ConflictError, PolynyaError, UnsupportedError
from polynya.model import bind
from polynya.model.bucket_mode import BucketMode, bucket_mode
from polynya.model.options_keys import DELETION_VECTORS_BITMAP64
from polynya.model.predicate import AlwaysTrue, Predicate
from polynya.model.schema import Schema
from polynya.paimon import index_manifest
from polynya.paimon.snapshot import Snapshot
from polynya.table import commit as commits
from polynya.table import entries, history, row_ids, scan
from polynya.table.bucket_state import read_bucket_state
from polynya.table.commit import Commit, Target
from polynya.table.edit import DELETION_VECTORS, Change, Edit, Overwrite
from polynya.table.entries import DELETE, with_kind
from polynya.table.plan import Plan

ATTEMPTS_MAX = 5
TRUNCATE = "TRUNCATE"  # what a snapshot says of a delete that only drops partitions

Spread = Callable[[FileWork, pa.Table], Changed]  # does the work on all files, by whomever


@dataclass(frozen=True)
class RowChange:
    """Which rows change, and how: `assign` gives the new rows, None deletes them. The predicate is bound."""

    predicate: Predicate
    assign: Assign | None = None


def change_rows(target: Target, change: RowChange, spread: Spread | None = None) -> Commit:
    """Delete or update rows of an append table; ConflictError when others were first time and again.

    `spread` gives the work on the files to others; without it this process does it.
    """
    for attempt in range(ATTEMPTS_MAX):
        made = _try_change(target, change, spread, is_last=attempt == ATTEMPTS_MAX - 1)
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


def _try_change(target: Target, change: RowChange, spread: Spread | None, *, is_last: bool) -> Commit | None:
    """One attempt; None when it has to be done again on a newer snapshot."""
    snapshot = history.find_latest(target.root)
    plan, reader = plan_rows(target, snapshot, change.predicate)
    if plan.file_count == 0:
        return Commit()
    dropped = dropped_partitions(plan, change.predicate, target.schema) if change.assign is None else None
    if dropped is not None:
        return drop(target, dropped)
    buckets = read_bucket_state(target.root, snapshot, target.schema)
    stored = row_ids.fields_with_ids(target.schema, has_changes=True)
    work = FileWork(reader, WriteSpec(target.root.storage, target.schema, buckets, stored), change.assign)
    new_uuid = target.surroundings.new_uuid
    changed = spread(work, plan.files) if spread is not None else change_files(work, plan.files, new_uuid)
    edit = _edit(target, snapshot, plan, work, changed)
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


def _edit(target: Target, snapshot: Snapshot | None, plan: Plan, work: FileWork, changed: Changed) -> Edit:
    """What the commit changes; files that were written are deleted when it cannot be told."""
    vectors = dict(zip(*(changed.touched[name].to_pylist() for name in ("file_name", "rows")), strict=True))
    files = file_rows.files_of(plan.files.filter(pc.is_in(plan.files["file_name"], changed.touched["file_name"])))
    touched = {file: decode64(vectors[file.file_name], name=f"rows of {file.file_name}") for file in files}
    try:
        if work.marks:
            return Edit(changed.added, index=_marked(target, entries.read_index(target.root, snapshot), touched))
        return Edit(pa.concat_tables([_deleted(target, snapshot, touched), changed.added]))
    except PolynyaError:
        discard(target.root.storage, target.schema, Edit(changed.added))
        raise


def _marked(target: Target, index: pa.Table, touched: Mapping[DataFile, Bitmap]) -> pa.Table:
    """The index change that marks the rows: index files replaced by others with more positions."""
    changes = [index_manifest.empty()]
    by_place: dict[tuple[bytes, int], dict[DataFile, Bitmap]] = {}
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


def _replaced(index: pa.Table, place: tuple[bytes, int], files: Mapping[DataFile, Bitmap], schema: Schema) -> pa.Table:
    """The index files that have to be written anew: those of the files, or the one of a bucket."""
    vectors = index.filter(pc.equal(index["index_type"], DELETION_VECTORS))
    if bucket_mode(schema) is BucketMode.UNAWARE:
        names = {file.dv_file for file in files if file.dv_file is not None}
        return vectors.filter(pc.is_in(vectors["file_name"], pa.array(names, pa.string())))
    partition, bucket = place
    return vectors.filter(pc.and_(pc.equal(vectors["partition"], partition), pc.equal(vectors["bucket"], bucket)))


def _with_rows(vectors: Mapping[str, Bitmap], files: Mapping[DataFile, Bitmap], schema: Schema) -> dict[str, Bitmap]:
    """The vectors with more rows, all of the version that the table writes."""
    wide = DELETION_VECTORS_BITMAP64.of(schema.options)
    merged = {name: from_positions(positions(vector), wide=wide) for name, vector in vectors.items()}
    for file, rows in files.items():
        new = from_positions(positions(rows), wide=wide)
        old = merged.get(file.file_name)
        merged[file.file_name] = new if old is None else old | new  # type: ignore[operator]  # both are of one kind
    return merged


def _deleted(target: Target, snapshot: Snapshot | None, touched: Mapping[DataFile, Bitmap]) -> pa.Table:
    """The entries that take the touched files away."""
    if any(file.dv_file is not None for file in touched):
        raise UnsupportedError(
            "a file has a deletion vector, but 'deletion-vectors.enabled' is off: compact the table (full) first"
        )
    live = entries.read_live(target.root, snapshot)
    names = pa.array([file.file_name for file in touched], pa.string())
    return with_kind(live.filter(pc.is_in(live["file_name"], names)), DELETE)


def conforming(assign: Assign, schema: Schema) -> Assign:
    """The same assignment with its result checked against the columns of the table."""
    return lambda rows: conform(assign(rows), schema)
