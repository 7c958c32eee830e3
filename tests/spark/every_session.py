"""One walk through reading and writing, for a process with a session of another kind: classic, cluster or Connect."""

import sys

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import polynya.spark
from polynya.spark import Lake

SETTINGS = {
    "spark.executor.memory": "512m",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "4",
}


def walk(spark: SparkSession, folder: str, golden: str) -> None:
    """Append, upsert, delete, and read golden tables of every way."""
    lake = Lake(spark, folder)
    lake.create_database("db")
    rows = spark.range(0, 200, 1, 3).selectExpr("id", "cast(id % 2 as string) as p", "'a' as v")
    plain = lake.create_table("db.plain", rows.schema, partition_by=["p"])
    plain.write(rows)
    assert plain.read(where="p = '1' and id < 10").count() == 5
    keyed = lake.create_table("db.keyed", rows.schema, ["id", "p"], ["p"], {"bucket": "2"})
    keyed.write(rows)
    keyed.write(rows.where("id < 50").withColumn("kind", F.lit("-D")), rowkind="kind")
    assert keyed.read().agg(F.count("*"), F.min("id")).first() == (150, 50)
    texts = lake.create_table("db.texts", pa.schema([("k", pa.string())]), ["k"], options={"bucket": "2"})
    texts.write(rows.selectExpr("concat('k', id) as k"))
    assert texts.read().count() == 200
    rows.write.format("polynya").mode("append").save(plain.table.location)
    assert spark.read.format("polynya").load(plain.table.location).count() == 400
    stored = Lake(spark, golden)
    for name in ("append_partitioned", "dv_append", "pk_uncompacted", "fmt_avro"):
        table = stored.table(f"golden.{name}")
        assert table.read().count() == table.table.scan().count(), name


if __name__ == "__main__":
    kind, folder, golden = sys.argv[1:]
    if kind == "connect":
        made = SparkSession.builder.remote("local[1]").config("spark.sql.shuffle.partitions", "4").getOrCreate()
    else:
        made = polynya.spark.session(kind, **SETTINGS)
    walk(made, folder, golden)
    print("walked")
    made.stop()
