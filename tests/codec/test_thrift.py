"""Thrift's compact protocol: what was encoded comes back, what Parquet wrote is understood, damage is named."""

import contextlib
import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polynya.codec import thrift
from polynya.codec.thrift import BINARY, BYTE, I16, I32, I64, LIST, STRUCT, TRUE, Field, List
from polynya.errors import CorruptFileError

NUMBERS = st.integers(-(2**63), 2**63 - 1)
SIMPLE = st.one_of(
    st.builds(Field, st.sampled_from([I16, I32, I64]), NUMBERS),
    st.builds(Field, st.just(BYTE), st.integers(0, 255)),
    st.builds(Field, st.just(BINARY), st.binary(max_size=200)),
    st.booleans().map(lambda truth: Field(TRUE if truth else thrift.FALSE, truth)),
)
STRUCTS = st.recursive(
    st.dictionaries(st.integers(1, 300), SIMPLE, max_size=5),
    lambda inner: st.dictionaries(
        st.integers(1, 300),
        st.one_of(
            inner.map(lambda one: Field(STRUCT, one)),
            st.lists(inner, max_size=20).map(lambda many: Field(LIST, List(STRUCT, many))),
            st.lists(NUMBERS, max_size=20).map(lambda many: Field(LIST, List(I64, many))),
        ),
        max_size=3,
    ),
    max_leaves=8,
)


def footer():
    sink = io.BytesIO()
    pq.write_table(pa.table({"id": [1, 2], "who": [{"name": "a"}, None]}), sink, write_page_index=True)
    data = sink.getvalue()
    size = int.from_bytes(data[-8:-4], "little")
    return data[-8 - size : -8]


@given(STRUCTS)
def test_what_was_encoded_comes_back(struct):
    assert thrift.decode(thrift.encode(struct, "x"), "x") == struct


def test_the_footer_of_a_parquet_file_is_understood_and_encoded_to_the_byte():
    found = thrift.decode(footer(), "x")
    names = [thrift.value(one, 4, bytes, "x") for one in thrift.values(found, 2, dict, "x")]
    assert names == [b"schema", b"id", b"who", b"name"]
    assert thrift.encode(found, "x") == footer()


@pytest.mark.parametrize("kind", [thrift.MAP, thrift.DOUBLE, LIST])
def test_what_no_footer_holds_is_not_encoded(kind):
    bools = List(TRUE, [True])
    with pytest.raises(
        CorruptFileError, match="'x': expected a struct as footers of Parquet have it, found a value of"
    ):
        thrift.encode({1: Field(kind, bools)}, "x")


def test_every_truncation_is_found():
    data = footer()
    for length in range(len(data)):
        with pytest.raises(CorruptFileError, match="x"):
            thrift.decode(data[:length], "x")


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_a_flipped_byte_gives_a_struct_or_the_error_of_a_damaged_file(place, flip):
    data = bytearray(footer())
    data[place % len(data)] ^= flip
    with contextlib.suppress(CorruptFileError):
        assert isinstance(thrift.decode(bytes(data), "x"), dict)


@pytest.mark.parametrize(
    "data", [b"\x19\xf5\xff\xff\xff\xff\x7f", b"\x1c" * 5000, b"\x18\xff\xff\xff\xff\x0f", b"\x1e\x00"]
)
def test_absurd_lengths_and_depths_are_refused(data):
    with pytest.raises(CorruptFileError):
        thrift.decode(data, "x")


def test_a_field_of_another_kind_is_named():
    with pytest.raises(CorruptFileError, match="'x', Thrift field 3: expected bytes, found int"):
        thrift.value({3: Field(I64, 1)}, 3, bytes, "x")
