"""Nested Arrow arrays with other children: the shape (offsets, nulls) is kept, only what is inside changes."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def with_values(array: pa.ListArray, target: pa.ListType, values: pa.Array) -> pa.ListArray:
    """The list with other values; `values` replaces `array.values` one for one."""
    return _with_child(array, target, values)


def with_entries(array: pa.Array, target: pa.MapType, keys: pa.Array, items: pa.Array) -> pa.MapArray:
    """The map (or list of entries) with other keys and items, which replace the old ones one for one."""
    entries = pa.StructArray.from_arrays([keys, items], fields=[target.key_field, target.item_field])
    return _with_child(array, target, entries)


def with_members(array: pa.StructArray, fields: Sequence[pa.Field], members: Sequence[pa.Array]) -> pa.StructArray:
    """A struct of other members that is null where the array is."""
    mask = pc.is_null(array) if array.null_count else None
    return pa.StructArray.from_arrays(members, fields=list(fields), mask=mask)


def fill_null_rows(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """The array with some value in each member that must not be null, where the ROW around it is null.

    Nobody sees that value; writers want one all the same, and Spark and Arrow themselves leave it null.
    """
    if pa.types.is_struct(array.type) and pa.types.is_struct(wanted):
        array = _fill_rows(array, wanted)
        members = [
            fill_null_rows(array.field(at), wanted.field(field.name).type)
            if field.name in wanted.names
            else array.field(at)
            for at, field in enumerate(array.type)
        ]
        return with_members(array, list(array.type), members)
    if pa.types.is_list(array.type) and pa.types.is_list(wanted) and pa.types.is_nested(wanted.value_type):
        return with_values(array, array.type, fill_null_rows(array.values, wanted.value_type))
    if pa.types.is_map(array.type) and pa.types.is_map(wanted) and pa.types.is_nested(wanted.item_type):
        return with_entries(array, array.type, array.keys, fill_null_rows(array.items, wanted.item_type))
    return array


def _fill_rows(array: pa.StructArray, wanted: pa.StructType) -> pa.StructArray:
    if not array.null_count or all(field.nullable for field in wanted):
        return array
    is_null = pc.is_null(array).to_numpy(zero_copy_only=False)
    if is_null.all():
        return pa.array([None] * len(array), array.type)  # built one by one, null rows have values inside
    other = pa.array(np.where(is_null, np.argmin(is_null), np.arange(len(array))))
    return with_members(array, list(array.type), [array.field(at).take(other) for at in range(array.type.num_fields)])


def with_null_members(array: pa.Array) -> pa.Array:
    """The array with null members in every null ROW at any depth: Arrow's ORC writer shifts values that stand there."""
    if pa.types.is_struct(array.type):
        return with_members(array, list(array.type), [with_null_members(member) for member in array.flatten()])
    if pa.types.is_list(array.type) and pa.types.is_nested(array.type.value_type):
        return with_values(array, array.type, with_null_members(array.values))
    if pa.types.is_map(array.type) and pa.types.is_nested(array.type.item_type):
        return with_entries(array, array.type, array.keys, with_null_members(array.items))
    return array


def without_offsets(array: pa.Array) -> pa.Array:
    """The array, if nested, as a copy that no slice stands in: Arrow's ORC writer shifts members of ROWs in slices."""
    return pa.concat_arrays([array, array.slice(0, 0)]) if pa.types.is_nested(array.type) else array


def _with_child(array: pa.Array, target: pa.DataType, child: pa.Array) -> pa.Array:
    return pa.Array.from_buffers(target, len(array), array.buffers()[:2], array.null_count, array.offset, [child])
