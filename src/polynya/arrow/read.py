"""Rows of a plan as Arrow batches.

A raw file is read, thinned out by its deletion vector, brought to the table's schema and filtered. A section that needs
a merge is read as sorted runs; only conditions on the key go below the merge, the whole filter is applied after it.

The reader is plain data but for the store, so that a plan can be carried out by another process.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, islice, pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polynya.arrow import data_evolution, file_rows
from polynya.arrow.batches import make_batch
from polynya.arrow.budget import default_budget_bytes, raw_batches, run_batches, stream_bytes
from polynya.arrow.files import BatchSize
from polynya.arrow.files.conform import conform
from polynya.arrow.key_range import read_range
from polynya.arrow.merge import required_columns
from polynya.arrow.prefetch import Stream, read_ahead
from polynya.arrow.runs import section_runs
from polynya.arrow.sorted_runs import merge_runs
from polynya.errors import CorruptFileError, NotFoundError
from polynya.model import bind, evaluate, projection
from polynya.model.arrow_types import to_arrow_schema
from polynya.model.merge_spec import Engine, MergeSpec, merge_spec
from polynya.model.options_data import DATA_EVOLUTION_ENABLED
from polynya.model.options_keys import CHANGELOG_PRODUCER, DELETION_VECTORS_ENABLED, FORCE_LOOKUP, MERGE_ENGINE
from polynya.model.predicate import AlwaysTrue, Path, Predicate
from polynya.model.schema import ROW_ID, SEQUENCE_NUMBER, VALUE_KIND, Schema
from polynya.model.types import Field
from polynya.storage.protocol import Storage
from polynya.table.key_ranges import range_of
from polynya.table.plan import Plan, Split

PIECE_BYTES = 4 * 2**20  # what is worth a turn of its own when several are read at once
ADD_KINDS = pa.array([0, 2], pa.int8())  # +I and +U
WHOLE_ROW_ENGINES = (Engine.DEDUPLICATE, Engine.FIRST_ROW)


@dataclass(frozen=True)
class Reader:
    """How the rows of one plan are read: the columns in order, the filter, the schemas of the files."""

    storage: Storage
    schema: Schema
    file_schemas: Mapping[int, Schema]
    columns: tuple[str, ...]
    predicate: Predicate = field(default_factory=AlwaysTrue)
    budget_bytes: int = 0
    snapshot_id: int | None = None  # named in errors
    batch_size: BatchSize = field(default_factory=BatchSize)

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns of the result; row tracking columns may be asked for by name."""
        return projection.narrow(self._known, self._paths)

    @property
    def wanted(self) -> tuple[Field, ...]:
        """The columns of the result with what only the filter looks at."""
        looked_at = (projection.leaf_of(path, self.schema.fields) for path in sorted(bind.columns(self.predicate)))
        return projection.narrow(self._known, (*self._paths, *looked_at))

    @property
    def _known(self) -> tuple[Field, ...]:
        return (*self.schema.fields, ROW_ID, SEQUENCE_NUMBER)

    @property
    def _paths(self) -> list[Path]:
        return [projection.path_of(name, self._known) for name in self.columns]

    @property
    def arrow_schema(self) -> pa.Schema:
        """The Arrow schema of the result."""
        return to_arrow_schema(self.fields)

    def batches(self, split: Split) -> Iterator[pa.RecordBatch]:
        """The rows of a split before the filter, with at least the columns that are wanted."""
        held = _held_fields(self, split)
        if DATA_EVOLUTION_ENABLED.of(self.schema.options):
            return data_evolution.read_split(self, split, held)
        return _read_raw(self, split, held) if split.raw else _read_merged(self, split, held)


def reader_of(plan: Plan, storage: Storage, file_schemas: Mapping[int, Schema], budget_bytes: int | None) -> Reader:
    """The reader of a plan; without a budget, the one that suits this machine."""
    predicate = plan.predicate if plan.predicate is not None else AlwaysTrue()
    budget = budget_bytes if budget_bytes is not None else default_budget_bytes()
    snapshot_id = plan.snapshot.id if plan.snapshot is not None else None
    return Reader(storage, plan.schema, file_schemas, plan.columns, predicate, budget, snapshot_id)


def read_plan(reader: Reader, plan: Plan) -> Iterator[pa.RecordBatch]:
    """All rows of the plan in order, read ahead on all cores; `arrow.budget` says what the budget holds."""
    pieces = (piece for split in plan.splits for piece in _pieces(reader, split))
    first = list(islice(pieces, os.cpu_count() or 1))
    workers = max(1, len(first))
    share = replace(reader, budget_bytes=stream_bytes(reader.budget_bytes, workers))
    streams = (_stream(share, piece) for piece in chain(first, pieces))
    batches = read_ahead(streams, workers=workers, budget_bytes=share.budget_bytes * workers)
    return batches if plan.limit is None else _first_rows(batches, plan.limit)


def _pieces(reader: Reader, split: Split) -> Iterator[Split]:
    """The split cut into parts that can be read at the same time: some of its files, or of its sections."""
    if split.size_bytes < PIECE_BYTES or DATA_EVOLUTION_ENABLED.of(reader.schema.options):
        yield split
        return
    ends = np.cumsum(split.files["file_size"].to_numpy()) - 1
    sections = split.files["section"].to_numpy()
    starts = np.flatnonzero(np.diff(sections, prepend=sections[0] - 1))
    starts = starts[np.diff(ends[starts] // PIECE_BYTES, prepend=-1) != 0]
    for start, end in pairwise((*starts.tolist(), split.file_count)):
        yield replace(split, files=split.files.slice(start, end - start))


def read_split(reader: Reader, split: Split) -> Iterator[pa.RecordBatch]:
    """The rows of one split; errors about a file name the snapshot too."""
    try:
        yield from _read_split(reader, split)
    except (CorruptFileError, NotFoundError) as error:
        raise type(error)(f"snapshot {reader.snapshot_id} of {error}") from error


def _read_split(reader: Reader, split: Split) -> Iterator[pa.RecordBatch]:
    fields = reader.fields
    reader = replace(reader, batch_size=raw_batches(reader.budget_bytes))
    for batch in reader.batches(split):
        # what only the filter or the merge looked at goes before rows are copied
        columns = [conform(batch[one.name], one.type, one.name) for one in fields]
        rows = make_batch(columns, fields, batch.num_rows)
        if not isinstance(reader.predicate, AlwaysTrue):
            rows = rows.filter(evaluate.mask(reader.predicate, batch))
        if rows.num_rows:
            yield rows


def _held_fields(reader: Reader, split: Split) -> tuple[Field, ...]:
    """The columns to read, nested ones pruned; engines that combine rows must see their columns whole."""
    if split.raw or Engine(MERGE_ENGINE.of(reader.schema.options)) in WHOLE_ROW_ENGINES:
        return reader.wanted
    return tuple(reader.schema.find(one.name) or one for one in reader.wanted)


def _stream(reader: Reader, split: Split) -> Stream:
    return lambda: read_split(reader, split)


def _read_raw(reader: Reader, split: Split, wanted: tuple[Field, ...]) -> Iterator[pa.RecordBatch]:
    """The files one after the other; rows of a primary-key table that are deletes are dropped wherever they stand."""
    has_key = bool(reader.schema.primary_key)
    if has_key:
        wanted = (*wanted, VALUE_KIND)
    for file in file_rows.files_of(split.files):
        for batch in file_rows.read(reader, file, wanted, reader.predicate):
            if has_key:
                batch = batch.filter(pc.is_in(batch[VALUE_KIND.name], ADD_KINDS))
            yield batch


def _read_merged(reader: Reader, split: Split, held: tuple[Field, ...]) -> Iterator[pa.RecordBatch]:
    spec = merge_spec(reader.schema)
    names = [one.name for one in held]
    others = (name for name in required_columns(spec, names) if name not in names)
    wanted = (SEQUENCE_NUMBER, VALUE_KIND, *held, *reader.schema.select(others))
    sections = split.files["section"]
    for section in pc.unique(sections).to_pylist():
        files = split.files.filter(pc.equal(sections, section))
        yield from _read_section(reader, files, wanted, spec)


def _read_section(
    reader: Reader, files: pa.Table, wanted: tuple[Field, ...], spec: MergeSpec
) -> Iterator[pa.RecordBatch]:
    on_key = bind.project(reader.predicate, reader.schema.trimmed_primary_key)
    runs = section_runs(files, reader.schema)
    reader = replace(reader, batch_size=run_batches(reader.budget_bytes, len(runs)))
    streams = [read_range(reader, run.files, wanted, on_key, range_of(files)) for run in runs]
    levels = [run.level for run in runs] if spec_looks_up(reader.schema) else None
    return merge_runs(streams, spec, budget_bytes=reader.budget_bytes, levels=levels)


def spec_looks_up(schema: Schema) -> bool:
    """Whether records above level 0 already contain what lies below them: tables that compact with a lookup."""
    options = schema.options
    return (
        CHANGELOG_PRODUCER.of(options) == "lookup" or DELETION_VECTORS_ENABLED.of(options) or FORCE_LOOKUP.of(options)
    )


def _first_rows(batches: Iterator[pa.RecordBatch], limit: int) -> Iterator[pa.RecordBatch]:
    left = limit
    for batch in batches:
        if left <= 0:
            return
        yield batch.slice(0, left)
        left -= batch.num_rows
