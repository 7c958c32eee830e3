"""Iceberg tables whose files are not where their metadata is: tables that were moved, metadata or data apart."""

import json
import pickle
import shutil
import uuid
from dataclasses import replace

import pyarrow as pa
import pytest

import polynya
from golden_iceberg import iceberg_table
from iceberg_rows import open_golden
from polynya.codec.avro import AvroSource
from polynya.iceberg import manifest, manifest_list, metadata, partition_spec
from polynya.storage.urls import open_storage
from polynya.table import iceberg_entries


@pytest.mark.parametrize("place", ["file:///elsewhere/t", "/elsewhere/t", "s3a://bucket/t"])
def test_paths_count_from_the_folder_of_the_newest_list_however_it_is_spelled(place):
    found = open_golden("v2_plain").iceberg
    listed = replace(found.metadata.current_snapshot, manifest_list=f"{place}/metadata/snap-1.avro")
    snapshots = (*found.metadata.snapshots[:-1], listed)
    moved = replace(
        found, metadata=replace(found.metadata, snapshots=snapshots, current_snapshot_id=listed.snapshot_id)
    )
    spelled = [f"{place}/data/a.parquet", place.replace("file://", "file:").replace("s3a:", "s3:") + "/data/a.parquet"]
    assert moved.names_of(pa.array(spelled)).to_pylist() == ["data/a.parquet"] * 2


@pytest.mark.parametrize("version", ["2", "3"])
def test_a_twin_of_a_hadoop_catalog_is_read(tmp_path, version):
    warehouse = polynya.open_warehouse(tmp_path / "wh")
    warehouse.create_database("d")
    options = {"metadata.iceberg.storage": "hadoop-catalog", "metadata.iceberg.format-version": version}
    options |= {"deletion-vectors.enabled": "true"}
    columns = pa.schema([("id", pa.int64()), ("p", pa.string())])
    table = warehouse.create_table("d.t", columns, partition_by=["p"], options=options)
    table.write(pa.table({"id": [1, 2, 3], "p": ["a", "b", "a"]}, columns))
    table.delete("id = 1")
    twin = polynya.open_table(tmp_path / "wh" / "iceberg" / "d" / "t")
    assert twin.scan().to_arrow().sort_by("id").to_pylist() == [{"id": 2, "p": "b"}, {"id": 3, "p": "a"}]
    assert twin.at(snapshot_id=1).scan(where="p = 'a'").count() == 2
    assert set(twin.system("files")["content"].to_pylist()) == {0, 1}
    assert pickle.loads(pickle.dumps(twin)).scan().count() == 2
    with pytest.raises(polynya.UnsupportedError, match="follows a Paimon table"):
        twin.compact_manifests()


def test_a_table_that_was_moved_with_a_file_elsewhere_is_read(tmp_path):
    """The file stands where it was, the rest of the table does not."""
    made = with_a_file_elsewhere(tmp_path)
    expected = rows_of(polynya.open_table(made))
    shutil.move(made, tmp_path / "moved")
    assert rows_of(polynya.open_table(tmp_path / "moved")) == expected == rows_of(open_golden("v2_plain"))
    (next((tmp_path / "elsewhere").iterdir())).unlink()
    with pytest.raises(polynya.NotFoundError, match="elsewhere"):
        polynya.open_table(tmp_path / "moved").scan().to_arrow()


def test_a_table_in_memory_does_not_read_the_local_disk(tmp_path):
    made = with_a_file_elsewhere(tmp_path)
    memory = open_storage(f"memory://{uuid.uuid4()}/t")
    for path in made.rglob("*.*"):
        if path.is_file():
            memory.put(str(path.relative_to(made)), path.read_bytes())
    with pytest.raises(polynya.UnsupportedError, match=r"elsewhere.*same store only"):
        polynya.open_table(memory.location).scan().plan()


def with_a_file_elsewhere(folder):
    """A table, with one data file outside of its folder."""
    made = folder / "t"
    shutil.copytree(iceberg_table("v2_plain"), made)
    root = polynya.open_table(made).iceberg
    metas = iceberg_entries.read_metas(root, root.metadata.current_snapshot)
    path = metas["manifest_path"][0].as_py()
    name = root.name_of(path)
    spec = root.metadata.spec
    partition = iceberg_entries.partition_columns(root, spec)
    entries = manifest.decode([AvroSource(name, (made / name).read_bytes())], partition).table
    first = entries["file_path"][0].as_py()
    elsewhere = folder / "elsewhere" / "one.parquet"
    elsewhere.parent.mkdir()
    shutil.move(made / root.name_of(first), elsewhere)
    paths = pa.array([f"file:{elsewhere}", *entries["file_path"].to_pylist()[1:]])
    entries = entries.set_column(entries.schema.get_field_index("file_path"), "file_path", paths)
    schema = json.dumps(metadata.schema_json(root.metadata.schema))
    texts = schema, json.dumps(partition_spec.fields_to_json(spec.fields))
    header = manifest.Header(texts[0], root.metadata.current_schema_id, texts[1], spec.spec_id, 0)
    data = manifest.encode(entries, partition, header, root.metadata.format_version)
    (made / name).write_bytes(data)
    at = metas.schema.get_field_index("manifest_length")
    lengths = pa.array([len(data), *metas["manifest_length"].to_pylist()[1:]], pa.int64())
    listing = root.name_of(root.metadata.current_snapshot.manifest_list)
    metas = metas.set_column(at, "manifest_length", lengths)
    (made / listing).write_bytes(manifest_list.encode(metas, root.metadata.format_version, {}))
    return made


def rows_of(table):
    return sorted(map(str, table.scan().to_arrow().to_pylist()))
