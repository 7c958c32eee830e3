"""Rows of a plan of an Iceberg table.

A data file is read by field ids. A column that it lacks has the value of its identity partition, or else its initial
default, or else null. Deleted positions and rows that equality deletes name are dropped; `arrow.read` filters the rest.

| column on request, version 3 | value |
|---|---|
| `_row_id` | the stored one, or else the file's first row id plus the position |
| `_last_updated_sequence_number` | the stored one, or else the file's sequence number; null where row ids are |
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polynya.arrow import evolve, files
from polynya.arrow.budget import default_budget_bytes
from polynya.arrow.iceberg_columns import read_nodes, stored_fields
from polynya.arrow.iceberg_deletes import ORC_OPTIONS, DeleteFile, Deletes, Rows
from polynya.arrow.read import Reader
from polynya.codec.bitmap import Bitmap, keep_mask
from polynya.errors import CorruptFileError, NotFoundError
from polynya.iceberg import default_value, name_mapping
from polynya.iceberg.name_mapping import MappedField
from polynya.iceberg.partition_values import column_name
from polynya.model import bind
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_type
from polynya.model.evolve_predicate import evolve_predicate
from polynya.model.predicate import AlwaysTrue, Predicate
from polynya.model.schema import all_fields
from polynya.table.iceberg_table import LAST_UPDATED, LINEAGE, ROW_ID, IcebergRoot
from polynya.table.plan import Plan, Split


@dataclass(frozen=True)
class IcebergReader(Reader):
    """How the rows of a plan are read, with what the metadata says of columns that files lack; plain data."""

    defaults: Mapping[int, pa.Scalar] = field(default_factory=dict)
    mapping: tuple[MappedField, ...] | None = None
    all_columns: Mapping[int, t.Field] = field(default_factory=dict)  # every column that the table ever had
    named_ids: frozenset[int] = frozenset()  # columns that a file with ids has under today's name and type, or not
    identities: Mapping[int, Mapping[int, int]] = field(default_factory=dict)  # spec: column to partition field

    def batches(self, split: Split) -> Iterator[pa.RecordBatch]:
        """The rows of a split, deleted ones left out, before the filter."""
        deletes = Deletes(self.storage, self.mapping, self.all_columns)
        for file in files_of(split.files):
            try:
                yield from _read_file(self, file, deletes)
            except (CorruptFileError, NotFoundError) as error:
                raise type(error)(f"table {self.storage.location}, data file {file.file_name}: {error}") from error


@dataclass(frozen=True)
class DataFile:
    """One data file of a plan."""

    file_name: str
    file_path: str
    file_format: str
    row_count: int
    sequence_number: int
    first_row_id: int | None
    spec_id: int
    partition: Mapping[int, pa.Scalar]  # by partition field
    deletes: tuple[DeleteFile, ...]


def reader_of(plan: Plan, root: IcebergRoot, budget_bytes: int | None) -> IcebergReader:
    """The reader of a plan; without a budget, a share of the machine's memory."""
    metadata = root.metadata
    schema = next(one for one in metadata.schemas if one.schema_id == plan.schema.id)
    text = metadata.properties.get(name_mapping.PROPERTY)
    return IcebergReader(
        root.storage,
        plan.schema,
        {plan.schema.id: plan.schema},
        plan.columns,
        plan.predicate if plan.predicate is not None else AlwaysTrue(),
        budget_bytes if budget_bytes is not None else default_budget_bytes(),
        plan.snapshot.id if plan.snapshot is not None else None,
        defaults=default_value.initial_defaults(schema.json, name=root.metadata_name),
        mapping=None if text is None else name_mapping.decode(text, name=root.metadata_name),
        all_columns=root.columns_by_id,
        named_ids=root.named_ids,
        identities={
            spec.spec_id: {one.source_id: one.field_id for one in spec.fields if one.transform == "identity"}
            for spec in metadata.partition_specs
        },
    )


def files_of(table: pa.Table) -> Iterator[DataFile]:
    """The files of a split, in order."""
    partition = {name: table[name] for name in table.column_names if name.startswith(column_name(0)[:-1])}
    for index, row in enumerate(table.drop_columns(list(partition)).to_pylist()):
        values = {int(name.rpartition("_")[2]): column[index] for name, column in partition.items()}
        yield DataFile(
            row["file_name"],
            row["file_path"],
            row["file_format"],
            row["row_count"],
            row["min_sequence_number"],
            row["first_row_id"],
            row["spec_id"],
            values,
            tuple(map(_delete_file, row["deletes"])),
        )


def _delete_file(described: dict[str, Any]) -> DeleteFile:
    ids = tuple(described.pop("equality_ids") or ())
    return DeleteFile(**described, equality_ids=ids)


def _read_file(reader: IcebergReader, file: DataFile, deletes: Deletes) -> Iterator[pa.RecordBatch]:
    positions = deletes.positions(file.file_path, file.deletes)
    equality = deletes.rows(file.deletes)
    wanted = reader.wanted
    by_equality = tuple(dict.fromkeys(field for one in equality for field in one.fields))
    for first_row, batch in _positioned(reader, file, (*wanted, *by_equality)):
        kept = _undeleted(batch, first_row, positions, equality)
        yield kept.select([one.name for one in wanted])


def _undeleted(batch: pa.RecordBatch, first_row: int, positions: Bitmap | None, equality: list[Rows]) -> pa.RecordBatch:
    if positions is not None:
        keep = keep_mask(positions, first_row, batch.num_rows)
        batch = batch.filter(keep)
    for one in equality:
        hit = one.hit([batch[column.name] for column in one.fields])
        batch = batch.filter(pa.array(~hit))
    return batch


def _positioned(
    reader: IcebergReader, file: DataFile, wanted: tuple[t.Field, ...]
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of a file as the table has them, with the position of the first of each batch."""
    nodes = read_nodes(reader.storage, file.file_name, file.file_format, reader.mapping)
    stored = stored_fields(nodes, wanted)
    # two columns of one id are one column of the file
    projection = evolve.plan(stored, wanted, _constants(reader, file, wanted))
    columns = tuple({one.id: one for one in projection.columns}.values())
    projection = replace(projection, columns=columns)
    if not columns:
        yield from (
            (start, _lineage(projection.apply(rows), file, start)) for start, rows in _bare_rows(file.row_count)
        )
        return
    batches = files.read(
        reader.storage,
        file.file_name,
        format=file.file_format,
        file_fields=columns,
        columns=columns,
        predicate=_row_group_filter(reader, stored),
        row_count=file.row_count,
        size=reader.batch_size,
        options=ORC_OPTIONS,
    )
    for first_row, batch in batches:
        yield first_row, _lineage(projection.apply(batch), file, first_row)


def _row_group_filter(reader: IcebergReader, stored: tuple[t.Field, ...]) -> Predicate:
    """What the filter says of columns that the file has whole; its row groups do not tell the values of others."""
    ids = {one.id for one in all_fields(stored)}
    whole = [one.name for one in reader.schema.fields if ids.issuperset(inner.id for inner in all_fields([one]))]
    known = bind.project(reader.predicate, whole)
    return evolve_predicate(known, reader.schema.fields, stored)


def _constants(reader: IcebergReader, file: DataFile, wanted: tuple[t.Field, ...]) -> dict[int, pa.Scalar]:
    """Values of columns that the file may lack, by id."""
    known = dict(reader.defaults)
    identities = reader.identities.get(file.spec_id, {})
    for one in wanted:
        value = file.partition.get(identities.get(one.id, -1))
        if value is not None:
            known[one.id] = value.cast(to_arrow_type(one.type))
    return known


def _bare_rows(row_count: int) -> Iterator[tuple[int, pa.RecordBatch]]:
    """As many rows without columns: nothing of the file is needed but their number."""
    size = files.BatchSize().rows
    for start in range(0, row_count, size):
        rows = pa.nulls(min(size, row_count - start))
        yield start, pa.RecordBatch.from_arrays([rows], ["_"]).select([])


def _lineage(batch: pa.RecordBatch, file: DataFile, first_row: int) -> pa.RecordBatch:
    """The batch with row ids and sequence numbers counted on where they are not stored."""
    for one in LINEAGE:
        index = batch.schema.get_field_index(one.name)
        if index >= 0 and file.first_row_id is not None:
            batch = batch.set_column(
                index, one.name, pc.coalesce(batch.column(index), _counted(one, file, first_row, batch))
            )
    return batch


def _counted(one: t.Field, file: DataFile, first_row: int, batch: pa.RecordBatch) -> pa.Array:
    if one == LAST_UPDATED:
        return pa.repeat(pa.scalar(file.sequence_number, pa.int64()), batch.num_rows)
    assert one == ROW_ID
    assert file.first_row_id is not None
    start = file.first_row_id + first_row
    return pa.array(np.arange(start, start + batch.num_rows, dtype=np.int64))
