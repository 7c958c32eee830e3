"""Rows of single data files in terms of the table: today's columns, partition values, less deleted positions."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polynya.arrow import evolve, files
from polynya.arrow.files import BatchSize
from polynya.codec import binary_row
from polynya.codec.bitmap import Bitmap, keep_mask
from polynya.codec.deletion_vector import FRAME_BYTES, decode_vector
from polynya.errors import CorruptFileError, NotFoundError
from polynya.model.arrow_types import to_arrow_schema, to_arrow_type
from polynya.model.evolve_predicate import evolve_predicate
from polynya.model.options_data import FILE_INDEX_READ_ENABLED, INDEX_FILE_IN_DATA_FILE_DIR
from polynya.model.predicate import AlwaysTrue, Predicate
from polynya.model.schema import ROW_ID, SEQUENCE_NUMBER, VALUE_KIND, Schema
from polynya.model.types import Field
from polynya.paimon import layout
from polynya.storage import open_storage
from polynya.storage.protocol import Storage
from polynya.table.index_prune import may_match
from polynya.table.paths import bucket_folder, require_declared

BATCH_ROWS = 65536
ROW_TRACKING = (ROW_ID, SEQUENCE_NUMBER)


class RowSource(Protocol):
    """What reading a file needs to know of its table."""

    @property
    def storage(self) -> Storage:
        """The table's store."""

    @property
    def schema(self) -> Schema:
        """The schema to read in."""

    @property
    def file_schemas(self) -> Mapping[int, Schema]:
        """The schemas that files were written with, by id."""

    @property
    def batch_size(self) -> BatchSize:
        """How large the batches of a file may be."""


@dataclass(frozen=True)
class DataFile:
    """One data file of a plan."""

    file_name: str
    partition: bytes
    bucket: int
    schema_id: int
    row_count: int
    max_sequence_number: int
    external_path: str | None = None
    first_row_id: int | None = None
    write_cols: tuple[str, ...] | None = None
    dv_file: str | None = None
    dv_file_size: int | None = None
    dv_external_path: str | None = None
    dv_offset: int | None = None
    dv_length: int | None = None
    extra_files: tuple[str, ...] = ()


def files_of(table: pa.Table) -> list[DataFile]:
    """The files of a split, in order."""
    rows = zip(*(table[name].to_pylist() for name in DataFile.__dataclass_fields__), strict=True)
    return [DataFile(*map(_frozen, row)) for row in rows]


def _frozen(value: Any) -> Any:  # noqa: ANN401 - one cell of an Arrow table
    return tuple(value) if isinstance(value, list) else value


def read_run(
    source: RowSource, run: pa.Table, wanted: tuple[Field, ...], predicate: Predicate
) -> Iterator[pa.RecordBatch]:
    """The rows of several files, one file after the other."""
    for file in files_of(run):
        yield from read(source, file, wanted, predicate)


def read(
    source: RowSource, file: DataFile, wanted: tuple[Field, ...], predicate: Predicate
) -> Iterator[pa.RecordBatch]:
    """The rows of a file that its deletion vector leaves, with the wanted columns in order.

    The predicate only lets row groups and pages be skipped. Errors name the table, partition, bucket and file.
    """
    with naming_file(source, file):
        if not index_may_match(source, file, predicate):
            return
        vector = read_vector(source, file) if file.dv_file is not None else None
        for first_row, batch in read_positions(source, file, wanted, predicate):
            yield batch if vector is None else batch.filter(keep_mask(vector, first_row, batch.num_rows))


@contextmanager
def naming_file(source: RowSource, file: DataFile) -> Iterator[None]:
    """Errors about the file that name its table, partition and bucket too."""
    try:
        yield
    except (CorruptFileError, NotFoundError) as error:
        where = bucket_folder(file.partition, file.bucket, source.schema)
        raise type(error)(f"table {source.storage.location}, {where}, data file {file.file_name}: {error}") from error


def read_positions(
    source: RowSource, file: DataFile, wanted: tuple[Field, ...], predicate: Predicate
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of a file as batches with the position of their first row; deleted ones are still there."""
    stored = stored_fields(source, file)
    partition = _partition_values(source.schema, file.partition)
    projection = evolve.plan(stored, tuple(field for field in wanted if field.name not in partition))
    local = evolve_predicate(predicate, source.schema.fields, stored)
    schema = to_arrow_schema(wanted)
    for first_row, batch in _stored_batches(source, file, stored, projection, local):
        read_columns = projection.apply(batch)
        columns = [
            _constant(partition[field.name], batch.num_rows)
            if field.name in partition
            else _tracked(read_columns[field.name], field, file, first_row)
            for field in wanted
        ]
        yield first_row, pa.RecordBatch.from_arrays(columns, schema=schema)


def stored_fields(source: RowSource, file: DataFile) -> tuple[Field, ...]:
    """The columns that the file holds, as its schema has them."""
    schema = source.file_schemas[file.schema_id]
    if schema.primary_key:
        return (SEQUENCE_NUMBER, VALUE_KIND, *schema.fields)
    if file.write_cols is None:
        return schema.fields
    system = {field.name: replace(field, type=field.type.with_nullable(True)) for field in ROW_TRACKING}
    found = (schema.find(name) or system.get(name) for name in file.write_cols)
    return tuple(field for field in found if field is not None)


def index_may_match(source: RowSource, file: DataFile, predicate: Predicate) -> bool:
    """Whether the index beside the file, if there is one, lets a row match."""
    if isinstance(predicate, AlwaysTrue) or not FILE_INDEX_READ_ENABLED.of(source.schema.options):
        return True
    index = read_index(source, file)
    written = source.file_schemas[file.schema_id]
    return index is None or may_match(index, predicate, source.schema, written, file.row_count, file.file_name)


def read_index(source: RowSource, file: DataFile) -> bytes | None:
    """The index beside the file, if there is one."""
    names = [name for name in file.extra_files if name.endswith(layout.INDEX_SUFFIX)]
    if not names:
        return None
    storage, path = _locate(source, file, names[0])
    return storage.read(path)


def read_vector(source: RowSource, file: DataFile) -> Bitmap:
    """The positions of the file that are deleted."""
    assert file.dv_file is not None
    assert file.dv_offset is not None
    assert file.dv_length is not None
    storage, name = source.storage, layout.index_path(file.dv_file)
    if file.dv_external_path is not None:
        storage, name = _external(file.dv_external_path, source.schema)
    elif INDEX_FILE_IN_DATA_FILE_DIR.of(source.schema.options):
        name = f"{bucket_folder(file.partition, file.bucket, source.schema)}/{file.dv_file}"
    length = min(file.dv_length + FRAME_BYTES, (file.dv_file_size or 0) - file.dv_offset)
    if length <= 0 or file.dv_offset < 0:
        raise CorruptFileError(f"deletion vector of {file.file_name}: its place is outside of {name}")
    return decode_vector(storage.read_range(name, file.dv_offset, length), file.dv_length, name=name)


def _stored_batches(
    source: RowSource,
    file: DataFile,
    stored: tuple[Field, ...],
    projection: evolve.Projection,
    predicate: Predicate,
) -> Iterator[tuple[int, pa.RecordBatch]]:
    if not projection.columns:
        yield from _bare_rows(file.row_count)
        return
    storage, name = _locate(source, file, file.file_name)
    yield from files.read(
        storage,
        name,
        format=files.format_of(name),
        file_fields=_with_optional(stored, source.schema.partition_by),
        columns=projection.columns,
        predicate=predicate,
        row_count=file.row_count,
        size=source.batch_size,
        options=source.schema.options,
    )


def _with_optional(stored: tuple[Field, ...], names: tuple[str, ...]) -> tuple[Field, ...]:
    """The columns, those of the partition as ones that the file may lack: their values come from the manifest."""
    return tuple(replace(one, type=one.type.with_nullable(True)) if one.name in names else one for one in stored)


def _bare_rows(row_count: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """As many rows without columns: nothing of the file is needed but their number."""
    for start in range(0, row_count, BATCH_ROWS):
        rows = pa.nulls(min(BATCH_ROWS, row_count - start))
        yield start, pa.RecordBatch.from_arrays([rows], ["_"]).select([])


def _locate(source: RowSource, file: DataFile, name: str) -> tuple[Storage, str]:
    """Where the file, or one that stands beside it, is."""
    if file.external_path is None:
        return source.storage, f"{bucket_folder(file.partition, file.bucket, source.schema)}/{name}"
    storage, own_name = _external(file.external_path, source.schema)
    return storage, name if name != file.file_name else own_name


def _external(url: str, schema: Schema) -> tuple[Storage, str]:
    require_declared([url], schema)
    folder, _, name = url.rpartition("/")
    return open_storage(folder), name


def _partition_values(schema: Schema, partition: bytes) -> dict[str, pa.Scalar]:
    fields = schema.partition_fields
    types = [to_arrow_type(field.type) for field in fields]
    values = binary_row.decode_row(partition, types, name="partition of a manifest entry")
    return {field.name: pa.scalar(value, type) for field, type, value in zip(fields, types, values, strict=True)}


def _constant(value: pa.Scalar, row_count: int) -> pa.Array:
    return pa.repeat(value, row_count)


def _tracked(column: pa.Array, field: Field, file: DataFile, first_row: int) -> pa.Array:
    """A row tracking column, where the file does not store it: counted on, or the file's sequence number."""
    if field.id == ROW_ID.id and file.first_row_id is not None:
        start = file.first_row_id + first_row
        return pc.coalesce(column, pa.array(np.arange(start, start + len(column), dtype=np.int64)))
    if field.id == SEQUENCE_NUMBER.id and column.null_count:
        return pc.fill_null(column, file.max_sequence_number)
    return column
