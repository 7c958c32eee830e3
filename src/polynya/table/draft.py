"""Preparing the next snapshot: everything of a commit but its publication.

A drafter serves all attempts of one part of a change. What an attempt wrote and the next can use again is kept: the
manifest of the change, and merged manifests as long as the table only grew behind them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from polynya.errors import ConflictError, InvalidInputError, NotFoundError
from polynya.model.arrow_types import to_arrow_field, to_arrow_type
from polynya.model.options_data import BUCKET
from polynya.model.schema import Schema
from polynya.paimon import index_manifest, layout, manifest, manifest_list
from polynya.paimon.snapshot import CommitKind, Snapshot
from polynya.table import blame, conflict, entries, history, pack, row_ids
from polynya.table.edit import ChangeConflictError, Edit, Overwrite, combine_index, rows_of
from polynya.table.history import TableRoot
from polynya.table.manifest_writer import ManifestWriter, WrittenList
from polynya.table.paths import partition_paths

CHECK_COLUMNS = (*entries.IDENTITY, "kind", "total_buckets", "min_key", "max_key", "row_count")


@dataclass(frozen=True)
class Part:
    """The part of a change that becomes one snapshot."""

    kind: CommitKind
    edit: Edit
    overwrite: Overwrite | None = None
    statistics: str | None = None
    operation: str | None = None
    based_on: int | None = None
    repacks: bool = False


@dataclass(frozen=True)
class Signature:
    """What the author and the clock give to a snapshot."""

    uuid: str
    user: str
    identifier: int
    time_ms: int
    watermark: int | None = None
    properties: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Draft:
    """A snapshot that is ready to be published, the edit it holds, and the metadata files it refers to."""

    snapshot: Snapshot
    edit: Edit
    names: frozenset[str]


class Drafter:
    """Prepares snapshots for one part until one of them is published."""

    def __init__(self, root: TableRoot, schema: Schema, part: Part, new_uuid: Callable[[], str]) -> None:
        self.root, self.schema, self.part = root, schema, part
        self.writer = ManifestWriter(root.storage, schema, new_uuid())
        self._delta_metas: pa.Table | None = None
        self._changelog_metas: pa.Table | None = None
        self._packed: pack.Packed | None = None

    def prepare(self, latest: Snapshot | None, signature: Signature) -> Draft | None:
        """Write what the snapshot after `latest` refers to; None when it would change nothing.

        Raises ConflictError when the change does not fit `latest`.
        """
        edit = self._resolve(latest)
        if edit.is_empty and self.part.overwrite is not None:
            return None
        index = self._fitting_index(latest, edit)
        before = entries.read_metas(self.root, latest) if latest is not None else manifest_list.empty()
        base = self._base(before)
        if self.part.repacks and base.equals(before):
            return None
        id, next_row_id = (latest.id + 1, latest.next_row_id or 0) if latest is not None else (1, 0)
        stamped, next_row_id = row_ids.assign(edit.files, self.writer.options, next_row_id, id)
        delta = self._delta(stamped)
        lists = self._lists(base, delta, edit.changelog)
        made = self._snapshot(latest, edit, lists, signature)
        made = replace(made, id=id, next_row_id=next_row_id, index_manifest=self._index(latest, edit, index))
        return Draft(made, edit, self._names(made, base, delta))

    def _resolve(self, latest: Snapshot | None) -> Edit:
        """The edit of this attempt: an overwrite deletes what is there now."""
        if self.part.overwrite is None:
            return self.part.edit
        fields = [to_arrow_field(field) for field in self.schema.partition_fields]
        self._require_inside(self.part.overwrite, fields)
        live = entries.read_live(self.root, latest)
        if BUCKET.of(self.schema.options) != layout.POSTPONE_BUCKET:
            live = live.filter(pc.greater_equal(live["bucket"], 0))
        replaced = _in_partitions(live, self.part.overwrite, fields)
        if self.writer.options.drops_stats_of_deleted:
            replaced = entries.without_value_stats(replaced)
        index = _in_partitions(entries.read_index(self.root, latest), self.part.overwrite, fields)
        return Edit(
            pa.concat_tables([entries.with_kind(replaced, entries.DELETE), self.part.edit.files]),
            manifest.empty(),  # an overwrite has no changelog: it is not a change of rows
            pa.concat_tables([entries.with_kind(index, entries.DELETE), self.part.edit.index]),
        )

    def _require_inside(self, overwrite: Overwrite, fields: list[pa.Field]) -> None:
        partitions = pc.unique(self.part.edit.files["partition"])
        outside = partitions.filter(pc.invert(overwrite.selects(partitions, fields)))
        if len(outside):
            path = partition_paths(outside[:1], self.schema)[0]
            raise InvalidInputError(f"overwrite: a new file is in partition {path}, which is not among those replaced")

    def _fitting_index(self, latest: Snapshot | None, edit: Edit) -> pa.Table:
        """The index files after the edit, once it is known that the edit fits the table."""
        must_check = self._must_check(latest, edit)
        current = entries.read_index(self.root, latest) if must_check or edit.index.num_rows else index_manifest.empty()
        try:
            index = combine_index(current, edit.index)
            self._check(latest if must_check else None, edit, index)
        except ChangeConflictError as error:
            raise ConflictError(blame.explain(self.root, self.schema, latest, error)) from error
        return index

    def _check(self, latest: Snapshot | None, edit: Edit, index: pa.Table) -> None:
        """Raise ConflictError unless the edit fits the snapshot, and in any case itself."""
        if latest is None:
            nothing = edit.files.slice(0, 0)
            conflict.check_bucket_counts(nothing, edit.added)
            conflict.check_added(nothing, edit)
            return
        live = entries.read_live(self.root, latest, CHECK_COLUMNS)
        base, touched = (one.filter(pc.is_in(one["partition"], edit.partitions)) for one in (live, index))
        key_types = [to_arrow_type(field.type) for field in self.schema.key_fields]
        conflict.check(base, edit, touched, self.part.kind, key_types)

    def _must_check(self, latest: Snapshot | None, edit: Edit) -> bool:
        """An append of new files fits any table, unless a partition was overwritten since the append was planned."""
        if latest is None or self.part.kind == CommitKind.ANALYZE or edit.is_empty:
            return False
        if self.part.kind != CommitKind.APPEND:
            return True
        based_on = self.part.based_on
        has_buckets = pc.any(pc.greater(edit.files["total_buckets"], 0)).as_py()
        return bool(has_buckets) and based_on is not None and self._was_overwritten(based_on, latest.id)

    def _was_overwritten(self, after: int, until: int) -> bool:
        """Whether a snapshot of the range is an OVERWRITE, or cannot be looked at any more."""
        try:
            kinds = [history.read_snapshot(self.root, id).commit_kind for id in range(after + 1, until + 1)]
        except NotFoundError:
            return True
        return CommitKind.OVERWRITE in kinds

    def _base(self, before: pa.Table) -> pa.Table:
        """The base list: the manifests so far, merged where the thresholds say so."""
        extended = self._packed.extended(before) if self._packed is not None else None
        if extended is not None:
            return extended
        if self._packed is not None and not self.part.repacks:
            return before  # somebody else merged: once is enough
        rewrite = pack.repack if self.part.repacks else pack.merge
        self._packed = pack.Packed(before, rewrite(self.root, before, self.writer, self.schema))
        return self._packed.after

    def _delta(self, stamped: pa.Table) -> pa.Table:
        if stamped is not self.part.edit.files:
            return self.writer.write_manifests(stamped)
        if self._delta_metas is None:
            self._delta_metas = self.writer.write_manifests(stamped)
        return self._delta_metas

    def _lists(self, base: pa.Table, delta: pa.Table, changelog: pa.Table) -> list[WrittenList]:
        lists = [self.writer.write_list(base), self.writer.write_list(delta)]
        if changelog.num_rows:
            if self._changelog_metas is None:
                self._changelog_metas = self.writer.write_manifests(changelog)
            lists.append(self.writer.write_list(self._changelog_metas))
        return lists

    def _index(self, latest: Snapshot | None, edit: Edit, index: pa.Table) -> str | None:
        if edit.index.num_rows == 0:
            return latest.index_manifest if latest is not None else None
        return self.writer.write_index(index) if index.num_rows else None

    def _snapshot(
        self, latest: Snapshot | None, edit: Edit, lists: list[WrittenList], signature: Signature
    ) -> Snapshot:
        base, delta, *changelog = lists
        schema_id = history.latest_schema_id(self.root, self.schema)
        return Snapshot(
            id=0,
            uuid=signature.uuid,
            schema_id=schema_id,
            base_manifest_list=base.name,
            base_manifest_list_size=base.size_bytes,
            delta_manifest_list=delta.name,
            delta_manifest_list_size=delta.size_bytes,
            changelog_manifest_list=changelog[0].name if changelog else None,
            changelog_manifest_list_size=changelog[0].size_bytes if changelog else None,
            commit_user=signature.user,
            commit_identifier=signature.identifier,
            commit_kind=self.part.kind,
            time_ms=signature.time_ms,
            watermark=signature.watermark,
            properties=signature.properties,
            total_record_count=self._total(latest) + edit.record_count,
            delta_record_count=edit.record_count,
            changelog_record_count=rows_of(edit.changelog) if changelog else None,
            statistics=self.part.statistics or _carried_statistics(latest, schema_id),
            operation=self.part.operation,
        )

    def _total(self, latest: Snapshot | None) -> int:
        if latest is None:
            return 0
        if latest.total_record_count is not None:
            return latest.total_record_count
        return rows_of(entries.read_live(self.root, latest, ["row_count"]))

    def _names(self, made: Snapshot, base: pa.Table, delta: pa.Table) -> frozenset[str]:
        """The metadata files of this snapshot that must stay."""
        lists = {made.base_manifest_list, made.delta_manifest_list, made.changelog_manifest_list, made.index_manifest}
        metas = [base, delta] if self._changelog_metas is None else [base, delta, self._changelog_metas]
        manifests = {name for one in metas for name in one["file_name"].to_pylist()}
        return frozenset(manifests | {name for name in lists if name is not None})


def _in_partitions(table: pa.Table, overwrite: Overwrite, fields: list[pa.Field]) -> pa.Table:
    partitions = pc.unique(table["partition"])
    chosen = partitions.filter(overwrite.selects(partitions, fields))
    return table.filter(pc.is_in(table["partition"], chosen))


def _carried_statistics(latest: Snapshot | None, schema_id: int) -> str | None:
    return latest.statistics if latest is not None and latest.schema_id == schema_id else None
