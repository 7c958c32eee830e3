"""Data files by format: rows in as Arrow batches, rows out as Arrow batches with their positions.

The format of a file is decided by its name alone (`paimon.layout.format_of`), never by the options of the table.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO

from polynya.arrow.files import avro, avro_write, orc, parquet, parquet_write
from polynya.arrow.files.protocol import BatchSize, FileWriter, PositionedBatch, WrittenFile
from polynya.errors import CorruptFileError, InvalidInputError, UnsupportedError
from polynya.model import types as t
from polynya.model.predicate import TRUE, Predicate
from polynya.paimon.layout import format_of
from polynya.storage.protocol import Storage

__all__ = ["BatchSize", "FileWriter", "PositionedBatch", "WrittenFile", "format_of", "open_writer", "read", "row_count"]

_OPENERS: dict[str, Callable[..., FileWriter]] = {
    "parquet": parquet_write.open_writer,
    "orc": orc.open_writer,
    "avro": avro_write.open_writer,
}
FORMATS = tuple(_OPENERS)
BUFFER_BYTES = 256 * 2**20


def read(
    storage: Storage,
    name: str,
    *,
    format: str,
    file_fields: tuple[t.Field, ...],
    columns: tuple[t.Field, ...],
    predicate: Predicate = TRUE,
    row_count: int | None = None,
    size: BatchSize = BatchSize(),  # noqa: B008 - a value that never changes
    options: Mapping[str, str] | None = None,
) -> Iterator[PositionedBatch]:
    """Yield rows of a data file in order, with exactly the Arrow types of `columns`.

    `file_fields` are the columns the file's schema has; `columns` names some of them, ROW types perhaps with fewer
    members; a column the file lacks is null. `predicate`, bound to `file_fields`, lets row groups and pages be left out
    that hold no match; a file that has not `row_count` rows in all is damaged. `size` bounds a batch as far as the
    format can be read in pieces: Parquet by rows, ORC by stripes, Avro by blocks. Raises NotFoundError,
    CorruptFileError or UnsupportedError, each naming the file.
    """
    _require_format(name, format)
    for column in columns:
        _refuse_blob(column, name)
    if format == "parquet":
        return parquet.read(
            storage,
            name,
            file_fields=file_fields,
            columns=columns,
            predicate=predicate,
            row_count=row_count,
            size=size,
        )
    if format == "orc":
        batches = orc.read(
            storage, name, file_fields=file_fields, columns=columns, batch_rows=size.wide_rows, options=options or {}
        )
    else:
        batches = avro.read(storage, name, file_fields=file_fields, columns=columns, batch_rows=size.wide_rows)
    return batches if row_count is None else _counted(batches, name, row_count)


def _counted(batches: Iterator[PositionedBatch], name: str, expected: int) -> Iterator[PositionedBatch]:
    """The batches of a whole file, which must have that many rows."""
    found = 0
    for batch in batches:
        found += batch.batch.num_rows
        yield batch
    if found != expected:
        raise CorruptFileError(f"data file '{name}': expected {expected} rows, found {found}")


def row_count(storage: Storage, name: str, *, format: str) -> int:
    """The number of rows of a data file, from its footer or block headers."""
    _require_format(name, format)
    if format == "parquet":
        return parquet.row_count(storage, name)
    return orc.row_count(storage, name) if format == "orc" else avro.row_count(storage, name)


def open_writer(
    stream: BinaryIO,
    *,
    format: str,
    fields: tuple[t.Field, ...],
    compression: str = "zstd",
    zstd_level: int = 1,
    options: Mapping[str, str] | None = None,
    buffer_bytes: int = BUFFER_BYTES,
) -> FileWriter:
    """A writer of one data file into the stream; `options` are those of the table.

    Row groups and stripes are no larger than `buffer_bytes`, however large the table would have them.
    """
    if format not in FORMATS:
        raise UnsupportedError(f"file.format '{format}' is not written; use one of {', '.join(FORMATS)}")
    for field in fields:
        _refuse_blob(field, "a new data file")
    if not fields:
        raise InvalidInputError("a data file needs at least one column")
    return _OPENERS[format](
        stream,
        fields=fields,
        compression=compression,
        zstd_level=zstd_level,
        options=options or {},
        buffer_bytes=buffer_bytes,
    )


def _require_format(name: str, format: str) -> None:
    if format not in FORMATS:
        raise UnsupportedError(f"data file '{name}': format '{format}' is not read; polynya reads {', '.join(FORMATS)}")


def _refuse_blob(column: t.Field, name: str) -> None:
    if isinstance(column.type, t.Blob) or any(isinstance(f.type, t.Blob) for f in t.fields_within(column.type)):
        raise UnsupportedError(f"data file '{name}', column '{column.name}': BLOB columns are not supported")
