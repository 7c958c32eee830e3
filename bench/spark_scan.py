"""How fast tables are read into Spark: a scan with aggregation of raw files, and of files that must be merged.

    python bench/spark_scan.py [rows] [folder]

The yardstick is Spark's own scan of the same data in partitioned Parquet in the same run; best of three, once warm.
"""

import shutil
import sys
import tempfile
import time
from pathlib import Path

from pyspark.sql import DataFrame

import polynya.spark
from polynya.spark import Lake
from spark_append import rows

RUNS = 3


def seconds(make) -> float:
    """The best time of making the frame and adding it up."""
    times = []
    for _ in range(RUNS + 1):
        started = time.perf_counter()
        _total(make())
        times.append(time.perf_counter() - started)
    return min(times[1:])


def _total(frame: DataFrame) -> None:
    frame.groupBy("day").agg({"amount": "sum", "note": "max", "kind": "avg", "at": "max", "id": "count"}).collect()


def main(count: int, folder: Path) -> None:
    spark = polynya.spark.session("local[2]", **{"spark.driver.memory": "3g"})
    lake = Lake(spark, folder)
    lake.create_database("db")
    frame = rows(spark, count)
    path = str(folder / "parquet")
    frame.write.option("compression", "zstd").partitionBy("day").parquet(path)
    plain = lake.create_table("db.plain", frame.schema, partition_by=["day"])
    plain.write(frame)
    keyed = lake.create_table("db.keyed", frame.schema, ["id"], options={"bucket": "4", "write-only": "true"})
    keyed.write(frame)
    keyed.write(frame.where("id % 4 = 0"))
    frame.unpersist()
    yardstick = seconds(lambda: spark.read.parquet(path))
    print(f"spark parquet            {yardstick:7.2f} s")
    for name, table in (("raw files", plain), ("two overlapping runs", keyed)):
        taken = seconds(table.read)
        print(f"{name:24} {taken:7.2f} s   {yardstick / taken:.2f}x")
    spark.stop()


if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    place = Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp(prefix="polynya-bench-"))
    try:
        main(size, place)
    finally:
        shutil.rmtree(place, ignore_errors=True)
