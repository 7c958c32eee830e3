"""Merging manifests: few large ones instead of many small ones, without entries that cancel each other.

A commit merges when thresholds are passed; `repack` rewrites on demand and sorts. Invariants of every rewrite:

- ADD and DELETE of one file cancel where both are seen.
- A DELETE whose ADD is not seen stays, unless the rewrite covers all manifests.
- Order is kept, except in a full rewrite, after which no DELETE is left.

| way | when | what |
|---|---|---|
| full | manifests that are small or hold deletes reach the full threshold | deletes vanish; big clean manifests stay |
| minor | groups of neighbours reach the target size, or a last group is long enough | group by group |
| repack | asked for | everything, sorted by partition, bucket and level |
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec import binary_rows
from polynya.model.arrow_types import to_arrow_type
from polynya.model.schema import Schema
from polynya.paimon import manifest_list
from polynya.table import entries
from polynya.table.block_copy import copy_manifests
from polynya.table.commit_options import CommitOptions
from polynya.table.history import TableRoot
from polynya.table.manifest_writer import ManifestWriter


@dataclass(frozen=True)
class Packed:
    """A base list before and after merging."""

    before: pa.Table
    after: pa.Table

    def extended(self, before: pa.Table) -> pa.Table | None:
        """The merged list for a table that has moved on: what came behind is added; None after any other change."""
        names, known = before["file_name"].to_pylist(), self.before["file_name"].to_pylist()
        if names[: len(known)] != known:
            return None
        return pa.concat_tables([self.after, before.slice(len(known))])


@dataclass(frozen=True)
class PackReport:
    """What rewriting the manifests would do."""

    manifest_count: int
    manifest_count_after: int
    entry_count: int
    entry_count_after: int
    size_bytes: int


def merge(root: TableRoot, before: pa.Table, writer: ManifestWriter, schema: Schema) -> pa.Table:
    """The manifests after merging as the thresholds of the table say; `before` itself where they say nothing."""
    full = _full(root, before, writer, schema)
    return full if full is not None else _minor(root, before, writer)


def repack(root: TableRoot, before: pa.Table, writer: ManifestWriter, schema: Schema) -> pa.Table:
    """All live entries in new manifests, sorted, so that a plan for one partition reads few of them."""
    if before.num_rows <= 1 and not _deleted_count(before):
        return before
    live = entries.fold(entries.read_entries(root, before))
    return writer.write_manifests(sort_entries(live, schema))


def plan_repack(root: TableRoot, before: pa.Table, schema: Schema) -> PackReport:
    """What `repack` would do, without doing it."""
    live = entries.fold(entries.read_entries(root, before, ["kind", *entries.IDENTITY]))
    entry_count = _entry_count(before)
    size_bytes = pc.sum(before["file_size"]).as_py() or 0
    size_after = size_bytes * live.num_rows / max(1, entry_count)
    target = CommitOptions.of(schema.options).manifest_size_bytes
    return PackReport(before.num_rows, -int(-size_after // target), entry_count, live.num_rows, size_bytes)


def sort_entries(live: pa.Table, schema: Schema) -> pa.Table:
    """The entries by partition values, bucket, level and file name."""
    types = [to_arrow_type(field.type) for field in schema.partition_fields]
    columns = binary_rows.decode_rows(live["partition"], types, name="partition of a manifest entry")
    keys = {f"partition_{index}": column for index, column in enumerate(columns)}
    keys |= {name: live[name] for name in ("bucket", "level", "file_name")}
    return live.take(pc.sort_indices(pa.table(keys), [(name, "ascending") for name in keys]))


def _full(root: TableRoot, before: pa.Table, writer: ManifestWriter, schema: Schema) -> pa.Table | None:
    """The manifests without any DELETE, or None when too little would be gained."""
    sizes, deletes = before["file_size"].to_numpy(), before["num_deleted_files"].to_numpy()
    must_change = (deletes > 0) | (sizes < writer.options.manifest_size_bytes)
    if sizes[must_change].sum() < writer.options.full_merge_size_bytes:
        return None
    deleted = _deleted_entries(root, before.filter(pa.array(deletes > 0)))
    may_change = must_change | _may_hold(before, deleted, schema)
    if may_change.sum() <= 1:
        return None
    chosen = must_change | _holds(root, before, may_change & ~must_change, deleted)
    rewritten = copy_manifests(root, before.filter(pa.array(chosen)), writer, deleted, keeps_deletes=False)
    return pa.concat_tables([before.filter(pa.array(~chosen)), rewritten])


def _minor(root: TableRoot, before: pa.Table, writer: ManifestWriter) -> pa.Table:
    merged = []
    for start, count, rewrites in minor_groups(before["file_size"].to_numpy(), writer.options):
        group = before.slice(start, count)
        if rewrites:
            deleted = _deleted_entries(root, group.filter(pc.greater(group["num_deleted_files"], 0)))
            group = copy_manifests(root, group, writer, deleted, keeps_deletes=True)
        merged.append(group)
    return pa.concat_tables(merged) if merged else manifest_list.empty()


def minor_groups(sizes: np.ndarray, options: CommitOptions) -> Iterator[tuple[int, int, bool]]:
    """Neighbouring manifests as (start, count, whether to merge them): full groups, then the rest."""
    start, collected = 0, 0
    for index, size in enumerate(sizes.tolist()):
        collected += size
        if collected >= options.manifest_size_bytes:
            yield start, index + 1 - start, index > start
            start, collected = index + 1, 0
    rest = len(sizes) - start
    if rest:
        yield start, rest, rest > 1 and rest >= options.merge_count_min


def _deleted_entries(root: TableRoot, metas: pa.Table) -> pa.Table:
    """The DELETE entries of the manifests, identity only."""
    found = entries.read_entries(root, metas, ["kind", *entries.IDENTITY])
    return found.filter(pc.equal(found["kind"], entries.DELETE))


def _may_hold(metas: pa.Table, deleted: pa.Table, schema: Schema) -> np.ndarray:
    """Which manifests may hold an entry of a partition that has a deleted file, by the lists' partition statistics."""
    if deleted.num_rows == 0:
        return np.zeros(metas.num_rows, bool)
    may = np.ones(metas.num_rows, bool)
    types = [to_arrow_type(field.type) for field in schema.partition_fields]
    low, high = (
        binary_rows.decode_rows(metas[name], types, name=f"{name} of a manifest list")
        for name in ("partition_stats_min", "partition_stats_max")
    )
    gone = binary_rows.decode_rows(pc.unique(deleted["partition"]), types, name="partition of a manifest entry")
    for least, most, column in zip(low, high, gone, strict=True):
        if column.null_count:
            continue
        bounds = pc.min_max(column)
        inside = pc.and_(pc.less_equal(least, bounds["max"]), pc.greater_equal(most, bounds["min"]))
        may &= np.asarray(pc.fill_null(inside, True))
    return may


def _holds(root: TableRoot, metas: pa.Table, suspects: np.ndarray, deleted: pa.Table) -> np.ndarray:
    """Which of the suspected manifests do hold an entry that is deleted."""
    holds = np.zeros(metas.num_rows, bool)
    for index in np.flatnonzero(suspects).tolist():
        found = entries.read_entries(root, metas.slice(index, 1), ["kind", *entries.IDENTITY])
        holds[index] = pc.any(entries.is_same(found, deleted)).as_py()
    return holds


def _deleted_count(metas: pa.Table) -> int:
    return pc.sum(metas["num_deleted_files"]).as_py() or 0


def _entry_count(metas: pa.Table) -> int:
    return (pc.sum(metas["num_added_files"]).as_py() or 0) + _deleted_count(metas)
