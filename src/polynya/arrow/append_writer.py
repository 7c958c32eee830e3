"""Writing append tables: rows to the bucket of their partition, files rolled at the target size."""

from collections.abc import Callable

import pyarrow as pa

from polynya.arrow.file_sink import Entry, FileSink, Place
from polynya.arrow.file_spec import FileSpec


class AppendWriter:
    """Writes the rows of one bucket as they come, numbered from `first_sequence` on, unless they bring numbers."""

    def __init__(self, spec: FileSpec, place: Place, new_uuid: Callable[[], str], first_sequence: int = 0) -> None:
        self._spec, self._place, self._uuid = spec, place, new_uuid()
        self.next_sequence = first_sequence
        self._file_count = 0
        self._sink: FileSink | None = None
        self.entries: list[Entry] = []
        self.names: list[str] = []

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows."""
        start = 0
        while start < batch.num_rows:
            sink = self._sink or self._open()
            rows = batch.slice(start, sink.step_rows(batch))
            sink.write(rows)
            start += rows.num_rows
            if sink.is_full:
                self.roll()

    @property
    def buffered_bytes(self) -> int:
        """Arrow memory of rows that wait to be encoded."""
        return self._sink.waiting_bytes if self._sink is not None else 0

    def spill(self) -> None:
        """Encode the rows that wait, and go on with the same file."""
        if self._sink is not None:
            self._sink.flush()

    def roll(self) -> None:
        """Finish the current file, if there is one."""
        if self._sink is None:
            return
        rows = self._sink.row_count
        entry = self._sink.close()
        first, self.next_sequence = self.next_sequence, self.next_sequence + rows
        self.entries.append({"min_sequence_number": first, "max_sequence_number": first + rows - 1} | entry)
        self._sink = None

    def abort(self) -> None:
        """Give the current file up; finished ones are listed in `names`."""
        if self._sink is not None:
            self._sink.abort()
            self._sink = None

    def _open(self) -> FileSink:
        name = self._spec.file_name(self._uuid, self._file_count)
        self._file_count += 1
        self._sink = FileSink(self._spec, self._place, name)
        self.names.append(f"{self._sink.folder}/{name}")
        return self._sink
