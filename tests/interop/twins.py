"""One history written twice: to a table by polynya, and to its twin by Java alone."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import polynya
from interop.arrow_rows import arrow_rows
from interop.java_paimon import JavaPaimon, JavaTable
from polynya.model import types as t
from polynya.model.schema import VALUE_KIND, assign_ids
from polynya.paimon import type_text
from polynya.table.entries import read_entries, read_live, read_metas
from rows import render_rows

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
NANOSECONDS = re.compile(r"int64 (field_id=\d+ \w+) \(Timestamp\(isAdjustedToUTC=\w+, timeUnit=nanoseconds[^)]*\)\);")
ONE_BUCKET = {"bucket": "1", "write-only": "true"}
PAIR = {"k": "INT", "v": "STRING"}
KIND = VALUE_KIND.name
NAMES_OF_ONE_WRITE = ("file_name", "file_size", "creation_time")
SNAPSHOT_OF_ONE_WRITE = re.compile("ManifestList|indexManifest|uuid|commitUser|timeMillis|logOffsets")


@dataclass(frozen=True)
class Case:
    """A kind of table, and the commits that fill it: rows in the values of `tests/rows.py`.

    With `kinds` each row begins with its row kind. `overwrites` are positions of commits that overwrite, with the
    partition they name.
    """

    columns: Mapping[str, str]
    commits: Sequence[Sequence[Sequence[Any]]]
    primary_key: Sequence[str] = ()
    partition_by: Sequence[str] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    kinds: bool = False
    overwrites: Mapping[int, Mapping[str, str]] = field(default_factory=dict)

    @property
    def fields(self) -> tuple[t.Field, ...]:
        """The columns as polynya has them."""
        return assign_ids([t.Field(-1, name, type_text.parse_sql(text)) for name, text in self.columns.items()])


def create_ours(warehouse: Path, case: Case) -> polynya.Table:
    """The table, created by polynya as `ours.t`."""
    catalog = polynya.open_warehouse(warehouse)
    catalog.create_database("ours", exist_ok=True)
    keys = {"primary_key": case.primary_key, "partition_by": case.partition_by, "options": case.options}
    return catalog.create_table("ours.t", polynya.Schema(case.fields), **keys)


def create_twin(java: JavaPaimon, warehouse: Path, case: Case) -> JavaTable:
    """The table, created by Java as `java.t`."""
    fields = [(column.name, _without_none(type_text.render(column.type))) for column in case.fields]
    keys = {"primary_key": case.primary_key, "partition_by": case.partition_by, "options": case.options}
    return java.table(warehouse / "java.db" / "t").create(fields, **keys)


def _without_none(type: Any) -> Any:
    """A type as Java takes it: it would read a missing description as the text "null"."""
    if isinstance(type, list):
        return [_without_none(inner) for inner in type]
    if isinstance(type, dict):
        return {key: _without_none(value) for key, value in type.items() if value is not None}
    return type


def write_ours(table: polynya.Table, case: Case) -> None:
    """Every commit of the case through polynya."""
    for position, rows in enumerate(case.commits):
        if position in case.overwrites:
            table.write(arrow_rows(rows, case.fields), mode="overwrite", partition=case.overwrites[position] or None)
        elif case.kinds:
            write_kinds(table, rows)
        else:
            table.write(arrow_rows(rows, case.fields))


def write_kinds(table: polynya.Table, rows: Sequence[Sequence[Any]]) -> None:
    """One commit of rows that begin with their kinds."""
    kind = t.Field(-1, KIND, t.VarChar())
    table.write(arrow_rows(rows, (kind, *table.refresh().schema.fields)), rowkind=KIND)


def write_twin(table: JavaTable, case: Case) -> None:
    """Every commit of the case through Java."""
    for position, rows in enumerate(case.commits):
        partition = case.overwrites.get(position)
        options = {"dynamic-partition-overwrite": "false"} if partition else None  # else Java looks at the rows alone
        table.write(rows, kind=None if case.kinds else "+I", overwrite=partition, options=options)


def rows_of(table: polynya.Table) -> list[list[Any]]:
    """The rows of a view, as `JavaTable.rows` gives them."""
    return render_rows(table.scan().to_arrow(), table.schema.fields)


def entries_of(table: polynya.Table) -> list[dict[str, Any]]:
    """The live files of a view: all that does not depend on who wrote them when, ordered by place and sequence."""
    live = read_live(table.root, table.snapshot)
    order = [(name, "ascending") for name in ("partition", "bucket", "level", "min_sequence_number", "row_count")]
    files = live.sort_by(order).drop_columns(NAMES_OF_ONE_WRITE).to_pylist()
    return [file | {"extra_files": len(file["extra_files"])} for file in files]


def manifests_of(table: polynya.Table) -> pa.Table:
    """What the manifest lists say, all that does not depend on names and sizes."""
    return read_metas(table.root, table.snapshot).drop_columns(["file_name", "file_size"])


def delta_of(table: polynya.Table) -> pa.Table:
    """All entries of a view, not folded."""
    return read_entries(table.root, read_metas(table.root, table.snapshot))


def schema_facts(table: Path, id: int = 0) -> list[tuple[str, Any]]:
    """The keys of a schema file in order, with their values; not its time, nor the order of its options."""
    found = json.loads((table / "schema" / f"schema-{id}").read_text())
    return [
        (key, None if key == "timeMillis" else sorted(value.items()) if key == "options" else value)
        for key, value in found.items()
    ]


def parquet_columns(table: Path) -> set[str]:
    """The stored columns of the Parquet files, nanoseconds as Java stores them."""
    schemas = (str(pq.ParquetFile(file).schema) for file in table.glob("**/bucket-*/*.parquet"))
    return {
        NANOSECONDS.sub(r"int96 \1;", schema.split("{", 1)[1].replace("key_value (Map)", "key_value"))
        for schema in schemas
    }


def data_paths(table: Path) -> set[str]:
    """The files of the buckets, without what is random in their names."""
    return {UUID.sub("U", str(file.relative_to(table))) for file in table.glob("**/bucket-*/*")}


def snapshot_facts(table: Path, id: int) -> list[tuple[str, Any]]:
    """The keys of a snapshot file in order, with the values that do not depend on who wrote it when."""
    found = json.loads((table / "snapshot" / f"snapshot-{id}").read_text())
    return [(key, None if SNAPSHOT_OF_ONE_WRITE.search(key) else value) for key, value in found.items()]
