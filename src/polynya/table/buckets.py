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
    """The bucket keys that a filter allows, as columns; None when it does not fix them all.

    A key column whose type has changed hashes otherwise in files of an older schema, so it prunes nothing there.
    """

    schema: Schema
    schema_of: Callable[[int], Schema]
    keys: pa.Table | None = None

    @classmethod
    def of(cls, predicate: Predicate, schema: Schema, schema_of: Callable[[int], Schema]) -> "BucketFilter":
        """What the predicate says of the bucket key of a table with fixed buckets."""
        if bucket_mode(schema) not in (BucketMode.HASH_FIXED, BucketMode.POSTPONE):
            return cls(schema, schema_of)
        return cls(schema, schema_of, bucket_candidates(predicate, schema.select(bucket_key(schema))))

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
        for id in pc.unique(files["schema_id"]).to_pylist():
            if not self._hashes_alike(id):
                keep |= files["schema_id"].to_numpy() == id
        return keep

    def may_hold(self, metas: pa.Table) -> Mask:
        """Which manifests may hold such entries, by their range of buckets; all, if the number of buckets changed."""
        keep = np.ones(metas.num_rows, bool)
        total = BUCKET.of(self.schema.options)
        if self.keys is None or total <= 0:
            return keep
        low, high = (pc.fill_null(metas[name], 0).to_numpy() for name in ("min_bucket", "max_bucket"))
        known = np.asarray(pc.and_(pc.is_valid(metas["min_bucket"]), pc.is_valid(metas["max_bucket"])))
        allowed = self._buckets(total)
        first = np.searchsorted(allowed, low, side="left")
        hit = (first < len(allowed)) & (np.append(allowed, -1)[first] <= high)
        if hit[known].all() or not self._always_had(total):  # older schemas are read only where it matters
            return keep
        keep[known] = hit[known]
        return keep

    def _always_had(self, total: int) -> bool:
        """Whether every version of the schema has that many buckets, and a key that hashes alike."""
        ids = range(self.schema.id + 1)
        return all(self._hashes_alike(id) and BUCKET.of(self.schema_of(id).options) == total for id in ids)

    def _hashes_alike(self, schema_id: int) -> bool:
        key = self.schema.select(bucket_key(self.schema))
        return schema_id == self.schema.id or _types_of(self.schema_of(schema_id), key) == _types_of(self.schema, key)

    def _buckets(self, total: int) -> npt.NDArray[np.int32]:
        """The buckets of the keys out of `total`, ascending."""
        assert self.keys is not None
        function = BUCKET_FUNCTION_TYPE.of(self.schema.options)
        return np.unique(bucket_ids(self.keys.columns, total, function).to_numpy())


def _types_of(schema: Schema, fields: Sequence[Field]) -> list[DataType | None]:
    found = (schema.find_id(field.id) for field in fields)
    return [field.type.with_nullable(True) if field is not None else None for field in found]
