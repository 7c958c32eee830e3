"""Numbers of rows as bit slices: slice i holds the rows whose number has bit i."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from polynya.codec.bitmap import from_rows
from polynya.codec.int128 import I64


@dataclass(frozen=True)
class BitSlices:
    """The rows that have a number, and the slices, lowest bit first."""

    existence: BitMap
    slices: Sequence[BitMap]

    def equal(self, number: int) -> BitMap:
        """The rows with this number."""
        if number < 0 or number >> len(self.slices):
            return BitMap()
        rows = self.existence
        for bit, own in enumerate(self.slices):
            rows = rows & own if number >> bit & 1 else rows - own
        return rows

    def at_least(self, number: int) -> BitMap:
        """The rows with this number or a higher one."""
        if number <= 0:
            return self.existence
        if number >> len(self.slices):
            return BitMap()
        below = number - 1  # higher than this: from the lowest bit up, a set bit keeps what it shares, a clear one adds
        rows = BitMap()
        for bit, own in enumerate(self.slices):
            rows = rows & own if below >> bit & 1 else rows | own
        return rows & self.existence

    def between(self, low: int, high: int) -> BitMap:
        """The rows with a number from `low` to `high`, both included."""
        if low > high:
            return BitMap()
        return self.equal(low) if low == high else self.at_least(low) - self.at_least(high + 1)


def slice_bits(rows: npt.NDArray[np.integer], numbers: I64, slice_count: int) -> BitSlices:
    """The slices of numbers, none of them negative, given with their rows."""
    slices = [from_rows(rows[numbers >> np.int64(bit) & 1 == 1]) for bit in range(slice_count)]
    return BitSlices(from_rows(rows), slices)
