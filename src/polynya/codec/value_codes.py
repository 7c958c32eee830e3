"""Numbers for the values of a column of bytes, equal where the values are."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Ints = npt.NDArray[np.int64]


def value_codes(values: pa.Array) -> tuple[Ints, pa.Array]:
    """A number for each value, by its first occurrence, and the distinct values in that order.

    Equal values that stand together, as the partitions of files mostly do, are found by one comparison of all bytes.
    """
    starts = _run_starts(values)
    runs = values.take(pa.array(starts)).dictionary_encode()
    codes = runs.indices.to_numpy().astype(np.int64)
    return np.repeat(codes, np.diff(starts, append=len(values))), runs.dictionary


def _run_starts(values: pa.Array) -> Ints:
    """Where a value is not the one before it; everywhere where the values are not all of one length."""
    everywhere = np.arange(len(values))
    if not len(values) or values.null_count or values.type != pa.binary():
        return everywhere
    ends = np.frombuffer(values.buffers()[1], np.int32, len(values) + 1, values.offset * 4)
    width = int(ends[1] - ends[0])
    if width == 0 or (np.diff(ends) != width).any():
        return everywhere
    data = np.frombuffer(values.buffers()[2], f"V{width}", len(values), ends[0])
    return np.flatnonzero(np.append(True, data[1:] != data[:-1]))
