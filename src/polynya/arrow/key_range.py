"""Rows of a sorted run that lie in a key range."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from polynya.arrow import file_rows
from polynya.arrow.file_rows import RowSource
from polynya.arrow.sorted_runs import Key, count_through, key_at
from polynya.codec import binary_rows
from polynya.model.arrow_types import to_arrow_type
from polynya.model.predicate import Compare, Op, Predicate, all_of
from polynya.model.types import Field
from polynya.table.key_ranges import KeyRange


def read_range(
    source: RowSource, run: pa.Table, wanted: tuple[Field, ...], predicate: Predicate, keys: KeyRange
) -> Iterator[pa.RecordBatch]:
    """The rows of the files of one run that lie in a key range; the wanted columns include the key."""
    if keys.is_whole:
        return file_rows.read_run(source, run, wanted, predicate)
    key = source.schema.key_fields
    return rows_within(file_rows.read_run(source, run, wanted, narrowed(predicate, keys, key)), keys, key)


def rows_within(batches: Iterator[pa.RecordBatch], range: KeyRange, key: Sequence[Field]) -> Iterator[pa.RecordBatch]:
    """The rows of the range, of a run that is sorted by the key; behind the range nothing more is read."""
    names = [field.name for field in key]
    after, through = (_key(bound, key) for bound in (range.after, range.through))
    for batch in batches:
        start = count_through(batch, after, names) if after is not None else 0
        end = count_through(batch, through, names) if through is not None else batch.num_rows
        if end > start:
            yield batch.slice(start, end - start)
        if end < batch.num_rows:
            return


def narrowed(predicate: Predicate, range: KeyRange, key: Sequence[Field]) -> Predicate:
    """The predicate, and what the range says of the first column of the key: so parts of a file are skipped."""
    bounds = ((Op.GE, range.after), (Op.LE, range.through))
    parts = [Compare(op, (key[0].name,), _columns(bound, key)[0][0]) for op, bound in bounds if bound is not None]
    return all_of(predicate, *parts)


def _key(bound: bytes | None, key: Sequence[Field]) -> Key | None:
    if bound is None:
        return None
    names = [field.name for field in key]
    return key_at(pa.RecordBatch.from_arrays(_columns(bound, key), names=names), 0, names)


def _columns(bound: bytes, key: Sequence[Field]) -> list[pa.Array]:
    types = [to_arrow_type(field.type) for field in key]
    return binary_rows.decode_rows(pa.array([bound], pa.binary()), types, name="key of a manifest entry")
