"""One BinaryRow: the worked examples of the format, the round trip, damage."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codec.row_columns import rows
from polynya.codec.binary_row import decode_row, encode_row
from polynya.errors import CorruptFileError, InvalidInputError, UnsupportedError

DAY = (date(2024, 2, 29) - date(1970, 1, 1)).days
MILLIS = int(datetime(2024, 1, 2, 3, 4, 5, 678000, UTC).timestamp() * 1000)

EXAMPLES = {
    "empty row": ([], [], "00000000 0000000000000000"),
    "short text in the slot": (
        ["abc", 7],
        [pa.string(), pa.int32()],
        "00000002 0000000000000000 6162630000000083 0700000000000000",
    ),
    "long text after the slots": (
        ["2024-01-01"],
        [pa.string()],
        "00000001 0000000000000000 0a00000010000000 323032342d30312d 3031000000000000",
    ),
    "nulls": (
        [None, -1, None],
        [pa.int32(), pa.int64(), pa.string()],
        "00000003 0005000000000000 0000000000000000 ffffffffffffffff 0000000000000000",
    ),
    "decimals": (
        [Decimal("12.34"), Decimal("-12345678901234567890.12")],
        [pa.decimal128(10, 2), pa.decimal128(22, 2)],
        "00000002 0000000000000000 d204000000000000 0900000018000000 bd12edc4f427dfc5 ec00000000000000",
    ),
    "negative power of two is one byte": (
        [Decimal("-1.28")],
        [pa.decimal128(20, 2)],
        "00000001 0000000000000000 0100000010000000 8000000000000000 0000000000000000",
    ),
    "timestamps": (
        [MILLIS * 1000 + 901, MILLIS],
        [pa.timestamp("us"), pa.timestamp("ms")],
        "00000002 0000000000000000 88bf0d0018000000 2edb20c88c010000 2edb20c88c010000",
    ),
    "plain types": (
        [True, 1.5, -2, DAY, 3723000, b"\1\2", 300],
        [pa.bool_(), pa.float64(), pa.int8(), pa.date32(), pa.time32("ms"), pa.binary(), pa.int16()],
        "00000007 0000000000000000 0100000000000000 000000000000f83f fe00000000000000 464d000000000000"
        "f8ce380000000000 0102000000000082 2c01000000000000",
    ),
    "seven and eight bytes": (
        ["1234567", "12345678", 1.5],
        [pa.string(), pa.string(), pa.float32()],
        "00000003 0000000000000000 3132333435363787 0800000020000000 0000c03f00000000 3132333435363738",
    ),
    "a null fine timestamp keeps its room": (
        [None],
        [pa.timestamp("us")],
        "00000001 0001000000000000 0000000010000000 0000000000000000",
    ),
    "a null wide decimal keeps its room": (
        [None],
        [pa.decimal128(20, 2)],
        "00000001 0001000000000000 0000000010000000 0000000000000000 0000000000000000",
    ),
}


@pytest.mark.parametrize("example", EXAMPLES)
def test_row_has_the_bytes_of_the_worked_example(example):
    values, types, expected = EXAMPLES[example]
    assert encode_row(values, types) == bytes.fromhex(expected)


@pytest.mark.parametrize("example", EXAMPLES)
def test_worked_example_decodes_to_its_values(example):
    values, types, data = EXAMPLES[example]
    assert decode_row(bytes.fromhex(data), types) == tuple(values)


@given(rows())
def test_decoding_what_was_encoded_gives_the_values(case):
    types, values = case
    for row in values:
        assert decode_row(encode_row(row, types), types) == row


@pytest.mark.parametrize(("arity", "words"), [(56, 1), (57, 2), (120, 2), (121, 3)])
def test_null_bits_take_another_word_after_56_fields(arity, words):
    data = encode_row([None] * arity, [pa.int32()] * arity)
    assert len(data) == 4 + 8 * words + 8 * arity
    assert decode_row(data, [pa.int32()] * arity) == (None,) * arity


def test_times_before_1970_round_down():
    data = encode_row([-1], [pa.timestamp("ns")])
    assert data[12:] == bytes.fromhex("3f420f0010000000 ffffffffffffffff")


@given(data=st.data(), case=rows())
def test_damaged_row_is_corrupt_or_another_row(data, case):
    types, values = case
    for row in values[:2]:
        damaged = bytearray(encode_row(row, types))
        for _ in range(3):
            damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
        cut = data.draw(st.integers(0, len(damaged)))
        for candidate in (bytes(damaged), bytes(damaged[:cut])):
            try:
                decode_row(candidate, types, name="manifest-1")
            except CorruptFileError as error:
                assert "manifest-1" in str(error)  # noqa: PT017  # one of two right outcomes


@pytest.mark.parametrize(
    ("values", "types"),
    [
        ([1, 2], [pa.int32()]),
        ([300], [pa.int8()]),
        (["x"], [pa.int32()]),
        ([1], [pa.string()]),
        ([Decimal("1.234")], [pa.decimal128(10, 2)]),
        ([Decimal("123456")], [pa.decimal128(5, 0)]),
        (["x"], [pa.decimal128(5, 0)]),
        (["x"], [pa.timestamp("us")]),
    ],
)
def test_value_that_does_not_fit_its_type_is_refused(values, types):
    with pytest.raises(InvalidInputError, match="BinaryRow"):
        encode_row(values, types)


def test_nested_value_is_refused_and_nested_null_is_not():
    types = [pa.list_(pa.int32())]
    assert decode_row(encode_row([None], types), types) == (None,)
    with pytest.raises(UnsupportedError, match="list<"):
        encode_row([[1]], types)
