"""Tables that were compacted by Spark jobs, as Java reads them and goes on with them."""

import pyarrow as pa
import pytest

import polynya.spark
from interop.twins import rows_of
from polynya.spark import Lake, compact

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.string()), ("p", pa.int32())])


@pytest.fixture(scope="module")
def spark():
    made = polynya.spark.session("local[2]", **{"spark.driver.memory": "1g"})
    yield made
    made.stop()


@pytest.fixture
def lake(spark, tmp_path):
    made = Lake(spark, tmp_path)
    made.create_database("db")
    return made


def rows(start, end, version, step=1):
    numbers = range(start, end, step)
    return pa.table(
        {"k": numbers, "v": [f"{version}-{k}" for k in numbers], "p": pa.array([0] * len(numbers), "int32")}
    )


def go_on(ours, theirs):
    """Both write, compact and read in turns, and see the same rows."""
    assert theirs.rows() == rows_of(ours.refresh())
    kinds = {"kind": None} if ours.primary_key else {}
    theirs.write([["+I", 1, "java", 0], ["+I", 5000, "java", 0]] if kinds else [[1, "java", 0]], **kinds)
    assert theirs.rows() == rows_of(ours.refresh())
    theirs.ask("compact", full=True)
    assert theirs.rows() == rows_of(ours.refresh())
    assert ours.refresh().check(deep=True).is_sound


def test_java_goes_on_with_a_bucket_that_was_merged_by_key_ranges(java, lake, tmp_path, monkeypatch):
    monkeypatch.setattr(compact, "target_file_size", lambda _: 1)
    table = lake.create_table("db.t", SCHEMA, ["k"], options={"bucket": "1", "write-only": "true"})
    for start in range(0, 2000, 500):
        table.table.write(rows(start, start + 500, "old"))
    table.write(lake.spark.createDataFrame(rows(0, 2000, "new", step=3)))
    assert table.compact(full=True).added_files > 1
    go_on(table.table, java.table(tmp_path / "db.db" / "t"))
    table.compact(full=True)
    go_on(table.table, java.table(tmp_path / "db.db" / "t"))


def test_java_goes_on_with_appended_rows_that_were_compacted_and_sorted(java, lake, tmp_path):
    table = lake.create_table("db.t", SCHEMA, partition_by=["p"], options={"deletion-vectors.enabled": "true"})
    for start in range(0, 50, 10):
        table.table.write(rows(start, start + 10, 0))
    table.table.delete("k = 3")
    table.compact(full=True)
    go_on(table.table, java.table(tmp_path / "db.db" / "t"))
    table.compact(order_by=["v", "k"])
    go_on(table.table, java.table(tmp_path / "db.db" / "t"))
