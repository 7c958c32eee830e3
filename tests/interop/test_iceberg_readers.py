"""Iceberg readers find in the twin what the table itself gives, after every commit of polynya and of Java.

POLYNYA_HISTORIES is the number of histories of each kind of table, POLYNYA_SEED the first seed.
"""

import os

import pyarrow as pa
import pytest

import polynya
from iceberg_twin import rows_of
from interop.twin_histories import KINDS, TwinHistory

COUNT = int(os.environ.get("POLYNYA_HISTORIES", "1"))
FIRST = int(os.environ.get("POLYNYA_SEED", "1"))
STEPS = int(os.environ.get("POLYNYA_STEPS", "12"))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
@pytest.mark.parametrize("version", ["2", "3"])
@pytest.mark.parametrize("kind", KINDS)
def test_pyiceberg_and_spark_read_the_rows_of_every_snapshot(java, spark_iceberg, tmp_path, kind, version, seed):
    history = TwinHistory(java, tmp_path, KINDS[kind], 2 * seed + int(version), version=version)
    history.run(step_count=STEPS)
    history.read_by(spark_iceberg)


@pytest.mark.parametrize("version", ["2", "3"])
def test_spark_finds_the_table_in_a_hadoop_catalog_and_rows_by_odd_names(spark_iceberg, tmp_path, version):
    warehouse = polynya.open_warehouse(tmp_path)
    warehouse.create_database("db")
    columns = pa.schema([("1st", pa.int64()), ("naïve col", pa.string()), ("p-1", pa.string()), ("p 2", pa.date32())])
    options = {"metadata.iceberg.storage": "hadoop-catalog", "metadata.iceberg.format-version": version}
    options |= {"deletion-vectors.enabled": "true"}
    table = warehouse.create_table("db.t", columns, partition_by=["p-1", "p 2"], options=options)
    for number in range(3):
        keys = range(10 * number, 10 * number + 10)
        parts = [["a/b", "ü", None][key % 3] for key in keys], pa.array([key % 4 or None for key in keys], pa.int32())
        rows = [list(keys), [f"text {key}" for key in keys], parts[0], parts[1].cast(pa.date32())]
        table.write(pa.table(rows, schema=columns))
    table.delete("`1st` = 4")
    place = tmp_path / "iceberg"
    for where in (
        "true",
        "`p-1` = 'ü'",
        "`p-1` IS NULL",
        "`1st` > 17",
        "`naïve col` = 'text 7'",
        "`p 2` = DATE '1970-01-02'",
    ):
        found = spark_iceberg.rows(f"SELECT * FROM ice.db.t WHERE {where}", place)
        ours = table.refresh().scan(None if where == "true" else where).to_arrow()
        assert rows_of(found) == rows_of(ours), where
