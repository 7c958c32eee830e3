"""Partition values as Iceberg's metadata tables print them.

| transform | text |
|---|---|
| year, month, day, hour | 2024; 2024-01; 2024-01-31; 2024-01-31-22 |
| others, of booleans, numbers, decimals, texts | as they are |
| dates, times, timestamps | 2024-01-31; 22:31:08.500; 2024-01-31T22:31:08.5, with +00:00 where they are instants |
| uuid; fixed and binary | f79c3e09-...; base64 |
| null | null |
"""

import base64
import uuid
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from polynya.codec.json_text import Json
from polynya.iceberg.partition_spec import PartitionField
from polynya.model.value_text import render_float

_TIMES = {"year": "Y", "month": "M", "day": "D", "hour": "h"}


def texts_of(values: pa.Array, field: PartitionField, types: Mapping[int, Json]) -> pa.Array:
    """The text of each value of a partition field; `types` are those of columns by id, as JSON has them."""
    source = types.get(field.source_id)
    texts = ["null" if one is None else _text(one, field.transform, source) for one in _plain(values)]
    return pa.array(texts, pa.string())


def _plain(values: pa.Array) -> list[object]:
    """Python values, moments as numbers of their unit: Python's own end before the format's do."""
    type = values.type
    if pa.types.is_date32(type):
        return values.cast(pa.int32()).to_pylist()
    if pa.types.is_timestamp(type):
        return [None if one is None else np.datetime64(one, type.unit) for one in values.cast(pa.int64()).to_pylist()]
    if pa.types.is_time64(type):
        return [None if one is None else np.datetime64(one, "us") for one in values.cast(pa.int64()).to_pylist()]
    if pa.types.is_float32(type):
        return [None if one is None else np.float32(one) for one in values.to_pylist()]
    return values.to_pylist()


def _text(value: object, transform: str, source: Json) -> str:
    if transform in _TIMES:
        assert isinstance(value, int)
        text = str(np.datetime64(value, _TIMES[transform]))  # type: ignore[call-overload]  # the unit is a variable
        return text.replace("T", "-")
    match value:
        case bool():
            return "true" if value else "false"
        case float() | np.floating():
            return render_float(value)
        case bytes():
            return str(uuid.UUID(bytes=value)) if source == "uuid" else base64.b64encode(value).decode()
        case np.datetime64():
            return _moment(value, str(source))
        case int() if source == "date" and transform == "identity":
            return str(np.datetime64(value, "D"))
        case _:
            return str(value)


def _moment(value: np.datetime64, source: str) -> str:
    whole, _, fraction = str(value).partition(".")
    digits = fraction.rstrip("0")
    if source == "time":
        return _clock(whole.partition("T")[2], digits)
    shown = f"{whole}.{digits}" if digits else whole
    return f"{shown}+00:00" if source.startswith("timestamptz") else shown


def _clock(text: str, digits: str) -> str:
    """A time of day, without seconds where there are none, else with three or six digits of them."""
    if digits:
        return f"{text}.{digits.ljust(3 if len(digits) <= 3 else 6, '0')}"
    return text.removesuffix(":00")
