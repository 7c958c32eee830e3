"""The part of a row change that looks at rows: where they match, and what is written in their place.

It knows some files of a plan and nothing of the others, so that workers can share a plan. What it answers is small: the
manifest entries of new files, and for each touched file the positions that matched, as a bitmap.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from polynya.arrow import file_rows
from polynya.arrow.file_rows import DataFile
from polynya.arrow.read import Reader
from polynya.arrow.write import TableWriter, WriteSpec
from polynya.codec.bitmap import encode64, from_positions, keep_mask, positions
from polynya.model import bind, evaluate
from polynya.model.options_keys import DELETION_VECTORS_ENABLED
from polynya.model.predicate import AlwaysTrue
from polynya.model.schema import ROW_ID

TOUCHED = pa.schema([("file_name", pa.string()), ("rows", pa.binary())])

Ints = npt.NDArray[np.int64]
Assign = Callable[[pa.RecordBatch], pa.RecordBatch]  # rows of the table to rows of the table
NewUuid = Callable[[], str]


@dataclass(frozen=True)
class FileWork:
    """What a worker must know: how to read, how to write, and the new rows; None deletes those that match."""

    reader: Reader
    spec: WriteSpec
    assign: Assign | None

    @property
    def marks(self) -> bool:
        """Whether rows that match are marked in deletion vectors; else their files are written anew."""
        return DELETION_VECTORS_ENABLED.of(self.spec.schema.options)


@dataclass(frozen=True)
class Changed:
    """What became of some files: entries of the new ones, and what matched in the old ones."""

    added: pa.Table
    touched: pa.Table  # as TOUCHED: files without a match are not in it


def change_files(work: FileWork, files: pa.Table, new_uuid: NewUuid) -> Changed:
    """Find the matching rows of the files and write what comes in their place; deleted again when it fails."""
    writer = TableWriter(work.spec, new_uuid)
    with ExitStack() as unless_written:
        unless_written.callback(writer.abort)
        touched = dict(_touched(work.reader, files))
        for batch in _new_rows(work, touched):
            writer.write(batch)
        added = writer.finish()
        unless_written.pop_all()
    marks = [encode64(from_positions(rows, wide=True)) for rows in touched.values()]  # type: ignore[arg-type]  # is wide
    names = [file.file_name for file in touched]
    return Changed(added, pa.table([names, marks], schema=TOUCHED))


def _touched(reader: Reader, files: pa.Table) -> Iterator[tuple[DataFile, Ints]]:
    """The files with rows that match and are not deleted yet, and where these rows are."""
    names = dict.fromkeys(path[0] for path in bind.columns(reader.predicate))
    wanted = reader.schema.select(names or reader.schema.names[:1])  # a batch without columns has no rows to count

    def find(file: DataFile) -> Ints:
        found = [
            first_row + np.flatnonzero(evaluate.mask(reader.predicate, batch))
            for first_row, batch in file_rows.read_positions(reader, file, wanted, reader.predicate)
        ]
        rows: Ints = np.concatenate([np.array([], np.int64), *found])
        if file.dv_file is None or not len(rows):
            return rows
        deleted = positions(file_rows.read_vector(reader, file)).astype(np.int64)
        return rows[~np.isin(rows, deleted, assume_unique=True)]

    listed = file_rows.files_of(files)
    with ThreadPoolExecutor(thread_name_prefix="polynya-rows") as pool:
        for file, rows in zip(listed, pool.map(find, listed), strict=True):
            if len(rows):
                yield file, rows


def _new_rows(work: FileWork, touched: Mapping[DataFile, Ints]) -> Iterator[pa.RecordBatch]:
    if not work.marks:
        return _rewritten_rows(work, touched, work.assign)
    return _matching_rows(work, touched, work.assign) if work.assign is not None else iter(())


def _matching_rows(work: FileWork, touched: Mapping[DataFile, Ints], assign: Assign) -> Iterator[pa.RecordBatch]:
    """The rows that match as they are after the change."""
    for file, rows in touched.items():
        for batch, is_hit in _with_hits(work, file, rows):
            if is_hit.any():
                yield _assigned(assign, batch.filter(pa.array(is_hit)), work)


def _rewritten_rows(
    work: FileWork, touched: Mapping[DataFile, Ints], assign: Assign | None
) -> Iterator[pa.RecordBatch]:
    """All rows of the touched files as they are after the change."""
    for file, rows in touched.items():
        for batch, is_hit in _with_hits(work, file, rows):
            if assign is None:
                yield batch.filter(pa.array(~is_hit))
            elif is_hit.any():
                changed = _assigned(assign, batch.filter(pa.array(is_hit)), work)
                source = np.arange(batch.num_rows)
                source[is_hit] = batch.num_rows + np.arange(changed.num_rows)
                yield pa.concat_batches([batch, changed]).take(pa.array(source))
            else:
                yield batch


def _assigned(assign: Assign, rows: pa.RecordBatch, work: FileWork) -> pa.RecordBatch:
    """The rows after the change; those that have ids keep them, and wait for the sequence number of the commit."""
    names = work.spec.schema.names
    changed = assign(rows.select(names))
    if len(rows.schema) == len(names):
        return changed
    tracked = [rows[ROW_ID.name], pa.nulls(rows.num_rows, pa.int64())]
    return pa.RecordBatch.from_arrays([*changed.columns, *tracked], schema=rows.schema)


def _with_hits(work: FileWork, file: DataFile, rows: Ints) -> Iterator[tuple[pa.RecordBatch, npt.NDArray[np.bool_]]]:
    """The batches of a file, and which of their rows are among those given; rows deleted before are left out."""
    reader, fields = work.reader, work.spec.fields or work.spec.schema.fields
    vector = file_rows.read_vector(reader, file) if file.dv_file is not None else None
    for first_row, batch in file_rows.read_positions(reader, file, fields, AlwaysTrue()):
        inside = rows[np.searchsorted(rows, first_row) : np.searchsorted(rows, first_row + batch.num_rows)]
        is_hit = np.zeros(batch.num_rows, bool)
        is_hit[inside - first_row] = True
        if vector is not None:
            live = keep_mask(vector, first_row, batch.num_rows)
            batch, is_hit = batch.filter(live), is_hit[np.asarray(live)]
        yield batch, is_hit
