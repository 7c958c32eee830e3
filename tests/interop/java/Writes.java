import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.Snapshot;
import org.apache.paimon.append.AppendCompactCoordinator;
import org.apache.paimon.append.AppendCompactTask;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.deletionvectors.Bitmap64DeletionVector;
import org.apache.paimon.deletionvectors.BitmapDeletionVector;
import org.apache.paimon.deletionvectors.DeletionVector;
import org.apache.paimon.deletionvectors.append.BaseAppendDeleteFileMaintainer;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.index.BucketAssigner;
import org.apache.paimon.index.HashBucketAssigner;
import org.apache.paimon.index.IndexFileMeta;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.manifest.BucketEntry;
import org.apache.paimon.manifest.FileKind;
import org.apache.paimon.manifest.IndexManifestEntry;
import org.apache.paimon.operation.BaseAppendFileStoreWrite;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.SpecialFields;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.sink.RowPartitionKeyExtractor;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.apache.paimon.table.sink.TableWriteImpl;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.EndOfScanException;
import org.apache.paimon.table.source.Split;

/** Commits. Each answers with the snapshots that it made: [[id, kind]]. */
class Writes {
    private static final IOManager SPILL = IOManager.create(System.getProperty("java.io.tmpdir"));

    /** Work that ends in a commit. */
    interface Work {
        void run(FileStoreTable table) throws Exception;
    }

    /**
     * {"rows": [[kind, value, ...]], "user": name, "identifier": number, "overwrite": {partition} or absent}; one commit, which
     * waits for the compaction that the writer started. Without an identifier it is a batch commit.
     */
    static JsonNode write(JsonNode command) throws Exception {
        return snapshots(command, table -> {
            String user = command.path("user").asText(UUID.randomUUID().toString());
            long identifier = command.path("identifier").asLong(Long.MAX_VALUE);
            try (TableWriteImpl<?> write = table.newWrite(user); TableCommitImpl commit = table.newCommit(user)) {
                write.withIOManager(SPILL);
                if (command.has("overwrite")) {
                    write.withIgnorePreviousFiles(true);
                    commit.withOverwrite(Server.texts(command.get("overwrite")));
                }
                writeRows(table, user, write, command.get("rows"));
                commit.commit(identifier, write.prepareCommit(true, identifier));
            }
        });
    }

    private static void writeRows(FileStoreTable table, String user, TableWriteImpl<?> write, JsonNode rows) throws Exception {
        RowPartitionKeyExtractor keys = new RowPartitionKeyExtractor(table.schema());
        BucketAssigner assigner = table.bucketMode() == BucketMode.HASH_DYNAMIC ? assigner(table, user) : null;
        for (JsonNode node : rows) {
            GenericRow row = Values.parseRow(node, table.rowType());
            if (assigner == null) {
                write.write(row);
            } else {
                write.write(row, assigner.assign(keys.partition(row), keys.trimmedPrimaryKey(row).hashCode()));
            }
        }
    }

    private static BucketAssigner assigner(FileStoreTable table, String user) {
        CoreOptions options = table.coreOptions();
        return new HashBucketAssigner(table.snapshotManager(), user, table.store().newIndexFileHandler(),
                1, 1, 0, options.dynamicBucketTargetRowNum(), options.dynamicBucketMaxBuckets());
    }

    /** {"partitions": [{...}] or absent for the whole table}. */
    static JsonNode truncate(JsonNode command) throws Exception {
        return snapshots(command, table -> {
            try (BatchTableCommit commit = table.newBatchWriteBuilder().newCommit()) {
                if (!command.has("partitions")) {
                    commit.truncateTable();
                    return;
                }
                List<Map<String, String>> partitions = new ArrayList<>();
                command.get("partitions").forEach(partition -> partitions.add(Server.texts(partition)));
                commit.truncatePartitions(partitions);
            }
        });
    }

    static JsonNode compactManifests(JsonNode command) throws Exception {
        return snapshots(command, table -> {
            try (BatchTableCommit commit = table.newBatchWriteBuilder().newCommit()) {
                commit.compactManifests();
            }
        });
    }

    /** {"full": flag, "buckets": [numbers] or absent for all}. */
    static JsonNode compact(JsonNode command) throws Exception {
        return snapshots(command, asked -> {
            FileStoreTable table = asked.copy(Map.of("write-only", "false"));
            String user = UUID.randomUUID().toString();
            try (TableCommitImpl commit = table.newCommit(user)) {
                List<CommitMessage> messages = table.bucketMode() == BucketMode.BUCKET_UNAWARE
                        ? compactUnaware(table, user) : compactBuckets(table, user, command);
                commit.commit(Long.MAX_VALUE, messages);
            }
        });
    }

    private static List<CommitMessage> compactBuckets(FileStoreTable table, String user, JsonNode command) throws Exception {
        try (TableWriteImpl<?> write = table.newWrite(user)) {
            write.withIOManager(SPILL);
            List<String> buckets = Tables.texts(command.path("buckets"));
            for (BucketEntry entry : table.newSnapshotReader().bucketEntries()) {
                if (buckets.isEmpty() || buckets.contains(String.valueOf(entry.bucket()))) {
                    write.compact(entry.partition(), entry.bucket(), command.path("full").asBoolean(true));
                }
            }
            return write.prepareCommit(true, Long.MAX_VALUE);
        }
    }

    private static List<CommitMessage> compactUnaware(FileStoreTable table, String user) throws Exception {
        List<CommitMessage> messages = new ArrayList<>();
        BaseAppendFileStoreWrite write = (BaseAppendFileStoreWrite) table.store().newWrite(user);
        write.withIOManager(SPILL);
        if (table.coreOptions().rowTrackingEnabled()) {
            write.withWriteType(SpecialFields.rowTypeWithRowTracking(table.rowType()));
        }
        try {
            for (AppendCompactTask task : new AppendCompactCoordinator(table, false).run()) {
                messages.add(task.doCompact(table, write));
            }
        } catch (EndOfScanException end) {
            // the table has no files
        }
        write.close();
        return messages;
    }

    /** {"where": [[operator, column, value, ...]]}: marks rows of an append table in deletion vectors. */
    static JsonNode delete(JsonNode command) throws Exception {
        return snapshots(command, table -> {
            Predicate where = Reads.predicate(command.get("where"), table.rowType());
            Map<List<Object>, BaseAppendDeleteFileMaintainer> maintainers = new LinkedHashMap<>();
            Map<List<Object>, DataSplit> places = new LinkedHashMap<>();
            for (Split split : table.newReadBuilder().newScan().plan().splits()) {
                DataSplit data = (DataSplit) split;
                List<Object> place = List.of(data.partition(), data.bucket());
                for (DataFileMeta file : data.dataFiles()) {
                    DeletionVector vector = matches(table, data, file, where);
                    if (!vector.isEmpty()) {
                        maintainers.computeIfAbsent(place, key -> maintainer(table, data)).notifyNewDeletionVector(file.fileName(), vector);
                        places.put(place, data);
                    }
                }
            }
            List<CommitMessage> messages = new ArrayList<>();
            maintainers.forEach((place, maintainer) -> messages.add(message(places.get(place), maintainer)));
            try (BatchTableCommit commit = table.newBatchWriteBuilder().newCommit()) {
                commit.commit(messages);
            }
        });
    }

    /** Positions in the whole file, whatever is already deleted: a maintainer joins old and new. */
    private static DeletionVector matches(FileStoreTable table, DataSplit split, DataFileMeta file, Predicate where) throws Exception {
        DataSplit whole = DataSplit.builder().withSnapshot(split.snapshotId()).withPartition(split.partition()).withBucket(split.bucket())
                .withBucketPath(split.bucketPath()).withTotalBuckets(split.totalBuckets()).withDataFiles(List.of(file)).rawConvertible(true).build();
        DeletionVector vector = table.coreOptions().deletionVectorBitmap64() ? new Bitmap64DeletionVector() : new BitmapDeletionVector();
        long[] position = {0};
        table.newReadBuilder().newRead().createReader(whole).forEachRemaining((InternalRow row) -> {
            if (where.test(row)) {
                vector.delete(position[0]);
            }
            position[0]++;
        });
        return vector;
    }

    private static BaseAppendDeleteFileMaintainer maintainer(FileStoreTable table, DataSplit split) {
        Snapshot snapshot = table.snapshotManager().latestSnapshot();
        return table.bucketMode() == BucketMode.BUCKET_UNAWARE
                ? BaseAppendDeleteFileMaintainer.forUnawareAppend(table.store().newIndexFileHandler(), snapshot, split.partition())
                : BaseAppendDeleteFileMaintainer.forBucketedAppend(table.store().newIndexFileHandler(), snapshot, split.partition(), split.bucket());
    }

    private static CommitMessage message(DataSplit place, BaseAppendDeleteFileMaintainer maintainer) {
        List<IndexFileMeta> added = new ArrayList<>();
        List<IndexFileMeta> deleted = new ArrayList<>();
        for (IndexManifestEntry entry : maintainer.persist()) {
            (entry.kind() == FileKind.ADD ? added : deleted).add(entry.indexFile());
        }
        DataIncrement increment = new DataIncrement(List.of(), List.of(), List.of(), added, deleted);
        return new CommitMessageImpl(place.partition(), place.bucket(), place.totalBuckets(), increment, CompactIncrement.emptyIncrement());
    }

    private static JsonNode snapshots(JsonNode command, Work work) throws Exception {
        FileStoreTable table = Server.storeTable(command);
        long before = table.latestSnapshot().map(Snapshot::id).orElse(0L);
        work.run(table);
        long after = table.latestSnapshot().map(Snapshot::id).orElse(0L);
        ArrayNode made = Server.JSON.createArrayNode();
        for (long id = before + 1; id <= after; id++) {
            made.addArray().add(id).add(table.snapshot(id).commitKind().name());
        }
        return made;
    }
}
