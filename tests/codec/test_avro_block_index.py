import random

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polynya.codec.avro import (
    AvroSource,
    Block,
    Column,
    decode_columns,
    decode_container,
    encode_container,
    encode_file,
)
from polynya.codec.avro_block_index import KEY, blocks_holding, encode_index
from polynya.codec.value_codes import value_codes

SCHEMA = (
    '{"type":"record","name":"r","fields":[{"name":"day","type":"bytes"},{"name":"n","type":"long"},'
    '{"name":"note","type":"bytes"}]}'
)
COLUMNS = [
    Column("day", ("day",), pa.binary()),
    Column("n", ("n",), pa.int64()),
    Column("note", ("note",), pa.binary()),
]


def file_of(days):
    """A container file of many blocks with these values in order."""
    noise = random.Random(0)
    rows = {"day": days, "n": list(range(len(days))), "note": [noise.randbytes(2000) for _ in days]}
    return encode_file(
        SCHEMA, pa.table(rows, pa.schema([(one.name, one.type) for one in COLUMNS])), COLUMNS, indexed="day"
    )


def in_order(days=10, rows=60):
    return [bytes([day]) * 20 for day in range(days) for _ in range(rows)]


def found(data, *wanted):
    decoded = decode_columns([AvroSource("f", data)], COLUMNS, wanted).table
    return [row["n"] for row in decoded.to_pylist() if row["day"] in wanted]


def test_few_blocks_of_a_sorted_file_are_looked_at():
    container = decode_container(AvroSource("f", file_of(in_order())))
    held = blocks_holding(container, [bytes([4]) * 20])
    assert len(container.blocks) > 15
    assert 1 <= len(held) <= 4


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from([b"", b"a", b"ab", b"\x00", b"\xff" * 20]), min_size=300, max_size=500), st.booleans())
def test_no_record_is_lost(days, is_sorted):
    days = sorted(days) if is_sorted else days
    data = file_of(days)
    for wanted in {*days}:
        assert found(data, wanted) == [place for place, day in enumerate(days) if day == wanted]


def test_a_file_in_no_order_has_no_index():
    days = in_order()
    random.Random(1).shuffle(days)
    assert KEY not in decode_container(AvroSource("f", file_of(days))).metadata


def test_a_small_file_has_no_index():
    assert encode_index(pa.array([b"a", b"b"]), [Block(1, b"x"), Block(1, b"y")]) == {}


def test_an_index_of_other_blocks_is_not_believed():
    sorted_file = decode_container(AvroSource("f", file_of(in_order())))
    others = decode_container(AvroSource("f", file_of(in_order()[::-1]))).blocks
    data = encode_container(SCHEMA, sorted_file.codec, others, sorted_file.metadata)
    wanted = bytes([2]) * 20
    assert found(data, wanted) == [place for place, day in enumerate(in_order()[::-1]) if day == wanted]


@pytest.mark.parametrize("damage", ["", "x", "0000000000000000[]", "\x00" * 50])
def test_a_damaged_index_is_not_believed(damage):
    whole = decode_container(AvroSource("f", file_of(in_order())))
    data = encode_container(SCHEMA, whole.codec, whole.blocks, {KEY: damage})
    assert len(found(data, bytes([3]) * 20)) == 60


def test_any_changed_letter_of_an_index_is_noticed():
    whole = decode_container(AvroSource("f", file_of(in_order())))
    text = whole.metadata[KEY]
    for place in range(0, len(text), 7):
        changed = text[:place] + chr(ord(text[place]) ^ 1) + text[place + 1 :]
        data = encode_container(SCHEMA, whole.codec, whole.blocks, {KEY: changed})
        assert len(found(data, bytes([3]) * 20)) == 60


@given(st.lists(st.sampled_from([None, b"", b"a", b"b", b"\x00\x00", b"ab"])), st.integers(0, 3))
def test_codes_are_those_of_a_dictionary(values, start):
    array = pa.array(values, pa.binary()).slice(start)
    codes, distinct = value_codes(array.drop_null())
    encoded = array.drop_null().dictionary_encode()
    assert codes.tolist() == encoded.indices.to_pylist()
    assert distinct.equals(encoded.dictionary)
