"""The table options that steer a commit, parsed once."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from polynya.model.options_data import (
    AVRO_CODEC,
    COMMIT_MAX_RETRIES,
    COMMIT_MAX_RETRY_WAIT,
    COMMIT_MIN_RETRY_WAIT,
    COMMIT_TIMEOUT,
    COMMIT_USER_PREFIX,
    FILE_COMPRESSION_ZSTD_LEVEL,
    MANIFEST_COMPRESSION,
    MANIFEST_DELETE_FILE_DROP_STATS,
    MANIFEST_FULL_COMPACTION_THRESHOLD_SIZE,
    MANIFEST_MERGE_MIN_COUNT,
    MANIFEST_TARGET_FILE_SIZE,
    ROW_TRACKING_ENABLED,
    ROW_TRACKING_PARTITION_GROUP_ON_COMMIT,
)


@dataclass(frozen=True)
class CommitOptions:
    """How long to try, how manifests are written and when they are merged."""

    retry_count_max: int
    retry_wait_min_ms: int
    retry_wait_max_ms: int
    timeout_ms: int | None
    manifest_codec: str
    manifest_zstd_level: int
    manifest_size_bytes: int
    merge_count_min: int
    full_merge_size_bytes: int
    drops_stats_of_deleted: bool
    user_prefix: str | None
    has_row_ids: bool
    groups_row_ids_by_partition: bool

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "CommitOptions":
        """Read them from a table's options; a commit asks several times, so what was read is remembered."""
        return _read(tuple(options.items()))

    def retry_wait_s(self, retry: int, fraction: float) -> float:
        """The pause before retry number `retry` (from 0): doubled each time, capped, with up to a fifth of jitter."""
        wait_ms = min(self.retry_wait_min_ms * (1 << min(retry, 40)), self.retry_wait_max_ms)
        return wait_ms * (1 + 0.2 * fraction) / 1000


def avro_codec(compression: str) -> str:
    """The Avro name of a compression as table options name it."""
    return {"zstd": "zstandard", "none": "null"}.get(compression.lower(), compression)


@functools.lru_cache(maxsize=64)
def _read(items: tuple[tuple[str, str], ...]) -> CommitOptions:
    options = dict(items)
    return CommitOptions(
        retry_count_max=COMMIT_MAX_RETRIES.of(options),
        retry_wait_min_ms=COMMIT_MIN_RETRY_WAIT.of(options),
        retry_wait_max_ms=COMMIT_MAX_RETRY_WAIT.of(options),
        timeout_ms=COMMIT_TIMEOUT.find(options),
        manifest_codec=avro_codec(AVRO_CODEC.find(options) or MANIFEST_COMPRESSION.of(options)),
        manifest_zstd_level=FILE_COMPRESSION_ZSTD_LEVEL.of(options),
        manifest_size_bytes=MANIFEST_TARGET_FILE_SIZE.of(options),
        merge_count_min=MANIFEST_MERGE_MIN_COUNT.of(options),
        full_merge_size_bytes=MANIFEST_FULL_COMPACTION_THRESHOLD_SIZE.of(options),
        drops_stats_of_deleted=MANIFEST_DELETE_FILE_DROP_STATS.of(options),
        user_prefix=COMMIT_USER_PREFIX.find(options),
        has_row_ids=ROW_TRACKING_ENABLED.of(options),
        groups_row_ids_by_partition=ROW_TRACKING_PARTITION_GROUP_ON_COMMIT.of(options),
    )
