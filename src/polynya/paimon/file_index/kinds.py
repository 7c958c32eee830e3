"""The kinds of index by the names that options and containers give them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from polynya.model import types as t
from polynya.model.predicate import Predicate
from polynya.paimon.file_index import bitmap, bloom_filter, bsi, range_bitmap
from polynya.paimon.file_index.result import Result


class ColumnWriter(Protocol):
    """Builds one index of one column."""

    def add(self, array: pa.Array) -> None:
        """Add the values of the next rows."""

    def finish(self) -> bytes:
        """The body."""


class Evaluate(Protocol):
    """Tells which rows may match a leaf of a bound predicate."""

    def __call__(self, body: bytes, leaf: Predicate, type: t.DataType, row_count: int, *, name: str) -> Result:
        """The rows, or a verdict."""


@dataclass(frozen=True)
class Kind:
    """One kind: the settings it knows, the types it takes, how it is written and asked."""

    settings: frozenset[str]
    accepts: Callable[[t.DataType], bool]
    open_writer: Callable[[t.DataType, Mapping[str, str]], ColumnWriter]
    evaluate: Evaluate


KINDS: Mapping[str, Kind] = {
    "bloom-filter": Kind(bloom_filter.SETTINGS, bloom_filter.accepts, bloom_filter.Writer, bloom_filter.evaluate),
    "bitmap": Kind(bitmap.SETTINGS, bitmap.accepts, bitmap.Writer, bitmap.evaluate),
    "bsi": Kind(bsi.SETTINGS, bsi.accepts, bsi.Writer, bsi.evaluate),
    "range-bitmap": Kind(range_bitmap.SETTINGS, range_bitmap.accepts, range_bitmap.Writer, range_bitmap.evaluate),
}
