import json

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from golden_data import golden_table
from golden_iceberg import iceberg_expected, iceberg_names
from iceberg_files import UNREADABLE, by_spec, golden_metadata, lists
from polynya.codec.avro import AvroSource, decode_container
from polynya.iceberg import bounds, manifest, manifest_list
from polynya.iceberg.manifest import Header
from polynya.iceberg.partition_values import PartitionColumn, column_name, decimal_bytes

NAMES = [name for name in iceberg_names() if name not in UNREADABLE]


@pytest.mark.parametrize("name", NAMES)
def test_entries_inherit_what_java_shows(name):
    table, expected = golden_metadata(name), iceberg_expected(name)["system"].get("entries", [])
    current = table.current_snapshot
    if current is None:
        return
    found = [row for _, _, rows in by_spec(table, lists(table)[current.snapshot_id]) for row in rows.to_pylist()]
    keys = ("status", "snapshot_id", "sequence_number", "file_sequence_number")
    ours = sorted(str([row[key] for key in keys] + [row["file_path"], row["record_count"]]) for row in found)
    java = [
        [row[key] for key in keys] + [row["data_file"][key] for key in ("file_path", "record_count")]
        for row in expected
    ]
    assert ours == sorted(map(str, java))


@pytest.mark.parametrize("name", NAMES)
def test_lists_say_of_manifests_what_their_entries_say(name):
    table = golden_metadata(name)
    for metas in lists(table).values():
        for columns, own, entries in by_spec(table, metas):
            assert pc.sum(own["added_files_count"]).as_py() == pc.sum(pc.equal(entries["status"], 1)).as_py()
            rows = pc.sum(entries.filter(pc.equal(entries["status"], 0))["record_count"]).as_py() or 0
            assert pc.sum(own["existing_rows_count"]).as_py() == rows
            if own.num_rows == 1:
                place = {name: own[name][0].as_py() for name in ("manifest_path", "manifest_length", "content")}
                made = manifest.meta_of(entries, columns, {**place, "partition_spec_id": 0}, 1, 1)
                assert made["partitions"].to_pylist() == own["partitions"].to_pylist()


@pytest.mark.parametrize("name", NAMES)
def test_golden_lists_and_manifests_come_back(name):
    table = golden_metadata(name)
    for metas in list(lists(table).values())[-2:]:
        again = manifest_list.encode(metas, 3, {"snapshot-id": "1"})
        assert manifest_list.decode([AvroSource("again", again)]).equals(metas)
        for columns, own, entries in by_spec(table, metas):
            header = Header("{}", 0, "[]", 0, 0)
            stored = manifest.encode(entries.combine_chunks(), columns, header, 3)
            found = manifest.decode([AvroSource("again", stored)], columns).table
            assert str(found.to_pylist()) == str(entries.to_pylist())
            assert own.num_rows


@pytest.mark.parametrize("name", ["ice_append", "ice_pk", "ice_pk_dv"])
def test_lists_and_manifests_by_java_paimon_are_read(name):
    folder = golden_table(name) / "metadata"
    sources = [AvroSource(path.name, path.read_bytes()) for path in sorted(folder.glob("snap-*.avro"))]
    metas = manifest_list.decode(sources)
    assert metas.num_rows
    columns = [PartitionColumn(1000, "dt", pa.string())] if name == "ice_append" else []
    manifests = [AvroSource(path.name, path.read_bytes()) for path in sorted(folder.glob("*-m?.avro"))]
    entries = manifest.decode(manifests, columns).table
    assert entries.num_rows
    assert entries["file_path"].null_count == 0
    if columns:
        assert set(entries[column_name(1000)].to_pylist()) == {"d1", "d2", "d3"}


PARTITIONS = [
    (pa.bool_(), [True, None]),
    (pa.int32(), [3, -3]),
    (pa.int64(), [2**40, None]),
    (pa.float32(), [1.5, None]),
    (pa.float64(), [float("inf"), -0.0]),
    (pa.string(), ["ü", None]),
    (pa.binary(), [b"\xff", b""]),
    (pa.date32(), [19723, None]),
    (pa.time64("us"), [1, None]),
    (pa.timestamp("us"), [-1, None]),
    (pa.timestamp("ns", "UTC"), [10**18 + 1, None]),
    (pa.binary(16), [bytes(range(16)), None]),
    (pa.decimal128(38, 4), [-12345, None]),
    (pa.decimal128(4, 0), [9999, -1]),
]


@pytest.mark.parametrize("count", [2, 300])
@pytest.mark.parametrize("version", [1, 2, 3])
def test_partition_values_of_every_type_come_back(version, count):
    columns = [PartitionColumn(1000 + i, f"p {i}", type) for i, (type, _) in enumerate(PARTITIONS)]
    known = {"status": [1, 0], "content": [0, 0], "file_path": ["a", "b"], "file_format": ["PARQUET"] * 2}
    known |= {"record_count": [1, 2], "file_size_in_bytes": [3, 4], "lower_bounds": [[{"key": 1, "value": b"x"}], None]}
    values = {column_name(1000 + i): _values(type, two) for i, (type, two) in enumerate(PARTITIONS)}
    schema = manifest.schema_of(columns)
    two = {name: pa.array(value, schema.field(name).type) for name, value in known.items()} | values
    entries = pa.table([two.get(one.name, pa.nulls(2, one.type)) for one in schema], schema=schema)
    entries = pa.concat_tables([entries] * (count // 2)).combine_chunks()
    stored = manifest.encode(entries, columns, Header("{}", 0, "[]", 7, 0), version)
    found = manifest.decode([AvroSource("m", stored)], columns).table
    expected = entries if version > 1 else entries.set_column(4, "content", pa.nulls(count, pa.int32()))
    assert found.equals(expected)


def _values(type, two):
    if pa.types.is_decimal(type):
        stored = [None if one is None else one.to_bytes(16, "big", signed=True) for one in two]
        return bounds.decode(pa.array(stored, pa.binary()), type, name="m")
    return pa.array(two, type)


def test_headers_carry_what_readers_insist_on():
    entries = manifest.schema_of(()).empty_table()
    stored = manifest.encode(entries, (), Header('{"type":"struct"}', 4, "[]", 0, manifest_list.DELETES), 2)
    container = decode_container(AvroSource("m", stored))
    assert container.codec == "deflate"
    assert dict(container.metadata) == {
        "schema": '{"type":"struct"}',
        "schema-id": "4",
        "partition-spec": "[]",
        "partition-spec-id": "0",
        "format-version": "2",
        "content": "deletes",
    }


def test_every_field_carries_its_id():
    stored = manifest.encode(manifest.schema_of(()).empty_table(), (), Header("{}", 0, "[]", 0, 0), 3)
    schema = json.loads(decode_container(AvroSource("m", stored)).schema_text)
    java = {134, 100, 101, 102, 103, 104, 108, 109, 110, 137, 125, 128, 131, 132, 135, 140, 142, 143, 144, 145}
    assert {field["field-id"] for field in schema["fields"][-1]["type"]["fields"]} == java


@pytest.mark.parametrize(("precision", "size"), [(2, 1), (3, 2), (9, 4), (10, 5), (18, 8), (19, 9), (38, 16)])
def test_decimals_take_as_few_bytes_as_their_digits_allow(precision, size):
    assert decimal_bytes(precision) == size
