"""What compaction picks, against a plain model of the rules, and how tasks are cut into steps."""

import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polynya.codec import binary_rows
from polynya.errors import InvalidInputError
from polynya.model.schema import Schema, schema_of
from polynya.paimon import index_manifest, manifest
from polynya.table import compaction
from polynya.table.compaction import CompactionState, CompactionTask, StepRules, Within, steps_of
from polynya.table.pick_append import AppendRules, pick_bucket, pick_unaware
from polynya.table.pick_runs import PickRules, SortedRun, Unit, pick, pick_full
from polynya.table.record_expiry import expired_rows
from polynya.table.scan import with_vectors

COLUMNS = pa.schema([pa.field("k", pa.int64(), False), ("v", pa.int64())])


def schema(key: tuple[str, ...] = ("k",), **options: str) -> Schema:
    named = {name.replace("_", "-").replace("--", "."): value for name, value in options.items()}
    return schema_of(COLUMNS, primary_key=key, options={"bucket": "1" if key else "-1", **named})


def keys(*values: int) -> list[bytes]:
    return binary_rows.encode_rows([pa.array(values, pa.int64())]).to_pylist()


def entries(*files: dict[str, object]) -> pa.Table:
    """Manifest entries of files given by what matters of them: low, high, level, size, seq."""
    rows = []
    for number, file in enumerate(files):
        low, high = keys(file.get("low", 0), file.get("high", 0))
        rows.append(
            {
                "kind": 0,
                "partition": bytes(12),
                "bucket": file.get("bucket", 0),
                "total_buckets": 1,
                "file_name": file.get("name", f"data-{number}.parquet"),
                "file_size": file.get("size", 100),
                "row_count": file.get("rows", 10),
                "min_key": low,
                "max_key": high,
                "min_sequence_number": file.get("seq", number),
                "max_sequence_number": file.get("seq", number),
                "schema_id": 0,
                "level": file.get("level", 0),
                "extra_files": [],
                "creation_time": file.get("created", 0),
                "delete_row_count": file.get("deletes", 0),
            }
        )
    return pa.Table.from_pylist(rows, schema=manifest.SCHEMA)


def state_of(schema: Schema, files: pa.Table, vectors: dict[str, int] | None = None) -> CompactionState:
    """A state whose files have the given numbers of deleted rows, each vector in an index file of its own."""
    index = pa.Table.from_pylist(
        [
            {
                "kind": 0,
                "partition": bytes(12),
                "bucket": 0,
                "index_type": "DELETION_VECTORS",
                "file_name": f"index-{name}",
                "file_size": 9,
                "row_count": 1,
                "dv_ranges": [{"file_name": name, "offset": 1, "length": 1, "cardinality": count}],
            }
            for name, count in (vectors or {}).items()
        ],
        schema=index_manifest.SCHEMA,
    )
    return CompactionState(schema, with_vectors(files, index), index, lambda id: schema)


def plan(state: CompactionState, full: bool = False) -> list[CompactionTask]:
    return compaction.plan(state, full=full, now_ms=0)


def names(task: CompactionTask) -> list[str]:
    return task.files["file_name"].to_pylist()


# Universal compaction


def model_pick(levels: list[int], sizes: list[int], rules: PickRules) -> Unit | None:
    """The rules as they are told in words, step by step."""
    n, top, trigger = len(levels), rules.level_count - 1, rules.trigger

    def grown(count: int, forced: bool) -> Unit | None:
        started = forced or count > 1
        while count < n:
            much_larger = sum(sizes[:count]) * (100 + rules.size_ratio_percent) / 100 < sizes[count]
            if much_larger and not (started and levels[count] <= 1):
                break
            count, started = count + 1, True
        if not started:
            return None
        out = top if count == n else max(0, levels[count] - 1)
        if out == 0:
            while count < n:
                out = levels[count]
                count += 1
                if out > 0:
                    break
        return Unit(count, top if count == n else out)

    if n > 1:
        if rules.total_size_bytes is not None and sum(sizes) < rules.total_size_bytes:
            return Unit(n, top)
        new = sum(size for level, size in zip(levels, sizes, strict=True) if level < top)
        if rules.incremental_size_bytes is not None and new > rules.incremental_size_bytes:
            return Unit(n, top)
    if n >= trigger and 100 * sum(sizes[:-1]) > rules.amplification_percent * sizes[-1]:
        return Unit(n, top)
    unit = grown(1, False) if n >= trigger else None
    if unit is None and n > trigger:
        unit = grown(n - trigger + 1, False)
    if unit is None and rules.always_takes_level_0 and levels.count(0):
        unit = grown(levels.count(0), True)
    return unit


@st.composite
def buckets(draw: st.DrawFn) -> tuple[list[int], list[int], PickRules]:
    trigger = draw(st.integers(1, 6))
    level_count = draw(st.integers(2, 8))
    deep = draw(st.lists(st.integers(1, level_count - 1), unique=True, max_size=4).map(sorted))
    levels = [0] * draw(st.integers(0, 8)) + deep
    sizes = draw(st.lists(st.integers(1, 1000), min_size=len(levels), max_size=len(levels)))
    rules = PickRules(
        trigger=trigger,
        level_count=level_count,
        amplification_percent=draw(st.sampled_from([10, 200, 10_000])),
        size_ratio_percent=draw(st.sampled_from([0, 1, 50])),
        total_size_bytes=draw(st.none() | st.integers(1, 3000)),
        incremental_size_bytes=draw(st.none() | st.integers(1, 3000)),
        always_takes_level_0=draw(st.booleans()),
    )
    return levels, sizes, rules


@settings(max_examples=500, deadline=None)
@given(buckets())
def test_the_pick_is_that_of_the_model(bucket: tuple[list[int], list[int], PickRules]) -> None:
    levels, sizes, rules = bucket
    runs = [SortedRun(level, size) for level, size in zip(levels, sizes, strict=True)]
    unit = pick(runs, rules) if runs else None
    assert unit == (model_pick(levels, sizes, rules) if runs else None)
    if unit is not None:
        assert unit.output_level > 0, "nothing is written to level 0"
        left = levels[unit.run_count :]
        assert all(level > unit.output_level for level in left), "what stays is deeper than the output"
        assert len(runs) >= rules.run_count_min


def test_an_interval_without_a_full_compaction_calls_for_one() -> None:
    rules = PickRules(interval_ms=1000, now_ms=10_000)
    assert pick([SortedRun(0, 1), SortedRun(5, 1_000, 9_500)], rules) is None
    assert pick([SortedRun(0, 1), SortedRun(5, 1_000, 8_500)], rules) == Unit(2, 5)
    assert pick([SortedRun(0, 1), SortedRun(0, 1)], rules) == Unit(2, 5)
    assert pick([SortedRun(0, 1)], rules) is None


def test_so_many_files_of_level_0_call_for_a_full_compaction() -> None:
    rules = PickRules.of({"full-compaction.delta-commits": "2"}, 0)
    assert pick([SortedRun(0, 1), SortedRun(5, 1000)], rules) is None
    assert pick([SortedRun(0, 1), SortedRun(0, 1), SortedRun(5, 1000)], rules) == Unit(3, 5)


@pytest.mark.parametrize(
    ("start", "end", "hour", "ratio"), [(2, 5, 3, 11), (2, 5, 5, 1), (22, 4, 23, 11), (22, 4, 4, 1)]
)
def test_quiet_hours_raise_the_size_ratio(start: int, end: int, hour: int, ratio: int) -> None:
    options = {
        "compaction.offpeak.start.hour": str(start),
        "compaction.offpeak.end.hour": str(end),
        "compaction.offpeak-ratio": "10",
    }
    assert PickRules.of(options, hour * 3_600_000 + 59).size_ratio_percent == ratio


def test_a_full_pick_takes_all_unless_all_is_on_the_top() -> None:
    assert pick_full([], 5) is None
    assert pick_full([SortedRun(5, 1)], 5) is None
    assert pick_full([SortedRun(4, 1)], 5) == Unit(1, 5)
    assert pick_full([SortedRun(0, 1), SortedRun(5, 1)], 5) == Unit(2, 5)


# Tasks of primary-key tables


def test_the_newest_runs_are_taken_and_deletes_stay_above_older_files() -> None:
    files = entries(
        {"seq": 3, "size": 10},
        {"level": 5, "seq": 0, "size": 10_000},
        {"level": 4, "seq": 1, "size": 1000},
        *({"seq": 4 + number, "size": 10} for number in range(4)),
    )
    (task,) = plan(state_of(schema(), files))
    assert sorted(names(task)) == [
        "data-0.parquet",
        "data-3.parquet",
        "data-4.parquet",
        "data-5.parquet",
        "data-6.parquet",
    ]
    assert (task.output_level, task.top_level, task.drops_deletes) == (3, 5, False)


def test_a_full_compaction_goes_to_the_top_and_drops_deletes() -> None:
    (task,) = plan(state_of(schema(), entries({"seq": 1}, {"level": 3, "seq": 0})), full=True)
    assert (task.output_level, task.drops_deletes, task.file_count) == (5, True, 2)
    assert plan(state_of(schema(), entries({"level": 5})), full=True) == []


def test_levels_deeper_than_the_option_are_kept() -> None:
    (task,) = plan(state_of(schema(), entries({"seq": 1}, {"level": 8, "seq": 0})), full=True)
    assert (task.output_level, task.top_level) == (8, 8)


def test_a_bucket_is_only_looked_at_when_it_has_enough_runs() -> None:
    files = entries(*({"bucket": 0} for _ in range(4)), *({"bucket": 1} for _ in range(5)), {"bucket": 2, "level": 5})
    busy = compaction.busy_buckets(files, PickRules())
    assert busy == {(bytes(12), 1)}
    within = compaction.select(files, Within(buckets=busy), schema())
    assert within["bucket"].unique().to_pylist() == [1]


def test_tasks_come_largest_first_and_can_be_sent_to_a_worker() -> None:
    files = entries(*({"bucket": bucket, "size": 10 * bucket + 1} for bucket in range(3) for _ in range(5)))
    tasks = plan(state_of(schema(), files))
    assert [task.bucket for task in tasks] == [2, 1, 0]
    assert [task.size_bytes for task in pickle.loads(pickle.dumps(tasks))] == [105, 55, 5]


def test_first_row_compacts_level_0_and_knows_the_keys_below() -> None:
    files = entries({"seq": 1, "size": 1}, {"level": 5, "seq": 0, "size": 10_000})
    (task,) = plan(state_of(schema(merge_engine="first-row"), files))
    assert (names(task), task.output_level) == (["data-0.parquet"], 4)
    assert task.deeper["file_name"].to_pylist() == ["data-1.parquet"]


# Steps


SMALL = 100  # 70 % of a target of 143 bytes


def steps(
    *files: dict[str, object], output: int = 5, top: int = 5, **options: str
) -> tuple[list[str], list[list[str]]]:
    table_schema = schema(target_file_size="143 b", **options)
    state = state_of(table_schema, entries(*files), {file["name"]: 1 for file in files if file.get("vector")})
    task = CompactionTask(bytes(12), 0, 1, state.files, state.index, output, top, drops_deletes=True)
    found = steps_of(task, StepRules(table_schema, lambda id: table_schema, 0))
    return found.upgraded["file_name"].to_pylist(), [one["file_name"].to_pylist() for one in found.rewrites]


def file(name: str, low: int, high: int, **more: object) -> dict[str, object]:
    return {"name": name, "low": low, "high": high, "size": SMALL, **more}


def test_a_large_file_that_overlaps_nothing_only_changes_its_level() -> None:
    assert steps(file("a", 0, 9)) == (["a"], [])


def test_files_that_overlap_are_merged() -> None:
    assert steps(file("a", 0, 5), file("b", 5, 9), file("c", 10, 19)) == (["c"], [["a", "b"]])


def test_small_files_are_written_with_their_neighbours_but_not_across_a_large_one() -> None:
    small = {"size": SMALL - 1}
    found = steps(file("a", 0, 1, **small), file("b", 2, 3, **small), file("c", 4, 5), file("d", 6, 7, **small))
    assert found == (["c", "d"], [["a", "b"]])


def test_a_file_with_deletes_is_not_moved_to_the_top() -> None:
    assert steps(file("a", 0, 9, deletes=1)) == ([], [["a"]])
    assert steps(file("a", 0, 9, deletes=None)) == ([], [["a"]])
    assert steps(file("a", 0, 9, deletes=1), output=4) == (["a"], [])


def test_a_file_on_the_output_level_stays_unless_it_must_change() -> None:
    assert steps(file("a", 0, 9, level=5)) == ([], [])
    assert steps(file("a", 0, 9, level=5), compaction__force_rewrite_all_files="true") == ([], [["a"]])
    assert steps(file("a", 0, 9, level=5, vector=True)) == ([], [["a"]])


# Append tables


RULES = AppendRules(100, 70, 1, 5, 1000, 0.2)


def picked(groups: list[np.ndarray]) -> list[list[int]]:
    return [group.tolist() for group in groups]


def append_files(*files: dict[str, object], vectors: dict[str, int] | None = None) -> pa.Table:
    return state_of(schema(()), entries(*files), vectors).files


def test_too_few_small_files_wait_for_more() -> None:
    files = append_files(*({"size": 10} for _ in range(4)))
    assert pick_unaware(files, RULES, full=False) == []
    assert picked(pick_unaware(files, RULES, full=True)) == [[0, 1, 2, 3]]
    assert picked(pick_unaware(append_files(*({"size": 10} for _ in range(5))), RULES, full=False)) == [[0, 1, 2, 3, 4]]


def test_bins_of_small_files_reach_twice_the_target_size() -> None:
    files = append_files(*({"size": 69} for _ in range(7)), {"size": 70})
    assert picked(pick_unaware(files, RULES, full=False)) == [[0, 1, 2], [3, 4, 5]]


def test_files_with_many_deleted_rows_are_rewritten() -> None:
    files = append_files({"size": 90, "name": "a"}, {"size": 90, "name": "b"}, vectors={"a": 2, "b": 3})
    assert picked(pick_unaware(files, RULES, full=False)) == [[1]]
    assert picked(pick_unaware(files, RULES, full=True)) == [[0, 1]]


def test_a_bucket_keeps_the_order_of_its_rows() -> None:
    files = append_files(*({"size": 10, "seq": seq} for seq in (4, 2, 0, 1, 3)))
    assert picked(pick_bucket(files, RULES, full=False)) == [[2, 3, 1, 4, 0]]


def test_large_files_at_the_start_of_a_bucket_are_left_alone() -> None:
    files = append_files({"size": 90}, *({"size": 10} for _ in range(3)))
    assert picked(pick_bucket(files, RULES, full=True)) == [[1, 2, 3]]
    assert pick_bucket(append_files({"size": 90}, {"size": 10}), RULES, full=True) == []


def test_a_window_of_large_files_slides_on() -> None:
    files = append_files(*({"size": 150} for _ in range(6)))
    assert pick_bucket(files, RULES, full=False) == []


def test_one_compaction_at_a_time_replaces_the_vectors_of_a_bucket() -> None:
    files = append_files(*({"size": 1, "name": str(seq), "seq": seq} for seq in range(10)), vectors={"0": 1, "9": 1})
    assert picked(pick_bucket(files, RULES, full=False)) == [[0, 1, 2, 3, 4]]


# Expiry of rows


def test_expiry_needs_a_column_that_tells_a_time() -> None:
    assert expired_rows(schema(), 0) is None
    with pytest.raises(InvalidInputError, match="needs 'record-level"):
        expired_rows(schema(record_level__expire_time="1 d"), 0)
    text = schema_of(
        pa.schema([("k", pa.string())]), options={"record-level.expire-time": "1 d", "record-level.time-field": "k"}
    )
    with pytest.raises(InvalidInputError, match="INT, BIGINT or TIMESTAMP"):
        expired_rows(text, 0)
