import json

import pytest

from golden_data import golden_table
from golden_iceberg import iceberg_expected, iceberg_names, iceberg_table
from iceberg_files import golden_metadata
from polynya.errors import CorruptFileError, UnsupportedError
from polynya.iceberg import layout, metadata, type_json


@pytest.mark.parametrize("name", iceberg_names())
def test_golden_metadata_is_what_java_says(name):
    found, expected = golden_metadata(name), iceberg_expected(name)
    assert (found.format_version, found.table_uuid) == (expected["formatVersion"], expected["uuid"])
    assert found.last_sequence_number == expected["lastSequenceNumber"]
    assert found.current_snapshot_id == expected["currentSnapshotId"]
    assert [one.snapshot_id for one in found.snapshots] == [one["id"] for one in expected["snapshots"]]
    ids = {refname: ref["snapshotId"] for refname, ref in expected["refs"].items()}
    assert {refname: ref.snapshot_id for refname, ref in found.refs.items()} == ids
    assert [field["id"] for field in found.schema.json] == [column[3] for column in expected["columns"]]


@pytest.mark.parametrize("name", iceberg_names())
def test_every_golden_version_comes_back(name):
    files = [path for path in (iceberg_table(name) / "metadata").iterdir() if ".metadata.json" in path.name]
    for path in files:
        found = metadata.decode(path.read_bytes(), name=path.name, compressed=layout.is_gzip(path.name))
        assert metadata.decode(metadata.encode(found), name="again") == found
        assert layout.find_version(path.name) is not None


def test_members_come_back_with_their_values():
    path = max((iceberg_table("statistics") / "metadata").glob("v*.metadata.json"))
    stored = json.loads(path.read_text())
    again = json.loads(metadata.encode(metadata.decode(path.read_bytes(), name="m")))
    assert {key: again.get(key) for key in stored} == stored


@pytest.mark.parametrize("name", ["ice_append", "ice_pk", "ice_pk_dv"])
def test_metadata_by_java_paimon_is_read(name):
    path = max((golden_table(name) / "metadata").glob("v*.metadata.json"))
    found = metadata.decode(path.read_bytes(), name=path.name)
    assert found.current_snapshot_id == layout.find_version(path.name)


def test_columns_go_to_the_model_and_back_with_their_ids():
    path = golden_table("ice_append") / "metadata" / "v3.metadata.json"
    schema = metadata.decode(path.read_bytes(), name="m").schema
    assert type_json.from_model_fields(schema.fields) == list(schema.json)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"current-schema-id": 99}, "current-schema-id"),
        ({"default-spec-id": 99}, "default-spec-id"),
        ({"current-snapshot-id": 99}, "current-snapshot-id"),
        ({"refs": {"a": {"snapshot-id": 99, "type": "tag"}}}, "refs.a"),
        ({"schemas": []}, "schemas"),
        (
            {"schemas": [{"type": "struct", "fields": [{"id": 1, "name": "a", "required": False, "type": "ints"}]}]},
            "type",
        ),
        ({"location": 3}, "location"),
        ({"format-version": 0}, "format-version"),
        ({"properties": {"a": 1}}, "properties"),
        ({"snapshots": [{"snapshot-id": 1}]}, "manifest-list"),
    ],
)
def test_wrong_members_are_named(change, message):
    stored = json.loads((iceberg_table("v2_plain") / "metadata" / "v4.metadata.json").read_text())
    with pytest.raises(CorruptFileError, match=message):
        metadata.decode(json.dumps(stored | change).encode(), name="m")


def test_a_later_format_version_is_refused():
    stored = json.loads((iceberg_table("v2_plain") / "metadata" / "v4.metadata.json").read_text())
    with pytest.raises(UnsupportedError, match="version 4"):
        metadata.decode(json.dumps(stored | {"format-version": 4}).encode(), name="m")


@pytest.mark.parametrize(
    ("text", "version"), [(b"12", 12), (b"12\n", 12), (b"", None), (b"a", None), (b"-1", None), (b"\xff", None)]
)
def test_a_hint_is_a_number(text, version):
    assert layout.decode_hint(text) == version
