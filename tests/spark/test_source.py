"""`spark.read` and `spark.write` with the format polynya, which Spark finds by itself."""

from pathlib import Path

import pyarrow as pa
import pytest

from polynya.spark.source import PolynyaSource, require_options

pytestmark = pytest.mark.spark


@pytest.fixture
def table(lake):
    rows = lake.spark.range(0, 60, 1, 3).selectExpr(
        "id", "cast(id % 3 as string) as p", "timestamp_seconds(id) as at", "array(id) as a"
    )
    made = lake.create_table("db.t", rows.schema, partition_by=["p"])
    made.write(rows)
    return made


def load(table, **options):
    return table.spark.read.format("polynya").options(**options).load(table.table.location)


def test_rows_are_those_of_the_lake(table):
    assert sorted(load(table).collect()) == sorted(table.read().collect())


def test_where_and_columns_read_less(table):
    frame = load(table, where="p = '1' and id > 30", columns="id, at")
    assert frame.columns == ["id", "at"]
    assert sorted(row.id for row in frame.collect()) == list(range(31, 60, 3))


def test_snapshots_and_tags_are_asked_for_by_paimons_names(table):
    table.write(table.read().limit(5))
    assert load(table, **{"scan.snapshot-id": "1"}).count() == 60
    assert load(table).count() == 65


def test_filters_of_one_query_do_not_leak_into_another(table):
    frame = load(table)
    assert frame.where("id = 1").union(frame.where("id = 2")).count() == 2
    assert frame.where("id = 1").union(frame).count() == 61


def test_views_over_it_answer_sql(table):
    load(table).createOrReplaceTempView("source_view")
    assert table.spark.sql("select sum(id) from source_view where p = '2'").first()[0] == sum(range(2, 60, 3))


def test_columns_that_the_table_does_not_have_are_refused(table):
    reader = table.spark.read.format("polynya").schema("id bigint, name string, at timestamp, a array<bigint>")
    with pytest.raises(Exception, match="found struct<id:bigint,name:string,at:timestamp,a:array<bigint>>; load"):
        reader.load(table.table.location).collect()


def test_a_mode_of_overwriting_that_there_is_not_is_refused_in_an_append_too(table):
    writer = table.read().write.format("polynya").mode("append").option("partitionOverwriteMode", "some")
    with pytest.raises(Exception, match="'partitionoverwritemode' must be static or dynamic, got 'some'"):
        writer.save(table.table.location)


def test_append_and_overwrite_commit_once(table):
    path, rows = table.table.location, table.read().where("p = '1'").localCheckpoint()
    rows.write.format("polynya").mode("append").save(path)
    assert table.table.refresh().snapshot.id == 2
    assert table.read().count() == 80
    rows.write.format("polynya").mode("overwrite").option("partitionOverwriteMode", "dynamic").save(path)
    assert table.read().count() == 60
    rows.write.format("polynya").mode("overwrite").option("partitionOverwriteMode", "static").save(path)
    assert table.read().count() == 20


def test_keys_of_several_tasks_are_numbered_apart(lake):
    rows = lake.spark.range(0, 100, 1, 4).selectExpr("id % 10 as id", "id as v")
    table = lake.create_table("db.k", rows.schema, ["id"], options={"bucket": "2"})
    rows.write.format("polynya").mode("append").save(table.table.location)
    found = {row.id: row.v for row in table.read().collect()}
    assert found == {id: 90 + id for id in range(10)}
    table.write(lake.spark.sql("select 3L as id, 1L as v"))
    assert {row.id: row.v for row in table.read().collect()} == found | {3: 1}


def test_a_failed_task_leaves_nothing_visible(table):
    rows = table.spark.range(0, 60, 1, 3).selectExpr(
        "if(id = 50, raise_error('boom'), id) as id", "'9' as p", "timestamp_seconds(id) as at", "array(id) as a"
    )
    with pytest.raises(Exception, match="boom"):
        rows.write.format("polynya").mode("append").save(table.table.location)
    assert table.read().count() == 60


def test_what_is_unknown_is_refused():
    with pytest.raises(Exception, match="option 'bogus' is unknown"):
        require_options({"path": "x", "Bogus": "1"}, ("where",))
    with pytest.raises(Exception, match="option 'bucket' is an option of tables"):
        require_options({"path": "x", "bucket": "1"}, ("where",))
    with pytest.raises(Exception, match="expected the table's path"):
        require_options({}, ("where",))


def test_an_abort_after_the_commit_deletes_nothing(lake):
    table = lake.create_table("db.a", pa.schema([("id", pa.int64())]))
    schema = lake.spark.range(1).schema
    writer = PolynyaSource({"path": table.table.location}).writer(schema, False)
    message = writer.write(iter([pa.record_batch({"id": [1, 2]})]))
    writer.commit([message, None])
    writer.abort([message, None])
    assert table.read().count() == 2


def test_an_abort_without_a_commit_deletes_what_was_written(lake):
    table = lake.create_table("db.a", pa.schema([("id", pa.int64())]))
    writer = PolynyaSource({"path": table.table.location}).writer(lake.spark.range(1).schema, False)
    message = writer.write(iter([pa.record_batch({"id": [1, 2]})]))
    writer.abort([message])
    assert list(Path(table.table.location).rglob("data-*")) == []
