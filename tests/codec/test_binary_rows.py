"""Columns of BinaryRows: equal to the rows one by one, both ways."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from codec.row_columns import VALUES, columns, rows
from polynya.codec.binary_row import decode_row, encode_row
from polynya.codec.binary_rows import decode_rows, encode_rows
from polynya.errors import CorruptFileError, InvalidInputError, UnsupportedError


@given(rows(), st.booleans())
def test_columns_encode_as_their_rows_do(case, prefixed):
    types, values = case
    encoded = encode_rows(columns(types, values), arity_prefix=prefixed)
    assert encoded.to_pylist() == [encode_row(row, types)[0 if prefixed else 4 :] for row in values]


@given(rows())
def test_decoding_what_was_encoded_gives_the_columns(case):
    types, values = case
    given_columns = columns(types, values)
    decoded = decode_rows(encode_rows(given_columns), types, name="rows")
    for column, expected in zip(decoded, given_columns, strict=True):
        column.validate(full=True)
        assert column.equals(expected)


@settings(max_examples=5, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(rows(st.integers(50, 130)))
def test_many_fields_encode_and_decode(case):
    types, values = case
    given_columns = columns(types, values)
    encoded = encode_rows(given_columns)
    assert encoded.to_pylist() == [encode_row(row, types) for row in values]
    assert all(a.equals(b) for a, b in zip(decode_rows(encoded, types, name="rows"), given_columns, strict=True))


@given(rows(st.just(4)), st.integers(0, 5))
def test_slices_and_chunks_encode_as_the_whole(case, cut):
    types, values = case
    whole = columns(types, values)
    chunked = [pa.chunked_array([column[:cut], column[cut:]], column.type) for column in whole]
    assert encode_rows(chunked).equals(encode_rows(whole))
    assert encode_rows([column[cut:] for column in whole]).to_pylist() == encode_rows(whole).to_pylist()[cut:]


def test_chunks_of_rows_decode_as_one():
    encoded = pa.chunked_array([encode_rows([pa.array(["a", "long enough"])]), encode_rows([pa.array([None, "b"])])])
    (column,) = decode_rows(encoded.slice(1), [pa.string()], name="rows")
    assert column.to_pylist() == ["long enough", None, "b"]


def test_null_row_has_null_fields():
    row = encode_row([1, "x"], [pa.int32(), pa.string()])
    decoded = decode_rows(pa.array([None, row]), [pa.int32(), pa.string()], name="rows")
    assert [column.to_pylist() for column in decoded] == [[None, 1], [None, "x"]]


def test_only_the_fields_asked_for_are_decoded():
    encoded = encode_rows([pa.array([1]), pa.array(["text of some length"]), pa.array([2.5])])
    decoded = decode_rows(encoded, [pa.int64(), pa.string(), pa.float64()], name="rows", indexes=[2, 1])
    assert [column.to_pylist() for column in decoded] == [[2.5], ["text of some length"]]


def test_rows_without_fields_have_only_a_header():
    assert encode_rows([], row_count=2).to_pylist() == [bytes(12)] * 2
    assert decode_rows(pa.array([bytes(12)]), [], name="rows") == []


@pytest.mark.parametrize("type", VALUES, ids=str)
def test_no_rows_encode_and_decode(type):
    assert decode_rows(encode_rows([pa.array([], type)]), [type], name="rows")[0].type == type


@pytest.mark.parametrize(
    ("column", "plain"),
    [
        (pa.array(["a", None, "longer text"]).dictionary_encode(), pa.string()),
        (pa.array(["a", None, "longer text"], pa.large_string()), pa.string()),
        (pa.array(["a", None, "longer text"], pa.string_view()), pa.string()),
        (pa.array([b"abc", None], pa.binary(3)), pa.binary()),
        (pa.array([b"abc", None], pa.binary_view()), pa.binary()),
        (pa.array([1, None], pa.timestamp("s")), pa.timestamp("ms")),
        (pa.array([1, None], pa.time32("s")), pa.time32("ms")),
    ],
    ids=lambda value: str(getattr(value, "type", value)),
)
def test_other_arrow_forms_encode_as_the_plain_one(column, plain):
    value_type = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    assert encode_rows([column]).equals(encode_rows([column.cast(value_type).cast(plain)]))


def test_garbage_under_nulls_is_not_encoded():
    mask = np.array([True, False])
    column = pa.Array.from_buffers(
        pa.int64(), 2, [pa.py_buffer(np.packbits(~mask, bitorder="little")), pa.py_buffer(np.array([99, 1]))]
    )
    assert encode_rows([column]).to_pylist() == [encode_row([v], [pa.int64()]) for v in (None, 1)]


def test_nested_columns_pass_only_as_nulls():
    type = pa.list_(pa.int32())
    encoded = encode_rows([pa.nulls(2, type)])
    assert decode_rows(encoded, [type], name="rows")[0].equals(pa.nulls(2, type))
    with pytest.raises(UnsupportedError, match="list<"):
        encode_rows([pa.array([[1], None], type)])
    with pytest.raises(UnsupportedError, match="list<"):
        decode_rows(encode_rows([pa.array([1])]), [type], name="rows")


def test_time_beyond_the_nanoseconds_of_arrow_is_unsupported():
    data = encode_row([-62_135_596_800_000_000], [pa.timestamp("us")])
    with pytest.raises(UnsupportedError, match="1677-09-21"):
        decode_rows(pa.array([data]), [pa.timestamp("ns")], name="rows")


def test_the_first_and_the_last_nanosecond_of_arrow_come_back():
    times = pa.array([1 - 2**63, -1, 0, None, 2**63 - 1], pa.timestamp("ns"))
    assert decode_rows(encode_rows([times]), [times.type], name="rows")[0].equals(times)


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(InvalidInputError, match="columns of 1 rows"):
        encode_rows([pa.array([1]), pa.array([1, 2])])


@given(data=st.data(), case=rows())
def test_damage_is_corrupt_or_decodes_as_each_row_does(data, case):
    types, values = case
    stored = [bytearray(encode_row(row, types)) for row in values]
    for _ in range(4 if stored else 0):
        row = data.draw(st.sampled_from(stored))
        row[data.draw(st.integers(0, len(row) - 1))] = data.draw(st.integers(0, 255))
    if stored and data.draw(st.booleans()):
        row = data.draw(st.sampled_from(stored))
        del row[data.draw(st.integers(0, len(row))) :]
    try:
        decoded = decode_rows(pa.array([bytes(row) for row in stored], pa.binary()), types, name="manifest-1")
    except CorruptFileError as error:
        assert "manifest-1" in str(error)  # noqa: PT017  # one of two right outcomes
        return
    except UnsupportedError:
        return
    singly = [decode_row(bytes(row), types) for row in stored]
    for column, expected in zip(decoded, columns_or_none(types, singly), strict=True):
        column.validate(full=True)
        assert expected is None or column.equals(expected) or column.type in (pa.float32(), pa.float64())


def columns_or_none(types, values):
    """The columns of rows, with None for dates that Python's calendar cannot name."""
    for index, type in enumerate(types):
        yield None if type == pa.date32() else columns([type], [(row[index],) for row in values])[0]


@pytest.mark.parametrize(
    ("row", "type"),
    [
        ("", pa.int32()),
        ("0000", pa.int32()),
        ("00000001", pa.int32()),
        ("00000002 0000000000000000 0000000000000000 0000000000000000", pa.int32()),
        ("ffffffff 0000000000000000 0000000000000000", pa.int32()),
        ("00000001 0000000000000000 00000000000000ff", pa.string()),
        ("00000001 0000000000000000 0800000010000000", pa.string()),
        ("00000001 0000000000000000 ffffffff10000000", pa.string()),
        ("00000001 0000000000000000 ffffff7fffffff7f", pa.binary()),
        ("00000001 0000000000000000 ff00000000000081", pa.string()),
        ("00000001 0000000000000000 1100000000000000 0000000000000000", pa.decimal128(20, 2)),
        ("00000001 0000000000000000 ffffffffffffff7f", pa.decimal128(10, 2)),
        ("00000001 0000000000000000 005c260500000000", pa.time32("ms")),
        ("00000001 0000000000000000 40420f0010000000 0000000000000000", pa.timestamp("us")),
        ("00000001 0000000000000000 0000000011000000 0000000000000000", pa.timestamp("us")),
        ("00000001 0000000000000000 0000000010000000 ffffffffffffff7f", pa.timestamp("us")),
    ],
)
def test_row_that_breaks_a_rule_is_corrupt(row, type):
    good = encode_row([None], [type])
    with pytest.raises(CorruptFileError, match=r"manifest-1, BinaryRow"):
        decode_rows(pa.array([good, bytes.fromhex(row)]), [type], name="manifest-1")


def test_decimal_of_every_byte_length_round_trips():
    values = [Decimal(sign * (2**bit + step)) for bit in range(126) for step in (-1, 0, 1) for sign in (1, -1)]
    column = pa.array(values, pa.decimal128(38, 0))
    encoded = encode_rows([column])
    assert encoded.to_pylist() == [encode_row([value], [column.type]) for value in values]
    assert decode_rows(encoded, [column.type], name="rows")[0].equals(column)
