"""How fast DataFrames are written: appended to a partitioned table, loaded and upserted into a primary-key table.

    python bench/spark_append.py [rows] [folder]

The yardstick is Spark's own partitioned Parquet write of the same DataFrame. All kinds are written in turn, three times
after one to warm up. Rates are rows of the DataFrame per second, of the best of three, and rows per second of processor
time, of the driver, the JVM and its workers: the second does not mind what else runs on the machine.
"""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import polynya.spark
from polynya.spark import Lake

RUNS = 3
PARTITIONS = 8
PRIME = 2_654_435_761
COLUMNS = (
    "id",
    "timestamp_micros(1700000000000000 + id * 1000) as at",
    "rand(1) as amount",
    "substring(md5(cast(id as string)), 1, 8) as code",
    "concat(md5(cast(id as string)), substring(md5(cast(id + 1 as string)), 1, 24)) as note",
    "cast(id % 1000 as int) as kind",
    f"cast(id % {PARTITIONS} as string) as day",
)


def rows(spark: SparkSession, count: int, key: str = "id") -> DataFrame:
    """Seven columns of mixed types, held in memory, so that only writing is measured."""
    made = spark.range(0, count, 1, 4).selectExpr(f"{key} as id").selectExpr(*COLUMNS).cache()
    made.count()
    return made


def changed_rows(spark: SparkSession, count: int) -> DataFrame:
    """As many rows as were loaded, in no order: one half has keys that are there, the other half new ones."""
    return rows(spark, count, f"pmod(id * {PRIME}, {2 * count})")


def cpu_seconds() -> float:
    """The processor time of this process and all below it."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended; its parent has its time
            continue
        if _is_below(int(stat.parent.name)):
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _is_below(process: int) -> bool:
    while process > 1:
        if process == os.getpid():
            return True
        try:
            process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return False


def measured(kinds: dict[str, Callable[[int], None]], count: int) -> dict[str, tuple[float, float]]:
    """Rows a second of each kind, which writes `count` of them, by the clock and by the processor."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in kinds}
    for run in range(RUNS + 1):
        for name, write in kinds.items():
            started, busy = time.perf_counter(), cpu_seconds()
            write(run)
            taken[name].append((time.perf_counter() - started, cpu_seconds() - busy))
    return {name: tuple(count / min(times) for times in zip(*runs[1:], strict=True)) for name, runs in taken.items()}


def main(count: int, folder: Path) -> None:
    spark = polynya.spark.session("local[2]", **{"spark.driver.memory": "3g"})
    lake = Lake(spark, folder)
    lake.create_database("db")
    frame = rows(spark, count)
    changed = changed_rows(spark, count)

    def native(run: int) -> None:
        frame.write.mode("overwrite").option("compression", "zstd").partitionBy("day").parquet(str(folder / "parquet"))

    def append(run: int) -> None:
        lake.create_table(f"db.append{run}", frame.schema, partition_by=["day"]).write(frame)

    def load(run: int) -> None:
        options = {"bucket": "4", "write-only": "true"}
        lake.create_table(f"db.load{run}", frame.schema, ["id"], options=options).write(frame)

    def upsert(run: int) -> None:
        lake.table("db.load0").write(changed)

    kinds = {
        "spark parquet, partitioned": native,
        "append, partitioned": append,
        "primary key, load": load,
        "primary key, upsert": upsert,
    }
    found = measured(kinds, count)
    clock, processor = found["spark parquet, partitioned"]
    for name, (rate, efficiency) in found.items():
        print(
            f"{name:28} {rate:12,.0f} rows/s {rate / clock:6.2f}x"
            f" {efficiency:12,.0f} rows/s of processor {efficiency / processor:6.2f}x"
        )
    spark.stop()


if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    place = Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp(prefix="polynya-bench-"))
    try:
        main(size, place)
    finally:
        shutil.rmtree(place, ignore_errors=True)
