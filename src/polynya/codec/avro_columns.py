"""Columns out of Avro container files: many files in, one Arrow table out, only the columns asked for.

The writer schema in each file rules: a field it lacks is a column of nulls, a field nobody asks for is skipped.
Few records are decoded by fastavro, since importing DataFusion takes half a second; many by DataFusion, some fifteen
times as fast. Both give the same table. What DataFusion refuses is decoded again by fastavro, which either does it
or names the damaged file.
"""

import io
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import accumulate, chain, groupby

import fastavro
import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec.avro_block_index import blocks_holding
from polynya.codec.avro_container import AvroSource, Block, Container, decode_container, encode_long
from polynya.codec.avro_schema import Column, Node, find_node, parse_schema, render_schema
from polynya.errors import CorruptFileError

_FEW_RECORDS_COLD = 20_000
_FEW_RECORDS_WARM = 500
_CHUNK_RECORDS_MIN = 10_000
_CHUNK_RECORDS_MAX = 32_000
_CHUNK_BYTES_MAX = 16 << 20
_SEARCHED_BLOCKS_MIN = 32


@dataclass(frozen=True, slots=True)
class Decoded:
    """The records of some files in order, as one table."""

    table: pa.Table
    names: tuple[str, ...]
    row_ends: tuple[int, ...]

    def name_of(self, row: int) -> str:
        """The file that holds the row."""
        return next(name for name, end in zip(self.names, self.row_ends, strict=True) if row < end)

    def reject(self, bad: pa.ChunkedArray, complaint: str, found: str | None = None) -> None:
        """Raise CorruptFileError, naming the file and the value in column `found`, if any row is marked.

        A null mark is none.
        """
        row = pc.index(bad, True).as_py()
        if row >= 0:
            shown = "" if found is None else f", found {repr(self.table[found][row].as_py())[:80]}"
            raise CorruptFileError(f"'{self.name_of(row)}': {complaint}{shown}")


@dataclass(frozen=True, slots=True)
class Chunk:
    """Blocks that are decoded together: their files have one schema."""

    schema: Node
    parts: tuple[tuple[Container, Block], ...]


def decode_columns(sources: Sequence[AvroSource], columns: Sequence[Column], holding: Sequence[bytes] = ()) -> Decoded:
    """Decode the columns of all records of all files, in order.

    With `holding`, blocks in which none of these strings of bytes occurs are left out, which costs a tenth of decoding
    them. Raises CorruptFileError naming the file for any damage, UnsupportedError for an unknown codec.
    """
    containers = [decode_container(source) for source in sources]
    if holding:
        containers = [_only_holding(container, holding) for container in containers]
    counts = [container.record_count for container in containers]
    chunks = list(_chunks(containers, columns, sum(counts)))
    batches = _decode_chunks(chunks, columns, sum(counts))
    schema = pa.schema([(column.name, column.type) for column in columns])
    names = tuple(source.name for source in sources)
    decoded = Decoded(pa.Table.from_batches(batches, schema), names, tuple(accumulate(counts)))
    for column in columns:
        if column.required and decoded.table[column.name].null_count:
            decoded.reject(pc.is_null(decoded.table[column.name]), f"{'.'.join(column.path)} is missing in a record")
    return decoded


def _only_holding(container: Container, wanted: Sequence[bytes]) -> Container:
    container = replace(container, blocks=blocks_holding(container, wanted))

    def held(blocks: Sequence[Block]) -> list[Block]:
        data = ((block, bytes(container.records(block))) for block in blocks)
        return [block for block, records in data if any(one in records for one in wanted)]

    workers = os.cpu_count() or 1
    size = max(_SEARCHED_BLOCKS_MIN, -(-len(container.blocks) // workers))
    parts = [container.blocks[start : start + size] for start in range(0, len(container.blocks), size)]
    with ThreadPoolExecutor(workers) as pool:
        return replace(container, blocks=tuple(chain.from_iterable(pool.map(held, parts))))


def _chunks(containers: Sequence[Container], columns: Sequence[Column], record_count: int) -> Iterator[Chunk]:
    """Cut the blocks of files that follow each other and agree on the schema into pieces of a good size."""
    share = record_count // (os.cpu_count() or 1)
    records_max = max(_CHUNK_RECORDS_MIN, min(_CHUNK_RECORDS_MAX, share))
    for text, group in groupby(containers, lambda container: container.schema_text):
        members = list(group)
        schema = _checked_schema(text, members[0].name, columns)
        parts: list[tuple[Container, Block]] = []
        records = size = 0
        for container, block in chain.from_iterable(((c, block) for block in c.blocks) for c in members):
            if parts and (records + block.count > records_max or size + len(block.data) > _CHUNK_BYTES_MAX):
                yield Chunk(schema, tuple(parts))
                parts, records, size = [], 0, 0
            parts.append((container, block))
            records += block.count
            size += len(block.data)
        if parts:
            yield Chunk(schema, tuple(parts))


def _checked_schema(text: str, name: str, columns: Sequence[Column]) -> Node:
    schema = parse_schema(text, name)
    for column in columns:
        if column.required and find_node(schema, column.path) is None:
            raise CorruptFileError(f"'{name}': avro.schema: expected a field {'.'.join(column.path)}, found none")
    return schema


def _decode_chunks(chunks: Sequence[Chunk], columns: Sequence[Column], record_count: int) -> list[pa.RecordBatch]:
    few = _FEW_RECORDS_WARM if "datafusion" in sys.modules else _FEW_RECORDS_COLD
    if record_count <= few:
        return [decode_by_record(chunk, columns) for chunk in chunks]
    with ThreadPoolExecutor(min(len(chunks), os.cpu_count() or 1)) as pool:
        return list(pool.map(lambda chunk: decode_by_column(chunk, columns), chunks))


def decode_by_column(chunk: Chunk, columns: Sequence[Column]) -> pa.RecordBatch:
    """Decode with DataFusion; the same result as `decode_by_record`."""
    from polynya.codec.avro_datafusion import decode_chunk  # noqa: PLC0415  # half a second that small reads avoid

    batch = decode_chunk(chunk.schema, [_counted(part) for part in chunk.parts], columns)
    return decode_by_record(chunk, columns) if batch is None else batch


def _counted(part: tuple[Container, Block]) -> tuple[int, bytes | memoryview]:
    container, block = part
    return block.count, container.records(block)


def decode_by_record(chunk: Chunk, columns: Sequence[Column]) -> pa.RecordBatch:
    """Decode with fastavro."""
    name = chunk.parts[0][0].name
    schema = fastavro.parse_schema({"type": "array", "items": render_schema(chunk.schema)})
    records = [record for part in chunk.parts for record in _block_records(part, schema)]
    arrays = [_column_of(chunk.schema, records, column, name) for column in columns]
    return pa.RecordBatch.from_arrays(arrays, [column.name for column in columns])


def _block_records(part: tuple[Container, Block], schema: object) -> list[dict[str, object]]:
    """The records of one block, which must fill it to the last byte; an array of them has the same bytes."""
    count, raw = _counted(part)
    if count == 0 and not len(raw):
        return []
    stream = io.BytesIO(b"".join((encode_long(count), raw, b"\x00")))
    try:
        records: list[dict[str, object]] = fastavro.schemaless_reader(stream, schema, None)
    except (EOFError, ValueError, LookupError, TypeError, OverflowError, StopIteration, RecursionError) as error:
        raise CorruptFileError(f"'{part[0].name}': damaged record: {type(error).__name__} {error}") from error
    left = len(stream.read())
    if left or len(records) != count:
        raise CorruptFileError(f"'{part[0].name}': {left} bytes are left after the {count} records of a block")
    return records


def _column_of(schema: Node, records: list[dict[str, object]], column: Column, name: str) -> pa.Array:
    if find_node(schema, column.path) is None:
        return pa.nulls(len(records), column.type)
    values: list[object] = list(records)
    for step in column.path:
        values = [value[step] for value in values]  # type: ignore[index]  # records down to the last step
    try:
        return pa.array(values, column.type)
    except (pa.ArrowException, OverflowError, UnicodeError) as error:
        raise CorruptFileError(f"'{name}': {'.'.join(column.path)}: expected {column.type}: {error}") from error
