"""What an Iceberg client reads from the twin of a table, beside what the table itself gives."""

import warnings
from pathlib import Path

import pyarrow as pa
from pyiceberg.table import StaticTable

from polynya.api import Table


def load(table: Table) -> StaticTable:
    """The twin as PyIceberg finds it in the table's folder, by its hint."""
    return StaticTable.from_metadata(table.location)


def twin_rows(table: Table, **scan: object) -> list[str]:
    """The rows that PyIceberg reads, in an order of their own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rows_of(load(table).scan(**scan).to_arrow())


def rows_of(rows: pa.Table) -> list[str]:
    """The rows as sorted texts, so that NaN equals NaN."""
    return sorted(map(repr, rows.to_pylist()))


def assert_twin(table: Table) -> None:
    """The twin shows the rows of the latest snapshot, and its totals are those of its files."""
    table = table.refresh()
    assert twin_rows(table) == rows_of(table.scan().to_arrow())
    twin = load(table)
    current = twin.current_snapshot()
    assert current is not None
    assert table.snapshot is not None
    assert (current.snapshot_id, current.sequence_number) == (table.snapshot.id, table.snapshot.id)
    files = twin.inspect.files()
    data = files.filter(pa.compute.equal(files["content"], 0))
    assert int(current.summary["total-data-files"]) == data.num_rows
    assert int(current.summary["total-records"]) == sum(data["record_count"].to_pylist())
    assert int(current.summary["total-delete-files"]) == files.num_rows - data.num_rows


def metadata_names(table: Table) -> list[str]:
    """The files in the metadata folder."""
    return sorted(path.name for path in Path(table.location, "metadata").iterdir() if not path.name.startswith("."))


def unreferenced_names(table: Table) -> list[str]:
    """The files in the metadata folder that no snapshot of the twin refers to."""
    twin = load(table)
    used = {Path(twin.metadata_location).name, "version-hint.text"}
    for snapshot in twin.metadata.snapshots:
        used.add(Path(snapshot.manifest_list).name)
        for manifest in snapshot.manifests(twin.io):
            used.add(Path(manifest.manifest_path).name)
            entries = manifest.fetch_manifest_entry(twin.io, discard_deleted=True)
            used.update(Path(entry.data_file.file_path).name for entry in entries)
    return [name for name in metadata_names(table) if name not in used]
