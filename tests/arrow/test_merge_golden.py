"""Merging the data files that Java wrote gives the rows that Java reads."""

import dataclasses

import pyarrow as pa
import pytest

from golden_data import golden_expected
from golden_runs import expected_rows, golden_runs, golden_schema, rendered
from polynya.arrow.merge import drop_deletes, merge, merge_spec
from polynya.arrow.sorted_runs import merge_buffer, merge_runs
from polynya.errors import UnsupportedError

WRITE_ONLY = [
    "pu_basic",
    "pu_sequence_group",
    "pu_default_agg",
    "pu_remove_on_delete",
    "pu_remove_on_seq_group",
    "pu_ignore_delete",
    "dedup_ignore_delete",
    "agg_all",
    "agg_retract",
    "agg_remove_on_delete",
    "agg_map_keytime",
    "seq_field",
    "seq_field_desc",
    "seq_multi",
    "ignore_update_before",
    "rowkind_field",
    "types_pk",
]
COMPACTED = ["first_row", "pk_multi_key_order"]  # every file ever written holds each record at least once


@pytest.mark.parametrize("name", WRITE_ONLY + COMPACTED)
def test_merging_all_files_gives_the_rows_java_reads(name):
    runs = golden_runs(name)
    spec = merge_spec(golden_schema(name))
    merged = drop_deletes(merge(pa.concat_tables(runs), spec))
    assert rendered(name, merged) == expected_rows(name)


@pytest.mark.parametrize("name", WRITE_ONLY)
def test_streaming_the_runs_gives_the_same_rows(name):
    runs = golden_runs(name)
    spec = merge_spec(golden_schema(name))
    streams = [iter(run.to_batches(max_chunksize=1)) for run in runs]
    merged = pa.Table.from_batches(merge_runs(streams, spec, budget_bytes=1), runs[0].schema)
    assert rendered(name, merged) == expected_rows(name)


def test_nested_functions_give_the_rows_java_reads_in_any_order():
    runs = golden_runs("agg_nested")
    merged = merge(pa.concat_tables(runs), merge_spec(golden_schema("agg_nested")))
    expected = golden_expected("agg_nested")["rows"][0]
    for (name, _), value in zip(golden_expected("agg_nested")["columns"][1:], expected[1:], strict=True):
        found = [list(row.values()) for row in merged.column(name)[0].as_py()]
        assert sorted(found, key=repr) == sorted(value, key=repr)


def test_a_bitmap_column_merges_to_the_bytes_of_java():
    runs = [run.select(["_SEQUENCE_NUMBER", "_VALUE_KIND", "k", "r32"]) for run in golden_runs("agg_sketch")]
    schema = golden_schema("agg_sketch")
    options = {"merge-engine": "aggregation", "fields.r32.aggregate-function": "rbm32"}
    merged = merge(pa.concat_tables(runs), merge_spec(dataclasses.replace(schema, options=options)))
    expected = [row[1] for row in golden_expected("agg_sketch")["rows"]]
    assert [value.hex() for value in merged.column("r32").to_pylist()] == expected


def test_sketches_without_a_sound_library_are_refused():
    with pytest.raises(UnsupportedError, match="rbm64"):
        merge_spec(golden_schema("agg_sketch"))


@pytest.mark.parametrize("name", ["agg_all", "pu_sequence_group", "seq_multi", "pk_multi_key_order"])
def test_a_stored_run_flushed_again_stays_as_it_is(name):
    for run in golden_runs(name):
        spec = merge_spec(golden_schema(name))
        again, _ = merge_buffer(run.drop_columns(["_SEQUENCE_NUMBER"]), spec, 0)
        assert again.drop_columns(["_SEQUENCE_NUMBER"]).equals(run.drop_columns(["_SEQUENCE_NUMBER"]))
