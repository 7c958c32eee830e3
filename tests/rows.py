"""Arrow rows as the JSON values in which Java's rows are kept; `tests/golden/README.md`, "Values", says how each looks.

Compare `render_rows(table, fields) == sorted_rows(expected["rows"])`: both sides have one order and one spelling.
"""

import hashlib
import itertools
import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polynya.model import types as t


def render_rows(table: pa.Table, fields: Sequence[t.Field]) -> list[list[Any]]:
    """The rows of the columns `fields`, in that order of columns, sorted by their JSON text."""
    columns = [_values(_one_array(table.column(field.name)), field.type) for field in fields]
    return sorted((list(row) for row in zip(*columns, strict=True)), key=_json_order)


def sorted_rows(rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
    """Rows that came as JSON, in the order of `render_rows`; the readable text of a VARIANT is left out."""
    return sorted((_without_variant_text(row) for row in rows), key=_json_order)


def rows_digest(rows: Iterable[Sequence[Any]]) -> str:
    """The `rowsSha256` that stands for long row lists in the golden expectations."""
    return hashlib.sha256("\n".join(map(_json_text, rows)).encode()).hexdigest()


def _json_text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _json_order(value: Any) -> bytes:
    return _json_text(value).encode("utf-16-be")  # Java compares text by its UTF-16 units


def _without_variant_text(value: Any) -> Any:
    if isinstance(value, dict):
        return {"value": value["value"], "metadata": value["metadata"]}
    return [_without_variant_text(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):  # what pyarrow gives for a column without chunks
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], column.type)
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _values(array: pa.Array, type: t.DataType) -> list[Any]:
    match type:
        case t.Array(element=element) | t.Vector(element=element):
            return _lists(array, element)
        case t.Multiset(element=element):
            return _maps(array, element, t.Int())
        case t.Map(key=key, value=value):
            return _maps(array, key, value)
        case t.Row(fields=fields):
            members = [_values(inner, field.type) for inner, field in zip(array.flatten(), fields, strict=True)]
            return _present(array, [list(row) for row in zip(*members, strict=True)] or [[] for _ in array])
        case t.Variant():
            return [
                value and {name: value[name].hex() for name in ("value", "metadata")} for value in array.to_pylist()
            ]
        case t.Timestamp(precision=precision):
            return _times(array, precision, "")
        case t.LocalTimestamp(precision=precision):
            return _times(array, precision, "Z")
        case _:
            return [None if value is None else _scalar(value, type) for value in _plain(array, type)]


def _plain(array: pa.Array, type: t.DataType) -> list[Any]:
    """Python values of simple types; dates and times as numbers, which know no first or last year."""
    if isinstance(type, t.TimeMicros):
        return array.cast(pa.int64()).to_pylist()
    return array.cast(pa.int32()).to_pylist() if isinstance(type, (t.Date, t.Time)) else array.to_pylist()


def _scalar(value: Any, type: t.DataType) -> Any:
    match type:
        case t.Float() | t.Double():
            if not math.isfinite(value):
                return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
            return float(str(np.float32(value))) if isinstance(type, t.Float) else value
        case t.Decimal():
            return format(value, "f")
        case t.Binary() | t.VarBinary() | t.Blob() | t.Geometry() | t.Geography():
            return value.hex()
        case t.Date():
            return str(np.datetime64(value, "D"))
        case t.TimeMicros():
            return str(np.datetime64(value, "us")).partition("T")[2]
        case t.Time():
            return str(np.datetime64(value, "ms")).partition("T")[2]
        case _:
            return value


def _times(array: pa.Array, precision: int, zone: str) -> list[str | None]:
    unit = array.type.unit
    return [
        None if value is None else _time_text(np.datetime64(value, unit).astype(str), precision) + zone
        for value in array.cast(pa.int64()).to_pylist()
    ]


def _time_text(iso: str, precision: int) -> str:
    whole, _, fraction = iso.replace("T", " ").partition(".")
    return f"{whole}.{fraction.ljust(precision, '0')[:precision]}" if precision else whole


def _lists(array: pa.Array, element: t.DataType) -> list[list[Any] | None]:
    values = iter(_values(array.flatten(), element))
    lengths = pc.list_value_length(array).to_pylist()
    return [None if length is None else [next(values) for _ in range(length)] for length in lengths]


def _maps(array: pa.Array, key: t.DataType, value: t.DataType) -> list[list[Any] | None]:
    pairs = [list(pair) for pair in zip(_values(array.keys, key), _values(array.items, value), strict=True)]
    ends = array.offsets.to_pylist()
    return _present(array, [sorted(pairs[start:end], key=_json_order) for start, end in itertools.pairwise(ends)])


def _present(array: pa.Array, values: list[Any]) -> list[Any]:
    return [value if valid else None for value, valid in zip(values, array.is_valid().to_pylist(), strict=True)]
