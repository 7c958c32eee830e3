"""Pruning by the file indexes that manifests carry: bloom filters, bitmaps and the like, file by file.

Only files that every cheaper test has left are asked. An index beside its file is asked when the file is read.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from polynya.model.evolve_predicate import evolve_predicate
from polynya.model.options_data import FILE_INDEX_READ_ENABLED
from polynya.model.predicate import AlwaysTrue, Predicate
from polynya.model.schema import Schema
from polynya.paimon import file_index

Mask = npt.NDArray[np.bool_]


def indexes_may_match(
    files: pa.Table, predicate: Predicate, schema: Schema, schema_of: Callable[[int], Schema]
) -> Mask:
    """Which files may hold a row that the predicate allows, as far as their embedded indexes tell."""
    keep = np.ones(files.num_rows, bool)
    indexed = np.flatnonzero(np.asarray(pc.is_valid(files["embedded_file_index"])))
    if not len(indexed) or not FILE_INDEX_READ_ENABLED.of(schema.options):
        return keep
    asked = files.select(["embedded_file_index", "schema_id", "row_count", "file_name"]).take(pa.array(indexed))
    for at, row in zip(indexed.tolist(), asked.to_pylist(), strict=True):
        written = schema if row["schema_id"] == schema.id else schema_of(row["schema_id"])
        keep[at] = may_match(row["embedded_file_index"], predicate, schema, written, row["row_count"], row["file_name"])
    return keep


def may_match(
    data: bytes, predicate: Predicate, schema: Schema, written: Schema, row_count: int, file_name: str
) -> bool:
    """Whether a file of the schema `written` may hold a matching row, by the index in `data`."""
    local = evolve_predicate(predicate, schema.fields, written.fields)
    if isinstance(local, AlwaysTrue):
        return True
    result = file_index.evaluate(file_index.decode(data, f"index of {file_name}"), local, written.fields, row_count)
    return result is file_index.REMAIN or (result is not file_index.SKIP and bool(result))
