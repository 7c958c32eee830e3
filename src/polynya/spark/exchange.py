"""Rows on their way to the task that writes their bucket: packed in Arrow messages, which Spark shuffles as bytes.

A shuffle of rows would turn each of them from Spark's form into Arrow, after it was written and read alone. Instead the
rows are sorted by receiver where they are, in columns, and travel in messages of some kilobytes; Spark never looks
inside. The rows of one sender keep their order.

Messages are small because Spark hands a receiver up to `batch_limits.BATCH_ROWS` of them at a time.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from polynya.arrow.route import bucket_ids
from polynya.codec.murmur import row_hashes
from polynya.errors import InvalidInputError, UnsupportedError
from polynya.model.bucket_mode import bucket_key
from polynya.model.options_data import BUCKET_FUNCTION_TYPE
from polynya.model.schema import Schema
from polynya.spark.answers import error_of, told
from polynya.spark.tasks import spare_modules

GATHERED_ROWS = 32768  # rows that are routed together; Spark may send fewer at a time
GATHERED_BYTES = 32 * 2**20
MESSAGE_BYTES = 64 * 2**10
PARTS_PER_TASK = 8  # of a partitioned table: Spark deals them out by their hash, and joins small tasks
PACKED = "receiver int, rows binary, error_class string, error string"
PACKED_SCHEMA = pa.schema(
    [("receiver", pa.int32()), ("rows", pa.binary()), ("error_class", pa.string()), ("error", pa.string())]
)

Prepare = Callable[[pa.RecordBatch], pa.RecordBatch]


@dataclass(frozen=True)
class Receivers:
    """Who gets a row: all rows of a bucket have one receiver."""

    schema: Schema
    bucket_count: int
    count: int

    def of(self, rows: pa.RecordBatch) -> npt.NDArray[np.int64]:
        """The receiver of each row."""
        keys = [rows[name] for name in bucket_key(self.schema)]
        function = BUCKET_FUNCTION_TYPE.of(self.schema.options)
        places = np.asarray(bucket_ids(keys, self.bucket_count, function)).astype(np.int64)
        if self.schema.partition_by:
            places += row_hashes([rows[name] for name in self.schema.partition_by])
        return np.mod(places, self.count)


def exchange(frame: DataFrame, prepare: Prepare, schema: Schema, bucket_count: int, task_count: int) -> DataFrame:
    """The rows of the frame, prepared and packed, with all rows of a bucket in one partition."""
    if schema.partition_by:  # how many buckets there are is not known: Spark joins small parts by itself
        receivers = Receivers(schema, bucket_count, task_count * PARTS_PER_TASK)
        return frame.mapInArrow(_packing(prepare, receivers), PACKED).repartition(F.col("receiver"))
    receivers = Receivers(schema, bucket_count, min(bucket_count, task_count))
    return frame.mapInArrow(_packing(prepare, receivers), PACKED).repartitionById(receivers.count, F.col("receiver"))


def _packing(prepare: Prepare, receivers: Receivers) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def pack_all(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            for batch in gathered(batches):
                rows = prepare(batch)
                yield pack(rows, receivers.of(rows))
        except (
            InvalidInputError,
            UnsupportedError,
        ) as error:  # a receiver tells the driver; a retry would end the same
            yield pa.RecordBatch.from_pylist([{"receiver": 0, **told(error)}], schema=PACKED_SCHEMA)

    return pack_all


def pack(rows: pa.RecordBatch, receivers: npt.NDArray[np.int64]) -> pa.RecordBatch:
    """The rows in messages to their receivers."""
    order = np.argsort(receivers.astype(np.uint16) if receivers.max(initial=0) < 2**16 else receivers, kind="stable")
    placed = receivers[order]
    rows = rows if (placed == receivers).all() else rows.take(pa.array(order))
    step = max(1, rows.num_rows * MESSAGE_BYTES // max(1, rows.nbytes))
    firsts = np.flatnonzero(np.diff(placed, prepend=-1))
    sizes = np.diff(firsts, append=len(placed))
    pieces = -(-sizes // step)
    number = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    starts = np.repeat(firsts, pieces) + number * step
    ends = np.minimum(starts + step, np.repeat(firsts + sizes, pieces))
    messages = _messages(rows, starts.tolist(), ends.tolist())
    empty = pa.nulls(len(messages), pa.string())
    return pa.RecordBatch.from_arrays(
        [pa.array(placed[starts].astype(np.int32)), messages, empty, empty], schema=PACKED_SCHEMA
    )


def _messages(rows: pa.RecordBatch, starts: list[int], ends: list[int]) -> pa.BinaryArray:
    """The pieces of the rows as Arrow messages, written one behind the other and copied no more."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_batch(rows.slice(0, 0))  # before it comes the schema, which receivers know
        offsets = [sink.tell()]
        for start, end in zip(starts, ends, strict=True):
            writer.write_batch(rows.slice(start, end - start))
            offsets.append(sink.tell())
    bounds = pa.py_buffer(np.array(offsets, np.int32))
    return pa.BinaryArray.from_buffers(pa.binary(), len(starts), [None, bounds, sink.getvalue()])


def unpack(packed: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows of the messages; the error of a sender is raised."""
    for batch in packed:
        if batch["error"].null_count < batch.num_rows:
            (failed,) = batch.filter(batch["error"].is_valid()).slice(0, 1).to_pylist()
            raise error_of(failed["error_class"], failed["error"])
        for message in batch["rows"]:
            yield pa.ipc.read_record_batch(message.as_buffer(), schema)


def gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows that Spark hands to a worker, in batches that are worth routing."""
    spare_modules()
    waiting: list[pa.RecordBatch] = []
    row_count = size_bytes = 0
    for batch in batches:
        waiting.append(batch)
        row_count, size_bytes = row_count + batch.num_rows, size_bytes + batch.nbytes
        if row_count >= GATHERED_ROWS or size_bytes >= GATHERED_BYTES:
            yield _joined(waiting)
            waiting, row_count, size_bytes = [], 0, 0
    if waiting:
        yield _joined(waiting)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)
