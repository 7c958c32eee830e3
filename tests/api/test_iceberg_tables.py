"""Iceberg tables of other kinds than the golden ones: our own twins, the oldest snapshots."""

import json
import shutil

import pyarrow as pa
import pytest

import polynya
from golden_iceberg import iceberg_table, local
from iceberg_rows import open_golden
from polynya.codec.avro import AvroSource
from polynya.iceberg import manifest_list


@pytest.mark.parametrize("version", ["2", "3"])
@pytest.mark.parametrize("key", [(), ("id",)])
def test_the_twin_of_a_table_has_its_rows(tmp_path, version, key):
    warehouse = polynya.open_warehouse(tmp_path)
    warehouse.create_database("d")
    options = {"metadata.iceberg.storage": "table-location", "metadata.iceberg.format-version": version}
    options |= {"bucket": "1", "metadata.iceberg.live": "true"} if key else {"deletion-vectors.enabled": "true"}
    schema = pa.schema([("id", pa.int64()), ("name", pa.string())])
    table = warehouse.create_table("d.t", schema, primary_key=key, options=options)
    table.write(pa.table({"id": range(50), "name": [f"a{i}" for i in range(50)]}, schema))
    table.write(pa.table({"id": range(40, 60), "name": [f"b{i}" for i in range(20)]}, schema))
    table.delete("id < 5")
    twin = polynya.open_table(table.publish_iceberg().metadata_location)
    found, expected = (
        one.scan().to_arrow().sort_by([("id", "ascending"), ("name", "ascending")]) for one in (twin, table.refresh())
    )
    assert found.to_pylist() == expected.to_pylist()


def test_a_folder_with_both_opens_as_a_paimon_table(tmp_path):
    warehouse = polynya.open_warehouse(tmp_path)
    warehouse.create_database("d")
    options = {"metadata.iceberg.storage": "table-location"}
    table = warehouse.create_table("d.t", pa.schema([("id", pa.int64())]), options=options)
    table.write(pa.table({"id": [1]}))
    assert (tmp_path / "d.db" / "t" / "metadata" / "v1.metadata.json").exists()
    assert type(polynya.open_table(tmp_path / "d.db" / "t")) is polynya.Table


def test_a_snapshot_that_lists_its_manifests_itself_is_read(tmp_path):
    folder = tmp_path / "t"
    shutil.copytree(iceberg_table("v1_plain"), folder)
    path = max((folder / "metadata").glob("v*.metadata.json"), key=lambda one: int(one.name[1:].partition(".")[0]))
    table = json.loads(path.read_text())
    for snapshot in table["snapshots"]:
        place = snapshot.pop("manifest-list")
        metas = manifest_list.decode([AvroSource(place, local(place).read_bytes())])
        snapshot["manifests"] = metas["manifest_path"].to_pylist()
    path.write_text(json.dumps(table))
    expected = open_golden("v1_plain").scan().to_arrow()
    found = polynya.open_table(folder).scan().to_arrow()
    assert sorted(map(str, found.to_pylist())) == sorted(map(str, expected.to_pylist()))


def test_a_partition_column_that_is_promoted_meanwhile_is_read_with_its_new_type(tmp_path):
    warehouse = polynya.open_warehouse(tmp_path)
    warehouse.create_database("d")
    columns = pa.schema([("id", pa.int64()), ("p", pa.int32())])
    options = {"metadata.iceberg.storage": "table-location"}
    table = warehouse.create_table("d.t", columns, partition_by=["p"], options=options)
    table.write(pa.table({"id": [1, 2], "p": [1, 2]}, columns))
    path = tmp_path / "d.db" / "t" / "metadata" / "v1.metadata.json"
    assert polynya.open_table(path).scan(where="p = 1").count() == 1
    metadata = json.loads(path.read_text())
    for schema in metadata["schemas"]:
        schema["fields"][1]["type"] = "long"
    path.write_text(json.dumps(metadata))
    found = polynya.open_table(path).scan(where="p = 1").to_arrow()
    assert found.schema.field("p").type == pa.int64()
    assert found.to_pylist() == [{"id": 1, "p": 1}]
