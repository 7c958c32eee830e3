"""The metadata of golden tables as plain records, read without polynya."""

import io
import re
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import zstandard
from fastavro.read import BLOCK_READERS

from golden_data import golden_table

PLAIN_TYPES = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "DATE": pa.date32(),
    "TIME": pa.time32("ms"),
    "STRING": pa.string(),
    "CHAR": pa.string(),
    "VARCHAR": pa.string(),
}


def arrow_type(text: object) -> pa.DataType:
    """The Arrow type of a type in a schema file; any nested type will do for a nested one."""
    if not isinstance(text, str):
        return pa.list_(pa.int32())
    name, digits = re.match(r"(\w+)(?:\(([\d, ]+)\))?", text).groups()
    numbers = [int(number) for number in (digits or "").split(",") if number]
    if name == "DECIMAL":
        return pa.decimal128(*numbers)
    if name == "TIMESTAMP":
        unit = "ms" if numbers[0] <= 3 else "us" if numbers[0] <= 6 else "ns"
        return pa.timestamp(unit, "UTC" if "LOCAL" in text else None)
    if name == "VARIANT":
        return pa.list_(pa.int32())
    return PLAIN_TYPES.get(name, pa.binary())


def avro_records(path: Path) -> list[dict[str, Any]]:
    """Every record of an Avro file."""
    with path.open("rb") as file:
        return list(fastavro.reader(file))


def _read_zstandard_block(file: io.BytesIO) -> io.BytesIO:
    data = fastavro.schemaless_reader(file, "bytes")
    return io.BytesIO(zstandard.ZstdDecompressor().decompressobj().decompress(data))


# fastavro looks for a package that is part of newer Pythons only
BLOCK_READERS["zstandard"] = _read_zstandard_block


def added_entries(table: str) -> list[dict[str, Any]]:
    """The ADD entries of all manifests that are there."""
    manifests = (golden_table(table) / "manifest").glob("manifest-*-*")
    files = [path for path in manifests if not path.name.startswith("manifest-list")]
    return [entry for path in sorted(files) for entry in avro_records(path) if entry["_KIND"] == 0]


def index_entries(table: str, index_type: str) -> list[tuple[dict[str, Any], bytes]]:
    """The entries of all index manifests that are there, each with the bytes of its file where that is left."""
    root = golden_table(table)
    entries = {
        entry["_FILE_NAME"]: entry
        for path in sorted((root / "manifest").glob("index-manifest-*"))
        for entry in avro_records(path)
        if entry["_INDEX_TYPE"] == index_type
    }
    files = {path.name: path for path in root.rglob("index-*") if path.is_file()}
    return [(entry, files[name].read_bytes()) for name, entry in entries.items() if name in files]
