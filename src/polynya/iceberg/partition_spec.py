"""Partition specs, and the transforms that make partition values of column values.

| transform | of | result |
|---|---|---|
| identity | any value | the value |
| bucket[N] | all but boolean, float, double | int: murmur3 without its sign bit, modulo N |
| truncate[W] | int, long, decimal; string; binary | down to a multiple of W; W code points; W bytes |
| year, month | date, timestamps | int since 1970 |
| day | date, timestamps | date |
| hour | timestamps | int since 1970 |
| void | any value | null |

Null stays null. A transform of another name is kept as it is and gives no values.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec.json_text import Json, JsonObject
from polynya.codec.murmur_bytes import hash_longs, hash_values
from polynya.errors import UnsupportedError
from polynya.iceberg import bounds

FIRST_FIELD_ID = 1000
_WITH_NUMBER = re.compile(r"(bucket|truncate)\[\s*(\d{1,9})\s*\]")
_UNITS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_SECONDS = {"day": 86_400, "hour": 3_600}
_KNOWN = ("identity", "bucket", "truncate", "year", "month", "day", "hour", "void")


@dataclass(frozen=True)
class PartitionField:
    """One value of a partition tuple: where it comes from, its own id and name, and the transform as written."""

    source_ids: tuple[int, ...]
    field_id: int
    name: str
    transform: str

    @property
    def source_id(self) -> int:
        """The column, for transforms of one."""
        return self.source_ids[0]


@dataclass(frozen=True)
class PartitionSpec:
    """One way in which a table is, or was, partitioned."""

    spec_id: int
    fields: tuple[PartitionField, ...] = ()

    @cached_property
    def field_ids(self) -> tuple[int, ...]:
        """The ids of the fields in order."""
        return tuple(field.field_id for field in self.fields)


def from_json(found: JsonObject) -> PartitionSpec:
    """The spec that the object holds."""
    return PartitionSpec(found.integer("spec-id"), fields_from_json(found.objects("fields")))


def fields_from_json(found: Sequence[JsonObject]) -> tuple[PartitionField, ...]:
    """The fields of a spec; ids that the oldest tables lack are counted from 1000."""
    return tuple(_field(one, FIRST_FIELD_ID + place) for place, one in enumerate(found))


def to_json(spec: PartitionSpec) -> dict[str, Json]:
    """The spec as an object."""
    return {"spec-id": spec.spec_id, "fields": fields_to_json(spec.fields)}


def fields_to_json(fields: Sequence[PartitionField]) -> list[Json]:
    """The fields alone, as manifests carry them."""
    return [_field_json(field) for field in fields]


def is_known(transform: str) -> bool:
    """Whether values of the transform can be computed and compared."""
    name, number = parse(transform)
    return name in _KNOWN and (number > 0) == (name in ("bucket", "truncate"))


def parse(transform: str) -> tuple[str, int]:
    """The name of a transform and its number, 0 for those that have none."""
    match = _WITH_NUMBER.fullmatch(transform)
    if match and int(match[2]):
        return match[1], int(match[2])
    return transform, 0


def result_type(transform: str, source: pa.DataType) -> pa.DataType:
    """The type of what the transform makes of values of the source type."""
    name, _ = parse(transform)
    if name in ("bucket", "year", "month", "hour"):
        return pa.int32()
    return pa.date32() if name == "day" else source


def apply(transform: str, values: pa.Array) -> pa.Array:
    """What the transform makes of each value; UnsupportedError for a transform of another name or of such values."""
    name, number = parse(transform)
    match name:
        case "identity":
            return values
        case "void":
            return pa.nulls(len(values), values.type)
        case "bucket":
            hashes = _hashes(values) & np.int32(2**31 - 1)
            return pa.array(hashes % np.int32(number), mask=_is_null(values))
        case "truncate":
            return _truncated(values, number)
        case "year" | "month":
            since = _days(values).astype("M8[D]").astype(f"M8[{name[0].upper()}]").astype(np.int64)
            return pa.array(since.astype(np.int32), mask=_is_null(values))
        case "day":
            return pa.array(_days(values).astype(np.int32), pa.int32(), mask=_is_null(values)).cast(pa.date32())
        case "hour":
            return pa.array(_since(values, "hour").astype(np.int32), mask=_is_null(values))
        case _:
            raise UnsupportedError(f"partition transform '{transform}' is not supported")


def _field(found: JsonObject, usual_id: int) -> PartitionField:
    sources = found.members.get("source-ids")
    if sources is None:
        source_ids: tuple[int, ...] = (found.integer("source-id"),)
    else:
        source_ids = tuple(one for one in found.list("source-ids") if isinstance(one, int))
        if not source_ids or len(source_ids) != len(found.list("source-ids")):
            found.refuse("source-ids", "an array of column ids")
    field_id = found.find_int("field-id")
    name, transform = found.text("name"), found.text("transform")
    return PartitionField(source_ids, usual_id if field_id is None else field_id, name, transform)


def _field_json(field: PartitionField) -> Json:
    one = len(field.source_ids) == 1
    sources: dict[str, Json] = {"source-id": field.source_id} if one else {"source-ids": field.source_ids}
    return {"name": field.name, "transform": field.transform, **sources, "field-id": field.field_id}


def _hashes(values: pa.Array) -> npt.NDArray[np.int32]:
    type = values.type
    if pa.types.is_decimal(type):
        return hash_values(bounds.encode(values))
    if pa.types.is_string(type) or pa.types.is_binary(type) or pa.types.is_fixed_size_binary(type):
        return hash_values(values.cast(pa.binary()))
    if pa.types.is_timestamp(type):
        return hash_longs(_numbers(values) // (_UNITS_PER_SECOND[type.unit] // _UNITS_PER_SECOND["us"]))
    if pa.types.is_integer(type) or pa.types.is_date32(type) or pa.types.is_time64(type):
        return hash_longs(_numbers(values))
    raise UnsupportedError(f"partition transform 'bucket': values of type {type} have no bucket")


def _truncated(values: pa.Array, width: int) -> pa.Array:
    type = values.type
    if pa.types.is_string(type):
        return pc.utf8_slice_codeunits(values, 0, width)
    if pa.types.is_binary(type):
        return pc.binary_slice(values, 0, width)
    if pa.types.is_integer(type):
        numbers = _numbers(values)
        return pa.array((numbers - numbers % width).astype(type.to_pandas_dtype()), type, mask=_is_null(values))
    if pa.types.is_decimal(type):
        # Decimals of more than 18 digits fit no numpy number; partition literals are few.
        unit = values.type.scale
        unscaled = [None if one is None else int(one.scaleb(unit)) for one in values.to_pylist()]
        kept = [None if one is None else (one - one % width).to_bytes(16, "big", signed=True) for one in unscaled]
        return bounds.decode(pa.array(kept, pa.binary()), type, name="partition value")
    raise UnsupportedError(f"partition transform 'truncate': values of type {type} cannot be cut")


def _days(values: pa.Array) -> npt.NDArray[np.int64]:
    return _numbers(values) if pa.types.is_date32(values.type) else _since(values, "day")


def _since(values: pa.Array, unit: str) -> npt.NDArray[np.int64]:
    if not pa.types.is_timestamp(values.type):
        raise UnsupportedError(f"partition transform '{unit}': values of type {values.type} have no {unit}")
    return _numbers(values) // (_SECONDS[unit] * _UNITS_PER_SECOND[values.type.unit])


def _numbers(values: pa.Array) -> npt.NDArray[np.int64]:
    """The stored numbers as 64 bits, 0 for null."""
    width = pa.int32() if values.type.bit_width == 32 else pa.int64()
    numbers = values if pa.types.is_integer(values.type) else values.view(width)
    return pc.fill_null(numbers.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)


def _is_null(values: pa.Array) -> npt.NDArray[np.bool_]:
    return values.is_null().to_numpy(zero_copy_only=False)
