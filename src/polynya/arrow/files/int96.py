"""INT96 timestamps of Parquet files: no value is wrong in silence.

INT96 holds a day and nanoseconds of that day, and Paimon stores times before 1970 with negative nanoseconds. Arrow adds
both in 64 bits as unsigned numbers. In nanoseconds the sum comes out right for the years 1677 to 2262, and is another
time for all others. In microseconds it is right for all years, unless the nanoseconds are negative. So columns of up to
6 digits are read in microseconds, those of 7 to 9 digits (Paimon's own) in nanoseconds. Where that may be wrong, a
reading with signed nanoseconds decides: it costs another pass over the file, and few files have such times.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from polynya.errors import UnsupportedError
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_type
from polynya.storage.protocol import Storage

_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_LATE_SECONDS = 2**63 // _PER_SECOND["ns"]  # in the year 2262


class Int96Source(NamedTuple):
    """A file with what is asked of it."""

    parquet: pq.ParquetFile
    stream: pa.NativeFile
    storage: Storage
    name: str
    unit: str


def unit_of(columns: tuple[t.Field, ...]) -> str:
    """The unit in which INT96 leaves of these columns are read: microseconds where none has more digits."""
    return "ns" if any("timestamp[ns" in str(to_arrow_type(column.type)) for column in columns) else "us"


def check(file: Int96Source, leaves: list[int], row_groups: list[int], first_row: int, rows: int) -> Iterator[None]:
    """Look at the INT96 leaves batch by batch, one step before the batch is used; UnsupportedError names a column."""
    int96 = [leaf for leaf in leaves if file.parquet.schema.column(leaf).physical_type == "INT96"]
    if not int96:
        return
    known: dict[str, pa.Array] = {}
    fine, coarse = (_batches(file, unit, int96, row_groups, rows) for unit in (file.unit, "s"))
    for batch, seconds in zip(fine, coarse, strict=True):
        for name in batch.schema.names:
            if _is_sure(batch[name], seconds[name]):
                continue
            if name not in known:
                known[name] = _signed(file, name)
            _require_same(batch[name], known[name].slice(first_row, batch.num_rows), f"{file.name}', column '{name}")
        first_row += batch.num_rows
        yield


def _batches(
    file: Int96Source, unit: str, leaves: list[int], row_groups: list[int], rows: int
) -> Iterator[pa.RecordBatch]:
    again = pq.ParquetFile(file.stream, coerce_int96_timestamp_unit=unit, metadata=file.parquet.metadata)
    yield from again.reader.iter_batches(rows, row_groups=row_groups, column_indices=leaves, use_threads=True)


def _is_sure(times: pa.Array, seconds: pa.Array) -> bool:
    pairs = zip(_whole_seconds(times), _whole_seconds(seconds), strict=True)
    return all(np.array_equal(fine, coarse) and bool((coarse < _LATE_SECONDS).all()) for fine, coarse in pairs)


def _signed(file: Int96Source, column: str) -> pa.Array:
    from polynya.codec.parquet_int96 import signed_seconds  # noqa: PLC0415 - it loads DataFusion, which is seldom needed

    path = file.storage.local_path(file.name)
    found = signed_seconds(file.storage.read(file.name) if path is None else Path(path), column)
    if found is None:
        raise UnsupportedError(
            f"data file '{file.name}', column '{column}': INT96 timestamps that are either before 1970 or after 2262"
        )
    return found


def _require_same(times: pa.Array, signed: pa.Array, column: str) -> None:
    for fine, true in zip(_whole_seconds(times), _whole_seconds(signed), strict=True):
        if len(fine) != len(true) or not (np.abs(fine - true) <= 1).all():
            raise UnsupportedError(
                f"data file '{column}': an INT96 timestamp that does not fit 64 bits of {times.type}; of 7 to 9 digits"
                " the years 1677 to 2262 do"
            )


def _whole_seconds(array: pa.Array) -> list[np.ndarray]:
    """Every timestamp in the array or inside its nested values, nulls left out, in whole seconds."""
    type = array.type
    if pa.types.is_timestamp(type):
        values = array.drop_null().view(pa.int64()).to_numpy()
        return [np.floor_divide(values, _PER_SECOND[type.unit])]
    if pa.types.is_map(type):
        return _whole_seconds(array.keys) + _whole_seconds(array.items)
    if pa.types.is_struct(type):
        return [found for inner in array.flatten() for found in _whole_seconds(inner)]
    if pa.types.is_list(type):
        return _whole_seconds(array.flatten())
    return []
