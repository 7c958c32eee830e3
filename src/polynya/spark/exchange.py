"""Rows on their way to the task that writes their bucket: packed in Arrow messages, which Spark shuffles as bytes.

A shuffle of rows would turn each of them from Spark's form into Arrow, after it was written and read alone. Instead the
rows are sorted by receiver where they are, in columns, and travel in messages of some kilobytes; Spark never looks
inside. The rows of one sender keep their order.

All rows of a bucket have one receiver. But where a sender has had many rows for one receiver, and far more than for the
others, it deals out what follows in shares, by key, to tasks that wait for that: a bucket of most rows does not hold up
the job. Each share of a bucket numbers its rows in a range of its own, and those that were dealt out come after all
that were not, so rows of one key keep the order of their sender. Rows of a table without a key are not dealt out: there
the whole bucket has an order.

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
SHARES = 4  # of what is dealt out of one bucket
HOT_BYTES = 16 * 2**20  # that a sender has for one receiver before it deals out more
HOT_FACTOR = 3  # times the part of all rows that a task would get if all got the same
PACKED = "receiver int, share int, rows binary, error_class string, error string"
PACKED_SCHEMA = pa.schema(
    [
        ("receiver", pa.int32()),
        ("share", pa.int32()),
        ("rows", pa.binary()),
        ("error_class", pa.string()),
        ("error", pa.string()),
    ]
)

Ints = npt.NDArray[np.int64]
Prepare = Callable[[pa.RecordBatch], pa.RecordBatch]


@dataclass(frozen=True)
class Receivers:
    """Who gets a row: all rows of a bucket have one receiver; the helpers behind them get what is dealt out."""

    schema: Schema
    bucket_count: int
    count: int
    task_count: int

    def of(self, rows: pa.RecordBatch) -> Ints:
        """The receiver of each row."""
        keys = [rows[name] for name in bucket_key(self.schema)]
        function = BUCKET_FUNCTION_TYPE.of(self.schema.options)
        places = np.asarray(bucket_ids(keys, self.bucket_count, function)).astype(np.int64)
        if self.schema.partition_by:
            places += row_hashes([rows[name] for name in self.schema.partition_by])
        return np.mod(places, self.count)

    def shares(self, rows: pa.RecordBatch) -> Ints:
        """The share of each row when it is dealt out, from 1: one for all rows of a key."""
        hashes = row_hashes([rows[name] for name in self.schema.primary_key]).astype(np.int64)
        return np.mod(hashes // self.bucket_count, SHARES) + 1


class Dealer:
    """Finds the receivers of the rows of one sender, and when there are too many for one of them."""

    def __init__(self, receivers: Receivers) -> None:
        self._receivers = receivers
        self._sent_bytes = np.zeros(receivers.count)
        self._is_hot = np.zeros(receivers.count, bool)

    def deal(self, rows: pa.RecordBatch) -> tuple[Ints, Ints]:
        """The receiver of each row, and the share of its bucket that it belongs to: 0 unless it was dealt out."""
        receivers, shares = self._receivers.of(rows), np.zeros(rows.num_rows, np.int64)
        hot = self._is_hot[receivers]
        if self._receivers.schema.primary_key:
            self._count(receivers, rows.nbytes)
        if hot.any():
            shares[hot] = self._receivers.shares(rows.filter(pa.array(hot)))
            receivers[hot] = self._receivers.count + np.mod(receivers[hot] + shares[hot], SHARES)
        return receivers, shares

    def _count(self, receivers: Ints, size_bytes: int) -> None:
        counts = np.bincount(receivers, minlength=len(self._sent_bytes))
        self._sent_bytes += counts * (size_bytes / max(1, len(receivers)))
        fair = self._sent_bytes.sum() / self._receivers.task_count
        self._is_hot |= (self._sent_bytes > HOT_BYTES) & (self._sent_bytes > HOT_FACTOR * fair)


def exchange(frame: DataFrame, prepare: Prepare, schema: Schema, bucket_count: int, task_count: int) -> DataFrame:
    """The rows of the frame, prepared and packed, with all rows of a share of a bucket in one partition."""
    if schema.partition_by:  # how many buckets there are is not known: Spark joins small parts by itself
        receivers = Receivers(schema, bucket_count, task_count * PARTS_PER_TASK, task_count)
        return frame.mapInArrow(_packing(prepare, receivers), PACKED).repartition(F.col("receiver"))
    receivers = Receivers(schema, bucket_count, min(bucket_count, task_count), task_count)
    packed = frame.mapInArrow(_packing(prepare, receivers), PACKED)
    return packed.repartitionById(receivers.count + SHARES, F.col("receiver"))


def _packing(prepare: Prepare, receivers: Receivers) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def pack_all(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        spare_modules()
        dealer = Dealer(receivers)
        try:
            for batch in gathered(batches):
                rows = prepare(batch)
                yield pack(rows, *dealer.deal(rows))
        except (InvalidInputError, UnsupportedError) as error:
            # A receiver tells the driver: a retry would end the same.
            yield pa.RecordBatch.from_pylist([{"receiver": 0, **told(error)}], schema=PACKED_SCHEMA)

    return pack_all


def pack(rows: pa.RecordBatch, receivers: Ints, shares: Ints) -> pa.RecordBatch:
    """The rows in messages to their receivers, each of one share."""
    places = receivers * (SHARES + 1) + shares
    order = np.argsort(places.astype(np.uint16) if places.max(initial=0) < 2**16 else places, kind="stable")
    placed = places[order]
    rows = rows if (placed == places).all() else rows.take(pa.array(order))
    step = max(1, rows.num_rows * MESSAGE_BYTES // max(1, rows.nbytes))
    firsts = np.flatnonzero(np.diff(placed, prepend=-1))
    sizes = np.diff(firsts, append=len(placed))
    pieces = -(-sizes // step)
    number = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    starts = np.repeat(firsts, pieces) + number * step
    ends = np.minimum(starts + step, np.repeat(firsts + sizes, pieces))
    messages = _messages(rows, starts.tolist(), ends.tolist())
    empty = pa.nulls(len(messages), pa.string())
    receiver, share = (pa.array(part.astype(np.int32)) for part in np.divmod(placed[starts], SHARES + 1))
    return pa.RecordBatch.from_arrays([receiver, share, messages, empty, empty], schema=PACKED_SCHEMA)


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


def unpack(packed: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of the messages, with the share that they belong to; the error of a sender is raised."""
    for batch in packed:
        if batch["error"].null_count < batch.num_rows:
            (failed,) = batch.filter(batch["error"].is_valid()).slice(0, 1).to_pylist()
            raise error_of(failed["error_class"], failed["error"])
        for share, message in zip(batch["share"].to_pylist(), batch["rows"], strict=True):
            yield share, pa.ipc.read_record_batch(message.as_buffer(), schema)


def gathered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows that Spark hands to a worker, in batches that are worth routing."""
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
