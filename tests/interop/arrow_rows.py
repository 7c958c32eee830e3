"""Rows in the JSON values of `tests/rows.py` as Arrow tables: the way back of `render_rows`."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from polynya.model import types as t
from polynya.model.arrow_types import timestamp_unit, to_arrow_field


def arrow_rows(rows: Iterable[Sequence[Any]], fields: Sequence[t.Field]) -> pa.Table:
    """The rows, a value for each of `fields`."""
    columns = list(zip(*rows, strict=True)) or [()] * len(fields)
    arrays = [
        pa.array([_value(value, field.type) for value in column], to_arrow_field(field).type)
        for column, field in zip(columns, fields, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=pa.schema([to_arrow_field(field) for field in fields]))


def _value(value: Any, type: t.DataType) -> Any:
    if value is None:
        return None
    match type:
        case t.Array(element=element) | t.Vector(element=element):
            return [_value(inner, element) for inner in value]
        case t.Multiset(element=element):
            return [(_value(key, element), count) for key, count in value]
        case t.Map(key=key_type, value=value_type):
            return [(_value(key, key_type), _value(inner, value_type)) for key, inner in value]
        case t.Row(fields=fields):
            return {field.name: _value(inner, field.type) for field, inner in zip(fields, value, strict=True)}
        case t.Variant():
            return {name: bytes.fromhex(value[name]) for name in ("value", "metadata")}
        case _:
            return _scalar(value, type)


def _scalar(value: Any, type: t.DataType) -> Any:
    match type:
        case t.Float() | t.Double():
            return float(value)
        case t.Decimal():
            return Decimal(value)
        case t.Binary() | t.VarBinary() | t.Blob():
            return bytes.fromhex(value)
        case t.Date():
            return int(np.datetime64(value, "D").astype(np.int64))
        case t.Time():
            return int(np.datetime64(f"1970-01-01T{value}", "ms").astype(np.int64))
        case t.Timestamp(precision=precision) | t.LocalTimestamp(precision=precision):
            text = value.removesuffix("Z").replace(" ", "T")
            return int(np.datetime64(text, timestamp_unit(precision)).astype(np.int64))
        case _:
            return value
