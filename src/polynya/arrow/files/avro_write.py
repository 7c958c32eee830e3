"""Writing Avro data files: rows become records one by one, blocks are compressed and go out as they fill.

Avro is Paimon's format for small files of the lowest level, so the encoding works row by row. The schema of the file
carries Paimon's logical types and record names; records are encoded from plain integers and bytes.
"""

import json
from collections.abc import Callable, Mapping
from decimal import Context
from typing import Any, BinaryIO

import pyarrow as pa

from polynya.arrow.bounds import Collector, Nan
from polynya.arrow.files.protocol import WrittenFile
from polynya.arrow.files.sink import CountingSink
from polynya.codec.avro import ContainerWriter
from polynya.codec.int128 import shortest_bytes
from polynya.errors import UnsupportedError
from polynya.model import types as t
from polynya.model.options_data import AVRO_CODEC

_RECORD = "org.apache.paimon.avro.generated.record"
_CODECS = {"zstd": "zstandard", "none": "null", "uncompressed": "null"} | {
    name: name for name in ("zstandard", "null", "snappy", "deflate", "bzip2", "xz")
}
_EXACT = Context(prec=40)

Schema = str | list[Any] | dict[str, Any]
Encode = Callable[[Any], Any]


def open_writer(
    stream: BinaryIO,
    *,
    fields: tuple[t.Field, ...],
    compression: str,
    zstd_level: int,
    options: Mapping[str, str],
    buffer_bytes: int,  # blocks are small
) -> "AvroWriter":
    """A writer of Avro with Paimon's schema; UnsupportedError names an option, codec or column it cannot honour."""
    codec = (AVRO_CODEC.find(options) or compression).lower()
    if codec not in _CODECS:
        raise UnsupportedError(f"compression '{codec}' of Avro files; choose one of {', '.join(sorted(_CODECS))}")
    return AvroWriter(stream, fields, _CODECS[codec], zstd_level)


class AvroWriter:
    """An Avro file that is being written."""

    def __init__(self, stream: BinaryIO, fields: tuple[t.Field, ...], codec: str, zstd_level: int) -> None:
        self._fields = fields
        self._encoders = [_encoder(field.type) for field in fields]
        self._collector = Collector([not t.is_nested(field.type) for field in fields], Nan.LARGEST)
        self._sink = CountingSink(stream)
        self._row_count = 0
        schema_text = json.dumps(avro_schema(fields), separators=(",", ":"))
        level = zstd_level if codec == "zstandard" else None
        self._container = ContainerWriter(self._sink.write, schema_text, codec, level)

    @property
    def row_count(self) -> int:
        """The rows written so far."""
        return self._row_count

    @property
    def written_bytes(self) -> int:
        """What has left the writer; the open block is small."""
        return self._sink.count

    @property
    def waiting_bytes(self) -> int:
        """None: rows are encoded as they come."""
        return 0

    def flush(self) -> None:
        """Nothing waits; a block ends when it is full."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows."""
        self._collector.add(batch)
        names = [field.name for field in self._fields]
        columns = [
            list(map(encode, _physical(array).to_pylist()))
            for array, encode in zip(batch.columns, self._encoders, strict=True)
        ]
        self._container.append(dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))
        self._row_count += batch.num_rows

    def close(self) -> WrittenFile:
        """Write the last block."""
        self._container.flush()
        return WrittenFile(self._row_count, self._collector.columns)


def avro_schema(fields: tuple[t.Field, ...]) -> dict[str, Any]:
    """The schema of a data file; UnsupportedError names a column that Avro files cannot hold."""
    return _record(_RECORD, fields)


def _record(name: str, fields: tuple[t.Field, ...]) -> dict[str, Any]:
    members = []
    for field in fields:
        member: dict[str, Any] = {"name": field.name, "type": _schema(field.type, f"{name}_{field.name}", field.name)}
        if field.type.nullable:
            member["default"] = None
        members.append(member)
    return {"type": "record", "name": name, "fields": members}


def _schema(type: t.DataType, name: str, column: str) -> Schema:
    plain = _not_null_schema(type, name, column)
    return ["null", plain] if type.nullable else plain


def _not_null_schema(type: t.DataType, name: str, column: str) -> Schema:
    match type:
        case t.Row(fields=fields):
            return _record(name, fields)
        case t.Array(element=element) | t.Vector(element=element):
            return {"type": "array", "items": _schema(element, name, column)}
        case t.Multiset(element=element):
            return _map_schema(element, t.Int(), name, column)
        case t.Map(key=key, value=value):
            return _map_schema(key, value, name, column)
        case t.Decimal(precision=precision, scale=scale):
            return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
        case t.Timestamp(precision=precision) if precision <= 6:
            return {"type": "long", "logicalType": f"timestamp-{_unit(precision)}"}
        case t.LocalTimestamp(precision=precision) if precision <= 6:
            return {"type": "long", "logicalType": f"local-timestamp-{_unit(precision)}"}
        case t.Time(precision=precision) if precision <= 3:
            return {"type": "int", "logicalType": "time-millis"}
        case t.Date():
            return {"type": "int", "logicalType": "date"}
    simple = _SIMPLE.get(type.__class__)
    if simple is None:
        raise UnsupportedError(f"column '{column}': Avro files cannot hold {type}; use file.format parquet")
    return simple


_SIMPLE: dict[type[t.DataType], str] = {
    t.Boolean: "boolean",
    t.TinyInt: "int",
    t.SmallInt: "int",
    t.Int: "int",
    t.BigInt: "long",
    t.Float: "float",
    t.Double: "double",
    t.Char: "string",
    t.VarChar: "string",
    t.Binary: "bytes",
    t.VarBinary: "bytes",
    t.Blob: "bytes",
}


def _map_schema(key: t.DataType, value: t.DataType, name: str, column: str) -> Schema:
    if isinstance(key, (t.Char, t.VarChar)):
        return {"type": "map", "values": _schema(value, name, column)}
    entry_value: dict[str, Any] = {"name": "value", "type": _schema(value, f"{name}_value", column)}
    if value.nullable:
        entry_value["default"] = None
    entry = [{"name": "key", "type": _schema(key, f"{name}_key", column)}, entry_value]
    return {"type": "array", "logicalType": "map", "items": {"type": "record", "name": name, "fields": entry}}


def _unit(precision: int) -> str:
    return "millis" if precision <= 3 else "micros"


def _physical(array: pa.Array) -> pa.Array:
    """The array with dates, times and timestamps as integers, at every level."""
    return array.cast(_physical_type(array.type))


def _physical_type(type: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(type):
        return pa.int64()
    if pa.types.is_date32(type) or pa.types.is_time32(type):
        return pa.int32()
    if pa.types.is_map(type):
        return pa.map_(_physical_type(type.key_type), _physical_type(type.item_type))
    if pa.types.is_list(type):
        return pa.list_(_physical_type(type.value_type))
    if pa.types.is_struct(type):
        return pa.struct([field.with_type(_physical_type(field.type)) for field in type])
    return type


def _encoder(type: t.DataType) -> Encode:
    """From the Python value of an Arrow array to what the encoder of records wants."""
    match type:
        case t.Decimal(scale=scale):
            return _unless_null(lambda value: shortest_bytes(int(value.scaleb(scale, _EXACT))))
        case t.Row(fields=fields):
            members = [(field.name, _encoder(field.type)) for field in fields]
            return _unless_null(lambda value: {name: encode(value[name]) for name, encode in members})
        case t.Array(element=element) | t.Vector(element=element):
            inner = _encoder(element)
            return _unless_null(lambda value: [inner(item) for item in value])
        case t.Multiset(element=element):
            return _unless_null(_map_encoder(element, t.Int()))
        case t.Map(key=key, value=item):
            return _unless_null(_map_encoder(key, item))
        case _:
            return _same


def _same(value: Any) -> Any:  # noqa: ANN401 - a value of any column
    return value


def _unless_null(encode: Encode) -> Encode:
    return lambda value: None if value is None else encode(value)


def _map_encoder(key: t.DataType, value: t.DataType) -> Encode:
    encode_key, encode_value = _encoder(key), _encoder(value)
    if isinstance(key, (t.Char, t.VarChar)):
        return lambda pairs: {name: encode_value(item) for name, item in pairs}
    return lambda pairs: [{"key": encode_key(name), "value": encode_value(item)} for name, item in pairs]
