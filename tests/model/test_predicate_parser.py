import contextlib
import math
import subprocess
import sys
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polynya.errors import InvalidInputError, UnsupportedError
from polynya.model.predicate import FALSE, TRUE, Compare, In, IsNotNull, IsNull, Like, Not, Op, col
from polynya.model.predicate_parser import parse
from predicate_cases import predicates


@settings(max_examples=300, deadline=None)
@given(predicates(floats=True))
def test_the_text_of_a_predicate_parses_to_it(predicate):
    assert str(parse(str(predicate))) == str(predicate)
    if "NaN" not in str(predicate):  # which does not equal itself
        assert parse(str(predicate)) == predicate


@settings(max_examples=200, deadline=None)
@given(st.text(min_size=1).filter(lambda name: "\0" not in name), st.text())
def test_any_name_and_any_text_survive(name, text):
    predicate = Compare(Op.EQ, (name, "x"), text)
    assert parse(str(predicate)) == predicate


@pytest.mark.parametrize("name", ["date", "comment", "values", "timestamp", "if", "order", "group", "key", "left"])
def test_a_keyword_can_be_a_column(name):
    predicate = (col(name) == 1) & col(f"r.{name}").is_null() & ~col(name).is_in([2])
    assert parse(str(predicate)) == predicate


@pytest.mark.parametrize(
    ("text", "predicate"),
    [
        ("5 < amount", col("amount") > 5),
        ("a == 1 and b != 2 or not c >= 3", (col("a") == 1) & (col("b") != 2) | ~(col("c") >= 3)),
        ("(a = 1 and b = 2) and c = 3", (col("a") == 1) & (col("b") == 2) & (col("c") == 3)),
        ("a between -1 and 1", col("a").between(-1, 1)),
        ("a not between 1 and 2", ~col("a").between(1, 2)),
        ("a in (1, -2.5, null)", In(("a",), (1, Decimal("-2.5"), None))),
        ("a not in (1)", Not(In(("a",), (1,)))),
        ("a is null", IsNull(("a",))),
        ("a is not null", IsNotNull(("a",))),
        ("a like 'x%'", Like(("a",), "x%")),
        ("a like 'x\\_%'", Like(("a",), "x\\_%")),
        ("a not like 'x!%' escape '!'", Not(Like(("a",), "x!%", "!"))),
        ("startswith(a, 'x%')", Like(("a",), "x\\%%")),
        ("active", Compare(Op.EQ, ("active",), True)),
        ("not active", Not(Compare(Op.EQ, ("active",), True))),
        ("active is true", IsNotNull(("active",)) & Compare(Op.EQ, ("active",), True)),
        ("a <=> 1", IsNotNull(("a",)) & (col("a") == 1)),
        ("a <=> null", IsNull(("a",))),
        ("a is distinct from 1", ~(IsNotNull(("a",)) & (col("a") == 1))),
        ("a.b.c.d.e.f = 1", col("a.b.c.d.e.f") == 1),
        ("`a.b`.`c d` = 1", col("`a.b`.`c d`") == 1),
        ("1 = 1 and a = 1", col("a") == 1),
        ("true", TRUE),
        ("1 <> 1", FALSE),
        ("a = 1 -- all of them", col("a") == 1),
    ],
)
def test_sql_becomes_a_predicate(text, predicate):
    assert parse(text) == predicate


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("-12", -12),
        ("- -12", 12),
        ("99999999999999999999", 99999999999999999999),
        ("1.50", Decimal("1.50")),
        (".5", Decimal("0.5")),
        ("1e3", 1000.0),
        ("12L", 12),
        ("1.5D", 1.5),
        ("0.1F", 0.10000000149011612),
        ("1.25BD", Decimal("1.25")),
        ("cast('Infinity' as double)", math.inf),
        ("'it''s'", "it's"),
        ("'it\\'s'", "it's"),
        ('"text"', "text"),
        ("'a\\\\b\\nc'", "a\\b\nc"),
        ("X'0aFF'", b"\x0a\xff"),
        ("true", True),
        ("null", None),
        ("DATE '2026-11-1'", date(2026, 11, 1)),
        ("TIME '1:02:03.5'", time(1, 2, 3, 500000)),
        ("TIMESTAMP '2026-11-01'", datetime(2026, 11, 1)),
        ("TIMESTAMP '2026-11-01 01:02'", datetime(2026, 11, 1, 1, 2)),
        ("TIMESTAMP_NTZ '2026-11-01T01:02:03.25'", datetime(2026, 11, 1, 1, 2, 3, 250000)),
        ("TIMESTAMP '2026-11-01 01:02:03Z'", datetime(2026, 11, 1, 1, 2, 3, tzinfo=UTC)),
        (
            "TIMESTAMP '2026-11-01 01:02:03 -03:30'",
            datetime(2026, 11, 1, 1, 2, 3, tzinfo=timezone(-timedelta(hours=3, minutes=30))),
        ),
        ("TIMESTAMP '1970-01-01 00:00:00.000000001'", pa.scalar(1, pa.timestamp("ns"))),
        ("TIMESTAMP '1970-01-01 02:00:00.000000001+02:00'", pa.scalar(1, pa.timestamp("ns", "UTC"))),
    ],
)
def test_a_literal_becomes_a_value(text, value):
    found = parse(f"a = {text}").value
    assert found == value
    assert found.__class__ is value.__class__


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cast(a as int) = 1", "predicate: a cast is not supported: CAST(a AS INT)"),
        ("a = cast('2026-01-01' as date)", "predicate: a cast is not supported: CAST('2026-01-01' AS DATE)"),
        ("upper(a) = 'x'", "predicate: function upper is not supported: UPPER(a)"),
        ("magic(a) = 'x'", "predicate: function magic is not supported: MAGIC(a)"),
        ("a = current_date", "predicate: function current_date is not supported: CURRENT_DATE"),
        ("a = b", "predicate: a comparison of two columns is not supported: a = b"),
        ("a in (1, b)", "predicate: a column in the place of a literal is not supported: b"),
        ("a in (select 1)", "predicate: a subquery is not supported: a IN (SELECT 1)"),
        ("exists (select 1)", "predicate: a subquery is not supported: EXISTS(SELECT 1)"),
        ("a = (select 1)", "predicate: a subquery is not supported: SELECT 1"),
        ("a + 1 = 2", "predicate: the expression ADD is not supported: a + 1"),
        ("a[0] = 2", "predicate: the expression BRACKET is not supported: a[0]"),
        ("a rlike 'x'", "predicate: function regexp_like is not supported: a RLIKE 'x'"),
        ("1 < 2", "predicate: a comparison of two literals is not supported: 1 < 2"),
        ("null", "predicate: NULL as a condition is not supported: NULL"),
        ("a = 1; b = 2", "predicate: the expression BLOCK is not supported: a = 1; b = 2"),
        ("a like b", "predicate: a column in the place of a literal is not supported: b"),
        ("a = ?", "predicate: the expression PLACEHOLDER is not supported: ?"),
    ],
)
def test_what_is_not_understood_is_named(text, message):
    with pytest.raises(UnsupportedError) as error:
        parse(text)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "predicate '': expected a condition, found nothing"),
        ("a >", "predicate 'a >': syntax error at line 1, column 3: something is missing after '>'"),
        ("a = 1)", "predicate 'a = 1)': syntax error at line 1, column 6 near ')'"),
        ("(a = 1", "predicate '(a = 1': syntax error at line 1, column 6 near '1'"),
        ("a b c", "predicate 'a b c': syntax error at line 1, column 3 near 'b'"),
        ("a = 'x", "predicate \"a = 'x\": syntax error at line 1, column 4: ' is not closed"),
        ("drop table t", "predicate 'drop table t': syntax error at line 1, column 4 near 'drop'"),
        ("a = DATE '2026-02-30'", "DATE '2026-02-30': not a valid DATE"),
        ("a = TIMESTAMP 'noon'", "TIMESTAMP 'noon': not a valid TIMESTAMP"),
        ("a = TIME '25:00'", "TIME '25:00': not a valid TIME"),
    ],
)
def test_a_syntax_error_tells_its_position(text, message):
    with pytest.raises(InvalidInputError) as error:
        parse(text)
    assert str(error.value) == message


@settings(max_examples=200, deadline=None)
@given(st.text("ab1=<>()'`\" \\.,-+*[]{}?:;/%_\nXND", max_size=20))
def test_no_text_gives_another_error(text):
    with contextlib.suppress(InvalidInputError, UnsupportedError):
        parse(text)


def test_long_conditions_parse_and_deep_ones_are_refused():
    assert len(parse(" or ".join(f"a = {n}" for n in range(2000))).predicates) == 2000
    with pytest.raises(InvalidInputError, match="nested too deep"):
        parse("not (" * 20000 + "a" + ")" * 20000)


def test_building_a_predicate_does_not_import_sqlglot():
    code = "import sys, polynya.model.bind, polynya.arrow.filters; sys.exit('sqlglot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
