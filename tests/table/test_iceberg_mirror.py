"""Publishing the twin while the store fails, and while others publish."""

import json
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.table import StaticTable

import polynya
from fault_storage import FaultPlan, FaultStorage
from iceberg_twin import assert_twin, load, metadata_names, rows_of, twin_rows, unreferenced_names
from polynya.errors import StorageError

COLUMNS = pa.schema([("id", pa.int64()), ("p", pa.string())])


def rows(first, count=3):
    return pa.table({"id": list(range(first, first + count)), "p": ["a", None, "c"][:count]}, schema=COLUMNS)


@pytest.fixture
def table(tmp_path):
    warehouse = polynya.open_warehouse(tmp_path / "wh")
    warehouse.create_database("db")
    made = warehouse.create_table("db.t", COLUMNS, partition_by=["p"], options={"deletion-vectors.enabled": "true"})
    made.write(rows(0))
    made.write(rows(3))
    made.publish_iceberg()
    made.delete("id = 1")
    made.write(rows(6, 1), mode="overwrite", partition={"p": "a"})
    return made.refresh()


def _at_fault(table, plan):
    return replace(table, root=replace(table.root, storage=FaultStorage(table.root.storage, plan)))


def _copy(table, folder):
    """The table elsewhere, with a twin that stands at snapshot 2; metadata names its files by absolute paths."""
    shutil.copytree(table.location, folder, ignore=shutil.ignore_patterns("metadata"))
    snapshots = folder / "snapshot"
    later = {id: (snapshots / f"snapshot-{id}").read_bytes() for id in (3, 4)}
    for id in later:
        (snapshots / f"snapshot-{id}").unlink()
    (snapshots / "LATEST").write_text("2")
    polynya.open_table(folder).publish_iceberg()
    for id, data in later.items():
        (snapshots / f"snapshot-{id}").write_bytes(data)
    (snapshots / "LATEST").write_text("4")
    return polynya.open_table(folder)


def test_a_publish_that_fails_anywhere_is_made_good_by_the_next(table, tmp_path):
    plan = FaultPlan()
    _at_fault(_copy(table, tmp_path / "probe"), plan).publish_iceberg()
    writes = [place for place, (verb, _) in enumerate(plan.calls, 1) if verb in ("put", "put_new", "delete")]
    assert len(writes) > 8
    for number, place in enumerate([*writes, *writes[-4:]]):
        copy = _copy(table, tmp_path / f"t-{number}")
        with pytest.raises(StorageError, match="planned fault"):
            _at_fault(copy, FaultPlan(place, after=number >= len(writes) or number % 2 == 1)).publish_iceberg()
        copy.publish_iceberg()
        assert_twin(copy)
        assert [one.snapshot_id for one in load(copy).metadata.snapshots] == [2, 3, 4]
        assert unreferenced_names(copy) == []


def test_many_publishers_at_once_make_one_history(table):
    failures = []

    def work(number):
        try:
            for step in range(3):
                polynya.open_table(table.location).write(rows(100 * number + 3 * step))
                polynya.open_table(table.location).publish_iceberg()
        except polynya.PolynyaError as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not [one for one in failures if not isinstance(one, polynya.ConflictError)]
    table.publish_iceberg()
    assert_twin(table)
    ids = [one.snapshot_id for one in load(table).metadata.snapshots]
    assert ids == list(range(2, table.refresh().snapshot.id + 1))


def test_a_branch_has_no_twin(table):
    shutil.copytree(Path(table.location, "schema"), Path(table.location, "branch", "branch-b", "schema"))
    with pytest.raises(polynya.InvalidInputError, match="branch 'b'"):
        table.branch("b").publish_iceberg()


@pytest.mark.parametrize("versions_max", ["0", "2"])
def test_a_rollback_that_fails_anywhere_to_reach_the_twin_never_leaves_it_empty(tmp_path, versions_max):
    probe = FaultPlan()
    _at_fault(_rolled_back(tmp_path, "probe", versions_max), probe).publish_iceberg()
    writes = [place for place, (verb, _) in enumerate(probe.calls, 1) if verb in ("put", "put_new", "delete")]
    assert len(writes) > 5
    for number, place in enumerate(writes[-5:]):
        table = _rolled_back(tmp_path, f"t{number}", versions_max)
        uuid = load(table).metadata.table_uuid
        with pytest.raises(StorageError, match="planned fault"):
            _at_fault(table, FaultPlan(place, after=number % 2 == int(versions_max) // 2)).publish_iceberg()
        load(table).scan().to_arrow()
        table.publish_iceberg()
        assert_twin(table)
        assert load(table).metadata.table_uuid == uuid
        for id in (1, 2, 3):
            assert twin_rows(table, snapshot_id=id) == rows_of(table.at(snapshot_id=id).scan().to_arrow())
        if versions_max == "0":
            assert unreferenced_names(table) == []


def _rolled_back(folder, name, versions_max):
    """A table with a twin of four snapshots, of which the table has two any more, and another third."""
    warehouse = polynya.open_warehouse(folder)
    warehouse.create_database("db", exist_ok=True)
    options = {"deletion-vectors.enabled": "true", "metadata.iceberg.previous-versions-max": versions_max}
    table = warehouse.create_table(f"db.{name}", COLUMNS, options=options)
    for step in range(2):
        table.write(rows(3 * step))
        table.publish_iceberg()
        table.delete(f"id = {3 * step}")
        table.publish_iceberg()
    _roll_back(table, 2)
    table.write(rows(50), mode="overwrite")
    return table.refresh()


def _roll_back(table, id):
    folder = Path(table.location, "snapshot")
    for path in folder.glob("snapshot-*"):
        if int(path.name.partition("-")[2]) > id:
            path.unlink()
    (folder / "LATEST").write_text(str(id))


def test_the_twin_of_one_history_has_the_same_file_names_each_time(table):
    first = metadata_names(table)
    shutil.rmtree(Path(table.location, "metadata"))
    table.publish_iceberg(history=True)
    again = metadata_names(table)
    shutil.rmtree(Path(table.location, "metadata"))
    table.publish_iceberg(history=True)
    assert metadata_names(table) == again
    assert first != again


def test_a_publisher_that_was_outrun_leaves_the_hint_where_it_is(table):
    publish_outrun(table)
    assert Path(table.location, "metadata", "version-hint.text").read_text() == "5"
    assert_twin(table)
    table.publish_iceberg()
    assert unreferenced_names(table) == []


def publish_outrun(table):
    """Publish, but slowly: held before the metadata is put, until another has published a later snapshot."""
    slow, table_of_others = _Held(table.root.storage), polynya.open_table(table.location)

    def meanwhile():
        table_of_others.write(rows(20))
        table_of_others.publish_iceberg()

    slow.meanwhile.append(meanwhile)
    replace(table, root=replace(table.root, storage=slow)).publish_iceberg()
    assert not slow.meanwhile


class _Held:
    """A storage that lets something happen before metadata is put."""

    def __init__(self, inner, meanwhile=None):
        self.inner, self.meanwhile = inner, [] if meanwhile is None else meanwhile

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def child(self, folder):
        return _Held(self.inner.child(folder), self.meanwhile)

    def put_new(self, name, data):
        self._wait(name)
        self.inner.put_new(name, data)

    def put(self, name, data):
        self._wait(name)
        self.inner.put(name, data)

    def _wait(self, name):
        if name.endswith(".metadata.json") and self.meanwhile:
            self.meanwhile.pop()()


def test_a_publisher_of_a_tag_that_was_outrun_leaves_the_hint_where_it_is(table):
    table.publish_iceberg()
    snapshot = Path(table.location, "snapshot", "snapshot-4").read_bytes()
    Path(table.location, "tag").mkdir()
    Path(table.location, "tag", "tag-x").write_bytes(snapshot)
    publish_outrun(table)
    assert_twin(table)
    table.publish_iceberg()
    assert_twin(table)
    assert twin_rows(table, snapshot_id=4) == rows_of(table.at(tag="x").scan().to_arrow())
    assert unreferenced_names(table) == []


@pytest.mark.parametrize("storage", ["table-location", "hadoop-catalog"])
def test_a_first_publish_that_fails_anywhere_is_caught_up_with_snapshot_by_snapshot(tmp_path, storage):
    probe = FaultPlan()
    _at_fault(_asking(tmp_path, "probe", storage), probe).write(rows(0))
    committed = next(place for place, (_, name) in enumerate(probe.calls) if name == "snapshot/snapshot-1") + 1
    places = range(committed + 3, len(probe.calls) + 1)
    assert len(places) > 6
    for place in places:
        table = _asking(tmp_path, f"t{place}", storage)
        _at_fault(table, FaultPlan(place, after=place % 2 == 0)).write(rows(0))
        table.refresh().write(rows(3))
        twin = _twin_of(table)
        assert [one.snapshot_id for one in twin.metadata.snapshots] == [1, 2]
        for id in (1, 2):
            assert rows_of(twin.scan(snapshot_id=id).to_arrow()) == rows_of(table.at(snapshot_id=id).scan().to_arrow())
        if storage == "table-location":
            assert unreferenced_names(table) == []


def _asking(folder, name, storage):
    """An empty table that is published from its first commit on."""
    warehouse = polynya.open_warehouse(folder)
    warehouse.create_database("db", exist_ok=True)
    return warehouse.create_table(f"db.{name}", COLUMNS, options={"metadata.iceberg.storage": storage})


def _twin_of(table):
    if table.schema.options["metadata.iceberg.storage"] == "table-location":
        return load(table)
    place = Path(table.location)
    return StaticTable.from_metadata(str(place.parents[1] / "iceberg" / "db" / place.name))


def test_a_twin_that_never_was_begins_where_the_option_was_set(tmp_path):
    table = _asking(tmp_path, "t", "disabled")
    table.write(rows(0))
    _set(table, "metadata.iceberg.storage", "table-location")
    for first in (3, 6):
        table.refresh().write(rows(first))
        shutil.rmtree(Path(table.location, "metadata"))
    table.refresh().write(rows(9))
    assert [one.snapshot_id for one in load(table).metadata.snapshots] == [2, 3, 4]


def _set(table, key, value):
    """A new version of the schema with one option set."""
    schema = table.refresh().schema
    file = Path(table.location, "schema", f"schema-{schema.id}")
    made = json.loads(file.read_text())
    made |= {"id": schema.id + 1, "options": made["options"] | {key: value}}
    file.with_name(f"schema-{schema.id + 1}").write_text(json.dumps(made))


def test_a_snapshot_without_iceberg_form_is_left_out_once_the_table_is_published_again(tmp_path):
    table = _asking(tmp_path, "t", "table-location")
    table.write(rows(0))
    _set(table, "file.format", "orc")
    table.refresh().write(rows(3))
    table.refresh().write(rows(6))
    assert [one.snapshot_id for one in load(table).metadata.snapshots] == [1]
    _set(table, "file.format", "parquet")
    table.refresh().write(rows(9), mode="overwrite")
    assert [one.snapshot_id for one in load(table).metadata.snapshots] == [1, 4]
    assert_twin(table)


def test_a_tag_of_a_snapshot_that_expired_before_it_was_published_reaches_the_twin(table):
    table.write(rows(30))
    shutil.copyfile(Path(table.location, "snapshot", "snapshot-3"), Path(table.location, "made"))
    Path(table.location, "tag").mkdir()
    Path(table.location, "made").rename(Path(table.location, "tag", "tag-t"))
    expected = rows_of(table.at(snapshot_id=3).scan().to_arrow())
    for id in (1, 2, 3):
        Path(table.location, "snapshot", f"snapshot-{id}").unlink()
    Path(table.location, "snapshot", "EARLIEST").write_text("4")
    table.publish_iceberg()
    assert [one.snapshot_id for one in load(table).metadata.snapshots] == [3, 4, 5]
    assert load(table).metadata.refs["t"].snapshot_id == 3
    assert twin_rows(table, snapshot_id=3) == expected


def test_an_expiry_that_fails_anywhere_to_reach_the_twin_leaves_no_waste(tmp_path):
    """There is no new snapshot, so the metadata is replaced under its own name."""
    probe = FaultPlan()
    _at_fault(_expired(tmp_path, "probe"), probe).publish_iceberg()
    first = next(place for place, (verb, _) in enumerate(probe.calls, 1) if verb == "put")
    for place in range(first, len(probe.calls) + 1):
        table = _expired(tmp_path, f"t{place}")
        with pytest.raises(StorageError, match="planned fault"):
            _at_fault(table, FaultPlan(place, after=place % 2 == 0)).publish_iceberg()
        if place % 3:
            table.publish_iceberg()
        else:
            table.write(rows(90))
        assert_twin(table)
        assert [one.snapshot_id for one in load(table).metadata.snapshots][:2] == [3, 4]
        assert unreferenced_names(table) == []


def _expired(folder, name):
    """A table with a twin of four snapshots, of which the table has lost two."""
    table = _asking(folder, name, "table-location")
    for step in range(4):
        table.refresh().write(rows(3 * step), mode="overwrite" if step % 2 else "append")
    snapshots = Path(table.location, "snapshot")
    for id in (1, 2):
        (snapshots / f"snapshot-{id}").unlink()
    (snapshots / "EARLIEST").write_text("3")
    return table.refresh()


def test_logs_stay_in_order_after_a_rollback_to_long_ago_and_when_a_clock_went_back(tmp_path):
    """Iceberg's own readers refuse a table whose logs are more than a minute out of order."""
    options = {"metadata.iceberg.previous-versions-max": "9"}
    table = _created(tmp_path, options=options)
    for hour in (1, 3, 2, 4):
        _write_at(table, hour)
    assert _logs(table) == ([1, 3, 3, 4], [1, 3, 3], 4)
    _roll_back(table, 1)
    polynya.open_table(table.location).publish_iceberg()
    assert _logs(table) == ([1], [], 1)
    _write_at(table, 2)
    assert _logs(table) == ([1, 2], [1], 2)
    Path(table.location, "snapshot", "snapshot-1").unlink()
    _write_at(table, 1)
    assert _logs(table) == ([2, 2], [1, 2], 2)
    assert_twin(table)


def _created(folder, **how):
    warehouse = polynya.open_warehouse(folder)
    warehouse.create_database("db")
    return warehouse.create_table("db.t", COLUMNS, **how)


def _write_at(table, hour):
    """A snapshot of that hour, published."""
    id = table.refresh().write(rows(0)).snapshot_id
    path = Path(table.location, "snapshot", f"snapshot-{id}")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"timeMillis": hour * 3_600_000}))
    polynya.open_table(table.location).publish_iceberg()


def _logs(table):
    """The hours of the snapshots, of the older versions, and of the newest."""
    found = load(table).metadata
    logs = ([entry.timestamp_ms // 3_600_000 for entry in log] for log in (found.snapshot_log, found.metadata_log))
    return *logs, found.last_updated_ms // 3_600_000


def test_files_of_the_old_top_level_leave_when_there_are_more_levels(tmp_path):
    options = {"bucket": "1", "num-levels": "4"}
    table = _created(tmp_path, primary_key=["id"], options=options)
    for levels in ("4", "6", "5"):
        folder = Path(table.location, "schema")
        schema = json.loads((folder / "schema-0").read_text())
        id = len(list(folder.iterdir()))
        changed = schema | {"id": id, "options": schema["options"] | {"num-levels": levels}}
        (folder / f"schema-{id}").write_text(json.dumps(changed))
        table = polynya.open_table(table.location)
        table.write(rows(0))
        table.publish_iceberg()
        table.refresh().compact(full=True)
        table.publish_iceberg()
        assert twin_rows(table) == rows_of(table.refresh().system("ro")), levels
