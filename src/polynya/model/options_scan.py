"""What is read of a table and what is kept of it: scanning, streaming, retention.

An option is changed here, in one place; `docs/options.md` is made from this.
"""

from polynya.model.option_kinds import (
    HONOURED,
    REFUSED_ON_READ,
    REFUSED_ON_WRITE,
    boolean,
    choice,
    duration,
    integer,
    long,
    names,
    size,
    text,
)

# Scanning

SCAN_MODE = choice(
    "scan.mode",
    "default",
    "default latest-full full latest latest-delta compacted-full from-timestamp from-creation-timestamp "
    "from-file-creation-time from-snapshot from-snapshot-full incremental",
    HONOURED,
    "where a read starts",
    fallbacks=("log.scan",),
)
SCAN_SNAPSHOT_ID = long("scan.snapshot-id", None, HONOURED, "read this snapshot")
SCAN_TAG_NAME = text("scan.tag-name", None, HONOURED, "read this tag")
SCAN_TIMESTAMP_MILLIS = long(
    "scan.timestamp-millis", None, HONOURED, "read the snapshot of this time", fallbacks=("log.scan.timestamp-millis",)
)
SCAN_TIMESTAMP = text("scan.timestamp", None, HONOURED, "read the snapshot of this time, as text")
SCAN_WATERMARK = long("scan.watermark", None, HONOURED, "read the first snapshot of this watermark")
SCAN_VERSION = text("scan.version", None, HONOURED, "read this tag, watermark or snapshot")
SCAN_FILE_CREATION_TIME_MILLIS = long("scan.file-creation-time-millis", None, HONOURED, "read files made since then")
SCAN_CREATION_TIME_MILLIS = long("scan.creation-time-millis", None, HONOURED, "read what was made since then")
INCREMENTAL_BETWEEN = text("incremental-between", None, HONOURED, "changes after one snapshot or tag up to another")
INCREMENTAL_BETWEEN_TIMESTAMP = text("incremental-between-timestamp", None, HONOURED, "changes between two times")
INCREMENTAL_BETWEEN_SCAN_MODE = choice(
    "incremental-between-scan-mode", "auto", "auto delta changelog diff", HONOURED, "which files tell the changes"
)
INCREMENTAL_BETWEEN_TAG_TO_SNAPSHOT = boolean(
    "incremental-between-tag-to-snapshot", False, HONOURED, "tags stand for their snapshots"
)
INCREMENTAL_TO_AUTO_TAG = text("incremental-to-auto-tag", None, HONOURED, "changes since the automatic tag before")
SCAN_BOUNDED_WATERMARK = long("scan.bounded.watermark", None, HONOURED, "streaming ends after this watermark")
SCAN_FALLBACK_BRANCH = text(
    "scan.fallback-branch",
    None,
    REFUSED_ON_READ,
    "partitions missing here are read from a branch",
    "branches are read one at a time",
)
SCAN_PRIMARY_BRANCH = text(
    "scan.primary-branch", None, REFUSED_ON_READ, "branch that is read first", "branches are read one at a time"
)
SCAN_FALLBACK_SNAPSHOT_BRANCH = text(
    "scan.fallback-snapshot-branch", None, REFUSED_ON_READ, "branch of full partitions", "chain tables are not read"
)
SCAN_FALLBACK_DELTA_BRANCH = text(
    "scan.fallback-delta-branch", None, REFUSED_ON_READ, "branch of changes", "chain tables are not read"
)
CHAIN_TABLE_ENABLED = boolean(
    "chain-table.enabled", False, REFUSED_ON_READ, "partitions are chains of changes", "chain tables are not read"
)
SCAN_PLAN_SORT_PARTITION = boolean("scan.plan-sort-partition", False, HONOURED, "splits in the order of partitions")
SCAN_BUCKET = integer("scan.bucket", None, REFUSED_ON_READ, "read one bucket only", "buckets are read by filters")
SOURCE_SPLIT_TARGET_SIZE = size("source.split.target-size", "128 mb", HONOURED, "bytes of a split")
SOURCE_SPLIT_OPEN_FILE_COST = size("source.split.open-file-cost", "4 mb", HONOURED, "bytes that opening a file counts")
CONTINUOUS_DISCOVERY_INTERVAL = duration(
    "continuous.discovery-interval", "10 s", HONOURED, "pause between looks for new snapshots"
)
STREAMING_READ_OVERWRITE = boolean("streaming-read-overwrite", False, HONOURED, "streams read OVERWRITE snapshots")
STREAMING_READ_APPEND_OVERWRITE = boolean(
    "streaming-read-append-overwrite", False, HONOURED, "streams read OVERWRITE snapshots of append tables"
)
STREAMING_READ_SNAPSHOT_DELAY = duration(
    "streaming.read.snapshot.delay", None, HONOURED, "streams stay this far behind"
)
CONSUMER_ID = text("consumer-id", None, HONOURED, "reader whose progress is kept")
CONSUMER_EXPIRATION_TIME = duration(
    "consumer.expiration-time", None, HONOURED, "rest after which a consumer is forgotten"
)
CONSUMER_IGNORE_PROGRESS = boolean("consumer.ignore-progress", False, HONOURED, "start anew")
CONSUMER_CHANGELOG_ONLY = boolean(
    "consumer.changelog-only", False, HONOURED, "consumers keep changelogs, not snapshots"
)
TABLE_READ_SEQUENCE_NUMBER_ENABLED = boolean(
    "table-read.sequence-number.enabled", False, HONOURED, "audit_log and binlog show sequence numbers"
)
QUERY_AUTH_ENABLED = boolean(
    "query-auth.enabled",
    False,
    REFUSED_ON_READ,
    "a server decides which rows may be read",
    "rules of a server are not applied",
)
READ_CHANGELOG = boolean("read.changelog", False, HONOURED, "streams show the row kind")
READ_STREAM_MAX_FILES_PER_TRIGGER = integer("read.stream.maxFilesPerTrigger", None, HONOURED, "files of a micro batch")
READ_STREAM_MAX_BYTES_PER_TRIGGER = long("read.stream.maxBytesPerTrigger", None, HONOURED, "bytes of a micro batch")
READ_STREAM_MAX_ROWS_PER_TRIGGER = long("read.stream.maxRowsPerTrigger", None, HONOURED, "rows of a micro batch")
READ_STREAM_MIN_ROWS_PER_TRIGGER = long(
    "read.stream.minRowsPerTrigger", None, HONOURED, "rows that a micro batch waits for"
)
READ_STREAM_MAX_TRIGGER_DELAY_MS = long("read.stream.maxTriggerDelayMs", None, HONOURED, "longest wait for them")
WRITE_MERGE_SCHEMA = boolean("write.merge-schema", False, HONOURED, "writing adds new columns")
WRITE_MERGE_SCHEMA_TYPE_WIDENING = boolean("write.merge-schema.type-widening", False, HONOURED, "writing widens types")
WRITE_MERGE_SCHEMA_EXPLICIT_CAST = boolean("write.merge-schema.explicit-cast", False, HONOURED, "writing changes types")
SCAN_PARTITIONS = text(
    "scan.partitions",
    None,
    REFUSED_ON_READ,
    "read these partitions only (Flink)",
    "partitions are chosen by filters",
    fallbacks=("lookup.dynamic-partition",),
)

# Retention, tags, partitions

SNAPSHOT_NUM_RETAINED_MIN = integer("snapshot.num-retained.min", 10, HONOURED, "snapshots kept at least")
SNAPSHOT_NUM_RETAINED_MAX = integer("snapshot.num-retained.max", 2147483647, HONOURED, "snapshots kept at most")
SNAPSHOT_TIME_RETAINED = duration("snapshot.time-retained", "1 h", HONOURED, "age up to which snapshots are kept")
SNAPSHOT_EXPIRE_LIMIT = integer("snapshot.expire.limit", 50, HONOURED, "snapshots expired at once")
SNAPSHOT_CLEAN_EMPTY_DIRECTORIES = boolean(
    "snapshot.clean-empty-directories",
    False,
    HONOURED,
    "expiry deletes empty folders",
    fallbacks=("snapshot.expire.clean-empty-directories",),
)
CHANGELOG_NUM_RETAINED_MIN = integer("changelog.num-retained.min", None, HONOURED, "changelogs kept at least")
CHANGELOG_NUM_RETAINED_MAX = integer("changelog.num-retained.max", None, HONOURED, "changelogs kept at most")
CHANGELOG_TIME_RETAINED = duration("changelog.time-retained", None, HONOURED, "age up to which changelogs are kept")
TAG_AUTOMATIC_CREATION = choice(
    "tag.automatic-creation",
    "none",
    "none process-time watermark batch",
    REFUSED_ON_WRITE,
    "tags made by commits",
    "commits make no tags",
)
TAG_DEFAULT_TIME_RETAINED = duration("tag.default-time-retained", None, HONOURED, "time that new tags are kept")
TAG_TIME_EXPIRE_ENABLED = boolean("tag.time-expire-enabled", True, HONOURED, "tags expire by their time")
TAG_CALLBACKS = text("tag.callbacks", "", REFUSED_ON_WRITE, "classes called after a tag", "they are Java classes")
PARTITION_EXPIRATION_TIME = duration("partition.expiration-time", None, HONOURED, "age at which partitions are dropped")
PARTITION_EXPIRATION_CHECK_INTERVAL = duration(
    "partition.expiration-check-interval", "1 h", HONOURED, "pause between looks"
)
PARTITION_EXPIRATION_STRATEGY = text(
    "partition.expiration-strategy", "values-time", HONOURED, "age by value or by update"
)
PARTITION_EXPIRATION_MAX_NUM = integer("partition.expiration-max-num", 100, HONOURED, "partitions dropped at once")
PARTITION_EXPIRATION_BATCH_SIZE = integer(
    "partition.expiration-batch-size", None, HONOURED, "partitions dropped in one commit"
)
PARTITION_TIMESTAMP_PATTERN = text("partition.timestamp-pattern", None, HONOURED, "how values make a time")
PARTITION_TIMESTAMP_FORMATTER = text("partition.timestamp-formatter", None, HONOURED, "how that time is read")
PARTITION_TIMESTAMP_FORMAT_STRICT = boolean(
    "partition.timestamp-format.strict", False, HONOURED, "refuse times that do not fit"
)
PARTITION_MARK_DONE_ACTION = names(
    "partition.mark-done-action", "success-file", HONOURED, "what marks a complete partition"
)
