"""The leaf columns of a Parquet file, which its footer and its pages are counted by.

Names may hold dots, so leaves are counted along the Arrow schema of the file, not named.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from polynya.model import types as t
from polynya.model.predicate import Path


@dataclass(frozen=True)
class Leaf:
    """A column of the file that holds one value per row: its number, its type there and in the schema."""

    index: int
    stored: pa.DataType
    type: t.DataType


def find_leaf(file: pq.ParquetFile, path: Path, fields: Sequence[t.Field]) -> Leaf | None:
    """The leaf of a simple column or member of a ROW; None for what the file lacks or holds in another shape."""
    found, wanted, first = list(file.schema_arrow), fields, 0
    for depth, name in enumerate(path):
        position = next((at for at, field in enumerate(found) if field.name == name), None)
        field = next((field for field in wanted if field.name == name), None)
        if position is None or field is None:
            return None
        first += sum(_leaf_count(before.type) for before in found[:position])
        stored = found[position].type
        if depth + 1 == len(path):
            return None if t.is_nested(field.type) or stored.num_fields else Leaf(first, stored, field.type)
        if not isinstance(field.type, t.Row) or not pa.types.is_struct(stored):
            return None
        found, wanted = list(stored), field.type.fields
    return None


def leaves_of(file: pq.ParquetFile, columns: tuple[t.Field, ...]) -> list[int]:
    """The leaves that hold what is asked for."""
    return list(_walk(list(file.schema_arrow), columns, 0))


def _walk(found: list[pa.Field], wanted: tuple[t.Field, ...], first: int) -> Iterator[int]:
    types = {field.name: field.type for field in wanted}
    for field in found:
        if field.name in types:
            yield from _leaves(field.type, types[field.name], first)
        first += _leaf_count(field.type)


def _leaves(found: pa.DataType, type: t.DataType, first: int) -> Iterator[int]:
    if isinstance(type, t.Row) and pa.types.is_struct(found):
        yield from _walk(list(found), type.fields, first)
    elif isinstance(type, t.Array) and pa.types.is_list(found):
        yield from _leaves(found.value_type, type.element, first)
    elif isinstance(type, t.Map) and pa.types.is_map(found):
        yield from _leaves(found.key_type, type.key, first)
        yield from _leaves(found.item_type, type.value, first + _leaf_count(found.key_type))
    else:
        yield from range(first, first + _leaf_count(found))


def _leaf_count(type: pa.DataType) -> int:
    if pa.types.is_map(type):
        return _leaf_count(type.key_type) + _leaf_count(type.item_type)
    if pa.types.is_struct(type):
        return sum(_leaf_count(field.type) for field in type)
    if pa.types.is_list(type) or pa.types.is_large_list(type) or pa.types.is_fixed_size_list(type):
        return _leaf_count(type.value_type)
    return 1
