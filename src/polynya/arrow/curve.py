"""Orders that keep rows together which are near each other in several columns.

Each column becomes the rank of its values, spread over as many bits as all columns have room for in 63. `zorder` puts
the bits of the columns in turns; `hilbert` follows the curve that never jumps.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from polynya.arrow.merge.order import codes

Ints = npt.NDArray[np.int64]

ORDERS = ("sort", "zorder", "hilbert")
_BITS = 63


@dataclass(frozen=True)
class Clustering:
    """The columns that rows are ordered by, and how: sort, zorder or hilbert."""

    columns: tuple[str, ...]
    order: str


def positions_on(order: str, columns: Sequence[pa.ChunkedArray]) -> Ints:
    """A number for each row: rows are in order when these ascend."""
    if order == "sort" or len(columns) == 1:
        return codes(columns)
    bits = _BITS // len(columns)
    ranks = [_rank(codes([column]), bits) for column in columns]
    return interleaved(ranks if order == "zorder" else _unrolled(ranks, bits), bits)


def interleaved(numbers: Sequence[Ints], bits: int) -> Ints:
    """One number of the bits of all, the highest of each first."""
    result = np.zeros(len(numbers[0]), np.int64)
    for bit in range(bits - 1, -1, -1):
        for one in numbers:
            result = (result << 1) | ((one >> bit) & 1)
    return result


def _rank(values: Ints, bits: int) -> Ints:
    """The rank of each value among the distinct ones, scaled to the number of bits."""
    distinct, ranks = np.unique(values, return_inverse=True)
    width = max(1, int(len(distinct) - 1).bit_length())
    ranks = ranks.astype(np.int64)
    return ranks << (bits - width) if width <= bits else ranks >> (width - bits)


def _unrolled(axes: Sequence[Ints], bits: int) -> list[Ints]:
    """Coordinates turned so that their interleaved bits count along the Hilbert curve (Skilling's transposition)."""
    x = [axis.copy() for axis in axes]
    for bit in range(bits - 1, 0, -1):
        mask = (1 << bit) - 1
        for axis in range(len(x)):
            is_set = (x[axis] >> bit) & 1 == 1
            swap = np.where(is_set, 0, (x[0] ^ x[axis]) & mask)
            x[0] = np.where(is_set, x[0] ^ mask, x[0] ^ swap)
            x[axis] = x[axis] ^ swap if axis else x[0]
    for axis in range(1, len(x)):
        x[axis] = x[axis] ^ x[axis - 1]
    flips = np.zeros_like(x[0])
    for bit in range(bits - 1, 0, -1):
        flips = np.where((x[-1] >> bit) & 1 == 1, flips ^ ((1 << bit) - 1), flips)
    return [axis ^ flips for axis in x]
