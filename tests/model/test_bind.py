from datetime import date, datetime, timezone
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings

from polynya.errors import InvalidInputError
from polynya.model import types as t
from polynya.model.bind import bind, columns, conjuncts, project, push_not, split
from polynya.model.evaluate import mask
from polynya.model.predicate import FALSE, TRUE, And, Compare, In, Like, Not, Or, col
from polynya.model.predicate_parser import parse
from predicate_cases import FIELDS, cases, predicates

ORDERS = (
    t.Field(0, "amount", t.Int()),
    t.Field(1, "price", t.Decimal(5, 2)),
    t.Field(2, "day", t.Date()),
    t.Field(3, "seen", t.Timestamp(3)),
    t.Field(4, "at", t.LocalTimestamp(6)),
    t.Field(5, "real", t.Float()),
    t.Field(6, "ratio", t.Double()),
    t.Field(7, "name", t.VarChar(3)),
    t.Field(8, "open", t.Boolean()),
    t.Field(9, "home", t.Row((t.Field(10, "zip", t.BigInt()),))),
    t.Field(11, "tags", t.Array(t.Int())),
    t.Field(12, "clock", t.Time(3)),
    t.Field(13, "raw", t.VarBinary()),
)


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("amount > 1", "amount > 1"),
        ("amount > 1.5", "amount >= 2"),
        ("amount >= 1.5", "amount >= 2"),
        ("amount < 1.5", "amount <= 1"),
        ("amount <= -1.5", "amount <= -2"),
        ("amount = 1.5", "FALSE"),
        ("amount <> 1.5", "amount IS NOT NULL"),
        ("amount = 2.0", "amount = 2"),
        ("amount < 3000000000", "amount IS NOT NULL"),
        ("amount > 3000000000", "FALSE"),
        ("amount <= 2147483647.5", "amount IS NOT NULL"),
        ("amount = NULL", "FALSE"),
        ("not amount = NULL", "FALSE"),
        ("amount < cast('NaN' as double)", "amount IS NOT NULL"),
        ("amount in (1, 1.5, 3, 1)", "amount IN (1, 3)"),
        ("amount in (1, null)", "amount = 1"),
        ("amount not in (1, null)", "FALSE"),
        ("amount not in (1, 2.5)", "amount <> 1 AND amount IS NOT NULL"),
        ("price = 1.005", "FALSE"),
        ("price > 1.005", "price >= 1.01"),
        ("price = 1", "price = 1.00"),
        ("price < 1000", "price IS NOT NULL"),
        ("price = 0.1D", "price = 0.10"),
        ("day = '2026-11-01'", "day = DATE '2026-11-01'"),
        ("day > timestamp '2026-11-01 10:00:00'", "day >= DATE '2026-11-02'"),
        ("seen = '2026-11-01'", "seen = TIMESTAMP '2026-11-01 00:00:00.000'"),
        ("seen > '2026-11-01 00:00:00.0005'", "seen >= TIMESTAMP '2026-11-01 00:00:00.001'"),
        ("at = '2026-11-01 02:00:00+02:00'", "at = TIMESTAMP '2026-11-01 00:00:00.000000Z'"),
        ("real = 0.1", "FALSE"),
        ("real > 0.1", "real >= 0.10000000149011612D"),
        ("real < 0.1", "real <= 0.09999999403953552D"),
        ("ratio = 0.1", "ratio = 0.1D"),
        ("ratio >= cast('NaN' as double)", "ratio = CAST('NaN' AS DOUBLE)"),
        ("clock > '12:00'", "clock > TIME '12:00:00'"),
        ("name = 'longer than three'", "name = 'longer than three'"),
        ("not open", "open <> TRUE"),
        ("home.zip > 1.5", "home.zip >= 2"),
        ("tags is null", "tags IS NULL"),
        ("raw = X'FF'", "raw = X'FF'"),
        (
            "not (amount > 1 and (name is null or not day < '2026-01-01'))",
            "amount <= 1 OR (name IS NOT NULL AND day < DATE '2026-01-01')",
        ),
    ],
)
def test_a_predicate_is_rewritten_exactly(text, bound):
    assert str(bind(parse(text), ORDERS)) == bound


def test_literals_become_scalars_of_the_column():
    assert bind(col("amount") == 1, ORDERS).value == pa.scalar(1, pa.int32())
    assert bind(col("price") == 1, ORDERS).value == pa.scalar(Decimal("1.00"), pa.decimal128(5, 2))
    assert bind(col("day") == date(2026, 11, 1), ORDERS).value == pa.scalar(date(2026, 11, 1), pa.date32())


def test_a_wide_decimal_keeps_all_its_digits():
    digits = Decimal("12345678901234567890123456789012345.678")
    bound = bind(col("d") == digits, [t.Field(0, "d", t.Decimal(38, 3))])
    assert bound.value.as_py() == digits


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("amuont > 1", "column 'amuont' does not exist; did you mean 'amount'?"),
        ("AMOUNT > 1", "column 'AMOUNT' does not exist; did you mean 'amount'?"),
        ("home.zap > 1", "column 'home.zap' does not exist; did you mean 'home.zip'?"),
        ("home.street is null", "column 'home.street' does not exist; there are zip"),
        ("name.first = 'x'", "column 'name.first' does not exist; 'name' is VARCHAR(3), not a ROW"),
        ("day = 'x'", "column 'day': cannot compare DATE with 'x'"),
        ("day = 5", "column 'day': cannot compare DATE with 5"),
        ("day in ('2026-01-01', 'x')", "column 'day': cannot compare DATE with 'x'"),
        ("seen = '2026-13-01'", "column 'seen': cannot compare TIMESTAMP(3) with '2026-13-01'"),
        ("amount = '5'", "column 'amount': cannot compare INT with '5'"),
        ("amount = true", "column 'amount': cannot compare INT with TRUE"),
        ("open = 1", "column 'open': cannot compare BOOLEAN with 1"),
        ("name = 5", "column 'name': cannot compare VARCHAR(3) with 5"),
        ("home = 5", "column 'home': cannot compare ROW with 5"),
        ("clock = date '2026-01-01'", "column 'clock': cannot compare TIME(3) with DATE '2026-01-01'"),
        ("amount like '1%'", "column 'amount': LIKE needs text, found INT"),
        (
            "name like 'a!b' escape '!'",
            "name LIKE 'a!b' ESCAPE '!': the escape character may stand only before %, _ and itself",
        ),
    ],
)
def test_what_does_not_fit_is_said_plainly(text, message):
    with pytest.raises(InvalidInputError) as error:
        bind(parse(text), ORDERS)
    assert str(error.value) == message


def test_a_wall_clock_is_not_compared_with_an_instant():
    instant = datetime(2026, 11, 1, tzinfo=timezone.utc)  # noqa: UP017  # the plain name reads better here
    with pytest.raises(InvalidInputError, match=r"TIMESTAMP\(3\) has no time zone"):
        bind(col("seen") == instant, ORDERS)


def nots(predicate):
    match predicate:
        case And(predicates=parts) | Or(predicates=parts):
            return [inner for part in parts for inner in nots(part)]
        case Not(predicate=inner):
            return [inner, *nots(inner)]
        case _:
            return []


@settings(max_examples=100, deadline=None)
@given(predicates(floats=True))
def test_binding_leaves_not_only_before_in_and_like(predicate):
    assert all(isinstance(inner, (In, Like)) for inner in nots(bind(predicate, FIELDS)))


@settings(max_examples=100, deadline=None)
@given(predicates(floats=True))
def test_binding_again_changes_nothing(predicate):
    bound = bind(predicate, FIELDS)
    assert str(bind(bound, FIELDS)) == str(bound)


@settings(max_examples=100, deadline=None)
@given(cases(floats=True))
def test_a_split_predicate_is_the_conjunction_of_its_parts(case):
    predicate, rows = case
    bound = bind(predicate, FIELDS)
    names = {"amount", "count", "name", "home", "day"}
    inside, outside = split(bound, names)
    assert all(path[0] in names for path in columns(inside))
    assert mask(inside & outside, rows) == mask(bound, rows)


@settings(max_examples=100, deadline=None)
@given(cases(floats=True))
def test_a_projected_predicate_is_true_wherever_the_predicate_is(case):
    predicate, rows = case
    bound = bind(predicate, FIELDS)
    names = {"amount", "count", "name", "home", "day"}
    projected = project(bound, names)
    assert all(path[0] in names for path in columns(projected))
    strong, weak = mask(bound, rows).to_pylist(), mask(projected, rows).to_pylist()
    assert all(b for a, b in zip(strong, weak, strict=True) if a)


def test_a_projection_keeps_what_both_branches_say():
    predicate = parse("(day = '2026-01-01' and amount > 1) or (day = '2026-01-02' and amount > 2)")
    assert project(predicate, {"day"}) == parse("day = '2026-01-01' or day = '2026-01-02'")


def test_conjuncts_and_columns():
    predicate = parse("a = 1 and (b.c = 2 or d is null) and not e like 'x'")
    assert len(conjuncts(predicate)) == 3
    assert conjuncts(TRUE) == ()
    assert conjuncts(FALSE) == (FALSE,)
    assert columns(predicate) == {("a",), ("b", "c"), ("d",), ("e",)}


def test_not_is_pushed_down_under_three_valued_logic():
    assert push_not(~~(col("a") > 1)) == (col("a") > 1)
    assert push_not(~((col("a") > 1) & ~(col("b").is_null()))) == (col("a") <= 1) | col("b").is_null()
    assert isinstance(push_not(~(col("a") == 1)), Compare)
