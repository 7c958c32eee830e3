"""Rows per second of compaction, against the least work that could do.

- Full compaction of a primary-key bucket of 8 overlapping runs; the floor is reading the same runs merged.
- Putting together 40 small files of an append table; the floor is pyarrow reading them and writing one file.
- Deleting 1 % of the rows of an append table, with deletion vectors and by copying files.
"""

import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import polynya

RUNS, ROWS, KEYS = 8, 250_000, 1_000_000
FILES = 40
SCHEMA = pa.schema(
    [
        pa.field("k", pa.int64(), False),
        ("t", pa.timestamp("us")),
        ("d", pa.float64()),
        ("i", pa.int32()),
        ("n", pa.int64()),
        ("s", pa.string()),
        ("l", pa.string()),
    ]
)


def make_rows(draw: np.random.Generator, count: int) -> pa.Table:
    keys = draw.choice(KEYS, count, replace=False)
    texts = pa.array([f"{number:08d}" for number in range(1000)])
    long_texts = pa.array([f"{number:056d}" for number in range(1000)])
    few = pa.array(draw.integers(0, 1000, count))
    columns = [
        pa.array(keys),
        pa.array(keys * 1000, pa.timestamp("us")),
        pa.array(draw.random(count)),
        pa.array(draw.integers(0, 100, count).astype(np.int32)),
        pa.array(draw.integers(0, 10**6, count)),
        texts.take(few),
        long_texts.take(few),
    ]
    return pa.table(columns, schema=SCHEMA)


@dataclass(frozen=True, order=True)
class Took:
    """What a piece of work took; on a busy machine the seconds of the processor say more than those of the clock."""

    seconds: float
    cpu_seconds: float


def timed(work: Callable[[], object]) -> Took:
    clock, cpu = time.perf_counter(), time.process_time()
    work()
    return Took(time.perf_counter() - clock, time.process_time() - cpu)


def bench_keys(warehouse: polynya.Warehouse) -> None:
    draw = np.random.default_rng(7)
    options = {"bucket": "1", "write-only": "true"}
    table = warehouse.create_table("db.k", SCHEMA, primary_key=["k"], options=options)
    for _ in range(RUNS):
        table.write(make_rows(draw, ROWS))
    floor = min(timed(lambda: sum(batch.num_rows for batch in table.refresh().scan().to_batches())) for _ in range(2))
    took = timed(lambda: table.compact(full=True))
    report("full compaction of 8 runs", RUNS * ROWS, took, "merge read alone", floor)


def bench_append(warehouse: polynya.Warehouse) -> None:
    draw = np.random.default_rng(7)
    table = warehouse.create_table("db.a", SCHEMA)
    for _ in range(FILES):
        table.write(make_rows(draw, ROWS // 5))
    folder = Path(table.location)
    names = [str(path) for path in folder.glob("bucket-0/*.parquet")]

    def rewrite() -> None:
        source = ds.dataset(names)
        with pq.ParquetWriter(folder / "floor.parquet", source.schema, compression="zstd") as writer:
            for batch in source.to_batches():
                writer.write_batch(batch)

    floor = timed(rewrite)
    took = timed(lambda: table.compact(full=True))
    report("40 append files to one", FILES * ROWS // 5, took, "pyarrow alone", floor)


def bench_delete(warehouse: polynya.Warehouse) -> None:
    took = {}
    for name, options in (("vectors", {"deletion-vectors.enabled": "true"}), ("copies", {})):
        draw = np.random.default_rng(7)
        table = warehouse.create_table(f"db.{name}", SCHEMA, options=options)
        for _ in range(4):
            table.write(make_rows(draw, 2 * ROWS))
        took[name] = timed(lambda table=table: table.delete("i = 7"))
    report("delete 1 % with vectors", 8 * ROWS, took["vectors"], "by copying", took["copies"])


def report(what: str, rows: int, took: Took, other: str, floor: Took) -> None:
    rate = rows / took.seconds / 1e6
    print(
        f"{what:26} {rate:5.2f} M rows/s, {took.cpu_seconds:5.2f} s of CPU; {other}: {floor.cpu_seconds:5.2f} s; "
        f"speed {floor.seconds / took.seconds:4.2f}x by the clock, {floor.cpu_seconds / took.cpu_seconds:4.2f}x by CPU"
    )


def main() -> int:
    folder = tempfile.mkdtemp(prefix="polynya-bench-")
    try:
        warehouse = polynya.open_warehouse(folder)
        warehouse.create_database("db")
        for bench in (bench_keys, bench_append, bench_delete):
            bench(warehouse)
    finally:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
