"""Writing a DataFrame: checked on the driver, written by Python workers, committed once by the driver.

| table | rows go |
|---|---|
| without buckets | where they are: no shuffle, unless 'partition.sink-strategy' asks for one by partition |
| with fixed buckets | by one shuffle, so that a task has all rows of a bucket |

A task answers with one row: the manifest entries of its files, or an error that no retry would cure. Names of data
files begin with the id of the write, so that what a failed job leaves behind is known as its own. Nothing of it is
visible before the commit.
"""

import contextlib
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from operator import itemgetter

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import StructType

from polynya import api
from polynya.arrow.compact_table import Runner, compact_after_write
from polynya.arrow.ingest import WriteRequest, bucket_state, overwrite_of, overwritten_spec, prepared
from polynya.arrow.twin import publish_after_commit
from polynya.arrow.write import TableWriter, WriteSpec
from polynya.errors import (
    CommitUnknownError,
    ConflictError,
    InvalidInputError,
    PolynyaError,
    StorageError,
    UnsupportedError,
)
from polynya.model.bucket_mode import BucketMode, bucket_mode
from polynya.model.options_data import DYNAMIC_PARTITION_OVERWRITE, OVERWRITE_UPGRADE, PARTITION_SINK_STRATEGY
from polynya.model.partition import SpecValue
from polynya.model.schema import Schema
from polynya.paimon import manifest
from polynya.paimon.snapshot import CommitKind
from polynya.spark.answers import error_of, told
from polynya.spark.batch_limits import LONG_TEXT, few_rows_any_bytes, limit_again, refuse_long_texts
from polynya.spark.compact import SparkRunner
from polynya.spark.exchange import exchange, gathered, unpack
from polynya.spark.filters import column_of
from polynya.spark.own_files import delete_own, named_uuid
from polynya.spark.tasks import BatchFunction, decode_table, encode_table, require_reachable, spare_modules
from polynya.spark.types import incoming_schema
from polynya.storage.protocol import Storage
from polynya.table import evolve_schema, group
from polynya.table.commit import Author, Commit, Target, find_repeated
from polynya.table.compaction import upgraded
from polynya.table.edit import Change, Edit
from polynya.table.paths import data_paths

MESSAGE = "entries binary, error_class string, error string"
MESSAGES = pa.schema([("entries", pa.binary()), ("error_class", pa.string()), ("error", pa.string())])
SHARE = "share"
BUCKET_COLUMNS = ["partition", "bucket", SHARE]
NOTHING = {0: manifest.empty()}

ShareBatch = tuple[int, pa.RecordBatch]


@dataclass(frozen=True)
class FrameRequest:
    """How a DataFrame is to be written; `dynamic` is None where the table's option decides."""

    rows: WriteRequest
    dynamic: bool | None = None
    publishes_schema: bool = False  # the rows are of a new version of the schema, which nobody knows yet


@dataclass(frozen=True)
class WriteJob:
    """What every task of one write must know; plain data."""

    spec: WriteSpec
    request: WriteRequest
    partition: Mapping[str, pa.Scalar] | None
    write_id: str

    def new_uuid(self) -> str:
        """A new name for files of this write."""
        return named_uuid(self.write_id)

    def prepare(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows as the table has them, or refused."""
        return prepared(batch, self.spec.schema, self.request, self.partition)


def request_of(
    mode: str,
    partition: Mapping[str, SpecValue] | None = None,
    *,
    overwrite: str | None = None,
    rowkind: str | None = None,
    author: Author | None = None,
) -> FrameRequest:
    """The request that the words of a caller mean; InvalidInputError for words that make no sense."""
    if mode not in ("append", "overwrite"):
        raise InvalidInputError(f"mode must be 'append' or 'overwrite', got {mode!r}")
    if overwrite not in (None, "static", "dynamic"):
        raise InvalidInputError(f"overwrite must be 'static' or 'dynamic', got {overwrite!r}")
    if mode == "append" and (partition is not None or overwrite is not None):
        raise InvalidInputError("partition and overwrite say what to overwrite; with mode 'append' leave them out")
    if partition is not None and overwrite == "dynamic":
        raise InvalidInputError("overwrite 'dynamic' finds its partitions in the rows; leave partition out")
    dynamic = None if overwrite is None else overwrite == "dynamic"
    return FrameRequest(WriteRequest(mode == "overwrite", partition, rowkind, author), dynamic)


def write_frame(spark: SparkSession, table: api.Table, frame: DataFrame, request: FrameRequest) -> Commit:
    """Write the rows and commit them; `table` stands at the latest snapshot."""
    target = Target(table.root, table.schema)
    done = find_done(target, request.rows)
    if done is not None:
        return done
    job = job_of(table, request)
    prepared_schema = require_columns(frame.schema, job)
    try:
        messages = _messages(spark, frame, job, prepared_schema)
    except BaseException:
        delete_written(job)
        raise
    return commit_messages(table, request, job, messages, runner=SparkRunner(spark))


def find_done(target: Target, request: WriteRequest) -> Commit | None:
    """What the same commit did when it was made before."""
    kind = CommitKind.OVERWRITE if request.overwrite else CommitKind.APPEND
    return find_repeated(target.root, request.author, kind) if request.author is not None else None


def job_of(table: api.Table, request: FrameRequest) -> WriteJob:
    """What the tasks of a write are told."""
    table.require_writable()
    require_reachable(table.root.storage)
    target = Target(table.root, table.schema)
    spec = WriteSpec(table.root.storage, table.schema, bucket_state(target, table.snapshot, request.rows))
    values = overwritten_spec(table.schema, request.rows)
    return WriteJob(spec, replace(request.rows, author=None, partition=None), values, str(uuid.uuid4()))


def require_columns(schema: StructType, job: WriteJob) -> pa.Schema:
    """The schema of prepared rows; InvalidInputError unless rows can become rows of the table. No job is started."""
    names = schema.names
    if len({name.lower() for name in names}) != len(names):
        raise InvalidInputError(f"rows to write: a column stands twice: {', '.join(names)}")
    nothing = pa.RecordBatch.from_pylist([], schema=incoming_schema(schema))
    return job.prepare(nothing).schema


def entries_of(messages: pa.Table) -> pa.Table:
    """The manifest entries of all files that the tasks wrote."""
    tables = [decode_table(data) for data in messages["entries"].drop_null().to_pylist()]
    return pa.concat_tables(tables).drop_columns([SHARE]) if tables else manifest.empty()


def commit_messages(
    table: api.Table,
    request: FrameRequest,
    job: WriteJob,
    messages: pa.Table,
    *,
    shares_buckets: bool = False,
    runner: Runner | None = None,
) -> Commit:
    """Commit what the tasks wrote, or nothing where one of them was refused; then compact the buckets that are due.

    With `shares_buckets` tasks that write to one bucket have taken care that their rows are numbered apart.
    """
    files = entries_of(messages)
    failed = messages.filter(pc.is_valid(messages["error"])).slice(0, 1).to_pylist()
    target = Target(table.root, table.schema)
    try:
        if failed:
            raise error_of(failed[0]["error_class"], failed[0]["error"])
        if table.schema.primary_key and not shares_buckets:
            _require_single_owner(messages)
        if request.publishes_schema:
            made_schema = evolve_schema.publish(table.root, table.schema, target.surroundings.now_ms())
            target = replace(target, schema=made_schema)
        made = group.commit(target, _change(table, request, job, files), request.rows.author)
    except CommitUnknownError:
        raise  # the files may be in the table
    except PolynyaError:
        delete_files(table.root.storage, files, table.schema)
        raise
    compact_after_write(target, files, job.spec.buckets, runner)
    publish_after_commit(target)
    return made


def _change(table: api.Table, request: FrameRequest, job: WriteJob, files: pa.Table) -> Change:
    schema = table.schema
    if request.rows.overwrite and schema.primary_key and OVERWRITE_UPGRADE.of(schema.options):
        files = upgraded(files, schema)
    if request.dynamic is not None:
        dynamic = {DYNAMIC_PARTITION_OVERWRITE.key: str(request.dynamic).lower()}
        schema = replace(schema, options={**schema.options, **dynamic})
    return Change(
        append=Edit(files),
        overwrite=overwrite_of(files, schema, request.rows, job.partition),
        based_on=table.snapshot.id if table.snapshot is not None else 0,
    )


def _messages(spark: SparkSession, frame: DataFrame, job: WriteJob, prepared_schema: pa.Schema) -> pa.Table:
    """Run the tasks: first as fast as it goes, and where a text is too long for that, again with Spark's limits."""
    with few_rows_any_bytes(spark, frame.schema) as is_unlimited:
        if is_unlimited:
            try:
                return _written(spark, frame, job, prepared_schema, _numbered_short).toArrow()
            except PySparkException as error:
                if LONG_TEXT not in str(error):
                    raise
                delete_written(job)
                limit_again(spark)
        return _written(spark, frame, job, prepared_schema, _numbered).toArrow()


def _written(
    spark: SparkSession,
    frame: DataFrame,
    job: WriteJob,
    prepared_schema: pa.Schema,
    numbered: Callable[[DataFrame], DataFrame],
) -> DataFrame:
    """The messages of the tasks; with fixed buckets all rows of a bucket go to one of them."""
    schema = job.spec.schema
    if bucket_mode(schema) is not BucketMode.HASH_FIXED:
        partition = [column_of((name,)) for name in schema.partition_by if name in frame.columns]
        placed = _by_partition(frame, partition, PARTITION_SINK_STRATEGY.of(schema.options))
        return numbered(placed).mapInArrow(_writing(job, frame.columns), MESSAGE)
    tasks = int(spark.conf.get("spark.sql.shuffle.partitions", "200"))
    prepare = partial(_prepare_named, job=job, names=frame.columns)
    packed = exchange(numbered(frame), prepare, schema, job.spec.buckets.bucket_count, tasks)
    return packed.mapInArrow(_writing_packed(job, prepared_schema), MESSAGE)


def _numbered(frame: DataFrame) -> DataFrame:
    return frame.toDF(*map(str, range(len(frame.columns))))  # not every name gets through to a worker


def _numbered_short(frame: DataFrame) -> DataFrame:
    return refuse_long_texts(_numbered(frame))


def _prepare_named(batch: pa.RecordBatch, job: WriteJob, names: list[str]) -> pa.RecordBatch:
    return job.prepare(batch.rename_columns(names))


def _by_partition(frame: DataFrame, partition: list[Column], strategy: str) -> DataFrame:
    """The frame as it comes, or with the rows of a table's partition in one of Spark's, or in several of like size."""
    if not partition or strategy == "NONE":
        return frame
    return frame.repartition(*partition) if strategy == "HASH" else frame.hint("rebalance", *partition)


def _writing(job: WriteJob, names: list[str]) -> BatchFunction:
    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield write_task(job, (batch.rename_columns(names) for batch in batches))

    return write


def _writing_packed(job: WriteJob, schema: pa.Schema) -> BatchFunction:
    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield _write_prepared(job, _gathered_by_share(unpack(batches, schema)))

    return write


def write_task(job: WriteJob, batches: Iterator[pa.RecordBatch]) -> pa.RecordBatch:
    """Write the rows of one task and answer with its message."""
    return _write_prepared(job, ((0, job.prepare(batch)) for batch in gathered(batches)))


def _gathered_by_share(batches: Iterable[ShareBatch]) -> Iterator[ShareBatch]:
    for share, run in groupby(batches, itemgetter(0)):
        yield from ((share, batch) for batch in gathered(batch for _, batch in run))


def _write_prepared(job: WriteJob, batches: Iterable[ShareBatch]) -> pa.RecordBatch:
    spare_modules()
    writers = _ShareWriters(job)
    try:
        for share, batch in batches:
            writers[share].write(batch)
        return _message(entries=encode_table(writers.finish()))
    except (InvalidInputError, UnsupportedError) as error:  # the driver raises it; a retry would end the same
        writers.abort()
        return _message(**told(error))
    except BaseException:
        writers.abort()
        raise


class _ShareWriters(dict[int, TableWriter]):
    """A writer for each share of buckets that rows of a task belong to."""

    def __init__(self, job: WriteJob) -> None:
        super().__init__()
        self._job = job

    def __missing__(self, share: int) -> TableWriter:
        spec = self._job.spec
        if share:
            spec = replace(spec, buckets=spec.buckets.apart(share), buffer_bytes=spec.buffer_bytes // 2)
        self[share] = TableWriter(spec, self._job.new_uuid)
        return self[share]

    def finish(self) -> pa.Table:
        """The entries of the files, each with its share."""
        finished = {share: writer.finish() for share, writer in self.items()}
        return pa.concat_tables([_with_share(entries, share) for share, entries in (finished or NOTHING).items()])

    def abort(self) -> None:
        """Delete what was written."""
        for writer in self.values():
            writer.abort()


def _with_share(entries: pa.Table, share: int) -> pa.Table:
    return entries.append_column(SHARE, pa.repeat(pa.scalar(share, pa.int32()), entries.num_rows))


def _message(**values: object) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([values], schema=MESSAGES)


def _require_single_owner(messages: pa.Table) -> None:
    """Raise ConflictError where two tasks numbered rows of one share: which of them is newer would be left open."""
    owned = [decode_table(data).select(BUCKET_COLUMNS) for data in messages["entries"].drop_null().to_pylist()]
    if not owned:
        return  # Spark starts no task for a DataFrame that it knows to be empty
    buckets = pa.concat_tables([one.group_by(BUCKET_COLUMNS).aggregate([]) for one in owned])
    if buckets.group_by(BUCKET_COLUMNS).aggregate([]).num_rows != buckets.num_rows:
        raise ConflictError("write: a bucket was written by two tasks of one job; nothing is committed, write again")


def delete_files(storage: Storage, files: pa.Table, schema: Schema) -> None:
    """Delete data files, and indexes beside them, that no snapshot refers to; what stays is for orphan cleaning."""
    if files.num_rows == 0:
        return
    paths = data_paths(files, schema).to_pylist()
    beside = files["extra_files"].to_pylist()
    extra = [
        f"{path.rpartition('/')[0]}/{name}" for path, names in zip(paths, beside, strict=True) for name in names or ()
    ]
    with contextlib.suppress(StorageError):
        storage.delete([*paths, *extra])


def delete_written(job: WriteJob) -> None:
    """Delete what a write that was never committed left on a local disk."""
    delete_own(job.spec.storage, job.write_id)
