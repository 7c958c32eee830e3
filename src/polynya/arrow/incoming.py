"""Rows that a caller hands in, brought to the columns of the table or refused.

Columns are matched by name. A missing column is null where it may be, and then takes its default. A column of another
type is cast where no value can change; anything else is an InvalidInputError before a byte is written.
"""

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

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
    array = pa.nulls(batch.num_rows, wanted) if index < 0 else _cast(batch.column(index), wanted, field)
    if not field.type.nullable and array.null_count:
        raise InvalidInputError(f"column '{field.name}' is NOT NULL, found {array.null_count} nulls")
    if field.default is not None and array.null_count:
        array = pc.fill_null(array, value_text.parse(field.default, field.type))
    _check_length(array, field)
    return array


def _cast(array: pa.Array, wanted: pa.DataType, field: t.Field) -> pa.Array:
    if array.type == wanted:
        return array
    if not _is_lossless(array.type, wanted):
        raise InvalidInputError(
            f"column '{field.name}': expected {wanted}, found {array.type}, whose values may not fit; cast the column"
        )
    try:
        return array.cast(wanted, safe=True)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InvalidInputError(f"column '{field.name}': {array.type} does not fit {wanted}: {error}") from error


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
    for family in (_is_text, _is_bytes, kinds.is_nested, kinds.is_time, kinds.is_date, kinds.is_boolean):
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


def _check_length(array: pa.Array, field: t.Field) -> None:
    match field.type:
        case t.Char(length=length) | t.VarChar(length=length) if length < t.MAX_LENGTH:
            longest = pc.max(pc.utf8_length(array)).as_py() or 0
        case t.Binary(length=length) | t.VarBinary(length=length) if length < t.MAX_LENGTH:
            longest = pc.max(pc.binary_length(array)).as_py() or 0
        case _:
            return
    if longest > length:
        raise InvalidInputError(
            f"column '{field.name}': expected at most {length} characters or bytes, found {longest}"
        )
