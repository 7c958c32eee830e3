"""Writing rows into data files: routed to their partition and bucket, one writer for each.

A writer takes batches of the table's columns and ends with the manifest entries of its files; the caller commits
them. Memory follows the batches and the rows that buckets collect, not the input: when too many buckets are open, those
used least recently are finished; when too much is collected, the bucket that holds most of it writes it out.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass

import pyarrow as pa

from polynya.arrow.append_writer import AppendWriter
from polynya.arrow.file_sink import Entry, Place
from polynya.arrow.file_spec import FileSpec, file_spec
from polynya.arrow.key_writer import KeyWriter, key_file_spec
from polynya.arrow.route import Routes, bucket_ids, partition_rows, route
from polynya.errors import CommitUnknownError, PolynyaError, StorageError
from polynya.model.bucket_mode import BucketMode, bucket_key, bucket_mode
from polynya.model.options_data import BUCKET_FUNCTION_TYPE
from polynya.model.schema import Schema
from polynya.model.types import Field
from polynya.paimon import layout, manifest
from polynya.storage.protocol import Storage
from polynya.table import group
from polynya.table.bucket_state import BucketState
from polynya.table.commit import Author, Commit, Target
from polynya.table.edit import Change

OPEN_BUCKETS_MAX = 64
BUFFER_BYTES_MAX = 256 * 2**20


@dataclass(frozen=True)
class WriteSpec:
    """Everything that a writer must know; plain data but for the store."""

    storage: Storage
    schema: Schema
    buckets: BucketState
    fields: tuple[Field, ...] | None = None  # the stored columns, where they are more than those of an append table
    buffer_bytes: int = BUFFER_BYTES_MAX
    open_buckets_max: int = OPEN_BUCKETS_MAX


class TableWriter:
    """Writes rows of a table into new data files."""

    def __init__(self, spec: WriteSpec, new_uuid: Callable[[], str]) -> None:
        self._spec, self._new_uuid = spec, new_uuid
        self._has_key = bool(spec.schema.primary_key)
        self._files: FileSpec = (
            key_file_spec(spec.storage, spec.schema)
            if self._has_key
            else file_spec(spec.storage, spec.schema, fields=spec.fields)
        )
        self._open: OrderedDict[tuple[bytes, int], AppendWriter | KeyWriter] = OrderedDict()
        self._next_sequences: dict[tuple[bytes, int], int] = {}
        self._finished: list[AppendWriter | KeyWriter] = []

    def write(self, batch: pa.RecordBatch) -> None:
        """Take rows: the table's columns, and `_VALUE_KIND` where they are not all +I."""
        routes = self._routes(batch)
        keys = list(zip(routes.partitions.to_pylist(), routes.buckets.to_pylist(), strict=True))
        # What is open first: a bucket that must give way has its rows of this batch by then.
        for index in sorted(range(len(keys)), key=lambda index: keys[index] not in self._open):
            rows = batch if len(keys) == 1 else batch.take(routes.rows(index))
            self._writer(keys[index]).write(rows)
            self._make_room()

    def finish(self) -> pa.Table:
        """Finish all files and return their manifest entries."""
        while self._open:
            self._close_oldest()
        return entries_table(entry for writer in self._finished for entry in writer.entries)

    def write_all(self, batches: Iterable[pa.RecordBatch]) -> pa.Table:
        """Write the batches and finish; when that fails, nothing is left behind."""
        with ExitStack() as unless_written:
            unless_written.callback(self.abort)
            for batch in batches:
                self.write(batch)
            files = self.finish()
            unless_written.pop_all()
        return files

    def commit(self, target: Target, change: Change, author: Author | None) -> Commit:
        """Commit what was written; when that fails, delete it, unless it may be in the table."""
        try:
            return group.commit(target, change, author)
        except CommitUnknownError:
            raise  # the files may be in the table, as they may after an interrupt
        except PolynyaError:
            self.abort()
            raise

    def abort(self) -> None:
        """Give everything up and delete what was written; only for files that no commit has referred to."""
        for writer in self._open.values():
            writer.abort()
        names = [name for writer in (*self._finished, *self._open.values()) for name in writer.names]
        try:
            self._spec.storage.delete([*names, *map(layout.file_index_name, names)])
        except StorageError:
            return  # nothing refers to these files; orphan cleaning finds them

    def _routes(self, batch: pa.RecordBatch) -> Routes:
        schema = self._spec.schema
        partitions = partition_rows([batch[name] for name in schema.partition_by], batch.num_rows)
        if bucket_mode(schema) is BucketMode.UNAWARE:
            return route(partitions, pa.repeat(pa.scalar(0, pa.int32()), batch.num_rows))
        keys = [batch[name] for name in bucket_key(schema)]
        function = BUCKET_FUNCTION_TYPE.of(schema.options)
        return route(partitions, bucket_ids(keys, self._spec.buckets.bucket_count, function))

    def _writer(self, key: tuple[bytes, int]) -> AppendWriter | KeyWriter:
        writer = self._open.get(key)
        if writer is None:
            self._spec.buckets.require_count(key[0])
            place = Place(*key, self._spec.buckets.bucket_count)
            first = self._next_sequences.get(key, self._spec.buckets.next_sequence(*key))
            if self._has_key:
                writer = KeyWriter(self._files, place, self._new_uuid, first, self._spec.buffer_bytes)
            else:
                writer = AppendWriter(self._files, place, self._new_uuid, first)
            self._open[key] = writer
        self._open.move_to_end(key)
        return writer

    def _make_room(self) -> None:
        while len(self._open) > self._spec.open_buckets_max:
            self._close_oldest()
        while self._buffered_bytes() > self._spec.buffer_bytes:
            max(self._open.values(), key=lambda writer: writer.buffered_bytes).spill()

    def _buffered_bytes(self) -> int:
        return sum(writer.buffered_bytes for writer in self._open.values())

    def _close_oldest(self) -> None:
        key, writer = self._open.popitem(last=False)
        writer.roll()
        self._next_sequences[key] = writer.next_sequence
        self._finished.append(writer)


def entries_table(entries: Iterable[Entry]) -> pa.Table:
    """Manifest entries as a table."""
    return pa.Table.from_pylist(list(entries), schema=manifest.SCHEMA)
