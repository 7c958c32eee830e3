import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.options.Options;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.Table;

/**
 * Java Paimon on standard input and output: a line of JSON in, a line of JSON out.
 *
 * <p>In: {"do": command, "warehouse": path, "table": "db.t", ...}; each command's method says what else it takes.
 * Out: {"ok": true, "result": ...} or {"ok": false, "error": class and message of the root cause, "trace": ...}.
 */
public class Server {
    static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, Catalog> CATALOGS = new HashMap<>();

    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err); // whatever a library prints is not an answer
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            answers.println(JSON.writeValueAsString(answer(line)));
        }
        System.exit(0); // the embedded Flink cluster leaves threads behind
    }

    private static ObjectNode answer(String line) {
        ObjectNode answer = JSON.createObjectNode();
        try {
            JsonNode result = run(JSON.readTree(line));
            return answer.put("ok", true).set("result", result);
        } catch (Throwable error) { // every failure is an answer; the caller decides
            StringWriter trace = new StringWriter();
            error.printStackTrace(new PrintWriter(trace));
            Throwable cause = error;
            while (cause.getCause() != null) {
                cause = cause.getCause();
            }
            return answer.put("ok", false).put("error", cause.toString()).put("trace", trace.toString());
        }
    }

    private static JsonNode run(JsonNode command) throws Exception {
        switch (command.get("do").asText()) {
            case "ping": return JSON.getNodeFactory().textNode("pong");
            case "sql": return Sql.run(command);
            case "create": return Tables.create(command);
            case "drop": return Tables.drop(command);
            case "alter": return Tables.alter(command);
            case "tag": return Tables.tag(command);
            case "branch": return Tables.branch(command);
            case "rollback": return Tables.rollback(command);
            case "expire": return Tables.expire(command);
            case "write": return Writes.write(command);
            case "delete": return Writes.delete(command);
            case "truncate": return Writes.truncate(command);
            case "compact": return Writes.compact(command);
            case "compact_manifests": return Writes.compactManifests(command);
            case "read": return Reads.read(command);
            case "plan": return Reads.plan(command);
            case "stream": return Reads.stream(command);
            default: throw new IllegalArgumentException("no such command: " + command.get("do"));
        }
    }

    static Catalog catalog(JsonNode command) {
        return CATALOGS.computeIfAbsent(command.get("warehouse").asText(), path -> {
            Options options = new Options();
            options.set("warehouse", path);
            options.set("cache-enabled", "false"); // others write to the same tables
            return CatalogFactory.createCatalog(CatalogContext.create(options));
        });
    }

    static Identifier identifier(JsonNode command) {
        return Identifier.fromString(command.get("table").asText());
    }

    /** The table of the command, with its dynamic "options" if it has any. */
    static Table table(JsonNode command) throws Exception {
        Table table = catalog(command).getTable(identifier(command));
        return command.has("options") ? table.copy(texts(command.get("options"))) : table;
    }

    static FileStoreTable storeTable(JsonNode command) throws Exception {
        return (FileStoreTable) table(command);
    }

    static Map<String, String> texts(JsonNode object) {
        Map<String, String> map = new HashMap<>();
        object.fields().forEachRemaining(entry -> map.put(entry.getKey(), entry.getValue().asText()));
        return map;
    }
}
