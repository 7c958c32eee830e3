"""How wide the rows of a Parquet file are in Arrow memory, told before they are read.

The footer tells it of all columns but texts with a dictionary, which may be much longer than what is stored: of those
the first rows are looked at.
"""

from collections.abc import Sequence

import pyarrow.parquet as pq

from polynya.arrow.files.protocol import BatchSize

_VALUE_BYTES = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "FIXED_LEN_BYTE_ARRAY": 16}
_OTHER_VALUE_BYTES = 8
_FIRST_ROWS = 64


def batch_rows(file: pq.ParquetFile, leaves: Sequence[int], row_groups: Sequence[int], size: BatchSize) -> int:
    """How many rows of the row groups make a batch of that size, if they are like those of the first row group."""
    if not leaves or not row_groups or size.rows == size.wide_rows:
        return size.rows
    group = file.metadata.row_group(row_groups[0])
    if group.num_rows <= 0:
        return size.rows
    texts = [leaf for leaf in leaves if _is_coded_text(group.column(leaf))]
    others = [leaf for leaf in leaves if leaf not in texts]
    row_bytes = sum(_stored_bytes(group.column(leaf)) for leaf in others) / group.num_rows
    if texts:
        stored = sum(_stored_bytes(group.column(leaf)) for leaf in texts) / group.num_rows
        row_bytes += max(stored, _seen_row_bytes(file, row_groups[0], texts))
    return size.fitting_rows(row_bytes)


def _stored_bytes(column: pq.ColumnChunkMetaData) -> int:
    width = _VALUE_BYTES.get(column.physical_type, _OTHER_VALUE_BYTES)
    return max(int(column.total_uncompressed_size), int(column.num_values) * width)


def _is_coded_text(column: pq.ColumnChunkMetaData) -> bool:
    return bool(column.physical_type == "BYTE_ARRAY" and column.has_dictionary_page)


def _seen_row_bytes(file: pq.ParquetFile, row_group: int, leaves: list[int]) -> float:
    rows = next(file.reader.iter_batches(_FIRST_ROWS, [row_group], leaves, use_threads=False), None)
    return float(rows.nbytes / rows.num_rows) if rows is not None and rows.num_rows else 0.0
