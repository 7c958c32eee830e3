"""Planning: which parts of the metadata are looked at, and that nothing is missed by it."""

import uuid
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commit_cases import append_of, key_row, new_file, new_target, table_schema
from polynya.codec.binary_rows import encode_rows
from polynya.model.bind import bind
from polynya.model.predicate import TRUE, col
from polynya.model.schema import schema_of
from polynya.table import commit, history, scan
from polynya.table.manifest_cache import SHARED

FILES = 5000


def table_of(schema, partitions):
    """A table with a file for each of the partitions, columns of values, in one manifest."""
    target = new_target(schema=schema)
    rows = encode_rows(partitions).to_pylist()
    files = [new_file(f"data-{uuid.UUID(int=number)}-0.parquet", partition=row) for number, row in enumerate(rows)]
    commit.commit(target, append_of(*files), commit.new_author(target))
    return target


def plan(target, predicate=TRUE):
    snapshot = history.find_latest(target.root)
    source = scan.ScanSource(target.root, snapshot, target.schema, lambda id: pytest.fail(f"schema {id} was read"))
    return scan.plan(source, scan.ScanRequest(target.schema.names, bind(predicate, target.schema.fields)))


@pytest.fixture(scope="module")
def days():
    """Fifty files for each of a hundred partitions, in one manifest."""
    return table_of(table_schema(), [pa.array([n // 50 for n in range(FILES)], pa.int32())])


def test_of_a_manifest_only_the_blocks_with_the_partition_are_decoded_at_first(days):
    SHARED.clear()
    found = plan(days, col("p") == 42)
    assert found.file_count == 50
    assert found.pruned.entry_count < FILES / 5


def test_who_looks_again_decodes_the_manifest_and_keeps_it(days):
    SHARED.clear()
    counts = [plan(days, col("p") == day).pruned.entry_count for day in (42, 43, 44)]
    assert counts[0] < FILES
    assert counts[1:] == [FILES, FILES]


def test_a_part_of_a_manifest_is_never_taken_for_the_whole(days):
    SHARED.clear()
    plan(days, col("p") == 42)
    assert plan(days).file_count == FILES


WORDS = ["", "a", "seven77", "eight888", "a long word of many letters", "é𝒳"]


@pytest.fixture(scope="module")
def places():
    columns = pa.schema([("word", pa.string()), ("n", pa.int16()), ("v", pa.int64())])
    schema = schema_of(columns, partition_by=("word", "n"))
    words = [WORDS[n * len(WORDS) // 2000] for n in range(2000)]
    made = table_of(schema, [pa.array(words), pa.array([n % 7 if n % 11 else None for n in range(2000)], pa.int16())])
    return made, plan(made).files


LEAVES = st.one_of(
    st.sampled_from(WORDS).map(lambda word: col("word") == word),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(lambda words: col("word").is_in(words)),
    st.integers(-1, 8).map(lambda number: col("n") == number),
    st.integers(-1, 8).map(lambda number: col("n") > number),
    st.sampled_from([col("n").is_null(), col("n").is_in([1, 2]), col("word").starts_with("a")]),
)
PREDICATES = st.recursive(
    LEAVES,
    lambda inner: st.builds(
        lambda one, other, both: one & other if both else one | ~other, inner, inner, st.booleans()
    ),
)


@settings(max_examples=25, deadline=None)
@given(PREDICATES)
def test_no_file_of_a_partition_that_matches_is_missed(places, predicate):
    target, every = places
    SHARED.clear()
    matching = scan.partitions_match(every["partition"], bind(predicate, target.schema.fields), target.schema)
    assert plan(target, predicate).files["file_name"].to_pylist() == every.filter(matching)["file_name"].to_pylist()


def test_a_filter_on_the_key_reads_only_the_schemas_of_files():
    target = new_target(schema=table_schema(primary_key=("p", "k")))
    stats = {"key_stats_min": key_row(0), "key_stats_max": key_row(9), "key_stats_null_counts": [0], "keys": (0, 9)}
    files = [new_file(f"f{bucket}", bucket=bucket, total_buckets=2, schema_id=5, **stats) for bucket in (0, 1)]
    commit.commit(target, append_of(*files), commit.new_author(target))
    newest = replace(target, schema=replace(target.schema, id=5))
    assert plan(newest, col("k") == 7).file_count == 1
