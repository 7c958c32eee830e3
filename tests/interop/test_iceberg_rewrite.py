"""Manifests of Spark's Iceberg tables that polynya rewrote, as Spark and PyIceberg read them and go on."""

from pathlib import Path

import pytest
from pyiceberg.table import StaticTable

from iceberg_twin import rows_of
from polynya.storage import urls
from polynya.table import iceberg_entries, iceberg_table
from polynya.table.iceberg_rewrite import rewrite_manifests

PARTITIONS = {
    "none": "",
    "values": "PARTITIONED BY (p, bucket(4, p), days(ts))",
    "cut": "PARTITIONED BY (truncate(3, s), truncate(10, d), hours(ts))",
}


def insert(first, count, partition):
    """An INSERT."""
    values = (
        f"({n}, {partition}, 'text {m % 2}', TIMESTAMP '2024-01-{m % 27 + 1:02} 03:04:05.6', {m}.25, ARRAY({n}, NULL))"
        for n, m in ((n, n // 3) for n in range(first, first + count))
    )
    return f"INSERT INTO ice.db.t VALUES {', '.join(values)}"


def create(spark, warehouse, version, partitioned):
    columns = "id BIGINT, p STRING, s STRING, ts TIMESTAMP_NTZ, d DECIMAL(9, 2), l ARRAY<INT>"
    options = {"format-version": version, "write.delete.mode": "merge-on-read" if version > 1 else "copy-on-write"}
    options |= {"commit.manifest-merge.enabled": "false"}
    properties = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
    spark.sql(
        f"CREATE TABLE ice.db.t ({columns}) USING iceberg {PARTITIONS[partitioned]} TBLPROPERTIES ({properties})",
        *(insert(9 * n, 9, partition) for n, partition in enumerate(["'a'", "NULL", "'b'"])),
        "DELETE FROM ice.db.t WHERE id = 3",
        "DELETE FROM ice.db.t WHERE id = 12",
        warehouse=warehouse,
    )


def root_of(warehouse):
    found = iceberg_table.find_table(urls.open_storage(str(warehouse / "db" / "t")))
    assert found is not None
    return found


def entries_of(root):
    metas = iceberg_entries.read_metas(root, root.metadata.current_snapshot)
    columns = ["file_path", "snapshot_id", "sequence_number", "file_sequence_number", "first_row_id", "record_count"]
    live = iceberg_entries.live(iceberg_entries.read_entries(root, metas, ["lower_bounds", "value_counts"]))
    return rows_of(live.select([*columns, "lower_bounds", "value_counts"])), metas.num_rows


@pytest.mark.parametrize(("version", "partitioned"), [(1, "none"), (2, "cut"), (3, "values")])
def test_the_rows_stay_and_spark_goes_on(spark_iceberg, tmp_path, version, partitioned):
    create(spark_iceberg, tmp_path, version, partitioned)
    select = "SELECT * FROM ice.db.t"
    before = rows_of(spark_iceberg.rows(select, tmp_path))
    entries, manifests = entries_of(root_of(tmp_path))
    report = rewrite_manifests(root_of(tmp_path))
    root = root_of(tmp_path)
    assert (report.manifest_count, report.manifest_count_after) == (manifests, 1 if version == 1 else 2)
    assert entries_of(root) == (entries, report.manifest_count_after)
    assert rows_of(spark_iceberg.rows(select, tmp_path)) == before
    assert rows_of(StaticTable.from_metadata(str(tmp_path / "db" / "t")).scan().to_arrow()) == before
    again = rewrite_manifests(root)
    assert (again.snapshot_id, again.manifest_count_after) == (None, again.manifest_count)
    spark_iceberg.sql(
        insert(100, 2, "'z'"),
        "DELETE FROM ice.db.t WHERE id = 4",
        "CALL ice.system.rewrite_data_files('db.t')",
        "CALL ice.system.rewrite_manifests('db.t')",
        warehouse=tmp_path,
    )
    after = rows_of(spark_iceberg.rows(select, tmp_path))
    assert len(after) == len(before) + 2 - 1
    assert rewrite_manifests(root_of(tmp_path), dry_run=True).manifest_count_after <= 3
    history = spark_iceberg.rows("SELECT operation FROM ice.db.t.snapshots ORDER BY committed_at", tmp_path)
    assert "replace" in history["operation"].to_pylist()


def test_row_ids_of_version_3_stay(spark_iceberg, tmp_path):
    create(spark_iceberg, tmp_path, 3, "values")
    select = "SELECT id, _row_id, _last_updated_sequence_number FROM ice.db.t"
    before = rows_of(spark_iceberg.rows(select, tmp_path))
    rewrite_manifests(root_of(tmp_path))
    assert rows_of(spark_iceberg.rows(select, tmp_path)) == before
    spark_iceberg.sql(insert(100, 5, "'z'"), warehouse=tmp_path)
    ids = spark_iceberg.rows("SELECT _row_id FROM ice.db.t", tmp_path)["_row_id"].to_pylist()
    assert len(set(ids)) == len(ids)


def test_specs_of_a_table_stay_apart(spark_iceberg, tmp_path):
    create(spark_iceberg, tmp_path, 2, "values")
    spark_iceberg.sql(
        "ALTER TABLE ice.db.t DROP PARTITION FIELD bucket(4, p)",
        "ALTER TABLE ice.db.t ADD PARTITION FIELD truncate(2, s)",
        *(insert(50 + n, 1, "'c'") for n in range(3)),
        warehouse=tmp_path,
    )
    before = rows_of(spark_iceberg.rows("SELECT * FROM ice.db.t WHERE p = 'c' OR id < 5", tmp_path))
    assert rewrite_manifests(root_of(tmp_path)).manifest_count_after == 3
    assert rows_of(spark_iceberg.rows("SELECT * FROM ice.db.t WHERE p = 'c' OR id < 5", tmp_path)) == before


def test_compressed_metadata_is_followed_by_such(spark_iceberg, tmp_path):
    create(spark_iceberg, tmp_path, 2, "none")
    spark_iceberg.sql(
        "ALTER TABLE ice.db.t SET TBLPROPERTIES ('write.metadata.compression-codec' = 'gzip')", warehouse=tmp_path
    )
    before = rows_of(spark_iceberg.rows("SELECT * FROM ice.db.t", tmp_path))
    report = rewrite_manifests(root_of(tmp_path))
    assert report.metadata_name.endswith(".gz.metadata.json")
    assert Path(tmp_path, "db", "t", report.metadata_name).exists()
    assert rows_of(spark_iceberg.rows("SELECT * FROM ice.db.t", tmp_path)) == before
