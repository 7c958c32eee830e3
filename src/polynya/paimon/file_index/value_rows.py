"""The distinct keys of a column with the rows of each, gathered batch by batch."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from polynya.codec.bitmap import encode32, from_rows
from polynya.codec.int128 import I64

I32 = npt.NDArray[np.int32]
U16 = npt.NDArray[np.uint16]

_ARRAY_MAX = 4096
_COOKIE = 12346


class ValueRows:
    """Gathers the keys of the rows of a file."""

    def __init__(self, key_type: pa.DataType) -> None:
        self._parts = [pa.array([], key_type).dictionary_encode()]

    def add(self, keys: pa.Array) -> None:
        """Add the keys of the next rows."""
        self._parts.append(keys.dictionary_encode())

    def finish(self) -> tuple[pa.Array, I32]:
        """The distinct keys in order of first appearance, and for each row which it has, or -1 for null."""
        parts = pa.chunked_array(self._parts).unify_dictionaries().chunks
        codes = [part.indices.fill_null(-1).to_numpy() for part in parts]
        return parts[0].dictionary, np.concatenate(codes).astype(np.int32)


def encode_groups(rows: npt.NDArray[np.integer], counts: I64) -> pa.LargeBinaryArray:
    """The portable bitmap of each group of rows; `rows` ascend within a group and no group is empty.

    Most groups of a column with many values are short lists without runs: these are laid out all at once.
    """
    group = np.repeat(np.arange(len(counts)), counts)
    starts_container = np.ones(len(rows), dtype=np.bool_)
    starts_container[1:] = (np.diff(group) != 0) | (np.diff(rows >> 16) != 0)
    container_at = np.flatnonzero(starts_container)
    sizes = np.diff(container_at, append=len(rows))
    breaks = np.ones(len(rows), dtype=np.int64)
    breaks[1:] = starts_container[1:] | (np.diff(rows) != 1)
    run_counts = np.add.reduceat(breaks, container_at) if len(rows) else breaks
    is_list = (sizes <= _ARRAY_MAX) & (2 + 4 * run_counts >= 2 * sizes)
    is_plain = np.ones(len(counts), dtype=np.bool_)
    is_plain[group[container_at[~is_list]]] = False
    kept = is_plain[group]
    lists = _encode_lists(rows[kept], counts[is_plain])
    ends = np.cumsum(counts)
    others = [encode32(from_rows(rows[ends[at] - counts[at] : ends[at]])) for at in np.flatnonzero(~is_plain).tolist()]
    places = np.empty(len(counts), dtype=np.int64)
    places[np.concatenate([np.flatnonzero(is_plain), np.flatnonzero(~is_plain)])] = np.arange(len(counts))
    return pa.concat_arrays([lists, pa.array(others, pa.large_binary())]).take(pa.array(places))


def _encode_lists(rows: npt.NDArray[np.integer], counts: I64) -> pa.LargeBinaryArray:
    """The bitmaps of groups whose containers are all lists: the head, then the lower halves of the rows."""
    first_row = np.cumsum(counts) - counts
    group = np.repeat(np.arange(len(counts)), counts)
    starts_container = np.ones(len(rows), dtype=np.bool_)
    starts_container[1:] = (np.diff(group) != 0) | (np.diff(rows >> 16) != 0)
    container_at = np.flatnonzero(starts_container)
    owner = group[container_at]
    containers = np.bincount(owner, minlength=len(counts))
    units = 4 + 4 * containers + counts  # of 16 bits
    base = np.cumsum(units) - units
    out = np.zeros(int(units.sum()), dtype="<u2")
    out[base] = _COOKIE
    _put32(out, base + 2, containers)
    place = np.arange(len(container_at)) - (np.cumsum(containers) - containers)[owner]
    at = base[owner] + 4 + 2 * place
    out[at] = rows[container_at] >> 16
    out[at + 1] = np.diff(container_at, append=len(rows)) - 1
    within = container_at - first_row[owner]
    _put32(out, at + 2 * containers[owner], 2 * (4 + 4 * containers[owner] + within))
    out[(base + 4 + 4 * containers - first_row)[group] + np.arange(len(rows))] = rows & 0xFFFF
    offsets = np.append(base, len(out)) * 2
    buffers = [None, pa.py_buffer(offsets.astype(np.int64)), pa.py_buffer(out)]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(counts), buffers)


def _put32(out: U16, at: I64, numbers: I64) -> None:
    out[at] = numbers & 0xFFFF
    out[at + 1] = numbers >> 16
