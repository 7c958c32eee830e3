"""BinaryRow, a column of rows at a time: Arrow columns to bytes and back, without a Python loop over rows.

`binary_row` tells the layout. Encoding joins what `row_words` laid out. Decoding gathers words at computed positions,
and cuts text out of the rows where it stands.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec import int128
from polynya.codec.binary_row import (
    ARITY_BYTES,
    INLINE_BYTES,
    INLINE_MARK,
    MILLIS_PER_DAY,
    NANOS_PER_MILLI,
    NANOS_PER_UNIT,
    encode_row,
    fixed_bytes,
    is_nested,
    is_text,
    is_wide_decimal,
    is_wide_timestamp,
    null_bytes,
    unsupported_type,
)
from polynya.codec.int128 import I64, U64, Mask
from polynya.codec.row_words import PHYSICAL, SMALL_BYTES_MAX, Bytes, Text, gather, plain_column, row_words, text_column
from polynya.errors import CorruptFileError, UnsupportedError

_EARLIEST_MILLIS = -62_135_596_800_000  # 0001-01-01
_LATEST_MILLIS = 253_402_300_799_999  # 9999-12-31, the range of Paimon's timestamps


def encode_rows(
    columns: Sequence[pa.Array | pa.ChunkedArray], *, arity_prefix: bool = True, row_count: int | None = None
) -> pa.Array:
    """The rows of the columns as a binary array, a large one over 2 GB.

    `row_count` is needed where there is no column. Values of nested types raise UnsupportedError.
    """
    rows = row_words(columns, row_count)
    prefix = rows.arity.to_bytes(ARITY_BYTES, "big") if arity_prefix else b""
    pieces: list[pa.Array] = []
    for _, group in groupby(rows.parts, type):
        parts = list(group)
        words = [part for part in parts if not isinstance(part, Text)]
        if words:
            pieces.append(_join_words(words, b"" if pieces else prefix, rows.row_count))
        pieces += [piece for part in parts if isinstance(part, Text) for piece in _padded(part)]
    joined = pieces[0] if len(pieces) == 1 else pc.binary_join_element_wise(*pieces, pa.scalar(b"", pa.large_binary()))
    return joined if joined.nbytes > SMALL_BYTES_MAX else joined.cast(pa.binary())


def _join_words(words: list[U64], prefix: bytes, row_count: int) -> pa.Array:
    """One binary value per row: the prefix and then its words."""
    size = len(prefix) + 8 * len(words)
    rows = np.empty((row_count, size // 4), dtype="<u4")
    if prefix:
        rows[:, 0] = int.from_bytes(prefix, "little")
    for index, word in enumerate(words):
        at = len(prefix) // 4 + 2 * index
        rows[:, at : at + 2] = word.view("<u4").reshape(-1, 2)
    return _large_binary(np.arange(row_count + 1, dtype=np.int64) * size, rows)


def _padded(text: Text) -> list[pa.Array]:
    """The text of each row, and the zeros that fill its last word."""
    zeros = np.zeros(len(text.lengths) + 1, dtype=np.int64)
    np.cumsum(-text.lengths % 8, out=zeros[1:])
    padding = _large_binary(zeros, np.zeros(int(zeros[-1]), dtype=np.uint8))
    return [_cut(text.data, text.starts, text.lengths), padding]


def _cut(data: Bytes, starts: I64, lengths: I64) -> pa.Array:
    """The values that stand at `starts`, which ascend and do not overlap: every other one of values and gaps."""
    bounds = np.empty(2 * len(starts), dtype=np.int64)
    bounds[0::2] = starts
    bounds[1::2] = starts + lengths
    if not len(starts):
        return pa.array([], pa.large_binary())
    values_and_gaps = _large_binary(bounds, data)
    return values_and_gaps.take(pa.array(np.arange(0, len(bounds), 2)))


def _large_binary(offsets: I64, data: npt.NDArray[np.generic]) -> pa.Array:
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)


def decode_rows(
    rows: pa.Array | pa.ChunkedArray,
    types: Sequence[pa.DataType],
    *,
    name: str,
    indexes: Sequence[int] | None = None,
) -> list[pa.Array]:
    """The fields of rows with their arity first, or those at `indexes` of them; a null row has null fields.

    `name` is the file the rows come from, for the message of an error. A value of a nested type, or a timestamp[ns]
    outside the years that Arrow can hold, raises UnsupportedError.
    """
    stored = _stored_rows(rows, types, name)
    return [_decode_field(stored, index, types[index]) for index in (range(len(types)) if indexes is None else indexes)]


@dataclass(frozen=True, slots=True)
class _StoredRows:
    """Bodies of rows in one buffer, each long enough for its slots."""

    data: Bytes
    starts: I64
    lengths: I64
    arity: int
    name: str

    def slots(self, index: int) -> U64:
        return gather(self.data, self.starts + null_bytes(self.arity) + 8 * index)

    def valid(self, index: int) -> Mask:
        byte, bit = divmod(8 + index, 8)
        valid: Mask = (self.data[self.starts + byte] & np.uint8(1 << bit)) == 0
        return valid

    def check(self, good: Mask, valid: Mask, expected: str, found: npt.NDArray[np.generic]) -> None:
        bad = valid & ~good
        if bad.any():
            row = int(np.argmax(bad))
            raise CorruptFileError(f"{self.name}, BinaryRow {row}: expected {expected}, found {found[row]}")

    def variable(self, slots: U64, lengths: I64, valid: Mask) -> I64:
        """Where the variable values of the slots begin in the buffer, after checking that they lie in their rows."""
        offsets = (slots >> np.uint64(32)).astype(np.int64)
        inside = (lengths >= 0) & (offsets + lengths <= self.lengths)
        self.check(inside, valid, "a value that ends within its row", offsets)
        return np.where(valid, self.starts + offsets, self.starts)


def _stored_rows(rows: pa.Array | pa.ChunkedArray, types: Sequence[pa.DataType], name: str) -> _StoredRows:
    column = plain_column(rows)
    if column.null_count:
        column = pc.fill_null(column, encode_row([None] * len(types), types))
    text = text_column(column)
    shortest = ARITY_BYTES + fixed_bytes(len(types))
    everywhere = np.ones(len(column), dtype=np.bool_)
    stored = _StoredRows(text.data, text.starts + ARITY_BYTES, text.lengths - ARITY_BYTES, len(types), name)
    long_enough = text.lengths >= ARITY_BYTES
    stored.check(long_enough, everywhere, f"at least {shortest} bytes", text.lengths)
    arity = gather(text.data, text.starts).astype(np.uint32).byteswap().view(np.int32)
    stored.check(arity == len(types), everywhere, f"{len(types)} fields", arity)
    stored.check(text.lengths >= shortest, everywhere, f"at least {shortest} bytes", text.lengths)
    return stored


def _decode_field(rows: _StoredRows, index: int, type: pa.DataType) -> pa.Array:
    valid = rows.valid(index)
    if is_nested(type):
        if valid.any():
            raise unsupported_type(type)
        return pa.nulls(len(valid), type)
    slots = rows.slots(index)
    if is_text(type):
        return _decode_text(rows, index, slots, valid, type)
    if pa.types.is_decimal128(type):
        return _decode_decimal(rows, slots, valid, type)
    if is_wide_timestamp(type):
        return _decode_timestamp(rows, slots, valid, type)
    if type == pa.bool_():
        return pa.array((slots & np.uint64(0xFF)) != 0, mask=~valid)
    dtype = np.int64 if pa.types.is_timestamp(type) and type.unit == "ms" else PHYSICAL.get(type)
    if dtype is None:
        raise unsupported_type(type)
    width = np.dtype(dtype).itemsize
    values = slots.astype(np.dtype(f"u{width}")).view(dtype)
    if type == pa.time32("ms"):
        rows.check((values >= 0) & (values < MILLIS_PER_DAY), valid, "a time of day in milliseconds", values)
    return _array(values, valid, type)


def _decode_text(rows: _StoredRows, index: int, slots: U64, valid: Mask, type: pa.DataType) -> pa.Array:
    mark = (slots >> np.uint64(56)).astype(np.int64)
    inline = mark >= INLINE_MARK
    inline_lengths = mark - INLINE_MARK
    rows.check(inline_lengths <= INLINE_BYTES, valid & inline, "at most 7 inline bytes", inline_lengths)
    far_lengths = slots.astype(np.uint32).view(np.int32).astype(np.int64)
    far_starts = rows.variable(slots, far_lengths, valid & ~inline)
    starts = np.where(valid & inline, rows.starts + null_bytes(rows.arity) + 8 * index, far_starts)
    lengths = np.where(valid, np.where(inline, inline_lengths, far_lengths), 0)
    values = _cut(rows.data, starts, lengths)
    if not valid.all():
        values = pc.if_else(pa.array(valid), values, pa.scalar(None, values.type))
    try:
        return values.cast(type)
    except pa.ArrowInvalid as error:
        raise CorruptFileError(f"{rows.name}, BinaryRow field {index}: expected {type}, found {error}") from error


def _decode_decimal(rows: _StoredRows, slots: U64, valid: Mask, type: pa.DataType) -> pa.Array:
    if is_wide_decimal(type):
        lengths = slots.astype(np.uint32).view(np.int32).astype(np.int64)
        rows.check((lengths >= 1) & (lengths <= 16), valid, "1 to 16 bytes of a decimal", lengths)
        starts = rows.variable(slots, lengths, valid)
        first, second = gather(rows.data, starts), gather(rows.data, starts + 8)
        unscaled = int128.from_big_endian(first, second, np.clip(lengths, 1, 16))
    else:
        unscaled = int128.from_int64(slots.view(np.int64))
    fits = int128.fits_precision(unscaled, type.precision)
    rows.check(fits, valid, f"a decimal of {type.precision} digits", unscaled.low)
    return int128.to_decimal(unscaled, valid, type)


def _decode_timestamp(rows: _StoredRows, slots: U64, valid: Mask, type: pa.DataType) -> pa.Array:
    nanos = slots.astype(np.uint32).view(np.int32).astype(np.int64)
    rows.check((nanos >= 0) & (nanos < NANOS_PER_MILLI), valid, "0 to 999999 nanoseconds", nanos)
    starts = rows.variable(slots, np.full(len(slots), 8), valid)
    millis = gather(rows.data, starts).view(np.int64)
    known = (millis >= _EARLIEST_MILLIS) & (millis <= _LATEST_MILLIS)
    rows.check(known, valid, "a time in the years 1 to 9999", millis)
    units = NANOS_PER_MILLI // NANOS_PER_UNIT[type.unit]
    times = np.where(valid, millis, 0) * units + nanos // NANOS_PER_UNIT[type.unit]
    if (valid & (times // units != millis)).any():  # a product too large for 64 bits has wrapped round
        raise UnsupportedError(
            f"{rows.name}, BinaryRow: {type} holds 1677-09-21 to 2262-04-11 only, found an earlier or later time"
        )
    return _array(times, valid, type)


def _array(values: npt.NDArray[np.generic], valid: Mask, type: pa.DataType) -> pa.Array:
    return pa.array(values, mask=None if valid.all() else ~valid).view(type)
