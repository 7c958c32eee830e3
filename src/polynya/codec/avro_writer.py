"""A container file written record by record, for files that are too large to hold in memory."""

import io
import os
from collections.abc import Callable, Iterable, Mapping

import fastavro

from polynya.codec.avro_codecs import compress
from polynya.codec.avro_container import SYNC_BYTES, Block, encode_block, encode_header
from polynya.codec.avro_records import BLOCK_BYTES
from polynya.codec.avro_schema import parse_schema, render_schema


class ContainerWriter:
    """A container file that is being written; blocks go out as they fill.

    Records hold what Avro stores: a timestamp is an int, a decimal is bytes.
    """

    def __init__(
        self, write: Callable[[bytes], object], schema_text: str, codec: str, level: int | None = None
    ) -> None:
        self._write = write
        self._schema = fastavro.parse_schema(render_schema(parse_schema(schema_text, "schema")))
        self._codec = codec
        self._level = level
        self._sync = os.urandom(SYNC_BYTES)
        self._block = io.BytesIO()
        self._block_count = 0
        self._write(encode_header(schema_text, codec, self._sync))

    def append(self, records: Iterable[Mapping[str, object]]) -> None:
        """Add records, each by the names of its fields."""
        for record in records:
            fastavro.schemaless_writer(self._block, self._schema, record)
            self._block_count += 1
            if self._block.tell() >= BLOCK_BYTES:
                self.flush()

    def flush(self) -> None:
        """Write the open block; a file is whole after it."""
        if self._block_count:
            data = compress(self._codec, self._block.getvalue(), self._level)
            self._write(encode_block(Block(self._block_count, data), self._sync))
        self._block = io.BytesIO()
        self._block_count = 0
