"""The memory budget is a bound: Arrow memory follows the budget and the files that are open, not the table."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

import polynya

MIB = 2**20
RUNS = 4
SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.int64()), ("note", pa.string())])
MEASURE = """
import sys
from dataclasses import replace
import pyarrow as pa
import polynya
from polynya.arrow import compact_table
from polynya.table.commit import Target

folder, what, budget_bytes = sys.argv[1], sys.argv[2], int(sys.argv[3])
table = polynya.open_warehouse(folder).table("db.t")
if what == "compact":
    def run(compactor, tasks):
        return compact_table.run_in_threads(replace(compactor, budget_bytes=budget_bytes), tasks)

    target = Target(table.root, table.schema)
    print(compact_table.compact(target, compact_table.CompactRequest(full=True), run).added_files)
else:
    print(sum(batch.num_rows for batch in table.scan().to_batches(memory_budget_bytes=budget_bytes)))
print(pa.default_memory_pool().max_memory())
"""


def make(folder, row_count):
    """A bucket of overlapping runs, each with every fourth key and some of the others."""
    warehouse = polynya.open_warehouse(folder)
    warehouse.create_database("db")
    options = {"bucket": "1", "write-only": "true", "parquet.page.size": "64 kb", "parquet.block.size": "2 mb"}
    table = warehouse.create_table("db.t", SCHEMA, primary_key=["k"], options=options)
    for run in range(RUNS):
        keys = np.unique(np.concatenate([np.arange(run, row_count, RUNS), np.arange(0, row_count, 9)]))
        notes = pa.array([f"note-{number:04d}" for number in range(1000)]).take(pa.array(keys % 1000))
        table.write(pa.table({"k": keys, "v": keys * run, "note": notes}, SCHEMA))
    return folder


def measure(folder, what, budget_bytes):
    """The number of rows read, and the most Arrow memory at one time, of a process of its own."""
    command = [sys.executable, "-c", MEASURE, str(folder), what, str(budget_bytes)]
    count, peak = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return int(count), int(peak)


@pytest.fixture(scope="module")
def buckets(tmp_path_factory):
    return {count: make(tmp_path_factory.mktemp("memory"), count) for count in (200_000, 400_000)}


@pytest.mark.parametrize("what", ["read", "compact"])
def test_memory_follows_the_budget_not_the_rows(buckets, what):
    budget = 8 * MIB
    pages = RUNS * 4 * MIB  # those at hand of five columns of each run, some with a dictionary
    (small_count, small), (large_count, large) = (measure(folder, what, budget) for folder in buckets.values())
    assert (small_count, large_count) == ((200_000, 400_000) if what == "read" else (1, 1))
    assert large < budget + pages
    assert large < 1.15 * small
