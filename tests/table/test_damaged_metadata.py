"""Metadata whose parts contradict one another is corrupt, whoever asks first."""

import shutil

import pyarrow as pa
import pytest

import polynya
from golden_data import golden_table
from polynya.codec.avro import AvroSource
from polynya.paimon import manifest
from polynya.table.file_stats import named_fields
from polynya.table.paths import require_declared


@pytest.fixture
def table(tmp_path):
    shutil.copytree(golden_table("pk_levels"), tmp_path / "pk_levels")
    return tmp_path / "pk_levels"


def test_a_snapshot_with_the_id_of_another_is_corrupt(table):
    file = table / "snapshot" / "snapshot-10"
    file.write_text(file.read_text().replace('"id" : 10', '"id" : 1'))
    with pytest.raises(polynya.CorruptFileError, match="snapshot-10', id: expected 10, as its name says, found 1"):
        polynya.open_table(table).at(time_ms=2**62)


def test_a_schema_with_the_id_of_another_is_corrupt(table):
    file = table / "schema" / "schema-0"
    file.write_text(file.read_text().replace('"id" : 0,\n  "fields"', '"id" : 7,\n  "fields"'))
    with pytest.raises(polynya.CorruptFileError, match="schema-0', id: expected 0, as its name says, found 7"):
        polynya.open_table(table)


def test_an_entry_that_lists_a_column_its_schema_lacks_is_corrupt(table):
    with pytest.raises(polynya.CorruptFileError, match="expected columns of schema 0, found 'nope'"):
        named_fields(polynya.open_table(table).schema, ["nope"])


@pytest.mark.parametrize("url", ["file:/root/..", "file:/root/../secret", "file:/root/a/../../b", "file:/root/a\0b"])
def test_an_external_path_that_leaves_its_root_is_corrupt(table, url):
    schema = polynya.open_table(table).schema
    options = {"data-file.external-paths": "file:/root"}
    with pytest.raises(polynya.CorruptFileError, match=r"data-file\.external-paths"):
        require_declared([url], polynya.Schema(schema.fields, options=options))


def test_a_bucket_that_cannot_be_is_corrupt(table):
    path = next(path for path in (table / "manifest").iterdir() if not path.name.startswith("manifest-list"))
    entries = manifest.decode([AvroSource(path.name, path.read_bytes())])
    buckets = pa.array([-5] * entries.num_rows, pa.int32())
    data = manifest.encode(entries.set_column(entries.schema.get_field_index("bucket"), "bucket", buckets))
    with pytest.raises(polynya.CorruptFileError, match="_BUCKET: expected -2 or more, found less"):
        manifest.decode([AvroSource("manifest-x", data)])


@pytest.mark.parametrize("size_bytes", [0, 1, 20])
def test_a_deletion_vector_that_is_cut_short_is_corrupt(tmp_path, size_bytes):
    root = shutil.copytree(golden_table("dv_pk"), tmp_path / "t")
    for path in (root / "index").iterdir():
        path.write_bytes(path.read_bytes()[:size_bytes])
    with pytest.raises(polynya.CorruptFileError, match="index/index-"):
        polynya.open_table(root).scan().to_arrow()
