"""What the data file formats have in common: batches that know their position, writers that know their statistics."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import pyarrow as pa

from polynya.arrow.stats import ColumnStats

FEW_ROWS = 1024  # no batch is made smaller for its size
WIDE_ROW_BYTES = 1024


class BatchSize(NamedTuple):
    """How large batches may be: the number of their rows, and about how many bytes of Arrow memory."""

    rows: int = 131072
    size_bytes: int = 64 * 1024 * 1024

    @property
    def wide_rows(self) -> int:
        """How many rows there is room for when each of them is wide."""
        return min(self.rows, max(FEW_ROWS, self.size_bytes // WIDE_ROW_BYTES))


class PositionedBatch(NamedTuple):
    """Rows of a file that follow one another, and the position of the first of them."""

    first_row: int
    batch: pa.RecordBatch


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """What a finished file holds; one entry of `columns` per column, in the order of the writer's fields."""

    row_count: int
    columns: tuple[ColumnStats, ...]


class FileWriter(Protocol):
    """A data file that is being written; the stream belongs to the caller, who closes it after `close`."""

    @property
    def row_count(self) -> int:
        """The rows written so far."""

    @property
    def written_bytes(self) -> int:
        """An estimate of the size the file would have if it ended now."""

    @property
    def waiting_bytes(self) -> int:
        """Arrow memory of the rows that wait to be encoded."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows whose Arrow types are those of the fields."""

    def flush(self) -> None:
        """Encode the rows that wait, so that `written_bytes` is no estimate; a format that keeps none does nothing."""

    def close(self) -> WrittenFile:
        """Write what is left and the footer."""
