"""Reading Parquet data files.

Columns are found by name in the root group, members of a ROW by name inside it, and only the leaves asked for are read.
A predicate drops row groups by their statistics, and pages of the rest by the page index, where that leaves at most
half of the rows. The rows that are read keep their positions in the file.
"""

from collections.abc import Container, Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from polynya.arrow.batches import make_batch
from polynya.arrow.blob_file import open_blob
from polynya.arrow.files import int96
from polynya.arrow.files.conform import conform
from polynya.arrow.files.damage import naming_damage, require_own_columns
from polynya.arrow.files.page_cuts import PageCuts
from polynya.arrow.files.page_index import PageIndex
from polynya.arrow.files.parquet_leaves import leaves_of
from polynya.arrow.files.parquet_size import batch_rows
from polynya.arrow.files.protocol import BatchSize, PositionedBatch
from polynya.arrow.filters import to_expression
from polynya.errors import CorruptFileError
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_schema, to_arrow_type
from polynya.model.predicate import TRUE, Predicate
from polynya.storage.protocol import Storage

_CHUNK_BYTES = 128 * 1024  # what is read of a column at a time, where reading is cheap


def read(
    storage: Storage,
    name: str,
    *,
    file_fields: tuple[t.Field, ...],
    columns: tuple[t.Field, ...],
    predicate: Predicate = TRUE,
    row_count: int | None = None,
    size: BatchSize,
) -> Iterator[PositionedBatch]:
    """Yield the columns' rows, in order; CorruptFileError names the file.

    The predicate is bound to `file_fields`. The rows are counted by the footer, those that it drops too. Besides the
    batch, a page of each column is in memory; of a file that is not on a local disk, the stored bytes of a row group.
    """
    is_local = storage.local_path(name) is not None
    with naming_damage(name, "Parquet"), open_blob(storage, name) as source:
        unit = int96.unit_of(columns)
        file = pq.ParquetFile(
            source,
            pre_buffer=not is_local,
            buffer_size=_CHUNK_BYTES if is_local else 0,
            coerce_int96_timestamp_unit=unit,
        )
        require_own_columns(file.schema_arrow.names, file_fields, name)
        _require_rows(file.metadata, row_count, name)
        chosen = _row_groups(file, source, file_fields, predicate)
        leaves = leaves_of(file, columns)
        rows = batch_rows(file, leaves, chosen, size)
        cuts = PageCuts(PageIndex(file, source, name), leaves, predicate, file_fields, is_local)
        ranges = {group: found for group in chosen if (found := cuts.find(group)) is not None}
        for first_row, row_groups in _spans(file.metadata, chosen, alone=ranges if is_local else chosen):
            if row_groups[0] in ranges:
                for start, batch in cuts.read(row_groups[0], ranges[row_groups[0]], rows):
                    yield _positioned(batch, columns, first_row + start, name)
            else:
                yield from _read_span(
                    int96.Int96Source(file, source, storage, name, unit), columns, first_row, row_groups, rows
                )


def row_count(storage: Storage, name: str) -> int:
    """The number of rows the footer tells."""
    with naming_damage(name, "Parquet"), open_blob(storage, name) as source:
        return int(pq.ParquetFile(source).metadata.num_rows)


def _require_rows(metadata: pq.FileMetaData, expected: int | None, name: str) -> None:
    found = sum(metadata.row_group(group).num_rows for group in range(metadata.num_row_groups))
    if expected is not None and found != expected:
        raise CorruptFileError(f"data file '{name}': expected {expected} rows, found {found}")


def _row_groups(
    file: pq.ParquetFile, source: pa.NativeFile, file_fields: tuple[t.Field, ...], predicate: Predicate
) -> list[int]:
    every = list(range(file.metadata.num_row_groups))
    expression = to_expression(predicate) if len(every) > 1 else None
    if expression is None:
        return every
    import pyarrow.dataset as ds  # noqa: PLC0415 - it loads pandas, which takes longer than many a read

    try:
        fragment = ds.ParquetFileFormat().make_fragment(source)
        kept = fragment.subset(filter=expression, schema=to_arrow_schema(file_fields))
        return [group.id for group in kept.row_groups]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return every  # statistics that cannot be compared with the predicate prune nothing


def _spans(
    metadata: pq.FileMetaData, row_groups: Iterable[int], *, alone: Container[int]
) -> Iterator[tuple[int, list[int]]]:
    """Runs of neighbouring row groups, each with the position of its first row; those of `alone` stay single."""
    starts = np.cumsum([0] + [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)])
    run: list[int] = []
    for group in row_groups:
        if run and (group in alone or run[-1] in alone or group != run[-1] + 1):
            yield int(starts[run[0]]), run
            run = []
        run.append(group)
    if run:
        yield int(starts[run[0]]), run


def _read_span(
    file: int96.Int96Source, columns: tuple[t.Field, ...], first_row: int, row_groups: list[int], rows: int
) -> Iterator[PositionedBatch]:
    chosen = leaves_of(file.parquet, columns)
    if not chosen:
        count = sum(file.parquet.metadata.row_group(group).num_rows for group in row_groups)
        yield from _only_missing(columns, first_row, count, rows)
        return
    check = int96.check(file, chosen, row_groups, first_row, rows)
    for batch in file.parquet.reader.iter_batches(rows, row_groups=row_groups, column_indices=chosen, use_threads=True):
        next(check, None)
        yield _positioned(batch, columns, first_row, file.name)
        first_row += batch.num_rows


def _positioned(batch: pa.RecordBatch, columns: tuple[t.Field, ...], first_row: int, name: str) -> PositionedBatch:
    arrays = [_column(batch, field, name) for field in columns]
    return PositionedBatch(first_row, make_batch(arrays, columns, batch.num_rows))


def _column(batch: pa.RecordBatch, field: t.Field, name: str) -> pa.Array:
    index = batch.schema.get_field_index(field.name)
    if index < 0:
        return pa.nulls(batch.num_rows, to_arrow_type(field.type))
    return conform(batch.column(index), field.type, f"data file '{name}', column '{field.name}'")


def _only_missing(
    columns: tuple[t.Field, ...], first_row: int, count: int, batch_rows: int
) -> Iterator[PositionedBatch]:
    """Batches of nulls, or of no columns at all."""
    for start in range(0, count, batch_rows):
        rows = min(batch_rows, count - start)
        arrays = [pa.nulls(rows, to_arrow_type(field.type)) for field in columns]
        yield PositionedBatch(first_row + start, make_batch(arrays, columns, rows))
