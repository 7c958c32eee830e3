"""Timestamps of ORC files outside the years 1677 to 2262, which Arrow's ORC reader refuses.

ORC stores seconds and nanoseconds apart, so nothing is lost in the file. These columns are read row by row with pyorc,
an optional dependency; files with such values are rare.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pyarrow as pa

from polynya.arrow.blob_file import open_blob
from polynya.errors import CorruptFileError, UnsupportedError
from polynya.storage.protocol import Storage

pyorc: Any = import_module("pyorc") if find_spec("pyorc") else None
_PER_SECOND = {"ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def read_timestamps(storage: Storage, name: str, stripe: int, units: dict[str, str]) -> dict[str, pa.Array]:
    """The timestamp columns of a stripe, by name, each in the unit asked for; UnsupportedError without pyorc."""
    if pyorc is None:
        raise UnsupportedError(
            f"data file '{name}': timestamps of {', '.join(units)} outside the years 1677 to 2262; install pyorc"
        )
    kinds = (pyorc.TypeKind.TIMESTAMP, pyorc.TypeKind.TIMESTAMP_INSTANT)
    with open_blob(storage, name) as source:
        try:
            reader = pyorc.Reader(source, column_names=list(units), converters=dict.fromkeys(kinds, _pair_converter()))
            order = [column for column in reader.schema.fields if column in units]
            columns = list(zip(*reader.read_stripe(stripe), strict=True))
        except (pyorc.errors.ParseError, TypeError, ValueError) as error:  # it gives None for a row it cannot read
            raise CorruptFileError(f"data file '{name}': expected a whole ORC file, found: {error}") from error
    return {column: _array(pairs, units[column], column, name) for column, pairs in zip(order, columns, strict=True)}


def _pair_converter() -> type:
    class Pair(pyorc.converters.ORCConverter):  # type: ignore[misc]  # pyorc has no types
        """Gives (seconds, nanoseconds) as they are stored."""

        @staticmethod
        def from_orc(seconds: int, nanos: int, zone: object) -> tuple[int, int]:
            return seconds, nanos

        @staticmethod
        def to_orc(pair: tuple[int, int], zone: object) -> tuple[int, int]:
            return pair

    return Pair


def _array(pairs: tuple[tuple[int, int] | None, ...], unit: str, column: str, name: str) -> pa.Array:
    scale = _PER_SECOND[unit]
    values = [None if pair is None else pair[0] * scale + pair[1] * scale // _PER_SECOND["ns"] for pair in pairs]
    try:
        return pa.array(values, pa.int64()).view(pa.timestamp(unit))
    except OverflowError as error:
        raise UnsupportedError(
            f"data file '{name}', column '{column}': a TIMESTAMP of 7 to 9 digits outside the years 1677 to 2262"
        ) from error
