"""Rows that a caller hands in, brought to the columns of the table or refused.

Columns are matched by name, and so are the members of a struct. A missing one is null where it may be; a missing column
then takes its default. A column of another type is cast where no value can change, but that a DOUBLE is rounded to the
next FLOAT; anything else is an InvalidInputError before a byte is written.
"""

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from polynya.arrow import nested
from polynya.errors import InvalidInputError
from polynya.model import types as t
from polynya.model import value_text
from polynya.model.arrow_types import to_arrow_schema, to_arrow_type
from polynya.model.schema import Schema

Rows: TypeAlias = pa.Table | pa.RecordBatch | pa.RecordBatchReader | Iterable[pa.RecordBatch]


def batches_of(data: Rows) -> Iterator[pa.RecordBatch]:
    """The rows as batches, one at a time."""
    if isinstance(data, pa.RecordBatch):
        yield data
    elif isinstance(data, pa.Table):
        yield from data.to_batches()
    elif isinstance(data, Iterable):
        for batch in data:
            if not isinstance(batch, pa.RecordBatch):
                raise InvalidInputError(f"rows to write: expected Arrow record batches, found {type(batch).__name__}")
            yield batch
    else:
        raise InvalidInputError(f"rows to write: expected an Arrow table, batch or reader, found {type(data).__name__}")


def check_columns(incoming: pa.Schema, schema: Schema, extra: Sequence[str] = ()) -> None:
    """Raise InvalidInputError unless rows of the incoming schema can become rows of the table.

    `extra` names columns that carry something other than values, such as the row kind.
    """
    names = [name for name in incoming.names if name not in extra]
    if len(set(names)) != len(names):
        raise InvalidInputError(f"rows to write: a column stands twice: {', '.join(names)}")
    for name in names:
        if schema.find(name) is None:
            near = get_close_matches(name, schema.names, n=1)
            hint = f"; did you mean '{near[0]}'?" if near else f"; the table has {', '.join(schema.names)}"
            raise InvalidInputError(f"rows to write: the table has no column '{name}'{hint}")
    for field in schema.fields:
        if field.name not in names and not field.type.nullable:
            raise InvalidInputError(f"rows to write: column '{field.name}' is NOT NULL and missing")


def conform(batch: pa.RecordBatch, schema: Schema) -> pa.RecordBatch:
    """The batch with the table's columns, in their order and types; values that do not fit are refused."""
    arrays = [_column(batch, field) for field in schema.fields]
    return pa.RecordBatch.from_arrays(arrays, schema=to_arrow_schema(schema.fields))


def _column(batch: pa.RecordBatch, field: t.Field) -> pa.Array:
    index = batch.schema.get_field_index(field.name)
    wanted = to_arrow_type(field.type)
    if index < 0:
        array = nested.fill_null_rows(pa.nulls(batch.num_rows, wanted), wanted)
    else:
        array = _cast(batch.column(index), wanted, field.name)
    _check_values(array, field.type, field.name)
    if field.default is not None and array.null_count:
        array = pc.fill_null(array, value_text.parse(field.default, field.type))
    return array


def _cast(array: pa.Array, wanted: pa.DataType, name: str) -> pa.Array:
    try:
        array.validate(full=True)
    except pa.ArrowInvalid as error:
        raise InvalidInputError(f"column '{name}': expected sound Arrow data, found damage: {error}") from error
    if pa.types.is_nested(wanted):
        array = nested.fill_null_rows(array, wanted)
    if array.type == wanted:
        return array
    if not _is_lossless(array.type, wanted):
        raise InvalidInputError(
            f"column '{name}': expected {wanted}, found {array.type}, whose values may not fit; cast the column"
        )
    try:
        cast = _wide(array, wanted).cast(wanted, safe=True)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InvalidInputError(f"column '{name}': {array.type} does not fit {wanted}: {error}") from error
    if _infinite_count(cast) != _infinite_count(array):
        raise InvalidInputError(f"column '{name}': {array.type} does not fit {wanted}: a number is too large")
    return cast


def _wide(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Integers on their way to decimals, in one that holds any of them: Arrow casts by type, not by value."""
    if not (pa.types.is_integer(array.type) and pa.types.is_decimal(wanted)):
        return array
    return array.cast(pa.decimal128(min(38, 20 + wanted.scale), wanted.scale))


def _is_lossless(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether a checked cast keeps the meaning of every value: no text from numbers, no zone lost or invented."""
    kinds = pa.types
    if kinds.is_null(found):
        return True
    if kinds.is_dictionary(found):
        return _is_lossless(found.value_type, wanted)
    if kinds.is_timestamp(found) or kinds.is_timestamp(wanted):
        both = kinds.is_timestamp(found) and kinds.is_timestamp(wanted)
        return both and (found.tz is None) == (wanted.tz is None)
    if kinds.is_nested(found) or kinds.is_nested(wanted):
        return _is_lossless_inside(found, wanted)
    for family in (_is_text, _is_bytes, kinds.is_time, kinds.is_date, kinds.is_boolean):
        if family(found) or family(wanted):
            return bool(family(found) and family(wanted))
    if kinds.is_floating(wanted):
        return kinds.is_floating(found) or kinds.is_integer(found)
    return not kinds.is_floating(found)


def _is_text(type: pa.DataType) -> bool:
    return pa.types.is_string(type) or pa.types.is_large_string(type) or pa.types.is_string_view(type)


def _is_bytes(type: pa.DataType) -> bool:
    kinds = pa.types
    return (
        kinds.is_binary(type)
        or kinds.is_large_binary(type)
        or kinds.is_fixed_size_binary(type)
        or (kinds.is_binary_view(type))
    )


def _is_lossless_inside(found: pa.DataType, wanted: pa.DataType) -> bool:
    """The same for nested types; a member that the table does not have would be lost."""
    kinds = pa.types
    if kinds.is_struct(found) and kinds.is_struct(wanted):
        return len(set(found.names)) == found.num_fields and all(
            member.name in wanted.names and _is_lossless(member.type, wanted.field(member.name).type)
            for member in found
        )
    if kinds.is_map(found) and kinds.is_map(wanted):
        return _is_lossless(found.key_type, wanted.key_type) and _is_lossless(found.item_type, wanted.item_type)
    return _is_list(found) and _is_list(wanted) and _is_lossless(found.value_type, wanted.value_type)


def _is_list(type: pa.DataType) -> bool:
    kinds = pa.types
    return kinds.is_list(type) or kinds.is_large_list(type) or kinds.is_fixed_size_list(type)


def _infinite_count(array: pa.Array) -> int:
    """How many numbers of the array, at any depth, are infinite."""
    if pa.types.is_floating(array.type):
        return pc.sum(pc.is_inf(array)).as_py() or 0
    return sum(map(_infinite_count, _children(array))) if pa.types.is_nested(array.type) else 0


def _children(array: pa.Array) -> list[pa.Array]:
    """The values inside of the nested values that are not null: of a list one array, of a map keys and values."""
    array = array.drop_null() if array.null_count else array
    if pa.types.is_map(array.type):
        first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
        return [child.slice(first, last - first) for child in (array.keys, array.items)]
    return list(array.flatten()) if pa.types.is_struct(array.type) else [pc.list_flatten(array)]


def _check_values(array: pa.Array, type: t.DataType, name: str) -> None:
    """Raise unless the values at every depth are there where they must be, and none is too long."""
    if not type.nullable and array.null_count:
        raise InvalidInputError(f"column '{name}' is NOT NULL, found {array.null_count} nulls")
    match type:
        case t.Array(element=element) | t.Vector(element=element):
            inside = {"element": element}
        case t.Map(key=key, value=value):
            inside = {"key": key, "value": value}
        case t.Row(fields=fields):
            inside = {field.name: field.type for field in fields}
        case _:
            _check_length(array, type, name)
            return
    for child, (part, inner) in zip(_children(array), inside.items(), strict=True):
        _check_values(child, inner, f"{name}.{part}")


def _check_length(array: pa.Array, type: t.DataType, name: str) -> None:
    match type:
        case t.Char(length=length) | t.VarChar(length=length) if length < t.MAX_LENGTH:
            longest = pc.max(pc.utf8_length(array)).as_py() or 0
        case t.Binary(length=length) | t.VarBinary(length=length) if length < t.MAX_LENGTH:
            longest = pc.max(pc.binary_length(array)).as_py() or 0
        case _:
            return
    if longest > length:
        raise InvalidInputError(f"column '{name}': expected at most {length} characters or bytes, found {longest}")
