"""The hash that routes rows to buckets: murmur3 over the 32-bit words of a BinaryRow's body.

A row's body is a multiple of 8 bytes, so there is no tail. `row_hashes` works by column: it keeps one state per row and
mixes in word after word, in blocks of rows that stay in the cache, and never joins the rows.
"""

import struct
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from polynya.codec.int128 import I64, U64
from polynya.codec.row_words import RowWords, Text, row_words

U32 = npt.NDArray[np.uint32]

_SEED = 42
_FACTOR_1, _FACTOR_2 = 0xCC9E2D51, 0x1B873593
_ADDEND = 0xE6546B64
_FINAL_1, _FINAL_2 = 0x85EBCA6B, 0xC2B2AE35
_MASK = 0xFFFFFFFF
_BLOCK_ROWS = 1 << 15
_FEW_ROWS = 8  # so few long values are hashed faster one by one


def hash_words(data: bytes) -> int:
    """The signed 32-bit hash of bytes whose length is a multiple of 4."""
    state = _mix_all(_SEED, data) ^ len(data)
    state = (state ^ state >> 16) * _FINAL_1 & _MASK
    state = (state ^ state >> 13) * _FINAL_2 & _MASK
    state ^= state >> 16
    return state - (1 << 32) if state >> 31 else state


def row_hashes(columns: Sequence[pa.Array | pa.ChunkedArray]) -> npt.NDArray[np.int32]:
    """The hash of each row of the columns, as BinaryRow in the order of the columns."""
    rows = row_words(columns)
    hashes = np.empty(rows.row_count, dtype=np.uint32)
    for start in range(0, rows.row_count, _BLOCK_ROWS):
        block = slice(start, min(start + _BLOCK_ROWS, rows.row_count))
        hashes[block] = _hash_block(rows, block)
    return hashes.view(np.int32)


def _hash_block(rows: RowWords, block: slice) -> U32:
    count = block.stop - block.start
    state = np.full(count, _SEED, dtype=np.uint32)
    scratch = np.empty(count, dtype=np.uint32)
    sizes: I64 | int = 0
    for part in rows.parts:
        if isinstance(part, Text):
            text = Text(part.data, part.starts[block], part.lengths[block])
            _mix_text(state, text)
            sizes = sizes + (text.lengths + 7) // 8 * 8
        else:
            _mix_word(state, part[block], scratch)
            sizes = sizes + 8
    state ^= np.asarray(sizes).astype(np.uint32)
    return _finish(state)


def _mix_text(state: U32, text: Text) -> None:
    """Mix the words of the text into the states of its rows, the longest rows first."""
    order = np.argsort(-text.lengths, kind="stable")
    word_counts = (text.lengths[order] + 7) // 8
    for index, rows in _reaching(order, word_counts):
        if len(rows) <= _FEW_ROWS:
            _mix_rests(state, text, rows, index)
            return
        mixed = state[rows]
        _mix_word(mixed, text.words(rows, index), np.empty_like(mixed))
        state[rows] = mixed


def _reaching(order: npt.NDArray[np.intp], word_counts: I64) -> Iterator[tuple[int, npt.NDArray[np.intp]]]:
    """For each word index, the rows that have such a word; `word_counts` descends."""
    index, ascending = 0, -word_counts
    while count := int(np.searchsorted(ascending, -index, side="left")):
        yield index, order[:count]
        index += 1


def _mix_rests(state: U32, text: Text, rows: npt.NDArray[np.intp], index: int) -> None:
    """Mix all that is left from word `index` on, row by row."""
    for row in rows.tolist():
        rest = text.data[text.starts[row] + 8 * index : text.starts[row] + text.lengths[row]].tobytes()
        state[row] = _mix_all(int(state[row]), rest.ljust(-(-len(rest) // 8) * 8, b"\0"))


def _mix_all(state: int, data: bytes) -> int:
    for (word,) in struct.iter_unpack("<I", data):
        word = word * _FACTOR_1 & _MASK
        word = (word << 15 | word >> 17) * _FACTOR_2 & _MASK
        state ^= word
        state = (state << 13 | state >> 19) * 5 + _ADDEND & _MASK
    return state


def _mix_word(state: U32, word: U64, scratch: U32) -> None:
    """Mix both halves of a 64-bit word into each state, in place."""
    halves = word.view("<u4").reshape(-1, 2)
    for half in (0, 1):
        key = halves[:, half] * np.uint32(_FACTOR_1)
        _rotate(key, 15, scratch)
        key *= np.uint32(_FACTOR_2)
        state ^= key
        _rotate(state, 13, scratch)
        state *= np.uint32(5)
        state += np.uint32(_ADDEND)


def _rotate(values: U32, bits: int, scratch: U32) -> None:
    np.right_shift(values, np.uint32(32 - bits), out=scratch)
    np.left_shift(values, np.uint32(bits), out=values)
    values |= scratch


def _finish(state: U32) -> U32:
    state ^= state >> np.uint32(16)
    state *= np.uint32(_FINAL_1)
    state ^= state >> np.uint32(13)
    state *= np.uint32(_FINAL_2)
    state ^= state >> np.uint32(16)
    return state
