"""DataFrames into tables: checked, routed, written, committed once."""

import datetime
import itertools
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import polynya
from polynya.arrow.write import OPEN_BUCKETS_MAX
from polynya.errors import InvalidInputError, UnsupportedError
from polynya.spark.batch_limits import BATCH_ROWS, BYTES_KEY, TEXT_BYTES_MAX
from polynya.table.commit import Author

pytestmark = pytest.mark.spark


def data_files(table):
    return [path for path in Path(table.table.location).rglob("data-*") if "manifest" not in str(path)]


def rows_of(frame):
    return sorted(map(tuple, frame.collect()), key=str)


def wide(spark, count=200):
    return spark.range(0, count, 1, 3).selectExpr(
        "id",
        "cast(id % 3 as string) as p",
        "date_add(date'1969-12-30', cast(id % 4 as int)) as d",
        "if(id % 7 = 0, null, id * 1.5D) as v",
        "cast(id as decimal(12,2)) as m",
        "timestamp_micros(id * 1000001 - 5000000) as ts",
        "timestamp_ntz'2024-03-10 02:30:00' as n",
        "array(id, null) as a",
        "named_struct('x', id, 'y', cast(id as string)) as s",
        "map('k', id) as k",
        "cast(cast(id as string) as binary) as b",
    )


def test_rows_of_every_type_come_back(lake):
    frame = wide(lake.spark)
    table = lake.create_table("db.t", frame.schema, partition_by=["p", "d"])
    commit = table.write(frame)
    assert (commit.snapshot_id, commit.record_count) == (1, 200)
    assert rows_of(table.read()) == rows_of(frame)


def test_partitions_of_any_characters_come_back(lake):
    texts = ["a b", "ü𝒳", "50%", "%41", "x=y", "a/b", "c:d", "q?*[x]{y}", '"q"', "\\back", "#h", " pad ", "", None]
    texts += ["__HIVE_DEFAULT_PARTITION__", "007"]
    rows = lake.spark.createDataFrame(pa.table({"id": range(len(texts)), "p": pa.array(texts, pa.string())}))
    table = lake.create_table("db.t", rows.schema, partition_by=["p"])
    table.write(rows)
    assert {row.id: row.p for row in table.read().collect()} == dict(enumerate(texts))
    assert table.read().where("p = '007'").count() == 1


def test_instants_are_stored_in_utc_whatever_the_session_says(lake):
    table = lake.create_table("db.t", lake.spark.sql("select timestamp'2024-03-10 12:00:00Z' ts").schema)
    table.write(lake.spark.sql("select timestamp'2024-03-10 12:00:00Z' ts"))
    stored = polynya.open_table(table.table.location).scan().to_arrow()["ts"][0].as_py()
    assert stored == datetime.datetime(2024, 3, 10, 12, tzinfo=datetime.UTC)


def test_missing_columns_are_null_and_narrow_ones_widen(lake):
    schema = pa.schema([("id", pa.int64()), ("v", pa.string()), ("x", pa.float64())])
    table = lake.create_table("db.t", schema)
    table.write(lake.spark.sql("select cast(1 as int) as id, cast(2 as float) as x"))
    assert rows_of(table.read()) == [(1, None, 2.0)]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("select 1L id, 'a' v, 2 vv", "the table has no column 'vv'; did you mean 'v'"),
        ("select '1' id, 'a' v", "column 'id': expected int64, found string"),
        ("select 'a' v", "column 'id' is NOT NULL and missing"),
        ("select 1L id, 2L ID", "a column stands twice"),
    ],
)
def test_columns_that_do_not_fit_are_refused_before_a_job_starts(lake, query, message):
    table = lake.create_table("db.t", pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.string())]))
    with pytest.raises(InvalidInputError, match=message):
        table.write(lake.spark.sql(query))


def test_words_that_make_no_sense_are_refused(lake):
    table = lake.create_table("db.t", pa.schema([("id", pa.int64())]))
    frame = lake.spark.range(1)
    with pytest.raises(InvalidInputError, match="mode must be"):
        table.write(frame, mode="upsert")
    with pytest.raises(InvalidInputError, match="leave them out"):
        table.write(frame, overwrite="dynamic")


def test_overwriting_replaces_all_or_what_the_rows_fall_into_or_one_partition(lake):
    frame = lake.spark.range(0, 30, 1, 2).selectExpr("id", "cast(id % 3 as int) as p")
    table = lake.create_table("db.t", frame.schema, partition_by=["p"])
    table.write(frame)
    one = lake.spark.sql("select 100L as id, 1 as p")
    table.write(one, mode="overwrite", overwrite="dynamic")
    assert sorted(table.read().groupBy("p").count().collect()) == [(0, 10), (1, 1), (2, 10)]
    table.write(lake.spark.range(2), mode="overwrite", partition={"p": 2})
    assert sorted(table.read().groupBy("p").count().collect()) == [(0, 10), (1, 1), (2, 2)]
    table.write(one, mode="overwrite", overwrite="static")
    assert rows_of(table.read()) == [(100, 1)]


def test_upserts_and_deletes_end_in_the_newest_rows(lake):
    rows = lake.spark.range(0, 400, 1, 3).selectExpr("id", "cast(id % 2 as string) as p", "'a' as v")
    table = lake.create_table("db.t", rows.schema, ["id", "p"], ["p"], {"bucket": "2"})
    table.write(rows)
    table.write(rows.where("id < 100").withColumn("v", F.lit("b")))
    table.write(rows.where("id % 10 = 0").withColumn("kind", F.lit("-D")), rowkind="kind")
    expected = {id: "b" if id < 100 else "a" for id in range(400) if id % 10}
    assert {row.id: row.v for row in table.read().collect()} == expected
    arrow = polynya.open_table(table.table.location).scan().to_arrow()
    assert dict(zip(arrow["id"].to_pylist(), arrow["v"].to_pylist(), strict=True)) == expected


def test_one_task_owns_a_bucket(lake):
    rows = lake.spark.range(0, 400, 1, 4).selectExpr("id", "id as v")
    table = lake.create_table("db.t", rows.schema, ["id"], options={"bucket": "3"})
    assert table.write(rows).added_files == 3


def test_a_bucket_of_most_rows_is_written_by_several_tasks_and_later_rows_win(lake):
    half = 8000  # each of two tasks has its keys twice, in rows of 8 KB
    frame = lake.spark.range(0, 4 * half, 1, 2).selectExpr(
        f"id % {half} + {half} * int(id / {2 * half}) as id", "id as n", "repeat(md5(string(id)), 256) as t"
    )
    lake.create_table("db.t", frame.schema, ["id"], options={"bucket": "1", "write-only": "true"}).write(frame)
    table = polynya.open_table(lake.table("db.t").table.location)
    files = table.scan().plan().files
    assert files.num_rows > 3
    ranges = sorted(zip(*(files[f"{end}_sequence_number"].to_pylist() for end in ("min", "max")), strict=True))
    assert all(high < low for (_, high), (low, _) in itertools.pairwise(ranges))
    found = table.scan(columns=["id", "n"]).to_arrow().to_pydict()
    assert dict(zip(found["id"], found["n"], strict=True)) == {
        key: key + half * (1 + key // half) for key in range(2 * half)
    }
    assert len(found["id"]) == 2 * half


def test_a_dataframe_without_rows_or_tasks_writes_nothing_and_empties(lake):
    rows = lake.spark.range(3).selectExpr("id", "id as v")
    table = lake.create_table("db.t", rows.schema, ["id"], options={"bucket": "2"})
    table.write(rows)
    for nothing in (rows.where("false"), lake.spark.createDataFrame([], rows.schema), rows.where("id > 9")):
        assert table.write(nothing).snapshot_id is None
    assert table.read().count() == 3
    table.write(rows.where("false"), mode="overwrite")
    assert table.read().count() == 0


@pytest.mark.parametrize("key", ["id", "__file"])
def test_columns_may_have_any_names_even_those_that_a_job_would_choose(lake, key):
    names = (
        "__bucket",
        "__file",
        "__row",
        "__words",
        "__vector_of",
        "_metadata",
        "___",
        "0",
        "a.b",
        "c d",
        "e``f",
        "ü",
    )
    texts = ", ".join(f"cast(id as string) as `{name}`" for name in names)
    rows = lake.spark.sql(f"select id, {texts} from range(9)")
    options = {"bucket": "3", "bucket-key": key, "deletion-vectors.enabled": "true"}
    table = lake.create_table("db.t", rows.schema, options=options)
    table.write(rows)
    assert rows_of(table.read()) == rows_of(rows)
    table.delete("id < 4")
    assert rows_of(table.read()) == rows_of(rows.where("id >= 4"))


def test_a_row_that_does_not_fit_fails_the_write_and_leaves_nothing(lake):
    table = lake.create_table(
        "db.t", pa.schema([pa.field("id", pa.int64(), nullable=False), ("p", pa.string())]), partition_by=["p"]
    )
    rows = lake.spark.range(0, 100, 1, 4).selectExpr("if(id = 90, null, id) as id", "cast(id % 5 as string) as p")
    with pytest.raises(InvalidInputError, match="column 'id' is NOT NULL, found 1 nulls"):
        table.write(rows)
    assert (table.read().count(), data_files(table)) == (0, [])


def test_a_failed_job_leaves_nothing_visible_and_no_file(lake):
    table = lake.create_table("db.t", pa.schema([("id", pa.int64())]))
    table.write(lake.spark.range(3))
    before = data_files(table)
    with pytest.raises(Exception, match="boom"):
        table.write(lake.spark.range(0, 100, 1, 2).selectExpr("if(id = 90, raise_error('boom'), id) as id"))
    assert table.read().count() == 3
    assert data_files(table) == before


def test_the_same_commit_is_made_once(lake):
    table = lake.create_table("db.t", pa.schema([("id", pa.int64())]))
    author = Author("job", 7)
    first = table.write(lake.spark.range(3), author=author)
    assert table.write(lake.spark.range(3), author=author) == first
    assert table.read().count() == 3


def test_tables_that_cannot_be_written_are_refused_before_a_job_starts(lake):
    table = lake.create_table("db.t", pa.schema([("id", pa.int64())]), ["id"], options={"bucket": "-1"})
    with pytest.raises(UnsupportedError, match="'bucket'"):
        table.write(lake.spark.range(1))


def test_a_write_reaches_the_iceberg_twin(lake):
    rows = lake.spark.range(5)
    table = lake.create_table("db.twin", rows.schema, options={"metadata.iceberg.storage": "table-location"})
    table.write(rows)
    assert (Path(table.table.location) / "metadata" / "v1.metadata.json").exists()


@pytest.mark.parametrize(("strategy", "file_count"), [("NONE", 12), ("HASH", 3), ("PARTITION_DYNAMIC", 3)])
def test_rows_of_a_partition_come_together_where_the_table_asks_for_it(lake, strategy, file_count):
    rows = lake.spark.range(0, 1200, 1, 4).selectExpr("id", "cast(id % 3 as string) as p")
    table = lake.create_table("db.t", rows.schema, partition_by=["p"], options={"partition.sink-strategy": strategy})
    assert table.write(rows).added_files == file_count
    assert rows_of(table.read()) == rows_of(rows)


def test_no_task_holds_more_partitions_open_than_it_may(lake):
    rows = lake.spark.range(0, 300, 1, 1).selectExpr("id", "cast(id % 100 as string) as p")
    table = lake.create_table("db.t", rows.schema, partition_by=["p"])
    assert table.write(rows).added_files == 100 > OPEN_BUCKETS_MAX
    assert table.read().count() == 300


@pytest.mark.parametrize(("text_bytes", "is_limited"), [(TEXT_BYTES_MAX, False), (TEXT_BYTES_MAX + 1, True)])
@pytest.mark.parametrize("key", [("id",), ()])
def test_a_long_text_is_written_with_the_limit_of_bytes_that_the_session_has(lake, key, text_bytes, is_limited):
    def counted(batches):
        for batch in batches:
            yield batch.append_column("batch_rows", pa.array([batch.num_rows] * batch.num_rows))

    count = 2 * BATCH_ROWS
    rows = lake.spark.range(0, count, 1, 1).selectExpr("id", f"repeat('ü', if(id = 5, {text_bytes // 2}, 1)) as text")
    rows = rows.selectExpr("id", f"if(id = 5 and {text_bytes % 2} = 1, concat(text, 'x'), text) as text")
    frame = rows.mapInArrow(counted, "id long, text string, batch_rows long")
    limit = lake.spark.conf.get(BYTES_KEY)
    table = lake.create_table("db.t", frame.schema, primary_key=key, options={"bucket": "2"} if key else {})
    table.write(frame)
    found = table.table.refresh().scan().to_arrow().sort_by("id")
    assert found["id"].to_pylist() == list(range(count))
    assert len(found["text"][5].as_py().encode()) == text_bytes
    assert found["batch_rows"].unique().to_pylist() == [count if is_limited else BATCH_ROWS]
    assert lake.spark.conf.get(BYTES_KEY) == limit
    known = {Path(name).name for name in table.table.refresh().system("files")["file_path"].to_pylist()}
    assert {path.name for path in data_files(table)} == known


def test_rows_that_are_no_dataframe_are_refused_by_name(lake):
    table = lake.create_table("db.t", pa.schema([("id", pa.int64())]))
    with pytest.raises(InvalidInputError, match="expected a DataFrame of Spark, found Table"):
        table.write(pa.table({"id": [1]}))
