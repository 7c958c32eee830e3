"""Reading and writing ORC data files.

A stripe is the unit of reading. Values differ from the schema's in four ways: TIME is a plain int, CHAR is padded with
blanks, every timestamp comes in nanoseconds, and TIMESTAMP WITH LOCAL TIME ZONE is by default
(`orc.timestamp-ltz.legacy.type`) stored as if its UTC wall clock were the local time of the writer. As the file does
not tell the writer's zone, the zone of this process is taken for it, as Paimon takes the zone of its own process.
"""

import os
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import orc

from polynya.arrow.batches import make_batch
from polynya.arrow.blob_file import open_blob
from polynya.arrow.bounds import Collector, Nan
from polynya.arrow.files.conform import conform
from polynya.arrow.files.damage import naming_damage, require_own_columns
from polynya.arrow.files.ids import ORC_ID, schema_with_ids
from polynya.arrow.files.orc_times import read_timestamps
from polynya.arrow.files.protocol import PositionedBatch, WrittenFile
from polynya.arrow.files.sink import CountingSink
from polynya.arrow.nested import with_null_members, without_offsets
from polynya.errors import UnsupportedError
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_type
from polynya.model.options_data import (
    FILE_BLOCK_SIZE,
    ORC_COMPRESS,
    ORC_COMPRESSION_ZSTD_LEVEL,
    ORC_STRIPE_SIZE,
    ORC_TIMESTAMP_LTZ_LEGACY_TYPE,
)
from polynya.storage.protocol import Storage

_CODECS = {"zstd": "zstd", "snappy": "snappy", "zlib": "zlib", "lz4": "lz4", "none": "uncompressed"}
_STRIPE_BYTES = 64 * 1024 * 1024
_OUT_OF_RANGE = "out of range for nanosecond"
_PER_SECOND = {"ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def read(
    storage: Storage,
    name: str,
    *,
    file_fields: tuple[t.Field, ...],
    columns: tuple[t.Field, ...],
    batch_rows: int,
    options: Mapping[str, str],
) -> Iterator[PositionedBatch]:
    """Yield the columns' rows, in order, stripe by stripe; CorruptFileError names the file."""
    zone = _legacy_zone(options)
    with naming_damage(name, "ORC"), open_blob(storage, name) as source:
        file = orc.ORCFile(source)
        require_own_columns(file.schema.names, file_fields, name)
        first_row = 0
        for stripe in range(file.nstripes):
            whole = _read_stripe(storage, name, file, stripe, columns)
            for start in range(0, whole.num_rows, batch_rows):
                part = whole.slice(start, batch_rows)
                arrays = [_column(part, field, name, zone) for field in columns]
                yield PositionedBatch(first_row, make_batch(arrays, columns, part.num_rows))
                first_row += part.num_rows


def row_count(storage: Storage, name: str) -> int:
    """The number of rows the footer tells."""
    with naming_damage(name, "ORC"), open_blob(storage, name) as source:
        return int(orc.ORCFile(source).nrows)


def _read_stripe(
    storage: Storage, name: str, file: orc.ORCFile, stripe: int, columns: tuple[t.Field, ...]
) -> pa.RecordBatch:
    present = [field for field in columns if field.name in file.schema.names]
    try:
        # a stripe of no columns would have no rows either
        return file.read_stripe(stripe, columns=_leaf_names(present, file.schema) or [0])
    except pa.ArrowInvalid as error:
        if _OUT_OF_RANGE not in str(error):
            raise
    return _read_wide_stripe(storage, name, file, stripe, columns)


def _leaf_names(columns: list[t.Field], schema: pa.Schema) -> list[str] | list[int]:
    """The names by which ORC's library knows the leaves asked for; whole columns where a name may be misunderstood."""
    if any("." in name for field in schema for name in (field.name, *_names_within(field.type))):
        return [schema.get_field_index(field.name) for field in columns]
    return [name for field in columns for name in _leaves(field.name, field.type)]


def _leaves(path: str, type: t.DataType) -> Iterator[str]:
    match type:
        case t.Row(fields=fields):
            for field in fields:
                yield from _leaves(f"{path}.{field.name}", field.type)
        case t.Array(element=t.Row() as element):  # an element has no name of its own
            yield from _leaves(path, element)
        case _:
            yield path


def _names_within(type: pa.DataType) -> Iterator[str]:
    for index in range(type.num_fields):
        yield type.field(index).name
        yield from _names_within(type.field(index).type)


def _read_wide_stripe(
    storage: Storage, name: str, file: orc.ORCFile, stripe: int, columns: tuple[t.Field, ...]
) -> pa.RecordBatch:
    """A stripe with timestamps that Arrow's reader does not give; they are read apart from the other columns."""
    units = {
        field.name: to_arrow_type(field.type).unit
        for field in columns
        if field.name in file.schema.names and pa.types.is_timestamp(file.schema.field(field.name).type)
        if isinstance(field.type, (t.Timestamp, t.LocalTimestamp))
    }
    others = [i for i, column in enumerate(file.schema.names) if column in {f.name for f in columns} - set(units)]
    arrays = read_timestamps(storage, name, stripe, units) if units else {}
    try:
        rest = file.read_stripe(stripe, columns=others) if others else None
    except pa.ArrowInvalid as error:
        if _OUT_OF_RANGE not in str(error):
            raise
        raise UnsupportedError(f"data file '{name}': a nested timestamp outside the years 1677 to 2262") from error
    if rest is not None:
        arrays |= dict(zip(rest.schema.names, rest.columns, strict=True))
    return pa.record_batch(arrays)


def _column(batch: pa.RecordBatch, field: t.Field, name: str, zone: str) -> pa.Array:
    index = batch.schema.get_field_index(field.name)
    if index < 0:
        return pa.nulls(batch.num_rows, to_arrow_type(field.type))
    column = f"data file '{name}', column '{field.name}'"
    array = conform(batch.column(index), field.type, column)
    if not any(isinstance(type, (t.Char, t.LocalTimestamp)) for type in _simple_types(field.type)):
        return array
    return conform(array, field.type, column, lambda leaf, type: _from_stored(leaf, type, zone))


def _simple_types(type: t.DataType) -> Iterator[t.DataType]:
    match type:
        case t.Row(fields=fields):
            for field in fields:
                yield from _simple_types(field.type)
        case t.Array(element=element) | t.Vector(element=element) | t.Multiset(element=element):
            yield from _simple_types(element)
        case t.Map(key=key, value=value):
            yield from _simple_types(key)
            yield from _simple_types(value)
        case _:
            yield type


def _from_stored(array: pa.Array, type: t.DataType, zone: str) -> pa.Array:
    if isinstance(type, t.Char):
        return pc.utf8_rtrim(array, " ")
    if isinstance(type, t.LocalTimestamp) and zone != "UTC":
        return pc.local_timestamp(array.cast(pa.timestamp(array.type.unit, zone))).view(array.type)
    return array


def _to_stored(array: pa.Array, type: t.DataType, zone: str, column: str) -> pa.Array:
    if isinstance(type, (t.Timestamp, t.LocalTimestamp)) and _has_early_fraction(array):
        raise UnsupportedError(
            f"column '{column}': ORC files would hold a timestamp before 1970 with a fraction of a second wrongly; use"
            " file.format parquet"
        )
    if isinstance(type, t.LocalTimestamp) and zone != "UTC":
        wall_clock = array.view(pa.timestamp(array.type.unit))
        instant = pc.assume_timezone(wall_clock, zone, ambiguous="earliest", nonexistent="latest")
        return instant.cast(array.type)
    return array


def _has_early_fraction(array: pa.Array) -> bool:
    values = array.drop_null().view(pa.int64()).to_numpy()
    early = values[values < 0]
    return bool((early % _PER_SECOND[array.type.unit] != 0).any())


def _legacy_zone(options: Mapping[str, str]) -> str:
    """The zone by which stored instants are off: that of this process, or UTC when they are true."""
    if not ORC_TIMESTAMP_LTZ_LEGACY_TYPE.of(options):
        return "UTC"
    if os.environ.get("TZ"):
        return os.environ["TZ"].removeprefix(":")
    link = Path("/etc/localtime")
    _, found, zone = str(link.resolve()).partition("zoneinfo/")
    return zone if found and zone not in ("Etc/UTC", "UCT", "Universal", "Zulu") else "UTC"


class OrcWriter:
    """An ORC file that is being written."""

    def __init__(
        self, stream: BinaryIO, fields: tuple[t.Field, ...], orc_options: dict[str, object], zone: str
    ) -> None:
        self._fields = fields
        self._zone = zone
        self._schema = _physical_schema(fields)
        self._sink = CountingSink(stream)
        self._writer = orc.ORCWriter(pa.PythonFile(self._sink, mode="w"), **orc_options)
        self._collector = Collector([_has_bounds(field.type) for field in fields], Nan.IGNORED)
        self._row_count = 0
        self._given_bytes = 0

    @property
    def row_count(self) -> int:
        """The rows written so far."""
        return self._row_count

    @property
    def written_bytes(self) -> int:
        """What has left the writer, or a fifth of what it was given while a stripe is open."""
        return max(self._sink.count, self._given_bytes // 5)

    @property
    def waiting_bytes(self) -> int:
        """None: the library encodes what it is given."""
        return 0

    def flush(self) -> None:
        """Nothing waits; a stripe ends when it is full."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows."""
        self._collector.add(batch)
        arrays = [
            conform(array, field.type, field.name, partial(_to_stored, zone=self._zone, column=field.name))
            for array, field in zip(batch.columns, self._fields, strict=True)
        ]
        stored = [
            without_offsets(with_null_members(array.cast(type)))
            for array, type in zip(arrays, self._schema.types, strict=True)
        ]
        self._writer.write(pa.Table.from_arrays(stored, schema=self._schema))
        self._row_count += batch.num_rows
        self._given_bytes += batch.nbytes

    def close(self) -> WrittenFile:
        """Write the last stripe and the footer."""
        if self._row_count == 0:
            self._writer.write(self._schema.empty_table())
        self._writer.close()
        self._given_bytes = 0
        return WrittenFile(self._row_count, self._collector.columns)


def open_writer(
    stream: BinaryIO,
    *,
    fields: tuple[t.Field, ...],
    compression: str,
    zstd_level: int,
    options: Mapping[str, str],
    buffer_bytes: int,
) -> OrcWriter:
    """A writer of ORC with Paimon's ids; UnsupportedError names an option or codec it cannot honour."""
    for field in fields:
        if any(isinstance(type, (t.Variant, t.Geometry, t.Geography)) for type in _simple_types(field.type)):
            raise UnsupportedError(f"column '{field.name}': ORC cannot hold {field.type}; use file.format parquet")
    codec = (ORC_COMPRESS.find(options) or compression).lower()
    if codec not in _CODECS:
        raise UnsupportedError(f"compression '{codec}' of ORC files; choose one of {', '.join(sorted(_CODECS))}")
    set_level = ORC_COMPRESSION_ZSTD_LEVEL.find(options)
    level = zstd_level if set_level is None else set_level
    stripe = ORC_STRIPE_SIZE.find(options) or FILE_BLOCK_SIZE.find(options) or _STRIPE_BYTES
    arguments: dict[str, object] = {
        "compression": _CODECS[codec],
        "compression_strategy": "speed" if level <= 1 else "compression",
        "dictionary_key_size_threshold": 0.8,
        "stripe_size": min(stripe, buffer_bytes),
    }
    return OrcWriter(stream, fields, arguments, _legacy_zone(options))


def _physical_schema(fields: tuple[t.Field, ...]) -> pa.Schema:
    return pa.schema(
        [pa.field(f.name, _physical(f.type), f.nullable, f.metadata) for f in schema_with_ids(fields, ORC_ID)]
    )


def _physical(type: pa.DataType) -> pa.DataType:
    if pa.types.is_time32(type):
        return pa.int32()
    if pa.types.is_map(type):
        return pa.map_(_physical_field(type.key_field), _physical_field(type.item_field))
    if pa.types.is_list(type):
        return pa.list_(_physical_field(type.value_field))
    if pa.types.is_struct(type):
        return pa.struct([_physical_member(field) for field in type])
    return type


def _physical_field(field: pa.Field) -> pa.Field:
    return field.with_type(_physical(field.type))


def _physical_member(field: pa.Field) -> pa.Field:
    return _physical_field(field).with_nullable(True)


def _has_bounds(type: t.DataType) -> bool:
    return not t.is_nested(type) and not isinstance(type, (t.Binary, t.VarBinary))
