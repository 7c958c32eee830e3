"""Rows per second of merging eight overlapping sorted runs, engine by engine.

The floor is what Arrow needs to sort the same table by its key and gather the rows, without any merging.
"""

import sys
import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polynya.arrow.merge import losers, merge, merge_spec
from polynya.arrow.sorted_runs import merge_runs
from polynya.model.schema import schema_of

RUNS, ROWS, KEYS = 8, 500_000, 1_000_000
BUDGET_BYTES = 256 << 20
AGGREGATES = {"c1": "sum", "c2": "max", "c3": "sum", "c4": "last_value", "c5": "min", "c6": "last_non_null_value"}
ENGINES = {
    "deduplicate": {},
    "deduplicate, sequence.field": {"sequence.field": "c1"},
    "first-row": {"merge-engine": "first-row"},
    "partial-update": {"merge-engine": "partial-update"},
    "partial-update, sequence group": {"merge-engine": "partial-update", "fields.c3.sequence-group": "c2,c4,c5"},
    "aggregation": {"merge-engine": "aggregation"}
    | {f"fields.{column}.aggregate-function": name for column, name in AGGREGATES.items()},
}


def make_runs(key: Callable[[np.ndarray], pa.Array]) -> list[pa.Table]:
    draw = np.random.default_rng(7)
    texts = pa.array([f"{number:08d}" for number in range(1000)])
    long_texts = pa.array([f"{number:056d}" for number in range(1000)])
    runs = []
    for run in range(RUNS):
        keys = np.sort(draw.choice(KEYS, ROWS, replace=False))
        few = pa.array(draw.integers(0, 1000, ROWS))
        columns = {
            "_SEQUENCE_NUMBER": np.arange(ROWS) + run * ROWS,
            "_VALUE_KIND": np.zeros(ROWS, np.int8),
            "k": key(keys),
            "c1": pa.array(draw.integers(0, 10**6, ROWS), mask=draw.random(ROWS) < 0.1),
            "c2": pa.array(draw.random(ROWS)),
            "c3": pa.array(draw.integers(0, 100, ROWS).astype(np.int32)),
            "c4": texts.take(few),
            "c5": pa.array(keys * 1000, pa.timestamp("us")),
            "c6": long_texts.take(few),
        }
        runs.append(pa.table(columns))
    return runs


def best(work: Callable[[], object], times: int = 3) -> float:
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def report(label: str, seconds: float, floor: float) -> None:
    rate = RUNS * ROWS / seconds / 1e6
    print(f"{label:<36} {rate:6.2f} M rows/s   {seconds / floor:5.2f} x the floor")


def measure(name: str, runs: list[pa.Table], engines: dict[str, dict[str, str]]) -> None:
    rows = pa.concat_tables(runs)
    floor = best(lambda: sort_and_take(rows))
    print(f"key {name}: {len(runs)} runs of {ROWS} rows, {rows.nbytes >> 20} MiB")
    report("sort_indices + take (floor)", floor, floor)
    values = pa.schema([field for field in rows.schema if not field.name.startswith("_")])
    for label, options in engines.items():
        spec = merge_spec(schema_of(values, primary_key=["k"], options=options))
        report(label, best(lambda spec=spec: merge(rows, spec)), floor)
        if label == "deduplicate":
            narrow = rows.select(["_SEQUENCE_NUMBER", "_VALUE_KIND", "k"])
            report("  losers only", best(lambda spec=spec, narrow=narrow: losers(narrow, spec)), floor)
            report("  streamed in 256 MiB", best(lambda spec=spec: stream(runs, spec)), floor)


def sort_and_take(rows: pa.Table) -> pa.Table:
    return rows.take(pc.sort_indices(rows, [("k", "ascending"), ("_SEQUENCE_NUMBER", "ascending")]))


def stream(runs: list[pa.Table], spec: object) -> None:
    streams = [iter(run.to_batches(max_chunksize=65_536)) for run in runs]
    for _ in merge_runs(streams, spec, budget_bytes=BUDGET_BYTES):
        pass


def main() -> None:
    measure("bigint", make_runs(pa.array), ENGINES)
    if "--text" in sys.argv:
        text = make_runs(lambda keys: pa.array([f"customer-{key:012d}" for key in keys]))
        measure("string", text, {"deduplicate": {}})


if __name__ == "__main__":
    main()
