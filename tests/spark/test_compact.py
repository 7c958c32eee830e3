"""Compaction as Spark jobs: what it leaves, what it commits, and what stops it."""

import itertools
import re
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import polynya
from polynya.arrow import compact_table
from polynya.spark import compact
from polynya.spark.compact import SparkRunner, Unit, encode_unit
from polynya.table.commit import Target
from polynya.table.key_ranges import KeyRange

pytestmark = pytest.mark.spark

KEYED = pa.schema([("k", pa.int64()), ("v", pa.string()), ("p", pa.string())])


def keyed(lake, name="db.keyed", options=None):
    return lake.create_table(name, KEYED, ["p", "k"], ["p"], {"bucket": "2", "write-only": "true", **(options or {})})


def compacting(lake, run_count):
    return keyed(lake, options={"write-only": "false", "num-sorted-run.compaction-trigger": str(run_count)})


def rows(start, end, version, step=1):
    numbers = range(start, end, step)
    return pa.table({"k": numbers, "v": [f"{version}-{k}" for k in numbers], "p": [str(k % 2) for k in numbers]})


def sorted_rows(table):
    return sorted(table.table.refresh().scan().to_arrow().to_pylist(), key=str)


def kinds(table):
    return table.table.refresh().system("snapshots")["commit_kind"].to_pylist()


def levels(table):
    return sorted(set(table.table.refresh().system("files")["level"].to_pylist()))


def test_a_full_compaction_leaves_the_rows_on_the_top_level(lake):
    table = keyed(lake)
    for version in range(3):
        table.table.write(rows(0, 100 + version, version))
    before = sorted_rows(table)
    made = table.compact(full=True)
    assert (made.commit_kind, made.added_files, made.deleted_files) == ("COMPACT", 4, 12)
    assert sorted_rows(table) == before
    assert levels(table) == [5]
    assert table.compact(full=True).snapshot_id is None
    assert table.table.refresh().check(deep=True).is_sound


def test_it_does_what_a_compaction_without_spark_does(lake):
    ours, theirs = keyed(lake), keyed(lake, "db.other")
    for version in range(6):
        for table in (ours, theirs):
            table.table.write(rows(version * 10, 100, version))
    assert ours.compact().added_files == theirs.table.compact().added_files
    facts = ["partition", "bucket", "level", "record_count", "min_key", "max_key", "min_sequence_number"]
    found = [table.table.refresh().system("files").select(facts).to_pylist() for table in (ours, theirs)]
    assert sorted(found[0], key=str) == sorted(found[1], key=str)


def test_a_large_bucket_is_written_by_key_ranges_into_one_sorted_run(lake, monkeypatch):
    table = lake.create_table("db.t", KEYED, ["k"], options={"bucket": "1", "write-only": "true"})
    for start in range(0, 4000, 1000):
        table.table.write(rows(start, start + 1000, "old"))
    table.table.write(rows(0, 4000, "new", step=3))
    before = sorted_rows(table)
    monkeypatch.setattr(compact, "target_file_size", lambda _: 1)
    runner = CountingRunner(table.spark)
    made = table.table.compact(full=True, runner=runner)
    assert runner.unit_counts == [2]
    assert made.added_files == 2
    assert levels(table) == [5]
    assert sorted_rows(table) == before
    assert table.table.refresh().check(deep=True).is_sound  # no two files of a level overlap


class CountingRunner(SparkRunner):
    """Tells how many units each task was cut into."""

    def __call__(self, compactor, tasks, clustering=None):
        share = -(-sum(task.size_bytes for task in tasks) // 2)
        object.__setattr__(
            self, "unit_counts", [len(compact.work_of(compactor, task, clustering, share).units) for task in tasks]
        )
        return super().__call__(compactor, tasks, clustering)


def test_small_files_of_an_append_table_become_one_and_vectors_are_applied(lake):
    table = lake.create_table("db.t", KEYED, partition_by=["p"], options={"deletion-vectors.enabled": "true"})
    for start in range(0, 60, 10):
        table.table.write(rows(start, start + 10, 0))
    table.table.delete("k < 15")
    before = sorted_rows(table)
    made = table.compact(full=True, where="p = '1'")
    assert (made.added_files, made.deleted_files) == (1, 6)
    assert table.compact(full=True).added_files == 1
    assert sorted_rows(table) == before
    index = table.table.refresh().snapshot.index_manifest
    assert index is None or table.table.refresh().check(deep=True).is_sound


@pytest.mark.parametrize("order", ["sort", "zorder", "hilbert"])
def test_partitions_are_written_in_order_by_several_tasks(lake, monkeypatch, order):
    table = lake.create_table("db.t", KEYED, partition_by=["p"])
    for start in range(3):
        table.table.write(rows(start, 300, start, step=3))
    before = sorted_rows(table)
    monkeypatch.setattr(compact, "SORTED_BYTES", 2000)
    made = table.compact(order_by=["k", "v"], order=order)
    assert made.commit_kind == "OVERWRITE"
    assert made.added_files > 2
    assert sorted_rows(table) == before
    if order == "sort":
        spans = key_spans(table, "1")
        assert all(before[1] < after[0] for before, after in itertools.pairwise(spans))


def key_spans(table, partition):
    files = table.table.refresh().system("files").to_pylist()
    bounds = [re.findall(r"k=(\d+)", row["min_value_stats"] + row["max_value_stats"]) for row in files]
    return sorted(tuple(map(int, one)) for row, one in zip(files, bounds, strict=True) if partition in row["partition"])


def test_a_dry_run_says_what_would_be_done_and_does_nothing(lake):
    table = keyed(lake)
    for version in range(5):
        table.table.write(rows(0, 10, version))
    report = table.compact(dry_run=True)
    assert (len(report.tasks), report.file_count) == (4, 20)
    assert table.table.refresh().snapshot.id == 5


def test_what_is_done_is_committed_job_by_job(lake, monkeypatch):
    table = keyed(lake)
    for version in range(3):
        table.table.write(rows(0, 100, version))
    monkeypatch.setattr(compact, "JOB_BYTES", 1)
    monkeypatch.setattr(compact_table, "BATCH_BYTES", 1)
    table.compact(full=True)
    assert kinds(table) == ["APPEND"] * 3 + ["COMPACT"] * 4


def test_jobs_that_nobody_waits_for_any_more_end_and_leave_nothing(lake, monkeypatch):
    table = keyed(lake)
    for version in range(3):
        table.table.write(rows(0, 100, version))
    monkeypatch.setattr(compact, "JOB_BYTES", 1)
    target = Target(table.table.root, table.table.schema)
    state, tasks = compact_table.plan_table(target, compact_table.CompactRequest(full=True))
    outcomes = SparkRunner(table.spark)(compact_table.compactor_of(target, state), tasks)
    _, edit = next(outcomes)
    outcomes.close()
    left = {path.name for path in Path(table.table.location).rglob("data-*")}
    assert left - set(state.files["file_name"].to_pylist()) == set(edit.added["file_name"].to_pylist())


def test_a_damaged_file_stops_its_own_task_only(lake):
    table = keyed(lake)
    for version in range(3):
        table.table.write(rows(0, 100, version))
    damaged = next(Path(table.table.location).glob("p=0/bucket-0/data-*"))
    damaged.write_bytes(b"PAR1" + bytes(100))
    with pytest.raises(polynya.CorruptFileError, match=damaged.name):
        table.compact(full=True)
    assert kinds(table)[-1] == "COMPACT"
    assert table.table.refresh().system("files")["level"].to_pylist().count(5) == 3
    assert len(list(Path(table.table.location).rglob("data-*"))) == 12 + 3  # nothing of the task that was stopped


def test_a_bucket_that_another_compacted_meanwhile_is_planned_again(lake):
    table = keyed(lake)
    for version in range(3):
        table.table.write(rows(0, 100, version))
    before = sorted_rows(table)
    made = table.table.compact(full=True, runner=MeddlingRunner(table))
    assert made.snapshot_id is not None
    assert sorted_rows(table) == before
    assert levels(table) == [5]


class MeddlingRunner(SparkRunner):
    """Compacts one partition itself, and takes its old files away, before the tasks are carried out."""

    def __init__(self, table):
        super().__init__(table.spark)
        object.__setattr__(self, "table", table)

    def __call__(self, compactor, tasks, clustering=None):
        table = self.table.table
        if table.refresh().snapshot.id == 3:
            table.compact(full=True, where="p = '0'")
            for name in pa.concat_tables([task.files for task in tasks])["file_name"].to_pylist():
                Path(table.location, "p=0", "bucket-0", name).unlink(missing_ok=True)
        return super().__call__(compactor, tasks, clustering)


def test_a_missing_file_that_nobody_took_is_an_error(lake):
    table = keyed(lake)
    for version in range(2):
        table.table.write(rows(0, 100, version))
    lost = next(Path(table.table.location).glob("p=0/bucket-0/data-*"))
    lost.unlink()
    with pytest.raises(polynya.NotFoundError, match=lost.name):
        table.compact(full=True)


def test_writes_compact_the_buckets_that_are_due_as_commits_of_their_own(lake):
    table = compacting(lake, 3)
    frame = lake.spark.createDataFrame(rows(0, 100, 0))
    for _ in range(3):
        made = table.write(frame)
    assert made.commit_kind == "APPEND"
    assert kinds(table) == ["APPEND", "APPEND", "APPEND", "COMPACT"]
    assert table.read().count() == 100
    assert levels(table) == [3]  # the top: as many levels as runs are allowed


def test_the_format_compacts_what_is_due_too(lake):
    table = compacting(lake, 2)
    frame = lake.spark.createDataFrame(rows(0, 10, 0)).coalesce(1)
    for _ in range(2):
        frame.write.format("polynya").mode("append").save(table.table.location)
    assert kinds(table) == ["APPEND", "APPEND", "COMPACT"]
    assert table.read().count() == 10


def test_an_overwrite_of_a_keyed_table_lands_on_the_top_level(lake):
    table = keyed(lake)
    table.write(lake.spark.createDataFrame(rows(0, 100, 0)))
    table.write(lake.spark.createDataFrame(rows(0, 50, 1)), mode="overwrite")
    assert levels(table) == [5]
    assert table.read().agg(F.count("*")).first()[0] == 50


def test_a_unit_travels_without_what_its_files_were_cut_from(lake):
    table = keyed(lake)
    for version in range(3):
        table.table.write(rows(0, 100, version))
    (task, *_) = table.compact(full=True, dry_run=True).tasks
    wide = pa.concat_tables([task.files] * 1000)
    sizes = [
        len(encode_unit(Unit(replace(task, files=files), 1, KeyRange()))) for files in (task.files, wide.slice(0, 3))
    ]
    assert sizes[1] < 2 * sizes[0]


def test_a_read_optimized_view_has_what_the_last_full_compaction_left(lake):
    table = keyed(lake)
    table.table.write(rows(0, 10, "old"))
    assert table.read(read_optimized=True).count() == 0
    table.compact(full=True)
    table.table.write(rows(5, 15, "new"))
    seen = table.read(where="k >= 5", read_optimized=True)
    assert {row.v for row in seen.collect()} == {f"old-{k}" for k in range(5, 10)}
    assert "FileScan" in seen._jdf.queryExecution().toString()
