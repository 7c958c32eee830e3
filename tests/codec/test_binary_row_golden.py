"""The statistics rows of every golden table: by column as one by one, and back to the bytes that Paimon wrote."""

import json

import pyarrow as pa
import pytest

from golden_data import golden_names, golden_table
from golden_metadata import added_entries, arrow_type
from polynya.codec.binary_row import decode_row, encode_row
from polynya.codec.binary_rows import decode_rows, encode_rows


def schema_types(table: str, schema_id: int) -> dict[str, pa.DataType]:
    fields = json.loads((golden_table(table) / "schema" / f"schema-{schema_id}").read_text())["fields"]
    return {field["name"]: arrow_type(field["type"]) for field in fields}


def statistics(table: str) -> dict[tuple[pa.DataType, ...], list[bytes]]:
    """The statistics rows of the table's files, by the types of their fields."""
    found: dict[tuple[pa.DataType, ...], list[bytes]] = {}
    for entry in added_entries(table):
        file = entry["_FILE"]
        types = schema_types(table, file["_SCHEMA_ID"])
        names = file["_VALUE_STATS_COLS"]
        names = (file.get("_WRITE_COLS") or list(types)) if names is None else names
        key = tuple(types.get(name, pa.int64()) for name in names)
        found.setdefault(key, []).extend(file["_VALUE_STATS"][end] for end in ("_MIN_VALUES", "_MAX_VALUES"))
    return found


@pytest.mark.parametrize("table", golden_names())
def test_golden_statistics_decode_and_encode_to_the_same_bytes(table):
    for types, rows in statistics(table).items():
        assert [encode_row(decode_row(row, types, name=table), types) for row in rows] == rows
        columns = decode_rows(pa.array(rows, pa.binary()), types, name=table)
        if columns:
            assert encode_rows(columns).to_pylist() == rows
