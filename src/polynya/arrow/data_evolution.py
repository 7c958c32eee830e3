"""Tables whose files hold some of the columns: files of one range of row ids are read side by side.

Each column comes from the newest file of the range that wrote it; the files of a range have the same number of rows, so
rows meet by position. Deletion vectors belong to the oldest file of the range and count from its first row.
"""

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from polynya.arrow.file_rows import (
    ROW_TRACKING,
    DataFile,
    RowSource,
    files_of,
    naming_file,
    read_positions,
    read_vector,
    stored_fields,
)
from polynya.codec.bitmap import keep_mask
from polynya.errors import CorruptFileError, UnsupportedError
from polynya.model.arrow_types import to_arrow_schema
from polynya.model.predicate import TRUE
from polynya.model.types import Blob, Field
from polynya.table.plan import Split


def read_split(source: RowSource, split: Split, wanted: tuple[Field, ...]) -> Iterator[pa.RecordBatch]:
    """The rows of a split, range by range, with the wanted columns in order."""
    for field in wanted:
        if isinstance(field.type, Blob):
            raise UnsupportedError(
                f"column '{field.name}' of {source.storage.location}: BLOB columns are not supported"
            )
    sections = split.files["section"]
    for section in pc.unique(sections).to_pylist():
        group = [one for one in files_of(split.files.filter(pc.equal(sections, section))) if _holds_rows(one)]
        yield from _read_range(source, group, wanted)


def _holds_rows(file: DataFile) -> bool:
    """Whether the file holds columns of rows; large values in files of their own stand beside them."""
    return not file.file_name.endswith(".blob")


def _read_range(source: RowSource, group: list[DataFile], wanted: tuple[Field, ...]) -> Iterator[pa.RecordBatch]:
    newest_first = sorted(group, key=lambda file: file.max_sequence_number, reverse=True)
    anchor = newest_first[-1]
    with naming_file(source, anchor):
        if len({file.row_count for file in group}) != 1:
            raise CorruptFileError("the files of its range of row ids differ in their row count")
        vector = read_vector(source, anchor) if anchor.dv_file is not None else None
    sources = _columns_by_file(source, newest_first, wanted)
    readers = [_rows(source, replace(file, dv_file=None), fields) for file, fields in sources]
    for parts in zip(*readers, strict=True):
        start = parts[0][0]
        columns = {
            name: column for _, part in parts for name, column in zip(part.schema.names, part.columns, strict=True)
        }
        batch = pa.RecordBatch.from_arrays([columns[field.name] for field in wanted], schema=to_arrow_schema(wanted))
        yield batch if vector is None else batch.filter(keep_mask(vector, start, batch.num_rows))


def _columns_by_file(
    source: RowSource, newest_first: list[DataFile], wanted: tuple[Field, ...]
) -> list[tuple[DataFile, tuple[Field, ...]]]:
    """Which file gives which columns; a column that none has is null, and the oldest file gives that."""
    chosen: dict[str, DataFile] = {}
    for file in newest_first:
        ids = {field.id for field in stored_fields(source, file)}
        for field in wanted:
            if field.id in ids and field not in ROW_TRACKING:
                chosen.setdefault(field.name, file)
    for field in wanted:
        chosen.setdefault(field.name, newest_first[-1] if field.name != "_SEQUENCE_NUMBER" else newest_first[0])
    givers = list(dict.fromkeys(chosen.values()))
    return [(file, tuple(field for field in wanted if chosen[field.name] is file)) for file in givers]


def _rows(source: RowSource, file: DataFile, fields: tuple[Field, ...]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of a file in batches of a fixed number of rows, so that the files of a range keep step."""
    count = source.batch_size.wide_rows
    start, held = 0, to_arrow_schema(fields).empty_table()
    with naming_file(source, file):
        for _, batch in read_positions(source, file, fields, TRUE):
            held = pa.concat_tables([held, pa.Table.from_batches([batch])])
            while held.num_rows >= count:
                yield start, held.slice(0, count).combine_chunks().to_batches()[0]
                start, held = start + count, held.slice(count)
    if held.num_rows:
        yield start, held.combine_chunks().to_batches()[0]
