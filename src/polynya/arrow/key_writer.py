"""Writing primary-key tables: rows of one bucket into sorted files.

Rows are collected up to a budget, then numbered, sorted and merged as one flush, and written to level 0. The same file
writer serves compaction, which brings rows that are merged already.

A stored row is `_KEY_` columns (left out in thin mode), `_SEQUENCE_NUMBER`, `_VALUE_KIND` and the table's columns.
"""

from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polynya.arrow.file_sink import Entry, FileSink, Place
from polynya.arrow.file_spec import APPEND_SOURCE, FileSpec, file_spec
from polynya.arrow.merge import MergeSpec, merge_spec
from polynya.arrow.sorted_runs import merge_buffer
from polynya.codec import binary_rows
from polynya.model.arrow_types import to_arrow_schema
from polynya.model.options_data import DATA_FILE_THIN_MODE
from polynya.model.schema import SEQUENCE_NUMBER, VALUE_KIND, Schema, key_field
from polynya.model.types import Field
from polynya.storage.protocol import Storage

RETRACTS = pa.array([1, 3], pa.int8())  # -U and -D
SORTING_BYTES = 25  # of each row while it is sorted: its number, its kind, the code of its key, its place


def stored_fields(schema: Schema) -> tuple[Field, ...]:
    """The columns of a data file of a primary-key table."""
    keys = () if DATA_FILE_THIN_MODE.of(schema.options) else tuple(key_field(field) for field in schema.key_fields)
    return (*keys, SEQUENCE_NUMBER, VALUE_KIND, *schema.fields)


def key_file_spec(storage: Storage, schema: Schema, *, level: int = 0, source: int = APPEND_SOURCE) -> FileSpec:
    """How files of a primary-key table are written."""
    return file_spec(storage, schema, fields=stored_fields(schema), level=level, source=source)


class KeyWriter:
    """Writes the rows of one bucket, numbered from `first_sequence` on, flushing at `budget_bytes`."""

    def __init__(
        self,
        spec: FileSpec,
        place: Place,
        new_uuid: Callable[[], str],
        first_sequence: int = 0,
        budget_bytes: int = 256 * 2**20,
    ) -> None:
        self._files = SortedFileWriter(spec, place, new_uuid)
        self._merge: MergeSpec = merge_spec(spec.schema)
        self.next_sequence, self._budget_bytes = first_sequence, budget_bytes
        self._rows: list[pa.RecordBatch] = []
        self.buffered_bytes = 0

    @property
    def entries(self) -> list[Entry]:
        """The entries of the files that are finished."""
        return self._files.entries

    @property
    def names(self) -> list[str]:
        """The paths of all files that were begun."""
        return self._files.names

    def write(self, batch: pa.RecordBatch) -> None:
        """Take rows in order of arrival: the table's columns, and `_VALUE_KIND` where they are not all +I."""
        self._rows.append(batch)
        self.buffered_bytes += batch.nbytes + batch.num_rows * SORTING_BYTES
        if self.buffered_bytes >= self._budget_bytes:
            self.roll()

    def spill(self) -> None:
        """Let go of what is collected."""
        self.roll()

    def roll(self) -> None:
        """Flush what is collected into files of level 0."""
        if not self._rows:
            return
        rows = pa.Table.from_batches(self._rows)
        self._rows, self.buffered_bytes = [], 0
        merged, _ = merge_buffer(rows, self._merge, self.next_sequence)
        self.next_sequence += rows.num_rows
        self._files.write(merged.to_batches())
        self._files.roll()

    def abort(self) -> None:
        """Give up what is not finished."""
        self._rows = []
        self._files.abort()


class SortedFileWriter:
    """Writes rows that are sorted by key and hold each key once, rolled at the target size."""

    def __init__(self, spec: FileSpec, place: Place, new_uuid: Callable[[], str]) -> None:
        self._spec, self._place, self._uuid = spec, place, new_uuid()
        self._keys = [field.name for field in spec.schema.key_fields]
        self._schema = to_arrow_schema(spec.fields)
        self._sink: FileSink | None = None
        self._facts: _Facts | None = None
        self.entries: list[Entry] = []
        self.names: list[str] = []

    def write(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Append rows behind those that were written before: sequence number, kind and the table's columns."""
        for batch in batches:
            start = 0
            while start < batch.num_rows:
                start += self._write_some(batch.slice(start))

    def roll(self) -> None:
        """Finish the current file, if there is one."""
        if self._sink is None or self._facts is None:
            return
        self.entries.append(self._sink.close() | self._facts.entry())
        self._sink = self._facts = None

    def abort(self) -> None:
        """Give the current file up."""
        if self._sink is not None:
            self._sink.abort()
            self._sink = None

    def _write_some(self, batch: pa.RecordBatch) -> int:
        """Write the first rows, as many as the file takes until it is looked at again, and tell how many."""
        if self._sink is None or self._facts is None:
            self._sink, self._facts = self._open(), _Facts(self._keys)
        rows = batch.slice(0, self._sink.step_rows(batch))
        self._facts.add(rows)
        self._sink.write(self._stored(rows))
        if self._sink.is_full:
            self.roll()
        return int(rows.num_rows)

    def _stored(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        names = [name for name in self._schema.names if name in batch.schema.names]
        twins = [batch[name] for name in self._keys] if len(names) < len(self._schema.names) else []
        return pa.RecordBatch.from_arrays([*twins, *(batch[name] for name in names)], schema=self._schema)

    def _open(self) -> FileSink:
        name = self._spec.file_name(self._uuid, len(self.names))
        sink = FileSink(self._spec, self._place, name)
        self.names.append(f"{sink.folder}/{name}")
        return sink


class _Facts:
    """What a manifest says about the keys and sequence numbers of one file."""

    def __init__(self, keys: list[str]) -> None:
        self._keys = keys
        self._firsts: pa.RecordBatch | None = None
        self._lasts: pa.RecordBatch | None = None
        self._delete_row_count = 0
        self._sequence_min, self._sequence_max = 2**63 - 1, -(2**63)

    def add(self, batch: pa.RecordBatch) -> None:
        keys = batch.select(self._keys)
        self._firsts = self._firsts if self._firsts is not None else keys.slice(0, 1)
        self._lasts = keys.slice(batch.num_rows - 1, 1)
        sequences = batch[SEQUENCE_NUMBER.name].to_numpy()
        self._sequence_min = min(self._sequence_min, int(sequences.min()))
        self._sequence_max = max(self._sequence_max, int(sequences.max()))
        self._delete_row_count += int(np.asarray(pc.is_in(batch[VALUE_KIND.name], RETRACTS)).sum())

    def entry(self) -> Entry:
        assert self._firsts is not None
        assert self._lasts is not None
        return {
            "min_key": _row(self._firsts),
            "max_key": _row(self._lasts),
            "min_sequence_number": self._sequence_min,
            "max_sequence_number": self._sequence_max,
            "delete_row_count": self._delete_row_count,
        }


def _row(keys: pa.RecordBatch) -> bytes:
    encoded: bytes = binary_rows.encode_rows(keys.columns)[0].as_py()
    return encoded
