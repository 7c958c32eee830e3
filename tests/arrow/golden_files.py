"""Data files of golden tables with the fields their schema gives them."""

from typing import Any

import numpy as np
import pyarrow as pa
from datafusion import SessionContext

from golden_data import golden_expected, golden_table
from polynya.arrow import files
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_schema
from polynya.model.schema import SEQUENCE_NUMBER, VALUE_KIND, Schema, key_field
from polynya.paimon import schema_file
from polynya.storage.local import LocalStorage
from rows import sorted_rows


def schemas(table: str) -> dict[int, Schema]:
    """Every schema of the table by id."""
    folder = golden_table(table) / "schema"
    found = (schema_file.decode(path.read_bytes(), name=path.name) for path in folder.iterdir())
    return {schema.id: schema for schema in found}


def file_fields(schema: Schema) -> tuple:
    """The columns of a data file of the schema, system columns included."""
    if not schema.primary_key:
        return schema.fields
    return (*map(key_field, schema.key_fields), SEQUENCE_NUMBER, VALUE_KIND, *schema.fields)


def data_files(table: str) -> list[str]:
    """The names of the table's data files, relative to the table."""
    root = golden_table(table)
    return sorted(
        str(path.relative_to(root))
        for path in root.rglob("bucket-*/data-*")
        if files.format_of(path.name) in files.FORMATS
    )


def storage(table: str) -> LocalStorage:
    """The table's folder."""
    return LocalStorage(str(golden_table(table)))


def read_all(table: str, name: str, fields: tuple, columns: tuple | None = None, **arguments: object) -> pa.Table:
    """The rows of one data file."""
    wanted = fields if columns is None else columns
    batches = [
        batch
        for _, batch in files.read(
            storage(table), name, format=files.format_of(name), file_fields=fields, columns=wanted, **arguments
        )
    ]
    return pa.Table.from_batches(batches, to_arrow_schema(wanted))


def manifest_files(table: str) -> dict[str, dict[str, Any]]:
    """What the manifests say of each data file, by the file's own name."""
    found = {}
    for path in (golden_table(table) / "manifest").glob("manifest-*"):
        if not path.name.startswith("manifest-list"):
            entries = SessionContext().read_avro(str(path), file_extension="").to_arrow_table()
            found.update((entry["_FILE_NAME"], entry) for entry in entries["_FILE"].to_pylist())
    return found


def expected_rows(table: str, fields: tuple[t.Field, ...]) -> list[list[Any]]:
    """What Java reads, with floats of 32 bits in their shortest spelling."""
    rows = golden_expected(table)["rows"]
    return sorted_rows([[_spell(value, field.type) for value, field in zip(row, fields, strict=True)] for row in rows])


def _spell(value: Any, type: t.DataType) -> Any:
    return float(str(np.float32(value))) if isinstance(type, t.Float) and isinstance(value, float) else value
