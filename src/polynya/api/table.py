"""One table, as people call it.

A Table is a view: it stands at one snapshot and one schema until `refresh` or `at` gives another view. Writing through
an old view is fine, it commits onto the latest snapshot.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cached_property, partial, wraps
from typing import TYPE_CHECKING, Concatenate, NoReturn, ParamSpec, TypeVar

import pyarrow as pa

from polynya.api import arguments
from polynya.api.later import Later
from polynya.api.scan import Scan, parse_predicate
from polynya.errors import CorruptFileError, InvalidInputError, NotFoundError, UnsupportedError
from polynya.model.partition import parse_spec
from polynya.model.predicate import Predicate
from polynya.model.schema import ROW_ID, SEQUENCE_NUMBER, Schema
from polynya.paimon import layout, manifest_list
from polynya.storage import open_storage
from polynya.table import history
from polynya.table.history import TableRoot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from polynya.api import iceberg
    from polynya.arrow import (
        casts,
        cluster,
        compact_table,
        files,
        ingest,
        read,
        rescale,
        rewrite_index,
        rows,
        twin,
    )
    from polynya.arrow.compact_table import Runner
    from polynya.arrow.incoming import Rows
    from polynya.arrow.rewrite_index import Spread
    from polynya.arrow.rows import Engine
    from polynya.model import bind, options, projection
    from polynya.model.literals import Value
    from polynya.model.partition import SpecValue
    from polynya.paimon.snapshot import Snapshot
    from polynya.storage.protocol import Storage
    from polynya.table import (
        catalog,
        check,
        commit,
        compaction,
        damage,
        entries,
        pack,
        paths,
        row_ids,
        scan,
        system,
        system_files,
    )
    from polynya.table.check import Report
    from polynya.table.commit import Author, Commit, Target
    from polynya.table.compaction import CompactionReport
    from polynya.table.iceberg_mirror import Published
    from polynya.table.pack import PackReport
    from polynya.table.plan import Plan
    from polynya.table.scan import ScanRequest
else:
    iceberg = Later("polynya.api.iceberg")
    bind, options, projection = (Later(f"polynya.model.{n}") for n in ("bind", "options", "projection"))
    catalog, check, commit = (Later(f"polynya.table.{n}") for n in ("catalog", "check", "commit"))
    compaction, damage, entries = (Later(f"polynya.table.{n}") for n in ("compaction", "damage", "entries"))
    pack, paths = (Later(f"polynya.table.{n}") for n in ("pack", "paths"))
    row_ids, scan = (Later(f"polynya.table.{n}") for n in ("row_ids", "scan"))
    system, system_files = (Later(f"polynya.table.{n}") for n in ("system", "system_files"))
    casts, cluster, compact_table = (Later(f"polynya.arrow.{n}") for n in ("casts", "cluster", "compact_table"))
    files, ingest, read = (Later(f"polynya.arrow.{n}") for n in ("files", "ingest", "read"))
    rescale, rows = (Later(f"polynya.arrow.{n}") for n in ("rescale", "rows"))
    rewrite_index, twin = (Later(f"polynya.arrow.{n}") for n in ("rewrite_index", "twin"))

P = ParamSpec("P")
T = TypeVar("T")


def open_table(location: str | os.PathLike[str], **storage_options: str | bool) -> Table:
    """The table at a path or URL, at its latest snapshot: a Paimon table, or else an Iceberg table.

    An Iceberg table may also be named by one of its metadata files.
    """
    arguments.location(location)
    folder, name = split_metadata_path(os.fspath(location))
    if name is not None:
        return iceberg.open_metadata(open_storage(folder, **storage_options), name)
    return open_root(TableRoot(open_storage(location, **storage_options)))


def split_metadata_path(path: str) -> tuple[str, str | None]:
    """The table's folder and the name in it of an Iceberg metadata file; None for any other path."""
    if not path.endswith((".metadata.json", ".metadata.json.gz")):
        return path, None
    folder, _, name = path.rpartition("/")
    table, _, metadata_folder = folder.rpartition("/")
    if not metadata_folder:
        raise InvalidInputError(f"{path}: expected a metadata file in a folder of its table, <table>/metadata/...")
    return table or ("/" if folder.startswith("/") else "."), f"{metadata_folder}/{name}"


def open_root(root: TableRoot) -> Table:
    """The table of a root, at its latest snapshot."""
    schema = history.find_latest_schema(root)
    if schema is None:
        found = iceberg.find_table(root.storage) if root.branch == layout.MAIN_BRANCH else None
        if found is not None:
            return found
        raise NotFoundError(
            f"{root.storage.location} is not a Paimon table: it has no file schema/schema-0; and no Iceberg table: it "
            "has no file metadata/*.metadata.json"
        )
    return Table(root, schema, history.find_latest(root))


def _later(what: str) -> Callable[..., NoReturn]:
    """A method of the public contract that a coming release brings; until then it refuses."""

    def refuse(self: Table, *_arguments: object, **_options: object) -> NoReturn:
        raise UnsupportedError(f"table {self.location}: {what} is not supported yet; use Java Paimon for it")

    refuse.__doc__ = f"Refused for now: {what}."
    return refuse


def _naming_manifests(method: Callable[Concatenate[Table, P], T]) -> Callable[Concatenate[Table, P], T]:
    """The method, whose errors name the manifest that a damaged part of an entry stands in."""

    @wraps(method)
    def call(self: Table, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(self, *args, **kwargs)
        except CorruptFileError as error:
            raise damage.name_manifest(error, self.root, self.snapshot, self._schema_of) from error

    return call


@dataclass(frozen=True)
class Table:
    """One table, seen at one snapshot."""

    root: TableRoot
    schema: Schema
    snapshot: Snapshot | None

    @property
    def name(self) -> str:
        """The name of the table's folder."""
        return self.location.rstrip("/").rsplit("/", 1)[-1]

    @property
    def location(self) -> str:
        """Where the table is."""
        return self.root.storage.location

    @property
    def arrow_schema(self) -> pa.Schema:
        """The columns as Arrow types."""
        return self.schema.arrow

    @property
    def primary_key(self) -> tuple[str, ...]:
        """The primary key, partition columns included; empty for append tables."""
        return self.schema.primary_key

    @property
    def partition_by(self) -> tuple[str, ...]:
        """The partition columns."""
        return self.schema.partition_by

    @property
    def options(self) -> Mapping[str, str]:
        """The table's options as they are stored."""
        return self.schema.options

    def refresh(self) -> Table:
        """A new view at the latest snapshot and schema."""
        return open_root(self.root)

    def at(
        self,
        *,
        snapshot_id: int | None = None,
        tag: str | None = None,
        time_ms: int | None = None,
        watermark: int | None = None,
    ) -> Table:
        """A view of the past, in the schema of that time; give exactly one of the arguments."""
        given = [value for value in (snapshot_id, tag, time_ms, watermark) if value is not None]
        if len(given) != 1:
            raise InvalidInputError(f"at: expected one of snapshot_id, tag, time_ms, watermark, found {len(given)}")
        if snapshot_id is not None:
            found = history.read_snapshot(self.root, arguments.whole_number(snapshot_id, "snapshot_id"))
        elif tag is not None:
            found = history.read_tag(self.root, arguments.text(tag, "tag"))
        elif time_ms is not None:
            found = history.read_snapshot_at_time(self.root, arguments.whole_number(time_ms, "time_ms"))
        else:
            found = history.read_snapshot_at_watermark(self.root, arguments.whole_number(watermark, "watermark"))
        return Table(self.root, self._schema_of(found.schema_id), found)

    def branch(self, name: str) -> Table:
        """The table as a branch has it."""
        if name != layout.MAIN_BRANCH and name not in history.branch_names(self.root):
            known = ", ".join((layout.MAIN_BRANCH, *history.branch_names(self.root)))
            raise NotFoundError(f"branch '{name}' of {self.location} does not exist; there are: {known}")
        return open_root(replace(self.root, branch=name))

    def scan(
        self,
        where: str | Predicate | None = None,
        columns: Iterable[str] | None = None,
        limit: int | None = None,
    ) -> Scan:
        """A scan of the rows that match `where`, an SQL condition or a predicate; nothing is read yet.

        A column may be a member of a ROW, `address.city`; the ROW then comes with only the members asked for.
        """
        options.require_readable(self.options)
        predicate = bind.bind(parse_predicate(where), self.schema.fields)
        if limit is not None and arguments.whole_number(limit, "limit") < 0:
            raise InvalidInputError(f"limit must be 0 or more, got {limit}")
        return Scan(self, scan.ScanRequest(self._columns(columns), predicate, limit))

    @_naming_manifests
    def write(
        self,
        data: Rows,
        mode: str = "append",
        partition: Mapping[str, SpecValue] | None = None,
        *,
        rowkind: str | None = None,
        author: Author | None = None,
    ) -> Commit:
        """Write rows in one commit: appended, or (mode "overwrite") in the place of what is there.

        Overwriting replaces the partitions that match `partition`; without it the partitions that the rows fall into,
        or the whole table where it has none or 'dynamic-partition-overwrite' is false. `rowkind` names a column that
        holds +I, -U, +U or -D. An author with an identifier makes the commit repeatable.
        """
        table = self.refresh()
        options.require_writable(table.schema)
        if mode not in ("append", "overwrite"):
            raise InvalidInputError(f"mode must be 'append' or 'overwrite', got {mode!r}")
        if partition is not None:
            arguments.mapping(partition, "partition")
        if partition is not None and mode == "append":
            raise InvalidInputError("partition names what to overwrite; with mode 'append' it must not be given")
        request = ingest.WriteRequest(mode == "overwrite", partition, rowkind, author)
        target = commit.Target(table.root, table.schema)
        return _published(target, ingest.write(target, table.snapshot, data, request))

    def require_writable(self) -> None:
        """Raise UnsupportedError, naming the reason, for a table that cannot be written to."""
        options.require_writable(self.schema)

    @_naming_manifests
    def delete(self, where: str | Predicate, *, engine: Engine | None = None) -> Commit:
        """Delete the rows that match; a row for which the condition is unknown stays.

        An `engine` looks at the files elsewhere than in this process.
        """
        table = self.refresh()
        options.require_writable(table.schema)
        predicate = bind.bind(parse_predicate(_required(where)), table.schema.fields)
        target = commit.Target(table.root, table.schema)
        return _published(target, rows.delete(target, predicate, engine or rows.HERE))

    @_naming_manifests
    def update(
        self, assignments: Mapping[str, str | Value], where: str | Predicate, *, engine: Engine | None = None
    ) -> Commit:
        """Set columns of the rows that match: a text is an SQL expression over the old row, anything else a value."""
        table = self.refresh()
        options.require_writable(table.schema)
        arguments.mapping(assignments, "update")
        predicate = bind.bind(parse_predicate(_required(where)), table.schema.fields)
        target = commit.Target(table.root, table.schema)
        return _published(target, rows.update(target, assignments, predicate, engine or rows.HERE))

    @_naming_manifests
    def compact(
        self,
        full: bool = False,
        where: str | Predicate | None = None,
        order_by: Iterable[str] = (),
        order: str | None = None,
        dry_run: bool = False,
        *,
        runner: Runner | None = None,
    ) -> Commit | CompactionReport:
        """Put files together where it is due, or (full) as far as it goes; `where` names partitions by their values.

        With `order_by` the partitions of an append table are rewritten in the order of these columns: "sort", "zorder"
        or "hilbert"; the default is that which suits their number. The answer is for all commits together: the last
        snapshot, the sum of the counts. A dry run only says what it would do. A `runner` carries the tasks out
        elsewhere than in this process.
        """
        table = self.refresh()
        options.require_writable(table.schema)
        target, within = commit.Target(table.root, table.schema), compaction.Within(table._partition_predicate(where))
        columns = arguments.names(order_by, "order_by")
        if columns or order is not None:
            clustering = cluster.clustering_of(table.schema, columns, order)
            if dry_run:
                return compaction.CompactionReport(
                    table.schema, tuple(compaction.bucket_tasks(compact_table.state_of(target, within)))
                )
            return _published(target, cluster.cluster(target, within, clustering, runner))
        request = compact_table.CompactRequest(full, within)
        if dry_run:
            _, tasks = compact_table.plan_table(target, request)
            return compaction.CompactionReport(table.schema, tuple(tasks))
        return _published(target, compact_table.compact(target, request, runner))

    @_naming_manifests
    def rescale(self, bucket_count: int, partition: Mapping[str, SpecValue] | None = None) -> Commit:
        """Change the number of buckets and rewrite the partitions that have another, or those that match `partition`.

        A partition that is left as it is can be read, but not written to, until it is rescaled too.
        """
        table = self.refresh()
        options.require_writable(table.schema)
        names = paths.partition_names(table.schema)
        spec = parse_spec(partition or {}, table.schema.partition_fields, names, partial=True)
        target = commit.Target(table.root, table.schema)
        return _published(target, rescale.rescale(target, bucket_count, spec))

    @_naming_manifests
    def rewrite_file_index(
        self, where: str | Predicate | None = None, *, rebuild: bool = False, spread: Spread | None = None
    ) -> Commit:
        """Give existing files the indexes that the options `file-index.…` ask for now, and take others away.

        `where` names partitions by their values. Indexes that are there stay, or are built anew with `rebuild`: after a
        change of their settings. `spread` has the files read elsewhere than in this process.
        """
        table = self.refresh()
        options.require_writable(table.schema)
        target, predicate = commit.Target(table.root, table.schema), table._partition_predicate(where)
        made = rewrite_index.rewrite_file_index(target, predicate, rebuilds=rebuild, spread=spread)
        return _published(target, made)

    @_naming_manifests
    def compact_manifests(self, dry_run: bool = False) -> Commit | PackReport:
        """Rewrite the manifests sorted by partition, bucket and level; a dry run only says what it would do."""
        table = self.refresh()
        if dry_run:
            metas = (
                entries.read_metas(table.root, table.snapshot) if table.snapshot is not None else manifest_list.empty()
            )
            return pack.plan_repack(table.root, metas, table.schema)
        target = commit.Target(table.root, table.schema)
        return _published(target, commit.compact_manifests(target, commit.new_author(target)))

    def publish_iceberg(self, history: bool = False, *, live: bool | None = None) -> Published:
        """Bring the Iceberg metadata of the table up to its latest snapshot; `history` begins at the earliest.

        `live` shows the latest rows of a primary-key table, where 'metadata.iceberg.live' does not say so already.
        """
        table = self.refresh()
        return twin.publish(table.root, table.schema, history_too=history, live=live)

    def check(self, deep: bool = False) -> Report:
        """Whether the table is sound: all files there, all counts right; `deep` opens every data file of the view."""
        count_rows = partial(_count_rows, self.root.storage) if deep else None
        return check.check(self.root, self.schema, self.snapshot, count_rows)

    @_naming_manifests
    def system(self, name: str) -> pa.Table:
        """A system table, such as "snapshots", "files" or "partitions", with Paimon's columns."""
        if arguments.text(name, "system table") == "ro":
            whole = self.scan()
            return replace(whole, request=replace(whole.request, top_level_only=True)).to_arrow()
        if name == "row_tracking":
            if not row_ids.has_row_ids(self.options):
                raise InvalidInputError(f"system table 'row_tracking': {self.location} does not track its rows")
            return self.scan(columns=(*self.schema.names, ROW_ID.name, SEQUENCE_NUMBER.name)).to_arrow()
        source = system_files.SystemSource(self.root, self.schema, self.snapshot, self._schema_of, casts.find_cast)
        return system.system_table(name, source)

    @_naming_manifests
    def _plan(self, request: ScanRequest) -> Plan:
        return scan.plan(scan.ScanSource(self.root, self.snapshot, self.schema, self._schema_of), request)

    def _reader(self, plan: Plan, budget_bytes: int | None) -> read.Reader:
        schemas = {id: self._schema_of(id) for id in plan.files["schema_id"].unique().to_pylist()}
        return read.reader_of(plan, self.root.storage, schemas, budget_bytes)

    def _naming_manifest(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        except CorruptFileError as error:
            raise damage.name_manifest(error, self.root, self.snapshot, self._schema_of) from error

    changes = _later("reading the changes between snapshots")
    alter = _later("altering a table")
    expire_snapshots = _later("expiring snapshots")
    remove_orphans = _later("removing orphan files")
    rollback = _later("rolling back")
    create_tag = _later("creating tags")
    delete_tag = _later("deleting tags")
    create_branch = _later("creating branches")
    fast_forward = _later("fast-forwarding to a branch")

    def _columns(self, columns: Iterable[str] | None) -> tuple[str, ...]:
        if columns is None:
            return self.schema.names
        names = arguments.names(columns, "columns")
        tracked = (ROW_ID, SEQUENCE_NUMBER) if row_ids.has_row_ids(self.options) else ()
        fields = (*self.schema.fields, *tracked)
        projection.narrow(fields, [projection.path_of(name, fields) for name in names])
        if len(set(names)) != len(names) or not names:
            raise InvalidInputError(f"columns: expected different names, at least one, found {list(names)}")
        return names

    def _partition_predicate(self, where: str | Predicate | None) -> Predicate:
        predicate = bind.bind(parse_predicate(where), self.schema.fields)
        for path in sorted(bind.columns(predicate)):
            if path[0] not in self.partition_by:
                known = ", ".join(self.partition_by) or "none"
                raise InvalidInputError(f"where: '{path[0]}' is not a partition column; the table has {known}")
        return predicate

    @cached_property
    def _schemas(self) -> dict[int, Schema]:
        return {self.schema.id: self.schema}

    def _schema_of(self, id: int) -> Schema:
        """A version of the schema, which each view reads at most once."""
        if id not in self._schemas:
            self._schemas[id] = history.read_schema(self.root, id)
        return self._schemas[id]


def _required(where: str | Predicate | None) -> str | Predicate:
    """The condition, which a row change must have: nobody means every row by leaving it out."""
    if where is None:
        raise InvalidInputError("where: expected a condition, found None; write 'true' for every row")
    return where


def _published(target: Target, made: Commit) -> Commit:
    """The commit, after the Iceberg twin has followed it where the table has one."""
    if made.snapshot_id is not None:
        twin.publish_after_commit(target)
    return made


def _count_rows(storage: Storage, name: str) -> int:
    return files.row_count(storage, name, format=layout.format_of(name))
