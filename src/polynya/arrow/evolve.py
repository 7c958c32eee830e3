"""Rows of a file of an old schema as rows of the schema that is asked for.

Columns and ROW members are matched by id, never by name: a column that was dropped and added again is another column. A
field without a match is null, or what its default says; one whose type changed is cast. Decided once per pair of
schemas, applied per batch.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from polynya.arrow.batches import make_batch
from polynya.arrow.casts import find_cast
from polynya.arrow.nested import with_entries, with_members, with_values
from polynya.errors import UnsupportedError
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_field, to_arrow_type

Convert = Callable[[pa.Array], pa.Array]
Defaults = Mapping[int, pa.Scalar]


@dataclass(frozen=True)
class Projection:
    """What to read of a file, and how it becomes what is wanted."""

    columns: tuple[t.Field, ...]
    """The columns to read, under the file's names and types, ROWs with only the members needed."""

    fields: tuple[t.Field, ...]
    """The columns that come out, in order."""

    converts: tuple[Convert | None, ...]
    """One per column out: how it is made of its column in the file; None takes it as it is."""

    defaults: Defaults
    """By id: the value of a field that the file lacks, where it is not null."""

    @property
    def is_identity(self) -> bool:
        """Whether the columns read are the columns wanted."""
        return self.columns == self.fields and not any(self.converts)

    def apply(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch, which holds `columns`, with the wanted columns."""
        if self.is_identity:
            return batch
        position = {column.id: index for index, column in enumerate(self.columns)}
        arrays = []
        for field, convert in zip(self.fields, self.converts, strict=True):
            index = position.get(field.id)
            if index is None:
                arrays.append(_missing(batch.num_rows, to_arrow_type(field.type), self.defaults.get(field.id)))
            else:
                array = batch.column(index)
                arrays.append(array if convert is None else convert(array))
        return make_batch(arrays, self.fields, batch.num_rows)


def plan(
    file_fields: tuple[t.Field, ...],
    wanted_fields: tuple[t.Field, ...],
    defaults: Defaults | None = None,
) -> Projection:
    """How a file with `file_fields` gives `wanted_fields`; UnsupportedError names a column whose cast there is not.

    `defaults` are values, by id, of fields that the file may lack.
    """
    given = defaults or {}
    by_id = {field.id: field for field in file_fields}
    columns: list[t.Field] = []
    converts: list[Convert | None] = []
    for wanted in wanted_fields:
        found = by_id.get(wanted.id)
        if found is None:
            converts.append(None)
            continue
        type, convert = _match(found.type, wanted.type, wanted.name, given)
        columns.append(replace(found, type=type))
        converts.append(convert)
    return Projection(tuple(columns), wanted_fields, tuple(converts), given)


def _match(found: t.DataType, wanted: t.DataType, column: str, defaults: Defaults) -> tuple[t.DataType, Convert | None]:
    """The type to read of `found`, and how its values become those of `wanted`."""
    match found, wanted:
        case t.Row(), t.Row():
            return _match_rows(found, wanted, column, defaults)
        case t.Array(), t.Array():
            return _match_lists(found, wanted, column, defaults)
        case t.Vector(length=length), t.Vector(length=wanted_length) if length == wanted_length:
            return _match_lists(found, wanted, column, defaults)
        case t.Map(), t.Map():
            return _match_maps(found, wanted, column, defaults)
    if found.with_nullable(True) == wanted.with_nullable(True):
        return found, None
    if t.is_nested(found) or t.is_nested(wanted):
        raise UnsupportedError(f"column '{column}': no cast from {found} to {wanted}")
    return found, find_cast(found, wanted, column)


def _match_rows(found: t.Row, wanted: t.Row, column: str, defaults: Defaults) -> tuple[t.DataType, Convert | None]:
    by_id = {member.id: member for member in found.fields}
    read: list[t.Field] = []
    sources: list[tuple[int | None, Convert | None]] = []
    for member in wanted.fields:
        old = by_id.get(member.id)
        if old is None:
            sources.append((None, None))
            continue
        read_type, inner = _match(old.type, member.type, f"{column}.{member.name}", defaults)
        sources.append((len(read), inner))
        read.append(replace(old, type=read_type))
    # a ROW of new members only still has to tell where it is null
    type = replace(found, fields=tuple(read) or found.fields[:1])
    if read and to_arrow_type(type) == to_arrow_type(wanted) and not any(inner for _, inner in sources):
        return type, None
    fields = [to_arrow_field(member) for member in wanted.fields]
    given = [defaults.get(member.id) for member in wanted.fields]

    def convert(array: pa.Array) -> pa.Array:
        members = [
            _missing(len(array), field.type, default) if index is None else _apply(own, array.field(index))
            for field, default, (index, own) in zip(fields, given, sources, strict=True)
        ]
        return with_members(array, fields, members)

    return type, convert


def _match_lists(
    found: t.Array | t.Vector, wanted: t.Array | t.Vector, column: str, defaults: Defaults
) -> tuple[t.DataType, Convert | None]:
    element, inner = _match(found.element, wanted.element, f"{column}.element", defaults)
    type = replace(found, element=element)
    target = to_arrow_type(wanted)
    if inner is None and to_arrow_type(type) == target:
        return type, None
    return type, lambda array: with_values(array, target, _apply(inner, array.values))


def _match_maps(found: t.Map, wanted: t.Map, column: str, defaults: Defaults) -> tuple[t.DataType, Convert | None]:
    if found.key.with_nullable(True) != wanted.key.with_nullable(True):
        raise UnsupportedError(f"column '{column}': no cast of map keys from {found.key} to {wanted.key}")
    value, inner = _match(found.value, wanted.value, f"{column}.value", defaults)
    type = replace(found, value=value)
    target = to_arrow_type(wanted)
    if inner is None and to_arrow_type(type) == target:
        return type, None
    return type, lambda array: with_entries(array, target, array.keys, _apply(inner, array.items))


def _missing(count: int, type: pa.DataType, default: pa.Scalar | None) -> pa.Array:
    return pa.nulls(count, type) if default is None else pa.repeat(default, count)


def _apply(convert: Convert | None, array: pa.Array) -> pa.Array:
    return array if convert is None else convert(array)
