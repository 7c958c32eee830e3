"""Pruning by bucket: a filter that fixes the whole bucket key leaves a few buckets.

The bucket of a key depends on the number of buckets, which may differ between partitions; each entry says its own.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from polynya.model.bucket_mode import BucketMode, bucket_key, bucket_mode
from polynya.model.options_data import BUCKET, BUCKET_FUNCTION_TYPE
from polynya.model.predicate import Predicate
from polynya.model.schema import Schema
from polynya.paimon.bucket import bucket_ids
from polynya.table.prune import bucket_candidates

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class BucketFilter:
    """The bucket keys that a filter allows, as columns; None when it does not fix them all."""

    keys: tuple[pa.Array, ...] | None
    schema: Schema

    @classmethod
    def of(cls, predicate: Predicate, schema: Schema) -> "BucketFilter":
        """What the predicate says of the bucket key of a table with fixed buckets."""
        if bucket_mode(schema) not in (BucketMode.HASH_FIXED, BucketMode.POSTPONE):
            return cls(None, schema)
        keys = bucket_candidates(predicate, schema.select(bucket_key(schema)))
        return cls(tuple(keys) if keys is not None else None, schema)

    def mask(self, files: pa.Table) -> Mask:
        """Which of the entries may hold rows of the keys."""
        keep = np.ones(files.num_rows, bool)
        if self.keys is None:
            return keep
        totals, buckets = files["total_buckets"].to_numpy(), files["bucket"].to_numpy()
        for total in np.unique(totals):
            if total > 0:
                here = totals == total
                keep[here] = np.isin(buckets[here], self._buckets(int(total)))
        return keep

    def may_hold(self, metas: pa.Table, schema_of: Callable[[int], Schema]) -> Mask:
        """Which manifests may hold such entries, by their range of buckets; all, if the number of buckets ever changed."""
        keep = np.ones(metas.num_rows, bool)
        totals = (
            {BUCKET.of(schema_of(id).options) for id in range(self.schema.id + 1)} if self.keys is not None else set()
        )
        if len(totals) != 1:
            return keep
        low, high = (pc.fill_null(metas[name], 0).to_numpy() for name in ("min_bucket", "max_bucket"))
        known = np.asarray(pc.and_(pc.is_valid(metas["min_bucket"]), pc.is_valid(metas["max_bucket"])))
        allowed = np.sort(self._buckets(totals.pop()))
        first = np.searchsorted(allowed, low, side="left")
        hit = (first < len(allowed)) & (allowed[np.minimum(first, len(allowed) - 1)] <= high)
        keep[known] = hit[known]
        return keep

    def _buckets(self, total: int) -> npt.NDArray[np.int32]:
        function = BUCKET_FUNCTION_TYPE.of(self.schema.options)
        return np.unique(bucket_ids(list(self.keys or ()), total, function).to_numpy())
