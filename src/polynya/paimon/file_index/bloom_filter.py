"""Bloom filters: whether a value may be among the rows.

| bytes | what |
|---|---|
| 4 | int32 number of hashes per value |
| rest | bits: bit p is bit p mod 8 of byte p div 8 |

Texts and bytes are hashed by xxHash64, numbers by Thomas Wang's 64-bit mix. From the halves of that hash, h1 (low) and
h2, come the bits h1 + i * h2 of i = 1, 2, ... in 32-bit arithmetic, turned where negative, modulo the number of bits.
Nulls are left out. Only `=` and IN ask for something that a filter knows.
"""

import math
import struct
from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from polynya.codec.int128 import I64
from polynya.errors import CorruptFileError, InvalidInputError
from polynya.model import types as t
from polynya.model.predicate import Predicate
from polynya.paimon.file_index.keys import KeyForm, form_of, key_form, key_type, to_keys, unordered
from polynya.paimon.file_index.result import REMAIN, SKIP, Result
from polynya.paimon.file_index.settings import positive, real
from polynya.paimon.file_index.wanted import Spans, points, wanted

SETTINGS = frozenset({"items", "fpp"})

_ITEMS, _FPP = 1_000_000, 0.1
_BITS_MAX = 2**31 - 1
_MASK = 2**32 - 1
_HASHES_MAX = 1100  # the smallest double as false positive rate asks for 1082
_BLOCK_ROWS = 1 << 16
_FLAGS_MAX = 1 << 27  # bits; a byte for each is four times as fast, and for more than these too large


def accepts(type: t.DataType) -> bool:
    """Whether the type can have a filter."""
    return key_form(type) is not None and not isinstance(type, (t.Boolean, t.Decimal))


class Writer:
    """Builds the filter of a column."""

    def __init__(self, type: t.DataType, settings: Mapping[str, str]) -> None:
        self._type = type
        self._form = form_of(type)
        self._bit_count, self._hash_count = _sizes(settings)
        self._has_flags = self._bit_count <= _FLAGS_MAX
        self._marks = np.zeros(self._bit_count // (1 if self._has_flags else 8), dtype=np.uint8)

    def add(self, array: pa.Array) -> None:
        """Add the values of the next rows."""
        keys = to_keys(array, self._type)
        hashes = _hashes(keys.drop_null() if keys.null_count else keys, self._form)
        for start in range(0, len(hashes), _BLOCK_ROWS):
            for place in range(1, self._hash_count + 1):
                self._set(_bits(hashes[start : start + _BLOCK_ROWS], place, self._bit_count))

    def _set(self, bits: npt.NDArray[np.int32]) -> None:
        if self._has_flags:
            self._marks[bits] = 1
        else:
            np.bitwise_or.at(self._marks, bits >> 3, np.left_shift(1, bits & 7).astype(np.uint8))

    def finish(self) -> bytes:
        """The body."""
        octets = np.packbits(self._marks, bitorder="little") if self._has_flags else self._marks
        return struct.pack(">i", self._hash_count) + octets.tobytes()


def evaluate(body: bytes, leaf: Predicate, type: t.DataType, row_count: int, *, name: str) -> Result:
    """SKIP when no row has the value, or one of the values, that the leaf asks for."""
    hashes = _wanted_hashes(leaf, type)
    if hashes is None:
        return REMAIN
    hash_count, bit_count = int.from_bytes(body[:4], "big", signed=True), 8 * (len(body) - 4)
    if not 0 < hash_count <= _HASHES_MAX or not 0 < bit_count <= _BITS_MAX:
        raise CorruptFileError(f"{name}, bloom filter: expected hashes and bits, found {hash_count} and {bit_count}")
    places = range(1, hash_count + 1)
    return REMAIN if any(all(_has(body, value, place, bit_count) for place in places) for value in hashes) else SKIP


@lru_cache(maxsize=256)  # a plan asks the same of many files
def _wanted_hashes(leaf: Predicate, type: t.DataType) -> tuple[int, ...] | None:
    """The hashes of the values that the leaf asks for; None where it asks for others too."""
    form = form_of(type)
    asked = wanted(leaf, type, form)
    keys = points(asked) if isinstance(asked, Spans) and not asked.negated else None
    if keys is None:
        return None
    return tuple(_hashes(pa.array(keys, key_type(form)), form).view(np.uint64).tolist())


def _has(body: bytes, value: int, place: int, bit_count: int) -> bool:
    combined = (value + place * (value >> 32)) & _MASK
    bit = (combined ^ _MASK if combined >> 31 else combined) % bit_count
    return body[4 + (bit >> 3)] >> (bit & 7) & 1 == 1


def _sizes(settings: Mapping[str, str]) -> tuple[int, int]:
    """How many bits the filter has, and how many of them a value sets."""
    items, fpp = positive(settings, "items", _ITEMS), real(settings, "fpp", _FPP)
    if not 0 < fpp < 1:
        raise InvalidInputError(f"'fpp' must be between 0 and 1, got '{fpp}'")
    whole = int(-items * math.log(fpp) / (math.log(2) * math.log(2)))
    bit_count = whole + 8 - whole % 8
    if bit_count > _BITS_MAX:
        raise InvalidInputError(f"'items' must give at most {_BITS_MAX} bits, got '{items}'")
    return bit_count, max(1, math.floor(bit_count / items * math.log(2) + 0.5))


def _hashes(keys: pa.Array, form: KeyForm) -> I64:
    if form.width is None:
        hashes = map(xxhash.xxh64_intdigest, keys.to_pylist())
        return np.fromiter(hashes, dtype=np.uint64, count=len(keys)).view(np.int64)
    return _mixed(unordered(keys.to_numpy(), form))


def _mixed(numbers: I64) -> I64:
    mixed = ~numbers + (numbers << 21)
    mixed ^= mixed >> 24
    mixed *= 265
    mixed ^= mixed >> 14
    mixed *= 21
    mixed ^= mixed >> 28
    mixed += mixed << 31
    return mixed


def _bits(hashes: I64, place: int, bit_count: int) -> npt.NDArray[np.int32]:
    """The bit that the hash of that place, counted from 1, sets for each value."""
    halves = hashes.view(np.int32).reshape(-1, 2)
    combined = halves[:, 0] + halves[:, 1] * np.int32(place)
    combined ^= combined >> 31
    return combined % np.int32(bit_count)
