"""Preparing the next snapshot: everything of a commit but its publication.

A drafter serves all attempts of one part of a change. What an attempt wrote and the next can use again is kept: the
manifest of the change, and merged manifests as long as the table only grew behind them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from polynya.errors import ConflictError
from polynya.model.arrow_types import to_arrow_field, to_arrow_type
from polynya.model.schema import Schema
from polynya.paimon import manifest_list
from polynya.paimon.snapshot import CommitKind, Snapshot
from polynya.table import conflict, entries, history, pack, row_ids
from polynya.table.edit import Edit, Overwrite, combine_index, rows_of
from polynya.table.history import TableRoot
from polynya.table.manifest_writer import ManifestWriter, WrittenList

BLAME_SNAPSHOTS_MAX = 100  # how far back the culprit of a conflict is looked for
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
        self._packed: pack.Packed | None = None

    def prepare(self, latest: Snapshot | None, signature: Signature) -> Draft | None:
        """Write what the snapshot after `latest` refers to; None when it would change nothing.

        Raises ConflictError when the change does not fit `latest`.
        """
        edit = self._resolve(latest)
        if edit.is_empty and self.part.overwrite is not None:
            return None
        self._check(latest, edit)
        before = entries.read_metas(self.root, latest) if latest is not None else manifest_list.empty()
        base = self._base(before)
        if self.part.repacks and base.equals(before):
            return None
        id, next_row_id = (latest.id + 1, latest.next_row_id or 0) if latest is not None else (1, 0)
        stamped, next_row_id = row_ids.assign(edit.files, self.writer.options, next_row_id, id)
        delta = self._delta(stamped)
        lists = self._lists(base, delta, edit.changelog)
        made = self._snapshot(latest, edit, lists, signature)
        made = replace(made, id=id, next_row_id=next_row_id, index_manifest=self._index(latest, edit))
        return Draft(made, edit, self._names(made, base, delta))

    def _resolve(self, latest: Snapshot | None) -> Edit:
        """The edit of this attempt: an overwrite deletes what is there now."""
        if self.part.overwrite is None:
            return self.part.edit
        fields = [to_arrow_field(field) for field in self.schema.partition_fields]
        live = entries.read_live(self.root, latest)
        live = live.filter(pc.greater_equal(live["bucket"], 0))
        replaced = _in_partitions(live, self.part.overwrite, fields)
        if self.writer.options.drops_stats_of_deleted:
            replaced = entries.without_value_stats(replaced)
        index = _in_partitions(entries.read_index(self.root, latest), self.part.overwrite, fields)
        return Edit(
            pa.concat_tables([entries.with_kind(replaced, entries.DELETE), self.part.edit.files]),
            self.part.edit.changelog,
            pa.concat_tables([entries.with_kind(index, entries.DELETE), self.part.edit.index]),
        )

    def _check(self, latest: Snapshot | None, edit: Edit) -> None:
        if not self._must_check(latest, edit):
            conflict.check_bucket_counts(edit.files.slice(0, 0), edit.added)
            return
        base = entries.read_live(self.root, latest, CHECK_COLUMNS)
        base = base.filter(pc.is_in(base["partition"], edit.partitions))
        key_types = [to_arrow_type(field.type) for field in self.schema.key_fields]
        try:
            conflict.check(base, edit, self.part.kind, key_types)
        except conflict.FileConflictError as error:
            raise ConflictError(self._blame(latest, error)) from error

    def _must_check(self, latest: Snapshot | None, edit: Edit) -> bool:
        """An append of new files fits any table, unless a partition was overwritten since the append was planned."""
        if latest is None or self.part.kind == CommitKind.ANALYZE or edit.is_empty:
            return False
        if self.part.kind != CommitKind.APPEND:
            return True
        based_on = self.part.based_on
        if based_on is None or based_on >= latest.id or pc.max(edit.files["total_buckets"]).as_py() <= 0:
            return False
        newer = (history.read_snapshot(self.root, id) for id in range(based_on + 1, latest.id + 1))
        return any(one.commit_kind == CommitKind.OVERWRITE for one in newer)

    def _base(self, before: pa.Table) -> pa.Table:
        """The base list: the manifests so far, merged where the thresholds say so."""
        if self._packed is not None:
            return self._packed.extended(before)
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
            lists.append(self.writer.write_list(self.writer.write_manifests(changelog)))
        return lists

    def _index(self, latest: Snapshot | None, edit: Edit) -> str | None:
        if edit.index.num_rows == 0:
            return latest.index_manifest if latest is not None else None
        combined = combine_index(entries.read_index(self.root, latest), edit.index)
        return self.writer.write_index(combined) if combined.num_rows else None

    def _snapshot(
        self, latest: Snapshot | None, edit: Edit, lists: list[WrittenList], signature: Signature
    ) -> Snapshot:
        base, delta, *changelog = lists
        schema_id = history.latest_schema_id(self.root, self.schema.id)
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
        referred = {made.base_manifest_list, made.delta_manifest_list, made.index_manifest}
        referred |= {*base["file_name"].to_pylist(), *delta["file_name"].to_pylist()}
        if made.changelog_manifest_list is not None:
            referred.add(made.changelog_manifest_list)
            changelog = entries.read_lists(self.root, [made.changelog_manifest_list])
            referred |= set(changelog["file_name"].to_pylist())
        return frozenset(name for name in referred if name is not None)

    def _blame(self, latest: Snapshot | None, error: conflict.FileConflictError) -> str:
        """The message of a conflict with the snapshot and the user that touched the file, where they can be found."""
        what_next = "read the table again and repeat the operation on what is there now"
        recent = history.newest_first(self.root, latest.id if latest is not None else 0)
        for _, one in zip(range(BLAME_SNAPSHOTS_MAX), recent, strict=False):
            delta = entries.read_entries(self.root, entries.read_delta_metas(self.root, one), ["file_name", "kind"])
            if error.file_name in delta["file_name"].to_pylist():
                return (
                    f"{error}: snapshot {one.id} ({one.commit_kind}) by user {one.commit_user} changed it; {what_next}"
                )
        return f"{error}; {what_next}"


def _in_partitions(table: pa.Table, overwrite: Overwrite, fields: list[pa.Field]) -> pa.Table:
    partitions = pc.unique(table["partition"])
    chosen = partitions.filter(overwrite.selects(partitions, fields))
    return table.filter(pc.is_in(table["partition"], chosen))


def _carried_statistics(latest: Snapshot | None, schema_id: int) -> str | None:
    return latest.statistics if latest is not None and latest.schema_id == schema_id else None
