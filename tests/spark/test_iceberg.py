"""Iceberg tables as DataFrames: the rows that Java Iceberg reads, natively where no row is deleted."""

import pyarrow as pa
import pytest

import polynya
from golden_iceberg import iceberg_expected, iceberg_root, iceberg_table
from polynya.errors import UnsupportedError
from polynya.spark import Lake
from polynya.spark.lake import LakeTable
from rows import render_rows, sorted_rows

pytestmark = pytest.mark.spark

NATIVE = ("v2_plain", "part_time", "spec_evolution", "v1_void")
PYTHON = ("eq_upserts", "dv_v3", "schema_evolution", "formats_mixed", "name_mapping", "defaults_v3", "nested_types")


def rows_of(frame, fields):
    found = frame.toArrow()
    return render_rows(pa.table([found[one.name] for one in fields], [one.name for one in fields]), fields)


@pytest.mark.parametrize("name", [*NATIVE, *PYTHON])
def test_rows_are_those_of_java(spark, name):
    table = polynya.open_table(iceberg_table(name))
    found = rows_of(LakeTable(spark, table).read(), table.schema.fields)
    assert found == sorted_rows(iceberg_expected(name)["rows"])


@pytest.mark.parametrize("name", NATIVE[:2])
def test_files_without_deletes_are_read_by_spark_itself(spark, name):
    told = LakeTable(spark, polynya.open_table(iceberg_table(name))).explain()
    assert "native" in told
    assert "python" not in told


def test_what_spark_would_misread_goes_to_python_and_says_why(spark):
    def told(name):
        return LakeTable(spark, polynya.open_table(iceberg_table(name))).explain()

    assert "files: deletes" in told("dv_v3")
    assert "had another name or type" in told("schema_evolution")
    assert "in the name mapping" in told("name_mapping")


def test_a_filter_and_columns_reach_the_files(spark):
    lake = LakeTable(spark, polynya.open_table(iceberg_table("cow_dml")))
    table = lake.table
    where, columns = "cat = 'a'", list(reversed(table.schema.names))
    expected = table.scan(where=where, columns=columns).to_arrow()
    found = lake.read(where=where, columns=columns).toArrow()
    assert sorted(map(str, found.to_pylist())) == sorted(map(str, expected.to_pylist()))


def test_the_format_reads_a_snapshot_and_a_lake_finds_the_table(spark):
    expected = iceberg_expected("v2_plain")
    first = expected["snapshots"][0]
    path = str(iceberg_table("v2_plain"))
    frame = spark.read.format("polynya").option("scan.snapshot-id", first["id"]).load(path)
    fields = polynya.open_table(path).schema.fields
    assert rows_of(frame, fields) == sorted_rows(first["rows"])
    found = Lake(spark, iceberg_root()).table("golden.v2_plain").read()
    assert rows_of(found, fields) == sorted_rows(expected["rows"])


def test_writing_is_refused(spark):
    lake = LakeTable(spark, polynya.open_table(iceberg_table("v2_plain")))
    with pytest.raises(UnsupportedError, match="is an Iceberg table: writing"):
        lake.write(lake.read())


def test_metadata_apart_from_the_files_is_read_by_spark_itself(spark, tmp_path):
    warehouse = polynya.open_warehouse(tmp_path / "wh")
    warehouse.create_database("d")
    columns = pa.schema([("id", pa.int64()), ("p", pa.string())])
    options = {"metadata.iceberg.storage": "hadoop-catalog", "deletion-vectors.enabled": "true"}
    table = warehouse.create_table("d.t", columns, options=options)
    table.write(pa.table({"id": [1, 2, 3], "p": ["a", "b", "a"]}, columns))
    lake = LakeTable(spark, polynya.open_table(tmp_path / "wh" / "iceberg" / "d" / "t"))
    assert "native" in (told := lake.explain())
    assert "python" not in told
    assert (
        lake.read().toArrow().sort_by("id").to_pylist() == table.refresh().scan().to_arrow().sort_by("id").to_pylist()
    )
    table.delete("id = 3")
    lake = LakeTable(spark, polynya.open_table(tmp_path / "wh" / "iceberg" / "d" / "t"))
    assert sorted(row.id for row in lake.read(where="p >= 'a'").collect()) == [1, 2]
