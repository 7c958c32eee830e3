"""Schema evolution: old files give the rows Java reads from them, and every cast follows Java's rule."""

from decimal import Decimal

import pyarrow as pa
import pytest

from arrow.golden_files import data_files, expected_rows, manifest_files, read_all, schemas
from polynya.arrow.casts import find_cast
from polynya.arrow.evolve import plan
from polynya.errors import InvalidInputError, UnsupportedError
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_schema, to_arrow_type
from polynya.paimon.type_text import parse_sql
from rows import render_rows


@pytest.mark.parametrize(
    "table", ["se_append", "se_casts", "se_to_string", "se_nested", "many_columns_evolved", "types_append"]
)
def test_files_of_old_schemas_give_the_rows_that_java_reads(table):
    versions = schemas(table)
    wanted = versions[max(versions)].fields
    metas = manifest_files(table)
    parts = []
    for name in data_files(table):
        old = versions[metas[name.rsplit("/", 1)[-1]]["_SCHEMA_ID"]].fields
        projection = plan(old, wanted)
        rows = read_all(table, name, old, projection.columns)
        parts += [projection.apply(batch) for batch in rows.to_batches()]
    result = pa.Table.from_batches(parts, to_arrow_schema(wanted))
    result.validate(full=True)
    assert render_rows(result, wanted) == expected_rows(table, wanted)


def test_a_column_added_again_under_an_old_name_is_another_column():
    old = (t.Field(0, "a", t.Int()), t.Field(1, "b", t.Int()))
    new = (t.Field(2, "b", t.Int()), t.Field(0, "renamed", t.Int()))
    projection = plan(old, new)
    batch = pa.record_batch({"a": pa.array([7], pa.int32())})
    assert [column.name for column in projection.columns] == ["a"]
    assert projection.apply(batch).to_pylist() == [{"b": None, "renamed": 7}]


def test_a_row_is_read_with_only_the_members_that_are_wanted():
    members = (t.Field(1, "x", t.Int()), t.Field(2, "y", t.VarChar()), t.Field(3, "z", t.Int()))
    old = (t.Field(0, "r", t.Row(members)),)
    new = (t.Field(0, "r", t.Row((t.Field(3, "last", t.BigInt()), t.Field(9, "new", t.Int())))),)
    projection = plan(old, new)
    assert projection.columns == (t.Field(0, "r", t.Row((members[2],))),)
    batch = pa.RecordBatch.from_pylist([{"r": {"z": 5}}, {"r": None}], to_arrow_schema(projection.columns))
    assert projection.apply(batch).to_pylist() == [{"r": {"last": 5, "new": None}}, {"r": None}]


def test_a_member_added_again_under_an_old_name_is_another_member_where_it_is_all_that_is_asked_for():
    old = (t.Field(0, "r", t.Row((t.Field(1, "x", t.Int()), t.Field(2, "y", t.Int())))),)
    projection = plan(old, (t.Field(0, "r", t.Row((t.Field(3, "x", t.Int()),))),))
    batch = pa.RecordBatch.from_pylist([{"r": {"x": 1}}, {"r": None}], to_arrow_schema(projection.columns))
    assert projection.apply(batch).to_pylist() == [{"r": {"x": None}}, {"r": None}]


def test_a_row_of_new_members_only_keeps_its_nulls():
    old = (t.Field(0, "r", t.Row((t.Field(1, "x", t.Int()),))),)
    new = (t.Field(0, "r", t.Row((t.Field(5, "n", t.Int()),))),)
    projection = plan(old, new)
    batch = pa.RecordBatch.from_pylist([{"r": {"x": 1}}, {"r": None}], to_arrow_schema(projection.columns))
    assert projection.apply(batch).to_pylist() == [{"r": {"n": None}}, {"r": None}]


def test_no_wanted_columns_keep_the_number_of_rows():
    projection = plan((t.Field(0, "a", t.Int()),), ())
    assert projection.apply(pa.record_batch({"a": pa.array([1, 2], pa.int32())}).select([])).num_columns == 0


def test_a_cast_that_does_not_exist_is_refused_before_reading():
    with pytest.raises(UnsupportedError, match=r"'a'.*Array.*Int"):
        plan((t.Field(0, "a", t.Array(t.Int())),), (t.Field(0, "a", t.Int()),))
    with pytest.raises(UnsupportedError, match="'a'"):
        plan((t.Field(0, "a", t.Date()),), (t.Field(0, "a", t.Double()),))


def cast(source: str, target: str, values: list) -> list:
    old, new = parse_sql(source), parse_sql(target)
    stored = to_arrow_type(old)
    if pa.types.is_temporal(stored):
        plain = pa.int32() if stored.bit_width == 32 else pa.int64()
        array = pa.array([*values, None], plain).view(stored)
    else:
        array = pa.array([*values, None], stored)
    result = find_cast(old, new, "c")(pa.concat_arrays([array[:1], array])[1:])
    assert result.type == to_arrow_type(new)
    result.validate(full=True)
    if pa.types.is_temporal(result.type):
        result = result.view(pa.int32() if result.type.bit_width == 32 else pa.int64())
    *given, last = result.to_pylist()
    assert last is None
    return given


D = Decimal


@pytest.mark.parametrize(
    ("source", "target", "values", "expected"),
    [
        ("BIGINT", "INT", [5_000_000_000, -1], [705032704, -1]),
        ("INT", "TINYINT", [200, -129], [-56, 127]),
        ("DOUBLE", "INT", [1e20, -1e20, float("nan"), -1.75, 2147483646.9], [2**31 - 1, -(2**31), 0, -1, 2147483646]),
        ("DOUBLE", "BIGINT", [1e30, -1e30, float("inf"), 2.0**62], [2**63 - 1, -(2**63), 2**63 - 1, 2**62]),
        ("FLOAT", "TINYINT", [1e10, 300.5], [-1, 44]),
        ("DOUBLE", "FLOAT", [1e300, 0.5], [float("inf"), 0.5]),
        ("INT", "BOOLEAN", [0, 5], [False, True]),
        ("BOOLEAN", "DOUBLE", [True, False], [1.0, 0.0]),
        ("DOUBLE", "STRING", [5e-324, 2e-4], ["4.9E-324", "2.0E-4"]),
        ("FLOAT", "STRING", [1.4e-45, 0.1, 3.4e38], ["1.4E-45", "0.1", "3.4E38"]),
        ("BOOLEAN", "DECIMAL(3, 1)", [True, False], [D("1.0"), D("0.0")]),
        ("DECIMAL(10, 4)", "DECIMAL(5, 1)", [D("123.4567"), D("-0.05"), D("99999.9999")],
         [D("123.5"), D("-0.1"), None]),
        ("DECIMAL(38, 10)", "DECIMAL(38, 0)", [D("1234567890123456789012345678.5")],
         [D("1234567890123456789012345679")]),
        ("BIGINT", "DECIMAL(5, 2)", [999, 1000], [D("999.00"), None]),
        ("DOUBLE", "DECIMAL(5, 2)", [1.005, 1e10], [D("1.01"), None]),
        ("DECIMAL(20, 2)", "INT", [D("-1.99"), D("4294967297.50")], [-1, 1]),
        ("DECIMAL(38, 0)", "BIGINT", [D(2**64 + 7), D(-(2**64) - 7)], [7, -7]),
        ("DECIMAL(20, 3)", "DOUBLE", [D("0.1"), D("123456789.123")], [0.1, 123456789.123]),
        ("DOUBLE", "STRING", [1e7, 9999999.0, 1e-3, 1e-4, 123.456, -0.0],
         ["1.0E7", "9999999.0", "0.001", "1.0E-4", "123.456", "-0.0"]),
        ("FLOAT", "STRING", [1.1, 3.4028234663852886e38], ["1.1", "3.4028235E38"]),
        ("DECIMAL(38, 10)", "STRING", [D("0.0000000001")], ["0.0000000001"]),
        ("TIME(3)", "STRING", [3_723_004, 3_723_000, 3_723_120], ["01:02:03.004", "01:02:03.0", "01:02:03.12"]),
        ("TIMESTAMP(0)", "STRING", [1000, 1500], ["1970-01-01 00:00:01", "1970-01-01 00:00:01.5"]),
        ("TIMESTAMP(4)", "STRING", [1_500_000, 1], ["1970-01-01 00:00:01.5000", "1970-01-01 00:00:00.000001"]),
        ("INT", "CHAR(4)", [12, 123456], ["12  ", "1234"]),
        ("STRING", "VARCHAR(2)", ["日本語", "a"], ["日本", "a"]),
        ("BYTES", "STRING", [b"a\xffb", b"ok"], ["a\ufffdb", "ok"]),
        ("BYTES", "BINARY(3)", [b"a", b"abcd"], [b"a\0\0", b"abc"]),
        ("STRING", "VARBINARY(2)", ["abc", "a"], [b"ab", b"a"]),
        ("STRING", "INT", ["12.9", "-3", "+7"], [12, -3, 7]),
        ("STRING", "BOOLEAN", ["Yes", "0"], [True, False]),
        ("STRING", "DOUBLE", [" 1.5 ", "1e3", "2d", "-Infinity"], [1.5, 1000.0, 2.0, float("-inf")]),
        ("STRING", "DECIMAL(4, 1)", ["12.35", "12345"], [D("12.4"), None]),
        ("STRING", "DATE", ["2024-01-02", "2024-1-2 10:00:00", "3"], [19724, 19724, 3]),
        ("STRING", "TIME(3)", ["01:02:03.0045", "7"], [3_723_005, 7]),
        ("STRING", "TIMESTAMP(6)", ["2024-01-02 03:04:05.678901234", "2024-01-02", "12"],
         [1704164645678901, 1704153600000000, 12]),
        ("TIMESTAMP(6)", "TIMESTAMP(3)", [-1, 1_999_999], [-1, 1999]),
        ("TIMESTAMP(6)", "TIMESTAMP(0)", [-1_500_000, 1_500_000], [-1000, 1000]),
        ("TIMESTAMP(3)", "TIMESTAMP(9)", [-1], [-1_000_000]),
        ("TIMESTAMP(6)", "DATE", [-1, 86_400_000_000, -86_400_000_001], [0, 1, -1]),
        ("TIMESTAMP(6)", "TIME(3)", [-1_000, 90_000_000_000], [86_399_999, 3_600_000]),
        ("TIMESTAMP(3)", "BIGINT", [-1500, 1999], [-1, 1]),
        ("DATE", "TIMESTAMP(3)", [-1], [-86_400_000]),
        ("TIME(3)", "TIMESTAMP(6)", [5], [5000]),
        ("INT", "TIMESTAMP(9)", [-1], [-1_000_000_000]),
    ],
)  # fmt: skip
def test_cast(source, target, values, expected):
    assert cast(source, target, values) == expected


def test_text_that_is_no_value_names_the_column():
    with pytest.raises(InvalidInputError, match=r"'c'.*'x1'"):
        cast("STRING", "INT", ["x1"])
