import pytest
from hypothesis import given
from hypothesis import strategies as st

from golden_data import golden_expected, golden_names, golden_table
from polynya.errors import CorruptFileError, InvalidInputError
from polynya.model import types as t
from polynya.model.schema import Schema, assign_ids
from polynya.paimon import schema_file
from polynya.paimon.type_text import parse, parse_sql, render, render_sql

lengths = st.integers(1, t.MAX_LENGTH)
precisions = st.integers(0, 9)
atomic = st.one_of(
    st.sampled_from([t.Boolean(), t.TinyInt(), t.SmallInt(), t.Int(), t.BigInt(), t.Float(), t.Double(), t.Date()]),
    st.sampled_from([t.VarChar(), t.VarBinary(), t.Variant(), t.Blob(), t.Geometry(), t.Geography(algorithm="karney")]),
    st.builds(t.Char, lengths),
    st.builds(t.VarChar, lengths),
    st.builds(t.Binary, lengths),
    st.builds(t.VarBinary, lengths),
    st.builds(t.Time, precisions),
    st.builds(t.Timestamp, precisions),
    st.builds(t.LocalTimestamp, precisions),
    st.builds(t.Geometry, st.text(st.characters(categories=["L", "N", "P", "Zs"]), min_size=1)),
    st.integers(1, 38).flatmap(lambda p: st.builds(t.Decimal, st.just(p), st.integers(0, p))),
)
nullable = st.booleans()
names = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1)
texts = st.none() | names


def constructed(inner):
    field = st.builds(t.Field, st.just(-1), names, inner, texts)
    return st.one_of(
        st.builds(t.Array, inner),
        st.builds(t.Multiset, inner),
        st.builds(t.Map, inner, inner),
        st.builds(t.Vector, st.sampled_from([t.Float(), t.Int(), t.Boolean(nullable=False)]), st.integers(1, 9999)),
        st.builds(t.Row, st.lists(field, max_size=4, unique_by=lambda member: member.name).map(tuple)),
    )


def marked(inner):
    return st.builds(lambda type, flag: type.with_nullable(flag), inner, nullable)


types = st.recursive(marked(atomic), lambda inner: marked(constructed(inner)), max_leaves=8)


@given(types)
def test_sql_text_is_read_back(type):
    assert parse_sql(render_sql(type)) == type


@given(types)
def test_json_is_read_back_with_ids(type):
    schema = Schema(assign_ids([t.Field(0, "c", type, None, "d")]))
    assert schema_file.decode(schema_file.encode(schema), name="schema-0").fields == schema.fields


def test_sql_text_is_what_paimon_shows():
    for name in golden_names():
        newest = max((golden_table(name) / "schema").glob("schema-*"), key=lambda path: int(path.name[7:]))
        fields = schema_file.decode(newest.read_bytes(), name=newest.name).fields
        assert [[field.name, render_sql(field.type)] for field in fields] == golden_expected(name)["columns"]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("decimal(10,2)", "DECIMAL(10, 2)"),
        ("DEC", "DECIMAL(10, 0)"),
        ("NUMERIC(5)", "DECIMAL(5, 0)"),
        ("INTEGER", "INT"),
        ("double precision not null", "DOUBLE NOT NULL"),
        ("TIMESTAMP_LTZ", "TIMESTAMP(6) WITH LOCAL TIME ZONE"),
        ("timestamp without time zone", "TIMESTAMP(6)"),
        ("TIMESTAMP ( 3 )  WITH  LOCAL TIME ZONE", "TIMESTAMP(3) WITH LOCAL TIME ZONE"),
        ("INT NULL", "INT"),
        ("VARCHAR", "VARCHAR(1)"),
        ("VARCHAR(2147483647)", "STRING"),
        ("VARBINARY(2147483647) NOT NULL", "BYTES NOT NULL"),
        ("TIME", "TIME(0)"),
        ("TIME(3) WITHOUT TIME ZONE", "TIME(3)"),
        ("GEOMETRY", "GEOMETRY(OGC:CRS84)"),
        ("GEOMETRY('EPSG 4326')", "GEOMETRY('EPSG 4326')"),
        ("GEOGRAPHY(OGC:CRS84, Karney)", "GEOGRAPHY(OGC:CRS84, karney)"),
    ],
)
def test_text_is_written_in_one_way(text, written):
    assert render(parse(text, name="f")) == written


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "INT INT", "INT(3)", "STRING(3)", "CHAR(0)", "CHAR(99999999999)", "CHAR(", "CHAR()", "CHAR(٣)"),
        *("DECIMAL(39,1)", "DECIMAL(3,4)", "DECIMAL(0)", "TIMESTAMP(10)", "TIMESTAMP(3) WITH TIME ZONE", "NOT NULL"),
        *("INT NOT", "ARRAY", "ARRAY<", "ARRAY<INT", "ARRAY<INT>>", "MAP<INT>", "ROW<a>", "ROW<a INT b INT>", "`INT`"),
        *(
            "VECTOR<STRING, 3>",
            "VECTOR<INT, 0>",
            "GEOGRAPHY(a, nope)",
            "GEOMETRY(a, b)",
            "GEOMETRY(",
            "'",
            "ARRAY<" * 500,
        ),
    ],
)
def test_other_text_is_refused(text):
    with pytest.raises(InvalidInputError, match="type '"):
        parse_sql(text)
    with pytest.raises(CorruptFileError, match="file 'schema-1', type '"):
        parse(text, name="schema-1")
