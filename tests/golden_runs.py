"""The data files of golden tables as runs of records."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from golden_data import golden_expected, golden_table
from polynya.model import types as t
from polynya.model.schema import KEY_PREFIX, Schema
from polynya.paimon import schema_file
from rows import render_rows, sorted_rows


def golden_runs(name: str) -> list[pa.Table]:
    """Every Parquet data file ever written to the table, without the `_KEY_` columns."""
    files = sorted(golden_table(name).glob("**/bucket-*/data-*.parquet"))
    tables = [pq.read_table(file, partitioning=None) for file in files]
    return [_plain(table.drop_columns([c for c in table.column_names if c.startswith(KEY_PREFIX)])) for table in tables]


def golden_schema(name: str) -> Schema:
    """The newest schema of a golden table."""
    path = max((golden_table(name) / "schema").iterdir(), key=lambda path: int(path.name.removeprefix("schema-")))
    return schema_file.decode(path.read_bytes(), name=path.name)


def expected_rows(name: str) -> list:
    """The rows that Java reads; FLOAT in the shortest text, which Java's is not always."""
    fields = golden_schema(name).fields
    floats = [isinstance(field.type, t.Float) for field in fields]
    rows = golden_expected(name)["rows"]
    return sorted_rows(
        [_shortest(value) if is_float else value for value, is_float in zip(row, floats, strict=True)] for row in rows
    )


def rendered(name: str, rows: pa.Table) -> list:
    """The value columns in the form of the expected rows."""
    return render_rows(rows, golden_schema(name).fields)


def _shortest(value: float | str | None) -> float | str | None:
    return float(str(np.float32(value))) if isinstance(value, float) else value


def _plain(table: pa.Table) -> pa.Table:
    """Drop file metadata, so that runs of different files concatenate."""
    fields = [pa.field(field.name, field.type, field.nullable) for field in table.schema]
    return pa.Table.from_arrays(table.columns, schema=pa.schema(fields))
