import struct
from decimal import Decimal

import pyarrow as pa
import pytest
from pyroaring import BitMap

from polynya.codec.bitmap import encode32
from polynya.errors import CorruptFileError, InvalidInputError
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_type
from polynya.model.bind import bind
from polynya.model.predicate import Not, col
from polynya.paimon.file_index import bsi, build

VALUES = [7, None, -1, 5, 0]


def body_of(type, values):
    return build("bsi", pa.array(values, to_arrow_type(type)), type, {})


def ask(body, predicate, type, row_count=5):
    return bsi.evaluate(body, bind(predicate, (t.Field(0, "c", type),)), type, row_count, name="f.index")


def half(high, existence, *slices):
    head = struct.pack(">BBqq", 1, 1, 0, high)
    return b"".join([head, encode32(existence), struct.pack(">i", len(slices)), *map(encode32, slices)])


def test_the_worked_index():
    positive = half(7, BitMap([0, 3, 4]), BitMap([0, 3]), BitMap([0]), BitMap([0, 3]))
    assert body_of(t.BigInt(), VALUES) == bytes.fromhex("01 00000005") + positive + half(1, BitMap([2]), BitMap([2]))


def test_a_column_of_nulls_has_no_half():
    assert body_of(t.Int(), [None, None]) == bytes.fromhex("01 00000002 00 00")


@pytest.mark.parametrize(
    ("predicate", "rows"),
    [
        (col("c") == 5, {3}),
        (col("c") == -1, {2}),
        (col("c") == 6, set()),
        (col("c") != 5, {0, 2, 4}),
        (col("c") < 0, {2}),
        (col("c") <= 0, {2, 4}),
        (col("c") < 6, {2, 3, 4}),
        (col("c") > -2, {0, 2, 3, 4}),
        (col("c") > -1, {0, 3, 4}),
        (col("c") >= 5, {0, 3}),
        (col("c") > 7, set()),
        (col("c") < -(2**63) + 1, set()),
        (col("c") >= -(2**63) + 1, {0, 2, 3, 4}),
        (col("c").is_in([7, -1, 100]), {0, 2}),
        (Not(col("c").is_in([7, -1, 100])), {3, 4}),
        (col("c").is_null(), {1}),
        (col("c").is_not_null(), {0, 2, 3, 4}),
    ],
    ids=str,
)
def test_rows_are_exact(predicate, rows):
    assert set(ask(body_of(t.BigInt(), VALUES), predicate, t.BigInt())) == rows


def test_the_rest_of_a_microsecond_is_not_lost():
    body = build("bsi", pa.array([1001, 1003, 2001], pa.timestamp("ns")), t.Timestamp(9), {})
    literal = pa.scalar(1002, pa.timestamp("ns"))
    assert set(ask(body, col("c") < literal, t.Timestamp(9), 3)) == {0, 1}
    assert set(ask(body, col("c") > literal, t.Timestamp(9), 3)) == {0, 1, 2}
    assert set(ask(body, col("c") != literal, t.Timestamp(9), 3)) == {0, 1, 2}


def test_a_decimal_beyond_64_bits_is_compared():
    type = t.Decimal(30, 0)
    body = body_of(type, [Decimal(5), Decimal(-5)])
    assert set(ask(body, col("c") < Decimal(10**25), type, 2)) == {0, 1}
    assert set(ask(body, col("c") == Decimal(10**25), type, 2)) == set()


def test_a_decimal_beyond_64_bits_cannot_be_stored():
    with pytest.raises(InvalidInputError, match="64 bits"):
        body_of(t.Decimal(30, 0), [Decimal(10**25), None])


def test_the_least_number_of_64_bits_cannot_be_stored():
    with pytest.raises(InvalidInputError, match="use range-bitmap"):
        body_of(t.BigInt(), [-(2**63)])


@pytest.mark.parametrize("type", [t.Boolean(), t.Float(), t.VarChar(), t.Row(())], ids=str)
def test_types_that_are_no_numbers_are_not_accepted(type):
    assert not bsi.accepts(type)


def test_a_cut_index_is_corrupt():
    body = body_of(t.BigInt(), VALUES)
    for size in range(len(body)):
        with pytest.raises(CorruptFileError, match=r"f\.index"):
            ask(body[:size], col("c") == 5, t.BigInt())
