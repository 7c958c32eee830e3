"""BinaryRow, one row at a time: how Paimon stores partitions, keys and statistics.

| bytes | what |
|---|---|
| 4 | arity, big-endian; all that follows is little-endian |
| W = (arity + 71) div 64 * 8 | byte 0: row kind (0 here); bit 8 + i: field i is null |
| 8 * arity | one slot per field; unused high bytes are zero |
| rest | values that do not fit a slot, in field order, each padded with zeros to 8; offsets count after the arity |

| type | slot | rest |
|---|---|---|
| bool, int8..int64, float, double, date32, time32[ms] | the value | |
| decimal128(p <= 18), timestamp[ms] | unscaled value, milliseconds (int64) | |
| string, binary of <= 7 bytes | the bytes; byte 7 = 0x80 + length | |
| string, binary of >= 8 bytes | int32 length, int32 offset | the bytes |
| decimal128(p > 18) | int32 length, int32 offset | 16 bytes: shortest big-endian two's complement, then zeros |
| timestamp[us, ns] | int32 nanoseconds of the millisecond, int32 offset | int64 milliseconds |

A null leaves its slot zero and takes no room, except in the last two lines: their room is kept, filled with zeros, and
the slot holds the offset. Two rows are equal to Paimon when their bytes are, so the encoding has no freedom.

A value is an int for dates (days), times (milliseconds) and timestamps (in the unit of the type), and else a bool, int,
float, Decimal, str or bytes. Nested types are always null here: Paimon allows them in no key and keeps no bounds of
them.
"""

import struct
from collections.abc import Sequence
from decimal import Context, Decimal, InvalidOperation

import pyarrow as pa

from polynya.codec.int128 import shortest_bytes
from polynya.errors import CorruptFileError, InvalidInputError, UnsupportedError

ARITY_BYTES = 4
INLINE_BYTES = 7
INLINE_MARK = 0x80
COMPACT_PRECISION = 18
MILLIS_PER_DAY = 86_400_000
NANOS_PER_MILLI = 1_000_000
NANOS_PER_UNIT = {"us": 1_000, "ns": 1}

_PLAIN_FORMAT = {
    pa.bool_(): "<?",
    pa.int8(): "<b",
    pa.int16(): "<h",
    pa.int32(): "<i",
    pa.int64(): "<q",
    pa.float32(): "<f",
    pa.float64(): "<d",
    pa.date32(): "<i",
    pa.time32("ms"): "<i",
}
_EXACT = Context(prec=80)


def null_bytes(arity: int) -> int:
    """The size of the null bits, W."""
    return (arity + 71) // 64 * 8


def fixed_bytes(arity: int) -> int:
    """The size of null bits and slots, where the variable part begins."""
    return null_bytes(arity) + 8 * arity


def is_wide_decimal(type: pa.DataType) -> bool:
    """Whether the type is a decimal that does not fit a slot."""
    return bool(pa.types.is_decimal128(type)) and type.precision > COMPACT_PRECISION


def is_wide_timestamp(type: pa.DataType) -> bool:
    """Whether the type is a timestamp that does not fit a slot."""
    return bool(pa.types.is_timestamp(type)) and type.unit in NANOS_PER_UNIT


def is_text(type: pa.DataType) -> bool:
    """Whether values are strings or bytes."""
    return type in (pa.string(), pa.binary())


def is_nested(type: pa.DataType) -> bool:
    """Whether values hold other values."""
    return bool(pa.types.is_nested(type))


def unsupported_type(type: pa.DataType) -> UnsupportedError:
    """The error for a type, or a value of a nested type, that no row holds."""
    return UnsupportedError(f"BinaryRow: expected a type of keys, partitions or statistics, found a value of {type}")


def encode_row(values: Sequence[object], types: Sequence[pa.DataType]) -> bytes:
    """The bytes of a row, arity first."""
    if len(values) != len(types):
        raise InvalidInputError(f"BinaryRow: expected {len(types)} values, found {len(values)}")
    arity = len(types)
    nulls = 0
    slots = bytearray()
    variable = bytearray()
    for index, (value, type) in enumerate(zip(values, types, strict=True)):
        if value is None:
            nulls |= 1 << (8 + index)
        try:
            slot, rest = _encode_value(value, type, fixed_bytes(arity) + len(variable))
        except (struct.error, AttributeError, TypeError, ValueError, InvalidOperation, OverflowError) as error:
            raise InvalidInputError(f"BinaryRow, field {index}: expected a value of {type}, found {value!r}") from error
        slots += slot.ljust(8, b"\0")
        variable += rest.ljust(-(-len(rest) // 8) * 8, b"\0")
    header = struct.pack(">i", arity) + nulls.to_bytes(null_bytes(arity), "little")
    return bytes(header + slots + variable)


def decode_row(data: bytes, types: Sequence[pa.DataType], *, name: str = "row") -> tuple[object, ...]:
    """The values of a row with its arity first; `name` is the file it comes from, for the message of an error."""
    if len(data) < ARITY_BYTES + fixed_bytes(len(types)):
        expected = ARITY_BYTES + fixed_bytes(len(types))
        raise CorruptFileError(f"{name}, BinaryRow: expected at least {expected} bytes, found {len(data)}")
    arity = int.from_bytes(data[:ARITY_BYTES], "big", signed=True)
    if arity != len(types):
        raise CorruptFileError(f"{name}, BinaryRow: expected {len(types)} fields, found {arity}")
    body = data[ARITY_BYTES:]
    nulls = int.from_bytes(body[: null_bytes(arity)], "little")
    return tuple(
        None if nulls >> (8 + index) & 1 else _decode_value(body, null_bytes(arity) + 8 * index, type, name)
        for index, type in enumerate(types)
    )


def _encode_value(value: object, type: pa.DataType, offset: int) -> tuple[bytes, bytes]:
    """The slot (zeros left off) and the variable bytes (padding of less than 8 left off), to stand at `offset`."""
    if is_wide_decimal(type):
        digits = b"" if value is None else shortest_bytes(_unscaled(value, type))
        return struct.pack("<ii", len(digits), offset), digits.ljust(16, b"\0")
    if is_wide_timestamp(type):
        millis, nanos = divmod(_integer(value or 0) * NANOS_PER_UNIT[type.unit], NANOS_PER_MILLI)
        return struct.pack("<ii", nanos, offset), struct.pack("<q", millis)
    if value is None:
        return b"", b""
    if is_text(type):
        data = value.encode() if isinstance(value, str) else bytes(memoryview(value))  # type: ignore[arg-type]  # else TypeError
        if len(data) > INLINE_BYTES:
            return struct.pack("<ii", len(data), offset), data
        return data.ljust(INLINE_BYTES, b"\0") + bytes([INLINE_MARK | len(data)]), b""
    if pa.types.is_decimal128(type):
        return struct.pack("<q", _unscaled(value, type)), b""
    if pa.types.is_timestamp(type) and type.unit == "ms":
        return struct.pack("<q", value), b""
    if type not in _PLAIN_FORMAT:
        raise unsupported_type(type)
    return struct.pack(_PLAIN_FORMAT[type], value), b""


def _decode_value(body: bytes, at: int, type: pa.DataType, name: str) -> object:
    if is_text(type):
        data = _text(body, at, name)
        return data if type == pa.binary() else _characters(data, name)
    if is_wide_decimal(type):
        length, offset = struct.unpack_from("<ii", body, at)
        unscaled = int.from_bytes(_variable(body, offset, length, 1, 16, name), "big", signed=True)
        return _decimal(unscaled, type, name)
    if is_wide_timestamp(type):
        nanos, offset = struct.unpack_from("<ii", body, at)
        if not 0 <= nanos < NANOS_PER_MILLI:
            raise CorruptFileError(f"{name}, BinaryRow: expected 0 to 999999 nanoseconds, found {nanos}")
        millis = int.from_bytes(_variable(body, offset, 8, 8, 8, name), "little", signed=True)
        return (millis * NANOS_PER_MILLI + nanos) // NANOS_PER_UNIT[type.unit]
    if pa.types.is_decimal128(type):
        return _decimal(struct.unpack_from("<q", body, at)[0], type, name)
    if pa.types.is_timestamp(type) and type.unit == "ms":
        return struct.unpack_from("<q", body, at)[0]
    if type not in _PLAIN_FORMAT:
        raise unsupported_type(type)
    value = struct.unpack_from(_PLAIN_FORMAT[type], body, at)[0]
    if type == pa.time32("ms") and not 0 <= value < MILLIS_PER_DAY:
        raise CorruptFileError(f"{name}, BinaryRow: expected a time of day in milliseconds, found {value}")
    return value


def _text(body: bytes, at: int, name: str) -> bytes:
    mark = body[at + INLINE_BYTES]
    if mark & INLINE_MARK:
        length = mark & ~INLINE_MARK
        if length > INLINE_BYTES:
            raise CorruptFileError(f"{name}, BinaryRow: expected at most 7 inline bytes, found {length}")
        return body[at : at + length]
    length, offset = struct.unpack_from("<ii", body, at)
    return _variable(body, offset, length, 0, len(body), name)


def _variable(body: bytes, offset: int, length: int, shortest: int, longest: int, name: str) -> bytes:
    if not (shortest <= length <= longest and 0 <= offset <= len(body) - length):
        raise CorruptFileError(
            f"{name}, BinaryRow: expected a value within {len(body)} bytes, found {length} bytes at {offset}"
        )
    return body[offset : offset + length]


def _characters(data: bytes, name: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise CorruptFileError(f"{name}, BinaryRow: expected UTF-8, found {data[:20]!r}") from error


def _integer(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(value)
    return value


def _unscaled(value: object, type: pa.DataType) -> int:
    shifted = Decimal(value).scaleb(type.scale, _EXACT)  # type: ignore[arg-type]  # else TypeError
    if shifted != shifted.to_integral_value(context=_EXACT) or shifted.copy_abs() >= 10**type.precision:
        raise ValueError(value)
    return int(shifted)


def _decimal(unscaled: int, type: pa.DataType, name: str) -> Decimal:
    if abs(unscaled) >= 10**type.precision:
        raise CorruptFileError(f"{name}, BinaryRow: expected {type.precision} digits, found {unscaled}")
    return Decimal(unscaled).scaleb(-type.scale, _EXACT)
