"""A small Avro schema with every shape that metadata files have, and tables of it."""

import json

import pyarrow as pa
from hypothesis import strategies as st

from polynya.codec.avro import Column
from polynya.errors import CorruptFileError, UnsupportedError

SCHEMA_TEXT = json.dumps(
    {
        "type": "record",
        "name": "sample",
        "fields": [
            {"name": "ID", "type": "long"},
            {"name": "NAME", "type": "string"},
            {
                "name": "INNER",
                "type": {
                    "type": "record",
                    "name": "inner",
                    "fields": [
                        {"name": "RAW", "type": ["null", "bytes"], "default": None},
                        {"name": "NUMBERS", "type": ["null", {"type": "array", "items": ["null", "long"]}]},
                        {"name": "TIME", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
                    ],
                },
            },
            {
                "name": "RANGES",
                "type": {
                    "type": "array",
                    "items": [
                        "null",
                        {
                            "type": "record",
                            "name": "range",
                            "fields": [{"name": "at", "type": "int"}, {"name": "of", "type": ["null", "string"]}],
                        },
                    ],
                },
            },
        ],
    }
)

RANGE = pa.struct([("at", pa.int32()), ("of", pa.string())])
COLUMNS = (
    Column("id", ("ID",), pa.int64()),
    Column("name", ("NAME",), pa.string()),
    Column("raw", ("INNER", "RAW"), pa.binary(), required=False),
    Column("numbers", ("INNER", "NUMBERS"), pa.list_(pa.int64()), required=False),
    Column("time", ("INNER", "TIME"), pa.timestamp("ms"), required=False),
    Column("ranges", ("RANGES",), pa.list_(RANGE)),
)
TABLE_SCHEMA = pa.schema([(column.name, column.type) for column in COLUMNS])

_longs = st.integers(-(2**63), 2**63 - 1)
_ints = st.integers(-(2**31), 2**31 - 1)
_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
rows = st.fixed_dictionaries(
    {
        "id": _longs,
        "name": _text,
        "raw": st.none() | st.binary(max_size=12),
        "numbers": st.none() | st.lists(st.none() | _longs, max_size=4),
        "time": st.none() | _longs,
        "ranges": st.lists(st.none() | st.fixed_dictionaries({"at": _ints, "of": st.none() | _text}), max_size=3),
    }
)
tables = st.lists(rows, max_size=8).map(lambda values: table_of(values))


def table_of(values):
    """A table of row dicts; times are numbers."""
    arrays = [pa.array([row[field.name] for row in values], field.type) for field in TABLE_SCHEMA]
    return pa.Table.from_arrays(arrays, schema=TABLE_SCHEMA)


def sample_table(count):
    """Rows that all differ."""
    return table_of(
        [
            {
                "id": row,
                "name": f"name-{row}",
                "raw": None if row % 3 == 0 else bytes(row % 11),
                "numbers": None if row % 4 == 0 else [None, row][: row % 3],
                "time": 1_700_000_000_000 + row if row % 2 else None,
                "ranges": [None, {"at": row % 1000, "of": "x" * (row % 5)}][row % 3 :],
            }
            for row in range(count)
        ]
    )


def assert_named(name, act):
    """Damage may go unseen; where it is seen, the error is ours and names the file."""
    message = f"'{name}'"
    try:
        act()
    except (CorruptFileError, UnsupportedError) as error:
        message = str(error)
    assert f"'{name}'" in message
