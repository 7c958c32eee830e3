"""Which rows of a row group a filter leaves by the bounds of pages, and whether it pays to read only their pages.

It pays where it leaves at most half of the rows of a row group that is large against the footer, which is decoded here
once more and slowly. Every column then costs two reads, so a store that is far away must save more.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from polynya.arrow.files.page_index import PageIndex, Pages
from polynya.arrow.files.page_slice import read_rows
from polynya.arrow.files.parquet_leaves import Leaf, find_leaf
from polynya.model import bind
from polynya.model import types as t
from polynya.model.predicate import (
    AlwaysTrue,
    And,
    Compare,
    In,
    IsNotNull,
    IsNull,
    Like,
    Not,
    Or,
    Path,
    Predicate,
    all_of,
    any_of,
)
from polynya.table.prune import ColumnStats, may_match

ROW_GROUP_BYTES_MIN = 512 * 1024
_FOOTER_RATIO_MIN = 64  # of the stored bytes of a row group to those of the footer
_KEPT_SHARE_MAX = 0.5
_FAR_LEAF_BYTES = 4 * 2**20  # what must be saved for each column that is read from afar

Range = tuple[int, int]
_MANY = np.iinfo(np.int64).max


@dataclass(frozen=True)
class PageCuts:
    """The pages of a file that are read for some leaves and a filter, which is bound to `fields`."""

    index: PageIndex
    leaves: Sequence[int]
    predicate: Predicate
    fields: Sequence[t.Field]
    is_local: bool

    def find(self, group: int) -> list[Range] | None:
        """The rows of the row group that are read by their pages; None where the row group is read as a whole."""
        stored_bytes = self._stored_bytes(group)
        if not self._asked or stored_bytes < self._worth_bytes or not self._is_flat:
            return None
        if any(self.index.pages(group, leaf) is None for leaf in self.leaves):
            return None
        ranges = self._rows_that_may_match(group)
        kept = sum(end - start for start, end in ranges) / self.index.row_count(group)
        saved_bytes = (1 - kept) * stored_bytes
        if kept > _KEPT_SHARE_MAX or (not self.is_local and saved_bytes < len(self.leaves) * _FAR_LEAF_BYTES):
            return None
        return ranges

    def read(self, group: int, ranges: list[Range], batch_rows: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The rows in batches, each with its first row."""
        for first, last in ranges:
            for start in range(first, last, batch_rows):
                yield start, read_rows(self.index, group, self.leaves, (start, min(start + batch_rows, last)))

    @cached_property
    def _asked(self) -> dict[Path, Leaf]:
        """The leaves that the filter looks at."""
        if isinstance(self.predicate, AlwaysTrue):
            return {}
        found = {path: find_leaf(self.index.parquet, path, self.fields) for path in bind.columns(self.predicate)}
        return {path: leaf for path, leaf in found.items() if leaf is not None}

    @property
    def _worth_bytes(self) -> int:
        return max(ROW_GROUP_BYTES_MIN, _FOOTER_RATIO_MIN * int(self.index.parquet.metadata.serialized_size))

    @property
    def _is_flat(self) -> bool:
        """Whether every leaf has one value per row, and is read once."""
        columns = (self.index.parquet.schema.column(leaf) for leaf in self.leaves)
        return bool(self.leaves) and all(
            column.max_repetition_level == 0 and column.physical_type != "INT96" for column in columns
        )

    def _stored_bytes(self, group: int) -> int:
        chunks = self.index.parquet.metadata.row_group(group)
        return sum(chunks.column(leaf).total_compressed_size for leaf in self.leaves)

    def _rows_that_may_match(self, group: int) -> list[Range]:
        """Ranges of rows, in order, outside of which no row matches: unions of pages of the columns asked."""
        known: dict[str, tuple[Pages, ColumnStats]] = {}
        for path, leaf in self._asked.items():
            pages, bounds = self.index.pages(group, leaf.index), self.index.bounds(group, leaf)
            if pages is not None and bounds is not None:
                known[_one_name(path)[0]] = (pages, bounds)
        starts = np.unique(np.concatenate([np.zeros(1, np.int64), *(pages.first_rows for pages, _ in known.values())]))
        ends = np.append(starts[1:], self.index.row_count(group))
        stats = {name: _spread(pages, bounds, starts) for name, (pages, bounds) in known.items()}
        keep = may_match(_by_leaf(bind.push_not(self.predicate)), stats, pa.array(np.full(len(starts), _MANY)))
        edges = np.flatnonzero(np.diff(np.concatenate(([False], keep, [False])).astype(np.int8)))
        return [(int(starts[low]), int(ends[high - 1])) for low, high in edges.reshape(-1, 2)]


def _spread(pages: Pages, bounds: ColumnStats, starts: np.ndarray) -> ColumnStats:
    """The bounds for each of the finer ranges that begin at `starts`."""
    at = pa.array(np.searchsorted(pages.first_rows, starts, side="right") - 1)
    return ColumnStats(bounds.min.take(at), bounds.max.take(at), bounds.null_count.take(at))


def _by_leaf(predicate: Predicate) -> Predicate:
    """The predicate with members of ROWs as if they were columns: where the ROW is null, so is its leaf."""
    match predicate:
        case And(predicates=parts):
            return all_of(*map(_by_leaf, parts))
        case Or(predicates=parts):
            return any_of(*map(_by_leaf, parts))
        case Not(predicate=inner):
            return Not(_by_leaf(inner))
        case Compare() | In() | Like() | IsNull() | IsNotNull():
            return replace(predicate, column=_one_name(predicate.column))
        case _:
            return predicate


def _one_name(path: Path) -> Path:
    return ("\0".join(path),)
