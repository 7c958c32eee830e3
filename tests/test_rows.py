"""The comparison itself: hand-made Arrow values against what Java printed for the same values."""

import datetime
import decimal

import pyarrow as pa
import pytest

from golden_data import golden_expected
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_type
from rows import render_rows, rows_digest, sorted_rows

# column of the golden table `types_append`: type, values of the rows with the ids 1, 2, 3
COLUMNS = {
    "f_bool": (t.Boolean(), [True, False, False]),
    "f_tiny": (t.TinyInt(), [127, -128, 0]),
    "f_big": (t.BigInt(), [2**63 - 1, -(2**63), 0]),
    "f_float": (t.Float(), [1.5, float("nan"), -0.0]),
    "f_double": (t.Double(), [1.7976931348623157e308, float("nan"), -float("inf")]),
    "f_dec5": (t.Decimal(5, 2), [decimal.Decimal("999.99"), decimal.Decimal("-999.99"), decimal.Decimal("0.00")]),
    "f_dec38": (
        t.Decimal(38, 10),
        [decimal.Decimal(text) for text in ("9" * 28 + "." + "9" * 10, "-" + "9" * 28 + "." + "9" * 10, "1E-10")],
    ),
    "f_char": (t.Char(5), ["abc  ", "x", "日本"]),
    "f_bin": (t.Binary(4), [b"\1\2\3\4", bytes(4), b"\xff" * 4]),
    "f_varbin": (t.VarBinary(8), [b"\1\2", b"", b"\xff" * 8]),
    "f_date": (t.Date(), [datetime.date.max, datetime.date(1969, 12, 31), datetime.date(1970, 1, 1)]),
    "f_time3": (t.Time(0), [86_399_999, 1, 45_296_789]),
    "f_ts0": (t.Timestamp(0), [1_704_164_645_000, -1000, -62_135_596_800_000]),
    "f_ts6": (t.Timestamp(6), [1_704_164_645_678_901, -1, -62_135_596_800_000_000]),
    "f_ts9": (t.Timestamp(9), [1_704_164_645_678_901_234, -1, 1]),
    "f_ltz3": (t.LocalTimestamp(3), [1_704_164_645_678, -1, -62_135_596_800_000]),
    "f_ltz9": (t.LocalTimestamp(9), [1_704_164_645_678_901_234, -1, 1]),
    "f_arr": (t.Array(t.Int()), [[1, 2, 3], [], [None, 1]]),
    "f_map": (t.Map(t.VarChar(), t.BigInt()), [[("b", 2), ("a", 1)], [], [("n", None)]]),
    "f_row": (
        t.Row((t.Field(0, "x", t.Int()), t.Field(1, "y", t.VarChar()))),
        [{"x": 7, "y": "seven"}, {"x": None, "y": ""}, {"x": None, "y": None}],
    ),
    "f_nested": (
        t.Array(t.Row((t.Field(0, "a", t.Int()), t.Field(1, "m", t.Map(t.VarChar(), t.Array(t.Double())))))),
        [[{"a": 1, "m": [("k", [1.5, 2.5])]}], [], [None, {"a": 1, "m": None}]],
    ),
    "f_mset": (t.Multiset(t.VarChar()), [[("n", 1), ("m", 2)], [], [("p", 2)]]),
    "f_arr2": (t.Array(t.Array(t.VarChar())), [[["p", "q"], ["r"]], [], [None, ["q", None]]]),
}


def arrow(type: t.DataType, values: list) -> pa.Array:
    return pa.array(values, to_arrow_type(type))


def expected(table: str, column: str, ids: tuple[int, ...] = (1, 2, 3)) -> list[list]:
    found = golden_expected(table)
    position = [name for name, _ in found["columns"]].index(column)
    return sorted_rows([row[0], row[position]] for row in found["rows"] if row[0] in ids)


@pytest.mark.parametrize("name", COLUMNS)
def test_values_look_as_java_prints_them(name):
    type, values = COLUMNS[name]
    table = pa.table({"id": pa.array([1, 2, 3], pa.int32()), name: arrow(type, values)})
    fields = (t.Field(0, "id", t.Int()), t.Field(1, name, type))
    assert render_rows(table, fields) == expected("types_append", name)


@pytest.mark.parametrize("name", COLUMNS)
def test_slices_chunks_and_nulls_change_nothing(name):
    type, values = COLUMNS[name]
    whole = arrow(type, [values[0], None, *values, values[1]])
    column = pa.chunked_array([whole.slice(2, 1), whole.slice(3, 2), whole.slice(1, 1)])
    table = pa.table({"id": pa.array([1, 2, 3, 4], pa.int32()), name: column})
    fields = (t.Field(0, "id", t.Int()), t.Field(1, name, type))
    assert render_rows(table, fields) == sorted_rows([*expected("types_append", name), [4, None]])


def test_floats_have_the_shortest_text_of_32_bits():
    table = pa.table({"f": pa.array([0.1, 3.4028235e38, 1e-45], pa.float32())})
    assert render_rows(table, [t.Field(0, "f", t.Float())]) == [[0.1], [1e-45], [3.4028235e38]]


def test_a_vector_is_a_list():
    table = pa.table({"id": pa.array([1], pa.int32()), "v": pa.array([[1, 2, 3]], pa.list_(pa.float32()))})
    fields = (t.Field(0, "id", t.Int()), t.Field(1, "v", t.Vector(t.Float(), 3)))
    assert render_rows(table, fields) == sorted_rows(golden_expected("vector_type")["rows"])


def test_a_variant_is_its_two_byte_strings():
    rows = sorted_rows(golden_expected("variant_type")["rows"])
    values = [row[1] and {name: bytes.fromhex(text) for name, text in row[1].items()} for row in rows]
    table = pa.table({"id": pa.array([row[0] for row in rows], pa.int32()), "v": arrow(t.Variant(), values)})
    assert render_rows(table, [t.Field(0, "id", t.Int()), t.Field(1, "v", t.Variant())]) == rows


def test_rows_without_a_chunk_are_no_rows():
    type = t.Map(t.Int(), t.Row((t.Field(1, "x", t.Int()),)))
    table = pa.table({"a": pa.chunked_array([], to_arrow_type(type))})
    assert render_rows(table, [t.Field(0, "a", type)]) == []


def test_columns_come_in_the_order_asked_for():
    table = pa.table({"a": [1, 2], "b": ["x", "w"]})
    assert render_rows(table, [t.Field(1, "b", t.VarChar()), t.Field(0, "a", t.BigInt())]) == [["w", 2], ["x", 1]]


def test_a_digest_stands_for_the_sorted_rows():
    found = golden_expected("multi_file")
    last = found["snapshots"][-1]
    assert rows_digest(sorted_rows(found["rows"])) == last["rowsSha256"]
    assert len(found["rows"]) == last["rowCount"]


def test_two_ways_to_spell_a_row_agree():
    for name in ("types_append", "variant_type", "agg_all"):
        rows = golden_expected(name)["rows"]
        assert sorted_rows(reversed(rows)) == sorted_rows(rows)
