"""The Iceberg twin of a Paimon table: Iceberg metadata over Paimon's own data files.

Snapshot N of Paimon is snapshot N of Iceberg, with sequence number N; the metadata that has it as its current one is
`v<N>.metadata.json`. Invariants:

- The twin follows: publishing starts where the twin stands and adds snapshot by snapshot. It never writes to the table.
- A snapshot in the twin names the Paimon snapshot it was made from. What Paimon does not have any more (expired, rolled
  back) leaves the twin; a tag keeps its snapshot.
- The change of a snapshot is its delta, so the cost is that of the change. A snapshot is written in full when the one
  before it is not in the twin, or was made for another view.
- The metadata file is created if absent, the hint follows; whoever comes second looks again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from uuid import NAMESPACE_URL, uuid4, uuid5

import pyarrow as pa
import pyarrow.compute as pc

from polynya.errors import AlreadyExistsError, ConflictError, InvalidInputError, NotFoundError, UnsupportedError
from polynya.iceberg import manifest_list
from polynya.iceberg.layout import find_version, metadata_name
from polynya.iceberg.manifest import Header
from polynya.iceberg.metadata import MAIN, IcebergSchema, IcebergSnapshot, LogEntry, Ref, TableMetadata
from polynya.iceberg.partition_spec import FIRST_FIELD_ID
from polynya.model.options import level_count
from polynya.model.schema import Schema
from polynya.paimon import layout as paimon_layout
from polynya.paimon.snapshot import Snapshot
from polynya.table import entries, history, twin_course, twin_schema, twin_store
from polynya.table.history import TableRoot
from polynya.table.twin_change import ChangeFinder, Positions, TwinState
from polynya.table.twin_course import Timeline
from polynya.table.twin_files import FileRules, partition_columns
from polynya.table.twin_manifests import ManifestWriter, with_row_ids
from polynya.table.twin_settings import TwinSettings, is_published
from polynya.table.twin_store import Current
from polynya.table.twin_summary import VIEW_KEY, identity, summary
from polynya.table.twin_view import View, is_seen, require_parquet

ATTEMPTS_MAX = 5


@dataclass(frozen=True)
class Published:
    """What a publish did: the current metadata, its snapshot, and the snapshots that were new to the twin."""

    metadata_location: str | None
    snapshot_id: int | None
    new_snapshot_ids: tuple[int, ...] = ()


@dataclass(frozen=True)
class MirrorSource:
    """The table to publish; `positions` finds rows that are hidden."""

    root: TableRoot
    schema: Schema
    positions: Positions


def publish(source: MirrorSource, settings: TwinSettings, *, history_too: bool = False) -> Published:
    """Bring the twin up to the latest snapshot; `history_too` makes one that begins late anew, from the earliest one.

    ConflictError when others publish faster, UnsupportedError for a table that Iceberg cannot express.
    """
    if source.root.branch != paimon_layout.MAIN_BRANCH:
        raise InvalidInputError(f"branch '{source.root.branch}': only the main branch has an Iceberg twin")
    for _ in range(ATTEMPTS_MAX):
        try:
            return _Publisher(source, settings, history_too).publish()
        except (AlreadyExistsError, NotFoundError) as error:
            failure = error  # somebody published, or cleaned up, at the same time: look again
    raise ConflictError(f"Iceberg twin of {source.root.storage.location}: others were first every time: {failure}")


class _Publisher:
    """One attempt."""

    def __init__(self, source: MirrorSource, settings: TwinSettings, history_too: bool) -> None:
        self.source, self.settings, self.history_too = source, settings, history_too
        self.root, self.folder, self.view = source.root, settings.folder, settings.view
        self.latest_id = 0
        self._schemas: dict[int, Schema] = {source.schema.id: source.schema}

    def publish(self) -> Published:
        latest = history.find_latest(self.root)
        if latest is None:
            return Published(None, None)
        self.latest_id = latest.id
        if latest.schema_id > self.source.schema.id:  # the table was altered since it was opened
            self.source = replace(self.source, schema=self._schema_of(latest.schema_id))
        current = twin_store.find_current(self.folder)
        timeline = twin_course.read_timeline(self.root, latest)
        kept = twin_course.kept(self.root, current, timeline, self.settings)
        if self.history_too and twin_course.begins_late(kept, timeline):
            kept = []
        if not kept or kept[-1].snapshot_id < latest.id - 1:
            self._require_expressible(latest)  # before the snapshots on the way to it are made
        wanted = twin_course.missing(self.root, timeline, self._is_due(current, kept))
        made = self._extended(current, kept, wanted, timeline)
        location = f"{self.folder.url}/v{latest.id}.metadata.json"
        is_newest = True
        if current is None or made != current.metadata or current.version != latest.id:
            if current is not None and current.version == latest.id:
                current = twin_store.put_aside(self.folder, current)
            is_newest = twin_store.put_version(self.folder, latest.id, made, current)
        elif current.hinted != latest.id:
            twin_store.put_hint(self.folder, latest.id)
        if current is not None and is_newest:
            self._clear(current, made, latest.id)
        old = {one.snapshot_id for one in kept}
        return Published(
            location, latest.id, tuple(one.snapshot_id for one in made.snapshots if one.snapshot_id not in old)
        )

    def _is_due(self, current: Current | None, kept: Sequence[IcebergSnapshot]) -> Callable[[Snapshot], bool]:
        """Whether a snapshot that the twin lacks belongs into it; see `twin_course`."""
        if kept:
            return lambda one: one.id > kept[-1].snapshot_id
        had = [one.snapshot_id for one in current.metadata.snapshots] if current is not None else []
        first = 0 if self.history_too else min((*had, self.latest_id))
        return lambda one: one.id >= first or is_published(self._schema_of(one.schema_id).options)

    def _extended(
        self, current: Current | None, kept: list[IcebergSnapshot], wanted: Sequence[Snapshot], timeline: Timeline
    ) -> TableMetadata:
        """The metadata of the twin with the wanted snapshots made and added."""
        schemas = self._iceberg_schemas(current if kept else None)
        old = current.metadata if current is not None else None
        next_row_id = _next_row_id(old) if old is not None else 0
        snapshots = list(kept)
        if old is not None and not wanted and old.current_schema_id != self.source.schema.id:
            self._require_readable(timeline.latest, None)  # altered since: readers take the newest schema
        for one in wanted:
            before = snapshots[-1] if snapshots else None
            try:
                self._require_readable(one, before)
                made, next_row_id = self._make(one, before, schemas, next_row_id)
            except UnsupportedError:
                if one is wanted[-1]:
                    raise
                continue  # no Iceberg reader could read this one; a later one may do without its files
            snapshots.append(made)
        spec = twin_schema.spec_of(self.source.schema)
        ids = {one.snapshot_id for one in snapshots}
        in_line = [one for one in snapshots if one.snapshot_id >= timeline.earliest_id]
        metadata_log = self._metadata_log(current, timeline.latest.id)
        times = [one.timestamp_ms for one in snapshots] + [one.timestamp_ms for one in metadata_log]
        refs = {MAIN: Ref(timeline.latest.id, "branch")}
        refs |= {name: Ref(one.id, "tag") for name, one in sorted(timeline.tags.items()) if one.id in ids}
        return TableMetadata(
            format_version=self.folder.version,
            table_uuid=old.table_uuid if old is not None and old.table_uuid else str(uuid4()),
            location=self.settings.table_url,
            last_sequence_number=timeline.latest.id,
            last_updated_ms=max(timeline.latest.time_ms, *times),
            last_column_id=twin_schema.last_column_id(schemas.values(), self.source.schema),
            schemas=tuple(schemas.values()),
            current_schema_id=self.source.schema.id,
            partition_specs=(spec,),
            default_spec_id=spec.spec_id,
            last_partition_id=max(spec.field_ids, default=FIRST_FIELD_ID - 1),
            properties=self._properties(old, schemas),
            current_snapshot_id=timeline.latest.id,
            snapshots=tuple(snapshots),
            snapshot_log=_snapshot_log(in_line),
            metadata_log=metadata_log,
            refs=refs,
            next_row_id=next_row_id if self.folder.version > 2 else None,
        )

    def _make(
        self, snapshot: Snapshot, before: IcebergSnapshot | None, schemas: Mapping[int, IcebergSchema], next_row_id: int
    ) -> tuple[IcebergSnapshot, int]:
        """Write the manifests of one snapshot."""
        schema = self._schema_of(snapshot.schema_id)
        partition = partition_columns(schema, FIRST_FIELD_ID)
        rules = FileRules(self.settings.table_url, schema, self._schema_of, partition)
        header = self._header(schemas[schema.id], schema)
        base = before if before is not None and self._extends(before, snapshot) else None
        uuid = self._uuid(snapshot, before, base, next_row_id)
        writer = ManifestWriter(self.folder, partition, header, snapshot.id, uuid)
        metas = manifest_list.empty()
        if base is not None and base.manifest_list is not None:
            metas = manifest_list.decode([self.folder.read(base.manifest_list)])
        state = TwinState(self.root, self.view, rules, self.source.positions)
        finder = ChangeFinder(state, self.folder, metas)
        change, hidden = finder.delta(snapshot) if base is not None else finder.whole(snapshot)
        edition = writer.edit(metas, change)
        first_row_id = next_row_id
        listed = edition.metas
        if self.folder.version > 2:
            listed, next_row_id = with_row_ids(listed, next_row_id)
        keys = {"snapshot-id": str(snapshot.id), "sequence-number": str(snapshot.id)}
        keys["parent-snapshot-id"] = "null" if before is None else str(before.snapshot_id)
        made = IcebergSnapshot(
            snapshot_id=snapshot.id,
            parent_snapshot_id=before.snapshot_id if before is not None else None,
            sequence_number=snapshot.id,
            timestamp_ms=snapshot.time_ms,
            manifest_list=writer.write_list(listed, keys),
            summary=summary(snapshot, edition, base, hidden, self.view),
            schema_id=schema.id,
            first_row_id=first_row_id if self.folder.version > 2 else None,
            added_rows=next_row_id - first_row_id if self.folder.version > 2 else None,
        )
        return made, next_row_id

    def _uuid(
        self, snapshot: Snapshot, before: IcebergSnapshot | None, base: IcebergSnapshot | None, next_row_id: int
    ) -> str:
        """The id in the names of a snapshot's files: who makes the same files again, since it broke off, replaces them.

        It follows from all that decides about their bytes, so that files of one name have one length.
        """
        above = before.snapshot_id if before is not None else None, base.manifest_list if base is not None else None
        folder = self.folder
        how = self.view.value, folder.version, folder.codec, folder.legacy_names, folder.merge, pa.__version__
        return str(uuid5(NAMESPACE_URL, repr((identity(snapshot), snapshot.schema_id, above, how, next_row_id))))

    def _extends(self, before: IcebergSnapshot, snapshot: Snapshot) -> bool:
        """Whether the snapshot can be made of the one before by its delta."""
        if before.snapshot_id != snapshot.id - 1 or before.summary.get(VIEW_KEY) != self.view:
            return False
        if self.view is not View.TOP or before.schema_id in (None, snapshot.schema_id):
            return True
        tops = {level_count(self._schema_of(id).options) for id in (before.schema_id, snapshot.schema_id)}
        return len(tops) == 1  # else the files of another level are seen now

    def _header(self, schema: IcebergSchema, of: Schema) -> Callable[[int], Header]:
        spec = twin_schema.spec_of(of)
        texts = twin_schema.schema_text(schema), twin_schema.spec_text(spec)
        return lambda content: Header(texts[0], schema.schema_id, texts[1], spec.spec_id, content)

    def _properties(self, old: TableMetadata | None, schemas: Mapping[int, IcebergSchema]) -> dict[str, str]:
        """The properties; those of the same schema are not made again, which would read all schemas."""
        mapping = None
        if old is not None and old.schemas == tuple(schemas.values()):
            mapping = old.properties.get(twin_schema.NAME_MAPPING)
        if mapping is None:
            mapping = twin_schema.name_mapping(self.source.schema, [self._schema_of(id) for id in schemas])
        return twin_schema.properties(self.source.schema.options, mapping)

    def _iceberg_schemas(self, current: Current | None) -> dict[int, IcebergSchema]:
        """Every schema up to the table's own, by id; while that one stays, no other is read again.

        A branch that the table was fast-forwarded to brings schemas of its own, under ids that the twin has seen.
        """
        own = twin_schema.iceberg_schema(self.source.schema, self.folder.version)
        known = {one.schema_id: one for one in current.metadata.schemas} if current is not None else {}
        if known.get(own.schema_id) == own:
            return {id: one for id, one in sorted(known.items()) if id <= own.schema_id}
        ids = sorted(id for id in self._schema_ids if id < own.schema_id)
        older = {id: twin_schema.iceberg_schema(self._schema_of(id), self.folder.version) for id in ids}
        return older | {own.schema_id: own}

    @cached_property
    def _schema_ids(self) -> frozenset[int]:
        return frozenset(history.schema_ids(self.root))

    def _schema_of(self, id: int) -> Schema:
        if id not in self._schemas:
            self._schemas[id] = history.read_schema(self.root, id)
        return self._schemas[id]

    def _require_readable(self, snapshot: Snapshot, before: IcebergSnapshot | None) -> None:
        """Raise UnsupportedError where files have columns, or types of them, that readers cannot follow."""
        is_latest = snapshot.id == self.latest_id
        schema = self.source.schema if is_latest else self._schema_of(snapshot.schema_id)
        if before is not None and self._extends(before, snapshot) and before.schema_id == schema.id:
            return
        known = [self._schema_of(id) for id in self._schema_ids if id <= schema.id]
        bad = twin_schema.unreadable_schemas(schema, known)
        if schema.id in bad:
            raise UnsupportedError(f"{bad[schema.id]}; drop it, or leave the table unpublished")
        if not bad:
            return
        used = pc.unique(entries.read_live(self.root, snapshot, ["schema_id"])["schema_id"]).to_pylist()
        for id in sorted(set(used) & set(bad)):
            raise UnsupportedError(
                f"{bad[id]}, and files of schema {id} are in use; compact the table in full, then publish"
            )

    def _require_expressible(self, latest: Snapshot) -> None:
        """Raise UnsupportedError where the latest snapshot has no Iceberg form."""
        self._require_readable(latest, None)
        live = entries.read_live(self.root, latest, ["file_name", "bucket", "level", "delete_row_count"])
        schema = self._schema_of(latest.schema_id)
        require_parquet(live.filter(pa.array(is_seen(live, self.view, schema))))

    def _metadata_log(self, current: Current | None, version: int) -> tuple[LogEntry, ...]:
        """The versions before this one; those of a history that was rolled back leave, and would be out of order."""
        if current is None:
            return ()
        entry = LogEntry(current.metadata.last_updated_ms, f"{self.folder.url}/{metadata_name(current.version)}")
        known = (*current.metadata.metadata_log, entry)
        log = tuple(one for one in known if (find_version(str(one.value)) or 0) < version)
        keep = self.settings.previous_versions_max
        return log[len(log) - min(keep, len(log)) :] if self.settings.deletes_old_versions else log

    def _clear(self, current: Current, made: TableMetadata, version: int) -> None:
        """Delete what nobody needs any more. Metadata files go last: one that is still there tells what is left to do.

        Readers count on from the hint, so versions that were rolled back stay in their way until they are gone; but
        without them a publish that breaks off would leave no twin at all.
        """
        older = [one for one in current.versions if one < version]
        keep = self.settings.previous_versions_max if self.settings.deletes_old_versions else len(older)
        leaving = older[: max(0, len(older) - keep)]
        lists = {one.manifest_list for one in made.snapshots}
        names = [metadata_name(one) for one in leaving if one != current.version]
        known = twin_store.read_known(self.folder, [*names, *current.replaced])
        listed = {one.manifest_list: one for of in (current.metadata, *known) for one in of.snapshots}
        gone = [one for name, one in listed.items() if name not in lists]
        twin_store.drop_unreachable(self.folder, gone, made.snapshots)
        rolled_back = [one for one in current.versions if one > version]
        twin_store.drop(self.folder, [*map(metadata_name, [*rolled_back, *leaving]), *current.replaced])


def _snapshot_log(snapshots: Sequence[IcebergSnapshot]) -> tuple[LogEntry, ...]:
    """When each snapshot became current: readers want the times in order, whatever the clocks of writers said."""
    times = accumulate((one.timestamp_ms for one in snapshots), max)
    return tuple(LogEntry(time_ms, one.snapshot_id) for time_ms, one in zip(times, snapshots, strict=True))


def _next_row_id(old: TableMetadata) -> int:
    """The first row id that no row has; a writer that leaves it out keeps what its snapshots say."""
    ends = ((one.first_row_id or 0) + (one.added_rows or 0) for one in old.snapshots)
    return max(old.next_row_id or 0, *ends, 0)
