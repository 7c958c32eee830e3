"""Single values as Iceberg stores them in bounds, a column of them at a time.

| type | bytes |
|---|---|
| boolean | 1 |
| int, date | 4, little-endian |
| long, time, timestamps | 8, little-endian; micro- or nanoseconds |
| float, double | 4 and 8, little-endian |
| decimal | unscaled value, two's complement, big-endian, as short as can be |
| string, binary, uuid, fixed | the bytes |

After a promotion an old bound is shorter than its column: an int under long, a float under double, a date under a
timestamp. Nothing marks a bound that was cut.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec import int128
from polynya.errors import CorruptFileError, UnsupportedError

_DAY_UNITS = {"us": 86_400 * 10**6, "ns": 86_400 * 10**9}
_DECIMAL_BYTES = 16


def encode(values: pa.Array) -> pa.Array:
    """The binary form of each value, null for null; the type must be one of `type_json.to_arrow`."""
    type = values.type
    if pa.types.is_boolean(type):
        return pc.if_else(values, pa.scalar(b"\x01"), pa.scalar(b"\x00"))
    if pa.types.is_decimal(type):
        return _encode_decimals(values, None)
    if pa.types.is_string(type) or pa.types.is_binary(type) or pa.types.is_fixed_size_binary(type):
        return values.cast(pa.binary())
    if not (pa.types.is_primitive(type) and type.bit_width in (32, 64)):
        raise UnsupportedError(f"bounds: values of type {type} have no binary form")
    physical = values.view(pa.binary(type.bit_width // 8))
    return physical.cast(pa.binary())


def encode_fixed_decimals(values: pa.Array, size: int) -> pa.Array:
    """The unscaled values in `size` big-endian bytes each, as partition values are written."""
    return _encode_decimals(values, size)


def decode(stored: pa.Array, type: pa.DataType, *, name: str) -> pa.Array:
    """The values of the binary forms; CorruptFileError, naming the file, for a form of another length."""
    if pa.types.is_boolean(type):
        _require_length(stored, (1,), type, name)
        return pc.not_equal(stored, pa.scalar(b"\x00"))
    if pa.types.is_decimal(type):
        return _decode_decimals(stored, type, name)
    if pa.types.is_string(type) or pa.types.is_fixed_size_binary(type):
        try:
            return stored.cast(type)
        except pa.ArrowInvalid as error:
            raise CorruptFileError(f"'{name}', bounds: expected a {type}: {error}") from error
    if pa.types.is_binary(type):
        return stored
    if not (pa.types.is_primitive(type) and type.bit_width in (32, 64)):
        raise UnsupportedError(f"bounds: values of type {type} have no binary form")
    return _decode_words(stored, type, name)


def extremes(values: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The least and the greatest value as arrays of one; null and NaN aside, -0.0 below 0.0."""
    present = values.drop_null()
    if pa.types.is_floating(values.type):
        numbers = present.to_numpy(zero_copy_only=False)
        numbers = numbers[~np.isnan(numbers)]
        present = pa.array(numbers[np.lexsort((~np.signbit(numbers), numbers))], values.type)
    else:
        present = present.take(pc.sort_indices(present))
    if not len(present):
        return pa.nulls(1, values.type), pa.nulls(1, values.type)
    return present.slice(0, 1), present.slice(len(present) - 1, 1)


def _decode_words(stored: pa.Array, type: pa.DataType, name: str) -> pa.Array:
    width = type.bit_width // 8
    shorter = width == 8 and (pa.types.is_int64(type) or pa.types.is_float64(type) or pa.types.is_timestamp(type))
    _require_length(stored, (4, 8) if shorter else (width,), type, name)
    lengths = pc.fill_null(pc.binary_length(stored), 0).to_numpy(zero_copy_only=False)
    words = np.zeros(len(stored), f"<i{width}" if not pa.types.is_floating(type) else f"<f{width}")
    words[lengths == width] = np.frombuffer(_joined(stored, lengths == width), words.dtype)
    if shorter and (lengths == 4).any():
        small = np.dtype("<f4") if pa.types.is_float64(type) else np.dtype("<i4")
        factor = _DAY_UNITS[type.unit] if pa.types.is_timestamp(type) else 1
        promoted = np.frombuffer(_joined(stored, lengths == 4), small).astype(words.dtype)
        words[lengths == 4] = promoted * factor if factor != 1 else promoted
    validity = pa.py_buffer(np.packbits(stored.is_valid().to_numpy(zero_copy_only=False), bitorder="little"))
    return pa.Array.from_buffers(type, len(stored), [validity, pa.py_buffer(words)])


def _joined(stored: pa.Array, rows: npt.NDArray[np.bool_]) -> bytes:
    """The bytes of some rows, one behind the other."""
    chosen = pa.concat_arrays([stored.filter(pa.array(rows)), pa.array([b""], stored.type)])
    offsets = np.frombuffer(chosen.buffers()[1], np.int32, len(chosen) + 1, chosen.offset * 4)
    data = chosen.buffers()[2]
    return b"" if data is None else data.slice(offsets[0], offsets[-1] - offsets[0]).to_pybytes()


def _encode_decimals(values: pa.Array, size: int | None) -> pa.Array:
    numbers = int128.from_decimal(values)
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    lengths = int128.byte_lengths(numbers) if size is None else np.full(len(values), size, np.int64)
    lengths = np.where(valid, lengths, 0) if size is None else lengths
    words = int128.to_big_endian(numbers, np.maximum(lengths, 1))
    digits = np.stack(words, axis=1).view(np.uint8).reshape(len(values), _DECIMAL_BYTES)
    data = digits[np.arange(_DECIMAL_BYTES) < lengths[:, None]]
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    validity = pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(pa.binary(), len(values), [validity, pa.py_buffer(offsets), pa.py_buffer(data)])


def _decode_decimals(stored: pa.Array, type: pa.DataType, name: str) -> pa.Array:
    _require_length(stored, range(1, _DECIMAL_BYTES + 1), type, name)
    valid = stored.is_valid().to_numpy(zero_copy_only=False)
    lengths = pc.fill_null(pc.binary_length(stored), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    digits = np.zeros((len(stored), _DECIMAL_BYTES), np.uint8)
    digits[np.arange(_DECIMAL_BYTES) < lengths[:, None]] = np.frombuffer(_joined(stored, valid), np.uint8)
    words = digits.view("<u8")
    numbers = int128.from_big_endian(words[:, 0].copy(), words[:, 1].copy(), np.maximum(lengths, 1))
    if not int128.fits_precision(numbers, type.precision)[valid].all():
        raise CorruptFileError(f"'{name}', bounds: expected a {type}, found more digits")
    return int128.to_decimal(numbers, valid, type)


def _require_length(stored: pa.Array, lengths: "range | tuple[int, ...]", type: pa.DataType, name: str) -> None:
    found = pc.unique(pc.drop_null(pc.binary_length(stored))).to_pylist()
    wrong = [length for length in found if length not in lengths]
    if wrong:
        expected = " or ".join(map(str, lengths)) if len(lengths) < 4 else f"{lengths[0]} to {lengths[-1]}"
        raise CorruptFileError(f"'{name}', bounds: expected {expected} bytes for a {type}, found {wrong[0]}")
