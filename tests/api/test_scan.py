"""Planning and reading through the public API: what is skipped, what is counted, what goes wrong."""

import shutil

import pyarrow as pa
import pytest

import polynya
from golden_data import golden_table
from polynya import col


@pytest.fixture
def warehouse(tmp_path):
    made = polynya.open_warehouse(tmp_path / "warehouse")
    made.create_database("db")
    return made


@pytest.fixture
def orders(warehouse):
    schema = pa.schema([("day", pa.int32()), ("id", pa.int64()), ("name", pa.string())])
    table = warehouse.create_table("db.orders", schema, partition_by=["day"])
    for day in range(4):
        for part in range(3):
            ids = range(1000 * day + 100 * part, 1000 * day + 100 * part + 100)
            table.write(
                pa.table({"day": pa.array([day] * 100, pa.int32()), "id": ids, "name": [f"n{id}" for id in ids]})
            )
    return table.refresh()


def test_a_partition_filter_reads_only_manifests_of_the_partition(orders):
    plan = orders.scan(where="day = 2").plan()
    assert (plan.file_count, plan.pruned.manifests_skipped) == (3, 9)


def test_a_partition_filter_drops_files_of_other_partitions_in_one_manifest(orders):
    orders.compact_manifests()
    plan = orders.refresh().scan(where="day = 2").plan()
    assert (plan.file_count, plan.pruned.files_skipped["partition"]) == (3, 9)


def test_a_value_filter_drops_files_by_their_statistics(orders):
    plan = orders.scan(where="id between 1150 and 1160").plan()
    assert (plan.file_count, plan.pruned.files_skipped["value statistics"]) == (1, 11)


def test_explain_shows_the_funnel(orders):
    text = orders.scan(where=(col("day") == 2) & (col("id") > 2150)).plan().explain()
    for line in (
        "filter     day = 2 AND id > 2150",
        "manifests  12 in all, 9 skipped, 3 read",
        "splits     1: 1 raw, 0 merged",
    ):
        assert line in text


def test_count_without_a_filter_opens_no_file(orders, monkeypatch):
    monkeypatch.setattr("polynya.arrow.read.read_plan", lambda *_: pytest.fail("a file was read"))
    assert orders.scan().count() == 1200


def test_a_limit_plans_only_the_splits_it_needs(warehouse):
    schema = pa.schema([("id", pa.int64())])
    table = warehouse.create_table("db.t", schema, options={"source.split.target-size": "4 mb"})
    for start in range(0, 50, 10):
        table.write(pa.table({"id": range(start, start + 10)}))
    scan = table.refresh().scan(limit=15)
    assert scan.plan().file_count == 2
    assert scan.to_arrow().num_rows == 15


def test_the_files_that_a_limit_drops_are_told(orders):
    plan = orders.scan(limit=5).plan()
    assert plan.pruned.files_skipped["limit"] == plan.pruned.live_file_count - plan.file_count > 0
    assert f"{plan.pruned.files_skipped['limit']} files by limit" in plan.explain()


def test_columns_come_in_the_order_asked_for(orders):
    assert orders.scan(columns=["name", "day"], limit=1).to_arrow().schema.names == ["name", "day"]


def test_only_partition_columns_are_read_without_opening_files(orders, monkeypatch):
    monkeypatch.setattr("polynya.arrow.files.read", lambda *_, **__: pytest.fail("a file was opened"))
    assert set(orders.scan(columns=["day"]).to_arrow()["day"].to_pylist()) == {0, 1, 2, 3}


def test_batches_stream_in_the_order_of_the_splits(orders):
    batches = orders.scan(columns=["id"]).to_batches(memory_budget_bytes=1 << 20)
    ids = [id for batch in batches for id in batch["id"].to_pylist()]
    assert sorted(ids) == sorted(set(ids))
    assert len(ids) == 1200


def test_a_reader_that_stops_early_leaves_no_thread_waiting(orders):
    batches = orders.scan().to_batches()
    next(batches)
    batches.close()


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("nmae = 'x'", "column 'nmae' does not exist; did you mean 'name'?"),
        ("day = 'x'", "cannot compare INT with 'x'"),
        ("upper(name) = 'X'", "UPPER"),
        ("day = ", "day ="),
    ],
)
def test_a_wrong_filter_says_what_is_wrong(orders, where, message):
    with pytest.raises(polynya.PolynyaError) as error:
        orders.scan(where=where)
    assert message.lower() in str(error.value).lower()


def test_an_unknown_column_is_named_with_a_suggestion(orders):
    with pytest.raises(polynya.InvalidInputError, match="'idd' does not exist; did you mean 'id'"):
        orders.scan(columns=["idd"])


def test_an_expired_snapshot_says_which_ones_there_are():
    table = polynya.open_table(golden_table("expired"))
    with pytest.raises(polynya.NotFoundError, match=r"snapshot 1 .* available are snapshots 5 to 7"):
        table.at(snapshot_id=1)


def test_time_travel_finds_the_snapshot_of_a_time(orders):
    moment = orders.at(snapshot_id=5).snapshot.time_ms
    assert orders.at(time_ms=moment).snapshot.id >= 5
    assert orders.at(time_ms=moment).snapshot.time_ms <= moment
    with pytest.raises(polynya.NotFoundError, match="is as old as 5 ms"):
        orders.at(time_ms=5)


def test_an_index_in_the_manifest_drops_files():
    table = polynya.open_table(golden_table("fi_bloom"))
    scan = table.scan(where="name = 'aa'")
    assert scan.to_arrow().num_rows == 0
    assert scan.plan().pruned.files_skipped["file index"] >= 1


def test_an_index_beside_its_file_keeps_the_file_closed(monkeypatch):
    table = polynya.open_table(golden_table("fi_bitmap"))
    monkeypatch.setattr("polynya.arrow.files.read", lambda *_, **__: pytest.fail("a file was opened"))
    assert table.scan(where="color = 'mauve' and id = 2").to_arrow().num_rows == 0


def test_a_missing_data_file_is_an_error_that_names_it(orders, tmp_path):
    victim = next((tmp_path / "warehouse" / "db.db" / "orders" / "day=1").rglob("*.parquet"))
    victim.unlink()
    named = rf"snapshot {orders.snapshot.id} of table \S+/orders, day=1/bucket-0, data file {victim.name}"
    with pytest.raises(polynya.NotFoundError, match=named):
        orders.scan().to_arrow()


def test_a_truncated_data_file_is_an_error_that_names_it(orders, tmp_path):
    victim = next((tmp_path / "warehouse" / "db.db" / "orders" / "day=1").rglob("*.parquet"))
    victim.write_bytes(victim.read_bytes()[:-20])
    with pytest.raises(polynya.CorruptFileError, match=rf"orders, day=1/bucket-0, data file {victim.name}"):
        orders.scan().to_arrow()


def test_a_data_file_with_too_few_rows_is_an_error(orders, tmp_path):
    folder = tmp_path / "warehouse" / "db.db" / "orders" / "day=1" / "bucket-0"
    first = min(folder.glob("*.parquet"))
    table = polynya.open_warehouse(tmp_path / "other")
    table.create_database("db")
    small = table.create_table("db.t", orders.arrow_schema)
    small.write(pa.table({"day": pa.array([1], pa.int32()), "id": [1], "name": ["x"]}))
    shutil.copy(next((tmp_path / "other").rglob("*.parquet")), first)
    with pytest.raises(polynya.CorruptFileError, match=f"data file {first.name}: .*expected 100 rows, found 1"):
        orders.scan().to_arrow()
    with pytest.raises(polynya.CorruptFileError, match=f"data file {first.name}: .*expected 100 rows, found 1"):
        orders.scan(where="id >= 0").to_arrow()  # a filter must not hide it


@pytest.mark.parametrize("format", ["parquet", "orc", "avro"])
def test_a_data_file_of_another_table_is_an_error(warehouse, tmp_path, format):
    options = {"file.format": format}
    table = warehouse.create_table("db.t", pa.schema([("id", pa.int64()), ("name", pa.string())]), options=options)
    other = warehouse.create_table("db.other", pa.schema([("color", pa.string())]), options=options)
    table.write(pa.table({"id": [1, 2], "name": ["a", "b"]}))
    other.write(pa.table({"color": ["red", "blue"]}))
    files = {one: next((tmp_path / "warehouse" / "db.db" / one).rglob(f"*.{format}")) for one in ("t", "other")}
    shutil.copy(files["other"], files["t"])
    for where in (None, "id > 0"):
        with pytest.raises(polynya.CorruptFileError, match="expected column id, name, found color"):
            table.refresh().scan(where=where).to_arrow()


def test_a_data_file_without_a_column_that_is_never_null_is_an_error(warehouse, tmp_path):
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("name", pa.string())])
    table = warehouse.create_table("db.t", schema)
    other = warehouse.create_table("db.other", pa.schema([("name", pa.string())]))
    table.write(pa.table({"id": [1, 2], "name": ["a", "b"]}, schema=schema))
    other.write(pa.table({"name": ["a", "b"]}))
    files = {one: next((tmp_path / "warehouse" / "db.db" / one).rglob("*.parquet")) for one in ("t", "other")}
    shutil.copy(files["other"], files["t"])
    with pytest.raises(polynya.CorruptFileError, match="expected column id, found name; the file does not fit its"):
        table.refresh().scan(columns=["name"]).to_arrow()


def test_at_wants_exactly_one_place_in_time(orders):
    with pytest.raises(
        polynya.InvalidInputError, match="expected one of snapshot_id, tag, time_ms, watermark, found 2"
    ):
        orders.at(snapshot_id=1, tag="x")


def test_a_path_that_is_no_table_says_so(tmp_path):
    with pytest.raises(polynya.NotFoundError, match="is not a Paimon table"):
        polynya.open_table(tmp_path)
