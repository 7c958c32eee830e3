"""Roaring bitmaps: sets of 32-bit or 64-bit positions, in the portable format.

A bitmap of 32-bit positions (little-endian):

| bytes | what |
|---|---|
| 4 | without runs: cookie 12346, then 4 bytes: number of containers; with runs: 12347 + (number - 1) * 2^16 |
| (number + 7) div 8 | with runs only: bit i tells that container i holds runs |
| 4 * number | per container: uint16 high half of its positions, ascending, uint16 cardinality - 1 |
| 4 * number | where each container begins; left out with runs and fewer than 4 containers |
| rest | containers |

A container holds runs (uint16 count, then uint16 start and uint16 length - 1 of each), or else up to 4096 positions as
ascending uint16, or else 65536 bits.

A bitmap of 64-bit positions: int64 number of bitmaps, then for each the high half of its positions (int32, ascending)
and a bitmap of the low halves.

The C library trusts its input, so every byte is checked before it sees one.
"""

import struct
from array import array
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap, BitMap64

from polynya.errors import CorruptFileError

Bitmap = BitMap | BitMap64
I64 = npt.NDArray[np.int64]
U16 = npt.NDArray[np.uint16]

_COOKIE, _COOKIE_RUNS = 12346, 12347
_CONTAINERS_MAX = 1 << 16
_END32 = 1 << 32
_ARRAY_MAX = 4096  # positions; more are stored as bits
_BITS_BYTES = 8192
_NO_OFFSETS_BELOW = 4  # containers, in a bitmap with runs


class _Containers(NamedTuple):
    """What the head of a bitmap says of its containers; `starts` count from the beginning of the bitmap."""

    has_runs: npt.NDArray[np.bool_]
    cardinalities: I64
    starts: I64
    sizes: I64


def decode32(data: bytes, *, name: str) -> BitMap:
    """The positions in the portable bytes of a 32-bit bitmap; `name` is the file, for the message of an error."""
    size = size32(data, name=name)
    if size != len(data):
        raise CorruptFileError(f"{name}, bitmap: expected {size} bytes, found {len(data)}")
    return BitMap.deserialize(data)


def encode32(bitmap: BitMap) -> bytes:
    """The portable bytes of a 32-bit bitmap, with runs where they are shorter."""
    optimised = bitmap.copy()
    optimised.run_optimize()
    return bytes(optimised.serialize())


def decode64(data: bytes, *, name: str) -> BitMap64:
    """The positions in the portable bytes of a 64-bit bitmap."""
    view = memoryview(data)
    count = int.from_bytes(data[:8], "little", signed=True)
    at, last_key = 8, -1
    for _ in range(count if len(data) >= 8 else -1):
        key = int.from_bytes(data[at : at + 4], "little")
        if len(data) < at + 4 or key <= last_key:
            raise CorruptFileError(f"{name}, bitmap: expected a key over {last_key} at byte {at}, found {key}")
        at, last_key = at + 4, key
        at += size32(view[at:], name=name)
    if count < 0 or at != len(data):
        raise CorruptFileError(f"{name}, bitmap: expected {at} bytes of {count} bitmaps, found {len(data)} bytes")
    return BitMap64.deserialize(data)


def encode64(bitmap: BitMap64) -> bytes:
    """The portable bytes of a 64-bit bitmap; every high half from 0 to the largest has a bitmap, empty or not."""
    if not bitmap:
        return struct.pack("<q", 0)
    optimised = bitmap.copy()
    optimised.run_optimize()
    stored = bytes(optimised.serialize())
    high = bitmap.max() >> 32
    if int.from_bytes(stored[:8], "little") == high + 1:
        return stored
    empty = bytes(BitMap().serialize())
    parts, at, next_key = [struct.pack("<q", high + 1)], 8, 0
    while at < len(stored):
        key = int.from_bytes(stored[at : at + 4], "little")
        parts += [struct.pack("<I", missing) + empty for missing in range(next_key, key)]
        size = 4 + size32(memoryview(stored)[at + 4 :], name="bitmap")
        parts.append(stored[at : at + size])
        at, next_key = at + size, key + 1
    return b"".join(parts)


def positions(bitmap: Bitmap) -> npt.NDArray[np.uint64]:
    """The positions of a bitmap, ascending."""
    return np.asarray(bitmap.to_array()).astype(np.uint64, copy=False)


def from_positions(values: npt.NDArray[np.integer], *, wide: bool) -> Bitmap:
    """The bitmap of positions in any order; `wide` for 64 bits."""
    return BitMap64(array("Q", values.astype(np.uint64).tobytes())) if wide else from_rows(values)


def from_rows(values: npt.NDArray[np.integer]) -> BitMap:
    """The bitmap of 32-bit positions in any order."""
    return BitMap(array("I", values.astype(np.uint32).tobytes()))  # an array is read ten times as fast as one of numpy


def keep_mask(bitmap: Bitmap, start: int, row_count: int) -> pa.BooleanArray:
    """Which of the rows from `start` on are not in the bitmap."""
    keep = np.ones(row_count, dtype=np.bool_)
    within: Bitmap
    if isinstance(bitmap, BitMap64):
        within = bitmap & BitMap64(range(start, start + row_count))
    else:
        within = bitmap & BitMap(range(min(start, _END32), min(start + row_count, _END32)))
    keep[positions(within).astype(np.int64) - start] = False
    return pa.array(keep)


def size32(data: bytes | memoryview, *, name: str) -> int:
    """How many bytes the 32-bit bitmap at the beginning of `data` takes, after checking all of them."""
    containers, end = _read_containers(data, name)
    if len(containers.starts) == 0:
        return end
    body_start = int(containers.starts[0])
    end = int(containers.starts[-1] + containers.sizes[-1])
    body = np.frombuffer(data, dtype="<u2", count=(end - body_start) // 2, offset=body_start)
    firsts = (containers.starts - body_start) // 2
    _check_arrays(body, firsts, containers, name)
    _check_bits(body, firsts, containers, name)
    _check_runs(body, firsts[containers.has_runs], containers.cardinalities[containers.has_runs], name)
    return end


def _read_containers(data: bytes | memoryview, name: str) -> tuple[_Containers, int]:
    """The containers, checked to lie one after the other inside `data`, and where the head ends."""
    count, flags_at, flag_bytes = _read_cookie(data, name)
    head_at = flags_at + flag_bytes
    with_offsets = not flag_bytes or count >= _NO_OFFSETS_BELOW
    end = head_at + 4 * count + (4 * count if with_offsets else 0)
    if len(data) < end:
        raise CorruptFileError(f"{name}, bitmap: expected {end} bytes for {count} containers, found {len(data)}")
    flags = np.frombuffer(data, dtype=np.uint8, count=flag_bytes, offset=flags_at)
    has_runs = np.zeros(count, dtype=np.bool_)
    if flag_bytes:
        has_runs = np.unpackbits(flags, count=count, bitorder="little").astype(np.bool_)
    head = np.frombuffer(data, dtype="<u2", count=2 * count, offset=head_at)
    if (np.diff(head[0::2].astype(np.int64)) <= 0).any():
        raise CorruptFileError(f"{name}, bitmap: expected ascending containers, found another order")
    cardinalities = head[1::2].astype(np.int64) + 1
    if with_offsets:
        starts = np.frombuffer(data, dtype="<u4", count=count, offset=head_at + 4 * count).astype(np.int64)
        sizes = _sizes(data, starts, has_runs, cardinalities)
    else:
        starts, sizes = _walk(data, end, has_runs, cardinalities)
    ends = starts + sizes
    follow = np.concatenate([[end], ends[:-1]]) if count else ends
    if not np.array_equal(starts, follow) or (count and ends[-1] > len(data)):
        raise CorruptFileError(f"{name}, bitmap: expected containers within {len(data)} bytes, found others")
    return _Containers(has_runs, cardinalities, starts, sizes), end


def _read_cookie(data: bytes | memoryview, name: str) -> tuple[int, int, int]:
    """The number of containers, where their run flags begin, and how many bytes these take."""
    if len(data) < 8:
        raise CorruptFileError(f"{name}, bitmap: expected at least 8 bytes, found {len(data)}")
    cookie, count = struct.unpack_from("<II", data)
    if cookie & 0xFFFF == _COOKIE_RUNS:
        count = (cookie >> 16) + 1
        return count, 4, (count + 7) // 8
    if cookie != _COOKIE or count > _CONTAINERS_MAX:
        raise CorruptFileError(f"{name}, bitmap: expected cookie 12346 or 12347, found {cookie}, {count} containers")
    return count, 8, 0


def _sizes(data: bytes | memoryview, starts: I64, has_runs: npt.NDArray[np.bool_], cardinalities: I64) -> I64:
    sizes = np.where(cardinalities > _ARRAY_MAX, _BITS_BYTES, 2 * cardinalities)
    at = np.minimum(starts[has_runs], len(data) - 2)  # a start beyond the end is refused by the caller
    octets = np.frombuffer(data, dtype=np.uint8)
    sizes[has_runs] = 2 + 4 * (octets[at] + (octets[at + 1].astype(np.int64) << 8))
    return sizes


def _walk(data: bytes | memoryview, start: int, has_runs: npt.NDArray[np.bool_], cardinalities: I64) -> tuple[I64, I64]:
    """The starts and sizes of the at most 3 containers that are not listed."""
    starts, sizes = np.zeros_like(cardinalities), np.zeros_like(cardinalities)
    for index in range(len(cardinalities)):
        starts[index] = start
        one = slice(index, index + 1)
        sizes[one] = _sizes(data, starts[one], has_runs[one], cardinalities[one])
        start += int(sizes[index])
    return starts, sizes


def _check_arrays(body: U16, firsts: I64, containers: _Containers, name: str) -> None:
    is_array = ~containers.has_runs & (containers.cardinalities <= _ARRAY_MAX)
    follows = np.repeat(is_array, containers.sizes // 2)
    follows[firsts] = False
    if (follows[1:] & (body[1:] <= body[:-1])).any():
        raise CorruptFileError(f"{name}, bitmap: expected ascending positions, found another order")


def _check_bits(body: U16, firsts: I64, containers: _Containers, name: str) -> None:
    is_bits = ~containers.has_runs & (containers.cardinalities > _ARRAY_MAX)
    if is_bits.any():
        counts = np.add.reduceat(np.bitwise_count(body), firsts, dtype=np.int64)
        if (is_bits & (counts != containers.cardinalities)).any():
            raise CorruptFileError(f"{name}, bitmap: expected as many bits as are announced, found others")


def _check_runs(body: U16, firsts: I64, cardinalities: I64, name: str) -> None:
    counts = body[firsts].astype(np.int64)
    pairs = body[_ranges(firsts + 1, 2 * counts)].astype(np.int64)
    starts, lasts = pairs[0::2], pairs[0::2] + pairs[1::2]
    gaps = starts[1:] - lasts[:-1]
    gaps[np.cumsum(counts)[:-1] - 1] = 2
    if (counts == 0).any() or (gaps <= 1).any() or (lasts >= 1 << 16).any():
        raise CorruptFileError(f"{name}, bitmap: expected ascending runs, found empty or touching ones")
    totals = np.add.reduceat(pairs[1::2] + 1, np.cumsum(counts) - counts) if len(counts) else counts
    if not np.array_equal(totals, cardinalities):
        raise CorruptFileError(f"{name}, bitmap: expected runs of as many positions as announced, found others")


def _ranges(firsts: I64, counts: I64) -> I64:
    """The numbers from each first on, `counts` of them, one range after the other."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    numbers = np.arange(total, dtype=np.int64)
    numbers += np.repeat(firsts - (ends - counts), counts)
    return numbers
