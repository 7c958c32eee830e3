"""How fast tables are read into Spark: a scan with aggregation of raw files, and of files that must be merged.

    python bench/spark_scan.py [rows] [folder]

The yardstick is Spark's own scan of the same data in partitioned Parquet, with the same types: left alone, Spark would
take the partition column for a number, which it sorts faster than a text. All kinds are read in turn, three times after
one to warm up; times are the best of three, by the clock and of the processor: the driver, the JVM and its workers.
"""

import shutil
import sys
import tempfile
import time
from pathlib import Path

from pyspark.sql import DataFrame

import polynya.spark
from polynya.spark import Lake
from spark_append import cpu_seconds, rows

RUNS = 3


def seconds(kinds) -> dict[str, tuple[float, float]]:
    """The best times of making each frame and adding it up."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in kinds}
    for _ in range(RUNS + 1):
        for name, make in kinds.items():
            busy, started = cpu_seconds(), time.perf_counter()
            _total(make())
            clock = time.perf_counter() - started
            taken[name].append((clock, cpu_seconds() - busy))
    return {name: tuple(map(min, zip(*times[1:], strict=True))) for name, times in taken.items()}


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
    kinds = {
        "spark parquet": lambda: spark.read.schema(frame.schema).parquet(path),
        "raw files": plain.read,
        "two overlapping runs": keyed.read,
    }
    found = seconds(kinds)
    clock, processor = found["spark parquet"]
    for name, (taken, busy) in found.items():
        print(f"{name:24} {taken:7.2f} s {clock / taken:6.2f}x {busy:7.2f} s of processor {processor / busy:6.2f}x")
    spark.stop()


if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    place = Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp(prefix="polynya-bench-"))
    try:
        main(size, place)
    finally:
        shutil.rmtree(place, ignore_errors=True)
