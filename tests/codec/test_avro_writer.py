import io
import json

import pyarrow as pa

from polynya.codec.avro import AvroSource, Column, ContainerWriter, decode_columns, decode_container

SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "r",
        "fields": [
            {"name": "id", "type": {"type": "long", "logicalType": "timestamp-millis"}},
            {"name": "text", "type": ["null", "string"], "default": None},
        ],
    }
)
COLUMNS = [Column("id", ("id",), pa.int64()), Column("text", ("text",), pa.string(), required=False)]


def written(records, codec="zstandard") -> bytes:
    stream = io.BytesIO()
    writer = ContainerWriter(stream.write, SCHEMA, codec)
    writer.append(records)
    writer.flush()
    return stream.getvalue()


def test_records_come_back_from_several_blocks():
    records = [{"id": number, "text": None if number % 7 == 0 else "x" * 50} for number in range(5000)]
    data = written(records)
    assert len(decode_container(AvroSource("f", data=data)).blocks) > 2
    assert decode_columns([AvroSource("f", data=data)], COLUMNS).table.to_pylist() == records


def test_a_file_without_records_has_a_header_and_no_block():
    container = decode_container(AvroSource("f", data=written([], "null")))
    assert (container.schema_text, container.codec, container.blocks) == (SCHEMA, "null", ())
