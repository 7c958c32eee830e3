"""What a commit changes, as values.

An edit lists files to add and to delete, in the columns of a manifest, and index files in those of an index manifest.
A change is what a caller hands to commit: an append part and a compact part, which become a snapshot each, and the
partitions that the append part replaces, if it does. `based_on` is the snapshot that the change was planned on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec import binary_rows
from polynya.errors import ConflictError
from polynya.paimon import index_manifest, manifest
from polynya.paimon.snapshot import CommitKind
from polynya.table.entries import ADD, DELETE

DELETION_VECTORS = index_manifest.DELETION_VECTORS
HASH = "HASH"


class ChangeConflictError(ConflictError):
    """A conflict with what it is about, so that the commit can find out and say which snapshot is the other side."""

    def __init__(self, message: str, about: pa.Table, *, in_index: bool = False) -> None:
        super().__init__(message)
        self.partition: bytes = about["partition"][0].as_py()
        self.bucket: int | None = about["bucket"][0].as_py() if "bucket" in about.column_names else None
        self.file_name: str | None = about["file_name"][0].as_py() if "file_name" in about.column_names else None
        self.in_index = in_index


@dataclass(frozen=True)
class Edit:
    """Files added and deleted; `changelog` files are listed apart and belong to no state of the table."""

    files: pa.Table = field(default_factory=manifest.empty)
    changelog: pa.Table = field(default_factory=manifest.empty)
    index: pa.Table = field(default_factory=index_manifest.empty)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is changed."""
        return not (self.files.num_rows or self.changelog.num_rows or self.index.num_rows)

    @cached_property
    def added(self) -> pa.Table:
        """The entries that add a file."""
        return self.files.filter(pc.equal(self.files["kind"], ADD))

    @cached_property
    def deleted(self) -> pa.Table:
        """The entries that delete a file."""
        return self.files.filter(pc.equal(self.files["kind"], DELETE))

    @cached_property
    def record_count(self) -> int:
        """Rows of added files minus rows of deleted files."""
        return rows_of(self.added) - rows_of(self.deleted)

    @cached_property
    def partitions(self) -> pa.Array:
        """The distinct partitions whose files or deletion vectors change."""
        vectors = self.index.filter(pc.not_equal(self.index["index_type"], HASH))
        return pc.unique(pa.chunked_array([*self.files["partition"].chunks, *vectors["partition"].chunks], pa.binary()))

    @cached_property
    def has_deletes(self) -> bool:
        """Whether rows go away: a file is deleted, or deletion vectors change."""
        return self.deleted.num_rows > 0 or pc.any(pc.equal(self.index["index_type"], DELETION_VECTORS)).as_py() is True


@dataclass(frozen=True)
class Overwrite:
    """The partitions that a commit replaces: those listed, or those that match the spec, or (neither given) all."""

    partitions: tuple[bytes, ...] | None = None
    spec: Mapping[str, pa.Scalar] | None = None

    def selects(self, partitions: pa.Array, fields: Sequence[pa.Field]) -> pa.BooleanArray:
        """Which of the partition rows are replaced; `fields` are the partition columns."""
        if self.partitions is not None:
            return pc.is_in(partitions, pa.array(self.partitions, pa.binary()))
        if not self.spec:
            return pa.array(np.ones(len(partitions), bool))
        types = [one.type for one in fields]
        columns = binary_rows.decode_rows(partitions, types, name="partition of a manifest entry")
        mask = np.ones(len(partitions), bool)
        for one, column in zip(fields, columns, strict=True):
            if one.name in self.spec:
                mask &= _is_value(column, self.spec[one.name])
        return pa.array(mask)


@dataclass(frozen=True)
class Change:
    """One commit as its caller sees it."""

    append: Edit = field(default_factory=Edit)
    compact: Edit = field(default_factory=Edit)
    overwrite: Overwrite | None = None
    statistics: str | None = None
    operation: str | None = None
    based_on: int | None = None

    @property
    def append_kind(self) -> CommitKind:
        """The kind of the snapshot that the append part makes."""
        if self.statistics is not None:
            return CommitKind.ANALYZE
        if self.overwrite is not None or self.append.has_deletes:
            return CommitKind.OVERWRITE
        return CommitKind.APPEND


def rows_of(entries: pa.Table) -> int:
    """The number of rows that the entries' files hold."""
    total: int | None = pc.sum(entries["row_count"]).as_py()
    return total or 0


def combine_index(current: pa.Table, changes: pa.Table) -> pa.Table:
    """The index files after the changes; ConflictError when a file to replace is not the current one any more.

    A hash index is replaced by bucket. Deletion vectors name the file that they replace.
    """
    if changes.num_rows == 0:
        return current
    is_add = pc.equal(changes["kind"], ADD)
    adds, deletes = changes.filter(is_add), changes.filter(pc.invert(is_add))
    missing = deletes.filter(pc.invert(pc.is_in(deletes["file_name"], pc.unique(current["file_name"]))))
    if missing.num_rows:
        message = f"index file {missing['file_name'][0]} was replaced by another writer"
        raise ChangeConflictError(message, missing, in_index=True)
    kept = current.filter(pc.invert(pc.is_in(current["file_name"], pc.unique(deletes["file_name"]))))
    hashed = adds.filter(pc.equal(adds["index_type"], HASH))
    kept = kept.filter(pc.invert(pc.is_in(_bucket_keys(kept), pc.unique(_bucket_keys(hashed)))))
    combined = pa.concat_tables([kept, adds])
    _require_one_vector_per_file(combined)
    return combined


def vectors_by_file(index: pa.Table) -> pa.Table:
    """One row for each deletion vector: partition, bucket, data file, index file, offset, length, cardinality."""
    vectors = index.filter(pc.equal(index["index_type"], DELETION_VECTORS)).combine_chunks()
    ranges = vectors["dv_ranges"].combine_chunks()
    parents = pc.list_parent_indices(ranges)
    flat = pc.list_flatten(ranges)
    owners = vectors.select(["partition", "bucket", "file_name", "file_size", "external_path"]).take(parents)
    return pa.table(
        {
            "partition": owners["partition"],
            "bucket": owners["bucket"],
            "file_name": pc.struct_field(flat, "file_name"),
            "index_file": owners["file_name"],
            "index_file_size": owners["file_size"],
            "external_path": owners["external_path"],
            "offset": pc.struct_field(flat, "offset"),
            "length": pc.struct_field(flat, "length"),
            "cardinality": pc.struct_field(flat, "cardinality"),
        }
    )


def _require_one_vector_per_file(index: pa.Table) -> None:
    vectors = vectors_by_file(index)
    names = vectors["file_name"]
    if len(pc.unique(names)) != len(names):
        counts = pc.value_counts(names)
        twice = counts.filter(pc.greater(counts.field("counts"), 1)).field("values")[0]
        message = f"deletion vectors of data file {twice} were changed by another writer"
        raise ChangeConflictError(message, vectors.filter(pc.equal(names, twice)), in_index=True)


def _bucket_keys(index: pa.Table) -> pa.ChunkedArray:
    bucket = index["bucket"].cast(pa.string()).cast(pa.binary())
    kind = index["index_type"].cast(pa.binary())
    return pc.binary_join_element_wise(kind, bucket, index["partition"], b"\x00")


def _is_value(column: pa.Array, value: pa.Scalar) -> np.ndarray:
    if not value.is_valid:
        return np.asarray(pc.is_null(column))
    return np.asarray(pc.fill_null(pc.equal(column, value), False))
