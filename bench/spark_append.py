"""How fast DataFrames are written: appended to a partitioned table, loaded and upserted into a primary-key table.

    python bench/spark_append.py [rows] [folder]

The yardstick is Spark's own partitioned Parquet write of the same DataFrame in the same run. Rates are rows of the
DataFrame per second, the best of three runs; the first run of each kind warms up and is not counted.
"""

import shutil
import sys
import tempfile
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import polynya.spark
from polynya.spark import Lake

RUNS = 3
PARTITIONS = 8


def rows(spark: SparkSession, count: int) -> DataFrame:
    """Seven columns of mixed types, held in memory, so that only writing is measured."""
    made = spark.range(0, count, 1, 4).selectExpr(
        "id",
        "timestamp_micros(1700000000000000 + id * 1000) as at",
        "rand(1) as amount",
        "substring(md5(cast(id as string)), 1, 8) as code",
        "concat(md5(cast(id as string)), substring(md5(cast(id + 1 as string)), 1, 24)) as note",
        "cast(id % 1000 as int) as kind",
        f"cast(id % {PARTITIONS} as string) as day",
    )
    made = made.cache()
    made.count()
    return made


def best(write, count: int) -> float:
    """Rows a second."""
    times = []
    for run in range(RUNS + 1):
        started = time.perf_counter()
        write(run)
        times.append(time.perf_counter() - started)
    return count / min(times[1:])


def main(count: int, folder: Path) -> None:
    spark = polynya.spark.session("local[2]", **{"spark.driver.memory": "3g"})
    lake = Lake(spark, folder)
    lake.create_database("db")
    frame = rows(spark, count)

    def native(run: int) -> None:
        frame.write.mode("overwrite").option("compression", "zstd").partitionBy("day").parquet(str(folder / "parquet"))

    def append(run: int) -> None:
        lake.create_table(f"db.append{run}", frame.schema, partition_by=["day"]).write(frame)

    def load(run: int) -> None:
        lake.create_table(f"db.load{run}", frame.schema, ["id"], options={"bucket": "4", "write-only": "true"}).write(
            frame
        )

    changed = frame.where("id % 4 = 0").cache()
    changed_count = changed.count()
    yardstick = best(native, count)
    print(f"spark parquet, partitioned   {yardstick:12,.0f} rows/s")
    for name, rate in (
        ("append, partitioned", best(append, count)),
        ("primary key, load", best(load, count)),
        ("primary key, upsert", best(lambda run: lake.table("db.load1").write(changed), changed_count)),
    ):
        print(f"{name:28} {rate:12,.0f} rows/s   {rate / yardstick:.2f}x")
    spark.stop()


if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    place = Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp(prefix="polynya-bench-"))
    try:
        main(size, place)
    finally:
        shutil.rmtree(place, ignore_errors=True)
