"""Which way each file of an Iceberg table is read: by Spark's own scan, or by our reader in a Python worker.

Spark's scan finds columns by name. So it is for Parquet files on a local disk without deletes, and for columns that
have had one name and one type in all schemas of the table, which no other column ever had, and no default. A name
mapping, by which files without ids are read, must know them by that name alone, and they must be no partition columns,
which such files may lack. Everything else goes to Python, with the reason.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polynya.arrow.iceberg_read import IcebergReader
from polynya.iceberg.name_mapping import MappedField
from polynya.model import types as t
from polynya.spark.ways import PLAIN_NAME, NativeGroup, Ways

_ALIKE: tuple[type[t.DataType], ...] = (
    t.Boolean,
    t.Int,
    t.BigInt,
    t.Float,
    t.Double,
    t.Decimal,
    t.VarChar,
    t.VarBinary,
    t.Date,
)


def choose(files: pa.Table, reader: IcebergReader, wanted: tuple[t.Field, ...]) -> Ways:
    """The way of each file of a plan that reads the wanted columns."""
    everywhere = _column_reason(reader, wanted)
    if everywhere is not None or not files.num_rows:
        return Ways((), files, {everywhere: files.num_rows} if everywhere and files.num_rows else {})
    names = pc.replace_substring_regex(files["file_name"], r"^.*/", "")
    masks = {
        "deletes": pc.is_valid(files["dv_file"]),
        "formats other than Parquet": pc.not_equal(files["file_format"], "parquet"),
        "file names that Spark would encode": pc.invert(pc.match_substring_regex(names, PLAIN_NAME)),
    }
    is_python, reasons = np.zeros(files.num_rows, bool), dict[str, int]()
    for reason, mask in masks.items():
        own = np.asarray(mask) & ~is_python
        is_python |= own
        reasons |= {reason: int(own.sum())} if own.any() else {}
    native = _placed(files.filter(pa.array(~is_python)), reader)
    groups = (NativeGroup("parquet", reader.schema.id, False, native),) if native.num_rows else ()
    return Ways(groups, files.filter(pa.array(is_python)), reasons)


def _column_reason(reader: IcebergReader, wanted: tuple[t.Field, ...]) -> str | None:
    if reader.storage.local_path("") is None:
        return "not on a local disk"
    for one in wanted:
        if reader.mapping is not None and not _is_mapped_by_name(one, reader.mapping):
            return f"column '{one.name}' has other names in the name mapping"
        if reader.mapping is not None and any(one.id in of for of in reader.identities.values()):
            return f"partition column '{one.name}', which files of a name mapping may lack"
        if one.id not in reader.named_ids:
            return f"column '{one.name}' has a default, or had another name or type"
        if not _is_alike(one.type):
            return f"column '{one.name}' has a type that Spark stores otherwise"
    return None


def _is_mapped_by_name(column: t.Field, mapping: Sequence[MappedField]) -> bool:
    """Whether the mapping finds the column, and no other, under its own name."""
    near = [one for one in mapping if one.field_id == column.id or column.name.lower() in map(str.lower, one.names)]
    return len(near) == 1 and near[0].field_id == column.id and near[0].names == (column.name,)


def _is_alike(type: t.DataType) -> bool:
    if isinstance(type, (t.Timestamp, t.LocalTimestamp)):
        return type.precision <= 6
    return isinstance(type, _ALIKE)


def _placed(files: pa.Table, reader: IcebergReader) -> pa.Table:
    """The files with their folders on the local disk, and their names in these."""
    root = reader.storage.local_path("") or ""
    parts = {"folder": r"/?[^/]*$", "file_name": r"^.*/"}
    made: Mapping[str, pa.ChunkedArray] = {
        name: pc.replace_substring_regex(files["file_name"], pattern, "") for name, pattern in parts.items()
    }
    inside = pc.binary_join_element_wise(root.rstrip("/"), made["folder"], "/")
    folder = pc.if_else(pc.starts_with(made["folder"], "/"), made["folder"], inside)
    placed = files.set_column(files.schema.get_field_index("file_name"), "file_name", made["file_name"])
    return placed.append_column("folder", folder)
