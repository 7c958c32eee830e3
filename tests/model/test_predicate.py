from datetime import date, datetime, time
from decimal import Decimal

import pytest

from polynya.errors import InvalidInputError
from polynya.model.predicate import FALSE, TRUE, And, Compare, In, IsNull, Like, Not, Op, Or, all_of, any_of, col


def test_columns_build_comparisons():
    assert (col("amount") > 10) == Compare(Op.GT, ("amount",), 10)
    assert (col("amount") == 10) == Compare(Op.EQ, ("amount",), 10)
    assert (col("amount") != 10) == Compare(Op.NE, ("amount",), 10)
    assert col("amount").is_in([1, 2]) == In(("amount",), (1, 2))
    assert col("a.b.c").is_null() == IsNull(("a", "b", "c"))
    assert col("`a.b`.c").is_null() == IsNull(("a.b", "c"))


def test_combinations_are_flat():
    a, b, c = col("a") > 1, col("b") > 1, col("c") > 1
    assert (a & b & c) == And((a, b, c))
    assert (a | b | c) == Or((a, b, c))
    assert ~(a & b) == Not(And((a, b)))


def test_constants_vanish_from_combinations():
    a = col("a") > 1
    assert all_of(a, TRUE) == a
    assert all_of(a, FALSE) == FALSE
    assert any_of(a, FALSE) == a
    assert any_of(a, TRUE) == TRUE
    assert all_of() == TRUE
    assert any_of() == FALSE


def test_between_is_two_comparisons():
    assert col("a").between(1, 3) == (col("a") >= 1) & (col("a") <= 3)


def test_starts_with_takes_its_text_literally():
    assert col("a").starts_with("5%_\\") == Like(("a",), "5\\%\\_\\\\%")


def test_a_predicate_has_no_truth_value():
    with pytest.raises(InvalidInputError, match="has no truth value"):
        bool(col("a") > 1 and col("b") > 1)


@pytest.mark.parametrize("name", ["", ".", "a.", ".a", "a..b", "`a", "a`b"])
def test_a_name_that_is_no_path_is_refused(name):
    with pytest.raises(InvalidInputError, match="expected names joined by dots"):
        col(name)


def test_a_value_of_another_kind_is_refused_in_text():
    with pytest.raises(InvalidInputError, match="a predicate cannot hold"):
        str(col("a") == object())


@pytest.mark.parametrize(
    ("predicate", "text"),
    [
        (col("amount") > 10, "amount > 10"),
        (col("price") != Decimal("1.50"), "price <> 1.50"),
        (col("x") == 1.5, "x = 1.5D"),
        (col("x") == float("-inf"), "x = CAST('-Infinity' AS DOUBLE)"),
        (col("s") == "it's \\", "s = 'it''s \\\\'"),
        (col("b") == b"\x0a\xff", "b = X'0AFF'"),
        (col("d") == date(2026, 11, 1), "d = DATE '2026-11-01'"),
        (col("t") < time(1, 2, 3), "t < TIME '01:02:03'"),
        (col("ts") < datetime(2026, 11, 1, 2, 3, 4, 5), "ts < TIMESTAMP '2026-11-01 02:03:04.000005'"),
        (col("ok") == True, "ok = TRUE"),  # noqa: E712  # the builder's meaning of ==
        (col("n") == None, "n = NULL"),  # noqa: E711  # the builder's meaning of ==
        (~col("s").is_in(["a", None]), "s NOT IN ('a', NULL)"),
        (~col("s").like("a!%%", "!"), "s NOT LIKE 'a!%%' ESCAPE '!'"),
        (~(col("a") > 1), "NOT (a > 1)"),
        ((col("a") > 1) & ((col("b") < 2) | col("c").is_null()), "a > 1 AND (b < 2 OR c IS NULL)"),
        ((col("a") > 1) & (col("b") < 2) | col("c").is_not_null(), "(a > 1 AND b < 2) OR c IS NOT NULL"),
        (col("`odd name`.select.`tick``ed`") == 1, "`odd name`.`select`.`tick``ed` = 1"),
        (TRUE, "TRUE"),
    ],
)
def test_a_predicate_reads_as_sql(predicate, text):
    assert str(predicate) == text
