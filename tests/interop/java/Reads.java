import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.DeletionFile;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.table.source.StreamTableScan;
import org.apache.paimon.table.source.TableScan;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.RowType;

/** Rows and plans; time travel is a matter of the table's dynamic options, system tables and branches one of its name. */
class Reads {
    private static final IOManager SPILL = IOManager.create(System.getProperty("java.io.tmpdir"));

    /** {"columns": names or absent, "where": [[operator, column, value, ...]]} -> {"columns": [[name, type]], "rows": sorted}. */
    static JsonNode read(JsonNode command) throws Exception {
        Table table = Server.table(command);
        ReadBuilder builder = filtered(table, command);
        List<String> names = command.has("columns") ? Tables.texts(command.get("columns")) : table.rowType().getFieldNames();
        ObjectNode answer = Server.JSON.createObjectNode();
        ArrayNode columns = answer.putArray("columns");
        names.forEach(name -> columns.addArray().add(name).add(table.rowType().getField(name).type().toString()));
        List<ArrayNode> rows = new ArrayList<>();
        for (ArrayNode row : rows(builder, builder.newScan().plan().splits(), false)) {
            ArrayNode chosen = Server.JSON.createArrayNode(); // here, because Java's filter sees only projected columns
            names.forEach(name -> chosen.add(row.get(table.rowType().getFieldIndex(name))));
            rows.add(chosen);
        }
        rows.sort(Comparator.comparing(JsonNode::toString));
        answer.putArray("rows").addAll(rows);
        return answer;
    }

    /** As read, but the splits: [{"bucket", "raw", "files": [names], "vectors": [rows deleted or null]}]. */
    static JsonNode plan(JsonNode command) throws Exception {
        ArrayNode splits = Server.JSON.createArrayNode();
        for (Split split : filtered(Server.table(command), command).newScan().plan().splits()) {
            DataSplit data = (DataSplit) split;
            ObjectNode answer = splits.addObject().put("bucket", data.bucket()).put("raw", data.rawConvertible());
            ArrayNode files = answer.putArray("files");
            data.dataFiles().stream().map(DataFileMeta::fileName).forEach(files::add);
            ArrayNode vectors = answer.putArray("vectors");
            for (Optional<DeletionFile> file : vectors(data)) {
                vectors.add(file.map(DeletionFile::cardinality).orElse(null));
            }
        }
        return splits;
    }

    private static List<Optional<DeletionFile>> vectors(DataSplit split) {
        List<Optional<DeletionFile>> vectors = new ArrayList<>();
        split.deletionFiles().ifPresent(files -> files.forEach(file -> vectors.add(Optional.ofNullable(file))));
        return vectors;
    }

    /** {"snapshot": first id} -> what a streaming reader gets from there to the latest snapshot, per step, rows as [kind, value, ...]. */
    static JsonNode stream(JsonNode command) throws Exception {
        FileStoreTable table = Server.storeTable(command);
        ReadBuilder builder = table.copyWithoutTimeTravel(
                Map.of("scan.mode", "from-snapshot", "scan.snapshot-id", command.get("snapshot").asText())).newReadBuilder();
        StreamTableScan scan = builder.newStreamScan();
        ArrayNode steps = Server.JSON.createArrayNode();
        long latest = table.latestSnapshot().orElseThrow().id();
        for (Long next = null; next == null || next <= latest; next = scan.checkpoint()) {
            TableScan.Plan plan = scan.plan();
            List<ArrayNode> rows = rows(builder, plan.splits(), true);
            if (!rows.isEmpty()) {
                steps.addObject().put("next", scan.checkpoint()).putArray("rows").addAll(rows);
            }
        }
        return steps;
    }

    static List<ArrayNode> rows(ReadBuilder builder, List<? extends Split> splits, boolean withKind) throws IOException {
        List<ArrayNode> rows = new ArrayList<>();
        RowType type = builder.readType();
        try (RecordReader<InternalRow> reader = builder.newRead().executeFilter().withIOManager(SPILL).createReader(new ArrayList<>(splits))) {
            reader.forEachRemaining(row -> {
                ArrayNode values = Values.render(row, type);
                rows.add(withKind ? values.insert(0, row.getRowKind().shortString()) : values);
            });
        }
        return rows;
    }

    static ReadBuilder filtered(Table table, JsonNode command) {
        ReadBuilder builder = table.newReadBuilder();
        if (command.has("where")) {
            builder.withFilter(predicate(command.get("where"), table.rowType()));
        }
        return builder;
    }

    static Predicate predicate(JsonNode where, RowType type) {
        List<Predicate> all = new ArrayList<>();
        where.forEach(part -> all.add(leaf(part, type)));
        return PredicateBuilder.and(all);
    }

    private static Predicate leaf(JsonNode part, RowType row) {
        PredicateBuilder builder = new PredicateBuilder(row);
        int column = builder.indexOf(part.get(1).asText());
        DataType type = row.getTypeAt(column);
        List<Object> values = new ArrayList<>();
        for (int i = 2; i < part.size(); i++) {
            values.add(Values.parse(part.get(i), type));
        }
        switch (part.get(0).asText()) {
            case "=": return builder.equal(column, values.get(0));
            case "!=": return builder.notEqual(column, values.get(0));
            case "<": return builder.lessThan(column, values.get(0));
            case "<=": return builder.lessOrEqual(column, values.get(0));
            case ">": return builder.greaterThan(column, values.get(0));
            case ">=": return builder.greaterOrEqual(column, values.get(0));
            case "in": return builder.in(column, values);
            case "null": return builder.isNull(column);
            case "not null": return builder.isNotNull(column);
            case "starts with": return builder.startsWith(column, values.get(0));
            default: throw new IllegalArgumentException("no such operator: " + part);
        }
    }
}
