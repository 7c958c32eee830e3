"""Arrow columns laid out as BinaryRows, word by word.

`binary_row` tells the layout. Everything in a row's body is a multiple of 8 bytes, so the rows are columns of 64-bit
words: a row is the n-th word of each. Only text has a length of its own, and stays where it is: `binary_rows` joins the
parts to bytes, `murmur` hashes them as they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from polynya.codec import int128
from polynya.codec.binary_row import (
    INLINE_BYTES,
    INLINE_MARK,
    NANOS_PER_MILLI,
    NANOS_PER_UNIT,
    fixed_bytes,
    is_nested,
    is_wide_decimal,
    is_wide_timestamp,
    null_bytes,
    unsupported_type,
)
from polynya.codec.int128 import I64, U64, Mask
from polynya.errors import InvalidInputError

Bytes = npt.NDArray[np.uint8]

SMALL_BYTES_MAX = 2**31 - 1  # what 32-bit offsets reach
_ROOM_BYTES = 24  # behind the last value: whoever looks there finds zeros
_LOW_BYTES = np.array([(1 << 8 * size) - 1 for size in range(9)], dtype=np.uint64)  # masks of 0 to 8 low bytes
PHYSICAL = {
    pa.int8(): np.int8,
    pa.int16(): np.int16,
    pa.int32(): np.int32,
    pa.int64(): np.int64,
    pa.float32(): np.float32,
    pa.float64(): np.float64,
    pa.date32(): np.int32,
    pa.time32("ms"): np.int32,
}


@dataclass(frozen=True, slots=True)
class Text:
    """A text column inside the variable part: where the bytes of each row stand; length 0 takes no room."""

    data: Bytes
    starts: I64
    lengths: I64

    def words(self, rows: npt.NDArray[np.intp] | slice, index: int) -> U64:
        """The `index`-th word of each of the rows, zero after the end of the text; each must reach that far."""
        words = gather(self.data, self.starts[rows] + 8 * index)
        return words & _LOW_BYTES[np.minimum(self.lengths[rows] - 8 * index, 8)]


@dataclass(frozen=True, slots=True)
class RowWords:
    """The bodies of encoded rows by column: words that every row has, in order, and text columns among them."""

    row_count: int
    arity: int
    parts: tuple[U64 | Text, ...]


def gather(data: Bytes, positions: I64) -> U64:
    """The 8 bytes at each position, as little-endian words; `data` must go on for 8 bytes after the last."""
    windows: U64 = np.ndarray(shape=(max(len(data) - 7, 0),), dtype="<u8", buffer=data, strides=(1,))
    return windows[positions]


def plain_column(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """One array of the type that stands for the Paimon type; strings and bytes may be large."""
    type = _plain_type(column.type, large=column.nbytes > SMALL_BYTES_MAX)
    if type != column.type:
        column = column.cast(type)
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _plain_type(type: pa.DataType, *, large: bool) -> pa.DataType:
    if pa.types.is_dictionary(type):
        return _plain_type(type.value_type, large=True)  # decoded values take more room than the codes
    if type == pa.string_view() or (large and type == pa.string()):
        return pa.large_string()
    if type == pa.binary_view() or pa.types.is_fixed_size_binary(type) or (large and type == pa.binary()):
        return pa.large_binary()
    if type == pa.time32("s"):
        return pa.time32("ms")
    if pa.types.is_timestamp(type) and type.unit == "s":
        return pa.timestamp("ms", type.tz)
    return type


def column_values(column: pa.Array, nulls: Mask) -> npt.NDArray[np.generic]:
    """The physical values of a column of one of the fixed-width types, zero where null."""
    if column.type == pa.bool_():
        return np.asarray(column.cast(pa.uint8()).fill_null(0))
    dtype = np.int64 if pa.types.is_timestamp(column.type) else PHYSICAL.get(column.type)
    if dtype is None:
        raise unsupported_type(column.type)
    values = _buffer(column, 1, dtype, len(column))
    if column.null_count:
        values = values.copy()
        values[nulls] = 0
    return values


def text_column(column: pa.Array) -> Text:
    """Where the bytes of a string or binary column stand; nulls have length 0."""
    large = column.type in (pa.large_string(), pa.large_binary())
    offsets = _buffer(column, 1, np.int64 if large else np.int32, len(column) + 1).astype(np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    data = np.zeros(last - first + _ROOM_BYTES, dtype=np.uint8)
    if last > first:
        data[: last - first] = np.frombuffer(column.buffers()[2], dtype=np.uint8, count=last - first, offset=first)
    lengths = np.diff(offsets)
    if column.null_count:
        lengths[null_mask(column)] = 0
    return Text(data, offsets[:-1] - first, lengths)


def null_mask(column: pa.Array) -> Mask:
    """True where the column is null."""
    return np.asarray(column.is_null().to_numpy(zero_copy_only=False))


def row_words(columns: Sequence[pa.Array | pa.ChunkedArray], row_count: int | None = None) -> RowWords:
    """The rows of the columns, laid out but not joined; `row_count` is needed where there is no column."""
    plain = [plain_column(column) for column in columns]
    row_count = len(plain[0]) if plain else row_count or 0
    if any(len(column) != row_count for column in plain):
        raise InvalidInputError(f"BinaryRow: expected columns of {row_count} rows, found {[len(c) for c in plain]}")
    arity = len(plain)
    header = [np.zeros(row_count, dtype=np.uint64) for _ in range(null_bytes(arity) // 8)]
    slots: list[U64] = []
    variable: list[U64 | Text] = []
    offset: I64 | int = fixed_bytes(arity)
    for index, column in enumerate(plain):
        nulls = null_mask(column)
        if column.null_count:
            word, bit = divmod(8 + index, 64)
            header[word] |= nulls.astype(np.uint64) << np.uint64(bit)
        slot, parts = _encode_column(column, nulls, offset)
        slots.append(slot)
        variable += parts
        offset = offset + sum(_room(part) for part in parts)
    return RowWords(row_count, arity, (*header, *slots, *variable))


def _encode_column(column: pa.Array, nulls: Mask, offset: I64 | int) -> tuple[U64, list[U64 | Text]]:
    """The slots of a column, and its parts of the variable part, which begins at `offset` in each row."""
    type = column.type
    if type in (pa.string(), pa.binary(), pa.large_string(), pa.large_binary()):
        return _encode_text(text_column(column), nulls, offset)
    if is_nested(type):
        if column.null_count < len(column):
            raise unsupported_type(type)
        return np.zeros(len(column), dtype=np.uint64), []
    if pa.types.is_decimal128(type):
        low, high = int128.from_decimal(column)
        unscaled = int128.Int128(np.where(nulls, np.uint64(0), low), np.where(nulls, 0, high))
        if not is_wide_decimal(type):
            return unscaled.low, []
        lengths = int128.byte_lengths(unscaled)
        return _slot(np.where(nulls, 0, lengths), offset), [*int128.to_big_endian(unscaled, lengths)]
    values = column_values(column, nulls)
    if is_wide_timestamp(type):
        units = NANOS_PER_MILLI // NANOS_PER_UNIT[type.unit]
        millis, rest = np.divmod(values.astype(np.int64), units)
        return _slot(rest * NANOS_PER_UNIT[type.unit], offset), [millis.view(np.uint64)]
    return _unsigned(values).astype(np.uint64), []


def _encode_text(text: Text, nulls: Mask, offset: I64 | int) -> tuple[U64, list[U64 | Text]]:
    """Short text stands in the slot; the rest is left as a part of its own."""
    inline = text.lengths <= INLINE_BYTES
    bytes_inline = gather(text.data, text.starts) & _LOW_BYTES[np.where(inline, text.lengths, 0)]
    marked = bytes_inline | ((text.lengths | INLINE_MARK).astype(np.uint64) << np.uint64(56))
    if inline.all():
        return np.where(nulls, np.uint64(0), marked), []
    slot = np.where(inline, np.where(nulls, np.uint64(0), marked), _slot(text.lengths, offset))
    return slot, [Text(text.data, text.starts, np.where(inline, 0, text.lengths))]


def _slot(low: I64, offset: I64 | int) -> U64:
    high = offset << 32
    return (low | high).astype(np.uint64)


def _room(part: U64 | Text) -> I64 | int:
    return (part.lengths + 7) // 8 * 8 if isinstance(part, Text) else 8


def _unsigned(values: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
    return values.view(np.dtype(f"u{values.dtype.itemsize}"))


def _buffer(column: pa.Array, index: int, dtype: npt.DTypeLike, count: int) -> npt.NDArray[np.generic]:
    buffer = column.buffers()[index]
    width = np.dtype(dtype).itemsize
    if buffer is None or buffer.size < (column.offset + count) * width:
        return np.zeros(count, dtype=dtype)  # an empty column may come without its buffers
    return np.frombuffer(buffer, dtype=dtype, count=count, offset=column.offset * width)
