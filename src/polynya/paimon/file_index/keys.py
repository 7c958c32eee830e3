"""The values of a column as the keys of an index: numbers of 64 bits in the order of the values, or bytes.

| type | stored as (big-endian) |
|---|---|
| BOOLEAN, TINYINT, SMALLINT, INT, BIGINT | 1, 1, 2, 4, 8 bytes |
| FLOAT, DOUBLE | 4, 8 bytes IEEE, every NaN the same |
| DATE, TIME | 4 bytes: days, milliseconds |
| TIMESTAMP, with or without zone | 8 bytes: milliseconds up to 3 digits, else microseconds |
| DECIMAL | 8 bytes: the unscaled number |
| CHAR, VARCHAR | int32 number of bytes, then these |
| BINARY, VARBINARY | bloom filters only: the bytes |

The number of a float is its bits with the lower ones turned for negatives, so that numbers sort as the floats do, with
-0.0 below 0.0 and NaN above all.
"""

from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec.int128 import I64, from_decimal
from polynya.errors import InvalidInputError
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_type
from polynya.model.literals import Value
from polynya.paimon.file_index.byte_reader import ByteReader

Key: TypeAlias = int | bytes

_MICROS_MAX = 6
_NANOS_PER_MICRO = 1000
_ZEROS = (-1, 0)  # the numbers of -0.0 and 0.0


@dataclass(frozen=True, slots=True)
class KeyForm:
    """How keys of a type are stored; `is_exact` is false where several values share one key."""

    width: int | None  # bytes; None for texts
    is_float: bool = False
    is_boolean: bool = False
    is_exact: bool = True


def key_form(type: t.DataType) -> KeyForm | None:
    """The form of the type's keys; None for a type that no index takes."""
    match type:
        case t.Boolean():
            return KeyForm(1, is_boolean=True)
        case t.TinyInt():
            return KeyForm(1)
        case t.SmallInt():
            return KeyForm(2)
        case t.Int() | t.Date() | t.Time():
            return KeyForm(4)
        case t.BigInt() | t.Decimal():
            return KeyForm(8)
        case t.Float():
            return KeyForm(4, is_float=True)
        case t.Double():
            return KeyForm(8, is_float=True)
        case t.Timestamp(precision=precision) | t.LocalTimestamp(precision=precision):
            return KeyForm(8, is_exact=precision <= _MICROS_MAX)
        case t.Char() | t.VarChar() | t.Binary() | t.VarBinary():
            return KeyForm(None)
        case _:
            return None


def form_of(type: t.DataType) -> KeyForm:
    """The form of a type that is known to have one."""
    form = key_form(type)
    assert form is not None, type
    return form


def to_keys(array: pa.Array, type: t.DataType) -> pa.Array:
    """The keys of a column of the type: int64 or large_binary, null where the column is."""
    array = array if array.type == to_arrow_type(type) else array.cast(to_arrow_type(type))
    if form_of(type).width is None:
        return array.cast(pa.large_binary())
    if not array.null_count:
        return pa.array(_numbers(array, type))
    is_null = pc.is_null(array).to_numpy(zero_copy_only=False)
    return pa.array(_numbers(_without_nulls(array), type), mask=is_null)


def _without_nulls(array: pa.Array) -> pa.Array:
    """The same values, with any value in place of a null."""
    if pa.types.is_decimal(array.type):
        return pc.fill_null(array, pa.scalar(Decimal(0), array.type))  # what stands below a null may be too long
    return pa.Array.from_buffers(array.type, len(array), [None, *array.buffers()[1:]], offset=array.offset)


def _numbers(array: pa.Array, type: t.DataType) -> I64:
    match type:
        case t.Float() | t.Double():
            return _ordered(array.to_numpy())
        case t.Decimal():
            wide = from_decimal(array)
            if not np.array_equal(wide.high, wide.low.view(np.int64) >> 63):
                raise InvalidInputError(f"file index: {type} has a value of more than 64 bits; index another column")
            return wide.low.view(np.int64)
        case t.Boolean():
            return np.asarray(array.cast(pa.int8()).to_numpy(), dtype=np.int64)
        case t.Date() | t.Time():
            return np.asarray(array.view(pa.int32()).to_numpy(), dtype=np.int64)
        case t.Timestamp(precision=precision) | t.LocalTimestamp(precision=precision):
            numbers: I64 = array.view(pa.int64()).to_numpy()
            return numbers if precision <= _MICROS_MAX else numbers // _NANOS_PER_MICRO
        case _:
            return np.asarray(array.to_numpy(), dtype=np.int64)


def _ordered(floats: npt.NDArray[np.floating]) -> I64:
    canonical = np.where(np.isnan(floats), np.array(np.nan, floats.dtype), floats)
    bits = canonical.view(np.int32 if floats.dtype == np.float32 else np.int64)
    return _turned(bits.astype(np.int64), floats.dtype.itemsize)


def _turned(bits: I64, width: int) -> I64:
    return bits ^ ((bits >> np.int64(63)) & np.int64((1 << (8 * width - 1)) - 1))


def unordered(numbers: I64, form: KeyForm) -> I64:
    """The numbers as they are stored and hashed: for floats their bits, with the sign extended."""
    return _turned(numbers, form.width) if form.is_float and form.width else numbers


def literal_keys(value: Value, type: t.DataType) -> tuple[Key, Key]:
    """The first and last key that a bound literal equals: they differ for zero, which has two signs."""
    assert isinstance(value, pa.Scalar)
    if isinstance(type, t.Decimal):
        sign, digits, _ = value.as_py().as_tuple()
        number = int("".join(map(str, digits)))
        return (-number, -number) if sign else (number, number)
    key: Key = to_keys(pa.array([value], value.type), type)[0].as_py()
    return _ZEROS if isinstance(type, (t.Float, t.Double)) and key in _ZEROS else (key, key)


def key_type(form: KeyForm) -> pa.DataType:
    """The Arrow type of keys."""
    return pa.large_binary() if form.width is None else pa.int64()


def stored(keys: pa.Array, form: KeyForm) -> pa.LargeBinaryArray:
    """The bytes of each key as an index stores it."""
    if form.width is None:
        return join(int32s(np.diff(offsets_of(keys))), keys)
    return fixed(unordered(keys.to_numpy(), form).astype(f">i{form.width}"))


def read_key(reader: ByteReader, form: KeyForm) -> Key:
    """The key that stands next."""
    if form.width is None:
        return reader.take(reader.int32())
    number = int.from_bytes(reader.take(form.width), "big", signed=True)
    if not form.is_float:
        return number
    floats = np.array([number], f"i{form.width}").view(f"f{form.width}")
    return int(_ordered(floats)[0])


def int32s(numbers: npt.NDArray[np.integer]) -> pa.LargeBinaryArray:
    """Each number as four bytes."""
    return fixed(numbers.astype(">i4"))


def fixed(values: npt.NDArray[np.generic]) -> pa.LargeBinaryArray:
    """The bytes of each item of an array."""
    offsets = np.arange(len(values) + 1, dtype=np.int64) * values.itemsize
    return pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(values), [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(values))]
    )


def join(*parts: pa.LargeBinaryArray) -> pa.LargeBinaryArray:
    """The bytes of all the parts, item by item."""
    return pc.binary_join_element_wise(*parts, pa.scalar(b"", pa.large_binary()))


def offsets_of(texts: pa.LargeBinaryArray) -> I64:
    """Where each item begins in `octets_of`, and the end."""
    offsets = _offsets(texts)
    from_zero: I64 = offsets - offsets[0]
    return from_zero


def octets_of(texts: pa.LargeBinaryArray) -> npt.NDArray[np.uint8]:
    """The bytes of all items, one after the other."""
    offsets = _offsets(texts)
    if offsets[0] == offsets[-1]:
        return np.empty(0, dtype=np.uint8)
    return np.frombuffer(texts.buffers()[2], dtype=np.uint8)[offsets[0] : offsets[-1]]


def _offsets(texts: pa.LargeBinaryArray) -> I64:
    if not len(texts):
        return np.zeros(1, dtype=np.int64)  # Arrow may leave the offsets of no item out
    return np.frombuffer(texts.buffers()[1], dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
