import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.paimon.options.ExpireConfig;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.schema.SchemaChange;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.table.Table;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypeJsonParser;

/** Tables, their schemas, and the names of their snapshots. */
class Tables {
    private static final JsonNode NOTHING = Server.JSON.nullNode();

    /** {"fields": [[name, type]], "primary_key": [], "partition_by": [], "options": {}, "comment": text}; types as in a schema file. */
    static JsonNode create(JsonNode command) throws Exception {
        Schema.Builder schema = Schema.newBuilder();
        for (JsonNode field : command.get("fields")) {
            schema.column(field.get(0).asText(), type(field.get(1)));
        }
        schema.primaryKey(texts(command.path("primary_key"))).partitionKeys(texts(command.path("partition_by")));
        schema.options(Server.texts(command.path("options"))).comment(command.path("comment").asText(null));
        Server.catalog(command).createDatabase(Server.identifier(command).getDatabaseName(), true);
        Server.catalog(command).createTable(Server.identifier(command), schema.build(), false);
        return NOTHING;
    }

    static JsonNode drop(JsonNode command) throws Exception {
        Server.catalog(command).dropTable(Server.identifier(command), false);
        return NOTHING;
    }

    /** {"changes": [[kind, ...]]}: add name type; rename old new; drop name; type name type; nullable name flag; set key value; unset key. */
    static JsonNode alter(JsonNode command) throws Exception {
        List<SchemaChange> changes = new ArrayList<>();
        for (JsonNode change : command.get("changes")) {
            changes.add(change(change));
        }
        Server.catalog(command).alterTable(Server.identifier(command), changes, false);
        return NOTHING;
    }

    private static SchemaChange change(JsonNode change) {
        String name = change.get(1).asText();
        switch (change.get(0).asText()) {
            case "add": return SchemaChange.addColumn(name, type(change.get(2)));
            case "rename": return SchemaChange.renameColumn(name, change.get(2).asText());
            case "drop": return SchemaChange.dropColumn(name);
            case "type": return SchemaChange.updateColumnType(name, type(change.get(2)));
            case "nullable": return SchemaChange.updateColumnNullability(name, change.get(2).asBoolean());
            case "set": return SchemaChange.setOption(name, change.get(2).asText());
            case "unset": return SchemaChange.removeOption(name);
            default: throw new IllegalArgumentException("no such change: " + change);
        }
    }

    /** {"name": tag, "snapshot": id or absent for the latest, "delete": flag}. */
    static JsonNode tag(JsonNode command) throws Exception {
        Table table = Server.table(command);
        String name = command.get("name").asText();
        if (command.path("delete").asBoolean()) {
            table.deleteTag(name);
        } else if (command.has("snapshot")) {
            table.createTag(name, command.get("snapshot").asLong());
        } else {
            table.createTag(name);
        }
        return NOTHING;
    }

    /** {"name": branch, "tag": name or absent for an empty branch, "delete" or "fast_forward": flag}. */
    static JsonNode branch(JsonNode command) throws Exception {
        Table table = Server.table(command);
        String name = command.get("name").asText();
        if (command.path("delete").asBoolean()) {
            table.deleteBranch(name);
        } else if (command.path("fast_forward").asBoolean()) {
            table.fastForward(name);
        } else if (command.has("tag")) {
            table.createBranch(name, command.get("tag").asText());
        } else {
            table.createBranch(name);
        }
        return NOTHING;
    }

    /** {"snapshot": id} or {"tag": name}. */
    static JsonNode rollback(JsonNode command) throws Exception {
        if (command.has("tag")) {
            Server.table(command).rollbackTo(command.get("tag").asText());
        } else {
            Server.table(command).rollbackTo(command.get("snapshot").asLong());
        }
        return NOTHING;
    }

    /** {"retain_max", "retain_min": counts, "retain_ms": age, an hour if absent} -> how many snapshots went. */
    static JsonNode expire(JsonNode command) throws Exception {
        ExpireConfig.Builder config = ExpireConfig.builder().snapshotTimeRetain(Duration.ofMillis(command.path("retain_ms").asLong(3_600_000)));
        config.snapshotRetainMin(command.path("retain_min").asInt(1)).snapshotRetainMax(command.path("retain_max").asInt(Integer.MAX_VALUE));
        return Server.JSON.valueToTree(Server.table(command).newExpireSnapshots().config(config.build()).expire());
    }

    static DataType type(JsonNode type) {
        return DataTypeJsonParser.parseDataType(type);
    }

    static List<String> texts(JsonNode list) {
        List<String> texts = new ArrayList<>();
        list.forEach(text -> texts.add(text.asText()));
        return texts;
    }
}
