"""What a table is made of: shape, files, manifests, Iceberg, rows.

An option is changed here, in one place; `docs/options.md` is made from this.
"""

from polynya.model.option_kinds import (
    CATALOG,
    HONOURED,
    IRRELEVANT,
    REFUSED_ON_READ,
    REFUSED_ON_WRITE,
    boolean,
    choice,
    duration,
    integer,
    levels,
    long,
    names,
    parse_folder,
    parse_name_start,
    real,
    size,
    text,
)

# Shape and buckets

TYPE = choice(
    "type",
    "table",
    "table format-table materialized-table object-table lance-table iceberg-table",
    REFUSED_ON_READ,
    "kind of table; only `table` is Paimon's own format",
    "only plain tables are opened",
)
PRIMARY_KEY = names("primary-key", None, HONOURED, "primary key, moved into the schema on creation")
PARTITION = names("partition", None, HONOURED, "partition columns, moved into the schema on creation")
PRIMARY_KEY_NULLABLE = boolean(
    "primary-key.nullable", False, REFUSED_ON_READ, "nulls in the primary key", "null keys are not merged"
)
BUCKET = integer(
    "bucket",
    -1,
    HONOURED,
    "rows spread over this many buckets per partition; -1 dynamic or none, -2 postponed",
    check=lambda value: value > 0 or value in (-1, -2),
    expected="-1, -2 or > 0",
)
BUCKET_KEY = names("bucket-key", None, HONOURED, "columns whose hash gives the bucket")
BUCKET_FUNCTION_TYPE = choice(
    "bucket-function.type", "default", "default mod hive", HONOURED, "how the hash becomes a bucket"
)
POSTPONE_MERGE_ON_READ = boolean(
    "postpone.merge-on-read", False, REFUSED_ON_READ, "batch reads see postponed rows", "postponed rows are not read"
)
PARTITION_SINK_STRATEGY = choice(
    "partition.sink-strategy",
    "NONE",
    "NONE HASH PARTITION_DYNAMIC",
    HONOURED,
    "how Spark brings rows of a partition together before an append without buckets",
)
PARTITION_DEFAULT_NAME = text(
    "partition.default-name", "__DEFAULT_PARTITION__", HONOURED, "folder value of null and blank"
)
PARTITION_LEGACY_NAME = boolean("partition.legacy-name", True, HONOURED, "folder values as stored numbers, not as text")

# Files and formats

FILE_FORMAT = text(
    "file.format",
    "parquet",
    REFUSED_ON_WRITE,
    "format of data files",
    "csv, json, text, row and others are not written",
    accepted="parquet orc avro",
)
FILE_FORMAT_PER_LEVEL = levels(
    "file.format.per.level",
    REFUSED_ON_WRITE,
    "formats of levels",
    "csv, json, text, row and others are not written",
    accepted="parquet orc avro",
)
FILE_COMPRESSION = text("file.compression", "zstd", HONOURED, "compression of data files")
FILE_COMPRESSION_PER_LEVEL = levels("file.compression.per.level", HONOURED, "compression of levels")
FILE_COMPRESSION_ZSTD_LEVEL = integer("file.compression.zstd-level", 1, HONOURED, "level of zstd, also in manifests")
FILE_SUFFIX_INCLUDE_COMPRESSION = boolean(
    "file.suffix.include.compression", False, HONOURED, "file names show the compression"
)
FILE_BLOCK_SIZE = size("file.block-size", None, HONOURED, "row group or stripe")
TARGET_FILE_SIZE = size(
    "target-file-size", None, HONOURED, "size at which a new file starts; 128 mb with a primary key, else 256 mb"
)
TARGET_FILE_ROW_NUM = long("target-file-row-num", 9223372036854775807, HONOURED, "rows at which a new file starts")
DATA_FILE_PREFIX = text(
    "data-file.prefix",
    "data-",
    HONOURED,
    "start of the names of data files",
    read=parse_name_start,
    expected="the start of a file name, without '/'",
)
DATA_FILE_PATH_DIRECTORY = text(
    "data-file.path-directory",
    None,
    HONOURED,
    "folder of all data",
    read=parse_folder,
    expected="a folder below the table",
)
DATA_FILE_THIN_MODE = boolean("data-file.thin-mode", False, HONOURED, "key columns are not stored twice")
DATA_FILE_EXTERNAL_PATHS = text(
    "data-file.external-paths",
    None,
    REFUSED_ON_WRITE,
    "other roots of data files",
    "files are written below the table only",
)
INDEX_FILE_IN_DATA_FILE_DIR = boolean(
    "index-file-in-data-file-dir",
    False,
    REFUSED_ON_WRITE,
    "index files stand beside the data",
    "index files are written to the index folder only",
)
FILE_INDEX_IN_MANIFEST_THRESHOLD = size(
    "file-index.in-manifest-threshold", "500 bytes", HONOURED, "largest index kept inside the manifest"
)
FILE_INDEX_READ_ENABLED = boolean("file-index.read.enabled", True, HONOURED, "use file indexes when reading")
METADATA_STATS_MODE = text(
    "metadata.stats-mode", "truncate(16)", HONOURED, "statistics of columns: none, counts, full, truncate(n)"
)
METADATA_STATS_MODE_PER_LEVEL = levels("metadata.stats-mode.per.level", HONOURED, "statistics of levels")
METADATA_STATS_DENSE_STORE = boolean(
    "metadata.stats-dense-store", True, HONOURED, "store statistics only of columns that have them"
)
METADATA_STATS_KEEP_FIRST_N_COLUMNS = integer(
    "metadata.stats-keep-first-n-columns", -1, HONOURED, "statistics of the first columns only; -1 for all"
)

# Settings of the writers; the families in `options` refuse all others

PARQUET_COMPRESSION = text("parquet.compression", None, HONOURED, "compression of Parquet files")
PARQUET_COMPRESSION_ZSTD_LEVEL = integer(
    "parquet.compression.codec.zstd.level", None, HONOURED, "level of zstd in Parquet files"
)
PARQUET_BLOCK_SIZE = size("parquet.block.size", None, HONOURED, "row group; else `file.block-size`")
PARQUET_PAGE_SIZE = size("parquet.page.size", None, HONOURED, "page")
PARQUET_PAGE_ROW_COUNT_LIMIT = integer("parquet.page.row.count.limit", None, HONOURED, "rows of a page")
PARQUET_PAGE_WRITE_CHECKSUM_ENABLED = boolean(
    "parquet.page.write-checksum.enabled", None, HONOURED, "pages have checksums"
)
PARQUET_DICTIONARY_PAGE_SIZE = size("parquet.dictionary.page.size", None, HONOURED, "largest dictionary")
PARQUET_ENABLE_DICTIONARY = boolean(
    "parquet.enable.dictionary", True, HONOURED, "dictionaries, also `#<column>` for one column"
)
PARQUET_WRITER_VERSION = choice(
    "parquet.writer.version", "v1", "v1 v2 PARQUET_1_0 PARQUET_2_0", HONOURED, "version of the pages"
)
PARQUET_BLOOM_FILTER_ENABLED = boolean(
    "parquet.bloom.filter.enabled", False, HONOURED, "bloom filters, also `#<column>` for one column"
)
PARQUET_BLOOM_FILTER_FPP = real(
    "parquet.bloom.filter.fpp", 0.01, HONOURED, "their share of false answers, also `#<column>`"
)
ORC_COMPRESS = text("orc.compress", None, HONOURED, "compression of ORC files")
ORC_COMPRESSION_ZSTD_LEVEL = integer("orc.compression.zstd.level", None, HONOURED, "level of zstd in ORC files")
ORC_STRIPE_SIZE = size("orc.stripe.size", None, HONOURED, "stripe; else `file.block-size`")
ORC_TIMESTAMP_LTZ_LEGACY_TYPE = boolean(
    "orc.timestamp-ltz.legacy.type", True, HONOURED, "instants in ORC are shifted by the zone of the writer"
)
AVRO_CODEC = text("avro.codec", None, HONOURED, "compression of Avro files, manifests included")

# Manifests and commits

NO_EMPTY_COMMITS = "a commit without changes makes no snapshot"

MANIFEST_FORMAT = text(
    "manifest.format", "avro", REFUSED_ON_WRITE, "format of manifests", "Paimon reads Avro manifests only"
)
MANIFEST_COMPRESSION = text("manifest.compression", "zstd", HONOURED, "compression of manifests")
MANIFEST_TARGET_FILE_SIZE = size("manifest.target-file-size", "8 mb", HONOURED, "size of a manifest")
MANIFEST_MERGE_MIN_COUNT = integer("manifest.merge-min-count", 30, HONOURED, "manifests at which small ones are merged")
MANIFEST_FULL_COMPACTION_THRESHOLD_SIZE = size(
    "manifest.full-compaction-threshold-size", "16 mb", HONOURED, "changed bytes at which all manifests are merged"
)
MANIFEST_DELETE_FILE_DROP_STATS = boolean(
    "manifest.delete-file-drop-stats", False, HONOURED, "DELETE entries carry no statistics"
)
COMMIT_USER_PREFIX = text("commit.user-prefix", None, HONOURED, "start of the commit user")
COMMIT_MAX_RETRIES = integer("commit.max-retries", 10, HONOURED, "attempts after the first")
COMMIT_MIN_RETRY_WAIT = duration("commit.min-retry-wait", "10 ms", HONOURED, "shortest pause between attempts")
COMMIT_MAX_RETRY_WAIT = duration("commit.max-retry-wait", "10 s", HONOURED, "longest pause between attempts")
COMMIT_TIMEOUT = duration("commit.timeout", None, HONOURED, "time after which a commit gives up")
COMMIT_STRICT_MODE_LAST_SAFE_SNAPSHOT = long(
    "commit.strict-mode.last-safe-snapshot",
    None,
    REFUSED_ON_WRITE,
    "refuse to commit past other writers' compactions since then",
    "commits do not look for them",
)
COMMIT_FORCE_CREATE_SNAPSHOT = boolean(
    "commit.force-create-snapshot", False, REFUSED_ON_WRITE, "commit a snapshot without changes", NO_EMPTY_COMMITS
)
COMMIT_CALLBACKS = text(
    "commit.callbacks", "", REFUSED_ON_WRITE, "classes called after a commit", "they are Java classes"
)
SNAPSHOT_IGNORE_EMPTY_COMMIT = boolean(
    "snapshot.ignore-empty-commit",
    None,
    REFUSED_ON_WRITE,
    "make no snapshot without changes",
    NO_EMPTY_COMMITS,
    accepted="true",
)
OVERWRITE_UPGRADE = boolean("overwrite-upgrade", True, HONOURED, "overwriting files go to the top level")
DYNAMIC_PARTITION_OVERWRITE = boolean(
    "dynamic-partition-overwrite", True, HONOURED, "overwrite only the partitions that get rows"
)
WRITE_MERGE_SCHEMA = boolean("write.merge-schema", False, HONOURED, "a write from Spark adds new columns")
WRITE_MERGE_SCHEMA_TYPE_WIDENING = boolean(
    "write.merge-schema.type-widening", False, HONOURED, "a write that adds new columns also widens types"
)
ADD_COLUMN_BEFORE_PARTITION = boolean(
    "add-column-before-partition", False, HONOURED, "new columns stand before the partition columns"
)
VISIBILITY_CALLBACK_ENABLED = boolean(
    "visibility-callback.enabled",
    False,
    REFUSED_ON_WRITE,
    "a commit waits until its rows are visible",
    "commits do not wait",
)

# Rows, blobs, vectors, indexes

ROW_TRACKING_ENABLED = boolean("row-tracking.enabled", False, HONOURED, "rows have ids")
ROW_TRACKING_PARTITION_GROUP_ON_COMMIT = boolean(
    "row-tracking.partition-group-on-commit", True, HONOURED, "ids are grouped by partition"
)
DATA_EVOLUTION_ENABLED = boolean(
    "data-evolution.enabled",
    False,
    REFUSED_ON_WRITE,
    "columns are updated in files of their own",
    "updates of single columns are not written",
)
BLOB_FIELD = names("blob-field", None, REFUSED_ON_WRITE, "columns in files of their own", "blobs are not written")
BLOB_DESCRIPTOR_FIELD = names(
    "blob-descriptor-field",
    None,
    REFUSED_ON_WRITE,
    "columns that hold addresses of blobs",
    "blobs are not written",
    fallbacks=("blob.stored-descriptor-fields",),
)
BLOB_VIEW_FIELD = names(
    "blob-view-field", None, REFUSED_ON_WRITE, "columns that show blobs of other tables", "blobs are not written"
)
BLOB_AS_DESCRIPTOR = boolean(
    "blob-as-descriptor", False, REFUSED_ON_READ, "show addresses, not bytes", "blobs are read as bytes"
)
VECTOR_FIELD = names(
    "vector-field", None, REFUSED_ON_WRITE, "columns of vectors in files of their own", "vector files are not written"
)
VARIANT_SHREDDING_SCHEMA = text(
    "variant.shreddingSchema",
    None,
    REFUSED_ON_WRITE,
    "fields of VARIANT stored as columns",
    "variants are written whole",
    fallbacks=("parquet.variant.shreddingSchema",),
)
VARIANT_INFER_SHREDDING_SCHEMA = boolean(
    "variant.inferShreddingSchema", False, REFUSED_ON_WRITE, "find such fields", "variants are written whole"
)
PK_BTREE_INDEX_COLUMNS = names(
    "pk-btree.index.columns", None, REFUSED_ON_WRITE, "key table with a btree index", "such indexes are not written"
)
PK_BITMAP_INDEX_COLUMNS = names(
    "pk-bitmap.index.columns", None, REFUSED_ON_WRITE, "key table with a bitmap index", "such indexes are not written"
)
PK_MULTIVALUE_INDEX_COLUMNS = names(
    "pk-multivalue.index.columns",
    None,
    REFUSED_ON_WRITE,
    "key table with an index of lists",
    "such indexes are not written",
)
PK_VECTOR_INDEX_COLUMNS = names(
    "pk-vector.index.columns", None, REFUSED_ON_WRITE, "key table with a vector index", "such indexes are not written"
)
PK_FULL_TEXT_INDEX_COLUMNS = names(
    "pk-full-text.index.columns", None, REFUSED_ON_WRITE, "key table with a text index", "such indexes are not written"
)

# Iceberg

METADATA_ICEBERG_STORAGE = choice(
    "metadata.iceberg.storage",
    "disabled",
    "disabled table-location hadoop-catalog hive-catalog rest-catalog",
    REFUSED_ON_WRITE,
    "where Iceberg metadata is published",
    "Hive and REST catalogs are not told",
    accepted="table-location hadoop-catalog",
)
METADATA_ICEBERG_STORAGE_LOCATION = choice(
    "metadata.iceberg.storage-location",
    None,
    "table-location catalog-location",
    HONOURED,
    "beside the table or in the catalog",
)
METADATA_ICEBERG_FORMAT_VERSION = integer(
    "metadata.iceberg.format-version", 2, HONOURED, "version of the Iceberg format"
)
METADATA_ICEBERG_LIVE = boolean(
    "metadata.iceberg.live", False, HONOURED, "Iceberg readers see the latest rows of a primary-key table"
)
METADATA_ICEBERG_MANIFEST_COMPRESSION = text(
    "metadata.iceberg.manifest-compression", "snappy", HONOURED, "compression of Iceberg manifests"
)
METADATA_ICEBERG_MANIFEST_LEGACY_VERSION = boolean(
    "metadata.iceberg.manifest-legacy-version", False, HONOURED, "Iceberg manifests as old readers want them"
)
METADATA_ICEBERG_COMPACTION_MIN_FILE_NUM = integer(
    "metadata.iceberg.compaction.min.file-num", 10, HONOURED, "Iceberg manifests at which they are merged"
)
METADATA_ICEBERG_COMPACTION_MAX_FILE_NUM = integer(
    "metadata.iceberg.compaction.max.file-num", 50, HONOURED, "Iceberg manifests at which they must be"
)
METADATA_ICEBERG_DELETE_AFTER_COMMIT_ENABLED = boolean(
    "metadata.iceberg.delete-after-commit.enabled", True, HONOURED, "delete old Iceberg metadata"
)
METADATA_ICEBERG_PREVIOUS_VERSIONS_MAX = integer(
    "metadata.iceberg.previous-versions-max", 0, HONOURED, "old Iceberg metadata kept"
)
METADATA_ICEBERG_DATABASE = text(
    "metadata.iceberg.database", None, IRRELEVANT, "database in the Iceberg catalog", CATALOG
)
METADATA_ICEBERG_TABLE = text("metadata.iceberg.table", None, IRRELEVANT, "table in the Iceberg catalog", CATALOG)
