"""Compaction changes no read, keeps the levels sound, and stays out of the way of writers."""

import itertools
import pickle
import shutil
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import polynya
from golden_data import golden_expected, golden_table
from polynya.arrow import compact, compact_table
from polynya.arrow.compact_table import CompactRequest, compactor_of, plan_table
from polynya.errors import ConflictError, StorageError
from polynya.paimon.snapshot import CommitKind
from polynya.storage.memory import MemoryStorage
from polynya.table import entries, history
from polynya.table.commit import Commit, Target
from polynya.table.compaction import CompactionReport
from rows import render_rows, sorted_rows

SCHEMA = pa.schema([pa.field("k", pa.int64(), False), ("v", pa.int64()), ("s", pa.string())])
ENGINES = {
    "deduplicate": {},
    "sequence field": {"sequence.field": "v"},
    "partial-update": {"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
    "aggregation": {
        "merge-engine": "aggregation",
        "fields.v.aggregate-function": "sum",
        "fields.s.aggregate-function": "max",
        "fields.s.ignore-retract": "true",
    },
}


def make(folder: Path, key: tuple[str, ...] = ("k",), **options: str) -> polynya.Table:
    warehouse = polynya.open_warehouse(folder)
    warehouse.create_database("db")
    named = {name.replace("__", ".").replace("_", "-"): value for name, value in options.items()}
    named = {"bucket": "1"} | named if key else named
    return warehouse.create_table("db.t", SCHEMA, primary_key=key, options=named)


def rows(*values: tuple[int, int | None, str | None]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in values], schema=SCHEMA)


def read(table: polynya.Table) -> list[dict]:
    return table.refresh().scan().to_arrow().sort_by("k").to_pylist()


def live(table: polynya.Table) -> pa.Table:
    return entries.read_live(table.root, table.refresh().snapshot)


def kinds(table: polynya.Table) -> list[str]:
    return [
        str(one.commit_kind) for one in reversed(list(history.newest_first(table.root, table.refresh().snapshot.id)))
    ]


def target(table: polynya.Table) -> Target:
    return Target(table.root, table.schema)


# Reads stay the same

RECORDS = st.lists(
    st.tuples(
        st.sampled_from(["+I", "+I", "+U", "-D"]),
        st.integers(0, 12),
        st.none() | st.integers(-5, 5),
        st.none() | st.sampled_from("abc"),
    ),
    min_size=1,
    max_size=8,
)


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(history=st.lists(RECORDS, min_size=1, max_size=6), trigger=st.integers(2, 4), full=st.booleans())
def test_a_table_that_compacts_reads_like_one_that_does_not(
    engine: str, history: list, trigger: int, full: bool
) -> None:
    options = {**ENGINES[engine], "num-sorted-run.compaction-trigger": str(trigger), "target-file-size": "1 kb"}
    warehouse = polynya.Warehouse(MemoryStorage())
    warehouse.create_database("db")
    eager, lazy = (
        warehouse.create_table(f"db.{name}", SCHEMA, primary_key=["k"], options={**options, "bucket": "1", **more})
        for name, more in (("eager", {}), ("lazy", {"write-only": "true"}))
    )
    for records in _told_apart(history, engine):
        batch = pa.Table.from_pylist([dict(zip(("kind", "k", "v", "s"), one, strict=True)) for one in records])
        batch = batch.cast(pa.schema([("kind", pa.string()), *SCHEMA]))
        for table in (eager, lazy):
            table.write(batch, rowkind="kind")
        assert read(eager) == read(lazy)
        assert _levels_are_sound(live(eager))
    if full:
        lazy.compact(full=True)
        assert read(eager) == read(lazy)
        assert set(live(lazy)["level"].to_pylist()) <= {trigger}
        assert pc.sum(live(lazy)["delete_row_count"]).as_py() in (0, None)
    for table in (eager, lazy):
        assert not table.refresh().check().problems


def _told_apart(history: list, engine: str) -> list:
    """The history without what Paimon itself reads differently before and after a compaction.

    A partial update keeps the values of a -D under those that follow it, until compaction drops the record; a sum
    takes a -D without a row before it as a number below zero, until compaction drops it; a -D that is dropped does not
    hold back records of a smaller sequence field any more. The histories "in step" of the interop tests hold all of
    them, and compare with Java after the same compactions.
    """
    seen: set[int] = set()
    kept = []
    for records in history:
        if engine == "partial-update":
            records = [(kind, k, None, None) if kind == "-D" else (kind, k, v, s) for kind, k, v, s in records]
        if engine == "sequence field":
            records = [record for record in records if record[0] != "-D"]
        if engine == "aggregation":
            records = [record for record in records if record[0] != "-D" or record[1] in seen]
        seen |= {k for kind, k, _, _ in records if kind != "-D"}
        kept.append(records)
    return [records for records in kept if records]


def _levels_are_sound(files: pa.Table) -> bool:
    """No level above 0 has overlapping files; keys of one BIGINT compare by their stored bytes' value."""
    for level in set(files["level"].to_pylist()) - {0}:
        one = files.filter(pc.equal(files["level"], level))
        ranges = sorted(
            (int.from_bytes(low[12:20], "little", signed=True), int.from_bytes(high[12:20], "little", signed=True))
            for low, high in zip(one["min_key"].to_pylist(), one["max_key"].to_pylist(), strict=True)
        )
        if any(high >= low for (_, high), (low, _) in itertools.pairwise(ranges)):
            return False
    return True


GOLDEN = [
    "pk_uncompacted pk_levels pk_partitioned pk_multi_key_order pk_multi_file pk_bucket_key types_pk thin_mode fmt_orc",
    "fmt_avro fmt_per_level seq_field seq_field_desc seq_multi rowkind_field wide_nulls se_pk fi_pk overwrite_pk",
    "pu_basic pu_sequence_group pu_default_agg pu_remove_on_delete pu_remove_on_seq_group pu_ignore_delete",
    "dedup_ignore_delete agg_all agg_retract agg_remove_on_delete agg_nested many_commits",
    "append_unaware append_compacted append_partitioned append_bucketed types_append se_append se_nested fi_bitmap",
    "row_tracking row_tracking_partitioned",
    "dv_append dv_append_64 dv_append_bucketed stats_modes overwrite analyzed variant_type path_directory",
]


@pytest.mark.parametrize("name", " ".join(GOLDEN).split())
def test_golden_tables_read_the_same_after_a_full_compaction(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    shutil.copytree(golden_table(name), folder)
    table = polynya.open_table(folder)
    before = render_rows(table.scan().to_arrow(), table.schema.fields)
    table.compact(full=True)
    after = table.refresh()
    assert render_rows(after.scan().to_arrow(), after.schema.fields) == before
    assert after.compact(full=True).snapshot_id is None, "a second one has nothing to do"
    assert not after.check(deep=True).problems


def test_a_golden_table_compacts_to_what_its_compacted_twin_holds(tmp_path: Path) -> None:
    folder = tmp_path / "twin"
    shutil.copytree(golden_table("pk_uncompacted"), folder)
    table = polynya.open_table(folder)
    table.compact(full=True)
    expected = golden_expected("pk_compacted")
    assert render_rows(table.refresh().scan().to_arrow(), table.schema.fields) == sorted_rows(expected["rows"])
    ours, theirs = (
        entries.read_live(root, history.find_latest(root)).sort_by("bucket")
        for root in (table.root, polynya.open_table(golden_table("pk_compacted")).root)
    )
    same = ["bucket", "level", "row_count", "min_key", "max_key", "delete_row_count", "file_source", "total_buckets"]
    same += ["min_sequence_number", "max_sequence_number", "key_stats_min", "key_stats_max"]
    assert ours.select(same).to_pylist() == theirs.select(same).to_pylist()


# What is written


def test_an_upgrade_keeps_the_file_and_its_source(tmp_path: Path) -> None:
    table = make(tmp_path, target_file_size="1 b")
    table.write(rows((1, 1, "a")))
    before = live(table)
    made = table.compact(full=True)
    after = live(table)
    assert (made.added_files, made.deleted_files, made.record_count) == (1, 1, 0)
    assert after["level"].to_pylist() == [5]
    same = [name for name in after.column_names if name != "level"]
    assert after.select(same).equals(before.select(same))


def test_deletes_are_kept_above_older_rows_and_dropped_on_top_of_nothing(tmp_path: Path) -> None:
    table = make(tmp_path, num_sorted_run__compaction_trigger="2", compaction__max_size_amplification_percent="100000")
    table.write(pa.concat_tables([rows(*((k, k, "x" * 50) for k in range(3000)))]))
    table.compact(full=True)
    for k in (1, 2):
        table.delete(f"k = {k}")
    levels = dict(zip(live(table)["level"].to_pylist(), live(table)["delete_row_count"].to_pylist(), strict=True))
    assert levels == {1: 2, 2: 0}
    assert len(read(table)) == 2998
    table.compact(full=True)
    assert live(table)["delete_row_count"].to_pylist() == [0]
    assert live(table)["row_count"].to_pylist() == [2998]


def test_sequence_numbers_and_kinds_survive(tmp_path: Path) -> None:
    table = make(tmp_path, write_only="true")
    for v in range(3):
        table.write(rows((1, v, "a"), (2, v, "b")))
    table.compact(full=True)
    (entry,) = live(table).to_pylist()
    assert (entry["min_sequence_number"], entry["max_sequence_number"], entry["file_source"]) == (4, 5, 1)
    table.write(rows((1, 9, "c")))
    assert read(table)[0]["v"] == 9


def test_formats_follow_the_level(tmp_path: Path) -> None:
    table = make(tmp_path, file__format__per__level="0:avro,5:orc", write_only="true")
    for v in range(2):
        table.write(rows((1, v, "a")))
    assert {name.rpartition(".")[2] for name in live(table)["file_name"].to_pylist()} == {"avro"}
    table.compact(full=True)
    assert {name.rpartition(".")[2] for name in live(table)["file_name"].to_pylist()} == {"orc"}
    assert read(table) == [{"k": 1, "v": 1, "s": "a"}]


def test_first_row_shows_rows_at_once_and_never_twice(tmp_path: Path) -> None:
    table = make(tmp_path, merge_engine="first-row")
    table.write(rows(*((k, 0, "first") for k in range(50))))
    assert len(read(table)) == 50
    for turn in range(1, 9):
        table.write(rows(*((k, turn, "later") for k in range(turn * 10, turn * 10 + 20))))
        found = read(table)
        assert [row["k"] for row in found] == list(range(max(50, turn * 10 + 20)))
        assert [row["s"] for row in found][:50] == ["first"] * 50
        assert 0 not in live(table)["level"].to_pylist()


def test_rows_that_are_too_old_are_dropped(tmp_path: Path) -> None:
    now = int(time.time())
    table = make(tmp_path, record_level__expire_time="1 d", record_level__time_field="v", write_only="true")
    table.write(rows((1, now, "new"), (2, now - 200_000, "old"), (3, None, "timeless")))
    table.write(rows((5, (now - 200_000) * 1000, "old in milliseconds")))
    table.compact(full=True)
    assert [row["k"] for row in read(table)] == [1, 3]
    assert table.compact(full=True).snapshot_id is None


def test_an_overwrite_lands_on_the_top_level_where_it_does_not_overlap(tmp_path: Path) -> None:
    table = make(tmp_path)
    table.write(rows((1, 1, "a")))
    table.write(rows((2, 2, "b"), (3, 3, "c")), mode="overwrite")
    assert live(table)["level"].to_pylist() == [5]
    assert [row["k"] for row in read(table)] == [2, 3]


def test_an_overwrite_stays_on_level_0_where_the_option_says_so(tmp_path: Path) -> None:
    table = make(tmp_path, overwrite_upgrade="false")
    table.write(rows((2, 2, "b")), mode="overwrite")
    assert live(table)["level"].to_pylist() == [0]


def test_append_files_are_put_together_in_order(tmp_path: Path) -> None:
    table = make(tmp_path, (), bucket="1", bucket_key="k")
    for k in range(6):
        table.write(rows((k, k, "a")))
    made = table.compact()
    assert (made.added_files, made.deleted_files, made.record_count) == (1, 5, 0)
    assert table.refresh().scan().to_arrow()["k"].to_pylist() == list(range(6))
    first, last = sorted(
        zip(*(live(table)[f"{end}_sequence_number"].to_pylist() for end in ("min", "max")), strict=True)
    )
    assert (first, last) == ((0, 4), (5, 5))


def test_where_names_partitions_only(tmp_path: Path) -> None:
    warehouse = polynya.open_warehouse(tmp_path)
    warehouse.create_database("db")
    table = warehouse.create_table("db.t", SCHEMA, partition_by=["s"])
    for turn in range(3):
        table.write(rows((turn, turn, "a"), (turn, turn, "b")))
    table.compact(full=True, where="s = 'a'")
    assert live(table).num_rows == 4
    with pytest.raises(polynya.InvalidInputError, match="'k' is not a partition column"):
        table.compact(where="k = 1")


# When


def test_writes_compact_when_there_are_enough_runs(tmp_path: Path) -> None:
    table = make(tmp_path)
    made = [table.write(rows((1, v, "a"))) for v in range(5)]
    assert kinds(table) == [*["APPEND"] * 5, "COMPACT"]
    assert made[-1].snapshot_id == 5
    assert live(table).num_rows == 1


def test_a_write_only_table_leaves_compaction_to_others(tmp_path: Path) -> None:
    table = make(tmp_path, write_only="true")
    for v in range(6):
        table.write(rows((1, v, "a")))
    assert kinds(table) == ["APPEND"] * 6
    report = table.compact(dry_run=True)
    assert isinstance(report, CompactionReport)
    assert (len(report.tasks), report.file_count) == (1, 6)
    assert "bucket-0: 6 files" in str(report)
    assert table.compact().snapshot_id == 7


def test_a_compaction_that_fails_does_not_fail_the_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make(tmp_path)

    def fail(*_: object) -> Commit:
        raise StorageError("the disk is full")

    monkeypatch.setattr(compact_table, "run", fail)
    for v in range(6):
        table.write(rows((1, v, "a")))
    assert kinds(table) == ["APPEND"] * 6
    assert read(table) == [{"k": 1, "v": 5, "s": "a"}]


# Others write at the same time


def test_a_compaction_does_not_mind_new_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make(tmp_path, write_only="true")
    for v in range(3):
        table.write(rows((1, v, "a")))
    _race(monkeypatch, lambda: table.write(rows((1, 9, "new"))))
    made = table.compact(full=True)
    assert (made.commit_kind, kinds(table)) == (CommitKind.COMPACT, ["APPEND"] * 4 + ["COMPACT"])
    assert read(table) == [{"k": 1, "v": 9, "s": "new"}]


def test_a_bucket_whose_files_are_gone_is_planned_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make(tmp_path, write_only="true", bucket="2")
    for v in range(3):
        table.write(rows(*((k, v, "a") for k in range(10))))
    _race(monkeypatch, lambda: table.write(rows((1, 8, "new"), (2, 8, "new")), mode="overwrite"))
    table.compact(full=True)
    assert [row["v"] for row in read(table)] == [8, 8]
    assert not table.refresh().check(deep=True).problems
    folder = Path(table.location)
    assert len(list(folder.glob("bucket-*/*.parquet"))) == 6 + live(table).num_rows, "files of the conflict are deleted"


def test_a_bucket_that_always_changes_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = make(tmp_path, write_only="true")
    for v in range(2):
        table.write(rows((1, v, "a")))

    def overwrite() -> None:
        table.write(rows((1, 8, "new")), mode="overwrite")
        table.write(rows((1, 9, "new")))

    _race(monkeypatch, overwrite, times=100)
    with pytest.raises(ConflictError, match="1 buckets were changed by others 5 times"):
        table.compact(full=True)


def _race(monkeypatch: pytest.MonkeyPatch, act: object, times: int = 1) -> None:
    """Let somebody else act between a compaction and its commit."""
    original, left = compact_table.commit_edits, [times]

    def commit_late(*args: object) -> object:
        if left[0]:
            left[0] -= 1
            act()
        return original(*args)

    monkeypatch.setattr(compact_table, "commit_edits", commit_late)


def test_a_task_can_be_carried_out_by_another_process(tmp_path: Path) -> None:
    table = make(tmp_path, write_only="true")
    for v in range(3):
        table.write(rows((1, v, "a")))
    state, tasks = plan_table(target(table), CompactRequest(full=True))
    compactor, task = pickle.loads(pickle.dumps((compactor_of(target(table), state), tasks[0])))
    edit = pickle.loads(pickle.dumps(compact.run(compactor, task)))
    compact_table.commit_edits(target(table), [(task, edit)])
    assert (live(table).num_rows, read(table)) == (1, [{"k": 1, "v": 2, "s": "a"}])
