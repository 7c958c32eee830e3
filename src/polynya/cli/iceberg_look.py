"""What the looking verbs show of an Iceberg table."""

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from polynya.api.iceberg import IcebergTable
from polynya.cli.printing import Listing, plural, print_facts, print_json, print_listing, size_text
from polynya.errors import NotFoundError
from polynya.iceberg import metadata
from polynya.iceberg.metadata import IcebergSchema
from polynya.table.iceberg_table import ref_names

#: By metadata table: the columns that tell most, under short names.
COLUMNS: Mapping[str, Mapping[str, str]] = {
    "snapshots": {"id": "snapshot_id", "time": "committed_at", "kind": "operation", "parent": "parent_id"},
    "files": {
        "content": "content",
        "rows": "record_count",
        "size": "file_size_in_bytes",
        "format": "file_format",
        "file": "file_path",
    },
    "manifests": {
        "content": "content",
        "spec": "partition_spec_id",
        "length": "length",
        "added": "added_data_files_count",
        "existing": "existing_data_files_count",
        "deleted": "deleted_data_files_count",
        "manifest": "path",
    },
    "partitions": {
        "partition": "partition",
        "rows": "record_count",
        "files": "file_count",
        "size": "total_data_file_size_in_bytes",
        "updated": "last_updated_at",
    },
}


def listing_of(table: IcebergTable, system: str) -> tuple[pa.Table, Mapping[str, str]]:
    """A metadata table, the newest snapshots first, and the columns of it to show."""
    found = table.system(system)
    if system == "snapshots":
        found = found.take(pa.array(range(found.num_rows - 1, -1, -1), pa.int64()))
    return found, {name: column for name, column in COLUMNS[system].items() if column in found.column_names}


def show(table: IcebergTable, as_json: bool) -> None:
    """What the table is."""
    facts = _facts(table)
    if as_json:
        print_json(facts | {"schema": metadata.schema_json(_schema_of(table, table.schema.id))})
        return
    snapshot = table.snapshot
    print_facts(
        {
            "table": table.name,
            "location": table.location,
            "comment": table.schema.comment or None,
            "kind": f"Iceberg, format version {facts['format_version']}",
            "partitions": ", ".join(table.partition_by) or None,
            "snapshot": "none yet" if snapshot is None else f"{snapshot.id} {snapshot.commit_kind}",
            "schema": f"{table.schema.id}, {plural(len(table.schema.fields), 'column')}",
            "files": f"{plural(facts['file_count'], 'file')}, {plural(facts['delete_file_count'], 'delete file')}",
            "stored": f"{plural(facts['record_count'], 'row')}, {size_text(facts['file_size_in_bytes'])}",
            "tags": ", ".join(facts["tags"]) or None,
            "branches": ", ".join(facts["branches"]) or None,
        }
    )
    print()
    _print_schema(table, _schema_of(table, table.schema.id))


def schema(table: IcebergTable, schema_id: int | None, as_json: bool) -> None:
    """The columns and properties, or the columns of an older schema."""
    found = _schema_of(table, table.schema.id if schema_id is None else schema_id)
    if as_json:
        print_json(metadata.schema_json(found))
        return
    print_facts({"schema": found.schema_id, "comment": table.schema.comment or None})
    _print_schema(table, found)


def _facts(table: IcebergTable) -> dict[str, Any]:
    files, snapshot = table.system("files"), table.snapshot
    is_data = pc.equal(files["content"], 0)
    data = files.filter(is_data)
    return {
        "name": table.name,
        "location": table.location,
        "format_version": table.iceberg.metadata.format_version,
        "partition_by": table.partition_by,
        "snapshot": None if snapshot is None else {"id": snapshot.id, "kind": snapshot.commit_kind},
        "file_count": data.num_rows,
        "delete_file_count": files.num_rows - data.num_rows,
        "file_size_in_bytes": pc.sum(data["file_size_in_bytes"]).as_py() or 0,
        "record_count": pc.sum(data["record_count"]).as_py() or 0,
        "tags": ref_names(table.iceberg, "tag"),
        "branches": ref_names(table.iceberg, "branch"),
    }


def _schema_of(table: IcebergTable, id: int) -> IcebergSchema:
    schemas = table.iceberg.metadata.schemas
    found = next((one for one in schemas if one.schema_id == id), None)
    if found is None:
        known = ", ".join(str(one.schema_id) for one in schemas)
        raise NotFoundError(f"schema {id} of {table.location} does not exist; there are: {known}")
    return found


def _print_schema(table: IcebergTable, schema: IcebergSchema) -> None:
    fields = [one for one in schema.json if isinstance(one, Mapping)]
    rows = [(one["id"], one["name"], _type_text(one["type"]), one.get("doc") or "") for one in fields]
    print_listing(Listing(("id", "column", "type", "comment"), rows, frozenset(("id",))))
    if table.options:
        print()
        print_listing(Listing(("property", "value"), sorted(table.options.items())))


def _type_text(type: object) -> str:
    return type if isinstance(type, str) else json.dumps(type, ensure_ascii=False, default=str)
