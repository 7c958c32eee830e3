"""The schema of a table: columns with ids, keys, options."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from polynya.errors import InvalidInputError, NotFoundError
from polynya.model import types as t
from polynya.model.arrow_types import from_arrow_type, to_arrow_schema

KEY_PREFIX = "_KEY_"
KEY_FIELD_ID_START = 2**30 - 1
SEQUENCE_NUMBER = t.Field(2147483646, "_SEQUENCE_NUMBER", t.BigInt(nullable=False))
VALUE_KIND = t.Field(2147483645, "_VALUE_KIND", t.TinyInt(nullable=False))
LEVEL = t.Field(2147483644, "_LEVEL", t.Int(nullable=False))
ROW_KIND = t.Field(2147483643, "rowkind", t.VarChar())
ROW_ID = t.Field(2147483642, "_ROW_ID", t.BigInt(nullable=False))
SYSTEM_FIELDS = (SEQUENCE_NUMBER, VALUE_KIND, LEVEL, ROW_KIND, ROW_ID)


@dataclass(frozen=True)
class Schema:
    """One version of a table's schema; immutable, identified by `id` within its branch."""

    fields: tuple[t.Field, ...]
    primary_key: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    id: int = 0
    highest_field_id: int = -1
    time_ms: int = 0
    version: int = 3

    @property
    def names(self) -> tuple[str, ...]:
        """The column names in order."""
        return tuple(column.name for column in self.fields)

    @property
    def arrow(self) -> pa.Schema:
        """The Arrow schema of the columns."""
        return to_arrow_schema(self.fields)

    @property
    def trimmed_primary_key(self) -> tuple[str, ...]:
        """The primary key without the partition columns: what orders the rows of a bucket."""
        return tuple(name for name in self.primary_key if name not in self.partition_by)

    @property
    def partition_fields(self) -> tuple[t.Field, ...]:
        """The partition columns in the order of `partition_by`."""
        return self.select(self.partition_by)

    @property
    def key_fields(self) -> tuple[t.Field, ...]:
        """The columns of the trimmed primary key in key order."""
        return self.select(self.trimmed_primary_key)

    def find(self, name: str) -> t.Field | None:
        """The column of that name, or None."""
        return next((column for column in self.fields if column.name == name), None)

    def find_id(self, field_id: int) -> t.Field | None:
        """The column with that id, or None."""
        return next((column for column in self.fields if column.id == field_id), None)

    def column(self, name: str) -> t.Field:
        """The column of that name; NotFoundError names the ones there are."""
        found = self.find(name)
        if found is None:
            raise NotFoundError(f"column '{name}' does not exist; the table has {', '.join(self.names)}")
        return found

    def select(self, names: Iterable[str]) -> tuple[t.Field, ...]:
        """The columns of those names, in that order."""
        return tuple(self.column(name) for name in names)


def schema_of(
    columns: pa.Schema | Iterable[t.Field],
    *,
    primary_key: Iterable[str] = (),
    partition_by: Iterable[str] = (),
    options: Mapping[str, str] | None = None,
    comment: str | None = None,
) -> Schema:
    """A first schema (id 0) with field ids given as Java gives them on create; the keys' columns become NOT NULL."""
    if isinstance(columns, pa.Schema):
        columns = [
            t.Field(-1, column.name, from_arrow_type(column.type, nullable=column.nullable, name=column.name))
            for column in columns
        ]
    columns, key = tuple(columns), tuple(primary_key)
    for column in columns:
        if not isinstance(column.name, str) or not isinstance(column.type, t.DataType):
            raise InvalidInputError(f"column {column.name!r}: expected a name and a type, found type {column.type!r}")
    fields = assign_ids([_not_null(column) if column.name in key else column for column in columns])
    highest = max((inner.id for inner in all_fields(fields)), default=-1)
    return Schema(fields, key, tuple(partition_by), dict(options or {}), comment, highest_field_id=highest)


def assign_ids(columns: Iterable[t.Field], first: int = 0) -> tuple[t.Field, ...]:
    """Number columns from `first` on: a column before what it holds, a ROW member after what it holds."""
    next_id = first
    numbered = []
    for column in columns:
        own_id = next_id
        type, next_id = _number(column.type, next_id + 1)
        numbered.append(replace(column, id=own_id, type=type))
    return tuple(numbered)


def assign_ids_inside_out(field: t.Field, first: int) -> tuple[t.Field, int]:
    """Number a field from `first` on, what it holds before itself, as schemas do that rows evolve; the next id too."""
    type, own_id = _number(field.type, first)
    return replace(field, id=own_id, type=type), own_id + 1


def all_fields(fields: Iterable[t.Field]) -> list[t.Field]:
    """The columns and every ROW member inside them."""
    return [inner for column in fields for inner in (column, *t.fields_within(column.type))]


def key_field(column: t.Field) -> t.Field:
    """The `_KEY_` twin of a key column, as it stands in data files."""
    return replace(column, id=column.id + KEY_FIELD_ID_START, name=KEY_PREFIX + column.name)


def _not_null(column: t.Field) -> t.Field:
    return replace(column, type=column.type.with_nullable(False))


def _number(type: t.DataType, next_id: int) -> tuple[t.DataType, int]:
    match type:
        case t.Row(fields=fields):
            members = []
            for member in fields:
                inner, next_id = _number(member.type, next_id)
                members.append(replace(member, id=next_id, type=inner))
                next_id += 1
            return replace(type, fields=tuple(members)), next_id
        case t.Array(element=inner) | t.Multiset(element=inner) | t.Vector(element=inner):
            inner, next_id = _number(inner, next_id)
            return replace(type, element=inner), next_id
        case t.Map(key=key, value=value):
            key, next_id = _number(key, next_id)
            value, next_id = _number(value, next_id)
            return replace(type, key=key, value=value), next_id
        case _:
            return type, next_id


def require_columns(schema: Schema, names: Iterable[str], what: str) -> None:
    """Raise InvalidInputError when one of the names is not a column."""
    for name in names:
        if schema.find(name) is None:
            raise InvalidInputError(f"{what}: column '{name}' does not exist; the table has {', '.join(schema.names)}")
