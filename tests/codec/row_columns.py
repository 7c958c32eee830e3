"""Columns and rows for the tests of BinaryRow: every type, with nulls and extremes."""

from datetime import date, timedelta
from decimal import Context, Decimal

import pyarrow as pa
from hypothesis import strategies as st

EPOCH = date(1970, 1, 1)
EXACT = Context(prec=80)


def _integers(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    limit = 10**precision - 1
    powers = st.integers(0, 126).map(lambda bit: min(2**bit, limit))
    unscaled = st.one_of(
        st.sampled_from([limit, -limit]),
        st.integers(-limit, limit),
        powers,
        powers.map(lambda x: -x),
        powers.map(lambda x: x - 1),
    )
    return unscaled.map(lambda value: Decimal(value).scaleb(-scale, EXACT))


_TEXT = st.one_of(st.text(max_size=9), st.text(max_size=40))
_BYTES = st.one_of(st.binary(max_size=9), st.binary(max_size=40))
_MICROS = st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999)

VALUES: dict[pa.DataType, st.SearchStrategy[object]] = {
    pa.bool_(): st.booleans(),
    pa.int8(): _integers(8),
    pa.int16(): _integers(16),
    pa.int32(): _integers(32),
    pa.int64(): _integers(64),
    pa.float32(): st.floats(width=32, allow_nan=False),
    pa.float64(): st.floats(allow_nan=False),
    pa.decimal128(1, 0): _decimals(1, 0),
    pa.decimal128(18, 2): _decimals(18, 2),
    pa.decimal128(19, 0): _decimals(19, 0),
    pa.decimal128(38, 10): _decimals(38, 10),
    pa.string(): _TEXT,
    pa.binary(): _BYTES,
    pa.date32(): st.integers(-719_162, 2_932_896),
    pa.time32("ms"): st.integers(0, 86_399_999),
    pa.timestamp("ms"): _MICROS.map(lambda us: us // 1000),
    pa.timestamp("ms", "UTC"): _MICROS.map(lambda us: us // 1000),
    pa.timestamp("us"): _MICROS,
    pa.timestamp("us", "UTC"): _MICROS,
    pa.timestamp("ns"): st.integers(-9_000_000_000_000_000_000, 9_000_000_000_000_000_000),
    pa.timestamp("ns", "UTC"): st.integers(-9_000_000_000_000_000_000, 9_000_000_000_000_000_000),
}


def column(values: list[object], type: pa.DataType) -> pa.Array:
    """The Arrow column of physical values."""
    if type == pa.date32():
        values = [None if value is None else EPOCH + timedelta(days=value) for value in values]
    return pa.array(values, type)


@st.composite
def rows(draw: st.DrawFn, arities: st.SearchStrategy[int] | None = None) -> tuple[list[pa.DataType], list[tuple]]:
    """Types, and rows of physical values of them."""
    arity = draw(arities if arities is not None else st.integers(1, 6))
    types = draw(st.lists(st.sampled_from(list(VALUES)), min_size=arity, max_size=arity))
    row = st.tuples(*(st.one_of(st.none(), VALUES[type]) for type in types))
    return types, draw(st.lists(row, max_size=12))


def columns(types: list[pa.DataType], rows: list[tuple]) -> list[pa.Array]:
    """The Arrow columns of rows."""
    return [column([row[index] for row in rows], type) for index, type in enumerate(types)]
