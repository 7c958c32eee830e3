"""Writes that bring new columns evolve the table in the same commit, or leave it as it was."""

import pyarrow as pa
import pytest

from polynya.errors import InvalidInputError
from polynya.model import types as t
from polynya.spark import write
from polynya.table import history

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("id", pa.int32()), ("v", pa.string())])


@pytest.fixture
def table(lake):
    made = lake.create_table("db.t", SCHEMA)
    made.table.write(pa.table([[1], ["a"]], schema=SCHEMA))
    return made


def rows_of(table):
    return sorted(map(tuple, table.read().collect()), key=str)


def versions(table):
    return history.schema_ids(table.table.root)


def test_new_columns_and_members_come_with_their_rows(lake, table):
    rows = lake.spark.sql("select 2 as id, 'b' as v, 1.5D as x, named_struct('a', 1) as s")
    made = table.write(rows, merge_schema=True)
    assert (made.snapshot_id, versions(table)) == (2, [0, 1])
    assert table.table.refresh().snapshot.schema_id == 1
    assert rows_of(table) == [(1, "a", None, None), (2, "b", 1.5, (1,))]
    table.write(lake.spark.sql("select 3 as id, named_struct('b', 'x', 'a', 2) as s"), merge_schema=True)
    assert rows_of(table)[-1] == (3, None, None, (2, "x"))
    assert table.table.at(snapshot_id=1).scan().to_arrow().column_names == ["id", "v"]
    assert not table.table.refresh().check(deep=True).problems


def test_what_the_table_has_already_makes_no_version(lake, table):
    table.write(lake.spark.sql("select 2L as id, null as v"), merge_schema=True)
    assert (versions(table), rows_of(table)[-1]) == ([0], (2, None))


def test_without_it_new_columns_are_an_error(lake, table):
    with pytest.raises(InvalidInputError, match="the table has no column 'x'"):
        table.write(lake.spark.sql("select 2 as id, 1 as x"))
    with pytest.raises(InvalidInputError, match="the table has no column 'x'"):
        table.write(lake.spark.sql("select 2 as id, 1 as x"), merge_schema=False)


def test_an_option_of_the_table_says_it_for_all_writes_and_another_widens(lake):
    options = {"write.merge-schema": "true", "write.merge-schema.type-widening": "true"}
    table = lake.create_table("db.w", SCHEMA, options=options)
    table.write(lake.spark.sql("select 1 as id, 'a' as v"))
    table.write(lake.spark.sql("select 5000000000L as id, true as b"))
    assert rows_of(table) == [(1, "a", None), (5000000000, None, True)]
    assert table.table.refresh().schema.column("id").type == t.BigInt()


def test_values_that_do_not_fit_are_refused_and_the_schema_stays(lake, table):
    for query in ("select 5000000000L as id, 1 as x", "select 'text' as id, 1 as x"):
        with pytest.raises(InvalidInputError, match="column 'id'"):
            table.write(lake.spark.sql(query), merge_schema=True)
    with pytest.raises(InvalidInputError, match="there is 'v' already"):
        table.write(lake.spark.sql("select 1 as id, 'x' as V"), merge_schema=True)
    assert (versions(table), rows_of(table)) == ([0], [(1, "a")])


def test_a_job_that_fails_leaves_the_schema_as_it_was(lake, table):
    rows = lake.spark.range(4).selectExpr("cast(id as int) as id", "cast(raise_error('no') as int) as x")
    with pytest.raises(Exception, match="no"):
        table.write(rows, merge_schema=True)
    assert versions(table) == [0]


def test_two_who_add_columns_at_once_are_merged(lake, table, monkeypatch):
    original = write.commit_messages

    def late(*arguments, **options):
        monkeypatch.setattr(write, "commit_messages", original)
        table.write(lake.spark.sql("select 7 as id, 'theirs' as other"), merge_schema=True)
        return original(*arguments, **options)

    monkeypatch.setattr(write, "commit_messages", late)
    table.write(lake.spark.sql("select 8 as id, 'mine' as x"), merge_schema=True)
    assert table.table.refresh().schema.names == ("id", "v", "other", "x")
    assert rows_of(table)[1:] == [(7, None, "theirs", None), (8, None, None, "mine")]
    assert not table.table.refresh().check(deep=True).problems


def test_keys_keep_their_columns_and_rows_get_new_ones(lake):
    table = lake.create_table("db.k", SCHEMA, ["id"], options={"bucket": "2"})
    table.write(lake.spark.sql("select 1 as id, 'a' as v"))
    rows = lake.spark.sql("select 1 as id, 'b' as v, 2 as n, '+U' as kind union all select 2, 'c', 3, '+I'")
    table.write(rows, rowkind="kind", merge_schema=True)
    assert rows_of(table) == [(1, "b", 2), (2, "c", 3)]


def test_the_format_merges_where_an_option_says_so(lake, table):
    rows = lake.spark.sql("select 2 as id, 9 as x")
    for key in ("mergeSchema", "write.merge-schema"):
        rows.write.format("polynya").mode("append").option(key, "true").save(table.table.location)
    assert rows_of(table) == [(1, "a", None), (2, None, 9), (2, None, 9)]
    assert versions(table) == [0, 1]
