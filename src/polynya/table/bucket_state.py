"""What a writer must know of the buckets it adds to: how many there are, and the next sequence number of each."""

from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from polynya.errors import InvalidInputError
from polynya.model.bucket_mode import BucketMode, bucket_mode
from polynya.model.options_data import BUCKET
from polynya.model.schema import Schema
from polynya.paimon.snapshot import Snapshot
from polynya.table import entries
from polynya.table.history import TableRoot

COLUMNS = ("total_buckets", "max_sequence_number")
SEQUENCES_PER_TASK = 2**32  # numbers that the rows of one task may use


@dataclass(frozen=True)
class BucketState:
    """The buckets of a table at one snapshot; plain data, so that a worker can be told."""

    bucket_count: int
    next_sequences: dict[tuple[bytes, int], int] = field(default_factory=dict)
    run_counts: dict[tuple[bytes, int], int] = field(default_factory=dict)  # sorted runs of a bucket, at most
    other_counts: dict[bytes, int] = field(default_factory=dict)  # partitions with another number of buckets
    offset: int = 0  # of the numbers of one of several tasks that write to the same buckets

    def require_count(self, partition: bytes) -> None:
        """Raise InvalidInputError when the partition has another number of buckets than the table."""
        if partition in self.other_counts:
            raise InvalidInputError(
                f"option 'bucket' is {self.bucket_count}, but a partition that is written to has "
                f"{self.other_counts[partition]} buckets; rescale or overwrite the partition before adding rows to it"
            )

    def next_sequence(self, partition: bytes, bucket: int) -> int:
        """The number that the next row of the bucket gets."""
        return self.next_sequences.get((partition, bucket), 0) + self.offset

    def apart(self, task: int) -> "BucketState":
        """The same buckets for one of several tasks that write to them: it numbers its rows in a range of its own."""
        return replace(self, offset=task * SEQUENCES_PER_TASK)


def read_bucket_state(root: TableRoot, snapshot: Snapshot | None, schema: Schema) -> BucketState:
    """The state that writers of a table with fixed buckets build on; tables without buckets need none."""
    count = BUCKET.of(schema.options)
    if bucket_mode(schema) is BucketMode.UNAWARE or snapshot is None:
        return BucketState(count)
    live = entries.read_live(root, snapshot, COLUMNS)
    live = live.append_column("is_level_0", pc.equal(live["level"], 0).cast(pa.int64()))
    found = live.group_by(["partition", "bucket"]).aggregate(
        [("max_sequence_number", "max"), ("is_level_0", "sum"), ("level", "count_distinct")]
    )
    keys = list(zip(found["partition"].to_pylist(), found["bucket"].to_pylist(), strict=True))
    numbers = pc.add(found["max_sequence_number_max"], 1).to_pylist()
    runs = pc.add(found["is_level_0_sum"], found["level_count_distinct"]).to_pylist()
    next_sequences, run_counts = (dict(zip(keys, values, strict=True)) for values in (numbers, runs))
    return BucketState(count, next_sequences, run_counts, _other_counts(live, count))


def _other_counts(live: pa.Table, count: int) -> dict[bytes, int]:
    totals = live["total_buckets"]
    others = live.filter(pc.and_(pc.greater(totals, 0), pc.not_equal(totals, count)))
    return dict(zip(others["partition"].to_pylist(), others["total_buckets"].to_pylist(), strict=True))
