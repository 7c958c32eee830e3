import java.lang.reflect.Array;
import java.math.BigDecimal;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Map;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.types.Row;
import org.apache.flink.util.CloseableIterator;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** Statements of Flink SQL in batch mode: what only SQL and its procedures can do. Slow: a second for each that starts a job. */
class Sql {
    private static TableEnvironment environment;
    private static String warehouse;

    /** {"sql": statement} -> {"columns": [...], "rows": [[kind, value, ...]]}; the catalog is the warehouse. */
    static JsonNode run(JsonNode command) throws Exception {
        String sql = command.get("sql").asText();
        TableResult result = environment(command.get("warehouse").asText()).executeSql(sql);
        ObjectNode answer = Server.JSON.createObjectNode();
        answer.set("columns", Server.JSON.valueToTree(result.getResolvedSchema().getColumnNames()));
        ArrayNode rows = answer.putArray("rows");
        String verb = sql.strip().split("\\s+", 2)[0].toUpperCase(Locale.ROOT);
        if (verb.equals("INSERT") || verb.equals("UPDATE") || verb.equals("DELETE")) {
            result.await();
            return answer;
        }
        try (CloseableIterator<Row> found = result.collect()) {
            while (found.hasNext()) {
                Row row = found.next();
                ArrayNode values = rows.addArray().add(row.getKind().shortString());
                for (int i = 0; i < row.getArity(); i++) {
                    values.add(render(row.getField(i)));
                }
            }
        }
        return answer;
    }

    private static TableEnvironment environment(String path) {
        if (environment == null) {
            Configuration configuration = new Configuration();
            configuration.setString("parallelism.default", "1");
            configuration.setString("rest.bind-port", "0");
            configuration.setString("table.dml-sync", "true"); // the next statement sees the rows
            environment = TableEnvironment.create(
                    EnvironmentSettings.newInstance().inBatchMode().withConfiguration(configuration).build());
        }
        if (!path.equals(warehouse)) {
            environment.executeSql("USE CATALOG default_catalog");
            environment.executeSql("DROP CATALOG IF EXISTS paimon");
            environment.executeSql("CREATE CATALOG paimon WITH ('type'='paimon','warehouse'='" + path + "','cache-enabled'='false')");
            environment.executeSql("USE CATALOG paimon");
            warehouse = path;
        }
        return environment;
    }

    private static JsonNode render(Object value) {
        if (value instanceof byte[]) {
            return Server.JSON.getNodeFactory().textNode(HexFormat.of().formatHex((byte[]) value));
        }
        if (value instanceof Double || value instanceof Float) {
            boolean finite = Double.isFinite(((Number) value).doubleValue());
            return finite ? Server.JSON.valueToTree(value) : Server.JSON.getNodeFactory().textNode(value.toString());
        }
        if (value == null || value instanceof Number && !(value instanceof BigDecimal) || value instanceof Boolean) {
            return Server.JSON.valueToTree(value);
        }
        ArrayNode list = Server.JSON.createArrayNode();
        if (value instanceof Row) {
            for (int i = 0; i < ((Row) value).getArity(); i++) {
                list.add(render(((Row) value).getField(i)));
            }
        } else if (value instanceof Map) {
            ((Map<?, ?>) value).forEach((key, item) -> list.add(Server.JSON.createArrayNode().add(render(key)).add(render(item))));
        } else if (value.getClass().isArray()) {
            for (int i = 0; i < Array.getLength(value); i++) {
                list.add(render(Array.get(value, i)));
            }
        } else {
            return Server.JSON.getNodeFactory().textNode(value.toString());
        }
        return list;
    }
}
