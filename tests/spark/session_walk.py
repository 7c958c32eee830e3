"""One walk through everything that a lake does, for sessions of every kind: local, a cluster, Connect.

As a program it makes a session of the kind that it is told, and prints the name of each step that it has done.
"""

import sys
from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import polynya.spark
from polynya.paimon import layout, schema_file
from polynya.spark import Lake, LakeTable

SETTINGS = {
    "spark.executor.memory": "512m",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "4",
}
GOLDEN = ("append_partitioned", "dv_append", "pk_uncompacted", "fmt_avro")


def rows(spark: SparkSession, count: int = 200) -> DataFrame:
    return spark.range(0, count, 1, 3).selectExpr("id", "cast(id % 2 as string) as p", "'a' as v")


def append_and_filter(lake: Lake) -> None:
    table = lake.create_table("db.plain", rows(lake.spark).schema, partition_by=["p"])
    table.write(rows(lake.spark))
    assert table.read(where="p = '1' and id < 10").count() == 5
    assert table.read(columns=["id"], snapshot_id=1).where("id >= 190").count() == 10


def overwrite(lake: Lake) -> None:
    table = lake.table("db.plain")
    table.write(rows(lake.spark, 10).where("p = '0'"), mode="overwrite", overwrite="dynamic")
    assert sorted(map(tuple, table.read().groupBy("p").count().collect())) == [("0", 5), ("1", 100)]
    table.write(rows(lake.spark, 20), mode="overwrite", overwrite="static")
    assert table.read().count() == 20


def change_rows(lake: Lake) -> None:
    for number, vectors in enumerate(("true", "false")):
        options = {"deletion-vectors.enabled": vectors}
        table = lake.create_table(f"db.changed_{number}", rows(lake.spark).schema, options=options)
        table.write(rows(lake.spark))
        table.delete("id < 50 and p = '0'")
        table.update({"v": "v || '!'", "p": "'new'"}, "id >= 190")
        summary = sorted(map(tuple, table.read().groupBy("v", "p").count().collect()))
        assert summary == [("a", "0", 70), ("a", "1", 95), ("a!", "new", 10)], summary
        assert not table.table.refresh().check(deep=True).problems


def upsert(lake: Lake) -> None:
    frame = rows(lake.spark)
    table = lake.create_table("db.keyed", frame.schema, ["id", "p"], ["p"], {"bucket": "2"})
    table.write(frame)
    table.write(frame.where("id < 50").withColumn("kind", F.lit("-D")), rowkind="kind")
    table.update({"v": "'b'"}, "id < 60")
    table.delete("id >= 190")
    assert sorted(map(tuple, table.read().groupBy("v").count().collect())) == [("a", 130), ("b", 10)]
    texts = lake.create_table("db.texts", pa.schema([("k", pa.string())]), ["k"], options={"bucket": "2"})
    texts.write(frame.selectExpr("concat('k', id) as k"))
    assert texts.read().count() == 200


def compact(lake: Lake) -> None:
    for name, files in (("db.keyed", 4), ("db.changed_0", 1)):
        table = lake.table(name)
        before = table.read().agg(F.count("*"), F.sum("id")).first()
        table.compact(full=True)
        assert table.table.refresh().scan().plan().file_count == files
        assert table.read().agg(F.count("*"), F.sum("id")).first() == before


def new_columns(lake: Lake) -> None:
    table = lake.table("db.plain")
    table.write(rows(lake.spark, 1).withColumn("n", F.lit(1.5)), merge_schema=True)
    assert sorted(map(tuple, table.read().groupBy("n").count().collect()), key=str) == [(1.5, 1), (None, 20)]


def new_indexes(lake: Lake) -> None:
    table = lake.table("db.changed_1")
    with_option(table, "file-index.bloom-filter.columns", "id").rewrite_file_index()
    assert table.table.refresh().snapshot.commit_kind == "COMPACT"
    assert table.read(where="id = 77").count() == 1
    assert table.table.refresh().scan("id = 1077").plan().file_count == 0


def with_option(table: LakeTable, key: str, value: str) -> LakeTable:
    """The table after a change of its options."""
    old = table.table.refresh().schema
    new = replace(old, id=old.id + 1, options={**old.options, key: value})
    table.table.root.storage.put_new(layout.schema_name(new.id), schema_file.encode(new))
    return table


def data_source(lake: Lake) -> None:
    location = lake.table("db.plain").table.location
    rows(lake.spark, 5).write.format("polynya").mode("append").save(location)
    assert lake.spark.read.format("polynya").load(location).count() == 26


STEPS: tuple[Callable[[Lake], None], ...] = (
    append_and_filter,
    overwrite,
    change_rows,
    upsert,
    compact,
    new_columns,
    new_indexes,
    data_source,
)


def walk(spark: SparkSession, folder: str, golden: str) -> list[str]:
    """Do all steps in a lake of their own, and read golden tables of every way; answer with their names."""
    lake = Lake(spark, folder)
    lake.create_database("db")
    done = []
    for step in STEPS:
        step(lake)
        done.append(step.__name__)
    stored = Lake(spark, golden)
    for name in GOLDEN:
        table = stored.table(f"golden.{name}")
        assert table.read().count() == table.table.scan().count(), name
        done.append(name)
    return done


EVERYTHING = [*(step.__name__ for step in STEPS), *GOLDEN]


def told(stderr: str) -> str:
    """What a process with a session said of its end, without the Java frames."""
    return "\n".join(line for line in stderr.splitlines() if not line.startswith("\tat "))[-6000:]


def session_of(kind: str) -> SparkSession:
    if kind == "connect":
        return SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "4").getOrCreate()
    return polynya.spark.session(kind, **SETTINGS)


if __name__ == "__main__":
    kind, folder, golden = sys.argv[1:]
    made = session_of(kind)
    print(*walk(made, folder, golden))
    made.stop()
