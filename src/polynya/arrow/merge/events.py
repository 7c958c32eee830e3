"""What happens to the value of one column, key by key: the common language of engines and aggregate functions.

An engine turns the records of the keys with more than one record into events; a function folds the events of a key,
in order, into one value.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from polynya.arrow.merge.order import Bools, Ints

BASE = 0  # the value is the record's, whatever it was
ADD = 1  # the record's value is added to the value
REVERSED = 2  # the same from an older record: the value is added to the record's
RETRACT = 3  # the record's value is taken back
FORGOTTEN = 4  # added to one of the above that a later BASE undid: it changes no value, but it had to be possible

Ops = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Events:
    """Events of one column, by key and then in order."""

    row: Ints  # the position of the record in the table
    group: Ints  # the number of the key among those with several records, ascending
    op: Ops
    group_count: int

    def __len__(self) -> int:
        return len(self.row)

    def where(self, mask: Bools) -> "Events":
        """The events that the mask keeps."""
        if mask.all():
            return self
        return Events(self.row[mask], self.group[mask], self.op[mask], self.group_count)

    def has(self, op: int) -> bool:
        """Whether an event of that kind is there."""
        return bool((self.op == op).any())

    @property
    def acts(self) -> Ops:
        """The events as they happened, whether they are forgotten or not."""
        return self.op & np.uint8(FORGOTTEN - 1)

    @property
    def remembered(self) -> "Events":
        """The events that no later BASE undid."""
        return self.where(self.op < FORGOTTEN)

    @property
    def forgotten(self) -> "Events":
        """The events that a later BASE undid, as those of keys of their own: each BASE begins one."""
        undone = self.where(self.op >= FORGOTTEN)
        begins = undone.acts == BASE
        begins[undone.starts] = True
        return Events(undone.row, np.cumsum(begins) - 1, undone.acts, int(begins.sum()))

    @cached_property
    def starts(self) -> Ints:
        """Where each key that has events begins."""
        return run_starts(self.group)


def run_starts(numbers: Ints) -> Ints:
    """Where each run of equal numbers begins."""
    if not len(numbers):
        return np.zeros(0, np.int64)
    return np.flatnonzero(np.concatenate(([True], numbers[1:] != numbers[:-1])))


def first_of(numbers: Ints, count: int, mask: Bools) -> Ints:
    """For each of `count` numbers the first position where it stands and the mask holds, or -1."""
    positions = np.flatnonzero(mask)[::-1]
    found = np.full(count, -1, np.int64)
    found[numbers[positions]] = positions  # of equal indices the last assignment stays
    return found


def last_of(numbers: Ints, count: int, mask: Bools) -> Ints:
    """For each of `count` numbers the last position where it stands and the mask holds, or -1."""
    positions = np.flatnonzero(mask)
    found = np.full(count, -1, np.int64)
    found[numbers[positions]] = positions
    return found


def picked(row: Ints, positions: Ints) -> Ints:
    """The rows at the positions; -1 stays -1."""
    if not len(row):
        return positions
    return np.where(positions < 0, -1, row[positions])


def steps(starts: Ints, total: int) -> Iterator[tuple[Ints, Ints]]:
    """Walk all runs at once: yield, for each distance from the start, the runs that are that long and the positions.

    The cost is that of all positions together plus a little for each step, so the longest run decides.
    """
    sizes = np.diff(starts, append=total)
    by_size = np.argsort(-sizes, kind="stable")
    shrinking = -sizes[by_size]
    for distance in range(int(sizes.max(initial=0))):
        runs = by_size[: np.searchsorted(shrinking, -distance, side="left")]
        yield runs, starts[runs] + distance
