"""Smallest and largest values of Arrow columns, batch after batch, as statistics want them.

Floats have their own order: -0.0 before 0.0, and NaN after everything (`Nan.LARGEST`) or not counted (`Nan.IGNORED`).
"""

import enum
import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polynya.arrow.stats import ColumnStats
from polynya.model.value_text import Physical


class Nan(enum.Enum):
    """What NaN means for the bounds of a float column."""

    LARGEST = "largest"
    IGNORED = "ignored"


def column_stats(array: pa.Array | pa.ChunkedArray, *, nan: Nan = Nan.LARGEST, bounds: bool = True) -> ColumnStats:
    """The statistics of one column; without `bounds` only the null count."""
    null_count = array.null_count
    if not bounds or null_count == len(array):
        return ColumnStats(null_count=null_count)
    if pa.types.is_floating(array.type):
        smallest, largest = _float_bounds(array, nan)
        return ColumnStats(smallest, largest, null_count)
    both = pc.min_max(array)
    return ColumnStats(_plain(both["min"]), _plain(both["max"]), null_count)


def merge(parts: Sequence[ColumnStats]) -> ColumnStats:
    """The statistics of several parts of one column; a part without bounds holds nothing but nulls."""
    smallest = [part.min for part in parts if part.min is not None]
    largest = [part.max for part in parts if part.max is not None]
    counts = [part.null_count for part in parts]
    return ColumnStats(
        min(smallest, key=_order) if smallest else None,
        max(largest, key=_order) if largest else None,
        None if None in counts else sum(count for count in counts if count is not None),
    )


def _plain(scalar: pa.Scalar) -> Physical:
    type = scalar.type
    if pa.types.is_temporal(type):
        return int(scalar.value)
    return scalar.as_py()


def _order(value: Physical) -> tuple[bool, bool, Physical] | Physical:
    if isinstance(value, float):
        if math.isnan(value):
            return (True, True, 0.0)
        return (False, value > 0 or (value == 0 and math.copysign(1, value) > 0), value)
    return value


def _float_bounds(array: pa.Array | pa.ChunkedArray, nan: Nan) -> tuple[float | None, float | None]:
    values = array.drop_null().to_numpy()
    finite_order = values
    has_nan = bool(np.isnan(values).any())
    if has_nan:
        finite_order = values[~np.isnan(values)]
    if len(finite_order) == 0:
        return (math.nan, math.nan) if nan is Nan.LARGEST else (None, None)
    smallest, largest = finite_order.min(), finite_order.max()
    if smallest == 0:
        smallest = -abs(smallest) if np.signbit(finite_order[finite_order == 0]).any() else abs(smallest)
    if largest == 0:
        largest = -abs(largest) if np.signbit(finite_order[finite_order == 0]).all() else abs(largest)
    return float(smallest), math.nan if has_nan and nan is Nan.LARGEST else float(largest)


class Collector:
    """Statistics of columns that come in batches; `bounded` says of which columns bounds are kept."""

    def __init__(self, bounded: Sequence[bool], nan: Nan) -> None:
        self._bounded = tuple(bounded)
        self._nan = nan
        self._columns = tuple(ColumnStats(null_count=0) for _ in self._bounded)

    def add(self, batch: pa.RecordBatch) -> None:
        """Take the rows in."""
        found = (
            column_stats(array, nan=self._nan, bounds=bounds)
            for array, bounds in zip(batch.columns, self._bounded, strict=True)
        )
        self._columns = tuple(merge(pair) for pair in zip(self._columns, found, strict=True))

    @property
    def columns(self) -> tuple[ColumnStats, ...]:
        """The statistics of all rows so far."""
        return self._columns
