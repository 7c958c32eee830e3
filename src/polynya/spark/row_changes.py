"""Deleting and updating rows as Spark jobs.

The driver plans the files that may hold matching rows; tasks look at them, write what is new, and answer with file
entries and bitmaps of positions; the driver commits once. The decisions are those of `arrow.row_changes` and
`arrow.rows`, which do the same without Spark.
"""

import uuid
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa
from pyspark.sql import SparkSession

from polynya.arrow import rows
from polynya.arrow.change_files import TOUCHED, Changed, FileWork, change_files
from polynya.arrow.compact_table import compact_after_write
from polynya.arrow.ingest import prepared
from polynya.arrow.read import Reader, read_split
from polynya.arrow.row_changes import RowChange, plan_rows
from polynya.arrow.write import TableWriter, WriteSpec
from polynya.errors import CommitUnknownError, PolynyaError
from polynya.model.bucket_mode import BucketMode, bucket_mode
from polynya.paimon import manifest
from polynya.spark import jobs
from polynya.spark.compact import SparkRunner
from polynya.spark.own_files import delete_own, named_uuid
from polynya.spark.tasks import (
    decode_table,
    encode_table,
    parallelism_of,
    require_reachable,
    shared_budget,
    task_files,
)
from polynya.spark.write import delete_files
from polynya.table import group, history
from polynya.table.bucket_state import read_bucket_state
from polynya.table.commit import Commit, Target
from polynya.table.edit import Change, Edit
from polynya.table.plan import Splits


def engine_of(spark: SparkSession) -> rows.Engine:
    """The workers of the session, as those who carry a change out."""
    return rows.Engine(partial(_change_files, spark), partial(_write_records, spark))


@dataclass(frozen=True)
class _FileTask:
    """Changes the rows of some files of an append table."""

    work: FileWork
    job_id: str

    def __call__(self, task: int, files: pa.Table) -> bytes:
        spec = self.work.spec
        if bucket_mode(spec.schema) is BucketMode.HASH_FIXED:
            spec = replace(spec, buckets=spec.buckets.apart(task))
        changed = change_files(replace(self.work, spec=spec), files, partial(named_uuid, self.job_id))
        packed = {"added": [encode_table(changed.added)], "touched": [encode_table(changed.touched)]}
        return encode_table(pa.table(packed))


@dataclass(frozen=True)
class _RecordTask:
    """Writes the matching rows of some buckets of a primary-key table as records of a kind."""

    reader: Reader
    spec: WriteSpec
    change: RowChange
    kind: str
    job_id: str

    def __call__(self, task: int, files: pa.Table) -> bytes:
        schema, writer = self.spec.schema, TableWriter(self.spec, partial(named_uuid, self.job_id))
        with ExitStack() as unless_written:
            unless_written.callback(writer.abort)
            for split in Splits(files):
                for found in read_split(self.reader, split):
                    records = rows.record_batch(found, self.change, self.kind, schema)
                    writer.write(prepared(records, schema, rows.RECORDS, None))
            added = writer.finish()
            unless_written.pop_all()
        return encode_table(added)


def _change_files(spark: SparkSession, work: FileWork, files: pa.Table) -> Changed:
    task = _FileTask(replace(work, reader=shared_budget(work.reader)), str(uuid.uuid4()))
    tasks = task_files(files, parallelism_of(spark))
    done = [_changed(one) for one in _run(spark, tasks, task, lambda answer: _changed(answer).added)]
    return Changed(
        pa.concat_tables([manifest.empty(), *(one.added for one in done)]),
        pa.concat_tables([TOUCHED.empty_table(), *(one.touched for one in done)]),
    )


def _changed(answer: bytes) -> Changed:
    (row,) = decode_table(answer).to_pylist()
    return Changed(decode_table(row["added"]), decode_table(row["touched"]))


def _write_records(spark: SparkSession, target: Target, change: RowChange, kind: str) -> Commit:
    snapshot = history.find_latest(target.root)
    plan, reader = plan_rows(target, snapshot, change.predicate)
    if snapshot is None or plan.file_count == 0:
        return Commit()
    buckets = read_bucket_state(target.root, snapshot, target.schema)
    spec = WriteSpec(target.root.storage, target.schema, buckets)
    task = _RecordTask(shared_budget(reader), spec, change, kind, str(uuid.uuid4()))
    answers = _run(spark, task_files(plan.files, parallelism_of(spark), by_bucket=True), task, decode_table)
    added = pa.concat_tables([manifest.empty(), *map(decode_table, answers)])
    try:
        made = group.commit(target, Change(append=Edit(added), based_on=snapshot.id), None)
    except CommitUnknownError:
        raise  # the files may be in the table
    except PolynyaError:
        delete_files(target.root.storage, added, target.schema)
        raise
    compact_after_write(target, added, buckets, SparkRunner(spark))
    return made


def _run(
    spark: SparkSession,
    tasks: list[pa.Table],
    work: _FileTask | _RecordTask,
    added_of: Callable[[bytes], pa.Table],
) -> list[bytes]:
    """The answers of the tasks; when the job fails, what they wrote is deleted as far as it is known."""
    spec = work.work.spec if isinstance(work, _FileTask) else work.spec
    require_reachable(spec.storage)

    def undo(answer: bytes) -> None:
        delete_files(spec.storage, added_of(answer), spec.schema)

    try:
        return jobs.run(spark, tasks, work, undo)
    except BaseException:
        delete_own(spec.storage, work.job_id)
        raise
