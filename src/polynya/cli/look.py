"""The verbs that look at a table from outside: tables, show, snapshots, schema, files, manifests, partitions."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import polynya
from polynya.api import Table
from polynya.cli.printing import (
    Listing,
    json_values,
    plural,
    print_facts,
    print_json,
    print_json_rows,
    print_listing,
    size_text,
)
from polynya.errors import NotFoundError, PolynyaError
from polynya.model.schema import Schema
from polynya.paimon import schema_file
from polynya.paimon.snapshot import Snapshot
from polynya.paimon.type_text import render_sql
from polynya.table import history
from polynya.table.paths import local_zone
from polynya.table.system_text import wall_clock

SHOWN_ROWS = 50


@dataclass(frozen=True)
class View:
    """A table as the command line names it: where it is, and at which snapshot, tag or branch."""

    path: str
    snapshot: int | None = None
    tag: str | None = None
    branch: str | None = None

    def open(self) -> Table:
        """The table at that point."""
        table = polynya.open_table(self.path)
        if self.branch is not None:
            table = table.branch(self.branch)
        if self.snapshot is None and self.tag is None:
            return table
        return table.at(snapshot_id=self.snapshot, tag=self.tag)


def tables(warehouse: str, as_json: bool) -> None:
    """Every table of the warehouse, one a line."""
    found = list(_tables(warehouse))
    if as_json:
        for row in found:
            print_json(row)
        return
    columns = ("table", "kind", "partitioned by", "columns", "snapshot", "rows")
    rows = [[row[column] for column in columns] for row in found]
    print_listing(Listing(columns, rows, frozenset(("columns", "snapshot", "rows"))))


def _tables(path: str) -> Iterable[dict[str, object]]:
    warehouse = polynya.open_warehouse(path)
    databases = warehouse.databases()
    if not databases:
        raise NotFoundError(f"{warehouse.location} is not a warehouse: it holds no folder <database>.db")
    for database in databases:
        for name in warehouse.tables(database):
            full_name = f"{database}.{name}"
            try:
                yield _table_facts(full_name, warehouse.table(full_name))
            except PolynyaError as error:  # one damaged table does not hide the others
                yield {**dict.fromkeys(_TABLE_FACTS), "table": full_name, "kind": "unreadable", "error": str(error)}


_TABLE_FACTS = ("table", "kind", "partitioned by", "columns", "snapshot", "rows", "error")


def _table_facts(name: str, table: Table) -> dict[str, object]:
    snapshot = table.snapshot
    facts = (
        name,
        "primary key" if table.primary_key else "append",
        ", ".join(table.partition_by) or None,
        len(table.schema.fields),
        None if snapshot is None else snapshot.id,
        None if snapshot is None else snapshot.total_record_count,
        None,
    )
    return dict(zip(_TABLE_FACTS, facts, strict=True))


def show(view: View, as_json: bool) -> None:
    """What the table is: columns, options, snapshot, sizes, tags and branches."""
    table = view.open()
    if type(table) is not Table:
        _iceberg().show(table, as_json)
        return
    facts = _facts(table)
    if as_json:
        print_json(facts | {"schema": _schema_json(table.schema)})
        return
    print_facts(_summary(table, facts))
    print()
    _print_schema(table.schema)


def _facts(table: Table) -> dict[str, Any]:
    buckets = table.system("buckets")
    partition_count = pc.count_distinct(buckets["partition"]).as_py() if table.partition_by else None
    sums = {name: pc.sum(buckets[name]).as_py() or 0 for name in ("file_count", "file_size_in_bytes", "record_count")}
    return {
        "name": table.name,
        "location": table.location,
        "primary_key": table.primary_key,
        "partition_by": table.partition_by,
        "snapshot": None if table.snapshot is None else _snapshot_facts(table.snapshot),
        **sums,
        "partition_count": partition_count,
        "bucket_count": buckets.num_rows,
        "tags": history.tag_names(table.root),
        "branches": history.branch_names(table.root),
    }


def _snapshot_facts(snapshot: Snapshot) -> dict[str, Any]:
    wall_ms = wall_clock(snapshot.time_ms, local_zone())
    return {
        "id": snapshot.id,
        "kind": snapshot.commit_kind,
        "time": pa.scalar(wall_ms, pa.timestamp("ms")).cast(pa.string()).as_py(),
        "schema_id": snapshot.schema_id,
        "record_count": snapshot.total_record_count,
    }


def _summary(table: Table, facts: Mapping[str, Any]) -> dict[str, str | None]:
    latest = facts["snapshot"]
    kind = f"primary key ({', '.join(table.primary_key)})" if table.primary_key else "append"
    parts = [plural(facts["bucket_count"], "bucket")]
    if facts["partition_count"] is not None:
        parts.insert(0, plural(facts["partition_count"], "partition"))
    return {
        "table": table.name,
        "location": table.location,
        "comment": table.schema.comment or None,
        "kind": kind,
        "partitions": ", ".join(table.partition_by) or None,
        "snapshot": f"{latest['id']} {latest['kind']} at {_to_seconds(latest['time'])}" if latest else "none yet",
        "schema": f"{table.schema.id}, {plural(len(table.schema.fields), 'column')}",
        "files": f"{plural(facts['file_count'], 'file')} in {', '.join(parts)}",
        "stored": f"{plural(facts['record_count'], 'row')}, {size_text(facts['file_size_in_bytes'])}",
        "tags": ", ".join(facts["tags"]) or None,
        "branches": ", ".join(facts["branches"]) or None,
    }


def schema(view: View, schema_id: int | None, as_json: bool) -> None:
    """The columns and options of the table, or of an older version of its schema."""
    table = view.open()
    if type(table) is not Table:
        _iceberg().schema(table, schema_id, as_json)
        return
    found = table.schema if schema_id is None else _read_schema(table, schema_id)
    if as_json:
        print_json(_schema_json(found))
        return
    print_facts({"schema": found.id, "comment": found.comment or None})
    _print_schema(found)


def _read_schema(table: Table, id: int) -> Schema:
    ids = history.schema_ids(table.root)
    if id not in ids:
        raise NotFoundError(f"schema {id} of {table.location} does not exist; there are: {', '.join(map(str, ids))}")
    return history.read_schema(table.root, id)


def _schema_json(schema: Schema) -> object:
    found: object = json.loads(schema_file.encode(schema))
    return found


def _print_schema(schema: Schema) -> None:
    rows = [
        (field.id, field.name, render_sql(field.type), _role(schema, field.name), field.description or "")
        for field in schema.fields
    ]
    columns = ("id", "column", "type", "role", "comment")
    shown = len(columns) if any(row[-1] for row in rows) else len(columns) - 1
    print_listing(Listing(columns[:shown], [row[:shown] for row in rows], frozenset(("id",))))
    if schema.options:
        print()
        print_listing(Listing(("option", "value"), sorted(schema.options.items())))


def _role(schema: Schema, name: str) -> str:
    roles = (("key", schema.primary_key), ("partition", schema.partition_by))
    return ", ".join(role for role, names in roles if name in names)


def snapshots(view: View, limit: int | None, as_json: bool) -> None:
    """The snapshots of the table, the newest first."""
    table = view.open()
    if type(table) is not Table:
        _print_iceberg(table, "snapshots", limit, as_json)
        return
    found = table.system("snapshots").sort_by([("snapshot_id", "descending")])
    columns = {
        "id": "snapshot_id",
        "time": "commit_time",
        "kind": "commit_kind",
        "schema": "schema_id",
        "rows": "total_record_count",
        "change": "delta_record_count",
        "user": "commit_user",
    }
    _print_system(found, columns, limit, as_json)


def files(view: View, limit: int | None, as_json: bool) -> None:
    """The data files of a snapshot."""
    table = view.open()
    if type(table) is not Table:
        _print_iceberg(table, "files", limit, as_json)
        return
    found = table.system("files")
    columns = {
        "partition": "partition",
        "bucket": "bucket",
        "level": "level",
        "rows": "record_count",
        "size": "file_size_in_bytes",
        "min key": "min_key",
        "max key": "max_key",
        "file": "file_path",
    }
    absent = set() if table.partition_by else {"partition"}
    absent |= set() if table.primary_key else {"level", "min key", "max key"}
    _print_system(found, {name: column for name, column in columns.items() if name not in absent}, limit, as_json)


def manifests(view: View, limit: int | None, as_json: bool) -> None:
    """The manifests of a snapshot."""
    table = view.open()
    if type(table) is not Table:
        _print_iceberg(table, "manifests", limit, as_json)
        return
    columns = {
        "manifest": "file_name",
        "size": "file_size",
        "added": "num_added_files",
        "deleted": "num_deleted_files",
        "schema": "schema_id",
    }
    if table.partition_by:
        columns |= {"from": "min_partition_stats", "to": "max_partition_stats"}
    _print_system(table.system("manifests"), columns, limit, as_json)


def partitions(view: View, limit: int | None, as_json: bool) -> None:
    """The partitions of a snapshot."""
    table = view.open()
    if type(table) is not Table:
        _print_iceberg(table, "partitions", limit, as_json)
        return
    found = table.system("partitions").sort_by("partition")
    columns = {
        "partition": "partition",
        "rows": "record_count",
        "files": "file_count",
        "size": "file_size_in_bytes",
        "buckets": "total_buckets",
        "updated": "last_update_time",
    }
    _print_system(found, columns, limit, as_json)


def _iceberg() -> ModuleType:
    from polynya.cli import iceberg_look  # noqa: PLC0415 - only Iceberg tables need it

    return iceberg_look


def _print_iceberg(table: Table, system: str, limit: int | None, as_json: bool) -> None:
    found, columns = _iceberg().listing_of(table, system)
    _print_system(found, columns, limit, as_json)


def _print_system(found: pa.Table, columns: Mapping[str, str], limit: int | None, as_json: bool) -> None:
    """A system table: all of it as JSON lines, or the columns that tell most, under short names."""
    if as_json:
        print_json_rows(found if limit is None else found.slice(0, limit))
        return
    top = found.slice(0, SHOWN_ROWS if limit is None else limit)
    shown = {name: _texts(top[column], column) for name, column in columns.items()}
    rows = list(zip(*shown.values(), strict=True))
    numbers = frozenset(name for name, column in columns.items() if pa.types.is_integer(top[column].type))
    print_listing(Listing(tuple(columns), rows, numbers), more_text(found.num_rows, top.num_rows))


def more_text(row_count: int, shown: int) -> str | None:
    """What is said where not all rows are shown."""
    return None if shown >= row_count else f"{row_count - shown:,} more of {row_count:,}; --limit shows more of them"


def _texts(column: pa.ChunkedArray, name: str) -> list[object]:
    values = json_values(column.combine_chunks())
    if name.startswith("file_size"):
        return [size_text(value) for value in values]
    if name.endswith("_count") or name.startswith("num_"):
        return [None if value is None else f"{value:,}" for value in values]
    if name == "file_path":
        return [path.rsplit("/", 1)[-1] for path in values]
    if pa.types.is_timestamp(column.type):
        return [None if text is None else _to_seconds(text) for text in values]
    return values


def _to_seconds(text: str) -> str:
    return text.partition(".")[0]
