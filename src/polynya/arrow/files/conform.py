"""From what a file's library returns to the Arrow types of the model.

The three formats differ in how they hold a value (TIME as a plain int, a MAP as a list of records, swapped time zones,
wider integers, other names of list children). `conform` turns all of them into `model.arrow_types`; a column that
cannot be what the schema says is a damaged file. Nested arrays keep their buffers; only leaves are converted.
"""

from collections.abc import Callable

import pyarrow as pa

from polynya.arrow.nested import with_entries, with_members, with_values
from polynya.errors import CorruptFileError, UnsupportedError
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_field, to_arrow_type

_INTEGERS = (t.TinyInt, t.SmallInt, t.Int, t.BigInt)
_TEXT = (t.Char, t.VarChar)
_BYTES = (t.Binary, t.VarBinary, t.Blob, t.Geometry, t.Geography)


Leaf = Callable[[pa.Array, t.DataType], pa.Array]
"""What a format has to do to the values of a simple type before their Arrow type is looked at."""


def conform(array: pa.Array, type: t.DataType, column: str, leaf: Leaf | None = None) -> pa.Array:
    """The array with the Arrow type of `type`; `column` names it (file and path) in a CorruptFileError."""
    target = to_arrow_type(type)
    if array.type == target and leaf is None:
        return array
    if isinstance(array, pa.DictionaryArray):
        return conform(array.dictionary_decode(), type, column, leaf)
    if isinstance(array, pa.ExtensionArray):  # such as Arrow's UUID
        return conform(array.storage, type, column, leaf)
    if isinstance(array, pa.NullArray):
        return pa.nulls(len(array), target)
    match type:
        case t.Row(fields=fields):
            return _row(array, fields, column, leaf)
        case t.Variant():
            return _variant(array, column)
        case t.Array(element=element) | t.Vector(element=element):
            return _list(array, element, target, column, leaf)
        case t.Map(key=key, value=value):
            return _map(array, (key, value), target, column, leaf)
        case t.Multiset(element=element):
            return _map(array, (element, t.Int(nullable=False)), target, column, leaf)
        case _:
            return _leaf(array if leaf is None else leaf(array, type), type, target, column)


def _mismatch(array: pa.Array, expected: object, column: str) -> CorruptFileError:
    return CorruptFileError(f"{column}: expected {expected}, found {array.type}; the file does not fit its schema id")


def _leaf(array: pa.Array, type: t.DataType, target: pa.DataType, column: str) -> pa.Array:
    if array.type == target:
        return array
    if not _may_be(array.type, type):
        raise _mismatch(array, target, column)
    try:
        if pa.types.is_timestamp(target):
            # the zone of a stored timestamp says nothing: the schema does
            naive = array.view(pa.timestamp(array.type.unit))
            return naive.cast(pa.timestamp(target.unit), safe=target.unit == "ns").view(target)
        if isinstance(type, t.TimeMicros):
            return array.cast(target)
        if isinstance(type, t.Time):
            return array.cast(pa.int32()).view(target)
        return array.cast(target)
    except pa.ArrowInvalid as error:
        if pa.types.is_timestamp(target):
            raise UnsupportedError(f"{column}: a timestamp outside the years 1677 to 2262 of {target}") from error
        raise CorruptFileError(f"{column}: expected {target}, found {array.type}: {error}") from error


def _may_be(found: pa.DataType, type: t.DataType) -> bool:
    is_ = pa.types
    if isinstance(type, _INTEGERS):
        return bool(is_.is_signed_integer(found))
    if isinstance(type, (*_TEXT, *_BYTES)):
        return bool(
            is_.is_string(found)
            or is_.is_large_string(found)
            or is_.is_string_view(found)
            or is_.is_binary(found)
            or is_.is_large_binary(found)
            or is_.is_binary_view(found)
            or is_.is_fixed_size_binary(found)
        )
    if isinstance(type, t.Decimal):
        return bool(is_.is_decimal(found)) and found.scale == type.scale
    if isinstance(type, (t.Timestamp, t.LocalTimestamp)):
        return bool(is_.is_timestamp(found))
    if isinstance(type, t.TimeMicros):
        return bool(is_.is_time(found)) or found == pa.int64()
    if isinstance(type, t.Time):
        return bool(is_.is_time32(found) and found.unit == "ms") or found == pa.int32()
    return bool(found == to_arrow_type(type))


def _row(array: pa.Array, fields: tuple[t.Field, ...], column: str, leaf: Leaf | None) -> pa.Array:
    if not pa.types.is_struct(array.type):
        raise _mismatch(array, "a struct", column)
    members = []
    for field in fields:
        index = array.type.get_field_index(field.name)
        if index < 0:
            raise _mismatch(array, f"a struct with member '{field.name}'", column)
        members.append(conform(array.field(index), field.type, f"{column}.{field.name}", leaf))
    return with_members(array, [to_arrow_field(field) for field in fields], members)


def _variant(array: pa.Array, column: str) -> pa.Array:
    if not pa.types.is_struct(array.type):
        raise _mismatch(array, "a struct of value and metadata", column)
    if array.type.get_field_index("typed_value") >= 0:
        raise UnsupportedError(
            f"{column}: a shredded VARIANT (it has typed_value) is not read; rewrite the file without"
        )
    parts = (t.Field(0, "value", t.VarBinary(nullable=False)), t.Field(1, "metadata", t.VarBinary(nullable=False)))
    return _row(array, parts, column, None)


def _list(array: pa.Array, element: t.DataType, target: pa.DataType, column: str, leaf: Leaf | None) -> pa.Array:
    array = _plain_list(array, column)
    values = conform(array.values, element, f"{column}.element", leaf)
    return with_values(array, target, values)


def _map(
    array: pa.Array, inner: tuple[t.DataType, t.DataType], target: pa.DataType, column: str, leaf: Leaf | None
) -> pa.Array:
    if pa.types.is_map(array.type):
        keys, items = array.keys, array.items
    else:
        array = _plain_list(array, column)
        if not (pa.types.is_struct(array.type.value_type) and array.type.value_type.num_fields == 2):
            raise _mismatch(array, "a map", column)
        keys, items = array.values.flatten()
    keys = conform(keys, inner[0], f"{column}.key", leaf)
    items = conform(items, inner[1], f"{column}.value", leaf)
    return with_entries(array, target, keys, items)


def _plain_list(array: pa.Array, column: str) -> pa.Array:
    if pa.types.is_list(array.type):
        return array
    if pa.types.is_large_list(array.type) or pa.types.is_fixed_size_list(array.type):
        return array.cast(pa.list_(array.type.value_field))
    raise _mismatch(array, "a list", column)
