"""The Iceberg twin as Polars and DuckDB read it."""

import datetime as dt
from decimal import Decimal

import duckdb
import polars as pl
import pyarrow as pa
import pytest

import polynya
from iceberg_twin import rows_of

COLUMNS = pa.schema(
    [
        pa.field("k", pa.int32(), False),
        ("s", pa.string()),
        ("x", pa.float64()),
        ("d", pa.decimal128(20, 2)),
        ("ts", pa.timestamp("us")),
        ("day", pa.date32()),
        ("l", pa.list_(pa.int32())),
        ("p", pa.string()),
    ]
)
KINDS = {
    "append": {},
    "vectors": {"deletion-vectors.enabled": "true"},
    "live": {"bucket": "2", "metadata.iceberg.live": "true", "write-only": "true"},
}


def some_rows(keys, text):
    values = [
        (k, f"{text}{k}", k / 3, Decimal(k) / 4, dt.datetime(2020, 1, 1, k % 24), dt.date(2020, 1, k % 28 + 1))
        for k in keys
    ]
    return pa.Table.from_pylist(
        [dict(zip(COLUMNS.names, (*one, [one[0], None], "ab"[one[0] % 2]), strict=True)) for one in values], COLUMNS
    )


@pytest.fixture(scope="module", params=[(kind, version) for kind in KINDS for version in ("2", "3")], ids="-".join)
def table(request, tmp_path_factory):
    """A table with a history, and its twin."""
    kind, version = request.param
    warehouse = polynya.open_warehouse(tmp_path_factory.mktemp(kind))
    warehouse.create_database("db")
    options = {"metadata.iceberg.storage": "table-location", "metadata.iceberg.format-version": version, **KINDS[kind]}
    keys = {"primary_key": ["p", "k"]} if kind == "live" else {}
    made = warehouse.create_table("db.t", COLUMNS, partition_by=["p"], options=options, **keys)
    made.write(some_rows(range(20), "a"))
    made.write(some_rows(range(15, 30), "b"))
    made.delete("k = 3 or k = 25")
    made.update({"s": "'new'"}, "k < 3")
    return made.refresh()


def metadata_of(table):
    return table.publish_iceberg().metadata_location


def test_polars_reads_the_rows(table):
    found = pl.scan_iceberg(metadata_of(table)).collect().to_arrow()
    assert rows_of(found.cast(table.scan().to_arrow().schema)) == rows_of(table.scan().to_arrow())


def test_polars_travels_in_time_and_filters(table):
    past = table.at(snapshot_id=2).scan("k > 10 and p = 'a'").to_arrow()
    frame = pl.scan_iceberg(metadata_of(table), snapshot_id=2)
    found = frame.filter((pl.col("k") > 10) & (pl.col("p") == "a")).collect().to_arrow()
    assert rows_of(found.cast(past.schema)) == rows_of(past)


def test_duckdb_reads_the_rows(table):
    connection = duckdb.connect()
    try:
        connection.execute("INSTALL iceberg; LOAD iceberg")
    except duckdb.Error as error:
        pytest.skip(f"DuckDB cannot fetch its Iceberg extension: {str(error).splitlines()[0]}")
    found = connection.execute(f"SELECT * FROM iceberg_scan('{metadata_of(table).removeprefix('file:')}')").arrow()
    expected = table.scan().to_arrow()
    rows = pa.table(found.read_all() if isinstance(found, pa.RecordBatchReader) else found)
    assert rows_of(rows.cast(expected.schema)) == rows_of(expected)
