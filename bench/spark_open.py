"""How long a DataFrame of a table takes to open on Spark: a small table, and one of very many files.

    python bench/spark_open.py [files]

The session is warm: it has read another table. Opening is everything up to the splits of the scan; no row is read of
the many files, which exist in the table's metadata only. The yardstick is Spark's own listing of as many empty files in
as many folders. The first time counts, when the JVM has not compiled this code yet; then the best of three.
"""

import sys
import tempfile
import time
from pathlib import Path

import polynya.spark
from make_table import PARTITIONS, make_table
from polynya.spark import Lake
from spark_append import cpu_seconds, rows

RUNS = 4


def told(name: str, work) -> None:
    """Print what the work takes, by the clock and of the processor."""
    taken = []
    for _ in range(RUNS):
        busy, started = cpu_seconds(), time.perf_counter()
        work()
        clock = time.perf_counter() - started
        taken.append((clock, cpu_seconds() - busy))
    best = tuple(map(min, zip(*taken[1:], strict=True)))
    first = f"first {taken[0][0]:6.2f} s, {taken[0][1]:5.2f} s of processor"
    print(f"{name:26} {first}; then {best[0]:6.2f} s, {best[1]:5.2f} s of processor")


def splits(frame) -> int:
    """The number of splits, which Spark makes of the list of files."""
    return frame._jdf.rdd().getNumPartitions()


def make_folders(root: Path, file_count: int) -> Path:
    """Empty files in a folder for each partition."""
    for number in range(file_count):
        folder = root / f"day={number * PARTITIONS // file_count}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"part-{number:08}.parquet").touch()
    return root


def main(file_count: int, folder: Path) -> None:
    spark = polynya.spark.session("local[2]", **{"spark.driver.memory": "3g"})
    lake = Lake(spark, folder / "small")
    lake.create_database("db")
    frame = rows(spark, 1000)
    for name in ("db.warm", "db.small"):
        lake.create_table(name, frame.schema, partition_by=["day"]).write(frame)
    for _ in range(2):
        lake.table("db.warm").read().count()
    told("small table, and count", lambda: lake.table("db.small").read().count())
    make_table(str(folder / "many"), file_count)
    many = Lake(spark, folder / "many")
    told(f"table of {file_count:,} files", lambda: splits(many.table("bench.t").read()))
    schema, plain = many.table("bench.t").read().schema, str(make_folders(folder / "plain", file_count))
    told(f"folders of {file_count:,} files", lambda: splits(spark.read.schema(schema).parquet(plain)))
    spark.stop()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="polynya-bench-") as place:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 50_000, Path(place))
