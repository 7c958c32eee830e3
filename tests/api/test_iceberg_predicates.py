"""A filtered scan of an Iceberg table gives what the filter leaves of a full scan, at every snapshot.

Literals are values of the table itself and their neighbours, so that they fall on the borders of files and partitions.
"""

import random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polynya
from golden_iceberg import iceberg_expected, iceberg_names, iceberg_table
from iceberg_rows import expected_rows, open_golden, rows_of
from polynya.model import evaluate
from polynya.model.bind import bind
from polynya.model.predicate import Compare, Op
from row_predicates import paths_of, predicate
from rows import render_rows, sorted_rows

NAMES = [name for name in iceberg_names() if iceberg_expected(name)["rowCount"]]
#: Iceberg tells -0.0 from 0.0, and its bounds leave NaN out of what is greater than a number; SQL does neither.
OF_ITS_OWN = {("nan_null", "p = 0.0"), ("nan_null", "v = 0.0"), ("nan_null", "v < 0.0")}
OF_ITS_OWN |= {("part_identity", "d < 0"), ("v1_plain", "x > 4")}


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_a_filter_gives_what_it_leaves_of_a_full_scan(name, seed):
    draw, table = random.Random(seed), open_golden(name)
    snapshots = iceberg_expected(name)["snapshots"]
    if draw.random() < 0.4:
        table = table.at(snapshot_id=draw.choice(snapshots)["id"])
    everything = table.scan().to_arrow()
    wanted = predicate(draw, everything, list(paths_of(table.schema.fields)))
    left = everything.filter(evaluate.mask(bind(wanted, table.schema.fields), everything))
    found = table.scan(where=wanted).to_arrow()
    assert render_rows(found, table.schema.fields) == render_rows(left, table.schema.fields), str(wanted)


def queries(name):
    return [one for one in iceberg_expected(name).get("queries", []) if not one["where"].startswith("@")]


@pytest.mark.parametrize("name", [name for name in NAMES if queries(name)])
def test_queries_give_the_rows_and_keep_the_files_of_java(name):
    expected, table = iceberg_expected(name), open_golden(name)
    for query in queries(name):
        if (name, query["where"]) in OF_ITS_OWN:
            continue
        assert rows_of(table, where=query["where"]) == expected_rows(query["rows"], expected["columns"]), query["where"]
        kept = set(table.scan(where=query["where"]).plan().files["file_path"].to_pylist())
        java = {one["file"] for one in query["files"]}
        emptied = {"dv_v3"}  # files whose vector deletes every row are not read here
        assert kept >= java or name in emptied, query["where"]
        assert len(kept) <= len(java) + 1, query["where"]


def test_a_filter_on_a_renamed_and_promoted_column_finds_rows_of_old_files():
    table = open_golden("schema_evolution")
    everything = table.scan().to_arrow()
    for field in table.schema.fields:
        for value in everything[field.name].drop_null().unique():
            found = table.scan(where=Compare(Op.EQ, (field.name,), value)).to_arrow()
            assert found.num_rows == sum(one == value for one in everything[field.name])


def test_rows_without_a_filter_are_counted_without_opening_a_file():
    table = polynya.open_table(iceberg_table("v2_plain"))
    assert table.scan().plan().exact_row_count == 4
    assert table.scan().count() == 4
    assert polynya.open_table(iceberg_table("eq_deletes")).scan().plan().exact_row_count is None


def test_a_limit_drops_the_files_that_are_not_needed():
    table = polynya.open_table(iceberg_table("many_commits"))
    assert table.scan(limit=7).to_arrow().num_rows == 7
    assert isinstance(table.scan(limit=0).to_arrow(), pa.Table)
    assert sorted_rows(table.scan(limit=0).to_arrow().to_pylist()) == []
