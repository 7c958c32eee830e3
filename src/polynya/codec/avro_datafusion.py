"""Avro records to Arrow with DataFusion, fenced against its reader's weak spots.

Its reader loops for ever over bytes left after the last record of a block, and takes a cut file for an empty one. So it
never sees a stored file: the records of many blocks, decompressed and checked by us, become one block of a spooled
file, followed by a sentinel record. The batch is as large as the block, so one batch ends the reading, whatever bytes
are left; and the sentinel comes out last if and only if every record took the bytes it should.

DataFusion leaves out fields only at the top of a record. A record in a record adds no bytes of its own, so the spooled
file's schema lists the members of inner records as fields of the outer one, and all that nobody asks for is skipped.
"""

import json
import os
import tempfile
from collections.abc import Iterator, Sequence, Set
from pathlib import Path

import pyarrow as pa
from datafusion import SessionConfig, SessionContext

from polynya.codec.avro_container import SYNC_BYTES, encode_container, encode_long
from polynya.codec.avro_schema import Column, Node, fields_of, find_node, is_record, render_schema

_HOME = os.getpid()  # DataFusion's threads do not follow into a forked process, which would wait for them for ever
_SENTINEL = -0x35D1C0DE
_SHARED_MEMORY = "/dev/shm"
_CHUNK_BYTES_MAX = 1 << 30


def decode_chunk(
    schema: Node, blocks: Sequence[tuple[int, bytes | memoryview]], columns: Sequence[Column]
) -> pa.RecordBatch | None:
    """Decode the columns of the blocks' records; None when DataFusion cannot, or the bytes are damaged."""
    check = _check_field(schema)
    count = sum(records for records, _ in blocks)
    if check is None or sum(len(data) for _, data in blocks) > _CHUNK_BYTES_MAX or os.getpid() != _HOME:
        return None
    present = [column for column in columns if find_node(schema, column.path) is not None]
    paths = [(check,), *(column.path for column in present)]
    leaves = list(_leaves(schema, (), set(paths)))
    spooled = _spooled([node for _, node in leaves], [*(data for _, data in blocks), _sentinel(schema)], count + 1)
    places = {path: place for place, (path, _) in enumerate(leaves)}
    try:
        batch = _query(spooled, [places[path] for path in paths], count + 1)
        if batch.num_rows != count + 1 or batch.column(0)[count].as_py() != _SENTINEL:
            return None
        return _conform(batch.slice(0, count), present, columns)
    except Exception:  # noqa: BLE001  # DataFusion raises no other class; the caller decodes again and names the damage
        return None


def _leaves(record: Node, path: tuple[str, ...], whole: Set[tuple[str, ...]]) -> Iterator[tuple[tuple[str, ...], Node]]:
    """The fields of a record in order, those of inner records in the place of these unless they are wanted whole."""
    for name, node in fields_of(record):
        here = (*path, name)
        if is_record(node) and here not in whole:
            yield from _leaves(node, here, whole)
        else:
            yield here, node


def _spooled(fields: Sequence[Node], records: Sequence[bytes | memoryview], count: int) -> list[bytes | memoryview]:
    """A container file of one block, in parts; its fields are named `f0` and on."""
    schema: Node = {"type": "record", "fields": [(f"f{place}", node) for place, node in enumerate(fields)]}
    head = encode_container(json.dumps(render_schema(schema)), "null", ())
    sync = head[-SYNC_BYTES:]
    return [head, encode_long(count), encode_long(sum(map(len, records))), *records, sync]


def _query(spooled: Sequence[bytes | memoryview], places: Sequence[int], row_count: int) -> pa.RecordBatch:
    """One batch with the fields at these places; the file is gone afterwards."""
    context = SessionContext(SessionConfig().with_batch_size(row_count).with_target_partitions(1))
    items = ", ".join(f"f{place} AS c{index}" for index, place in enumerate(places))
    folder = _SHARED_MEMORY if os.access(_SHARED_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="polynya-", dir=folder) as spool:
        path = Path(spool) / "records.avro"
        with path.open("wb") as stream:
            stream.writelines(spooled)
        context.register_avro("records", str(path))
        return next(context.sql(f"SELECT {items} FROM records LIMIT {row_count}").execute_stream()).to_pyarrow()


def _conform(batch: pa.RecordBatch, present: Sequence[Column], columns: Sequence[Column]) -> pa.RecordBatch:
    found = {column.name: batch.column(index + 1).cast(column.type) for index, column in enumerate(present)}
    arrays = [
        found[column.name] if column.name in found else pa.nulls(batch.num_rows, column.type) for column in columns
    ]
    conformed = pa.RecordBatch.from_arrays(arrays, [column.name for column in columns])
    conformed.validate(full=True)
    return conformed


def _check_field(schema: Node) -> str | None:
    """The first field that can hold the sentinel."""
    return next((name for name, node in fields_of(schema) if node in ("int", "long")), None)


def _sentinel(node: Node) -> bytes:
    """A record with the sentinel in every number, as small as can be otherwise."""
    match node:
        case "null":
            return b""
        case "int" | "long":
            return encode_long(_SENTINEL)
        case "float":
            return bytes(4)
        case "double":
            return bytes(8)
        case list():
            return encode_long(0) + _sentinel(node[0])
        case {"type": "fixed", "size": int() as size}:
            return bytes(size)
        case dict() if is_record(node):
            return b"".join(_sentinel(type) for _, type in fields_of(node))
        case _:
            return b"\x00"
