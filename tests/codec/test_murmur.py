"""The hash of rows: the values that the format pins, and by column as by row."""

from datetime import UTC, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given

from codec.row_columns import columns, rows
from polynya.codec.binary_row import encode_row
from polynya.codec.murmur import hash_words, row_hashes

INSTANT = int(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC).timestamp()) * 1000 + 123

PINNED = [
    ([1], [pa.int32()], 1465514398),
    ([2], [pa.int32()], 1340390384),
    ([3], [pa.int32()], -771300025),
    ([5], [pa.int32()], 260196596),
    ([5, 6], [pa.int32()] * 2, 131015827),
    ([5, 6, 7], [pa.int32()] * 3, 1805332940),
    (["hello"], [pa.string()], 243722546),
    (["hello-java"], [pa.string()], -201703277),
    (["hello-java", 42], [pa.string(), pa.int64()], -2066620165),
    ([Decimal("12345.67")], [pa.decimal128(10, 2)], 754928256),
    ([Decimal("12345678901234567890123.45")], [pa.decimal128(25, 2)], 1388205002),
    ([INSTANT], [pa.timestamp("ms")], -1766746798),
    ([INSTANT * 1000 + 456], [pa.timestamp("us")], 1245041971),
    ([bytes.fromhex("0001ff7f")], [pa.binary()], 586821318),
    ([bytes(range(10))], [pa.binary()], 1822312655),
    ([0], [pa.int32()], -300363099),
    ([-1], [pa.int32()], 1133687267),
    ([None], [pa.int32()], -1748325344),
    ([-5], [pa.int64()], -716660054),
    ([""], [pa.string()], 302122119),
    (["1234567"], [pa.string()], 199144172),
    (["12345678"], [pa.string()], -391021801),
    (["hello world"], [pa.string()], 161593394),
    ([1, "a"], [pa.int32(), pa.string()], -948407462),
    (["a", 1], [pa.string(), pa.int32()], 1153202531),
    ([1.5], [pa.float64()], 1860889473),
    ([1.5], [pa.float32()], -173842779),
    ([Decimal("12.34")], [pa.decimal128(20, 2)], -531788649),
    ([None], [pa.decimal128(20, 2)], -1380280760),
    ([None], [pa.timestamp("us")], -340882661),
]


@pytest.mark.parametrize(("values", "types", "expected"), PINNED)
def test_row_has_the_pinned_hash(values, types, expected):
    assert hash_words(encode_row(values, types)[4:]) == expected
    assert row_hashes(columns(types, [tuple(values)])).tolist() == [expected]


@given(rows())
def test_columns_hash_as_their_rows_do(case):
    types, values = case
    expected = [hash_words(encode_row(row, types)[4:]) for row in values]
    assert row_hashes(columns(types, values)).tolist() == expected


def test_text_of_very_different_lengths_hashes_as_row_by_row():
    lengths = [0, 1, 7, 8, 9, 15, 16, 17, 1000, 65, 64, 63, 100_000] * 3 + [40] * 30
    column = pa.array([("é" + "x" * length)[:length] for length in lengths])
    expected = [hash_words(encode_row([text], [pa.string()])[4:]) for text in column.to_pylist()]
    assert row_hashes([column]).tolist() == expected


def test_rows_of_several_blocks_hash_as_row_by_row():
    numbers = np.arange(70_000)
    hashes = row_hashes([pa.array(numbers), pa.array(numbers).cast(pa.string())])
    for row in (0, 32_767, 32_768, 65_535, 65_536, 69_999):
        assert hashes[row] == hash_words(encode_row([row, str(row)], [pa.int64(), pa.string()])[4:])
