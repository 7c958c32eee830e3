"""Rows that Spark jobs changed, as Java reads them and goes on with them."""

from dataclasses import replace

import pyarrow as pa
import pytest

import polynya.spark
from interop.twins import rows_of
from polynya.model.schema import ROW_ID, SEQUENCE_NUMBER
from polynya.paimon import layout, schema_file
from polynya.spark import Lake
from rows import render_rows

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([pa.field("id", pa.int64(), False), ("p", pa.int32()), ("v", pa.string()), ("n", pa.float64())])
KINDS = {
    "vectors": ((), {"deletion-vectors.enabled": "true"}),
    "vectors in buckets": ((), {"deletion-vectors.enabled": "true", "bucket": "2", "bucket-key": "id"}),
    "copies": ((), {}),
    "vectors with ids": ((), {"deletion-vectors.enabled": "true", "row-tracking.enabled": "true"}),
    "copies with ids": ((), {"row-tracking.enabled": "true"}),
    "keys": (("id", "p"), {"bucket": "2"}),
}


@pytest.fixture(scope="module")
def spark():
    return polynya.spark.session("local[2]")


@pytest.mark.parametrize("kind", KINDS)
def test_java_reads_the_same_rows_after_every_change_and_goes_on(spark, java, tmp_path, kind):
    lake = Lake(spark, tmp_path)
    lake.create_database("db")
    key, options = KINDS[kind]
    table = lake.create_table("db.t", SCHEMA, key, ["p"], options)
    theirs = java.table(tmp_path / "db.db" / "t")

    def agree(count: int) -> None:
        rows = rows_of(table.table.refresh())
        assert theirs.rows() == rows
        assert len(rows) == count
        if "ids" in kind:
            fields = (*table.table.refresh().schema.fields, ROW_ID, SEQUENCE_NUMBER)
            tracked = render_rows(table.table.refresh().system("row_tracking"), fields)
            assert theirs.rows("row_tracking") == tracked
            assert len({row[-2] for row in tracked}) == count

    table.write(spark.range(0, 90, 1, 3).selectExpr("id", "cast(id % 2 as int) p", "concat('v', id) v", "id * 0.5D n"))
    table.delete("id < 20 and n > 2")
    agree(75)
    table.update({"v": "v || '!'", "n": None}, "id >= 80")
    agree(75)
    table.delete("v = 'v81!' or id = 33")
    agree(73)
    table.write(spark.sql("select 100L id, 0 p, 'new' v, named_struct('x', 1, 'y', 'a') extra"), merge_schema=True)
    agree(74)
    evolved = table.table.refresh().schema
    indexed = replace(evolved, id=2, options={**evolved.options, "file-index.bloom-filter.columns": "v"})
    table.table.root.storage.put_new(layout.schema_name(2), schema_file.encode(indexed))
    assert table.rewrite_file_index().commit_kind == "COMPACT"
    agree(74)
    theirs.write([["+I", 200, 1, "theirs", 1.5, None]], kind=None)
    agree(75)
    theirs.ask("compact", full=True)
    agree(75)
    table.delete("id in (100, 200)")
    agree(73)
    assert table.table.refresh().check(deep=True).is_sound
