import math
import operator
from decimal import Decimal

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polynya.arrow.filters import mask, to_expression
from polynya.model import types as t
from polynya.model.bind import bind
from polynya.model.literals import render
from polynya.model.predicate import And, Compare, In, Like, Not, Op, Or, Predicate, col
from predicate_cases import FIELDS, TYPES, cases, columns_of, literals


@pytest.fixture(scope="module")
def database():
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        yield connection


def duck_sql(predicate: Predicate) -> str:
    """The predicate in DuckDB's words; floats are compared as DOUBLE, as Spark does."""
    match predicate:
        case And(predicates=parts):
            return "(" + " AND ".join(map(duck_sql, parts)) + ")"
        case Or(predicates=parts):
            return "(" + " OR ".join(map(duck_sql, parts)) + ")"
        case Not(predicate=inner):
            return f"(NOT {duck_sql(inner)})"
        case Compare(op=op, column=path, value=value):
            return f"({duck_column(path)} {op.value} {duck_literal(path, value)})"
        case In(column=path, values=values):
            return f"({duck_column(path)} IN ({', '.join(duck_literal(path, value) for value in values)}))"
        case Like(column=path, pattern=pattern):
            return f"({duck_column(path)} LIKE {duck_text(pattern)} ESCAPE '\\')"
        case _:
            return f"({predicate})"


def duck_column(path):
    name = "home." + path[1] if len(path) > 1 else path[0]
    return f"CAST({name} AS DOUBLE)" if isinstance(TYPES[path], (t.Float, t.Double)) else name


def duck_text(text):
    return "'" + text.replace("'", "''") + "'"


def duck_literal(path, value):
    if value is not None and isinstance(TYPES[path], (t.Float, t.Double)):
        return f"CAST('{float(value)!r}' AS DOUBLE)"
    if isinstance(value, str) and isinstance(TYPES[path], (t.Date, t.Timestamp)):
        return f"CAST('{value}' AS {'DATE' if isinstance(TYPES[path], t.Date) else 'TIMESTAMP'})"
    if isinstance(value, str):
        return duck_text(value)
    if isinstance(value, bytes):
        return "'" + "".join(f"\\x{byte:02X}" for byte in value) + "'::BLOB"
    return render(value)


@settings(max_examples=400, deadline=None)
@given(case=cases())
def test_the_mask_is_what_duckdb_selects(database, case):
    predicate, rows = case
    numbered = rows.append_column("position", pa.array(range(rows.num_rows), pa.int64()))
    database.register("rows", numbered)
    expected = database.execute(f"SELECT position FROM rows WHERE {duck_sql(predicate)} ORDER BY position").fetchall()
    kept = mask(bind(predicate, FIELDS), rows)
    assert [position for position, keep in enumerate(kept.to_pylist()) if keep] == [row[0] for row in expected]


COMPARISONS = {
    Op.EQ: operator.eq,
    Op.NE: operator.ne,
    Op.LT: operator.lt,
    Op.LE: operator.le,
    Op.GT: operator.gt,
    Op.GE: operator.ge,
}


@settings(max_examples=300, deadline=None)
@given(data=st.data(), op=st.sampled_from(list(Op)))
def test_whole_and_decimal_columns_are_rounded_to_double_before_a_float_literal(data, op):
    path = data.draw(st.sampled_from([("tiny",), ("count",), ("big",), ("price",), ("wide",)]))
    rows = data.draw(columns_of(path))
    literal = data.draw(literals(t.Double(), floats=True).filter(lambda value: value == value).map(float))
    kept = mask(bind(Compare(op, path, literal), FIELDS), rows)
    values = rows.column(path[0]).to_pylist()
    assert kept.to_pylist() == [value is not None and COMPARISONS[op](float(value), literal) for value in values]


@pytest.mark.parametrize("op", list(Op))
def test_a_tie_between_two_doubles_goes_to_the_even_one(op):
    field = t.Field(0, "big", t.BigInt())
    values = list(range(2**53 - 2, 2**53 + 12))
    rows = pa.table({"big": pa.array(values, pa.int64())})
    for literal in (2.0**53, 2.0**53 + 2, 2.0**53 + 4, 2.0**53 + 6):
        kept = mask(bind(Compare(op, ("big",), literal), [field]), rows).to_pylist()
        assert kept == [COMPARISONS[op](float(value), literal) for value in values]


@pytest.mark.parametrize("type", [t.Float(), t.Double()])
@pytest.mark.parametrize("op", list(Op))
def test_nan_equals_nan_and_is_above_every_number(type, op):
    values = [math.nan, -math.inf, -1.0, -0.0, 0.0, 2.0, math.inf, None]
    field = t.Field(0, "x", type)
    rows = pa.table({"x": pa.array(values, pa.float32() if isinstance(type, t.Float) else pa.float64())})
    rank = {repr(value): place for place, value in enumerate([-math.inf, -1.0, 0.0, 2.0, math.inf, math.nan])}
    rank["-0.0"] = rank["0.0"]
    for literal in (value for value in values if value is not None):
        kept = mask(bind(Compare(op, ("x",), literal), [field]), rows).to_pylist()
        expected = [value is not None and COMPARISONS[op](rank[repr(value)], rank[repr(literal)]) for value in values]
        assert kept == expected


def test_in_finds_nan_and_both_zeros():
    rows = pa.table({"x": pa.array([math.nan, -0.0, 0.0, 1.0, None])})
    bound = bind(col("x").is_in([math.nan, 0.0]), [t.Field(0, "x", t.Double())])
    assert mask(bound, rows).to_pylist() == [True, True, True, False, False]
    assert mask(bind(~col("x").is_in([math.nan, 0.0]), [t.Field(0, "x", t.Double())]), rows).to_pylist() == [
        False,
        False,
        False,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("literal", "kept"),
    [
        ("2020-01-01 10:00:00", [False, True, False]),
        ("2020-01-01 10:00:00Z", [False, True, False]),
        ("2020-01-01 12:00:00+02:00", [False, True, False]),
        ("2020-01-01 10:00:00.000000001", [False, False, True]),
    ],
)
def test_an_instant_is_compared_in_utc(literal, kept):
    ten = 1577872800 * 10**9
    rows = pa.table({"at": pa.array([None, ten, ten + 1], pa.timestamp("ns", "UTC"))})
    assert mask(bind(col("at") == literal, [t.Field(0, "at", t.LocalTimestamp(9))]), rows).to_pylist() == kept


def test_a_mask_of_chunked_columns_is_one_array():
    rows = pa.table({"a": pa.chunked_array([[1, 2], [3]]), "b": pa.chunked_array([["x"], ["y", None]])})
    fields = [t.Field(0, "a", t.BigInt()), t.Field(1, "b", t.VarChar())]
    kept = mask(bind((col("a") > 1) | (col("b") == "x"), fields), rows)
    assert isinstance(kept, pa.BooleanArray)
    assert kept.to_pylist() == [True, True, True]


def test_a_member_of_a_null_row_is_null():
    type = pa.struct([("zip", pa.int32())])
    rows = pa.table({"home": pa.array([{"zip": 1}, None, {"zip": None}], type)})
    fields = [t.Field(0, "home", t.Row((t.Field(1, "zip", t.Int()),)))]
    assert mask(bind(col("home.zip").is_null(), fields), rows).to_pylist() == [False, True, True]
    assert mask(bind(col("home.zip") == 1, fields), rows.to_batches()[0]).to_pylist() == [True, False, False]


@settings(max_examples=150, deadline=None)
@given(case=cases(floats=True))
def test_the_expression_keeps_every_row_of_the_mask(tmp_path_factory, case):
    predicate, rows = case
    path = tmp_path_factory.getbasetemp() / "rows.parquet"
    pq.write_table(rows, path, row_group_size=2)
    bound = bind(predicate, FIELDS)
    expression = to_expression(bound)
    weak = ds.dataset(path, schema=rows.schema).to_table(filter=expression)
    strong = rows.filter(mask(bound, rows))
    assert mask(bound, weak).true_count == strong.num_rows


def test_the_expression_says_nothing_where_a_reader_forgets_nan():
    fields = [t.Field(0, "x", t.Double()), t.Field(1, "n", t.Int())]
    assert to_expression(bind(col("x") > 1.0, fields)) is None
    assert to_expression(bind((col("x") > 1.0) | (col("n") > 1), fields)) is None
    assert str(to_expression(bind((col("x") > 1.0) & (col("n") > 1), fields))) == "(n > 1)"


@settings(max_examples=50, deadline=None)
@given(case=cases(floats=True))
def test_no_row_matches_a_predicate_and_its_negation(case):
    predicate, rows = case
    yes, no = (mask(bind(either, FIELDS), rows).to_pylist() for either in (predicate, ~predicate))
    assert not any(a and b for a, b in zip(yes, no, strict=True))


def test_a_decimal_beyond_all_columns_is_compared_at_once():
    rows = pa.table({"n": pa.array([1, None], pa.int32())})
    fields = [t.Field(0, "n", t.Int())]
    assert mask(bind(col("n") < Decimal("1E+999999"), fields), rows).to_pylist() == [True, False]
    assert mask(bind(col("n") > Decimal("1E-999999"), fields), rows).to_pylist() == [True, False]
