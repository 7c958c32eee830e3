"""Reading Avro data files: DataFusion decodes them straight into Arrow, and `conform` mends what Avro cannot say.

Paimon names its logical types the other way round (TIMESTAMP is `timestamp-millis`, the one with a local time zone is
`local-timestamp-millis`) and stores a MAP whose key is no string as an array of records; the schema decides, not the
file. DataFusion reads from a path, so a blob without one is copied to a temporary file first.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from datafusion import SessionConfig, SessionContext

from polynya.arrow.batches import make_batch
from polynya.arrow.blob_file import open_blob
from polynya.arrow.files.conform import conform
from polynya.arrow.files.protocol import PositionedBatch
from polynya.codec.avro_container import AvroSource, decode_container
from polynya.errors import CorruptFileError, NotFoundError
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_type
from polynya.storage.protocol import Storage

_COPY_BYTES = 1024 * 1024


def read(storage: Storage, name: str, *, columns: tuple[t.Field, ...], batch_rows: int) -> Iterator[PositionedBatch]:
    """Yield the columns' rows, in order; CorruptFileError names the file."""
    first_row = 0
    with _local_path(storage, name) as path:
        expected = _count(path, name)
        for batch in _decode(path, name, batch_rows):
            arrays = [_column(batch, field, name) for field in columns]
            yield PositionedBatch(first_row, make_batch(arrays, columns, batch.num_rows))
            first_row += batch.num_rows
    if first_row != expected:
        raise CorruptFileError(f"data file '{name}': expected {expected} rows, as its blocks say, found {first_row}")


def row_count(storage: Storage, name: str) -> int:
    """The number of rows, which is the sum over the blocks of the file."""
    with _local_path(storage, name) as path:
        return _count(path, name)


@contextmanager
def _local_path(storage: Storage, name: str) -> Iterator[str]:
    path = storage.local_path(name)
    if path is not None:
        yield path
        return
    with tempfile.NamedTemporaryFile(prefix="polynya-", suffix=".avro") as copy:
        with open_blob(storage, name) as source:
            shutil.copyfileobj(source, copy, _COPY_BYTES)
        copy.flush()
        yield copy.name


def _count(path: str, name: str) -> int:
    try:
        with pa.memory_map(path) as source:
            data = memoryview(source.read_buffer()).cast("B")
            return decode_container(AvroSource(name, data=data)).record_count
    except FileNotFoundError as error:
        raise NotFoundError(f"data file '{name}' does not exist") from error


def _decode(path: str, name: str, batch_rows: int) -> Iterator[pa.RecordBatch]:
    config = SessionConfig().with_batch_size(batch_rows).with_target_partitions(1)
    try:
        suffix = os.path.splitext(path)[1]
        frame = SessionContext(config).read_avro(path, file_extension=suffix)
        for batch in frame.execute_stream():
            yield batch.to_pyarrow()
    except Exception as error:
        # the library raises nothing narrower than Exception itself; anything else is not its word on the file
        if type(error) is not Exception:
            raise
        raise CorruptFileError(f"data file '{name}': expected an Avro file, found: {error}") from error


def _column(batch: pa.RecordBatch, field: t.Field, name: str) -> pa.Array:
    index = batch.schema.get_field_index(field.name)
    if index < 0:
        return pa.nulls(batch.num_rows, to_arrow_type(field.type))
    return conform(batch.column(index), field.type, f"data file '{name}', column '{field.name}'")
