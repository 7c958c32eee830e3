"""Tables of Spark with Iceberg and files outside of their location: `write.data.path`, files added from elsewhere."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import polynya
from iceberg_twin import rows_of


@pytest.mark.parametrize("version", ["2", "3"])
def test_files_elsewhere_are_read_as_spark_reads_them(spark_iceberg, tmp_path, version):
    for place, ids in (("p=x", [7, 8]), ("p=y", [9])):
        (tmp_path / "old" / place).mkdir(parents=True)
        pq.write_table(pa.table({"id": pa.array(ids, pa.int64())}), tmp_path / "old" / place / "a.parquet")
    properties = {
        "write.data.path": f"file:{tmp_path}/elsewhere",
        "format-version": version,
        "write.delete.mode": "merge-on-read",
    }
    told = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
    warehouse = tmp_path / "wh"
    spark_iceberg.sql(
        f"CREATE TABLE ice.db.t (id bigint, p string) USING iceberg PARTITIONED BY (p) TBLPROPERTIES ({told})",
        "INSERT INTO ice.db.t VALUES (1, 'x'), (2, 'y'), (3, 'x')",
        "DELETE FROM ice.db.t WHERE id = 3",
        f"CALL ice.system.add_files(table => 'db.t', source_table => '`parquet`.`{tmp_path}/old`')",
        warehouse=warehouse,
    )
    table = polynya.open_table(warehouse / "db" / "t")
    for where in ("true", "p = 'x'", "id > 7"):
        expected = spark_iceberg.rows(f"SELECT * FROM ice.db.t WHERE {where}", warehouse)
        found = table.scan(None if where == "true" else where).to_arrow()
        assert rows_of(found) == rows_of(expected), where
    assert all(name.startswith("/") for name in table.scan().plan().files["file_name"].to_pylist())
