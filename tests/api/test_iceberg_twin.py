"""The Iceberg twin of tables that polynya writes, as PyIceberg reads it."""

import datetime as dt
import json
import random
import shutil
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.table import StaticTable

import polynya
from golden_data import golden_table, readable_names
from iceberg_twin import assert_twin, load, metadata_names, rows_of, twin_rows, unreferenced_names
from polynya.paimon import layout, schema_file, snapshot, tag
from polynya.paimon.tag import Tag

COLUMNS = pa.schema(
    [
        ("id", pa.int64()),
        ("p", pa.string()),
        ("x", pa.float64()),
        ("ts", pa.timestamp("us")),
        ("d", pa.decimal128(10, 2)),
        ("l", pa.list_(pa.int32())),
        ("r", pa.struct([("a", pa.int32()), ("b", pa.string())])),
    ]
)
KEYED = pa.schema([pa.field("k", pa.int32(), False), ("v", pa.string())])


def some_rows(count, first=0, partition="a"):
    numbers = range(first, first + count)
    return pa.table(
        {
            "id": list(numbers),
            "p": [partition if n % 4 else None for n in numbers],
            "x": [float("nan") if n % 7 == 0 else n / 3 for n in numbers],
            "ts": [dt.datetime(2020, 1, 1) + dt.timedelta(hours=n) for n in numbers],
            "d": [Decimal(n) / 4 if n % 5 else None for n in numbers],
            "l": [[n, None] for n in numbers],
            "r": [{"a": n, "b": str(n)} for n in numbers],
        },
        schema=COLUMNS,
    )


def keyed(keys, value):
    return pa.table({"k": pa.array(keys, pa.int32()), "v": [value] * len(keys)}, schema=KEYED)


@pytest.fixture
def warehouse(tmp_path):
    made = polynya.open_warehouse(tmp_path / "wh")
    made.create_database("db")
    return made


def append_table(warehouse, name="db.t", **options):
    given = {"metadata.iceberg.storage": "table-location", "deletion-vectors.enabled": "true"}
    return warehouse.create_table(name, COLUMNS, partition_by=["p"], options=given | options)


def keyed_table(warehouse, name="db.k", **options):
    given = {"metadata.iceberg.storage": "table-location", "bucket": "2", "write-only": "true"}
    return warehouse.create_table(name, KEYED, primary_key=["k"], options=given | options)


def option(name):
    return f"metadata.iceberg.{name}"


@pytest.mark.parametrize("version", ["2", "3"])
def test_every_commit_to_an_append_table_reaches_the_twin(warehouse, version):
    table = append_table(warehouse, **{option("format-version"): version})
    steps = [
        lambda: table.write(some_rows(10)),
        lambda: table.write(some_rows(10, 10, "b")),
        lambda: table.write(some_rows(4, 20, "b"), mode="overwrite"),
        lambda: table.delete("id >= 21 and id < 23"),
        lambda: table.delete("id < 5"),
        lambda: table.update({"x": "x + 1"}, "id > 5"),
        lambda: table.compact(full=True),
        lambda: table.compact_manifests(),
    ]
    for step in steps:
        step()
        assert_twin(table)
    twin = load(table)
    assert [one.snapshot_id for one in twin.metadata.snapshots] == list(range(1, 9))
    for one in twin.metadata.snapshots:
        assert twin_rows(table, snapshot_id=one.snapshot_id) == rows_of(
            table.at(snapshot_id=one.snapshot_id).scan().to_arrow()
        )


@pytest.mark.parametrize("version", ["2", "3"])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_live_twin_shows_the_latest_rows_of_a_keyed_table(warehouse, version, seed):
    table = keyed_table(warehouse, **{option("format-version"): version, option("live"): "true"})
    rng = random.Random(seed)
    for number in range(9):
        action = rng.random()
        if action < 0.6 or number == 0:
            table.write(keyed(rng.sample(range(60), 20), f"v{number}"))
        elif action < 0.8:
            table.delete(f"k < {rng.randrange(30)} and k > 10")
        else:
            table.compact(full=rng.random() < 0.5)
        assert_twin(table)


def test_a_compacted_twin_says_how_far_behind_it_is(warehouse):
    table = keyed_table(warehouse)
    table.write(keyed(range(20), "a"))
    assert twin_rows(table) == []
    table.compact(full=True)
    assert_twin(table)
    before = rows_of(table.refresh().scan().to_arrow())
    table.write(keyed(range(3), "b"))
    assert twin_rows(table) == before
    summary = load(table).current_snapshot().summary
    assert summary["polynya.unpublished-records"] == "3"


@pytest.mark.parametrize("version", ["2", "3"])
def test_filters_find_rows_by_the_bounds(warehouse, version):
    table = append_table(warehouse, **{option("format-version"): version})
    for start in range(0, 40, 10):
        table.write(some_rows(10, start, f"p{start}"))
    for text, ours in [("id > 25", "id > 25"), ("x < 3", "x < 3"), ("d >= 7", "d >= 7"), ("p = 'p10'", "p = 'p10'")]:
        assert twin_rows(table, row_filter=text) == rows_of(table.refresh().scan(ours).to_arrow())
    assert len(list(load(table).scan(row_filter="id > 35").plan_files())) <= 2


def test_manifests_are_reused_and_merged_when_there_are_many(warehouse):
    table = append_table(warehouse, **{option("compaction.min.file-num"): "3", option("compaction.max.file-num"): "5"})
    counts = []
    for number in range(12):
        table.write(some_rows(2, number))
        assert_twin(table)
        counts.append(load(table).inspect.manifests().num_rows)
    assert max(counts) <= 6
    assert min(counts[6:]) < 6


def test_one_commit_adds_one_manifest(warehouse):
    table = append_table(warehouse)
    table.write(some_rows(10))
    before = set(metadata_names(table))
    table.write(some_rows(3, 10))
    new = set(metadata_names(table)) - before
    assert sorted(name.split("-")[0] if name.startswith(("snap", "v")) else "m" for name in new) == [
        "m",
        "snap",
        "v2.metadata.json",
    ]


def test_old_metadata_stays_as_asked(warehouse):
    table = append_table(warehouse, **{option("previous-versions-max"): "2"})
    for number in range(5):
        table.write(some_rows(1, number))
    versions = [name for name in metadata_names(table) if name.endswith(".metadata.json")]
    assert versions == ["v3.metadata.json", "v4.metadata.json", "v5.metadata.json"]
    assert [Path(one.metadata_file).name for one in load(table).metadata.metadata_log] == versions[:2]


def test_columns_that_are_added_renamed_and_widened_are_followed(warehouse):
    table = append_table(warehouse)
    table.write(some_rows(5))
    _alter(table, lambda fields: [_renamed(fields[0], "ident"), *fields[1:], _added(fields, "extra", "INT")])
    table = table.refresh()
    more = (
        some_rows(3, 5)
        .rename_columns(["ident", *COLUMNS.names[1:]])
        .append_column("extra", pa.array([1, 2, 3], pa.int32()))
    )
    table.write(more)
    assert_twin(table)
    _alter(table, lambda fields: [*fields[:-1], {**fields[-1], "type": "BIGINT"}])
    table.refresh().write(more.set_column(7, "extra", pa.array([2**40] * 3)))
    assert_twin(table)
    assert len(load(table).metadata.schemas) == 3


def test_a_type_that_iceberg_cannot_follow_is_refused_until_the_files_are_gone(warehouse, caplog):
    table = append_table(warehouse)
    table.write(some_rows(5))
    _alter(table, lambda fields: [{**fields[0], "type": "STRING"}, *fields[1:]])
    table = table.refresh()
    table.write(table.scan().to_arrow())
    assert "'id'" in caplog.text
    with pytest.raises(polynya.UnsupportedError, match="'id'"):
        table.publish_iceberg()
    table.compact(full=True)
    assert_twin(table)


def test_a_type_that_iceberg_cannot_follow_is_refused_without_a_commit_too(warehouse):
    table = append_table(warehouse)
    table.write(some_rows(5))
    _alter(table, lambda fields: [{**fields[0], "type": "STRING"}, *fields[1:]])
    with pytest.raises(polynya.UnsupportedError, match="'id'"):
        table.publish_iceberg()
    assert load(table).scan().to_arrow().num_rows == 5


def test_times_are_refused_as_long_as_a_file_has_them(warehouse, caplog):
    columns = pa.schema([("id", pa.int64()), ("at", pa.list_(pa.time32("ms")))])
    table = warehouse.create_table("db.times", columns, options={option("storage"): "table-location"})
    rows = pa.table({"id": [1, 2], "at": [[dt.time(1, 2)], None]}, schema=columns)
    table.write(rows)
    assert "'at': Iceberg readers do not read times" in caplog.text
    with pytest.raises(polynya.UnsupportedError, match=r"'at'.*drop it"):
        table.publish_iceberg()
    _alter(table, lambda fields: fields[:1])
    table = table.refresh()
    table.write(rows.select(["id"]))
    with pytest.raises(polynya.UnsupportedError, match=r"'at'.*schema 0"):
        table.publish_iceberg()
    table.compact(full=True)
    assert_twin(table)


def _alter(table, change):
    latest = max(Path(table.location, "schema").glob("schema-*"))
    stored = json.loads(latest.read_text())
    stored["id"] += 1
    stored["fields"] = change(stored["fields"])
    stored["highestFieldId"] = max(stored["highestFieldId"], *(field["id"] for field in stored["fields"]))
    data = json.dumps(stored).encode()
    schema_file.decode(data, name="new")
    Path(table.location, "schema", f"schema-{stored['id']}").write_bytes(data)


def _renamed(field, name):
    return {**field, "name": name}


def _added(fields, name, type):
    return {"id": 50, "name": name, "type": type}


def test_a_rollback_takes_the_twin_back(warehouse):
    table = append_table(warehouse)
    for number in range(4):
        table.write(some_rows(3, number * 3))
    _roll_back(table, 2)
    table.write(some_rows(2, 100))
    assert_twin(table)
    assert [one.snapshot_id for one in load(table).metadata.snapshots] == [1, 2, 3]
    assert [name for name in metadata_names(table) if name.startswith("v") and "meta" in name] == ["v3.metadata.json"]
    _roll_back(table, 1)
    table.publish_iceberg()
    assert_twin(table)


def _roll_back(table, id):
    folder = Path(table.location, "snapshot")
    for path in folder.glob("snapshot-*"):
        if int(path.name.partition("-")[2]) > id:
            path.unlink()
    (folder / "LATEST").write_text(str(id))


def test_expired_snapshots_leave_and_tags_keep_theirs(warehouse):
    table = append_table(warehouse)
    for number in range(5):
        table.write(some_rows(3, number * 3))
        if number == 1:
            kept = rows_of(table.refresh().scan().to_arrow())
            Path(table.location, "tag").mkdir()
            found = snapshot.decode(Path(table.location, "snapshot", "snapshot-2").read_bytes(), name="s")
            Path(table.location, layout.tag_name("v1")).write_bytes(tag.encode(Tag(found)))
    for id in (1, 2, 3):
        Path(table.location, "snapshot", f"snapshot-{id}").unlink()
    Path(table.location, "snapshot", "EARLIEST").write_text("4")
    before = len(metadata_names(table))
    table.publish_iceberg()
    twin = load(table)
    assert sorted(one.snapshot_id for one in twin.metadata.snapshots) == [2, 4, 5]
    assert {name: ref.snapshot_id for name, ref in twin.metadata.refs.items()} == {"main": 5, "v1": 2}
    assert twin_rows(table, snapshot_id=2) == kept
    assert_twin(table)
    assert len(metadata_names(table)) == before - 2
    Path(table.location, layout.tag_name("v1")).unlink()
    table.publish_iceberg()
    assert sorted(one.snapshot_id for one in load(table).metadata.snapshots) == [4, 5]
    assert_twin(table)


def test_a_twin_whose_snapshots_have_all_expired_goes_on_with_the_earliest_there_is(warehouse):
    table = append_table(warehouse, **{option("storage"): "disabled"})
    table.write(some_rows(3))
    table.publish_iceberg()
    for number in range(1, 5):
        table.write(some_rows(3, number * 3))
    for id in (1, 2):
        Path(table.location, "snapshot", f"snapshot-{id}").unlink()
    Path(table.location, "snapshot", "EARLIEST").write_text("3")
    assert table.publish_iceberg().new_snapshot_ids == (3, 4, 5)
    assert_twin(table)
    assert unreferenced_names(table) == []


def test_a_table_that_was_moved_gets_a_twin_of_its_place(warehouse, tmp_path):
    table = append_table(warehouse)
    for number in range(3):
        table.write(some_rows(3, number))
    moved = tmp_path / "elsewhere"
    shutil.move(table.location, moved)
    table = polynya.open_table(moved)
    table.write(some_rows(2, 50))
    assert_twin(table)
    table.delete("id < 2")
    assert_twin(table)


def test_enabling_it_late_publishes_the_latest_or_all_snapshots(warehouse):
    table = warehouse.create_table("db.late", COLUMNS, options={})
    for number in range(3):
        table.write(some_rows(3, number))
    assert not Path(table.location, "metadata").exists()
    made = table.publish_iceberg()
    assert (made.snapshot_id, made.new_snapshot_ids) == (3, (3,))
    assert_twin(table)
    assert [table.publish_iceberg(history=True).new_snapshot_ids for _ in range(2)] == [(1, 2, 3), ()]
    assert_twin(table)
    assert unreferenced_names(table) == []
    shutil.rmtree(Path(table.location, "metadata"))
    made = table.publish_iceberg(history=True)
    assert made.new_snapshot_ids == (1, 2, 3)
    assert len(load(table).history()) == 3
    assert table.publish_iceberg().new_snapshot_ids == ()


def test_a_publish_that_failed_is_caught_up_snapshot_by_snapshot(warehouse, caplog):
    table = append_table(warehouse)
    table.write(some_rows(3))
    folder = Path(table.location, "metadata")
    aside = folder.rename(folder.with_name("aside"))
    folder.write_text("in the way")
    for number in range(2):
        assert table.write(some_rows(3, 3 + number)).snapshot_id == 2 + number
    assert "Iceberg twin" in caplog.text
    folder.unlink()
    aside.rename(folder)
    assert table.publish_iceberg().new_snapshot_ids == (2, 3)
    assert_twin(table)


def test_publishing_again_changes_nothing(warehouse):
    table = append_table(warehouse)
    table.write(some_rows(3))
    before = {name: Path(table.location, "metadata", name).read_bytes() for name in metadata_names(table)}
    table.publish_iceberg()
    assert {name: Path(table.location, "metadata", name).read_bytes() for name in metadata_names(table)} == before


def test_a_hadoop_catalog_has_the_metadata_beside_the_databases(warehouse):
    table = append_table(warehouse, **{option("storage"): "hadoop-catalog"})
    table.write(some_rows(3))
    folder = Path(warehouse.location, "iceberg", "db", "t")
    assert sorted(path.name for path in folder.iterdir()) == ["metadata"]
    twin = StaticTable.from_metadata(str(folder))
    assert rows_of(twin.scan().to_arrow()) == rows_of(table.refresh().scan().to_arrow())


def test_other_catalogs_and_versions_are_refused(warehouse):
    table = append_table(warehouse, **{option("format-version"): "4"})
    with pytest.raises(polynya.InvalidInputError, match="format-version"):
        table.publish_iceberg()
    with pytest.raises(polynya.UnsupportedError, match="storage"):
        append_table(warehouse, "db.h", **{option("storage"): "hive-catalog"}).write(some_rows(1))


def test_live_rows_of_an_engine_that_combines_rows_are_refused(warehouse):
    table = keyed_table(warehouse, **{"merge-engine": "partial-update"})
    with pytest.raises(polynya.UnsupportedError, match="partial-update"):
        table.publish_iceberg(live=True)


@pytest.mark.parametrize("name", ["ice_append", "ice_pk", "ice_pk_dv"])
def test_the_twin_that_java_began_is_taken_over(name, tmp_path):
    folder = tmp_path / name
    shutil.copytree(golden_table(name), folder)
    for path in (folder / "metadata").glob("*.json"):
        path.write_text(path.read_text().replace(f"file:/polynya/golden.db/{name}", f"file:{folder}"))
    uuid = json.loads(next((folder / "metadata").glob("*.json")).read_text())["table-uuid"]
    table = polynya.open_table(folder)
    table.publish_iceberg(live=True)
    assert_twin(table)
    assert str(load(table).metadata.table_uuid) == uuid


PARTITIONS = [
    (pa.date32(), [dt.date(1969, 12, 31), dt.date(2024, 1, 1), None], "'2024-01-01'"),
    (pa.decimal128(9, 2), [Decimal("-1.28"), Decimal("12345.67"), None], "-1.28"),
    (
        pa.timestamp("ms"),
        [dt.datetime(1969, 1, 1, 1, 1, 1, 5000), dt.datetime(2024, 1, 1), None],
        "'2024-01-01T00:00:00'",
    ),
    (pa.int8(), [1, -1, None], "-1"),
    (pa.bool_(), [True, False, None], "true"),
    (pa.float64(), [1.5, -0.0, float("nan")], "1.5"),
    (pa.string(), ["a/b=c", "ü %", None], "'a/b=c'"),
]


@pytest.mark.parametrize(("type", "values", "literal"), PARTITIONS, ids=[str(type) for type, _, _ in PARTITIONS])
def test_partition_values_are_found_by_filters(warehouse, type, values, literal):
    columns = pa.schema([("id", pa.int64()), ("p", type)])
    options = {option("storage"): "table-location"}
    table = warehouse.create_table("db.p", columns, partition_by=["p"], options=options)
    for first in (1, 4):
        table.write(pa.table({"id": range(first, first + 3), "p": pa.array(values, type)}, schema=columns))
    assert_twin(table)
    assert len(twin_rows(table, row_filter=f"p = {literal}")) == 2
    assert len(twin_rows(table, row_filter="p is null")) == 2 * (None in values)


GOLDEN = [
    "dv_append_64",
    "dv_pk",
    "dv_pk_64_live",
    "first_row",
    "many_columns_evolved",
    "pk_partitioned",
    "rolled_back",
]
GOLDEN += ["se_nested", "seq_field", "tags"]
GOLDEN = sorted({*GOLDEN, *readable_names()[4::13]} & set(readable_names()))


@pytest.mark.parametrize("name", GOLDEN)
def test_tables_by_java_are_published_with_their_history(name, tmp_path):
    shutil.copytree(golden_table(name), tmp_path / name, ignore=shutil.ignore_patterns("metadata"))
    table = polynya.open_table(tmp_path / name)
    try:
        table.publish_iceberg(history=True)
    except polynya.UnsupportedError:
        pytest.skip("no Iceberg form")
    twin = load(table)
    tags = {ref.snapshot_id: tag for tag, ref in twin.metadata.refs.items() if tag != "main"}
    for one in twin.metadata.snapshots:
        id = one.snapshot_id
        past = table.at(tag=tags[id]) if id in tags else table.at(snapshot_id=id)
        is_behind = one.summary["polynya.view"] == "compacted"
        expected = past.system("ro") if is_behind else past.scan().to_arrow()
        assert twin_rows(table, snapshot_id=one.snapshot_id) == rows_of(expected)
