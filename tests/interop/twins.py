"""One history written twice: to a table by polynya, and to its twin by Java alone."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

import polynya
from interop.arrow_rows import arrow_rows
from interop.java_paimon import JavaPaimon, JavaTable
from polynya.model import types as t
from polynya.model.schema import VALUE_KIND, assign_ids
from polynya.paimon import type_text
from polynya.table.entries import read_entries, read_live, read_metas
from rows import render_rows

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
    fields = [(column.name, type_text.render(column.type)) for column in case.fields]
    keys = {"primary_key": case.primary_key, "partition_by": case.partition_by, "options": case.options}
    return java.table(warehouse / "java.db" / "t").create(fields, **keys)


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
        table.write(rows, kind=None if case.kinds else "+I", overwrite=case.overwrites.get(position))


def rows_of(table: polynya.Table) -> list[list[Any]]:
    """The rows of a view, as `JavaTable.rows` gives them."""
    return render_rows(table.scan().to_arrow(), table.schema.fields)


def entries_of(table: polynya.Table) -> list[dict[str, Any]]:
    """The live files of a view, all that does not depend on who wrote them when, in the order of places and sequence."""
    live = read_live(table.root, table.snapshot)
    order = [(name, "ascending") for name in ("partition", "bucket", "level", "min_sequence_number", "row_count")]
    extra = [len(files) for files in live["extra_files"].to_pylist()]
    kept = live.sort_by(order).drop_columns([*NAMES_OF_ONE_WRITE, "extra_files"])
    return [row | {"extra_files": count} for row, count in zip(kept.to_pylist(), extra, strict=True)]


def manifests_of(table: polynya.Table) -> pa.Table:
    """What the manifest lists say, all that does not depend on names and sizes."""
    return read_metas(table.root, table.snapshot).drop_columns(["file_name", "file_size"])


def delta_of(table: polynya.Table) -> pa.Table:
    """All entries of a view, not folded."""
    return read_entries(table.root, read_metas(table.root, table.snapshot))


def schema_text(table: Path, id: int = 0) -> str:
    """A schema file without its time."""
    return re.sub(r'"timeMillis" : \d+', "", (table / "schema" / f"schema-{id}").read_text())


def snapshot_facts(table: Path, id: int) -> list[tuple[str, Any]]:
    """The keys of a snapshot file in order, with the values that do not depend on who wrote it when."""
    found = json.loads((table / "snapshot" / f"snapshot-{id}").read_text())
    return [(key, None if SNAPSHOT_OF_ONE_WRITE.search(key) else value) for key, value in found.items()]
