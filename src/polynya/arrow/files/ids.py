"""Field ids as they stand inside Parquet and ORC files, for readers that match columns by id.

A column and a ROW member carry their own id. The unnamed parts of a container that belongs to the field with id F get
ids from F and their depth d (1 for the outermost container of the field):

| part | id |
|---|---|
| array element, map value | 536870911 + 1024 F + d |
| map key | 536870911 - 1024 F - d |
| value and metadata of a VARIANT | 0 and 1 |
"""

import pyarrow as pa

from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_type

PARQUET_ID = "PARQUET:field_id"
ORC_ID = "paimon.id"
_BASE = (2**31 - 1) // 4
_SPAN = 1024


def schema_with_ids(fields: tuple[t.Field, ...], key: str) -> pa.Schema:
    """The Arrow schema of the fields with ids under the metadata key, at every level."""
    return pa.schema([_with_id(field, key) for field in fields])


def _with_id(field: t.Field, key: str) -> pa.Field:
    return pa.field(field.name, _type(field.type, field.id, 1, key), field.type.nullable, {key: str(field.id)})


def _type(type: t.DataType, owner: int, depth: int, key: str) -> pa.DataType:
    match type:
        case t.Array(element=element) | t.Vector(element=element):
            return pa.list_(_part("element", element, owner, depth, key))
        case t.Map(key=map_key, value=value):
            return pa.map_(_key(map_key, owner, depth, key), _part("value", value, owner, depth, key))
        case t.Multiset(element=element):
            return pa.map_(_key(element, owner, depth, key), _part("value", t.Int(nullable=False), owner, depth, key))
        case t.Row(fields=fields):
            return pa.struct([_with_id(field, key) for field in fields])
        case t.Variant():
            return pa.struct([part.with_metadata({key: str(i)}) for i, part in enumerate(to_arrow_type(type))])
        case _:
            return to_arrow_type(type)


def _part(name: str, type: t.DataType, owner: int, depth: int, key: str) -> pa.Field:
    own = _int32(_BASE + _SPAN * owner + depth)
    return pa.field(name, _type(type, owner, depth + 1, key), type.nullable, {key: str(own)})


def _key(type: t.DataType, owner: int, depth: int, key: str) -> pa.Field:
    own = _int32(_BASE - _SPAN * owner - depth)
    return pa.field("key", _type(type, owner, depth + 1, key), False, {key: str(own)})


def _int32(value: int) -> int:
    """The id as 32 bits hold it."""
    return (value + 2**31) % 2**32 - 2**31
