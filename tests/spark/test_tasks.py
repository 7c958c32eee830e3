"""Packing sections into tasks."""

import operator

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polynya
from polynya.errors import UnsupportedError
from polynya.spark import tasks
from polynya.spark.lake import plan_read
from polynya.spark.tasks import (
    TASK_BYTES,
    TASK_BYTES_MIN,
    balance,
    decode_table,
    encode_table,
    read_files,
    read_tasks,
    require_reachable,
    task_count,
    task_files,
)

weights = st.lists(st.integers(1, 10**9), min_size=1, max_size=60)


@given(weights, st.integers(1, 16))
def test_no_task_has_more_than_its_share_and_one_section(sizes, parallelism):
    sizes = np.array(sizes, np.float64)
    count = task_count(sizes, parallelism)
    loads = np.bincount(balance(sizes, count), weights=sizes, minlength=count)
    assert loads.min() > 0
    assert loads.max() <= sizes.sum() / count + sizes.max()


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 10**8)), min_size=1, max_size=40))
def test_every_file_goes_to_one_task_and_sections_stay_whole(files):
    files = sorted(files)
    table = pa.table({"section": [one[0] for one in files], "file_size": [one[1] for one in files]})
    table = table.append_column("id", pa.array(range(len(files))))
    placed = task_files(table, 4)
    assert sorted(id for task in placed for id in task["id"].to_pylist()) == list(range(len(files)))
    owners = [set(task["section"].to_pylist()) for task in placed]
    assert sum(len(owner) for owner in owners) == len(set().union(*owners))
    assert all(task["id"].to_pylist() == sorted(task["id"].to_pylist()) for task in placed)


def test_small_reads_are_one_task_and_large_ones_follow_their_bytes():
    assert task_count(np.full(100, TASK_BYTES_MIN / 200.0), 8) == 1
    assert task_count(np.full(100, float(TASK_BYTES)), 8) == 100
    assert task_count(np.full(100, TASK_BYTES_MIN / 10.0), 8) == 8


def test_tables_survive_the_way_to_a_worker():
    table = pa.table({"a": [b"x", None], "b": [[1], []]})
    assert decode_table(encode_table(table)).equals(table)


def test_a_table_in_memory_is_out_of_reach():
    storage = polynya.open_warehouse("memory://spark-tasks").storage
    with pytest.raises(UnsupportedError, match="memory of this process"):
        require_reachable(storage)


@pytest.mark.parametrize("where", [None, "k = 1500", "v = 'new-999'", "k > 990 and v >= 'new'"])
def test_one_bucket_that_must_be_merged_is_read_by_several_tasks(tmp_path, monkeypatch, where):
    warehouse = polynya.open_warehouse(tmp_path)
    warehouse.create_database("db")
    table = warehouse.create_table(
        "db.t", pa.schema([("k", pa.int64()), ("v", pa.string())]), ["k"], options={"bucket": "1", "write-only": "true"}
    )
    for start, end, step, version in ((0, 1000, 1, "old"), (1000, 2000, 1, "old"), (0, 2000, 3, "new")):
        numbers = range(start, end, step)
        table.write(pa.table({"k": numbers, "v": [f"{version}-{k}" for k in numbers]}))
    monkeypatch.setattr(tasks, "TASK_BYTES_MIN", 1)
    table = table.refresh()
    reader, plan = plan_read(table, where, None)
    cut = read_tasks(reader, plan.files, 3)
    assert len(cut) > 1 or where == "k = 1500"
    found = [row for files in cut for batch in read_files(reader, files) for row in batch.to_pylist()]
    key = operator.itemgetter("k")
    assert sorted(found, key=key) == sorted(table.scan(where).to_arrow().to_pylist(), key=key)
