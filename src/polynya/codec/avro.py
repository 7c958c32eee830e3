"""Avro container files, the front door.

| module | what |
|---|---|
| avro_container | header and blocks: walk, copy, write |
| avro_codecs | compression of a block |
| avro_schema | the schema in the header, and the columns asked of it |
| avro_columns | files to one Arrow table (fastavro for few records, avro_datafusion for many) |
| avro_records | an Arrow table to a file |
| avro_writer | records to a file, block by block |
"""

from polynya.codec.avro_columns import Decoded, decode_columns
from polynya.codec.avro_container import AvroSource, Block, Container, decode_container, encode_container
from polynya.codec.avro_records import encode_file
from polynya.codec.avro_schema import Column
from polynya.codec.avro_writer import ContainerWriter

__all__ = [
    "AvroSource",
    "Block",
    "Column",
    "Container",
    "ContainerWriter",
    "Decoded",
    "decode_columns",
    "decode_container",
    "encode_container",
    "encode_file",
]
