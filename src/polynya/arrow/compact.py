"""Carrying out one compaction task: files in, files out, an edit as the answer.

Rows are read section by section and merged with bounded memory. They keep their sequence numbers and kinds. When
something fails, the files that were begun are deleted: no commit knows them yet.
"""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polynya.arrow import file_rows
from polynya.arrow.append_writer import AppendWriter
from polynya.arrow.budget import raw_batches, run_batches
from polynya.arrow.file_sink import Place
from polynya.arrow.file_spec import COMPACT_SOURCE, file_spec
from polynya.arrow.files import BatchSize
from polynya.arrow.key_range import read_range
from polynya.arrow.key_writer import SortedFileWriter, key_file_spec
from polynya.arrow.merge import merge_spec
from polynya.arrow.runs import section_runs
from polynya.arrow.sorted_runs import merge_runs
from polynya.arrow.vector_files import read_vectors, vector_paths, write_vectors
from polynya.arrow.write import entries_table
from polynya.errors import StorageError
from polynya.model import evaluate
from polynya.model.arrow_types import to_arrow_schema, to_arrow_type
from polynya.model.bucket_mode import BucketMode, bucket_mode
from polynya.model.predicate import AlwaysTrue
from polynya.model.schema import SEQUENCE_NUMBER, VALUE_KIND, Schema
from polynya.model.types import Field
from polynya.paimon import index_manifest, layout, manifest
from polynya.storage.protocol import Storage
from polynya.table import row_ids
from polynya.table.compaction import CompactionTask, StepRules, Steps, steps_of
from polynya.table.conflict import key_ranks
from polynya.table.edit import Edit
from polynya.table.entries import ADD, DELETE, with_kind
from polynya.table.key_ranges import KeyRange
from polynya.table.paths import data_paths
from polynya.table.record_expiry import expired_rows

BUDGET_BYTES = 512 * 2**20
ALL_KEYS = KeyRange()
IS_DEEPER = -(2**63)  # the sequence number of keys that lie below the output: older than every row


def new_uuid() -> str:
    """A name for new files."""
    return str(uuid.uuid4())


@dataclass(frozen=True)
class Compactor:
    """How tasks of one table are carried out; plain data but for the store, so that a worker can be told.

    `file_schemas` are the schemas of all files of the tasks by id; `now_ms` is the local wall clock.
    """

    storage: Storage
    schema: Schema
    file_schemas: Mapping[int, Schema]
    now_ms: int
    budget_bytes: int = BUDGET_BYTES
    batch_size: BatchSize = field(default_factory=BatchSize)
    new_uuid: Callable[[], str] = new_uuid


def run(compactor: Compactor, task: CompactionTask) -> Edit:
    """Carry the task out and return what it changes; nothing is visible until that is committed."""
    return _run_keys(compactor, task) if compactor.schema.primary_key else _run_append(compactor, task)


def discard(storage: Storage, schema: Schema, edit: Edit) -> None:
    """Delete the files that an edit adds; only for edits that no commit refers to."""
    added, deleted = edit.added, edit.deleted
    new = added.filter(pc.invert(pc.is_in(added["file_name"], deleted["file_name"].combine_chunks())))
    new_index = edit.index.filter(pc.equal(edit.index["kind"], ADD))
    discard_files(storage, schema, new, vector_paths(new_index, schema))


def discard_files(storage: Storage, schema: Schema, files: pa.Table, others: Sequence[str] = ()) -> None:
    """Delete data files with what stands beside them, and others; only what no commit refers to."""
    paths = data_paths(files, schema).to_pylist() if files.num_rows else []
    folders = [path.rpartition("/")[0] for path in paths]
    beside = zip(folders, files["extra_files"].to_pylist(), strict=True)
    extra = [f"{folder}/{name}" for folder, names in beside for name in names or ()]
    try:
        storage.delete([*paths, *extra, *others])
    except StorageError:
        return  # nothing refers to these files; orphan cleaning finds them


def _run_keys(compactor: Compactor, task: CompactionTask) -> Edit:
    steps = key_steps(compactor, task)
    written: list[pa.Table] = []
    with ExitStack() as unless_written:
        for files in steps.rewrites:
            written.append(rewrite(compactor, task, files))
            unless_written.callback(discard_files, compactor.storage, compactor.schema, written[-1])
        unless_written.pop_all()
    return key_edit(task, steps, written)


def key_steps(compactor: Compactor, task: CompactionTask) -> Steps:
    """How a task of a primary-key table is carried out."""
    return steps_of(task, StepRules(compactor.schema, compactor.file_schemas.__getitem__, compactor.now_ms))


def rewrite(compactor: Compactor, task: CompactionTask, files: pa.Table, keys: KeyRange = ALL_KEYS) -> pa.Table:
    """Write the rows of one of the task's rewrites that lie in a key range anew, and return the entries."""
    spec = key_file_spec(compactor.storage, compactor.schema, level=task.output_level, source=COMPACT_SOURCE)
    spec = replace(spec, buffer_bytes=compactor.budget_bytes // 4)
    writer = SortedFileWriter(spec, place_of(task), compactor.new_uuid)
    with ExitStack() as unless_written:
        unless_written.callback(give_up, compactor.storage, writer)
        writer.write(_merged(compactor, task, files, keys))
        writer.roll()
        unless_written.pop_all()
    return entries_table(writer.entries)


def key_edit(task: CompactionTask, steps: Steps, written: Sequence[pa.Table]) -> Edit:
    """What a task of a primary-key table changes, once all its rewrites are written."""
    rewritten = pa.concat_tables([task.files.slice(0, 0), *(one.drop_columns("section") for one in steps.rewrites)])
    gone = pa.concat_tables([rewritten, steps.upgraded])
    raised = _at_level(_entries(steps.upgraded), task.output_level)
    return edit_of(gone, pa.concat_tables([raised, *written]))


def _merged(compactor: Compactor, task: CompactionTask, files: pa.Table, keys: KeyRange) -> Iterator[pa.RecordBatch]:
    """The rows of a rewrite that lie in a key range, in key order, one for each key."""
    schema = compactor.schema
    wanted = (SEQUENCE_NUMBER, VALUE_KIND, *schema.fields)
    spec = merge_spec(schema)
    reading_bytes = compactor.budget_bytes // 2  # the writer has the rest
    for section in pc.unique(files["section"]).to_pylist():
        part = files.filter(pc.equal(files["section"], section))
        runs = section_runs(part, schema)
        below = section_runs(_overlapping(task.deeper, part, schema), schema) if task.deeper is not None else []
        reader = replace(compactor, batch_size=run_batches(reading_bytes, len(runs) + len(below)))
        streams = [
            *(_unexpired(reader, read_range(reader, run.files, wanted, AlwaysTrue(), keys)) for run in runs),
            *(_keys_below(reader, run.files, wanted, keys) for run in below),
        ]
        keeps_deletes = not task.drops_deletes
        batches = merge_runs(streams, spec, budget_bytes=reading_bytes, keep_deletes=keeps_deletes)
        yield from batches if task.deeper is None else _without_deeper(batches)


def _unexpired(compactor: Compactor, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    expired = expired_rows(compactor.schema, compactor.now_ms)
    for batch in batches:
        yield batch if expired is None else batch.filter(pc.invert(evaluate.mask(expired, batch)))


def _keys_below(
    compactor: Compactor, files: pa.Table, wanted: tuple[Field, ...], keys: KeyRange
) -> Iterator[pa.RecordBatch]:
    """The keys of deeper files as the oldest records there can be; other columns are null."""
    fields = compactor.schema.key_fields
    for batch in read_range(compactor, files, fields, AlwaysTrue(), keys):
        known = {
            **{field.name: batch[field.name] for field in fields},
            SEQUENCE_NUMBER.name: pa.array(np.full(batch.num_rows, IS_DEEPER)),
            VALUE_KIND.name: pa.array(np.zeros(batch.num_rows, np.int8)),
        }
        schema = to_arrow_schema(wanted)
        columns = [known[one.name] if one.name in known else pa.nulls(batch.num_rows, one.type) for one in schema]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _overlapping(files: pa.Table, others: pa.Table, schema: Schema) -> pa.Table:
    """The files whose keys reach into the range of the others."""
    names = ["min_key", "max_key"]
    both = pa.concat_tables([others.select(names), files.select(names)])
    low, high = key_ranks(both, [to_arrow_type(field.type) for field in schema.key_fields])
    count = others.num_rows
    reaches = (low[count:] <= high[:count].max()) & (high[count:] >= low[:count].min())
    return files.filter(pa.array(reaches))


def _without_deeper(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.filter(pc.not_equal(batch[SEQUENCE_NUMBER.name], IS_DEEPER))


def _run_append(compactor: Compactor, task: CompactionTask) -> Edit:
    schema = compactor.schema
    fields = row_ids.fields_with_ids(schema)
    spec = replace(
        file_spec(compactor.storage, schema, fields=fields, source=COMPACT_SOURCE),
        buffer_bytes=compactor.budget_bytes // 4,
    )
    reader = replace(compactor, batch_size=raw_batches(compactor.budget_bytes // 2))
    first = task.files["min_sequence_number"][0].as_py()
    writer = AppendWriter(spec, place_of(task), compactor.new_uuid, first)
    with ExitStack() as unless_written:
        unless_written.callback(give_up, compactor.storage, writer)
        for batch in file_rows.read_run(reader, task.files, fields, AlwaysTrue()):
            writer.write(batch)
        writer.roll()
        index = index_without(compactor, task)
        unless_written.pop_all()
    return edit_of(task.files, entries_table(writer.entries), index)


def index_without(compactor: Compactor, task: CompactionTask) -> pa.Table:
    """The index change: the vectors of the task's files go, those that stand beside them stay."""
    if task.index.num_rows == 0:
        return index_manifest.empty()
    gone = set(task.files["file_name"].to_pylist())
    left = read_vectors(compactor.storage, task.index, compactor.schema)
    left = {name: vector for name, vector in left.items() if name not in gone}
    in_one_file = bucket_mode(compactor.schema) is not BucketMode.UNAWARE
    place = (task.partition, task.bucket)
    added = write_vectors(
        compactor.storage, compactor.schema, place, left, uuid=compactor.new_uuid(), in_one_file=in_one_file
    )
    return pa.concat_tables([with_kind(task.index, DELETE), added])


def edit_of(gone: pa.Table, added: pa.Table, index: pa.Table | None = None) -> Edit:
    """The edit that takes the files of a task away and adds new entries."""
    files = pa.concat_tables([with_kind(_entries(gone), DELETE), added])
    return Edit(files, index=index if index is not None else index_manifest.empty())


def _entries(files: pa.Table) -> pa.Table:
    """Only what a manifest holds of the files."""
    return files.select(manifest.SCHEMA.names)


def _at_level(entries: pa.Table, level: int) -> pa.Table:
    index = entries.schema.get_field_index("level")
    return entries.set_column(index, "level", pa.array(np.full(entries.num_rows, level, np.int32)))


def place_of(task: CompactionTask) -> Place:
    """Where the files of a task go."""
    return Place(task.partition, task.bucket, task.total_buckets)


def give_up(storage: Storage, writer: SortedFileWriter | AppendWriter) -> None:
    """Delete what the writer has begun."""
    writer.abort()
    try:
        storage.delete([*writer.names, *map(layout.file_index_name, writer.names)])
    except StorageError:
        return  # nothing refers to these files; orphan cleaning finds them
