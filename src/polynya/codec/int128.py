"""128-bit two's complement integers as two numpy columns: how a DECIMAL of up to 38 digits is stored and computed with.

A value is `high` (int64) * 2^64 + `low` (uint64). Arrow keeps decimal128 as the pair (low, high) in 16 little-endian
bytes.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_MAX_BYTES = 16


class Int128(NamedTuple):
    """A column of 128-bit integers."""

    low: U64
    high: I64


def shortest_bytes(value: int) -> bytes:
    """Two's complement, big-endian, in as few bytes as it takes: how Paimon and Avro store the number of a decimal."""
    magnitude = value if value >= 0 else ~value
    return value.to_bytes(magnitude.bit_length() // 8 + 1, "big", signed=True)


def from_int64(values: I64) -> Int128:
    """The same numbers, wider."""
    return Int128(values.view(np.uint64), values >> 63)


def from_decimal(array: pa.Array) -> Int128:
    """The unscaled values of a decimal128 array; what stands under a null is undefined."""
    words = np.frombuffer(array.buffers()[1], dtype="<u8", count=2 * len(array), offset=16 * array.offset)
    return Int128(words[0::2].copy(), words[1::2].astype(np.int64))


def to_decimal(values: Int128, valid: Mask, type: pa.DataType) -> pa.Array:
    """The decimal128 array of unscaled values; null where not `valid`."""
    words = np.empty((len(valid), 2), dtype=np.uint64)
    words[:, 0] = values.low
    words[:, 1] = values.high.view(np.uint64)
    bitmap = pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(type, len(valid), [bitmap, pa.py_buffer(words)])


def magnitude(values: Int128) -> tuple[U64, U64]:
    """The absolute values as (low, high)."""
    negative = values.high < 0
    high = values.high.view(np.uint64)
    low = np.where(negative, ~values.low + np.uint64(1), values.low)
    borrowed = negative & (values.low == 0)
    return low, np.where(negative, ~high + borrowed.astype(np.uint64), high)


def fits_precision(values: Int128, precision: int) -> Mask:
    """Whether each value has at most `precision` decimal digits."""
    low, high = magnitude(values)
    limit = 10**precision
    limit_low, limit_high = np.uint64(limit & (2**64 - 1)), np.uint64(limit >> 64)
    fits: Mask = (high < limit_high) | ((high == limit_high) & (low < limit_low))
    return fits


def byte_lengths(values: Int128) -> I64:
    """How many bytes the shortest two's complement form of each value takes, 1 to 16."""
    sign = values.high >> 63
    low, high = values.low ^ sign.view(np.uint64), values.high ^ sign
    lengths = np.ones(len(low), dtype=np.int64)
    for size in range(1, 9):
        lengths += (high > 0) | (low >= np.uint64(1 << (8 * size - 1)))
    for size in range(9, _MAX_BYTES):
        lengths += high >= (1 << (8 * size - 65))
    return lengths


def to_big_endian(values: Int128, lengths: I64) -> Sequence[U64]:
    """The last `lengths` bytes of each value, most significant first, then zeros: two little-endian words."""
    shift = 8 * (_MAX_BYTES - lengths)
    low, high = values.low, values.high.view(np.uint64)
    small = np.minimum(shift, 63).astype(np.uint64)
    carried = (low >> np.uint64(1)) >> (np.uint64(63) - small)
    beyond = np.maximum(shift - 64, 0).astype(np.uint64)
    far = shift >= 64
    first = np.where(far, low << beyond, (high << small) | carried)
    second = np.where(far, np.uint64(0), low << small)
    return first.byteswap(), second.byteswap()


def from_big_endian(first: U64, second: U64, lengths: I64) -> Int128:
    """The values whose most significant byte comes first; `lengths` (1 to 16) bytes of the two words count."""
    shift = 8 * (_MAX_BYTES - lengths)
    high, low = first.byteswap().view(np.int64), second.byteswap()
    small = np.minimum(shift, 63).astype(np.uint64)
    carried = (high.view(np.uint64) << np.uint64(1)) << (np.uint64(63) - small)
    near_low = (low >> small) | carried
    near_high = high >> small.view(np.int64)
    far = shift >= 64
    far_low = (high >> np.clip(shift - 64, 0, 63)).view(np.uint64)
    return Int128(np.where(far, far_low, near_low), np.where(far, high >> 63, near_high))
