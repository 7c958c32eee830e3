"""Every table that Java wrote reads as Java reads it: latest, at each snapshot, at each tag, on each branch."""

import dataclasses
import json
import shutil
import time

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import polynya
from golden_data import OTHER_ZONE, REFUSED, golden_expected, golden_root, golden_table, readable_names
from polynya.codec.avro import AvroSource
from polynya.model.schema import ROW_ID, SEQUENCE_NUMBER
from polynya.paimon import layout, manifest, manifest_list, snapshot
from rows import render_rows, rows_digest, sorted_rows

SYSTEM = {ROW_ID.name: ROW_ID, SEQUENCE_NUMBER.name: SEQUENCE_NUMBER}

UNORDERED = {"agg_all", "agg_nested", "agg_retract"}  # columns whose element order is Java's hash order
READABLE = readable_names()


def read(table):
    return render_rows(table.scan().to_arrow(), table.schema.fields)


def same(found, expected, name):
    return loose(found, name) == loose(sorted_rows(expected), name)


def loose(rows, name):
    """Rows in which a float's text does not matter, nor the order of elements where Java has none."""

    def plain(value):
        if isinstance(value, float):
            return float(f"{value:.6g}")
        if isinstance(value, list):
            inner = [plain(one) for one in value]
            return sorted(inner, key=json.dumps) if name in UNORDERED else inner
        return value

    return [[plain(value) for value in row] for row in rows]


@pytest.mark.parametrize("name", READABLE)
def test_latest_rows_are_those_that_java_reads(name):
    assert same(read(polynya.open_table(golden_table(name))), golden_expected(name)["rows"], name)


@pytest.mark.parametrize("name", READABLE)
def test_every_snapshot_reads_as_java_reads_it(name):
    table = polynya.open_table(golden_table(name))
    for expected in golden_expected(name)["snapshots"]:
        found = read(table.at(snapshot_id=expected["id"]))
        if "rows" in expected:
            assert same(found, expected["rows"], name), f"snapshot {expected['id']}"
        elif "rowsSha256" in expected:
            assert (len(found), rows_digest(found)) == (expected["rowCount"], expected["rowsSha256"])


@pytest.mark.parametrize("name", [name for name in READABLE if golden_expected(name).get("tags")])
def test_every_tag_reads_as_java_reads_it(name):
    table = polynya.open_table(golden_table(name))
    for tag, expected in golden_expected(name)["tags"].items():
        assert same(read(table.at(tag=tag)), expected["rows"], name), tag


@pytest.mark.parametrize("name", [name for name in READABLE if golden_expected(name).get("branches")])
def test_every_branch_reads_as_java_reads_it(name):
    table = polynya.open_table(golden_table(name))
    for branch, expected in golden_expected(name)["branches"].items():
        assert same(read(table.branch(branch)), expected["rows"], name), branch


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_is_not_read_is_refused_by_name(name):
    with pytest.raises(polynya.UnsupportedError, match=REFUSED[name]):
        polynya.open_table(golden_table(name)).scan().to_arrow()


@pytest.mark.parametrize("name", ["row_tracking", "row_tracking_partitioned", "data_evolution"])
def test_row_ids_and_sequence_numbers_are_those_that_java_shows(name):
    table = polynya.open_table(golden_table(name))
    expected = golden_expected(name)["system"]["row_tracking"]
    columns = [column[0] for column in expected["columns"]]
    rows = table.scan(columns=columns).to_arrow()
    fields = [table.schema.find(column) or SYSTEM[column] for column in columns]
    assert render_rows(rows, fields) == sorted_rows(expected["rows"])


@pytest.mark.parametrize("name", sorted(OTHER_ZONE))
def test_what_depends_on_the_zone_reads_right_in_the_zone_of_its_writer(name, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    try:
        assert same(read(polynya.open_table(golden_table(name))), golden_expected(name)["rows"], name)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_table_with_external_paths_reads_its_files_there(tmp_path):
    """The absolute paths in its manifests only hold where the table was written, so they are mapped first."""
    source = golden_table("external_paths")
    expected = golden_expected("external_paths")
    copy = tmp_path / "external_paths"
    shutil.copytree(source, copy)
    if not (golden_root() / "golden_external").exists():
        pytest.fail("the golden archive lacks golden_external")
    moved = relocate(copy, "file:/polynya/golden_external", f"file:{golden_root() / 'golden_external'}")
    assert same(read(polynya.open_table(moved)), expected["rows"], "external_paths")


def relocate(folder, old, new):
    """The same table with its external paths under another folder: manifests, lists, snapshots and options."""
    schema = folder / "schema" / "schema-0"
    schema.write_text(schema.read_text().replace("file:///polynya/golden_external", new))
    sizes = {}
    for path in (folder / layout.MANIFEST_FOLDER).glob("manifest-*-*"):
        if path.name.startswith("manifest-list-"):
            continue
        entries = manifest.decode([AvroSource(path.name, path.read_bytes())])
        index = entries.schema.get_field_index("external_path")
        moved = pc.replace_substring(entries["external_path"], old, new)
        path.write_bytes(manifest.encode(entries.set_column(index, "external_path", moved)))
        sizes[path.name] = path.stat().st_size
    for path in (folder / layout.MANIFEST_FOLDER).glob("manifest-list-*"):
        metas = manifest_list.decode([AvroSource(path.name, path.read_bytes())])
        index = metas.schema.get_field_index("file_size")
        new_sizes = [sizes[name] for name in metas["file_name"].to_pylist()]
        path.write_bytes(
            manifest_list.encode(metas.set_column(index, metas.schema.field(index), pa.array(new_sizes, pa.int64())))
        )
    for path in (folder / layout.SNAPSHOT_FOLDER).glob("snapshot-*"):
        found = snapshot.decode(path.read_bytes(), name=path.name)
        unsized = dataclasses.replace(found, base_manifest_list_size=None, delta_manifest_list_size=None)
        path.write_bytes(snapshot.encode(unsized))
    return folder
