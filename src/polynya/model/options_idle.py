"""Options that change no row here: known, checked for their type, and otherwise left alone.

Each line: the key (and `<` before its older names), the kind (and its choices), the default, the meaning.
"""

from polynya.model.option_kinds import (
    ADDRESS,
    ALTER,
    CATALOG,
    COMPANION,
    ENGINE,
    EXPIRY,
    FLINK,
    INDEX,
    ORDER,
    OWN_COLUMNS,
    OWN_FILES,
    STREAMING,
    STRICT,
    TAGS,
    TUNING,
)

TABLES = {
    TUNING: """
clustering.strategy < sink.clustering.strategy | text | auto | order, zorder, hilbert or auto
num-sorted-run.stop-trigger | integer |  | runs at which writers wait; the trigger and 3
bucket-append-ordered | boolean | true | rows of a bucketed append table keep their order
read.batch-size | integer | 1024 | rows read at once
write.batch-size < orc.write.batch-size | integer | 1024 | rows written at once
write.batch-memory | size | 128 mb | bytes written at once
async-file-write | boolean | true | write files in the background
file-reader-async-threshold | size | 10 mb | size from which files are read in the background
cache-page-size | size | 64 kb | page of the cache
page-size | size | 64 kb | page of memory
file-operation.thread-num < delete-file.thread-num | integer |  | threads for file operations
manifest.merge-optimize.enabled | boolean | true | copy blocks when merging
manifest-sort.enabled | boolean | false | sort manifests by partition
manifest-sort.partition-field | text |  | column that manifests are sorted by
manifest-sort.max-rewrite-size | size | 256 mb | bytes sorted at once
manifest.sidecar.enabled | boolean |  | files beside manifests that help pruning
commit.force-compact | boolean | false | compact before a commit
sort-engine | choice min-heap loser-tree | loser-tree | how runs are merged
sort-spill-threshold | integer |  | runs at which sorting spills
sort-spill-buffer-size | size | 64 mb | memory of spilling
local-sort.max-num-file-handles | integer | 128 | files open when sorting
spill-compression | text | zstd | compression of spilled rows
spill-compression.zstd-level | integer | 1 | level of that compression
write-buffer-size | size | 256 mb | memory of a writer
write-buffer-spillable | boolean | true | writers spill to disk
write-buffer-spill.max-disk-size | size | 9223372036854775807 bytes | disk of spilling
write-buffer-for-append | boolean | false | append tables buffer too
write-max-writers-to-spill | integer | 10 | writers at which spilling starts
local-merge-buffer-size | size |  | memory to merge before the shuffle
compaction.skip-expired-partitions | boolean | false | leave old partitions alone
sort-compaction.range-strategy | choice SIZE QUANTITY | SIZE | ranges by size or by count
sort-compaction.local-sample.magnification | integer | 1000 | sample per task
zorder.var-length-contribution | integer | 8 | bytes of a text in a z-order
scan.manifest.parallelism | integer |  | threads that read manifests
scan.max-splits-per-task | integer | 10 | splits of a task
source.split.target-size-with-column-pruning | boolean | false | split size counts the columns read
""",
    COMPANION: """
changelog-file.prefix | text | changelog- | start of the names of changelog files
incremental-between-scan-mode | choice auto delta changelog diff | auto | which files tell the changes
incremental-between-tag-to-snapshot | boolean | false | tags stand for their snapshots
table-read.sequence-number.enabled | boolean | false | audit_log and binlog show sequence numbers
partition.expiration-check-interval | duration | 1 h | pause between looks
partition.expiration-strategy | text | values-time | age by value or by update
partition.expiration-max-num | integer | 100 | partitions dropped at once
partition.expiration-batch-size | integer |  | partitions dropped in one commit
partition.timestamp-pattern | text |  | how values make a time
partition.timestamp-formatter | text |  | how that time is read
partition.timestamp-format.strict | boolean | false | refuse times that do not fit
dynamic-bucket.target-row-num | long | 2000000 | rows of a dynamic bucket
dynamic-bucket.initial-buckets | integer |  | dynamic buckets to start with
dynamic-bucket.max-buckets | integer | -1 | most dynamic buckets
dynamic-bucket.assigner-parallelism | integer |  | tasks that assign dynamic buckets
cross-partition-upsert.index-ttl | duration |  | life of the index across partitions
cross-partition-upsert.bootstrap-parallelism | integer | 10 | tasks that build the index across partitions
postpone.batch-write-fixed-bucket | boolean | true | batch writes to postponed buckets go to real ones
postpone.default-bucket-num | integer | 1 | real buckets of a new partition
postpone.target-size-per-bucket | size | 1 gb | bytes of a real bucket
postpone.target-row-num-per-bucket | long |  | rows of a real bucket
postpone.batch-write-fixed-bucket.max-parallelism | integer | 2048 | most real buckets of a batch write
postpone.batch-write-fixed-bucket.rescale-load-factor | integer | 32 | growth at which buckets are added
data-file.external-paths.strategy | choice none specific-fs round-robin entropy-inject weight-robin | none | the choice
data-file.external-paths.specific-fs | text |  | scheme of the root
data-file.external-paths.weights | text |  | weights of the roots
changelog-file.format | text |  | format of changelog files
changelog-file.compression | text |  | compression of changelog files
changelog-file.stats-mode | text |  | statistics of changelog files
visibility-callback.timeout | duration | 30 min | longest wait
visibility-callback.check-interval | duration | 10 s | pause between looks
data-evolution.compaction.rewrite-row-ids | boolean | false | compaction gives new ids
data-evolution.merge-into.file-pruning | boolean | true | MERGE skips files
data-evolution.merge-into.source-persist | boolean | false | MERGE keeps its source
data-evolution.reassign.skip-contiguous-row-count | long | 1000000000 | rows that keep their ids
data-evolution.row-id-conflict-rewrite.max-size | size | 256 mb | bytes rewritten on a conflict
data-evolution.row-sidecar.enabled | boolean | false | rows beside column files
data-evolution.row-sidecar.max-selected-rows | long | 4096 | rows read from there
data-evolution.row-sidecar.max-selection-ratio | real | 0.05 | share read from there
blob-descriptor.source-table | text |  | table of the addresses
blob-view.resolve.enabled | boolean | true | follow views
blob-compaction.enabled | boolean | false | compact blobs
blob.target-file-size | size |  | size of a blob file
blob.split-by-file-size | boolean |  | split blob files by size
blob.copy-buffer-size | size | 4 kb | memory to copy blobs
blob-write-null-on-missing-file | boolean | false | null for a missing blob
blob-write-null-on-fetch-failure | boolean | false | null for a blob that failed
vector.file.format | text |  | format of vector files
vector.target-file-size | size |  | size of a vector file
variant.shredding.inferenceMode | choice per-file adaptive | per-file | where they are looked for
variant.shredding.maxSchemaWidth | integer | 300 | most fields
variant.shredding.maxSchemaDepth | integer | 50 | deepest field
variant.shredding.minFieldCardinalityRatio | real | 0.1 | how common a field must be
variant.shredding.maxInferBufferRow | integer | 4096 | rows looked at
variant.shredding.adaptive.maxInferBufferRow | integer | 256 | rows looked at later
variant.shredding.adaptive.retentionRatio | real | 0.05 | how long a field is kept
changelog-producer.row-deduplicate | boolean | false | no changelog where nothing changed
changelog-producer.row-deduplicate-ignore-fields | names |  | columns that do not count as a change
lookup-wait < changelog-producer.lookup-wait | boolean | true | commits wait for lookup
lookup-compact | choice RADICAL GENTLE | RADICAL | how eagerly lookup compacts
lookup-compact.max-interval | integer |  | longest pause of lookup compaction
clustering.incremental.mode | choice global-sort local-sort | global-sort | how wide it sorts
clustering.incremental.optimize-write | boolean | false | writers sort too
clustering.history-partition.idle-to-full-sort | duration |  | rest after which old partitions are sorted
clustering.history-partition.limit | integer | 5 | old partitions at once
scan.fallback-branch.read-fail-fast | boolean | false | fail when the branch cannot be read
chain-table.chain-partition-keys | text |  | columns of the chain
chain-table.streaming.merge-snapshot | boolean | false | streams merge the snapshot
chain-table.split.key-range-enabled | boolean | true | splits by key range
tag.creation-period | choice daily hourly two-hours | daily | a tag each day or hour
tag.creation-period-duration | duration |  | a tag each so long
tag.creation-delay | duration | 0 s | wait for late rows
tag.period-formatter | choice with_dashes without_dashes without_dashes_and_spaces | with_dashes | names of tags
tag.num-retained-max | integer |  | automatic tags kept
tag.automatic-completion | boolean | false | make tags that are missing
tag.create-success-file | boolean | false | a file for each complete tag
tag.batch.customized-name | text |  | name of a batch tag
sink.process-time-zone | text |  | zone of automatic tags
sink.watermark-time-zone | text | UTC | zone of watermarks
""",
    STRICT: """
scan.ignore-corrupt-files | boolean | false | pass over damaged files
scan.ignore-lost-files | boolean | false | pass over missing files
""",
    ENGINE: """
auto-create | boolean | false | create the storage at first use
scan.plan-auto-tag-for-read.time-retained | duration |  | tag a snapshot while it is read
key-value.sequence_number.enabled | boolean | false | internal
batch-scan-mode | choice none compact | none | internal
stream-scan-mode | choice none compact-bucket-table file-monitor | none | internal
read.allow.fullScan | boolean | true | reads without a partition filter
legacy-timestamp-mapping.enabled | boolean | false | old mapping of Spark's timestamps
write.use-v2-write | boolean | false | writer of Paimon's Spark connector
write.hive-style-dynamic-partition.enabled | boolean | false | partitions of INSERT as in Hive
partition.mark-done-action.custom.class | text |  | class that marks
partition.mark-done-action.http.url | text |  | address that is told
partition.mark-done-action.http.params | text |  | what it is told
""",
    ADDRESS: """
path | text |  | where the table is; given by the catalog, not stored
branch | text | main | branch to use
""",
    CATALOG: """
metadata.iceberg.uri | text |  | address of the catalog
metadata.iceberg.hive-conf-dir | text |  | configuration of Hive
metadata.iceberg.hadoop-conf-dir | text |  | configuration of Hadoop
metadata.iceberg.hive-client-class | text | org.apache.hadoop.hive.metastore.HiveMetaStoreClient | client of Hive
metadata.iceberg.glue.skip-archive | boolean | false | no archive in Glue
metadata.iceberg.hive-skip-update-stats | boolean | false | no statistics in Hive
metastore.partitioned-table | boolean | false | register partitions in Hive
metastore.tag-to-partition | text |  | show tags as Hive partitions
metastore.tag-to-partition.preview | choice none process-time watermark batch | none | preview of such a partition
""",
    INDEX: """
vector-index.search-mode | choice fast full detail | fast | how vectors are searched
vector-search.distribute.enabled | boolean | false | search on the cluster
vector-search.lateral-join.batch-size | integer | 256 | rows searched at once
global-index.enabled | boolean | true | use global indexes
global-index.external-path | text |  | where they are
global-index.row-count-per-shard | long | 100000 | rows of a shard
global-index.build.max-shard | integer | 32 | shards of a build
global-index.build.max-parallelism | integer | 4096 | tasks of a build
global-index.search-mode | choice fast full detail |  | how they are searched
global-index.thread-num | integer | 32 | threads that search
global-index.column-update-action | choice THROW_ERROR DROP_PARTITION_INDEX IGNORE | THROW_ERROR | on an update
scalar-index.search-mode | choice fast full detail | fast | how they are searched
full-text-index.search-mode | choice fast full detail | fast | how texts are searched
""",
    FLINK: """
partition.mark-done-action | names | success-file | what marks a complete partition
snapshot.watermark-idle-timeout | duration |  | rest after which the watermark moves
end-input.check-partition-expire | boolean | false | look when a batch ends
partition.end-input-to-done | boolean | false | mark when a batch ends
partition.idle-time-to-report-statistic | duration | 0 s | rest before statistics are reported
format-table.scan.list-parallelism | integer | 64 | a setting of format tables
lookup.hash-load-factor | real | 0.75 | a setting of lookup joins
lookup.cache-rows | long | 10000 | a setting of lookup joins
lookup.continuous.discovery-interval | duration |  | a setting of lookup joins
lookup.cache-file-retention | duration | 1 h | a setting of lookup joins
lookup.cache-max-disk-size | size | 9223372036854775807 bytes | a setting of lookup joins
lookup.cache-spill-compression | text | zstd | a setting of lookup joins
lookup.cache-max-memory-size | size | 256 mb | a setting of lookup joins
lookup.blob-as-descriptor | boolean | false | a setting of lookup joins
lookup.cache.high-priority-pool-ratio | real | 0.25 | a setting of lookup joins
lookup.cache.bloom.filter.enabled | boolean | true | a setting of lookup joins
lookup.cache.bloom.filter.fpp | real | 0.05 | a setting of lookup joins
lookup.remote-file.enabled | boolean | false | a setting of lookup joins
lookup.remote-file.level-threshold | integer | -2147483648 | a setting of lookup joins
materialized-table.definition-query | text |  | a setting of materialized tables
materialized-table.interval-freshness | text |  | a setting of materialized tables
materialized-table.interval-freshness.time-unit | choice SECOND MINUTE HOUR DAY |  | a setting of materialized tables
materialized-table.logical-refresh-mode | choice CONTINUOUS FULL AUTOMATIC |  | a setting of materialized tables
materialized-table.refresh-mode | choice CONTINUOUS FULL AUTOMATIC |  | a setting of materialized tables
materialized-table.refresh-status | choice INITIALIZING ACTIVATED SUSPENDED |  | a setting of materialized tables
materialized-table.refresh-handler-description | text |  | a setting of materialized tables
materialized-table.refresh-handler-bytes | text |  | a setting of materialized tables
local-kv-db.block-size | size | 4 kb | a setting of lookup joins
lookup.merge-buffer-size | size | 8 mb | a setting of lookup joins
lookup.merge-records-threshold | integer | 1024 | a setting of lookup joins
format-table.implementation | choice paimon engine | paimon | a setting of format tables
format-table.partition-path-only-value | boolean | false | a setting of format tables
format-table.file.compression < file.compression | text |  | a setting of format tables
format-table.commit-hive-sync-url | text |  | a setting of format tables
sink.parallelism | integer |  | a setting of jobs
scan.parallelism | integer |  | a setting of jobs
unaware-bucket.compaction.parallelism | integer |  | a setting of jobs
unaware-bucket.no-shuffle | boolean | false | a setting of jobs
compaction.bucket-distribution-strategy | choice linear size-aware-batch | linear | a setting of jobs
scan.infer-parallelism | boolean | true | a setting of jobs
scan.infer-parallelism.max | integer | 1024 | a setting of jobs
changelog-producer.compaction-interval | duration | 0 s | a setting of jobs
scan.watermark.emit.strategy | choice on-periodic on-event | on-event | a setting of jobs
scan.watermark.alignment.group | text |  | a setting of jobs
scan.watermark.idle-timeout | duration |  | a setting of jobs
scan.watermark.alignment.max-drift | duration |  | a setting of jobs
scan.watermark.alignment.update-interval | duration | 1 s | a setting of jobs
scan.split-enumerator.batch-size | integer | 10 | a setting of jobs
scan.max-snapshot.count | integer | -1 | a setting of jobs
scan.split-enumerator.mode | choice fair preemptive | fair | a setting of jobs
sink.use-managed-memory-allocator | boolean | false | a setting of jobs
scan.remove-normalize < log.scan.remove-normalize | boolean | false | a setting of jobs
read.shuffle-bucket-with-partition < streaming-read.shuffle-bucket-with-partition | boolean | true | a setting of jobs
sink.managed.writer-buffer-memory | size | 256 mb | a setting of jobs
sink.cross-partition.managed-memory | size | 256 mb | a setting of jobs
source.checkpoint-align.enabled | boolean | false | a setting of jobs
source.checkpoint-align.timeout | duration | 30 s | a setting of jobs
lookup.async | boolean | false | a setting of lookup joins
lookup.bootstrap-parallelism | integer | 4 | a setting of lookup joins
lookup.async-thread-number | integer | 16 | a setting of lookup joins
lookup.cache | choice AUTO FULL MEMORY | AUTO | a setting of lookup joins
lookup.dynamic-partition.refresh-interval | duration | 1 h | a setting of lookup joins
lookup.refresh.async | boolean | false | a setting of lookup joins
lookup.dynamic-partition.refresh.async | boolean | false | a setting of lookup joins
lookup.refresh.async.pending-snapshot-count | integer | 5 | a setting of lookup joins
lookup.refresh.time-periods-blacklist | text |  | a setting of lookup joins
lookup.refresh.full-load-threshold | integer |  | a setting of lookup joins
sink.savepoint.auto-tag | boolean | false | a setting of jobs
sink.writer-cpu | real | 1.0 | a setting of jobs
sink.writer-memory | size |  | a setting of jobs
sink.committer-cpu | real | 1.0 | a setting of jobs
sink.committer-memory | size |  | a setting of jobs
sink.committer-operator-chaining | boolean | true | a setting of jobs
partition.mark-done-action.mode | choice process-time watermark | process-time | a setting of jobs
partition.idle-time-to-done | duration |  | a setting of jobs
partition.time-interval | duration |  | a setting of jobs
partition.mark-done.recover-from-state | boolean | true | a setting of jobs
sink.clustering.sort-in-cluster | boolean | true | a setting of jobs
sink.clustering.sample-factor | integer | 100 | a setting of jobs
end-input.watermark | long |  | a setting of jobs
precommit-compact < changelog.precommit-compact | boolean | false | a setting of jobs
changelog.precommit-compact.thread-num | integer |  | a setting of jobs
changelog.precommit-compact.buffer-size | size | 128 mb | a setting of jobs
source.operator-uid.suffix | text |  | a setting of jobs
sink.operator-uid.suffix | text |  | a setting of jobs
scan.bounded | boolean |  | a setting of jobs
scan.dedicated-split-generation | boolean | false | a setting of jobs
commit.custom-listeners | text |  | a setting of jobs
sink.coordinator-commit.enabled | boolean | false | a setting of jobs
sink.writer-coordinator.enabled | boolean | false | a setting of jobs
sink.key-only-deletes.enabled | boolean | false | a setting of jobs
sink.writer-coordinator.cache-memory | size | 2 gb | a setting of jobs
sink.writer-coordinator.cache-expire-after-access | duration |  | a setting of jobs
sink.writer-coordinator.cache-soft-values | boolean | true | a setting of jobs
sink.writer-coordinator.page-size | size | 32 kb | a setting of jobs
sink.writer-coordinator.prefetch-manifests | boolean | false | a setting of jobs
filesystem.job-level-settings.enabled | boolean | true | a setting of jobs
sink.writer-refresh-detectors | text |  | a setting of jobs
""",
    ALTER: """
alter-column-null-to-not-null.disabled | boolean | true | columns cannot become NOT NULL
disable-explicit-type-casting | boolean | false | types change only where no value is lost
deletion-vectors.modifiable | boolean | false | the mode may be switched
""",
    OWN_COLUMNS: """
write.merge-schema.explicit-cast | boolean | false | writing changes types
""",
    OWN_FILES: """
commit.discard-duplicate-files | boolean | false | leave out files that the table has
""",
    ORDER: """
scan.plan-sort-partition | boolean | false | splits in the order of partitions
""",
    STREAMING: """
consumer.mode | choice exactly-once at-least-once | exactly-once | how exact the progress is
scan.bounded.watermark | long |  | streaming ends after this watermark
continuous.discovery-interval | duration | 10 s | pause between looks for new snapshots
streaming-read-overwrite | boolean | false | streams read OVERWRITE snapshots
streaming-read-append-overwrite | boolean | false | streams read OVERWRITE snapshots of append tables
streaming.read.snapshot.delay | duration |  | streams stay this far behind
consumer-id | text |  | reader whose progress is kept
consumer.ignore-progress | boolean | false | start anew
consumer.changelog-only | boolean | false | consumers keep changelogs, not snapshots
read.changelog | boolean | false | streams show the row kind
read.stream.maxFilesPerTrigger | integer |  | files of a micro batch
read.stream.maxBytesPerTrigger | long |  | bytes of a micro batch
read.stream.maxRowsPerTrigger | long |  | rows of a micro batch
read.stream.minRowsPerTrigger | long |  | rows that a micro batch waits for
read.stream.maxTriggerDelayMs | long |  | longest wait for them
""",
    EXPIRY: """
snapshot.expire.execution-mode | choice sync async | sync | expire now or in the background
snapshot.time-retained | duration | 1 h | age up to which snapshots are kept
snapshot.expire.limit | integer | 50 | snapshots expired at once
snapshot.clean-empty-directories < snapshot.expire.clean-empty-directories | boolean | false | delete empty folders
changelog.time-retained | duration |  | age up to which changelogs are kept
consumer.expiration-time | duration |  | rest after which a consumer is forgotten
tag.time-expire-enabled | boolean | true | tags expire by their time
""",
    TAGS: """
tag.default-time-retained | duration |  | time that new tags are kept
""",
}
