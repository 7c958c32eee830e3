"""An Iceberg table, as people call it: the same calls as for a Paimon table, as far as they read.

A tag and a snapshot are read in the schema of their time, a branch in the table's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

from polynya.api.later import Later
from polynya.api.scan import Scan, parse_predicate
from polynya.api.table import Table
from polynya.errors import InvalidInputError, UnsupportedError
from polynya.iceberg.metadata import MAIN
from polynya.table import iceberg_table
from polynya.table.history import TableRoot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa

    from polynya.arrow import iceberg_read
    from polynya.iceberg.metadata import IcebergSnapshot
    from polynya.model import bind, projection
    from polynya.model.predicate import Predicate
    from polynya.model.schema import Schema
    from polynya.storage.protocol import Storage
    from polynya.table import iceberg_rewrite, iceberg_scan, iceberg_system, scan
    from polynya.table.iceberg_rewrite import RewriteReport
    from polynya.table.iceberg_table import IcebergRoot, SnapshotView
    from polynya.table.plan import Plan
    from polynya.table.scan import ScanRequest
else:
    bind, projection = (Later(f"polynya.model.{n}") for n in ("bind", "projection"))
    iceberg_rewrite, iceberg_scan, iceberg_system, scan = (
        Later(f"polynya.table.{n}") for n in ("iceberg_rewrite", "iceberg_scan", "iceberg_system", "scan")
    )
    iceberg_read = Later("polynya.arrow.iceberg_read")


def find_table(storage: Storage) -> IcebergTable | None:
    """The Iceberg table in a folder, at its current snapshot, or None."""
    found = iceberg_table.find_table(storage)
    return None if found is None else table_of(found)


def open_metadata(storage: Storage, name: str) -> IcebergTable:
    """The table that a metadata file describes, at the snapshot that is current there."""
    return table_of(iceberg_table.open_metadata(storage, name, is_pinned=True))


def table_of(root: IcebergRoot) -> IcebergTable:
    """The table at its current snapshot and schema."""
    return _view(root, root.metadata.current_snapshot, root.metadata.current_schema_id, MAIN)


def _view(root: IcebergRoot, snapshot: IcebergSnapshot | None, schema_id: int, branch: str) -> IcebergTable:
    shown = iceberg_table.view_of(snapshot, root) if snapshot is not None else None
    return IcebergTable(
        TableRoot(root.storage), iceberg_table.schema_of(root, schema_id), shown, root, snapshot, branch
    )


def _refused(what: str) -> Callable[..., NoReturn]:
    """A method that an Iceberg table does not have."""

    def refuse(self: IcebergTable, *_arguments: object, **_options: object) -> NoReturn:
        raise UnsupportedError(f"{self.location} is an Iceberg table: {what} is not supported; use Iceberg for it")

    refuse.__doc__ = f"Refused: {what}."
    return refuse


@dataclass(frozen=True)
class IcebergTable(Table):
    """One Iceberg table, seen at one snapshot."""

    snapshot: SnapshotView | None  # type: ignore[assignment]  # it has the names of the other that mean something here
    iceberg: IcebergRoot
    iceberg_snapshot: IcebergSnapshot | None
    branch_name: str = MAIN

    @property
    def partition_by(self) -> tuple[str, ...]:
        """The names of the partition fields of new files."""
        return tuple(one.name for one in self.iceberg.metadata.spec.fields)

    def refresh(self) -> IcebergTable:
        """A new view at the latest snapshot of the branch; a table opened by its metadata file stays there."""
        return table_of(iceberg_table.refresh(self.iceberg)).branch(self.branch_name)

    def at(
        self,
        *,
        snapshot_id: int | None = None,
        tag: str | None = None,
        time_ms: int | None = None,
        watermark: int | None = None,
    ) -> IcebergTable:
        """A view of the past, in the schema of that time; give exactly one of the arguments."""
        given = [value for value in (snapshot_id, tag, time_ms, watermark) if value is not None]
        if len(given) != 1:
            raise InvalidInputError(f"at: expected one of snapshot_id, tag, time_ms, found {len(given)}")
        if watermark is not None:
            raise UnsupportedError(f"{self.location} is an Iceberg table, which has no watermarks")
        if snapshot_id is not None:
            found: IcebergSnapshot | None = iceberg_table.read_snapshot(self.iceberg, snapshot_id)
        elif tag is not None:
            found = iceberg_table.read_ref(self.iceberg, tag, "tag")
        else:
            assert time_ms is not None
            found = iceberg_table.read_snapshot_at(self.iceberg, time_ms)
        assert found is not None
        return _view(self.iceberg, found, iceberg_table.view_of(found, self.iceberg).schema_id, self.branch_name)

    def branch(self, name: str) -> IcebergTable:
        """The table as a branch has it."""
        found = iceberg_table.read_ref(self.iceberg, name, "branch")
        return _view(self.iceberg, found, self.iceberg.metadata.current_schema_id, name)

    def scan(
        self, where: str | Predicate | None = None, columns: Iterable[str] | None = None, limit: int | None = None
    ) -> Scan:
        """A scan of the rows that match `where`, an SQL condition or a predicate; nothing is read yet.

        In format version 3, `_row_id` and `_last_updated_sequence_number` can be asked for by name.
        """
        predicate = bind.bind(parse_predicate(where), self.schema.fields)
        if limit is not None and limit < 0:
            raise InvalidInputError(f"limit must be 0 or more, got {limit}")
        return Scan(self, scan.ScanRequest(self._columns(columns), predicate, limit))

    def system(self, name: str) -> pa.Table:
        """A metadata table, such as "snapshots", "files" or "partitions", with Iceberg's columns."""
        return iceberg_system.system_table(self.iceberg, self.iceberg_snapshot, name)

    def compact_manifests(self, dry_run: bool = False) -> RewriteReport:  # type: ignore[override]  # of its own kind
        """Rewrite the manifests of the main branch, sorted by partition; a dry run only says what it would do."""
        return iceberg_rewrite.rewrite_manifests(self.iceberg, dry_run=dry_run)

    require_writable = _refused("writing")
    write = _refused("writing")
    delete = _refused("deleting rows")
    update = _refused("updating rows")
    compact = _refused("compacting")
    rescale = _refused("rescaling")
    rewrite_file_index = _refused("building indexes")
    publish_iceberg = _refused("publishing")
    check = _refused("checking")
    changes = _refused("reading the changes between snapshots")
    alter = _refused("altering a table")
    expire_snapshots = _refused("expiring snapshots")
    remove_orphans = _refused("removing orphan files")
    rollback = _refused("rolling back")
    create_tag = _refused("creating tags")
    delete_tag = _refused("deleting tags")
    create_branch = _refused("creating branches")
    fast_forward = _refused("fast-forwarding to a branch")

    def _plan(self, request: ScanRequest) -> Plan:
        if request.top_level_only:
            raise UnsupportedError(f"{self.location} is an Iceberg table, which has no levels of files to choose from")
        schema = self._with_lineage(request.columns)
        return iceberg_scan.plan(iceberg_scan.IcebergSource(self.iceberg, self.iceberg_snapshot, schema), request)

    def _reader(self, plan: Plan, budget_bytes: int | None) -> iceberg_read.IcebergReader:
        return iceberg_read.reader_of(plan, self.iceberg, budget_bytes)

    def _naming_manifest(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return batches

    def _columns(self, columns: Iterable[str] | None) -> tuple[str, ...]:
        if columns is None:
            return self.schema.names
        names = (columns,) if isinstance(columns, str) else tuple(columns)
        fields = self._with_lineage(names).fields
        projection.narrow(fields, [projection.path_of(name, fields) for name in names])
        if len(set(names)) != len(names) or not names:
            raise InvalidInputError(f"columns: expected different names, at least one, found {list(names)}")
        return names

    def _with_lineage(self, names: tuple[str, ...]) -> Schema:
        """The schema, with the columns of row lineage that are asked for."""
        if self.iceberg.metadata.format_version < 3:
            return self.schema
        asked = tuple(one for one in iceberg_table.LINEAGE if one.name in names and self.schema.find(one.name) is None)
        return replace(self.schema, fields=(*self.schema.fields, *asked)) if asked else self.schema

    def _schema_of(self, id: int) -> Schema:
        return iceberg_table.schema_of(self.iceberg, id)
