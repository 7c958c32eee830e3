"""Reading Avro data files, a few blocks at a time.

`codec.avro` gives what the bytes hold: a timestamp is a long, a decimal is bytes, and a MAP whose key is no text is an
array of records. What they mean is told by the schema of the table, not by the logical types in the file: Paimon names
those the other way round (TIMESTAMP is `timestamp-millis`, the one with a local time zone `local-timestamp-millis`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Context, Decimal
from functools import partial

import pyarrow as pa

from polynya.arrow.batches import make_batch
from polynya.arrow.blob_file import open_blob
from polynya.arrow.files.conform import conform
from polynya.arrow.files.damage import require_own_columns
from polynya.arrow.files.protocol import PositionedBatch
from polynya.codec.avro import AvroSource, Block, Column, Container, decode_container
from polynya.codec.avro_columns import Chunk, decode_by_column, decode_by_record
from polynya.codec.avro_schema import fields_of, is_record, parse_schema
from polynya.errors import CorruptFileError
from polynya.model import types as t
from polynya.model.arrow_types import timestamp_unit, to_arrow_type
from polynya.storage.protocol import Storage

_FEW_ROWS = 500
_EXACT = Context(prec=80)


def read(
    storage: Storage, name: str, *, file_fields: tuple[t.Field, ...], columns: tuple[t.Field, ...], batch_rows: int
) -> Iterator[PositionedBatch]:
    """Yield the columns' rows, in order; CorruptFileError names the file."""
    plain = [Column(field.name, (field.name,), _plain_type(field.type), required=False) for field in columns]
    first_row = 0
    with _container(storage, name) as container:
        require_own_columns(_column_names(container), file_fields, name)
        decode = decode_by_record if container.record_count <= _FEW_ROWS else decode_by_column
        for chunk in _chunks(container, batch_rows):
            batch = decode(chunk, plain)
            arrays = [_column(array, field, name) for array, field in zip(batch.columns, columns, strict=True)]
            row_count = sum(block.count for _, block in chunk.parts)
            yield PositionedBatch(first_row, make_batch(arrays, columns, row_count))
            first_row += row_count


def row_count(storage: Storage, name: str) -> int:
    """The number of rows, which is the sum over the blocks of the file."""
    with _container(storage, name) as container:
        return container.record_count


@contextmanager
def _container(storage: Storage, name: str) -> Iterator[Container]:
    """The blocks of the file, which stay where they are: mapped from a local disk, else in memory."""
    path = storage.local_path(name)
    with open_blob(storage, name) if path is None else _mapped(storage, name, path) as source:
        data = memoryview(source.read_buffer()).cast("B")
        yield decode_container(AvroSource(name, data=data))


def _column_names(container: Container) -> list[str]:
    schema = parse_schema(container.schema_text, container.name)
    return [column for column, _ in fields_of(schema)] if is_record(schema) else []


def _mapped(storage: Storage, name: str, path: str) -> pa.NativeFile:
    try:
        return pa.memory_map(path)
    except FileNotFoundError:
        return open_blob(storage, name)  # which says so in its own words


def _chunks(container: Container, batch_rows: int) -> Iterator[Chunk]:
    """Neighbouring blocks of together at most `batch_rows` rows, or single larger ones."""
    schema = parse_schema(container.schema_text, container.name)
    run: list[tuple[Container, Block]] = []
    rows = 0
    for block in container.blocks:
        if run and rows + block.count > batch_rows:
            yield Chunk(schema, tuple(run))
            run, rows = [], 0
        run.append((container, block))
        rows += block.count
    if run:
        yield Chunk(schema, tuple(run))


def _column(array: pa.Array, field: t.Field, name: str) -> pa.Array:
    column = f"data file '{name}', column '{field.name}'"
    return conform(array, field.type, column, partial(_meaning, column=column))


def _plain_type(type: t.DataType) -> pa.DataType:
    """What Avro holds of the type."""
    match type:
        case t.Row(fields=fields):
            return pa.struct([(field.name, _plain_type(field.type)) for field in fields])
        case t.Array(element=element) | t.Vector(element=element):
            return pa.list_(_plain_type(element))
        case t.Multiset(element=element):
            return _plain_map(element, t.Int())
        case t.Map(key=key, value=value):
            return _plain_map(key, value)
        case t.Decimal():
            return pa.binary()
        case t.Timestamp() | t.LocalTimestamp() | t.TimeMicros():
            return pa.int64()
        case t.TinyInt() | t.SmallInt() | t.Date() | t.Time():
            return pa.int32()
        case _:
            return to_arrow_type(type)


def _plain_map(key: t.DataType, value: t.DataType) -> pa.DataType:
    if isinstance(key, (t.Char, t.VarChar)):
        return pa.map_(pa.string(), _plain_type(value))
    return pa.list_(pa.struct([("key", _plain_type(key)), ("value", _plain_type(value))]))


def _meaning(array: pa.Array, type: t.DataType, column: str) -> pa.Array:
    match type:
        case t.Timestamp(precision=precision) | t.LocalTimestamp(precision=precision):
            return array.view(pa.timestamp(timestamp_unit(precision)))
        case t.Date():
            return array.view(pa.date32())
        case t.Decimal():
            return _decimals(array, type, column)
        case _:
            return array


def _decimals(array: pa.Array, type: t.Decimal, column: str) -> pa.Array:
    """Big-endian two's complement to decimals, once per distinct value."""
    encoded = array.dictionary_encode()
    numbers = (int.from_bytes(value, "big", signed=True) for value in encoded.dictionary.to_pylist())
    try:
        values = [Decimal(number).scaleb(-type.scale, _EXACT) for number in numbers]
        return pa.array(values, to_arrow_type(type)).take(encoded.indices)
    except (pa.ArrowInvalid, ArithmeticError) as error:
        raise CorruptFileError(f"{column}: expected {to_arrow_type(type)}, found more digits: {error}") from error
