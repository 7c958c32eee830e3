"""Nested Arrow arrays with other children: the shape (offsets, nulls) is kept, only what is inside changes."""

from collections.abc import Sequence

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


def _with_child(array: pa.Array, target: pa.DataType, child: pa.Array) -> pa.Array:
    return pa.Array.from_buffers(target, len(array), array.buffers()[:2], array.null_count, array.offset, [child])
