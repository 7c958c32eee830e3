"""Small file indexes for tests: golden ones with their rows, and results as sets of rows."""

import functools
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from golden_data import golden_table
from polynya.codec.avro import AvroSource
from polynya.model.arrow_types import to_arrow_schema
from polynya.model.schema import Schema
from polynya.paimon import file_index as fi
from polynya.paimon import schema_file
from polynya.paimon.file_index import REMAIN, SKIP, Result
from polynya.paimon.manifest import decode as decode_manifest

GOLDEN = (
    "fi_bitmap",
    "fi_bitmap_v1",
    "fi_bloom",
    "fi_bloom_file",
    "fi_bloom_types",
    "fi_bsi",
    "fi_map_bloom",
    "fi_pk",
    "fi_range_bitmap",
)


def rows_of(result: Result, row_count: int) -> set[int]:
    """The rows that may match."""
    return set(range(row_count)) if result is REMAIN else set() if result is SKIP else set(result)


def golden_schema(table: str) -> Schema:
    """The latest schema of a golden table."""
    path = max((golden_table(table) / "schema").iterdir())
    return schema_file.decode(path.read_bytes(), name=path.name)


@functools.cache
def golden_indexes(table: str) -> list[tuple[fi.FileIndex, pa.Table]]:
    """Every container of a golden table, in files and in manifests, with the rows of its data file."""
    folder = golden_table(table)
    found = [(path.read_bytes(), _data_file(path)) for path in sorted(folder.rglob("*.index"))]
    for path in sorted((folder / "manifest").glob("manifest-*-[0-9]")):
        if not path.name.startswith("manifest-list"):
            entries = decode_manifest([AvroSource(path.name, path.read_bytes())], ["file_name", "embedded_file_index"])
            names, embedded = entries["file_name"].to_pylist(), entries["embedded_file_index"].to_pylist()
            pairs = zip(embedded, (folder / "bucket-0" / name for name in names), strict=True)
            found += [(data, path) for data, path in pairs if data is not None]
    return [(fi.decode(data, path.name), _rows(path, golden_schema(table))) for data, path in found]


def _data_file(path: Path) -> Path:
    return path.with_name(path.name.partition(".parquet")[0] + ".parquet")


def _rows(path: Path, schema: Schema) -> pa.Table:
    return pq.read_table(path, columns=list(schema.names)).cast(to_arrow_schema(schema.fields))
