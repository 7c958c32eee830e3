"""Reading in Python workers: files that need our reader, packed into tasks.

A section is the least that can be read alone: a file, or files that must be merged, for all of their keys or for a
range. Sections go to tasks so that all get about the same number of bytes, several small ones to one task; the sections
of one bucket may go to several.
A task is a row of a small DataFrame, placed exactly by its number, and turned into rows by `mapInArrow`.
"""

import functools
import gc
import itertools
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from polynya.arrow.budget import default_budget_bytes
from polynya.arrow.read import Reader, read_split
from polynya.errors import UnsupportedError
from polynya.model.arrow_types import to_arrow_type
from polynya.spark.types import to_spark_schema, to_transfer, transfer_schema
from polynya.storage.protocol import Storage
from polynya.table.key_ranges import cut_sections
from polynya.table.plan import Splits

TASK_BYTES = 64 * 2**20  # what a task should have to do, to be worth its start
BATCH_ROWS = 8192  # rows that go to Spark at once: it works on them while the next are read
TASK_BYTES_MIN = 4 * 2**20  # below that a task is not split up further, whatever the number of cores

Weights = npt.NDArray[np.float64]
BatchFunction = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def task_files(files: pa.Table, parallelism: int, *, by_bucket: bool = False) -> list[pa.Table]:
    """The files of each task, in the order of the plan; `by_bucket` keeps the files of a bucket together."""
    inverse = _bucket_numbers(files) if by_bucket else np.unique(files["section"].to_numpy(), return_inverse=True)[1]
    sizes = files["weight" if "weight" in files.column_names else "file_size"].to_numpy()
    weights: Weights = np.bincount(inverse, weights=sizes).astype(np.float64)
    count = task_count(weights, parallelism)
    owner = balance(weights, count)[inverse]
    order = np.argsort(owner, kind="stable")
    bounds = np.searchsorted(owner[order], np.arange(count + 1))
    placed = files.take(pa.array(order))
    return [placed.slice(start, end - start) for start, end in itertools.pairwise(bounds.tolist())]


def read_tasks(reader: Reader, files: pa.Table, parallelism: int) -> list[pa.Table]:
    """The files of each task of a read; what must be merged and is too much for one goes to several, by key ranges."""
    key_types = [to_arrow_type(field.type) for field in reader.schema.key_fields]
    share = int(pc.sum(files["file_size"]).as_py() or 0) // parallelism
    return task_files(cut_sections(files, key_types, max(share, TASK_BYTES_MIN)), parallelism)


def _bucket_numbers(files: pa.Table) -> npt.NDArray[np.int64]:
    buckets = files["bucket"].cast(pa.string()).cast(pa.binary())
    places = pc.binary_join_element_wise(buckets, files["partition"], b"\x00").combine_chunks()
    return np.asarray(places.dictionary_encode().indices).astype(np.int64)


def task_count(weights: Weights, parallelism: int) -> int:
    """How many tasks: enough for the bytes and for the cores, none too small, none without a section."""
    total = float(weights.sum())
    by_cores = min(parallelism, math.ceil(total / TASK_BYTES_MIN))
    return max(1, min(len(weights), max(by_cores, math.ceil(total / TASK_BYTES))))


def balance(weights: Weights, count: int) -> npt.NDArray[np.int64]:
    """The task of each section: the heaviest are dealt out first, to and fro, so that sums stay close."""
    rank = np.empty(len(weights), np.int64)
    rank[np.argsort(-weights, kind="stable")] = np.arange(len(weights))
    lap, place = np.divmod(rank, count)
    return np.where(lap % 2 == 0, place, count - 1 - place)


def parallelism_of(spark: SparkSession) -> int:
    """How many tasks the session runs at once, as far as its settings tell."""
    for key in ("spark.sql.leafNodeDefaultParallelism", "spark.default.parallelism"):
        named = spark.conf.get(key, None)
        if named:
            return int(named)
    return os.cpu_count() or 1


def python_frame(spark: SparkSession, reader: Reader, files: pa.Table) -> DataFrame:
    """The rows of the files, read by our reader on the workers."""
    require_reachable(reader.storage)
    packed = [encode_table(one) for one in read_tasks(reader, files, parallelism_of(spark))]
    numbers = pa.array(range(len(packed)), pa.int32())
    frame = spark.createDataFrame(pa.table({"task": numbers, "files": pa.array(packed, pa.binary())}))
    placed = frame.repartitionById(len(packed), F.col("task"))
    return placed.mapInArrow(_reading(shared_budget(reader)), to_spark_schema(reader.fields))


def require_reachable(storage: Storage) -> None:
    """Raise UnsupportedError for a store that only this process sees."""
    if storage.location.startswith("memory:"):
        raise UnsupportedError(f"{storage.location}: Spark's workers do not see the memory of this process")


def shared_budget(reader: Reader) -> Reader:
    """The reader with a core's share of the usual budget."""
    return replace(reader, budget_bytes=default_budget_bytes() // (os.cpu_count() or 1))


@functools.cache  # once in each worker, which serves many tasks
def spare_modules() -> None:
    """Leave what a worker has loaded out of the search for garbage that Spark makes after each task."""
    gc.freeze()


def _reading(reader: Reader) -> BatchFunction:
    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        spare_modules()
        for batch in batches:
            for data in batch["files"].to_pylist():
                yield from read_files(reader, decode_table(data))

    return read


def read_files(reader: Reader, files: pa.Table) -> Iterator[pa.RecordBatch]:
    """The rows of a task as Spark takes them."""
    schema = transfer_schema(reader.fields)
    for split in Splits(files):
        for rows in read_split(reader, split):
            batch = to_transfer(rows, schema)
            for start in range(0, batch.num_rows, BATCH_ROWS):
                yield batch.slice(start, BATCH_ROWS)


def encode_table(table: pa.Table) -> bytes:
    """The table as the bytes of an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def decode_table(data: bytes) -> pa.Table:
    """The table of such bytes."""
    with pa.ipc.open_stream(data) as reader:
        return reader.read_all()
