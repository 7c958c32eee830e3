"""Whether a change still fits the table, checked against the latest snapshot just before publishing.

Every check is pure: it takes the live entries of the changed partitions and the change, and raises ConflictError.

1. The files of a partition are of one bucket count; only an overwrite of all of them changes it.
2. A file is added once, and a file that is deleted is there.
3. On levels above 0 the key ranges of one bucket and level do not overlap.
4. A deletion vector belongs to a live file; so a file that got one since cannot be replaced by its old rows.
5. The vectors of a fixed bucket stand in one index file.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec import binary_rows
from polynya.errors import InvalidInputError
from polynya.paimon.snapshot import CommitKind
from polynya.table.edit import DELETION_VECTORS, ChangeConflictError, Edit, vectors_by_file
from polynya.table.entries import identities, is_same


def check(base: pa.Table, edit: Edit, index: pa.Table, kind: CommitKind, key_types: Sequence[pa.DataType]) -> None:
    """Raise ConflictError unless the edit fits the live entries `base` of the partitions that it touches.

    `index` are the index files of these partitions after the edit.
    """
    after = live_after(base, edit)
    check_bucket_counts(base if kind != CommitKind.OVERWRITE else after, edit.added)
    check_added(base, edit)
    check_deleted(base, edit.deleted)
    if key_types:
        check_key_ranges(after, edit.added, key_types)
    check_vectors(after, index)
    check_vector_files(after, index)


def live_after(base: pa.Table, edit: Edit) -> pa.Table:
    """The live entries once the edit is applied."""
    kept = base.filter(pc.invert(is_same(base, edit.deleted))) if edit.deleted.num_rows else base
    return pa.concat_tables([kept, edit.added.select(kept.schema.names)])


def check_bucket_counts(base: pa.Table, added: pa.Table) -> None:
    """Entries of one partition agree on the number of buckets, where they have a fixed one."""
    both = pa.concat_tables([part.select(["partition", "total_buckets"]) for part in (base, added)])
    fixed = both.filter(pc.greater(both["total_buckets"], 0))
    if not fixed.num_rows:
        return
    counts = fixed.group_by("partition", use_threads=False).aggregate(
        [("total_buckets", "min"), ("total_buckets", "max")]
    )
    differing = counts.filter(pc.not_equal(counts["total_buckets_min"], counts["total_buckets_max"]))
    if differing.num_rows:
        low, high = differing["total_buckets_min"][0], differing["total_buckets_max"][0]
        raise ChangeConflictError(
            f"the files are of {low} and of {high} buckets; overwrite the partition to change its bucket count",
            differing,
        )


def check_added(base: pa.Table, edit: Edit) -> None:
    """No file is added twice, and none that is already there."""
    added = edit.added
    if len(pc.unique(added["file_name"])) < added.num_rows and len(pc.unique(identities(added))) < added.num_rows:
        raise InvalidInputError("the change adds a file twice")
    kept = base.filter(pc.invert(is_same(base, edit.deleted))) if edit.deleted.num_rows else base
    present = added.filter(is_same(added, kept)) if kept.num_rows and added.num_rows else added.slice(0, 0)
    if present.num_rows:
        raise _file_conflict(present, "is in the table already")


def check_deleted(base: pa.Table, deleted: pa.Table) -> None:
    """Every file to delete is live."""
    if deleted.num_rows == 0:
        return
    gone = deleted.filter(pc.invert(is_same(deleted, base)))
    if gone.num_rows:
        raise _file_conflict(gone, "is not in the table any more")


def check_key_ranges(live: pa.Table, added: pa.Table, key_types: Sequence[pa.DataType]) -> None:
    """On each level above 0 of a bucket the key ranges of the files are disjoint."""
    if not pc.any(pc.greater(added["level"], 0)).as_py():
        return
    files = live.filter(pc.greater(live["level"], 0))
    clash = find_overlap(files, key_types)
    if clash is not None:
        raise _file_conflict(files.slice(clash, 1), "overlaps another file of its level; plan the compaction again")


def find_overlap(files: pa.Table, key_types: Sequence[pa.DataType]) -> int | None:
    """The index of a file whose key range reaches into the next one of its partition, bucket and level, or None."""
    if files.num_rows < 2:
        return None
    low, high = key_ranks(files, key_types)
    group = _group_ids(files)
    order = np.lexsort((low, group))
    same = group[order][1:] == group[order][:-1]
    overlapping = same & (high[order][:-1] >= low[order][1:])
    return int(order[:-1][overlapping][0]) if overlapping.any() else None


def key_ranks(files: pa.Table, key_types: Sequence[pa.DataType]) -> tuple[np.ndarray, np.ndarray]:
    """The smallest and the largest key of each file as numbers in key order, comparable with each other."""
    keys = pa.chunked_array([*files["min_key"].chunks, *files["max_key"].chunks], pa.binary())
    columns = binary_rows.decode_rows(keys, list(key_types), name="key of a manifest entry")
    names = [str(index) for index in range(len(columns))]
    table = pa.table(dict(zip(names, columns, strict=True)))
    order = np.asarray(pc.sort_indices(table, [(name, "ascending") for name in names]))
    ordered = table.take(order)
    changed = np.zeros(len(order), bool)
    for name in names:
        column = ordered[name].combine_chunks()
        changed[1:] |= np.asarray(pc.fill_null(pc.not_equal(column[1:], column[:-1]), True))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.cumsum(changed)
    return ranks[: files.num_rows], ranks[files.num_rows :]


def check_vectors(live: pa.Table, index: pa.Table) -> None:
    """Every deletion vector belongs to a live file."""
    stray = stray_vectors(live, index)
    if stray.num_rows:
        name = stray["file_name"][0]
        raise ChangeConflictError(f"data file {name}, of which rows are deleted, is not in the table any more", stray)


def check_vector_files(live: pa.Table, index: pa.Table) -> None:
    """A bucket of a table with fixed buckets has its deletion vectors in one file."""
    fixed = pc.unique(live.filter(pc.greater(live["total_buckets"], 0))["partition"])
    vectors = index.filter(pc.equal(index["index_type"], DELETION_VECTORS))
    vectors = vectors.filter(pc.is_in(vectors["partition"], fixed))
    counts = vectors.group_by(["partition", "bucket"], use_threads=False).aggregate([("file_name", "count")])
    several = counts.filter(pc.greater(counts["file_name_count"], 1))
    if several.num_rows:
        raise ChangeConflictError("its deletion vectors were changed by another writer", several, in_index=True)


def stray_vectors(live: pa.Table, index: pa.Table) -> pa.Table:
    """The deletion vectors of files that are not live."""
    vectors = vectors_by_file(index)
    return vectors.filter(pc.invert(pc.is_in(vectors["file_name"], pc.unique(live["file_name"]))))


def _group_ids(files: pa.Table) -> np.ndarray:
    bucket, level = (files[name].cast(pa.string()).cast(pa.binary()) for name in ("bucket", "level"))
    keys = pc.binary_join_element_wise(bucket, level, files["partition"], b"\x00").combine_chunks()
    return np.asarray(keys.dictionary_encode().indices)


def _file_conflict(entries: pa.Table, what: str) -> ChangeConflictError:
    return ChangeConflictError(f"data file {entries['file_name'][0]} {what}", entries)
