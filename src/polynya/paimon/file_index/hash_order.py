"""The order in which a Java HashMap gives its keys, which decides where bitmaps stand.

A map of n keys has 16 bins, doubled until n is at most three quarters of them. A key goes to the bin of its hash; bins
follow each other, and in a bin the key that came last stands first, as computeIfAbsent puts it there. (Java turns bins
of eight keys and more into trees, which may change that order; readers do not depend on it.)
"""

import struct

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from polynya.codec.int128 import I64
from polynya.paimon.file_index.keys import KeyForm, octets_of, offsets_of, unordered

I32 = npt.NDArray[np.int32]
U32 = npt.NDArray[np.uint32]

_FIRST_BINS = 16
_TRUE_HASH, _FALSE_HASH = 1231, 1237
_SEED = 42
_MASK = 0xFFFFFFFF
_LONG_TEXT = 256  # bytes
_FACTOR_1, _FACTOR_2, _ADDEND = np.uint32(0xCC9E2D51), np.uint32(0x1B873593), np.uint32(0xE6546B64)
_FINAL_1, _FINAL_2 = np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)


def key_order(keys: pa.Array, form: KeyForm) -> npt.NDArray[np.intp]:
    """For each place in the map, which of the distinct keys stands there; `keys` are in order of first appearance."""
    if form.width is None:
        return _order(_text_hashes(octets_of(keys), offsets_of(keys)))
    numbers = keys.to_numpy()
    if form.is_boolean:
        return _order(np.where(numbers == 1, _TRUE_HASH, _FALSE_HASH).astype(np.uint32))
    bits = unordered(numbers, form)
    folded = bits ^ (bits.view(np.uint64) >> np.uint64(32)).view(np.int64) if form.width == 8 else bits
    return _order(folded.astype(np.uint32))


def _order(hashes: U32) -> npt.NDArray[np.intp]:
    bins = _FIRST_BINS
    while len(hashes) > bins * 3 // 4:
        bins *= 2
    spread = (hashes ^ (hashes >> np.uint32(16))) & np.uint32(bins - 1)
    return len(hashes) - 1 - np.argsort(spread[::-1], kind="stable")


def _text_hashes(octets: npt.NDArray[np.uint8], offsets: I64) -> U32:
    """The murmur hash of each text: its whole 32-bit words, then its last bytes one by one, signed."""
    starts, lengths = offsets[:-1], np.diff(offsets)
    state = np.full(len(starts), _SEED, dtype=np.uint32)
    rows = np.flatnonzero(lengths <= _LONG_TEXT)
    for row in np.flatnonzero(lengths > _LONG_TEXT).tolist():
        state[row] = _mix_all(octets[starts[row] : offsets[row + 1]].tobytes())
    for at in range(0, int(lengths[rows].max(initial=0)), 4):
        rows = rows[lengths[rows] > at]
        whole = rows[lengths[rows] >= at + 4]
        _mix(state, whole, octets[(starts[whole] + at)[:, None] + np.arange(4)].view("<u4").reshape(-1))
        for last in range(at, at + 3):
            tail = rows[(lengths[rows] > last) & (lengths[rows] < at + 4)]
            _mix(state, tail, octets[starts[tail] + last].view(np.int8).astype(np.int32).view(np.uint32))
    state ^= lengths.astype(np.uint32)
    state = (state ^ (state >> np.uint32(16))) * _FINAL_1
    state = (state ^ (state >> np.uint32(13))) * _FINAL_2
    return state ^ (state >> np.uint32(16))


def _mix(state: U32, rows: npt.NDArray[np.intp], words: U32) -> None:
    words = _rotated(words * _FACTOR_1, 15) * _FACTOR_2
    state[rows] = _rotated(state[rows] ^ words, 13) * np.uint32(5) + _ADDEND


def _mix_all(text: bytes) -> int:
    """The state of one long text, for which a pass over all texts per word would be wasteful."""
    state, whole = _SEED, len(text) // 4 * 4
    for (word,) in (*struct.iter_unpack("<I", text[:whole]), *struct.iter_unpack("<b", text[whole:])):
        word = word * int(_FACTOR_1) & _MASK
        state ^= (word << 15 | word >> 17) * int(_FACTOR_2) & _MASK
        state = (state << 13 | state >> 19) * 5 + int(_ADDEND) & _MASK
    return state


def _rotated(values: U32, bits: int) -> U32:
    return (values << np.uint32(bits)) | (values >> np.uint32(32 - bits))
