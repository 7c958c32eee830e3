"""Pruning by bucket: a filter that fixes the whole bucket key leaves a few buckets.

The bucket of a key depends on the number of buckets, which may differ between partitions; each entry says its own.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from polynya.model.bucket_mode import BucketMode, bucket_key, bucket_mode
from polynya.model.options_data import BUCKET, BUCKET_FUNCTION_TYPE
from polynya.model.predicate import Predicate
from polynya.model.schema import Schema
from polynya.model.types import DataType, Field
from polynya.paimon.bucket import bucket_ids
from polynya.table.prune import bucket_candidates

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class BucketFilter:
    """The bucket keys that a filter allows, as columns; None when it does not fix them all."""

    schema: Schema
    keys: pa.Table | None = None
    bucket_counts: frozenset[int] = frozenset()

    @classmethod
    def of(cls, predicate: Predicate, schema: Schema, schema_of: Callable[[int], Schema]) -> "BucketFilter":
        """What the predicate says of the bucket key of a table with fixed buckets.

        A key column whose type has changed hashes otherwise in old files, so it prunes nothing.
        """
        if bucket_mode(schema) not in (BucketMode.HASH_FIXED, BucketMode.POSTPONE):
            return cls(schema)
        key = schema.select(bucket_key(schema))
        keys = bucket_candidates(predicate, key)
        if keys is None:
            return cls(schema)
        versions = [schema_of(id) for id in range(schema.id + 1)]
        if any(_types_of(version, key) != _types_of(schema, key) for version in versions):
            return cls(schema)
        return cls(schema, keys, frozenset(BUCKET.of(version.options) for version in versions))

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

    def may_hold(self, metas: pa.Table) -> Mask:
        """Which manifests may hold such entries, by their range of buckets; all, if the number of buckets changed."""
        keep = np.ones(metas.num_rows, bool)
        if self.keys is None or len(self.bucket_counts) != 1 or min(self.bucket_counts) <= 0:
            return keep
        low, high = (pc.fill_null(metas[name], 0).to_numpy() for name in ("min_bucket", "max_bucket"))
        known = np.asarray(pc.and_(pc.is_valid(metas["min_bucket"]), pc.is_valid(metas["max_bucket"])))
        allowed = self._buckets(min(self.bucket_counts))
        first = np.searchsorted(allowed, low, side="left")
        hit = (first < len(allowed)) & (np.append(allowed, -1)[first] <= high)
        keep[known] = hit[known]
        return keep

    def _buckets(self, total: int) -> npt.NDArray[np.int32]:
        """The buckets of the keys out of `total`, ascending."""
        assert self.keys is not None
        function = BUCKET_FUNCTION_TYPE.of(self.schema.options)
        return np.unique(bucket_ids(self.keys.columns, total, function).to_numpy())


def _types_of(schema: Schema, fields: Sequence[Field]) -> list[DataType | None]:
    found = (schema.find_id(field.id) for field in fields)
    return [field.type.with_nullable(True) if field is not None else None for field in found]
