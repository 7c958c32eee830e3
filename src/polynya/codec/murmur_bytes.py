"""Murmur3, 32 bits, seed 0, over values of any length, a column at a time: the hash of Iceberg's bucket transform."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

U32 = npt.NDArray[np.uint32]

_FACTOR_1, _FACTOR_2 = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)
_ADDEND = np.uint32(0xE6546B64)
_FINAL_1, _FINAL_2 = np.uint32(0x85EBCA6B), np.uint32(0xC2B2AE35)


def hash_longs(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """The hash of each number as eight little-endian bytes."""
    halves = np.ascontiguousarray(values, "<i8").view("<u4").reshape(-1, 2)
    state = np.zeros(len(values), np.uint32)
    for half in (0, 1):
        state = _mixed(state, halves[:, half])
    return _finished(state, np.full(len(values), 8, np.uint32))


def hash_values(values: pa.Array) -> npt.NDArray[np.int32]:
    """The hash of each binary value; what stands for a null is undefined.

    The work is one step for every four bytes of the longest value, over the values that reach so far.
    """
    values = pa.concat_arrays([values.cast(pa.large_binary())])
    lengths = pc.fill_null(pc.binary_length(values), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    starts = np.frombuffer(values.buffers()[1], np.int64, len(values) + 1)[:-1]
    data = np.frombuffer(values.buffers()[2] or b"", np.uint8)
    state = np.zeros(len(values), np.uint32)
    rows = np.arange(len(values))
    for word in range(int(lengths.max(initial=0)) // 4):
        rows = rows[lengths[rows] >= 4 * word + 4]
        state[rows] = _mixed(state[rows], _words(data, starts[rows] + 4 * word, 4))
    for size in (1, 2, 3):
        tail = np.flatnonzero(lengths % 4 == size)
        state[tail] ^= _scrambled(_words(data, starts[tail] + lengths[tail] - size, size))
    return _finished(state, lengths.astype(np.uint32))


def _words(data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], size: int) -> U32:
    word = np.zeros(len(starts), np.uint32)
    for byte in range(size):
        word |= data[starts + byte].astype(np.uint32) << np.uint32(8 * byte)
    return word


def _mixed(state: U32, word: U32) -> U32:
    return _rotated(state ^ _scrambled(word), 13) * np.uint32(5) + _ADDEND


def _scrambled(word: U32) -> U32:
    return _rotated(word * _FACTOR_1, 15) * _FACTOR_2


def _rotated(values: U32, bits: int) -> U32:
    return (values << np.uint32(bits)) | (values >> np.uint32(32 - bits))


def _finished(state: U32, lengths: U32) -> npt.NDArray[np.int32]:
    state = state ^ lengths
    state = (state ^ (state >> np.uint32(16))) * _FINAL_1
    state = (state ^ (state >> np.uint32(13))) * _FINAL_2
    return (state ^ (state >> np.uint32(16))).view(np.int32)
