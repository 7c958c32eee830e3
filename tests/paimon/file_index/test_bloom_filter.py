from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pytest

from polynya.errors import CorruptFileError, InvalidInputError
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_type
from polynya.model.bind import bind
from polynya.model.predicate import col
from polynya.paimon.file_index import REMAIN, SKIP, bloom_filter, build

FEW = {"items": "10"}


def body_of(type, values, settings=FEW):
    return build("bloom-filter", pa.array(values, to_arrow_type(type)), type, settings)


def ask(body, predicate, type, row_count=3):
    leaf = bind(predicate, (t.Field(0, "c", type),))
    return bloom_filter.evaluate(body, leaf, type, row_count, name="f.index")


@pytest.mark.parametrize(
    ("type", "values", "bits"),
    [
        (t.Int(), [1, 2, -3], "882101414000"),
        (t.VarChar(), ["a", "hello"], "008024700000"),
        (t.Float(), [1.5], "004000003000"),
        (t.Double(), [1.5], "080000040040"),
        (t.Date(), [date(2024, 1, 1)], "802400000000"),
        (t.Timestamp(3), [datetime(2024, 1, 1, 0, 0, 0, 123000)], "000100008001"),
        (t.TinyInt(), [7], "100080800000"),
        (t.SmallInt(), [7, None], "100080800000"),
    ],
    ids=str,
)
def test_worked_filters(type, values, bits):
    assert body_of(type, values).hex() == "00000003" + bits


def test_the_default_filter_has_599071_bytes():
    body = body_of(t.Int(), [1], {})
    assert (len(body), body[:4].hex()) == (599_071, "00000003")


def test_aligned_bits_get_a_byte_more():
    assert len(body_of(t.Int(), [], {"items": "5"})) == 4 + 24 // 8


def test_the_large_filter_sets_the_same_bits(monkeypatch):
    values = list(range(-500, 500))
    expected = body_of(t.BigInt(), values, {"items": "1000"})
    monkeypatch.setattr(bloom_filter, "_FLAGS_MAX", 0)
    assert body_of(t.BigInt(), values, {"items": "1000"}) == expected


def test_batches_make_the_filter_of_the_whole_column():
    column = pa.array([f"v{number}" for number in range(200)])
    parts = (column.slice(at, 33) for at in range(0, 200, 33))
    assert build("bloom-filter", parts, t.VarChar(), FEW) == build("bloom-filter", column, t.VarChar(), FEW)


def test_a_value_that_is_there_remains():
    body = body_of(t.Int(), [1, 2, -3])
    assert [ask(body, col("c") == value, t.Int()) for value in (1, 2, -3)] == [REMAIN] * 3


def test_a_value_that_is_not_there_skips():
    body = body_of(t.Int(), [1, 2, -3], {"items": "1000"})
    assert {ask(body, col("c") == value, t.Int()) for value in range(100, 110)} == {SKIP}


def test_one_of_the_values_in_a_list_is_enough():
    body = body_of(t.VarChar(), ["a"], {"items": "1000"})
    assert ask(body, col("c").is_in(["x", "y", "a"]), t.VarChar()) is REMAIN
    assert ask(body, col("c").is_in(["x", "y", "z"]), t.VarChar()) is SKIP


@pytest.mark.parametrize(
    "predicate", [col("c") != 1, col("c") < 1, col("c").is_null(), col("c").is_not_null()], ids=str
)
def test_other_questions_remain(predicate):
    assert ask(body_of(t.Int(), [5]), predicate, t.Int()) is REMAIN


def test_zero_is_found_with_either_sign():
    for stored in (0.0, -0.0):
        body = body_of(t.Double(), [stored], {"items": "1000"})
        assert ask(body, col("c") == 0.0, t.Double()) is REMAIN


def test_every_nan_is_one_value():
    odd = np.array([0x7FF8000000000001], dtype=np.uint64).view(np.float64)
    body = build("bloom-filter", pa.array(odd), t.Double(), FEW)
    assert body == body_of(t.Double(), [float("nan")])


def test_nanoseconds_are_cut_to_microseconds():
    nanos = pa.array([-1, 1999], pa.timestamp("ns"))
    assert build("bloom-filter", nanos, t.Timestamp(9), FEW) == body_of(t.BigInt(), [-1, 1])


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"items": "0"}, "'items' must be a whole number"),
        ({"items": "many"}, "'items' must be a whole number"),
        ({"items": "2000000000"}, "'items' must give at most"),
        ({"fpp": "1"}, "'fpp' must be between 0 and 1"),
        ({"fpp": "nan"}, "'fpp' must be between 0 and 1"),
        ({"fpp": "low"}, "'fpp' must be a number"),
    ],
    ids=str,
)
def test_settings_that_cannot_be_are_refused(settings, problem):
    with pytest.raises(InvalidInputError, match=problem):
        bloom_filter.Writer(t.Int(), settings)


@pytest.mark.parametrize("type", [t.Boolean(), t.Decimal(5, 2), t.Array(t.Int())], ids=str)
def test_types_without_a_hash_are_not_accepted(type):
    assert not bloom_filter.accepts(type)


@pytest.mark.parametrize("body", ["", "000000", "00000003", "00000000ff", "7fffffffff", "ffffffffff"])
def test_a_damaged_filter_is_corrupt(body):
    with pytest.raises(CorruptFileError, match=r"f\.index"):
        ask(bytes.fromhex(body), col("c") == 1, t.Int())
