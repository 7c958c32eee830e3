"""What the data file formats have in common: batches that know their position, writers that know their statistics."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import pyarrow as pa

from polynya.arrow.stats import ColumnStats

BATCH_BYTES_MIN = 64 * 1024  # smaller ones would cost more than they save
WIDE_ROW_BYTES = 1024


class BatchSize(NamedTuple):
    """How large batches may be: the number of their rows, and about how many bytes of Arrow memory."""

    rows: int = 131072
    size_bytes: int = 64 * 1024 * 1024

    @property
    def wide_rows(self) -> int:
        """How many rows there is room for when each of them is wide."""
        return self.fitting_rows(WIDE_ROW_BYTES)

    def fitting_rows(self, row_bytes: float) -> int:
        """How many rows of a width there is room for, at least one."""
        return min(self.rows, max(1, int(max(self.size_bytes, BATCH_BYTES_MIN) / max(1.0, row_bytes))))


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
