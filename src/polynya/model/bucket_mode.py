"""How a table spreads its rows over buckets.

| table | `bucket` | mode |
|---|---|---|
| primary key | N > 0 | HASH_FIXED |
| primary key with all partition columns | -1 | HASH_DYNAMIC |
| primary key without some partition column | -1 | KEY_DYNAMIC, a key moves between partitions |
| primary key | -2 | POSTPONE |
| append | N > 0 | HASH_FIXED |
| append | -1 | UNAWARE, all rows in bucket 0 |
"""

from enum import StrEnum

from polynya.model.options_data import BUCKET, BUCKET_KEY
from polynya.model.schema import Schema


class BucketMode(StrEnum):
    """How the bucket of a row is found; the values are Paimon's own names."""

    HASH_FIXED = "HASH_FIXED"
    HASH_DYNAMIC = "HASH_DYNAMIC"
    KEY_DYNAMIC = "KEY_DYNAMIC"
    POSTPONE = "POSTPONE_MODE"
    UNAWARE = "BUCKET_UNAWARE"


def bucket_mode(schema: Schema) -> BucketMode:
    """The mode of a table."""
    bucket = BUCKET.of(schema.options)
    if bucket > 0:
        return BucketMode.HASH_FIXED
    if not schema.primary_key:
        return BucketMode.UNAWARE
    if bucket == -2:
        return BucketMode.POSTPONE
    inside = set(schema.partition_by) <= set(schema.primary_key)
    return BucketMode.HASH_DYNAMIC if inside else BucketMode.KEY_DYNAMIC


def bucket_key(schema: Schema) -> tuple[str, ...]:
    """The columns whose hash gives the bucket: the option, else the primary key without partition columns."""
    return BUCKET_KEY.find(schema.options) or schema.trimmed_primary_key
