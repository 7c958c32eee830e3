"""Streaming sorted runs gives what merging them at once gives."""

import itertools
import random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polynya.arrow.merge import drop_deletes, merge, merge_spec
from polynya.arrow.sorted_runs import key_at, merge_buffer, merge_runs
from polynya.errors import InvalidInputError
from polynya.model.merge_spec import MergeSpec
from polynya.model.schema import schema_of

VALUES = pa.schema([("a", pa.string()), ("b", pa.float64()), ("v", pa.int64()), ("w", pa.int64())])
SCHEMA = pa.schema(
    [pa.field("_SEQUENCE_NUMBER", pa.int64(), False), pa.field("_VALUE_KIND", pa.int8(), False), *VALUES]
)
OPTIONS = {
    "deduplicate": {},
    "first-row": {"merge-engine": "first-row"},
    "aggregation": {"merge-engine": "aggregation", "fields.v.aggregate-function": "sum"},
    "partial-update": {"merge-engine": "partial-update", "ignore-delete": "true"},
}


def spec_of(options: dict[str, str]) -> MergeSpec:
    return merge_spec(schema_of(VALUES, primary_key=["a", "b"], options=options))


def random_runs(seed: int, count: int, *, retracts: bool) -> list[pa.Table]:
    """Runs of one record per key, sorted by key, the later the newer."""
    draw = random.Random(seed)
    keys = [(text, number) for text in ("", "B", "a", "\uffff") for number in (-1.0, -0.0, 0.0, 2.5, float("nan"))]
    numbers = itertools.count()
    runs = []
    for _ in range(count):
        chosen = [key for key in keys if draw.random() < 0.6]
        rows = [
            (
                next(numbers),
                draw.choice((0, 2, 3)) if retracts else 0,
                *key,
                draw.choice((None, 1, 5)),
                draw.choice((None, 7)),
            )
            for key in chosen
        ]
        columns = zip(*rows, strict=True) if rows else [()] * 6
        arrays = [pa.array(list(column), field.type) for column, field in zip(columns, SCHEMA, strict=True)]
        runs.append(pa.Table.from_arrays(arrays, schema=SCHEMA))
    return runs


def streamed(runs: list[pa.Table], spec: MergeSpec, chunk: int, **arguments: object) -> pa.Table:
    streams = [iter(run.to_batches(max_chunksize=chunk)) for run in runs]
    return pa.Table.from_batches(merge_runs(streams, spec, **arguments), SCHEMA)


def text(rows: pa.Table) -> str:
    return repr(rows.to_pylist())  # NaN keys are equal as text only


@pytest.mark.parametrize("engine", OPTIONS)
@given(st.integers(0, 2**32), st.integers(0, 5), st.integers(1, 25), st.integers(1, 4000), st.booleans())
@settings(max_examples=40, deadline=None)
def test_any_batches_and_budget_give_what_one_merge_gives(engine, seed, count, chunk, budget, keep_deletes):
    spec = spec_of(OPTIONS[engine])
    runs = random_runs(seed, count, retracts=engine != "first-row")
    expected = merge(pa.concat_tables(runs) if runs else SCHEMA.empty_table(), spec)
    found = streamed(runs, spec, chunk, budget_bytes=budget, keep_deletes=keep_deletes)
    assert text(found) == text(expected if keep_deletes else drop_deletes(expected))


@pytest.mark.parametrize("engine", ["deduplicate", "aggregation"])
@given(st.integers(0, 2**32), st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_merging_merged_halves_equals_merging_all(engine, seed, cut):
    spec = spec_of(OPTIONS[engine])
    runs = random_runs(seed, 6, retracts=engine == "deduplicate")
    halves = [merge(pa.concat_tables(part), spec) for part in (runs[:cut], runs[cut:])]
    assert text(merge(pa.concat_tables(halves), spec)) == text(merge(pa.concat_tables(runs), spec))


def test_a_record_hides_those_of_the_same_key_on_deeper_levels():
    spec = spec_of(OPTIONS["aggregation"])
    runs = [_run(sequence, value) for sequence, value in ((3, 7), (2, 150), (1, 70))]
    found = streamed(runs, spec, 10, budget_bytes=1000, levels=[0, 4, 5])
    assert found.column("v").to_pylist() == [157]
    assert found.schema == SCHEMA


def test_without_levels_every_record_counts():
    runs = [_run(sequence, value) for sequence, value in ((3, 7), (2, 150), (1, 70))]
    assert streamed(runs, spec_of(OPTIONS["aggregation"]), 10, budget_bytes=1000).column("v").to_pylist() == [227]


def _run(sequence: int, value: int) -> pa.Table:
    return pa.Table.from_pylist(
        [{"_SEQUENCE_NUMBER": sequence, "_VALUE_KIND": 0, "a": "x", "b": 1.0, "v": value, "w": None}], SCHEMA
    )


def test_heads_stay_within_the_budget():
    rows, budget = 200_000, 1 << 20
    loaded = [0, 0]

    def stream(number: int):
        for start in range(0, rows, 1000):
            loaded[number] += 1
            keys = np.arange(start, start + 1000)
            yield pa.record_batch(
                {
                    "_SEQUENCE_NUMBER": keys + number * rows,
                    "_VALUE_KIND": np.zeros(1000, np.int8),
                    "k": keys,
                }
            )

    given_out = 0
    for batch in merge_runs([stream(0), stream(1)], MergeSpec(("k",)), budget_bytes=budget):
        waiting = sum(loaded) * 1000 - 2 * given_out
        assert waiting * 17 <= budget
        given_out += batch.num_rows
    assert given_out == rows


def test_keys_compare_as_paimon_compares_them():
    values = [None, float("-inf"), -0.0, 0.0, float("inf"), float("nan")]
    batch = pa.record_batch({"k": pa.array(values, pa.float64()), "t": pa.array(["\U00010000"] * 6)})
    keys = [key_at(batch, position, ("k", "t")) for position in range(6)]
    assert keys == sorted(keys)
    texts = pa.record_batch({"t": ["", "a", "\uffff", "\U00010000"]})
    keys = [key_at(texts, position, ("t",)) for position in range(4)]
    assert keys == sorted(keys)


def values(*rows: tuple) -> pa.Table:
    columns = zip(*rows, strict=True)
    names = ("a", "b", "v", "w", "_VALUE_KIND")
    types = (*VALUES.types, pa.int8())
    return pa.table({n: pa.array(list(c), t) for n, c, t in zip(names, columns, types, strict=True)})


def test_a_flush_numbers_rows_by_arrival_and_merges_equal_keys():
    rows = values(("b", 1.0, 1, 1, 0), ("a", 1.0, 2, 2, 0), ("b", 1.0, 3, 3, 3))
    flushed, delete_count = merge_buffer(rows, spec_of({}), 10)
    assert flushed.column("_SEQUENCE_NUMBER").to_pylist() == [11, 12]
    assert flushed.column("a").to_pylist() == ["a", "b"]
    assert delete_count == 1
    assert flushed.schema.equals(SCHEMA)


@pytest.mark.parametrize(
    ("options", "kinds", "sequences"),
    [
        ({"ignore-delete": "true"}, [0, 2], [0, 1]),
        ({"deduplicate.ignore-delete": "true"}, [0, 2], [0, 1]),
        ({"ignore-update-before": "true"}, [0, 2, 3], [0, 1, 2]),
        ({}, [0, 1, 2, 3], [0, 1, 2, 3]),
    ],
)
def test_ignored_rows_take_no_sequence_number(options, kinds, sequences):
    rows = values(*((f"{kind}", 1.0, 1, 1, kind) for kind in (0, 1, 2, 3)))
    flushed, _ = merge_buffer(rows, spec_of(options), 0)
    assert flushed.column("_VALUE_KIND").to_pylist() == kinds
    assert flushed.column("_SEQUENCE_NUMBER").to_pylist() == sequences


def test_a_single_record_is_flushed_untouched():
    flushed, _ = merge_buffer(values(("a", 1.0, 5, None, 3)), spec_of(OPTIONS["aggregation"]), 0)
    assert flushed.to_pylist() == [
        {"_SEQUENCE_NUMBER": 0, "_VALUE_KIND": 3, "a": "a", "b": 1.0, "v": 5, "w": None},
    ]


def test_the_row_kind_comes_from_its_column_where_one_is_named():
    columns = pa.schema([("k", pa.int32()), ("kind", pa.string())])
    spec = merge_spec(schema_of(columns, primary_key=["k"], options={"rowkind.field": "kind"}))
    rows = pa.table({"k": pa.array([1, 2], pa.int32()), "kind": ["-D", "+U"]})
    assert merge_buffer(rows, spec, 0)[0].column("_VALUE_KIND").to_pylist() == [3, 2]
    with pytest.raises(InvalidInputError, match=r"rowkind\.field 'kind'"):
        merge_buffer(pa.table({"k": pa.array([1], pa.int32()), "kind": ["D"]}), spec, 0)


@given(st.lists(st.integers(0, 30), unique=True, min_size=1), st.integers(1, 7))
def test_a_flush_of_keys_that_all_differ_keeps_every_row_and_its_number(keys, chunk):
    values = {"a": [f"{key:02}" for key in keys], "b": [0.0] * len(keys), "v": keys, "w": keys}
    arrived = pa.table(values, schema=VALUES)
    merged, _ = merge_buffer(pa.Table.from_batches(arrived.to_batches(max_chunksize=chunk)), spec_of({}), 5)
    assert merged["v"].to_pylist() == sorted(keys)
    assert merged["_SEQUENCE_NUMBER"].to_pylist() == [5 + keys.index(key) for key in sorted(keys)]
