"""What Java did to a table reaches its Iceberg twin with the next publish."""

from pathlib import Path

import pyarrow as pa
import pytest

import polynya
from iceberg_twin import assert_twin, load, rows_of, twin_rows, unreferenced_names

COLUMNS = pa.schema([("k", pa.int32()), ("v", pa.string())])
STORAGE = {"metadata.iceberg.storage": "table-location"}


def rows(*keys):
    return pa.table({"k": keys, "v": [str(key) for key in keys]}, schema=COLUMNS)


@pytest.fixture
def table(tmp_path):
    warehouse = polynya.open_warehouse(tmp_path)
    warehouse.create_database("db")
    made = warehouse.create_table("db.t", COLUMNS)
    made.write(rows(1, 2))
    made.publish_iceberg()
    return made


@pytest.fixture
def theirs(java, table):
    return java.table(Path(table.location))


def ids_of(table):
    return [one.snapshot_id for one in load(table).metadata.snapshots]


def test_a_rollback_to_a_tag_of_an_expired_snapshot(table, theirs):
    theirs.ask("tag", name="first", snapshot=1)
    for key in range(3, 7):
        theirs.write([[key, "java"]])
    theirs.ask("expire", retain_max=2)
    table.publish_iceberg()
    assert ids_of(table) == [1, 4, 5]
    assert_twin(table)
    theirs.ask("rollback", tag="first")
    table.publish_iceberg()
    assert ids_of(table) == [1]
    assert_twin(table)
    theirs.write([[9, "other"]])
    table.publish_iceberg()
    assert_twin(table)
    assert unreferenced_names(table) == []


def test_a_tag_that_is_deleted_takes_its_snapshot_along(table, theirs):
    theirs.ask("tag", name="first", snapshot=1)
    theirs.write([[3, "java"]])
    theirs.ask("expire", retain_max=1)
    table.publish_iceberg()
    assert ids_of(table) == [1, 2]
    theirs.ask("tag", name="first", delete=True)
    table.publish_iceberg()
    assert ids_of(table) == [2]
    assert list(load(table).metadata.refs) == ["main"]
    assert_twin(table)


def test_a_branch_becomes_main_with_a_schema_of_its_own(java, table, theirs):
    theirs.ask("tag", name="first", snapshot=1)
    theirs.ask("branch", name="b", tag="first")
    theirs.ask("alter", changes=[["add", "x", "INT"]])
    theirs.write([[3, "main", 5]])
    table.publish_iceberg()
    before = twin_rows(table)
    branch = java.table(Path(table.location), "b")
    branch.ask("alter", changes=[["add", "y", "STRING"]])
    branch.write([[4, "branch", "text"]])
    table.publish_iceberg()
    assert twin_rows(table) == before
    theirs.ask("branch", name="b", fast_forward=True)
    table.publish_iceberg()
    assert_twin(table)
    assert "{'k': 4, 'v': 'branch', 'y': 'text'}" in twin_rows(table)


def test_everything_at_once_is_caught_up_snapshot_by_snapshot(table, theirs):
    theirs.write([[3, "c"]])
    theirs.ask("alter", changes=[["add", "x", "INT"], ["rename", "v", "w"]])
    theirs.write([[4, "d", 1]], overwrite={})
    theirs.ask("tag", name="here")
    theirs.ask("alter", changes=[["type", "x", "BIGINT"]])
    theirs.write([[5, "e", 2**40]])
    theirs.ask("compact", full=True)
    theirs.ask("truncate")
    theirs.write([[6, None, None]])
    made = table.publish_iceberg()
    latest = table.refresh().snapshot.id
    assert made.new_snapshot_ids == tuple(range(2, latest + 1))
    for id in ids_of(table):
        assert twin_rows(table, snapshot_id=id) == rows_of(table.at(snapshot_id=id).scan().to_arrow())
    assert load(table).metadata.refs["here"].snapshot_id == 3


def test_history_of_a_table_that_java_made(java, tmp_path):
    folder = tmp_path / "db.db" / "t"
    theirs = java.table(folder).create(
        [("k", "INT NOT NULL"), ("v", "STRING")], primary_key=["k"], options={"bucket": "1"}
    )
    for number in range(4):
        theirs.write([[number, "a"], [0, f"v{number}"]])
    theirs.write([[1, "gone"]], kind="-D")
    table = polynya.open_table(folder)
    made = table.publish_iceberg(history=True, live=True)
    assert made.new_snapshot_ids == tuple(range(1, table.snapshot.id + 1))
    for id in made.new_snapshot_ids:
        assert twin_rows(table, snapshot_id=id) == rows_of(table.at(snapshot_id=id).scan().to_arrow())


@pytest.mark.parametrize("version", ["2", "3"])
def test_java_goes_on_with_the_twin_and_polynya_goes_on_with_java_s(java, tmp_path, version):
    warehouse = polynya.open_warehouse(tmp_path)
    warehouse.create_database("db")
    options = STORAGE | {"metadata.iceberg.format-version": version, "deletion-vectors.enabled": "true"}
    table = warehouse.create_table("db.t", COLUMNS, options=options | {"deletion-vectors.bitmap64": "true"})
    theirs = java.table(Path(table.location))
    for key in range(0, 20, 4):
        table.write(rows(key, key + 1))
        theirs.write([[key + 2, "java"], [key + 3, "java"]])
        assert load(table).current_snapshot().snapshot_id == table.refresh().snapshot.id
        table.delete(f"k = {key}")
        theirs.ask("delete", where=[["=", "k", key + 1]])
        table.publish_iceberg()
        assert_twin(table)
    for id in ids_of(table):
        assert twin_rows(table, snapshot_id=id) == rows_of(table.at(snapshot_id=id).scan().to_arrow())
    assert unreferenced_names(table) == []
