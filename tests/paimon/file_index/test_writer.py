import pyarrow as pa
import pytest

from index_cases import GOLDEN, golden_indexes, golden_schema
from polynya.errors import InvalidInputError, UnsupportedError
from polynya.model import types as t
from polynya.paimon import file_index as fi

FIELDS = (
    t.Field(0, "id", t.Int()),
    t.Field(1, "name", t.VarChar()),
    t.Field(2, "m", t.Map(t.VarChar(nullable=False), t.Int())),
    t.Field(3, "flag", t.Boolean()),
    t.Field(4, "n", t.Map(t.Int(nullable=False), t.Int())),
)


def bodies(index):
    return {column: {type: index.body(column, type) for type in index.types(column)} for column in index.slots}


@pytest.mark.parametrize("size", [1, 2, 1000])
@pytest.mark.parametrize("table", GOLDEN)
def test_the_indexes_of_golden_tables_are_rebuilt_to_the_byte(table, size):
    schema = golden_schema(table)
    for index, rows in golden_indexes(table):
        writer = fi.open_index_writer(schema.fields, schema.options)
        for batch in rows.to_batches(max_chunksize=size):
            writer.add(batch)
        rebuilt = writer.finish()
        assert len(rebuilt) == len(index.data)
        assert bodies(fi.decode(rebuilt, "rebuilt")) == bodies(index)


def test_every_golden_table_has_an_index():
    assert all(golden_indexes(table) for table in GOLDEN)


def test_without_options_there_is_no_writer():
    assert fi.open_index_writer(FIELDS, {"bucket": "1", "file-index.read.enabled": "true"}) is None


def test_a_map_key_is_indexed_by_its_values():
    maps = pa.array([[("a", 1), ("b", 2)], None, [("b", 3)], [("a", None)]], pa.map_(pa.string(), pa.int32()))
    writer = fi.open_index_writer(FIELDS, {"file-index.bitmap.columns": "m[a]"})
    writer.add(pa.record_batch({"m": maps}))
    expected = fi.build("bitmap", pa.array([1, None, None, None], pa.int32()), t.Int(), {})
    assert bodies(fi.decode(writer.finish(), "f")) == {"m[a]": {"bitmap": expected}}


def test_a_file_of_no_rows_has_no_body_for_map_keys():
    writer = fi.open_index_writer(FIELDS, {"file-index.bitmap.columns": "m[a],id"})
    found = bodies(fi.decode(writer.finish(), "f"))
    assert found["m[a]"] == {"bitmap": None}
    assert found["id"]["bitmap"] is not None


def test_settings_of_a_map_hold_for_all_its_keys_and_those_of_a_key_win():
    options = {
        "file-index.bloom-filter.columns": " m[a] , m[b], id",
        "file-index.bloom-filter.m.items": "10",
        "file-index.bloom-filter.m.fpp": "0.5",
        "file-index.bloom-filter.m[b].items": "20",
        "file-index.in-manifest-threshold": "1 kb",
    }
    plan = {index.name: dict(index.settings) for index in fi.index_options(options, FIELDS)}
    assert plan == {"m[a]": {"items": "10", "fpp": "0.5"}, "m[b]": {"items": "20", "fpp": "0.5"}, "id": {}}


@pytest.mark.parametrize(
    ("options", "error", "problem"),
    [
        ({"file-index.hash.columns": "id"}, InvalidInputError, "expected one of bloom-filter, .* found 'hash'"),
        ({"file-index.bitmap.columns": "idd"}, InvalidInputError, "column 'idd' does not exist"),
        ({"file-index.bitmap.columns": "id,,name"}, InvalidInputError, "must be names between commas"),
        ({"file-index.bitmap.id.version": "2"}, InvalidInputError, "column 'id' is not listed"),
        ({"file-index.nothing": "2"}, InvalidInputError, "file-index.nothing"),
        (
            {"file-index.bitmap.columns": "id", "file-index.bitmap.id.items": "2"},
            InvalidInputError,
            "expected index-block-size, version, found 'items'",
        ),
        (
            {"file-index.bitmap.columns": "id", "file-index.bitmap.id.version": "7"},
            InvalidInputError,
            "file-index.bitmap.id.*'version' must be 1 or 2, got '7'",
        ),
        ({"file-index.bloom-filter.columns": "flag"}, UnsupportedError, "'flag' is BOOLEAN"),
        ({"file-index.bsi.columns": "name"}, UnsupportedError, "'name' is STRING"),
        ({"file-index.bitmap.columns": "m"}, UnsupportedError, "'m' is MAP"),
        ({"file-index.bitmap.columns": "id[k]"}, UnsupportedError, "MAP with text keys, found INT"),
        ({"file-index.bitmap.columns": "n[1]"}, UnsupportedError, "MAP with text keys"),
    ],
    ids=str,
)
def test_what_cannot_be_indexed_is_named(options, error, problem):
    with pytest.raises(error, match=problem):
        fi.index_options(options, FIELDS)
