"""Delete and update as Spark jobs: the rows that SQL says, one commit, clear of other writers."""

import datetime
from pathlib import Path

import pyarrow as pa
import pytest

from polynya.arrow import row_changes as decisions
from polynya.errors import ConflictError, CorruptFileError, InvalidInputError, UnsupportedError
from polynya.spark import tasks
from polynya.table import entries
from polynya.table.edit import vectors_by_file

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([pa.field("k", pa.int64(), False), ("v", pa.int32()), ("s", pa.string()), ("p", pa.int32())])
KINDS = {
    "vectors": {"deletion-vectors.enabled": "true"},
    "vectors in buckets": {"deletion-vectors.enabled": "true", "bucket": "2", "bucket-key": "k"},
    "copies": {},
    "copies in buckets": {"bucket": "2", "bucket-key": "k"},
    "vectors with ids": {"deletion-vectors.enabled": "true", "row-tracking.enabled": "true"},
    "copies with ids": {"row-tracking.enabled": "true"},
    "keys": {"bucket": "2"},
}


@pytest.fixture(autouse=True)
def _several_tasks(monkeypatch):
    monkeypatch.setattr(tasks, "TASK_BYTES_MIN", 1)


def rows(start, count):
    keys = range(start, start + count)
    values = [k % 7 if k % 5 else None for k in keys]
    return pa.table([list(keys), values, [f"s{k}" for k in keys], [k % 2 for k in keys]], schema=SCHEMA)


def make(lake, kind, partition_by=()):
    key = ("k", *partition_by) if kind == "keys" else ()
    made = lake.create_table("db.t", SCHEMA, key, partition_by, KINDS[kind])
    for start in (0, 30, 60):
        made.table.write(rows(start, 30))
    return made


def read(table):
    return table.table.refresh().scan().to_arrow().sort_by("k").to_pylist()


def live_names(table):
    return set(entries.read_live(table.table.root, table.table.refresh().snapshot)["file_name"].to_pylist())


def unreferenced(table):
    """Data files that no snapshot knows."""
    known = set(table.table.refresh().system("files")["file_path"].to_pylist())
    names = {Path(one).name for one in known}
    root, latest = table.table.root, table.table.refresh().snapshot
    for id in range(1, latest.id + 1):
        names |= set(entries.read_live(root, table.table.at(snapshot_id=id).snapshot)["file_name"].to_pylist())
    return [one.name for one in Path(table.table.location).rglob("data-*.parquet") if one.name not in names]


@pytest.mark.parametrize("kind", KINDS)
def test_delete_and_update_give_the_rows_that_sql_says(lake, kind):
    table = make(lake, kind)
    expected = [row for row in read(table) if row["v"] is None or row["v"] <= 3]
    table.delete("v > 3")
    assert read(table) == expected
    for row in expected:
        if row["k"] < 40:
            row |= {"v": 5, "s": row["s"] + "!"}
    table.update({"v": 5, "s": "s || '!'"}, "k < 40")
    assert read(table) == expected
    expected = [row for row in expected if row["k"] not in (1, 2, 45)]
    table.delete("k in (1, 2, 45)")
    assert sorted(map(tuple, table.read().collect())) == [tuple(row.values()) for row in expected]
    assert not table.table.refresh().check(deep=True).problems
    assert unreferenced(table) == []


def test_vectors_leave_data_files_alone(lake):
    table = make(lake, "vectors")
    before = live_names(table)
    made = table.delete("k in (3, 33, 34)")
    assert (made.commit_kind, made.added_files, made.deleted_files) == ("OVERWRITE", 0, 0)
    assert live_names(table) == before
    vectors = vectors_by_file(entries.read_index(table.table.root, table.table.refresh().snapshot))
    assert sorted(vectors["cardinality"].to_pylist()) == [1, 2]


def test_copies_touch_only_files_with_matches(lake):
    table = make(lake, "copies")
    before = live_names(table)
    made = table.update({"v": "k + 1"}, "v = 6 and k > 30 and k < 60")
    assert (made.added_files, made.deleted_files, made.record_count) == (1, 1, 0)
    assert len(before - live_names(table)) == 1


def test_an_update_moves_rows_to_their_new_partition_and_bucket(lake):
    table = make(lake, "copies in buckets", ("p",))
    expected = sorted((row["k"] + 1000 if row["k"] < 70 else row["k"], 0) for row in read(table))
    table.update({"p": 0, "k": "case when k < 70 then k + 1000 else k end"}, "true")
    assert [(row["k"], row["p"]) for row in read(table)] == expected
    assert not table.table.refresh().check(deep=True).problems
    numbers = entries.read_live(table.table.root, table.table.refresh().snapshot)
    ranges = numbers.select(["bucket", "min_sequence_number", "max_sequence_number"]).to_pylist()
    for one in ranges:
        others = [two for two in ranges if two is not one and two["bucket"] == one["bucket"]]
        assert all(
            one["max_sequence_number"] < two["min_sequence_number"]
            or two["max_sequence_number"] < one["min_sequence_number"]
            for two in others
        )


@pytest.mark.parametrize("kind", ["vectors", "copies", "keys"])
def test_what_matches_nothing_commits_nothing(lake, kind):
    table = make(lake, kind)
    assert table.delete("k > 1000").snapshot_id is None
    assert table.delete("k = 31 and s = 'no'").snapshot_id is None
    assert table.update({"v": 1}, "k = 31 and s = 'no'").snapshot_id is None
    assert table.table.refresh().snapshot.id == 3


def test_a_delete_of_partitions_starts_no_job(lake, monkeypatch):
    table = make(lake, "copies", ("p",))
    monkeypatch.setattr(type(lake.spark), "createDataFrame", None)
    table.delete("p = 1")
    assert {row["p"] for row in read(table)} == {0}
    assert table.table.refresh().snapshot.operation == "TRUNCATE"


@pytest.mark.parametrize("kind", ["vectors", "copies"])
@pytest.mark.parametrize("other", ["append", "compaction", "delete"])
def test_a_change_keeps_clear_of_others_and_is_done_again(lake, kind, other, monkeypatch):
    table = make(lake, kind)
    acts = {
        "append": lambda: table.table.write(rows(90, 5)),
        "compaction": lambda: table.table.compact(full=True),
        "delete": lambda: table.table.delete("k in (2, 33)"),
    }
    original = decisions._edit

    def edit_late(*arguments):
        monkeypatch.setattr(decisions, "_edit", original)
        edit = original(*arguments)
        acts[other]()
        return edit

    monkeypatch.setattr(decisions, "_edit", edit_late)
    gone = {1, 34, *((2, 33) if other == "delete" else ())}
    expected = [k for k in range(95 if other == "append" else 90) if k not in gone]
    table.delete("k in (1, 34)")
    assert [row["k"] for row in read(table)] == expected
    assert unreferenced(table) == []


def test_who_is_always_second_gives_up_and_leaves_nothing(lake, monkeypatch):
    table = make(lake, "copies")
    original = decisions._edit

    def edit_late(*arguments):
        edit = original(*arguments)
        with monkeypatch.context() as other:
            other.setattr(decisions, "_edit", original)
            table.table.update({"s": "s || '.'"}, "k = 1")
        return edit

    monkeypatch.setattr(decisions, "_edit", edit_late)
    with pytest.raises(ConflictError):
        table.delete("k = 1")
    assert read(table)[1]["s"] == "s1....."
    assert unreferenced(table) == []


def test_values_that_spark_could_not_hold_are_kept(lake):
    schema = pa.schema([("k", pa.int64()), ("t", pa.timestamp("ns")), ("v", pa.int32())])
    table = lake.create_table("db.t", schema, ["k"], options={"bucket": "1"})
    table.table.write(pa.table([[1, 2], pa.array([1, 1_000_000_001], pa.timestamp("ns")), [1, 2]], schema=schema))
    table.update({"v": 9}, "k = 2")
    assert table.table.refresh().scan("k = 2").to_arrow()["t"].cast(pa.int64()).to_pylist() == [1_000_000_001]


def test_an_update_takes_what_the_arrow_api_takes(lake):
    schema = pa.schema([("k", pa.int64()), ("d", pa.date32()), ("s", pa.string())])
    table = lake.create_table("db.t", schema)
    table.table.write(pa.table([[1, 2], [None, None], ["a", "ü"]], schema=schema))
    table.update({"d": datetime.date(2026, 11, 1), "s": "upper(s)"}, "k = 2")
    assert read(table)[1] == {"k": 2, "d": datetime.date(2026, 11, 1), "s": "Ü"}
    with pytest.raises(InvalidInputError, match="column 'x' does not exist"):
        table.update({"x": 1}, "k = 1")
    with pytest.raises(UnsupportedError, match="sha2 is not supported"):
        table.update({"s": "sha2(s, 256)"}, "k = 1")


def test_rows_that_are_refused_in_a_task_leave_nothing(lake):
    table = make(lake, "copies")
    with pytest.raises(InvalidInputError, match="column 'k' is NOT NULL"):
        table.update({"k": "case when k = 70 then null else k end"}, "k > 0")
    assert [row["k"] for row in read(table)] == list(range(90))
    assert unreferenced(table) == []


def test_a_damaged_file_is_named_by_the_driver(lake):
    table = make(lake, "copies")
    broken = next(Path(table.table.location).rglob("data-*.parquet"))
    broken.write_bytes(broken.read_bytes()[:-20])
    with pytest.raises(CorruptFileError, match=broken.name):
        table.delete("v > 3")


@pytest.mark.parametrize("kind", ["vectors with ids", "copies with ids"])
def test_rows_keep_their_ids(lake, kind):
    table = make(lake, kind)

    def ids():
        found = table.table.refresh().scan(columns=("k", "_ROW_ID", "_SEQUENCE_NUMBER")).to_arrow()
        return {row["k"]: (row["_ROW_ID"], row["_SEQUENCE_NUMBER"]) for row in found.to_pylist()}

    expected = ids()
    changed = table.update({"s": "'new'"}, "k in (1, 35, 36, 89)").snapshot_id
    expected |= {k: (id, changed) for k, (id, _) in expected.items() if k in (1, 35, 36, 89)}
    assert ids() == expected
    table.delete("v = 2")
    expected = {k: known for k, known in expected.items() if k % 7 != 2 or k % 5 == 0}
    assert ids() == expected
    for how in ({"full": True}, {"order_by": ["s", "v"]}):
        assert table.compact(**how).added_files > 0
        assert ids() == expected


def test_tables_whose_files_hold_some_of_the_columns_are_refused(lake):
    options = {"row-tracking.enabled": "true", "data-evolution.enabled": "true"}
    table = lake.create_table("db.t", SCHEMA, options=options)
    with pytest.raises(UnsupportedError, match=r"data-evolution\.enabled"):
        table.delete("k = 1")
    with pytest.raises(UnsupportedError, match=r"data-evolution\.enabled"):
        table.compact()
