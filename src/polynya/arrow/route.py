"""Where rows go: the partition of each row, and the rows of each partition and bucket.

The bucket functions are Paimon's and stand in `paimon.bucket`; grouping is one stable sort of small integers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec.binary_rows import encode_rows
from polynya.codec.int128 import I64
from polynya.codec.row_words import plain_column
from polynya.paimon.bucket import bucket_ids

__all__ = ["Routes", "bucket_ids", "partition_rows", "route"]

_KEYS_MAX = 1 << 16  # that many groups sort by radix


@dataclass(frozen=True, slots=True)
class Routes:
    """The rows of a batch by (partition, bucket), in the order of partition bytes and then buckets."""

    partitions: pa.Array
    buckets: pa.Int32Array
    order: pa.Int64Array
    bounds: I64

    def __len__(self) -> int:
        return len(self.buckets)

    def rows(self, index: int) -> pa.Int64Array:
        """The rows of the group, ascending."""
        return self.order[self.bounds[index] : self.bounds[index + 1]]


def partition_rows(columns: Sequence[pa.Array | pa.ChunkedArray], row_count: int) -> pa.Array:
    """The partition of each row, as it stands in manifests; without columns it is the row without fields, held once."""
    if not columns:
        indices = pa.array(np.zeros(row_count, np.int32))
        return pa.DictionaryArray.from_arrays(indices, encode_rows(columns, row_count=1))
    return encode_rows(columns)


def route(partitions: pa.Array | pa.ChunkedArray, buckets: pa.Array | pa.ChunkedArray) -> Routes:
    """The rows grouped by partition bytes and bucket; rows of a group keep their order."""
    is_encoded = isinstance(partitions, pa.DictionaryArray)
    encoded = partitions if is_encoded else plain_column(partitions).dictionary_encode()
    distinct = encoded.dictionary
    ranks = np.empty(len(distinct), dtype=np.int64)
    ranks[np.asarray(pc.array_sort_indices(distinct))] = np.arange(len(distinct))
    bucket_values = np.asarray(plain_column(buckets)).astype(np.int64)
    lowest = int(bucket_values.min(initial=0))  # postponed rows have bucket -2
    width = int(bucket_values.max(initial=0)) - lowest + 1
    keys = ranks[np.asarray(encoded.indices)] * width + (bucket_values - lowest)
    small = len(distinct) * width <= _KEYS_MAX
    if len(keys) and (keys == keys[0]).all():
        order = np.arange(len(keys))
    else:
        order = np.argsort(keys.astype(np.uint16) if small else keys, kind="stable")
    sorted_keys = keys[order]
    firsts = np.flatnonzero(np.diff(sorted_keys, prepend=-1))
    return Routes(
        partitions=distinct.take(encoded.indices.take(pa.array(order[firsts]))),
        buckets=pa.array((sorted_keys[firsts] % width + lowest).astype(np.int32)),
        order=pa.array(order),
        bounds=np.append(firsts, len(order)),
    )
