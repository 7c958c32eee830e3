import time
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from golden_data import golden_expected, golden_table
from polynya.errors import InvalidInputError, UnsupportedError
from polynya.model import types as t
from polynya.model.partition import (
    PartitionNames,
    escape,
    parse_spec,
    path,
    paths,
    split_path,
    unescape,
    value_text,
    value_texts,
)
from polynya.model.value_text import parse, physical
from polynya.paimon import schema_file

LEGACY = PartitionNames()
NEW = PartitionNames(legacy=False)
KOLKATA = PartitionNames(legacy=False, zone=ZoneInfo("Asia/Kolkata"))
texts = st.text(st.characters(exclude_categories=["Cs"]))


@given(texts)
def test_unescape_undoes_escape(text):
    assert unescape(escape(text)) == text
    assert "/" not in escape(text)


@given(st.dictionaries(texts.filter(bool), texts.filter(lambda text: text.strip()), min_size=1))
def test_a_path_tells_its_texts(values):
    fields = [t.Field(place, name, t.VarChar()) for place, name in enumerate(values)]
    assert split_path(path(list(values.values()), fields, PartitionNames(default_name="x"))) == values


@given(st.lists(st.none() | texts, min_size=1))
def test_a_column_of_paths_is_the_path_of_each_row(values):
    fields = [t.Field(0, "a=b", t.VarChar())]
    found = paths([pa.array(values, pa.string())], fields, LEGACY).to_pylist()
    assert found == [path([value], fields, LEGACY) for value in values]


def test_only_whole_escapes_are_undone():
    assert [unescape(text) for text in ("%41", "%4", "%zz%41", "%", "%e9", "%2541")] == [
        *("A", "%4", "%zzA", "%", "é", "%41")
    ]


def golden_folders(name: str) -> set[str]:
    root = golden_table(name)
    return {f"{folder.parent.relative_to(root)}/" for folder in root.rglob("bucket-*")}


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("part_types", LEGACY),
        ("part_types_new_names", NEW),
        ("append_partitioned", LEGACY),
        ("pk_partitioned", LEGACY),
        ("tz_kolkata_part_new", KOLKATA),
    ],
)
def test_folders_are_named_as_paimon_names_them(name, names):
    schema = schema_file.decode(Path(golden_table(name) / "schema/schema-0").read_bytes(), name=name)
    known = golden_expected(name)
    columns = [column[0] for column in known["columns"]]
    found = set()
    for row in known["rows"]:
        values = [row[columns.index(field.name)] for field in schema.partition_fields]
        scalars = [
            pa.scalar(None) if value is None else parse(golden_text(value), field.type)
            for value, field in zip(values, schema.partition_fields, strict=True)
        ]
        row_values = [physical(pa.array([scalar.as_py()], scalar.type))[0] for scalar in scalars]
        found.add(path(row_values, schema.partition_fields, names))
    assert found == golden_folders(name)


def golden_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@pytest.mark.parametrize(
    ("type", "value", "legacy", "new"),
    [
        (t.Date(), -1, "-1", "1969-12-31"),
        (t.Date(), -719529, "-719529", "000/-12-31"),
        (t.Time(3), 3723120, "3723120", "01:02:03.12"),
        (t.Time(3), 3723000, "3723000", "01:02:03.0"),
        (t.Time(0), 3723120, "3723120", "01:02:03"),
        (t.Timestamp(3), 1704067261100, "2024-01-01T00:01:01.100", "2024-01-01 00:01:01.100"),
        (t.Timestamp(1), 1704067261100, "2024-01-01T00:01:01.100", "2024-01-01 00:01:01.1"),
        (t.Timestamp(6), 1704067260000000, "2024-01-01T00:01", "2024-01-01 00:01:00.000000"),
        (t.Timestamp(6), 100, "1970-01-01T00:00:00.000100", "1970-01-01 00:00:00.000100"),
        (t.Timestamp(9), -1, "1969-12-31T23:59:59.999999999", "1969-12-31 23:59:59.999999999"),
        (t.Timestamp(3), 253402300800000, "+10000-01-01T00:00", "0000-01-01 00:00:00.000"),
        (t.Double(), 1e7, "1.0E7", "1.0E7"),
        (t.Double(), 9999999.0, "9999999.0", "9999999.0"),
        (t.Double(), 0.001, "0.001", "0.001"),
        (t.Double(), 9e-4, "9.0E-4", "9.0E-4"),
        (t.Double(), 5e-324, "4.9E-324", "4.9E-324"),
        (t.Double(), -0.0, "-0.0", "-0.0"),
        (t.Double(), float("nan"), "NaN", "NaN"),
        (t.Float(), 1 / 3, "0.33333334", "0.33333334"),
        (t.Double(), 1.7976931348623157e308, "1.7976931348623157E308", "1.7976931348623157E308"),
        (t.Decimal(38, 10), Decimal("1E-10"), "0.0000000001", "0.0000000001"),
        (t.VarChar(), "\u3000", "__DEFAULT_PARTITION__", "__DEFAULT_PARTITION__"),
        (t.VarChar(), "\xa0", "\xa0", "\xa0"),
        (t.VarChar(), "", "__DEFAULT_PARTITION__", "__DEFAULT_PARTITION__"),
        (t.Int(), None, "__DEFAULT_PARTITION__", "__DEFAULT_PARTITION__"),
    ],
)
def test_value_text_is_what_paimon_writes(type, value, legacy, new):
    assert value_text(value, type, LEGACY) == legacy
    assert value_text(value, type, NEW) == new


def test_instants_are_shown_in_the_zone_of_the_writer_only_with_new_names():
    assert value_text(0, t.LocalTimestamp(3), KOLKATA) == "1970-01-01 05:30:00.000"
    assert value_text(0, t.LocalTimestamp(3), LEGACY) == "1970-01-01T00:00"


def test_bytes_have_no_legacy_name():
    with pytest.raises(UnsupportedError, match="legacy-name"):
        value_text(b"ab", t.VarBinary(), LEGACY)
    assert value_text(b"ab", t.VarBinary(), NEW) == "ab"


@given(st.floats(allow_nan=False))
def test_double_text_is_read_back(value):
    assert float(value_text(value, t.Double(), LEGACY)) == value


def test_a_hundred_thousand_partitions_are_named_in_seconds():
    columns = [pa.array(range(100_000), pa.timestamp("us")), pa.array(map(str, range(100_000)))]
    fields = [t.Field(0, "a", t.Timestamp(6)), t.Field(1, "b", t.VarChar())]
    start = time.perf_counter()
    assert paths(columns, fields, LEGACY)[60].as_py() == "a=1970-01-01T00%3A00%3A00.000060/b=60/"
    assert time.perf_counter() - start < 10


def test_texts_of_a_column_are_not_escaped():
    assert value_texts(pa.array(["a:b", None]), t.VarChar(), LEGACY).to_pylist() == ["a:b", "__DEFAULT_PARTITION__"]


@pytest.mark.parametrize("bad", ["a", "a=1/b", "=1"])
def test_split_path_refuses_what_is_no_path(bad):
    with pytest.raises(InvalidInputError, match="expected <column>=<value>"):
        split_path(bad)


@pytest.mark.parametrize(
    ("type", "given", "expected"),
    [
        (t.Int(), 1, 1),
        (t.Int(), "1", 1),
        (t.Int(), None, None),
        (t.Int(), "__DEFAULT_PARTITION__", None),
        (t.Boolean(), "Yes", True),
        (t.Double(), 1, 1.0),
        (t.Decimal(10, 2), 1, Decimal("1.00")),
        (t.Decimal(10, 2), "1.555", Decimal("1.56")),
        (t.Date(), date(2024, 1, 1), date(2024, 1, 1)),
        (t.Date(), "2024-1-1", date(2024, 1, 1)),
        (t.Date(), "19723", date(2024, 1, 1)),
        (t.Timestamp(0), "1704067200", datetime(2024, 1, 1)),
        (t.Timestamp(3), "2024-01-01 10:11:12.1239", datetime(2024, 1, 1, 10, 11, 12, 123000)),
        (t.Timestamp(6), datetime(2024, 1, 1), datetime(2024, 1, 1)),
        (t.LocalTimestamp(3), "2024-01-01", datetime(2023, 12, 31, 18, 30, tzinfo=UTC)),
        (t.LocalTimestamp(3), datetime(2024, 1, 1), datetime(2023, 12, 31, 18, 30, tzinfo=UTC)),
        (t.LocalTimestamp(3), datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC)),
        (t.VarChar(), "a b", "a b"),
        (t.BigInt(), pa.scalar(3, pa.int8()), 3),
    ],
)
def test_a_spec_takes_native_values_and_text(type, given, expected):
    fields = [t.Field(0, "p", type)]
    assert parse_spec({"p": given}, fields, KOLKATA)["p"].as_py() == expected


@pytest.mark.parametrize(
    ("type", "given"),
    [
        (t.Int(), "x"),
        (t.Int(), 2**40),
        (t.Int(), True),
        (t.Int(), 1.5),
        (t.TinyInt(), "300"),
        (t.VarChar(), 1),
        (t.VarChar(3), "abcd"),
        (t.Date(), datetime(2024, 1, 1)),
        (t.Date(), "2024-02-30"),
        (t.Time(), "25:00:00"),
        (t.Timestamp(6), 5),
        (t.Timestamp(4), "5"),
        (t.Timestamp(6), datetime(2024, 1, 1, tzinfo=UTC)),
        (t.Timestamp(6), "2024-01-01 00:00:00Z"),
        (t.Decimal(3, 1), "1000"),
        (t.Decimal(3, 1), "NaN"),
        (t.Decimal(3, 1), Decimal("1.55")),
        (t.Double(), "1_0"),
        (t.Boolean(), "maybe"),
        (t.Int(), pa.scalar("x")),
    ],
)
def test_a_spec_of_the_wrong_type_names_the_column(type, given):
    with pytest.raises(InvalidInputError, match="partition column 'p'"):
        parse_spec({"p": given}, [t.Field(0, "p", type)], LEGACY)


def test_a_spec_names_every_partition_column_unless_partial():
    fields = [t.Field(0, "p", t.Int()), t.Field(1, "q", t.Int())]
    with pytest.raises(InvalidInputError, match="p, q"):
        parse_spec({"p": 1}, fields, LEGACY)
    with pytest.raises(InvalidInputError, match="found p, q, r"):
        parse_spec({"p": 1, "q": 1, "r": 1}, fields, LEGACY)
    assert list(parse_spec({"q": 1}, fields, LEGACY, partial=True)) == ["q"]
