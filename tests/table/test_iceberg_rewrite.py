"""Rewriting the manifests of tables that Java Iceberg wrote, and of tables that are refused."""

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

import polynya
from golden_iceberg import iceberg_names, iceberg_table
from iceberg_twin import rows_of
from polynya.iceberg import layout
from polynya.iceberg.manifest import EXISTING
from polynya.storage import urls
from polynya.table import iceberg_entries
from polynya.table import iceberg_table as tables
from polynya.table.iceberg_rewrite import TARGET_SIZE, rewrite_manifests

KEPT = ("file_path", "snapshot_id", "sequence_number", "file_sequence_number", "record_count", "first_row_id")
KEPT += ("content", "lower_bounds", "upper_bounds", "value_counts", "equality_ids", "content_offset", "spec_id")


def copy_of(name, folder):
    made = folder / name
    shutil.copytree(iceberg_table(name), made)
    return made


def root_of(folder):
    found = tables.find_table(urls.open_storage(folder))
    assert found is not None
    return found


def live_entries(root):
    metas = iceberg_entries.read_metas(root, root.metadata.current_snapshot)
    every = iceberg_entries.read_entries(root, metas, [one for one in KEPT if one != "spec_id"])
    partitions = [name for name in every.column_names if name.startswith("partition_")]
    return iceberg_entries.live(every), [*KEPT, *partitions], metas


def set_properties(folder, **properties):
    """Write the metadata again, with more properties."""
    root = root_of(folder)
    path = folder / root.metadata_name
    found = json.loads(path.read_text())
    found["properties"] |= properties
    path.write_text(json.dumps(found))


@pytest.fixture
def many(tmp_path):
    """A table with many manifests, in the file-system layout."""
    for name in iceberg_names():
        root = root_of(iceberg_table(name))
        if layout.find_file_system_version(root.metadata_name) and root.metadata_name.endswith("0.metadata.json"):
            live, _, metas = live_entries(root)
            if metas.num_rows > 2 and live.num_rows > 4:
                return copy_of(name, tmp_path)
    raise AssertionError("no golden table has many manifests")


@pytest.mark.parametrize("name", iceberg_names())
def test_entries_stay_what_they_are(name, tmp_path):
    folder = copy_of(name, tmp_path)
    try:
        before = root_of(folder)
        old, columns, metas = live_entries(before)
        report = rewrite_manifests(before)
    except polynya.UnsupportedError as error:
        pytest.skip(str(error))
    root = root_of(folder)
    new, _, listed = live_entries(root)
    assert rows_of(new.select(columns)) == rows_of(old.select(columns))
    groups = old.group_by(["spec_id", "content"]).aggregate([]).num_rows
    assert (
        listed.num_rows == report.manifest_count_after <= max(groups, metas.num_rows if not report.snapshot_id else 0)
    )
    if report.snapshot_id is None:
        assert root.metadata == before.metadata
        return
    assert set(new["status"].to_pylist()) <= {EXISTING, 1}
    assert root.metadata.current_snapshot_id == report.snapshot_id
    assert root.metadata.current_snapshot.parent_snapshot_id == before.metadata.current_snapshot_id
    assert rewrite_manifests(root).snapshot_id is None
    assert rows_of(polynya.open_table(folder).scan().to_arrow()) == rows_of(
        polynya.open_table(iceberg_table(name)).scan().to_arrow()
    )


def test_manifests_are_split_at_the_target_size(many):
    set_properties(many, **{TARGET_SIZE: "20000"})
    report = rewrite_manifests(root_of(many), dry_run=True)
    assert 1 < report.manifest_count_after < report.manifest_count
    made = rewrite_manifests(root_of(many))
    assert made.manifest_count_after == report.manifest_count_after
    assert made.entry_count == report.entry_count


def test_a_dry_run_writes_nothing(many):
    before = sorted(path.name for path in many.rglob("*"))
    report = rewrite_manifests(root_of(many), dry_run=True)
    assert report.manifest_count_after < report.manifest_count
    assert report.snapshot_id is None
    assert sorted(path.name for path in many.rglob("*")) == before


def test_who_loses_the_race_looks_again_and_leaves_nothing(many):
    others = []

    def meanwhile():
        if not others:
            others.append(rewrite_manifests(root_of(many)))
        return 0

    made = rewrite_manifests(root_of(many), now_ms=meanwhile)
    assert made.snapshot_id is None
    root = root_of(many)
    assert root.metadata.current_snapshot_id == others[0].snapshot_id
    there = {path.name for path in many.glob("metadata/*.avro")}
    new = there - {path.name for path in iceberg_table(many.name).glob("metadata/*.avro")}
    _, _, metas = live_entries(root)
    used = {Path(one).name for one in metas["manifest_path"].to_pylist()}
    assert new <= used | {Path(root.metadata.current_snapshot.manifest_list).name}


def test_the_table_of_a_catalog_is_refused(many):
    root = root_of(many)
    (many / root.metadata_name).rename(many / "metadata" / "00099-0a-b.metadata.json")
    for path in many.glob("metadata/v*.json"):
        path.unlink()
    (many / "metadata" / "version-hint.text").unlink()
    with pytest.raises(polynya.UnsupportedError, match="catalog"):
        rewrite_manifests(root_of(many))


def test_a_table_opened_by_its_metadata_file_is_refused(many):
    root = root_of(many)
    pinned = tables.open_metadata(root.storage, root.metadata_name, is_pinned=True)
    with pytest.raises(polynya.InvalidInputError, match="folder"):
        rewrite_manifests(pinned)


def test_the_twin_of_a_paimon_table_is_refused(tmp_path):
    warehouse = polynya.open_warehouse(tmp_path)
    warehouse.create_database("db")
    options = {"metadata.iceberg.storage": "hadoop-catalog"}
    rows = pa.table({"k": [1, 2]})
    warehouse.create_table("db.t", rows.schema, options=options).write(rows)
    with pytest.raises(polynya.UnsupportedError, match="Paimon"):
        rewrite_manifests(root_of(tmp_path / "iceberg" / "db" / "t"))


def test_a_table_rewrites_its_own_manifests(many):
    table = polynya.open_table(many)
    report = table.compact_manifests(dry_run=True)
    assert report.snapshot_id is None
    made = table.compact_manifests()
    assert made.manifest_count_after == report.manifest_count_after
    assert table.refresh().snapshot.id == made.snapshot_id
