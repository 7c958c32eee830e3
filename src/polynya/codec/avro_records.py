"""Arrow columns to Avro records, a column at a time.

Each Avro type turns an array into an array of the encoded values; a record is the element-wise concatenation of its
fields. No step loops over rows, but for a handful of rows, which fastavro encodes sooner.

| Avro | bytes of a value |
|---|---|
| null, boolean, float, double | nothing; 1 byte; 4 and 8 bytes, little-endian |
| int, long | zigzag varint, up to 10 bytes |
| bytes, string | long length, the bytes |
| array | long item count and the items, unless empty; long 0 |
| union | long index of the branch, the value |
| record | its fields, in order |
| fixed | the bytes |
"""

import io
from collections.abc import Iterator, Mapping, Sequence

import fastavro
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec.avro_block_index import encode_index
from polynya.codec.avro_codecs import compress
from polynya.codec.avro_container import Block, encode_container
from polynya.codec.avro_schema import Column, Node, fields_of, is_record, parse_schema, render_schema
from polynya.errors import InvalidInputError, UnsupportedError

#: A block ends with the record that brings it to this size.
BLOCK_BYTES = 64_000
_BATCH_RECORDS = 50_000
_FEW_RECORDS = 100


def encode_file(
    schema_text: str,
    table: pa.Table,
    columns: Sequence[Column],
    codec: str = "zstandard",
    level: int | None = None,
    metadata: Mapping[str, str] | None = None,
    indexed: str | None = None,
) -> bytes:
    """A container file of the table's rows, with the schema text as it stands, and `metadata` in its header.

    Every field of the schema must be at the path of a column. Where the column `indexed` is in order, the header tells
    which of its values are in which block.
    """
    _check_required(table, columns)
    schema = parse_schema(schema_text, "schema")
    encode = _encode_by_record if table.num_rows <= _FEW_RECORDS else _encode_by_column
    blocks: list[Block] = []
    for start in range(0, table.num_rows, _BATCH_RECORDS):
        records = encode(schema, table.slice(start, _BATCH_RECORDS), columns)
        blocks += _blocks(records, codec, level)
    index = encode_index(_one_array(table[indexed]), blocks) if indexed is not None else {}
    return encode_container(schema_text, codec, blocks, {**(metadata or {}), **index})


def _check_required(table: pa.Table, columns: Sequence[Column]) -> None:
    for column in columns:
        nulls = table[column.name].null_count
        if column.required and nulls:
            raise InvalidInputError(f"column '{column.name}': expected a value in every row, found {nulls} nulls")


def _encode_by_record(schema: Node, table: pa.Table, columns: Sequence[Column]) -> pa.Array:
    """As `_encode_by_column`, which has a fixed cost of some milliseconds."""
    writer = fastavro.parse_schema(render_schema(schema))
    values = {column.path: _stored(table[column.name], column).to_pylist() for column in columns}
    encoded: list[bytes] = []
    for row in range(table.num_rows):
        stream = io.BytesIO()
        fastavro.schemaless_writer(stream, writer, _nested({path: column[row] for path, column in values.items()}))
        encoded.append(stream.getvalue())
    return pa.array(encoded, pa.binary())


def _nested(values: Mapping[tuple[str, ...], object]) -> dict[str, object]:
    """The record whose values stand at the paths."""
    record: dict[str, object] = {}
    for (*steps, last), value in values.items():
        inner = record
        for step in steps:
            inner = inner.setdefault(step, {})  # type: ignore[assignment]  # a step before the last is a record
        inner[last] = value
    return record


def _encode_by_column(schema: Node, table: pa.Table, columns: Sequence[Column]) -> pa.Array:
    return _encode_record(schema, table, {column.path: column for column in columns}, ())


def _stored(array: pa.ChunkedArray, column: Column) -> pa.ChunkedArray:
    """The column in its own type, timestamps as the numbers that Avro stores."""
    typed = array.cast(column.type)
    return typed.cast(pa.int64()) if pa.types.is_timestamp(column.type) else typed


def _blocks(records: pa.Array, codec: str, level: int | None) -> Iterator[Block]:
    offsets = _offsets(records)
    data = memoryview(records.buffers()[2])
    first = 0
    while first < len(records):
        last = min(int(np.searchsorted(offsets, offsets[first] + BLOCK_BYTES)), len(records))
        yield Block(last - first, compress(codec, bytes(data[offsets[first] : offsets[last]]), level))
        first = last


def _encode_record(
    node: Node, table: pa.Table, paths: dict[tuple[str, ...], Column], path: tuple[str, ...]
) -> pa.Array:
    """The record at the path, whose fields are columns of the table or records of such."""
    parts: list[pa.Array] = []
    for name, type in fields_of(node):
        step = (*path, name)
        column = paths.get(step)
        if column is not None:
            array = _one_array(_stored(table[column.name], column))
            parts.append(_encode(type, array, column.name))
        elif is_record(type):
            parts.append(_encode_record(type, table, paths, step))
        else:
            raise InvalidInputError(f"Avro field {'.'.join(step)} has no column")
    return _join(parts)


def _encode(node: Node, array: pa.Array, name: str) -> pa.Array:
    match node:
        case ["null", branch]:
            return _encode_nullable(branch, array, name)
        case _ if array.null_count:
            raise InvalidInputError(f"column '{name}': expected a value in every row, found {array.null_count} nulls")
        case "int" | "long":
            return _encode_longs(_numbers(array))
        case "boolean":
            return pc.if_else(array, pa.scalar(b"\x01"), pa.scalar(b"\x00"))
        case "float" | "double":
            return _encode_floats(array.cast(pa.float32() if node == "float" else pa.float64()))
        case {"type": "fixed"}:
            return array.cast(pa.binary())
        case "bytes" | "string":
            return _join([_encode_longs(_numbers(pc.binary_length(array))), array.cast(pa.binary())])
        case {"type": "array", "items": items}:
            return _encode_lists(items, array, name)  # type: ignore[arg-type]  # the items of a parsed schema
        case dict() if is_record(node):
            parts = [
                _encode(type, array.field(array.type.get_field_index(member)), f"{name}.{member}")
                for member, type in fields_of(node)
            ]
            return _join(parts) if parts else _constant(b"", len(array))
        case _:
            raise UnsupportedError(f"column '{name}': Avro type {node} cannot be written")


def _encode_nullable(branch: Node, array: pa.Array, name: str) -> pa.Array:
    """Encode the values that are there, and put them between the nulls."""
    if not array.null_count:
        return _join([_constant(b"\x02", len(array)), _encode(branch, array, name)])
    if array.null_count == len(array):
        return _constant(b"\x00", len(array))
    present = array.is_valid()
    values = _encode_nullable(branch, array.filter(present), name)
    return _one_array(pc.replace_with_mask(_constant(b"\x00", len(array)), present, values))


def _encode_lists(items: Node, array: pa.Array, name: str) -> pa.Array:
    lengths = _numbers(pc.list_value_length(array)).astype(np.int64)
    encoded = _encode(items, array.flatten(), name)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    ends = _offsets(encoded)[starts]
    joined = _binary(ends, encoded.buffers()[2])
    counts = pc.if_else(pa.array(lengths > 0), _encode_longs(lengths), pa.scalar(b""))
    return _join([counts, joined, _constant(b"\x00", len(array))])


def _encode_longs(values: npt.NDArray[np.integer]) -> pa.Array:
    signed = values.astype(np.int64)
    zigzag = ((signed << 1) ^ (signed >> 63)).view(np.uint64)
    width = max(1, -(-int(zigzag.max(initial=0)).bit_length() // 7))
    digits = zigzag[:, None] >> (np.arange(width, dtype=np.uint64) * np.uint64(7))
    lengths = 1 + np.count_nonzero(digits[:, 1:], axis=1)
    position = np.arange(width)
    digits = digits & np.uint64(0x7F) | np.where(position < lengths[:, None] - 1, np.uint64(0x80), np.uint64(0))
    data = digits.astype(np.uint8)[position < lengths[:, None]]
    return _binary(np.concatenate(([0], np.cumsum(lengths))), pa.py_buffer(data))


def _encode_floats(array: pa.Array) -> pa.Array:
    data = pa.py_buffer(np.ascontiguousarray(array.to_numpy(zero_copy_only=False)))
    raw = pa.Array.from_buffers(pa.binary(array.type.bit_width // 8), len(array), [None, data])
    return raw.cast(pa.binary())


def _numbers(array: pa.Array) -> npt.NDArray[np.integer]:
    numbers: npt.NDArray[np.integer] = array.to_numpy(zero_copy_only=False)
    return numbers


def _binary(offsets: npt.NDArray[np.integer], data: pa.Buffer) -> pa.Array:
    ends = pa.py_buffer(offsets.astype(np.int32))
    return pa.Array.from_buffers(pa.binary(), len(offsets) - 1, [None, ends, data])


def _offsets(array: pa.Array) -> npt.NDArray[np.int32]:
    buffer = array.buffers()[1]
    return np.frombuffer(buffer, np.int32, len(array) + 1, array.offset * 4)


def _join(parts: Sequence[pa.Array]) -> pa.Array:
    return _one_array(pc.binary_join_element_wise(*parts, b""))


def _constant(value: bytes, count: int) -> pa.Array:
    return pa.repeat(pa.scalar(value), count)


def _one_array(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    if isinstance(array, pa.ChunkedArray):
        return array.chunk(0) if array.num_chunks == 1 else pa.concat_arrays(array.chunks or [pa.array([], array.type)])
    return array
