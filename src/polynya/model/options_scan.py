"""What is read of a table and what is kept of it: scanning, streaming, retention.

An option is changed here, in one place; `docs/options.md` is made from this.
"""

from polynya.model.option_kinds import (
    EXPIRY,
    HONOURED,
    IRRELEVANT,
    REFUSED_ON_READ,
    REFUSED_ON_WRITE,
    boolean,
    choice,
    duration,
    integer,
    long,
    size,
    text,
)

# Scanning

STORED_TRAVEL = "a read starts where its caller says"

SCAN_MODE = choice(
    "scan.mode",
    "default",
    "default latest-full full latest latest-delta compacted-full from-timestamp from-creation-timestamp "
    "from-file-creation-time from-snapshot from-snapshot-full incremental",
    REFUSED_ON_READ,
    "where a read starts",
    STORED_TRAVEL,
    accepted="latest-full full latest",
    fallbacks=("log.scan",),
)
SCAN_SNAPSHOT_ID = long("scan.snapshot-id", None, REFUSED_ON_READ, "read this snapshot", STORED_TRAVEL)
SCAN_TAG_NAME = text("scan.tag-name", None, REFUSED_ON_READ, "read this tag", STORED_TRAVEL)
SCAN_TIMESTAMP_MILLIS = long(
    "scan.timestamp-millis",
    None,
    REFUSED_ON_READ,
    "read the snapshot of this time",
    STORED_TRAVEL,
    fallbacks=("log.scan.timestamp-millis",),
)
SCAN_TIMESTAMP = text("scan.timestamp", None, REFUSED_ON_READ, "read the snapshot of this time, as text", STORED_TRAVEL)
SCAN_WATERMARK = long(
    "scan.watermark", None, REFUSED_ON_READ, "read the first snapshot of this watermark", STORED_TRAVEL
)
SCAN_VERSION = text("scan.version", None, REFUSED_ON_READ, "read this tag, watermark or snapshot", STORED_TRAVEL)
SCAN_FILE_CREATION_TIME_MILLIS = long(
    "scan.file-creation-time-millis", None, REFUSED_ON_READ, "read files made since then", STORED_TRAVEL
)
SCAN_CREATION_TIME_MILLIS = long(
    "scan.creation-time-millis", None, REFUSED_ON_READ, "read what was made since then", STORED_TRAVEL
)
INCREMENTAL_BETWEEN = text(
    "incremental-between", None, REFUSED_ON_READ, "changes after one snapshot or tag up to another", STORED_TRAVEL
)
INCREMENTAL_BETWEEN_TIMESTAMP = text(
    "incremental-between-timestamp", None, REFUSED_ON_READ, "changes between two times", STORED_TRAVEL
)
INCREMENTAL_TO_AUTO_TAG = text(
    "incremental-to-auto-tag", None, REFUSED_ON_READ, "changes since the automatic tag before", STORED_TRAVEL
)
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
SCAN_BUCKET = integer("scan.bucket", None, REFUSED_ON_READ, "read one bucket only", "buckets are read by filters")
SOURCE_SPLIT_TARGET_SIZE = size("source.split.target-size", "128 mb", HONOURED, "bytes of a split")
SOURCE_SPLIT_OPEN_FILE_COST = size("source.split.open-file-cost", "4 mb", HONOURED, "bytes that opening a file counts")
QUERY_AUTH_ENABLED = boolean(
    "query-auth.enabled",
    False,
    REFUSED_ON_READ,
    "a server decides which rows may be read",
    "rules of a server are not applied",
)
SCAN_PARTITIONS = text(
    "scan.partitions",
    None,
    REFUSED_ON_READ,
    "read these partitions only (Flink)",
    "partitions are chosen by filters",
    fallbacks=("lookup.dynamic-partition",),
)

# Retention, tags, partitions

SNAPSHOT_NUM_RETAINED_MIN = integer("snapshot.num-retained.min", 10, IRRELEVANT, "snapshots kept at least", EXPIRY)
SNAPSHOT_NUM_RETAINED_MAX = integer(
    "snapshot.num-retained.max", 2147483647, IRRELEVANT, "snapshots kept at most", EXPIRY
)
CHANGELOG_NUM_RETAINED_MIN = integer("changelog.num-retained.min", None, IRRELEVANT, "changelogs kept at least", EXPIRY)
CHANGELOG_NUM_RETAINED_MAX = integer("changelog.num-retained.max", None, IRRELEVANT, "changelogs kept at most", EXPIRY)
TAG_AUTOMATIC_CREATION = choice(
    "tag.automatic-creation",
    "none",
    "none process-time watermark batch",
    REFUSED_ON_WRITE,
    "tags made by commits",
    "commits make no tags",
)
TAG_CALLBACKS = text("tag.callbacks", "", REFUSED_ON_WRITE, "classes called after a tag", "they are Java classes")
PARTITION_EXPIRATION_TIME = duration(
    "partition.expiration-time",
    None,
    REFUSED_ON_WRITE,
    "age at which partitions are dropped",
    "commits drop no partitions",
)
