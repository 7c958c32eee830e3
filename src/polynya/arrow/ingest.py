"""One write without Spark: rows in, a commit out.

The rows are checked, routed and written; then the files are committed. When the commit does not come to pass, the files
are deleted, unless its outcome is unknown.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from polynya.arrow import shared_write
from polynya.arrow.compact_table import compact_after_write
from polynya.arrow.incoming import Rows, batches_of, check_columns, conform
from polynya.arrow.write import TableWriter, WriteSpec
from polynya.errors import InvalidInputError
from polynya.model import partition as partitions
from polynya.model.options_data import DYNAMIC_PARTITION_OVERWRITE, OVERWRITE_UPGRADE
from polynya.model.schema import VALUE_KIND, Schema
from polynya.paimon.snapshot import CommitKind, Snapshot
from polynya.table.bucket_state import BucketState, read_bucket_state
from polynya.table.commit import Author, Commit, Target, find_repeated
from polynya.table.compaction import upgraded
from polynya.table.edit import Change, Edit, Overwrite
from polynya.table.paths import partition_names

KINDS = {"+I": 0, "-U": 1, "+U": 2, "-D": 3}


@dataclass(frozen=True)
class WriteRequest:
    """How rows are to be written."""

    overwrite: bool = False
    partition: Mapping[str, partitions.SpecValue] | None = None
    rowkind: str | None = None
    author: Author | None = None


def write(target: Target, snapshot: Snapshot | None, data: Rows, request: WriteRequest) -> Commit:
    """Write the rows and commit them; a commit that was made before is answered without writing."""
    kind = CommitKind.OVERWRITE if request.overwrite else CommitKind.APPEND
    done = find_repeated(target.root, request.author, kind) if request.author is not None else None
    if done is not None:
        return done
    spec = overwritten_spec(target.schema, request)
    batches: Iterator[pa.RecordBatch] = (prepared(batch, target.schema, request, spec) for batch in batches_of(data))
    if _may_share_files(target, data, request):
        rows = list(batches)
        if shared_write.is_small(rows):
            return shared_write.write(target, pa.Table.from_batches(rows))
        batches = iter(rows)
    buckets = bucket_state(target, snapshot, request)
    writer = TableWriter(WriteSpec(target.root.storage, target.schema, buckets), target.surroundings.new_uuid)
    files = writer.write_all(batches)
    if request.overwrite and target.schema.primary_key and OVERWRITE_UPGRADE.of(target.schema.options):
        files = upgraded(files, target.schema)
    change = Change(
        append=Edit(files),
        overwrite=overwrite_of(files, target.schema, request, spec),
        based_on=snapshot.id if snapshot is not None else 0,
    )
    made = writer.commit(target, change, request.author)
    compact_after_write(target, files, buckets)
    return made


def _may_share_files(target: Target, data: Rows, request: WriteRequest) -> bool:
    """Whether the rows are in memory, and nothing tells their write from that of another thread."""
    in_memory = isinstance(data, (pa.Table, pa.RecordBatch)) and data.num_rows <= shared_write.SMALL_ROWS
    plain = not request.overwrite and request.rowkind is None and request.author is None
    return in_memory and plain and shared_write.can_share(target.schema)


def bucket_state(target: Target, snapshot: Snapshot | None, request: WriteRequest) -> BucketState:
    """What the writers build on: nothing in an overwrite, which replaces each partition that it writes to."""
    return read_bucket_state(target.root, None if request.overwrite else snapshot, target.schema)


def overwritten_spec(schema: Schema, request: WriteRequest) -> Mapping[str, pa.Scalar] | None:
    """The partition values that the caller gave, typed."""
    if request.partition is None:
        return None
    return partitions.parse_spec(request.partition, schema.partition_fields, partition_names(schema))


def overwrite_of(
    files: pa.Table, schema: Schema, request: WriteRequest, spec: Mapping[str, pa.Scalar] | None
) -> Overwrite | None:
    """Which partitions the commit replaces."""
    if not request.overwrite:
        return None
    if spec is not None:
        return Overwrite(spec=spec)
    if schema.partition_by and DYNAMIC_PARTITION_OVERWRITE.of(schema.options):
        return Overwrite(partitions=tuple(pc.unique(files["partition"]).to_pylist()))
    return Overwrite()


def prepared(
    batch: pa.RecordBatch, schema: Schema, request: WriteRequest, spec: Mapping[str, pa.Scalar] | None
) -> pa.RecordBatch:
    """The table's columns of a batch, checked, with its row kinds where there are some."""
    extra = () if request.rowkind is None or schema.find(request.rowkind) is not None else (request.rowkind,)
    batch = _with_partition(batch, spec or {}, schema)
    check_columns(batch.schema, schema, extra)
    rows = conform(batch, schema)
    if request.rowkind is None:
        return rows
    kinds = row_kinds(batch, request.rowkind)
    if schema.primary_key:
        return rows.append_column(VALUE_KIND.name, kinds)
    if pc.any(pc.not_equal(kinds, KINDS["+I"])).as_py():
        raise InvalidInputError(
            f"rowkind: a table without a primary key takes only +I, found others in '{request.rowkind}'"
        )
    return rows


def row_kinds(batch: pa.RecordBatch, column: str) -> pa.Array:
    """The kinds that a column of +I, -U, +U, -D (or their numbers) gives."""
    if column not in batch.schema.names:
        raise InvalidInputError(f"rowkind: the rows have no column '{column}'")
    kinds = batch[column]
    codes = pc.index_in(kinds.cast(pa.string()), pa.array(KINDS)) if not pa.types.is_integer(kinds.type) else kinds
    fits = pc.is_in(codes, pa.array(list(KINDS.values()), codes.type))
    if not pc.all(pc.fill_null(fits, False)).as_py() and len(codes):
        raise InvalidInputError(f"rowkind: column '{column}' must hold +I, -U, +U or -D")
    return codes.cast(pa.int8())


def _with_partition(batch: pa.RecordBatch, spec: Mapping[str, pa.Scalar], schema: Schema) -> pa.RecordBatch:
    """The batch with the columns of a static partition: added where missing, checked where there."""
    for name, value in spec.items():
        if name not in batch.schema.names:
            batch = batch.append_column(name, pa.repeat(value, batch.num_rows))
        elif batch.num_rows and not _is_all(conform(batch.select([name]), _only(schema, name))[name], value):
            raise InvalidInputError(f"partition: a row has another value of '{name}' than {value}, the one overwritten")
    return batch


def _only(schema: Schema, name: str) -> Schema:
    return Schema(schema.select([name]))


def _is_all(column: pa.Array, value: pa.Scalar) -> bool:
    if not value.is_valid:
        return int(column.null_count) == len(column)
    return bool(pc.all(pc.fill_null(pc.equal(column, value), False)).as_py())
