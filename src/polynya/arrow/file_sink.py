"""One data file being written: its stream, its rows, its index, and in the end its manifest entry."""

import io
import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

import pyarrow as pa

from polynya.arrow import files
from polynya.arrow.file_spec import FileSpec
from polynya.arrow.stats import ColumnStats, SimpleStats, simple_stats
from polynya.errors import CorruptFileError
from polynya.model.schema import KEY_PREFIX, ROW_ID, SEQUENCE_NUMBER
from polynya.paimon import layout, manifest
from polynya.paimon.file_index import open_index_writer
from polynya.table.entries import EMPTY_ROW
from polynya.table.paths import bucket_folder

Entry = dict[str, object]
WRITE_ROWS = 16384  # rows between two looks at the size of a file, at most
LOOKS = 16  # per file, if its rows were stored as they are in memory
STEP_BYTES_MIN = 64 * 1024
NEARLY_FULL = 0.9  # rows for the rest would make a row group of a few rows


@dataclass(frozen=True)
class Place:
    """The bucket that files are written to."""

    partition: bytes
    bucket: int
    total_buckets: int


def local_wall_clock_ms() -> int:
    """Now, as the wall clock of this machine shows it, in milliseconds counted as if it were UTC."""
    now = time.time()
    return int(now * 1000) + time.localtime(now).tm_gmtoff * 1000


class _Outlet(io.RawIOBase):
    """The way into the file; a library that is given up still writes when it is collected, and that goes nowhere."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream: BinaryIO | None = stream

    def write(self, data: Any, /) -> int:  # noqa: ANN401 - whatever holds bytes
        return self._stream.write(data) if self._stream is not None else memoryview(data).nbytes

    def shut(self) -> None:
        self._stream = None


class FileSink:
    """A data file that is being written; nothing is visible until `close`."""

    def __init__(self, spec: FileSpec, place: Place, name: str) -> None:
        self.name, self._spec, self._place = name, spec, place
        self.folder = bucket_folder(place.partition, place.bucket, spec.schema)
        self._stack = ExitStack()
        self._stream = self._stack.enter_context(spec.storage.writer(f"{self.folder}/{name}"))
        outlet = _Outlet(self._stream)
        self._stack.callback(outlet.shut)
        self._index = open_index_writer(spec.value_fields, spec.options)
        self._writer = files.open_writer(
            cast(BinaryIO, outlet),
            format=spec.format,
            fields=spec.fields,
            compression=spec.compression,
            zstd_level=spec.zstd_level,
            options=spec.options,
            buffer_bytes=spec.buffer_bytes,
        )
        self._has_size = False

    @property
    def is_full(self) -> bool:
        """Whether the file has reached the size or the number of rows at which the next one begins."""
        return self._has_size or self.row_count >= self._spec.row_count_max

    @property
    def waiting_bytes(self) -> int:
        """Arrow memory of rows that wait to be encoded."""
        return self._writer.waiting_bytes

    def step_rows(self, batch: pa.RecordBatch) -> int:
        """How many rows of the batch to write before the next look at `is_full`."""
        step_bytes = max(STEP_BYTES_MIN, self._spec.size_bytes_max // LOOKS)
        fitting = max(1, batch.num_rows * step_bytes // max(1, batch.nbytes))
        return min(WRITE_ROWS, fitting, self._spec.row_count_max - self.row_count)

    @property
    def row_count(self) -> int:
        """Rows written so far."""
        return self._writer.row_count

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows; the columns are those of the spec."""
        if ROW_ID.name in (self._spec.write_cols or ()) and batch[ROW_ID.name].null_count:
            raise CorruptFileError(
                f"{self._spec.storage.location}/{self.folder}: expected rows with ids, found some without"
            )
        self._writer.write(batch)
        if self._index is not None:
            self._index.add(batch)
        if self._writer.written_bytes >= self._spec.size_bytes_max:
            self._writer.flush()
            self._has_size = self._writer.written_bytes >= NEARLY_FULL * self._spec.size_bytes_max

    def flush(self) -> None:
        """Encode the rows that wait."""
        self._writer.flush()

    def close(self) -> Entry:
        """Finish the file, its index beside it, and return its entry; keys and sequence numbers are the caller's."""
        with self._stack:
            written = self._writer.close()
            size_bytes = self._stream.tell()
        embedded, extra = self._put_index()
        return self._entry(written.columns, written.row_count, size_bytes) | {
            "embedded_file_index": embedded,
            "extra_files": extra,
        }

    def abort(self) -> None:
        """Give up: the file never appears."""
        error = RuntimeError("the file is given up")
        self._stack.__exit__(RuntimeError, error, None)

    def _put_index(self) -> tuple[bytes | None, list[str]]:
        data = self._index.finish() if self._index is not None else None
        if data is None or len(data) <= self._spec.index_size_bytes_max:
            return data, []
        name = layout.file_index_name(self.name)
        self._spec.storage.put(f"{self.folder}/{name}", data)
        return None, [name]

    def _entry(self, columns: tuple[ColumnStats, ...], row_count: int, size_bytes: int) -> Entry:
        spec, place = self._spec, self._place
        first = len(columns) - len(spec.value_fields)
        stats, names = simple_stats(columns[first:], spec.value_fields, spec.modes[first:], dense=spec.is_dense)
        keys = self._key_stats(columns)
        return {
            "kind": manifest.ADD,
            "partition": place.partition,
            "bucket": place.bucket,
            "total_buckets": place.total_buckets,
            "file_name": self.name,
            "file_size": size_bytes,
            "row_count": row_count,
            "min_key": EMPTY_ROW,
            "max_key": EMPTY_ROW,
            "key_stats_min": keys.min_values,
            "key_stats_max": keys.max_values,
            "key_stats_null_counts": list(keys.null_counts),
            "value_stats_min": stats.min_values,
            "value_stats_max": stats.max_values,
            "value_stats_null_counts": list(stats.null_counts),
            "value_stats_cols": None if names is None else list(names),
            "schema_id": spec.schema.id,
            "level": spec.level,
            "creation_time": local_wall_clock_ms(),
            "delete_row_count": 0,
            "file_source": spec.source,
            "write_cols": spec.write_cols,
        } | self._stored_numbers(columns)

    def _stored_numbers(self, columns: tuple[ColumnStats, ...]) -> Entry:
        """The range of the sequence numbers of an append table that stores them; 0 is left to the commit."""
        if SEQUENCE_NUMBER.name not in (self._spec.write_cols or ()):
            return {}
        numbers = columns[[field.name for field in self._spec.fields].index(SEQUENCE_NUMBER.name)]
        return {
            "min_sequence_number": numbers.min or 0,
            "max_sequence_number": 0 if numbers.null_count else numbers.max,
        }

    def _key_stats(self, columns: tuple[ColumnStats, ...]) -> SimpleStats:
        """The statistics of the key, of its own columns where the file has them."""
        positions = {field.name: position for position, field in enumerate(self._spec.fields)}
        keys = self._spec.schema.key_fields
        at = [positions.get(KEY_PREFIX + field.name, positions[field.name]) for field in keys]
        modes = [self._spec.modes[position] for position in at]
        stats, _ = simple_stats([columns[position] for position in at], keys, modes, dense=False)
        return stats
