"""A damaged row of bytes inside a manifest: whoever meets it names the file."""

from pathlib import Path

import pyarrow as pa
import pytest

import polynya
from polynya.table import entries, manifest_cache

SLOT = 12  # where the only slot of a row with one field starts: arity, null bits
OFFSET_BYTES = 4  # the upper half of the slot of a long text


@pytest.fixture
def table(tmp_path):
    schema = pa.schema([("name of the day", pa.string()), ("value", pa.int32())])
    options = {"manifest.compression": "null", "metadata.stats-mode": "full"}
    warehouse = polynya.open_warehouse(tmp_path)
    warehouse.create_database("db")
    made = warehouse.create_table("db.t", schema, partition_by=["name of the day"], options=options)
    for day in ("Wednesday", "Donnerstag"):
        made.write(pa.table({"name of the day": [day], "value": pa.array([1], pa.int32())}))
    return made.refresh()


def damage(table, column):
    """Point a text in the last manifest far outside of its row; the name of that manifest."""
    metas = entries.read_metas(table.root, table.snapshot)
    name = metas["file_name"][-1].as_py()
    damage_row(table, name, entries.read_entries(table.root, metas.slice(metas.num_rows - 1, 1))[column][0].as_py())
    return name


def damage_row(table, name, row):
    """Point the text of a row far outside of it."""
    path = Path(table.location) / "manifest" / name
    content = path.read_bytes()
    at = content.index(row) + SLOT + OFFSET_BYTES
    path.write_bytes(content[:at] + b"\xff\xff\xff\x7f" + content[at + OFFSET_BYTES :])
    manifest_cache.SHARED.clear()


@pytest.mark.parametrize(
    "look",
    [
        lambda table: table.scan().to_arrow(),
        lambda table: table.system("partitions"),
        lambda table: table.system("files"),
        lambda table: table.delete("value = 1"),
        lambda table: table.write(table.scan().to_arrow()),
    ],
)
def test_whoever_decodes_a_damaged_partition_names_its_manifest(table, look):
    name = damage(table, "partition")
    with pytest.raises(polynya.CorruptFileError, match=name):
        look(table)


def test_the_check_says_which_manifest_is_damaged(table):
    name = damage(table, "partition")
    (problem,) = table.check().problems
    assert problem.where == f"manifest/{name}"


def test_a_damaged_partition_of_a_manifest_list_is_named(table):
    name = table.snapshot.delta_manifest_list
    damage_row(table, name, entries.read_lists(table.root, [name])["partition_stats_min"][0].as_py())
    with pytest.raises(polynya.CorruptFileError, match=name):
        table.system("manifests")


def test_a_damaged_partition_of_an_index_manifest_is_named(tmp_path):
    warehouse = polynya.open_warehouse(tmp_path)
    warehouse.create_database("db")
    schema = pa.schema([("name of the day", pa.string()), ("k", pa.int32())])
    options = {"deletion-vectors.enabled": "true", "manifest.compression": "null"}
    made = warehouse.create_table("db.t", schema, partition_by=["name of the day"], options=options)
    made.write(pa.table({"name of the day": ["Wednesday"] * 2, "k": pa.array([1, 2], pa.int32())}))
    made.refresh().delete("k = 1")
    table = made.refresh()
    damage_row(
        table,
        table.snapshot.index_manifest,
        entries.read_index(table.root, table.snapshot)["partition"][0].as_py(),
    )
    with pytest.raises(polynya.CorruptFileError, match=table.snapshot.index_manifest):
        table.system("table_indexes")


def test_statistics_of_a_column_that_does_not_exist_are_named_by_their_manifest(tmp_path):
    warehouse = polynya.open_warehouse(tmp_path)
    warehouse.create_database("db")
    options = {"manifest.compression": "null", "fields.v.stats-mode": "none"}
    made = warehouse.create_table("db.t", pa.schema([("some column", pa.int32()), ("v", pa.int32())]), options=options)
    made.write(pa.table({"some column": [1], "v": [1]}, made.arrow_schema))
    table = made.refresh()
    name = entries.read_metas(table.root, table.snapshot)["file_name"][0].as_py()
    path = Path(table.location) / "manifest" / name
    path.write_bytes(path.read_bytes().replace(b"some column", b"same column"))
    with pytest.raises(polynya.CorruptFileError, match=f"{name}: columns of a manifest entry"):
        table.system("files")
