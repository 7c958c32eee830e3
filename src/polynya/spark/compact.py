"""Compaction as Spark jobs: planned and committed by the driver, carried out by Python workers.

A task of the plan is cut into units that are written apart: of a large primary-key bucket ranges of its keys, of a
large partition that is written in order parts of that order. Units go to jobs, largest first. The next job already runs
while one ends, so that no core waits for the last unit, and while what is done is committed.

A unit answers with the entries of its files, or with the error that ended it. A file that is not there any more, or a
damaged one, stops the tasks that need it and no others.
"""

import contextlib
import pickle
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from polynya.arrow import cluster
from polynya.arrow.compact import Compactor, discard, edit_of, index_without, key_edit, key_steps, rewrite, run
from polynya.arrow.compact_table import Outcome, Outcomes
from polynya.arrow.curve import Clustering
from polynya.errors import NotFoundError, PolynyaError, StorageError
from polynya.model.arrow_types import to_arrow_type
from polynya.model.options import target_file_size
from polynya.paimon import index_manifest, manifest
from polynya.spark.answers import error_of, told
from polynya.spark.own_files import delete_own, named_uuid
from polynya.spark.progress import bytes_done
from polynya.spark.tasks import (
    BatchFunction,
    balance,
    decode_table,
    encode_table,
    parallelism_of,
    require_reachable,
    task_count,
)
from polynya.table.compaction import CompactionTask, Steps
from polynya.table.edit import Edit
from polynya.table.key_ranges import KeyRange, cut_by_key

JOB_BYTES = 512 * 2**20  # what a job has to do for each core
JOBS_AT_ONCE = 2
SORTED_BYTES = 512 * 2**20  # of files whose rows one unit puts in order
ANSWER = "number int, entries binary, index binary, error_class string, error string"
ANSWERS = pa.schema(
    [
        ("number", pa.int32()),
        ("entries", pa.binary()),
        ("index", pa.binary()),
        ("error_class", pa.string()),
        ("error", pa.string()),
    ]
)


@dataclass(frozen=True)
class Unit:
    """What is written by one worker: files of a task, keys of a range, or one part of an order."""

    task: CompactionTask
    size_bytes: int
    keys: KeyRange = field(default_factory=KeyRange)
    part: int = 0
    part_count: int = 1


@dataclass(frozen=True)
class Work:
    """A task and its units; `steps` are those of a primary-key bucket."""

    task: CompactionTask
    units: tuple[Unit, ...]
    steps: Steps | None = None


@dataclass(frozen=True)
class SparkRunner:
    """Carries out the tasks of a compaction as Spark jobs."""

    spark: SparkSession

    def __call__(
        self, compactor: Compactor, tasks: Sequence[CompactionTask], clustering: Clustering | None = None
    ) -> Outcomes:
        """What becomes of each task, job by job; an error other than a missing file comes after all else is done."""
        require_reachable(compactor.storage)
        parallelism, total = parallelism_of(self.spark), sum(task.size_bytes for task in tasks)
        share = -(-total // parallelism)
        works = [work_of(compactor, task, clustering, share) for task in tasks]
        jobs = [_Job(self.spark, compactor, clustering, some) for some in _in_jobs(works, JOB_BYTES * parallelism)]
        errors: list[PolynyaError] = []
        with bytes_done("compaction", total) as advance, _running(jobs) as answers:
            for job, answer in zip(jobs, answers, strict=True):
                for task, outcome in job.outcomes(answer):
                    advance(task.size_bytes)
                    if isinstance(outcome, (Edit, NotFoundError)):
                        yield task, outcome
                    else:
                        errors.append(outcome)
        if errors:
            raise errors[0]


def work_of(compactor: Compactor, task: CompactionTask, clustering: Clustering | None, share_bytes: int) -> Work:
    """The units of a task, such that none is much larger than a core's share."""
    schema = compactor.schema
    if clustering is not None:
        count = max(1, -(-task.size_bytes // SORTED_BYTES))
        units = (Unit(task, task.size_bytes // count, part=part, part_count=count) for part in range(count))
        return Work(task, tuple(units))
    if not schema.primary_key:
        return Work(task, (Unit(task, task.size_bytes),))
    steps = key_steps(compactor, task)
    part_bytes = max(share_bytes, target_file_size(schema))
    types = [to_arrow_type(one.type) for one in schema.key_fields]
    units = (
        Unit(replace(task, files=part.files), part.size_bytes, part.range)
        for files in steps.rewrites
        for part in cut_by_key(files, types, part_bytes)
    )
    return Work(task, tuple(units), steps)


def _in_jobs(works: Sequence[Work], job_bytes: int) -> Iterator[list[Work]]:
    """The works of each job, in order."""
    job: list[Work] = []
    for work in works:
        job.append(work)
        if sum(one.task.size_bytes for one in job) >= job_bytes:
            yield job
            job = []
    if job:
        yield job


@contextlib.contextmanager
def _running(jobs: Sequence["_Job"]) -> Iterator[Iterator[list["Answer"]]]:
    """The answers of the jobs, in order; when the caller gives up, so do the jobs, and their files are deleted."""
    pool = ThreadPoolExecutor(JOBS_AT_ONCE, thread_name_prefix="polynya-compact")
    running = [pool.submit(job.run) for job in jobs]
    taken = 0

    def answers() -> Iterator[list[Answer]]:
        nonlocal taken
        for one in running:
            found = one.result()
            taken += 1
            yield found

    try:
        yield answers()
    finally:
        begun = [job for one, job in zip(running[taken:], jobs[taken:], strict=True) if not one.cancel()]
        for job in begun:
            job.stop()
        pool.shutdown(wait=True)
        for job in begun:
            job.delete_written()


@dataclass(frozen=True)
class Answer:
    """What a unit wrote, or why it did not."""

    entries: pa.Table = field(default_factory=manifest.empty)
    index: pa.Table = field(default_factory=index_manifest.empty)
    error: PolynyaError | None = None


@dataclass(frozen=True)
class _Job:
    """Works that are carried out together; their files have a name in common."""

    spark: SparkSession
    compactor: Compactor
    clustering: Clustering | None
    works: Sequence[Work]
    id: str = field(default_factory=lambda: str(uuid.uuid4()))

    @property
    def units(self) -> list[Unit]:
        return [unit for work in self.works for unit in work.units]

    def run(self) -> list[Answer]:
        """The answers of the units, in order."""
        units = self.units
        if not units:
            return []
        weights = np.array([unit.size_bytes for unit in units], np.float64)
        count = task_count(weights, parallelism_of(self.spark))
        rows = pa.table(
            {
                "task": pa.array(balance(weights, count), pa.int32()),
                "number": pa.array(range(len(units)), pa.int32()),
                "unit": pa.array(map(encode_unit, units), pa.binary()),
            }
        )
        placed = self.spark.createDataFrame(rows).repartitionById(count, F.col("task"))
        named = replace(self.compactor, new_uuid=partial(named_uuid, self.id))
        self.spark.addTag(self.id)
        try:
            found = placed.mapInArrow(_writing(named, self.clustering), ANSWER).toArrow()
        finally:
            self.spark.removeTag(self.id)
        return [decode_answer(row) for row in sorted(found.to_pylist(), key=lambda row: row["number"])]

    def stop(self) -> None:
        """End the job, if it runs."""
        self.spark.interruptTag(self.id)

    def delete_written(self) -> None:
        """Delete the files of a job that nothing was committed of."""
        delete_own(self.compactor.storage, self.id)

    def outcomes(self, answers: Sequence[Answer]) -> Iterator[tuple[CompactionTask, Outcome | PolynyaError]]:
        """What becomes of each task; the files of one that is stopped are deleted."""
        first = 0
        for work in self.works:
            own = answers[first : first + len(work.units)]
            first += len(work.units)
            failed = [answer.error for answer in own if answer.error is not None]
            if not failed:
                yield work.task, _edit(work, own)
                continue
            for answer in own:
                discard(self.compactor.storage, self.compactor.schema, Edit(answer.entries, index=answer.index))
            yield work.task, failed[0]


def _edit(work: Work, answers: Sequence[Answer]) -> Edit:
    written = [answer.entries for answer in answers]
    if work.steps is not None:
        return key_edit(work.task, work.steps, written)
    return edit_of(work.task.files, pa.concat_tables(written), pa.concat_tables([answer.index for answer in answers]))


def encode_unit(unit: Unit) -> bytes:
    """The unit as bytes; tables are copied first, since a slice would take all that it was cut from along."""
    task = unit.task
    deeper = _copied(task.deeper) if task.deeper is not None else None
    return pickle.dumps(
        replace(unit, task=replace(task, files=_copied(task.files), index=_copied(task.index), deeper=deeper))
    )


def _copied(table: pa.Table) -> pa.Table:
    return decode_table(encode_table(table))


def _writing(compactor: Compactor, clustering: Clustering | None) -> BatchFunction:
    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number, data in zip(batch["number"].to_pylist(), batch["unit"].to_pylist(), strict=True):
                yield write_unit(compactor, pickle.loads(data), clustering, number)

    return write


def write_unit(compactor: Compactor, unit: Unit, clustering: Clustering | None, number: int) -> pa.RecordBatch:
    """Carry one unit out and answer; a store that does not answer is left to Spark, which tries again."""
    try:
        entries, index = _written(compactor, unit, clustering)
        answer: dict[str, object] = {"entries": encode_table(entries), "index": encode_table(index)}
    except StorageError:
        raise
    except PolynyaError as error:
        answer = told(error)
    return pa.RecordBatch.from_pylist([{"number": number, **answer}], schema=ANSWERS)


def _written(compactor: Compactor, unit: Unit, clustering: Clustering | None) -> tuple[pa.Table, pa.Table]:
    """The entries of the new files, and the index change, which the first of several units makes."""
    nothing = index_manifest.empty()
    if compactor.schema.primary_key:
        return rewrite(compactor, unit.task, unit.task.files, unit.keys), nothing
    if clustering is None:
        edit = run(compactor, unit.task)
        return edit.added, edit.index
    written = cluster.rewrite(compactor, unit.task, clustering, unit.part, unit.part_count)
    return written, index_without(compactor, unit.task) if unit.part == 0 else nothing


def decode_answer(row: Mapping[str, Any]) -> Answer:
    """The answer of a unit."""
    if row["error"] is not None:
        return Answer(error=error_of(row["error_class"], row["error"]))
    return Answer(decode_table(row["entries"]), decode_table(row["index"]))
