"""The next version of a schema.

`merge_columns` decides: columns and ROW members that only new rows have come last, nullable, under new ids; a type that
the table has stays, unless widening is asked for. `publish` creates schema-N if nobody else has made that version.

| a type widens to | |
|---|---|
| TINYINT, SMALLINT, INT | a larger integer, DOUBLE, or a DECIMAL with enough digits before the point |
| BIGINT | such a DECIMAL |
| FLOAT | DOUBLE |
| DECIMAL | one with more digits before the point, at the same scale |
| CHAR, VARCHAR, BINARY, VARBINARY | a longer one, or one of variable length |
| TIME, TIMESTAMP, TIMESTAMP WITH LOCAL TIME ZONE | one of more digits |

Columns of the keys keep their types. Values of the other types are cast where none can change, by the writer.
"""

from collections.abc import Sequence
from dataclasses import replace

from polynya.errors import AlreadyExistsError, ConflictError, InvalidInputError
from polynya.model import types as t
from polynya.model.bucket_mode import bucket_key
from polynya.model.options_data import ADD_COLUMN_BEFORE_PARTITION
from polynya.model.schema import Schema, assign_ids_inside_out
from polynya.paimon import layout, schema_file
from polynya.table.checks import check_columns
from polynya.table.history import TableRoot

_DIGITS = {t.TinyInt: 3, t.SmallInt: 5, t.Int: 10, t.BigInt: 19}
_VARIABLE = {t.Char: t.VarChar, t.Binary: t.VarBinary}
_SCHEMA_VERSION = 3


class SchemaChangedError(ConflictError):
    """Somebody else made the version of the schema that was to be published; merge again with theirs."""


def merge_columns(schema: Schema, incoming: Sequence[t.Field], *, widens: bool) -> Schema:
    """The schema, or its next version where the incoming columns bring something new.

    InvalidInputError for a new column that the table could not have.
    """
    own = frozenset((*schema.primary_key, *schema.partition_by, *bucket_key(schema)))
    merged, next_id = _merged_fields(schema.fields, incoming, schema.highest_field_id + 1, widens, keep=own)
    if merged == schema.fields:
        return schema
    if schema.partition_by and ADD_COLUMN_BEFORE_PARTITION.of(schema.options):
        merged = _before_partition(schema, merged)
    new = replace(schema, fields=merged, id=schema.id + 1, highest_field_id=next_id - 1, version=_SCHEMA_VERSION)
    check_columns(new)
    return new


def publish(root: TableRoot, schema: Schema, now_ms: int) -> Schema:
    """Create the file of a new version and return it; SchemaChangedError when there is one of that number already."""
    name, made = layout.schema_name(schema.id, root.branch), replace(schema, time_ms=now_ms)
    try:
        root.storage.put_new(name, schema_file.encode(made))
    except AlreadyExistsError:
        raise SchemaChangedError(
            f"schema {schema.id} of {root.storage.location} was made by another writer; nothing is committed, try again"
        ) from None
    return made


def _merged_fields(
    fields: tuple[t.Field, ...],
    incoming: Sequence[t.Field],
    next_id: int,
    widens: bool,
    keep: frozenset[str] = frozenset(),
) -> tuple[tuple[t.Field, ...], int]:
    """The fields with what the incoming ones add, and the next free id; types of those in `keep` stay."""
    new = {field.name: field for field in incoming}
    _require_other_names(fields, incoming)
    merged = []
    for field in fields:
        type = field.type
        if field.name in new and field.name not in keep:
            type, next_id = _merged_type(type, new[field.name].type, next_id, widens)
        merged.append(replace(field, type=type))
    known = {field.name for field in fields}
    for field in incoming:
        if field.name not in known:
            nullable = replace(field, type=field.type.with_nullable(True), default=None)
            numbered, next_id = assign_ids_inside_out(nullable, next_id)
            merged.append(numbered)
    return tuple(merged), next_id


def _merged_type(old: t.DataType, new: t.DataType, next_id: int, widens: bool) -> tuple[t.DataType, int]:
    match old, new:
        case t.Row(fields=fields), t.Row(fields=others):
            merged, next_id = _merged_fields(fields, others, next_id, widens)
            return replace(old, fields=merged), next_id
        case t.Array(element=inner), t.Array(element=other):
            inner, next_id = _merged_type(inner, other, next_id, widens)
            return replace(old, element=inner), next_id
        case t.Map(key=key, value=value), t.Map(value=other):
            value, next_id = _merged_type(value, other, next_id, widens)
            return replace(old, key=key, value=value), next_id
        case _ if widens and is_wider(new, old):
            return new.with_nullable(old.nullable), next_id
        case _:
            return old, next_id


def is_wider(new: t.DataType, old: t.DataType) -> bool:
    """Whether `new` is another type that holds every value of `old` as it is."""
    if new.with_nullable(True) == old.with_nullable(True):
        return False
    match old, new:
        case ((t.TinyInt() | t.SmallInt() | t.Int() | t.BigInt()), (t.TinyInt() | t.SmallInt() | t.Int() | t.BigInt())):
            return _DIGITS[new.__class__] > _DIGITS[old.__class__]
        case ((t.TinyInt() | t.SmallInt() | t.Int() | t.BigInt()), t.Decimal(precision=precision, scale=scale)):
            return precision - scale >= _DIGITS[old.__class__]
        case ((t.TinyInt() | t.SmallInt() | t.Int() | t.Float()), t.Double()):
            return True
        case t.Decimal(precision=less, scale=scale), t.Decimal(precision=more, scale=other):
            return more > less and scale == other
        case (t.VarChar(length=less), t.VarChar(length=more)) | (t.VarBinary(length=less), t.VarBinary(length=more)):
            return more > less
        case (t.Char(length=less), t.VarChar(length=more)) | (t.Binary(length=less), t.VarBinary(length=more)):
            return more >= less
        case (
            (t.Time(precision=less), t.Time(precision=more))
            | (t.Timestamp(precision=less), t.Timestamp(precision=more))
            | (t.LocalTimestamp(precision=less), t.LocalTimestamp(precision=more))
        ):
            return more > less
        case _:
            return False


def _require_other_names(fields: Sequence[t.Field], incoming: Sequence[t.Field]) -> None:
    """Raise where a new name differs from another in upper and lower case only: engines would confuse the two."""
    known = {field.name.lower(): field.name for field in fields}
    for field in incoming:
        held = known.setdefault(field.name.lower(), field.name)
        if held != field.name:
            raise InvalidInputError(f"new column '{field.name}': there is '{held}' already; rename one of them")


def _before_partition(schema: Schema, merged: tuple[t.Field, ...]) -> tuple[t.Field, ...]:
    """The columns with the new ones before the first column of the partition."""
    count = len(schema.fields)
    first = min(schema.names.index(name) for name in schema.partition_by)
    return (*merged[:first], *merged[count:], *merged[first:count])
