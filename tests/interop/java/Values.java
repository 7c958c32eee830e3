import java.math.BigDecimal;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.Blob;
import org.apache.paimon.data.BlobData;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.GenericArray;
import org.apache.paimon.data.GenericMap;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalArray;
import org.apache.paimon.data.InternalMap;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.data.variant.GenericVariant;
import org.apache.paimon.data.variant.Variant;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.JsonNodeFactory;
import org.apache.paimon.types.ArrayType;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypes;
import org.apache.paimon.types.DecimalType;
import org.apache.paimon.types.LocalZonedTimestampType;
import org.apache.paimon.types.MapType;
import org.apache.paimon.types.MultisetType;
import org.apache.paimon.types.RowKind;
import org.apache.paimon.types.RowType;
import org.apache.paimon.types.TimestampType;
import org.apache.paimon.types.VectorType;

/** Paimon's values to JSON and back, in the text that tests/golden/README.md describes under "Values". */
class Values {
    private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

    static ArrayNode render(InternalRow row, RowType type) {
        ArrayNode values = NODES.arrayNode();
        for (int i = 0; i < type.getFieldCount(); i++) {
            DataType field = type.getTypeAt(i);
            values.add(render(InternalRow.createFieldGetter(field, i).getFieldOrNull(row), field));
        }
        return values;
    }

    static JsonNode render(Object value, DataType type) {
        if (value == null) {
            return NODES.nullNode();
        }
        switch (type.getTypeRoot()) {
            case BOOLEAN: return NODES.booleanNode((Boolean) value);
            case TINYINT: return NODES.numberNode((Byte) value);
            case SMALLINT: return NODES.numberNode((Short) value);
            case INTEGER: return NODES.numberNode((Integer) value);
            case BIGINT: return NODES.numberNode((Long) value);
            case FLOAT: return Float.isFinite((Float) value) ? NODES.numberNode((Float) value) : NODES.textNode(value.toString());
            case DOUBLE: return Double.isFinite((Double) value) ? NODES.numberNode((Double) value) : NODES.textNode(value.toString());
            case BINARY: case VARBINARY: return NODES.textNode(HexFormat.of().formatHex((byte[]) value));
            case BLOB: return NODES.textNode(HexFormat.of().formatHex(((Blob) value).toData()));
            case DECIMAL: return NODES.textNode(((Decimal) value).toBigDecimal().toPlainString());
            case DATE: return NODES.textNode(LocalDate.ofEpochDay((Integer) value).toString());
            case TIME_WITHOUT_TIME_ZONE: return NODES.textNode(timeOfDay((Integer) value));
            case TIMESTAMP_WITHOUT_TIME_ZONE: return NODES.textNode(time((Timestamp) value, ((TimestampType) type).getPrecision()));
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE: return NODES.textNode(time((Timestamp) value, ((LocalZonedTimestampType) type).getPrecision()) + "Z");
            case ARRAY: return list((InternalArray) value, ((ArrayType) type).getElementType());
            case VECTOR: return list((InternalArray) value, ((VectorType) type).getElementType());
            case MAP: return pairs((InternalMap) value, ((MapType) type).getKeyType(), ((MapType) type).getValueType());
            case MULTISET: return pairs((InternalMap) value, ((MultisetType) type).getElementType(), DataTypes.INT());
            case ROW: return render((InternalRow) value, (RowType) type);
            case VARIANT: return variant((Variant) value);
            default: return NODES.textNode(value.toString());
        }
    }

    private static JsonNode list(InternalArray array, DataType type) {
        InternalArray.ElementGetter getter = InternalArray.createElementGetter(type);
        ArrayNode values = NODES.arrayNode();
        for (int i = 0; i < array.size(); i++) {
            values.add(render(getter.getElementOrNull(array, i), type));
        }
        return values;
    }

    private static JsonNode pairs(InternalMap map, DataType key, DataType value) {
        JsonNode keys = list(map.keyArray(), key);
        JsonNode values = list(map.valueArray(), value);
        List<JsonNode> pairs = new ArrayList<>();
        for (int i = 0; i < map.size(); i++) {
            pairs.add(NODES.arrayNode().add(keys.get(i)).add(values.get(i)));
        }
        pairs.sort(Comparator.comparing(JsonNode::toString));
        return NODES.arrayNode().addAll(pairs);
    }

    private static JsonNode variant(Variant value) {
        HexFormat hex = HexFormat.of();
        return NODES.objectNode().put("json", value.toJson())
                .put("value", hex.formatHex(value.value())).put("metadata", hex.formatHex(value.metadata()));
    }

    private static String timeOfDay(int millis) {
        return String.format("%02d:%02d:%02d.%03d", millis / 3_600_000, millis / 60_000 % 60, millis / 1000 % 60, millis % 1000);
    }

    private static String time(Timestamp value, int precision) {
        LocalDateTime time = value.toLocalDateTime();
        String text = String.format("%s %02d:%02d:%02d", time.toLocalDate(), time.getHour(), time.getMinute(), time.getSecond());
        return precision == 0 ? text : text + "." + String.format("%09d", time.getNano()).substring(0, precision);
    }

    /** A row that came as [kind, value, ...]. */
    static GenericRow parseRow(JsonNode row, RowType type) {
        if (row.size() != type.getFieldCount() + 1) {
            throw new IllegalArgumentException("expected a row kind and " + type.getFieldCount() + " values, found " + row);
        }
        GenericRow parsed = new GenericRow(RowKind.fromShortString(row.get(0).asText()), type.getFieldCount());
        for (int i = 0; i < type.getFieldCount(); i++) {
            parsed.setField(i, parse(row.get(i + 1), type.getTypeAt(i)));
        }
        return parsed;
    }

    static Object parse(JsonNode node, DataType type) {
        if (node.isNull()) {
            return null;
        }
        String text = node.asText();
        switch (type.getTypeRoot()) {
            case BOOLEAN: return Boolean.parseBoolean(text);
            case TINYINT: return Byte.parseByte(text);
            case SMALLINT: return Short.parseShort(text);
            case INTEGER: return Integer.parseInt(text);
            case BIGINT: return Long.parseLong(text);
            case FLOAT: return Float.parseFloat(text);
            case DOUBLE: return Double.parseDouble(text);
            case CHAR: case VARCHAR: return BinaryString.fromString(text);
            case BINARY: case VARBINARY: return HexFormat.of().parseHex(text);
            case BLOB: return new BlobData(HexFormat.of().parseHex(text));
            case DECIMAL: return Decimal.fromBigDecimal(new BigDecimal(text), ((DecimalType) type).getPrecision(), ((DecimalType) type).getScale());
            case DATE: return (int) LocalDate.parse(text).toEpochDay();
            case TIME_WITHOUT_TIME_ZONE: return (int) (LocalTime.parse(text).toNanoOfDay() / 1_000_000);
            case TIMESTAMP_WITHOUT_TIME_ZONE: case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
                return Timestamp.fromLocalDateTime(LocalDateTime.parse(text.replace(' ', 'T').replace("Z", "")));
            case ARRAY: return parseList(node, ((ArrayType) type).getElementType());
            case MAP: return parsePairs(node, ((MapType) type).getKeyType(), ((MapType) type).getValueType());
            case MULTISET: return parsePairs(node, ((MultisetType) type).getElementType(), DataTypes.INT());
            case ROW: return parseMembers(node, (RowType) type);
            case VARIANT: return variantOf(node);
            default: throw new IllegalArgumentException("cannot write values of type " + type);
        }
    }

    private static GenericArray parseList(JsonNode node, DataType type) {
        Object[] values = new Object[node.size()];
        for (int i = 0; i < values.length; i++) {
            values[i] = parse(node.get(i), type);
        }
        return new GenericArray(values);
    }

    private static GenericMap parsePairs(JsonNode node, DataType key, DataType value) {
        Map<Object, Object> map = new LinkedHashMap<>();
        for (JsonNode pair : node) {
            map.put(parse(pair.get(0), key), parse(pair.get(1), value));
        }
        return new GenericMap(map);
    }

    private static GenericRow parseMembers(JsonNode node, RowType type) {
        GenericRow row = new GenericRow(type.getFieldCount());
        for (int i = 0; i < type.getFieldCount(); i++) {
            row.setField(i, parse(node.get(i), type.getTypeAt(i)));
        }
        return row;
    }

    /** A VARIANT comes as its two byte strings, or as text in JSON. */
    private static Variant variantOf(JsonNode node) {
        if (node.isTextual()) {
            return GenericVariant.fromJson(node.asText());
        }
        HexFormat hex = HexFormat.of();
        return new GenericVariant(hex.parseHex(node.get("value").asText()), hex.parseHex(node.get("metadata").asText()));
    }
}
