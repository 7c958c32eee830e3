"""What a writer must know of the buckets it adds to: how many there are, and the next sequence number of each."""

from dataclasses import dataclass, field

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


@dataclass(frozen=True)
class BucketState:
    """The buckets of a table at one snapshot; plain data, so that a worker can be told."""

    bucket_count: int
    next_sequences: dict[tuple[bytes, int], int] = field(default_factory=dict)
    run_counts: dict[tuple[bytes, int], int] = field(default_factory=dict)  # sorted runs of a bucket, at most

    def next_sequence(self, partition: bytes, bucket: int) -> int:
        """The number that the next row of the bucket gets."""
        return self.next_sequences.get((partition, bucket), 0)


def read_bucket_state(root: TableRoot, snapshot: Snapshot | None, schema: Schema) -> BucketState:
    """The state that writers of a table with fixed buckets build on; tables without buckets need none.

    InvalidInputError when a partition has another number of buckets than the table.
    """
    count = BUCKET.of(schema.options)
    if bucket_mode(schema) is BucketMode.UNAWARE or snapshot is None:
        return BucketState(count)
    live = entries.read_live(root, snapshot, COLUMNS)
    _require_count(live, count)
    live = live.append_column("is_level_0", pc.equal(live["level"], 0).cast(pa.int64()))
    found = live.group_by(["partition", "bucket"]).aggregate(
        [("max_sequence_number", "max"), ("is_level_0", "sum"), ("level", "count_distinct")]
    )
    keys = list(zip(found["partition"].to_pylist(), found["bucket"].to_pylist(), strict=True))
    numbers = pc.add(found["max_sequence_number_max"], 1).to_pylist()
    runs = pc.add(found["is_level_0_sum"], found["level_count_distinct"]).to_pylist()
    return BucketState(count, dict(zip(keys, numbers, strict=True)), dict(zip(keys, runs, strict=True)))


def _require_count(live: pa.Table, count: int) -> None:
    for found in live["total_buckets"].unique().to_pylist():
        if found > 0 and found != count:
            raise InvalidInputError(
                f"option 'bucket' is {count}, but a partition has {found} buckets; "
                "overwrite the partitions with the new number of buckets (rescale) before adding rows"
            )
