"""The indexes of one data file, built while its rows are written."""

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from polynya.model import types as t
from polynya.paimon.file_index.container import encode
from polynya.paimon.file_index.kinds import KINDS
from polynya.paimon.file_index.plan import ColumnIndex, index_options


class IndexWriter:
    """Builds all indexes of a file; every row of the file is added once, in order."""

    def __init__(self, plan: Sequence[ColumnIndex]) -> None:
        self._plan = plan
        self._writers = [KINDS[index.kind].open_writer(index.type, index.settings) for index in plan]
        self._row_count = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Add the next rows of the file."""
        self._row_count += batch.num_rows
        for index, writer in zip(self._plan, self._writers, strict=True):
            writer.add(_values(batch.column(index.column), index.map_key))

    def finish(self) -> bytes:
        """The container of all indexes."""
        return encode(self.bodies())

    def bodies(self) -> dict[str, dict[str, bytes | None]]:
        """The body of each index by column and kind; None for that of a map key over no row."""
        columns: dict[str, dict[str, bytes | None]] = {}
        for index, writer in zip(self._plan, self._writers, strict=True):
            is_empty = index.map_key is not None and not self._row_count
            columns.setdefault(index.name, {})[index.kind] = None if is_empty else writer.finish()
        return columns


def open_index_writer(fields: Sequence[t.Field], options: Mapping[str, str]) -> IndexWriter | None:
    """A writer of the indexes that the options ask for; None when they ask for none."""
    plan = index_options(options, fields)
    return IndexWriter(plan) if plan else None


def build(kind: str, arrays: pa.Array | Iterable[pa.Array], type: t.DataType, settings: Mapping[str, str]) -> bytes:
    """The body of one index over a column."""
    writer = KINDS[kind].open_writer(type, settings)
    for array in [arrays] if isinstance(arrays, pa.Array) else arrays:
        writer.add(array)
    return writer.finish()


def _values(column: pa.Array, map_key: str | None) -> pa.Array:
    """The column, or the value of one key in each of its maps, null where a map is null or lacks the key."""
    if map_key is None:
        return column
    return pc.map_lookup(column, pa.scalar(map_key, column.type.key_type), "first")
