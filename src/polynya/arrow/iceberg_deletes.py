"""Rows that delete files of an Iceberg table take away from its data files.

Positions come from deletion vectors and from position delete files, whose rows name a data file and a position in it.
An equality delete file holds values of some columns; a row that has the same values, null equal to null, is deleted.
NaN equals NaN, and -0.0 is not 0.0, as for Iceberg.

A delete file may be about many data files: it is read once for all files of a split.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from polynya.arrow import evolve, files
from polynya.arrow.iceberg_columns import read_nodes, stored_fields
from polynya.codec.deletion_vector import decode_vector
from polynya.errors import CorruptFileError, UnsupportedError
from polynya.iceberg import manifest, puffin
from polynya.iceberg.name_mapping import MappedField
from polynya.iceberg.position_delete import FILE_PATH_ID, POSITION_ID
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_schema
from polynya.storage.protocol import Storage

#: Instants in ORC files of Iceberg are what they say.
ORC_OPTIONS = {"orc.timestamp-ltz.legacy.type": "false"}
PUFFIN = "puffin"
Ints = npt.NDArray[np.int64]
_POSITION_FIELDS = (
    t.Field(FILE_PATH_ID, "file_path", t.VarChar(nullable=False)),
    t.Field(POSITION_ID, "pos", t.BigInt(nullable=False)),
)
_POSITION_NAMES = tuple(MappedField(one.id, (one.name,)) for one in _POSITION_FIELDS)


@dataclass(frozen=True)
class DeleteFile:
    """A delete file as a plan describes it."""

    file_name: str
    file_format: str
    content: int
    record_count: int
    file_size_in_bytes: int  # some writers do not know it, and say 0 or less
    content_offset: int | None
    content_size_in_bytes: int | None
    equality_ids: tuple[int, ...]


@dataclass(frozen=True)
class Rows:
    """Values of some columns, each of which deletes the rows that have them.

    Column by column: its different values, and the combinations of them with those before it, sorted. A combination is
    the place of the one before times the number of values, plus the place of the value.
    """

    fields: tuple[t.Field, ...]
    steps: tuple[tuple[pa.Array, Ints], ...]

    def hit(self, columns: Sequence[pa.Array]) -> npt.NDArray[np.bool_]:
        """Which rows are deleted."""
        place = np.zeros(len(columns[0]), np.int64)
        is_hit = np.ones(len(place), bool)
        for column, (values, combinations) in zip(columns, self.steps, strict=True):
            found = pc.index_in(column, values)
            combined = place * len(values) + pc.fill_null(found, 0).to_numpy(zero_copy_only=False)
            place = np.minimum(np.searchsorted(combinations, combined), len(combinations) - 1)
            is_hit &= np.asarray(pc.is_valid(found)) & (combinations[place] == combined)
        return is_hit


@dataclass(frozen=True)
class Deletes:
    """The delete files of a split, each read when it is first needed."""

    storage: Storage
    mapping: Sequence[MappedField] | None
    equality_fields: Mapping[int, t.Field]  # every column that the table ever had
    _read: dict[tuple[str, int | None], pa.Table] = field(default_factory=dict)

    def positions(self, data_path: str, deletes: Sequence[DeleteFile]) -> BitMap64 | None:
        """The deleted positions of a data file, or None."""
        found = [
            self._vector(one, data_path) if one.file_format == PUFFIN else self._listed(one, data_path)
            for one in deletes
            if one.content == manifest.POSITION_DELETES
        ]
        return BitMap64.union(*found) if found else None

    def rows(self, deletes: Sequence[DeleteFile]) -> list[Rows]:
        """The deleted values of a data file, one for each set of columns."""
        by_ids: dict[tuple[int, ...], list[pa.Table]] = {}
        for one in deletes:
            if one.content == manifest.EQUALITY_DELETES:
                by_ids.setdefault(one.equality_ids, []).append(self._values(one))
        values = {ids: pa.concat_tables(tables) for ids, tables in by_ids.items()}
        return [_rows(self.fields_of(ids), table) for ids, table in values.items() if table.num_rows]

    def fields_of(self, ids: Sequence[int]) -> tuple[t.Field, ...]:
        """The columns of an equality delete, under names of their own."""
        missing = [id for id in ids if id not in self.equality_fields]
        if missing or not ids:
            raise UnsupportedError(
                f"an equality delete by field {missing or 'none'}: only columns of the table are read"
            )
        return tuple(
            t.Field(id, f"equality delete {id}", self.equality_fields[id].type.with_nullable(True)) for id in ids
        )

    def _vector(self, file: DeleteFile, data_path: str) -> BitMap64:
        offset, length = file.content_offset, file.content_size_in_bytes
        if offset is None or length is None or offset < puffin.MAGIC_BYTES or length < 0:
            raise CorruptFileError(
                f"deletion vector of {data_path}: expected its place in '{file.file_name}', found none"
            )
        size = self.storage.size(file.file_name)
        if offset + length > size or 0 < file.file_size_in_bytes != size:
            raise CorruptFileError(f"'{file.file_name}': expected {length} bytes from {offset} on, found {size} in all")
        puffin.require_magic(self.storage.read_range(file.file_name, 0, puffin.MAGIC_BYTES), name=file.file_name)
        vector = decode_vector(self.storage.read_range(file.file_name, offset, length), length, name=file.file_name)
        if not isinstance(vector, BitMap64) or len(vector) != file.record_count:
            raise CorruptFileError(
                f"'{file.file_name}', deletion vector of {data_path}: expected {file.record_count} positions, "
                f"found {len(vector)}"
            )
        return vector

    def _listed(self, file: DeleteFile, data_path: str) -> BitMap64:
        rows = self._table(file, _POSITION_FIELDS, _POSITION_NAMES)
        own = rows.filter(pc.equal(rows["file_path"], data_path))["pos"].combine_chunks().to_numpy()
        if len(own) and own.min() < 0:
            raise CorruptFileError(f"'{file.file_name}', pos: expected positions from 0 on, found {own.min()}")
        return BitMap64(own.astype(np.uint64))

    def _values(self, file: DeleteFile) -> pa.Table:
        return self._table(file, self.fields_of(file.equality_ids), self.mapping)

    def _table(self, file: DeleteFile, fields: tuple[t.Field, ...], mapping: Sequence[MappedField] | None) -> pa.Table:
        key = (file.file_name, file.content_offset)
        if key not in self._read:
            self._read[key] = read_columns(self.storage, file, fields, mapping)
        return self._read[key]


def read_columns(
    storage: Storage, file: DeleteFile, fields: tuple[t.Field, ...], mapping: Sequence[MappedField] | None
) -> pa.Table:
    """The columns of a delete file, all of which it must have."""
    nodes = read_nodes(storage, file.file_name, file.file_format, mapping)
    stored = stored_fields(nodes, fields)
    if len(stored) != len(fields):
        lacking = sorted({one.id for one in fields} - {one.id for one in stored})
        raise CorruptFileError(f"delete file '{file.file_name}': expected the fields {lacking}, found none of that id")
    projection = evolve.plan(stored, fields)
    batches = files.read(
        storage,
        file.file_name,
        format=file.file_format,
        file_fields=projection.columns,
        columns=projection.columns,
        row_count=file.record_count,
        options=ORC_OPTIONS,
    )
    return pa.Table.from_batches((projection.apply(one.batch) for one in batches), to_arrow_schema(fields))


def _rows(fields: tuple[t.Field, ...], table: pa.Table) -> Rows:
    place, steps = np.zeros(table.num_rows, np.int64), []
    for column in (table[one.name].combine_chunks() for one in fields):
        values = pc.unique(column)
        combined = place * len(values) + pc.index_in(column, values).to_numpy()
        combinations, place = np.unique(combined, return_inverse=True)
        steps.append((values, combinations))
    return Rows(fields, tuple(steps))
