"""How records of a key become rows, and how files are compacted.

An option is changed here, in one place; `docs/options.md` is made from this.
"""

from polynya.model.option_kinds import (
    HONOURED,
    IRRELEVANT,
    REFUSED_ON_WRITE,
    TUNING,
    boolean,
    choice,
    duration,
    integer,
    names,
    real,
    size,
    text,
)

# Merging of keys

MERGE_ENGINE = choice(
    "merge-engine",
    "deduplicate",
    "deduplicate partial-update aggregation first-row",
    HONOURED,
    "how records of one key become a row",
)
SEQUENCE_FIELD = names("sequence.field", None, HONOURED, "columns that order the records of a key")
SEQUENCE_FIELD_SORT_ORDER = choice(
    "sequence.field.sort-order", "ascending", "ascending descending", HONOURED, "whether the largest or smallest wins"
)
SEQUENCE_SNAPSHOT_ORDERING = boolean(
    "sequence.snapshot-ordering",
    False,
    REFUSED_ON_WRITE,
    "the newest snapshot wins",
    "rows are written in order of their numbers",
)
WRITE_SEQUENCE_NUMBER_INIT_MODE = choice(
    "write.sequence-number-init-mode",
    "scan",
    "scan snapshot",
    REFUSED_ON_WRITE,
    "how the next sequence number is found",
    "snapshots do not tell the largest number",
)
UPSERT_KEY = names(
    "upsert-key",
    None,
    REFUSED_ON_WRITE,
    "an INSERT into an append table updates rows of this key",
    "rows are appended, not merged",
)
ROWKIND_FIELD = text("rowkind.field", None, HONOURED, "column that holds +I, -U, +U, -D")
IGNORE_DELETE = boolean(
    "ignore-delete",
    False,
    HONOURED,
    "drop -D and -U records",
    fallbacks=(
        "first-row.ignore-delete",
        "deduplicate.ignore-delete",
        "partial-update.ignore-delete",
    ),
)
IGNORE_UPDATE_BEFORE = boolean("ignore-update-before", False, HONOURED, "drop -U records")
FIELDS_DEFAULT_AGGREGATE_FUNCTION = text(
    "fields.default-aggregate-function", None, HONOURED, "function of columns that name none"
)
PARTIAL_UPDATE_REMOVE_RECORD_ON_DELETE = boolean(
    "partial-update.remove-record-on-delete", False, HONOURED, "a -D removes the row"
)
PARTIAL_UPDATE_REMOVE_RECORD_ON_SEQUENCE_GROUP = names(
    "partial-update.remove-record-on-sequence-group", None, HONOURED, "groups whose -D removes the row"
)
AGGREGATION_REMOVE_RECORD_ON_DELETE = boolean(
    "aggregation.remove-record-on-delete", False, HONOURED, "a -D removes the row"
)
CHANGELOG_PRODUCER = choice(
    "changelog-producer",
    "none",
    "none input full-compaction lookup",
    REFUSED_ON_WRITE,
    "how a changelog is made",
    "changelogs are not written",
)
DELETION_VECTORS_ENABLED = boolean(
    "deletion-vectors.enabled", False, HONOURED, "deleted rows are marked, not rewritten"
)
DELETION_VECTORS_BITMAP64 = boolean("deletion-vectors.bitmap64", False, HONOURED, "vectors of 64 bits")
DELETION_VECTOR_INDEX_FILE_TARGET_SIZE = size(
    "deletion-vector.index-file.target-size", "2 mb", HONOURED, "size of a file of vectors"
)
DELETION_VECTORS_MERGE_ON_READ = boolean(
    "deletion-vectors.merge-on-read", False, HONOURED, "reads see level 0 too, merged"
)
DELETE_FORCE_PRODUCE_CHANGELOG = boolean(
    "delete.force-produce-changelog",
    False,
    REFUSED_ON_WRITE,
    "SQL deletes write a changelog",
    "changelogs are not written",
)
RECORD_LEVEL_EXPIRE_TIME = duration("record-level.expire-time", None, HONOURED, "age at which compaction drops rows")
RECORD_LEVEL_TIME_FIELD = text("record-level.time-field", None, HONOURED, "column that tells the age")
FORCE_LOOKUP = boolean(
    "force-lookup", False, REFUSED_ON_WRITE, "compaction looks older rows up", "compaction does not look rows up"
)
PK_CLUSTERING_OVERRIDE = boolean(
    "pk-clustering-override",
    False,
    REFUSED_ON_WRITE,
    "files sorted by other columns than the key",
    "files are sorted by key",
)
CLUSTERING_COLUMNS = names(
    "clustering.columns",
    None,
    IRRELEVANT,
    "columns that rows are clustered by",
    TUNING,
    fallbacks=("sink.clustering.by-columns",),
)

# Compaction

WRITE_ONLY = boolean(
    "write-only", False, HONOURED, "writers neither compact nor expire", fallbacks=("write.compaction-skip",)
)
NUM_SORTED_RUN_COMPACTION_TRIGGER = integer(
    "num-sorted-run.compaction-trigger", 5, HONOURED, "runs at which compaction starts"
)
NUM_LEVELS = integer("num-levels", None, HONOURED, "levels; the trigger and 1")
COMPACTION_SIZE_RATIO = integer("compaction.size-ratio", 1, HONOURED, "percent by which the next run may be larger")
COMPACTION_MAX_SIZE_AMPLIFICATION_PERCENT = integer(
    "compaction.max-size-amplification-percent", 200, HONOURED, "upper runs against the last, in percent"
)
COMPACTION_OPTIMIZATION_INTERVAL = duration(
    "compaction.optimization-interval", None, HONOURED, "time after which all is compacted"
)
COMPACTION_TOTAL_SIZE_THRESHOLD = size(
    "compaction.total-size-threshold", None, HONOURED, "size below which all is compacted"
)
COMPACTION_INCREMENTAL_SIZE_THRESHOLD = size(
    "compaction.incremental-size-threshold", None, HONOURED, "new bytes at which all is compacted"
)
FULL_COMPACTION_DELTA_COMMITS = integer(
    "full-compaction.delta-commits", None, HONOURED, "commits after which all is compacted"
)
COMPACTION_MIN_FILE_NUM = integer("compaction.min.file-num", 5, HONOURED, "files at which append tables compact")
COMPACTION_SMALL_FILE_RATIO = real(
    "compaction.small-file-ratio", 0.7, HONOURED, "share of the target size below which a file is small"
)
COMPACTION_DELETE_RATIO_THRESHOLD = real(
    "compaction.delete-ratio-threshold", 0.2, HONOURED, "share of deleted rows at which a file is rewritten"
)
COMPACTION_FILE_NUM_LIMIT = integer("compaction.file-num-limit", 100000, HONOURED, "most files of one compaction")
COMPACTION_FORCE_UP_LEVEL_0 = boolean("compaction.force-up-level-0", False, HONOURED, "always include level 0")
COMPACTION_FORCE_REWRITE_ALL_FILES = boolean(
    "compaction.force-rewrite-all-files", False, HONOURED, "a full compaction rewrites every file"
)
COMPACTION_OFFPEAK_START_HOUR = integer("compaction.offpeak.start.hour", -1, HONOURED, "start of quiet hours")
COMPACTION_OFFPEAK_END_HOUR = integer("compaction.offpeak.end.hour", -1, HONOURED, "end of quiet hours")
COMPACTION_OFFPEAK_RATIO = integer("compaction.offpeak-ratio", 0, HONOURED, "added to the size ratio in quiet hours")
CLUSTERING_INCREMENTAL = boolean(
    "clustering.incremental",
    False,
    REFUSED_ON_WRITE,
    "compaction clusters step by step",
    "clustered levels are not kept",
)
