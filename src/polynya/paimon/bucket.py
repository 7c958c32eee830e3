"""Bucket functions: which bucket a row belongs to by its bucket key, by column.

| function | bucket of N |
|---|---|
| default | the BinaryRow hash of the key, remainder with the sign of the hash, made positive |
| mod | the value of the one INT or BIGINT column, floor modulo; null counts as 0 |
| hive | 31-polynomial of the hashes of the columns, without its sign bit, modulo; null hashes to 0 |

| type | hash of hive |
|---|---|
| BOOLEAN, TINYINT, SMALLINT, INT, DATE, TIME | the value |
| BIGINT | both halves xored |
| FLOAT, DOUBLE | the bits, of a DOUBLE as of a BIGINT; -0.0 counts as 0.0 |
| strings, binaries | 31-polynomial of the signed bytes |
| DECIMAL | without the zeros at the end of the fraction: 31 * hash of the unscaled value + scale |
| timestamps | refused |
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from polynya.codec import int128
from polynya.codec.int128 import I64, U64
from polynya.codec.murmur import row_hashes
from polynya.codec.row_words import Text, column_values, null_mask, plain_column, text_column
from polynya.errors import InvalidInputError, UnsupportedError

Columns = Sequence[pa.Array | pa.ChunkedArray]

_TEXT_TYPES = (pa.string(), pa.binary(), pa.large_string(), pa.large_binary())
_LOW_32 = np.uint64(0xFFFFFFFF)


def bucket_ids(columns: Columns, bucket_count: int | npt.NDArray[np.integer], function: str) -> pa.Int32Array:
    """The bucket of each row by its key columns; `bucket_count` may differ from row to row."""
    if np.any(np.asarray(bucket_count) <= 0):
        raise InvalidInputError(f"bucket count: expected a positive number, found {np.min(bucket_count)}")
    if not columns:
        raise InvalidInputError("bucket key: expected at least one column, found none")
    match function:
        case "default":
            buckets = np.abs(np.fmod(row_hashes(columns).astype(np.int64), bucket_count))
        case "mod":
            buckets = np.mod(_mod_values(columns), bucket_count)
        case "hive":
            buckets = np.mod(_hive_hashes(columns) & np.int64(0x7FFFFFFF), bucket_count)
        case _:
            raise UnsupportedError(f"option 'bucket-function.type' must be default, mod or hive, got '{function}'")
    return pa.array(buckets.astype(np.int32))


def _mod_values(columns: Columns) -> I64:
    types = [column.type for column in columns]
    if types not in ([pa.int32()], [pa.int64()]):
        raise InvalidInputError(f"bucket function mod: expected one key column of INT or BIGINT, found {types}")
    column = plain_column(columns[0])
    return column_values(column, null_mask(column)).astype(np.int64)


def _hive_hashes(columns: Columns) -> I64:
    plain = [plain_column(column) for column in columns]
    state = np.zeros(len(plain[0]), dtype=np.uint32)
    for column in plain:
        state = state * np.uint32(31) + np.where(null_mask(column), np.uint32(0), _hive_hash(column))
    return state.astype(np.int64)


def _hive_hash(column: pa.Array) -> npt.NDArray[np.uint32]:
    """The hash of each value as unsigned; what it is for nulls does not matter."""
    type = column.type
    if type in _TEXT_TYPES:
        return _hive_text(text_column(column))
    if pa.types.is_timestamp(type):
        raise UnsupportedError(f"bucket function hive: expected no timestamp in the bucket key, found {type}")
    if pa.types.is_decimal128(type):
        return _hive_decimal(int128.from_decimal(column), type.scale)
    values = column_values(column, null_mask(column))
    if type == pa.float32():
        return _one_zero(values).view(np.uint32)
    if type == pa.float64():
        return _fold(_one_zero(values).view(np.uint64))
    if type == pa.int64():
        return _fold(values.view(np.uint64))
    return values.astype(np.int32).view(np.uint32)


def _one_zero(values: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    """The numbers with one zero instead of two, and one NaN instead of many."""
    plain = values.copy()
    plain[plain == 0] = 0
    plain[np.isnan(plain)] = np.nan
    return plain


def _fold(bits: U64) -> npt.NDArray[np.uint32]:
    return (bits ^ bits >> np.uint64(32)).astype(np.uint32)


def _hive_text(text: Text) -> npt.NDArray[np.uint32]:
    """The 31-polynomial over the signed bytes of each value: a difference of weighted running sums.

    31 is odd and so has an inverse modulo 2^32: with s(i) the sum of byte(k) / 31^k for k < i, the polynomial of the
    bytes from a to b is (s(b) - s(a)) * 31^(b - 1).
    """
    inverse = pow(31, -1, 1 << 32)
    data = text.data.view(np.int8).astype(np.int32).view(np.uint32)
    sums = np.zeros(len(data) + 1, dtype=np.uint32)
    np.cumsum(data * _powers(inverse, len(data)), out=sums[1:], dtype=np.uint32)
    ends = text.starts + text.lengths
    weights = _powers(31, len(data) + 1)
    hashes = (sums[ends] - sums[text.starts]) * weights[np.maximum(ends - 1, 0)]
    return np.where(text.lengths > 0, hashes, np.uint32(0))


def _powers(base: int, count: int) -> npt.NDArray[np.uint32]:
    factors = np.full(count, base, dtype=np.uint32)
    factors[:1] = 1
    return np.cumprod(factors, dtype=np.uint32)


def _hive_decimal(unscaled: int128.Int128, scale: int) -> npt.NDArray[np.uint32]:
    """31 * the hash of the unscaled value + the scale, after the zeros at the end of the fraction are dropped."""
    low, high = int128.magnitude(unscaled)
    limbs = np.stack([high >> np.uint64(32), high & _LOW_32, low >> np.uint64(32), low & _LOW_32])
    scales = np.full(len(low), scale, dtype=np.int64)
    rows = np.arange(len(low))
    for _ in range(scale):
        quotient, remainder = _divide_by_10(limbs[:, rows])
        rows, quotient = rows[remainder == 0], quotient[:, remainder == 0]
        limbs[:, rows] = quotient
        scales[rows] -= 1
    digits = np.zeros(len(low), dtype=np.uint32)
    for limb in limbs:
        digits = digits * np.uint32(31) + limb.astype(np.uint32)
    signed = np.where(unscaled.high < 0, np.uint32(0) - digits, digits)
    return signed * np.uint32(31) + scales.astype(np.uint32)


def _divide_by_10(limbs: U64) -> tuple[U64, U64]:
    """Quotient and remainder of numbers given as 32-bit limbs, the most significant first."""
    quotient = np.empty_like(limbs)
    remainder = np.zeros(limbs.shape[1], dtype=np.uint64)
    for index, limb in enumerate(limbs):
        quotient[index], remainder = np.divmod(remainder << np.uint64(32) | limb, np.uint64(10))
    return quotient, remainder
