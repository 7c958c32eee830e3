"""Writing append tables: rows to the bucket of their partition, files rolled at the target size."""

from collections.abc import Callable

import pyarrow as pa

from polynya.arrow.file_sink import Entry, FileSink, Place
from polynya.arrow.file_spec import FileSpec

WRITE_ROWS = 16384  # rows between two looks at the size of a file


class AppendWriter:
    """Writes the rows of one bucket, in order of arrival, numbered from `first_sequence` on."""

    buffered_bytes = 0  # rows go straight to the file

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
            room = min(WRITE_ROWS, self._spec.row_count_max - sink.row_count)
            sink.write(batch.slice(start, room))
            start += room
            if sink.is_full:
                self.roll()

    def roll(self) -> None:
        """Finish the current file, if there is one."""
        if self._sink is None:
            return
        rows = self._sink.row_count
        entry = self._sink.close()
        first, self.next_sequence = self.next_sequence, self.next_sequence + rows
        self.entries.append(entry | {"min_sequence_number": first, "max_sequence_number": first + rows - 1})
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
