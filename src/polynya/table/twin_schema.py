"""The schemas, the partition spec and the properties of the Iceberg twin of a Paimon table.

Schema ids and field ids are Paimon's own. A column whose type changed in a way that Iceberg readers cannot follow makes
files of the older schema unreadable, so such files must be gone before the twin is published. So does a column of type
TIME: Paimon stores milliseconds, which Iceberg does not have and readers refuse, even in a file of other columns.
"""

import json
from collections.abc import Iterable, Mapping, Sequence

from polynya.codec.json_text import render_flat
from polynya.errors import UnsupportedError
from polynya.iceberg import metadata, partition_spec, type_json
from polynya.iceberg.metadata import IcebergSchema
from polynya.iceberg.partition_spec import FIRST_FIELD_ID, PartitionField, PartitionSpec
from polynya.model import types as t
from polynya.model.schema import SEQUENCE_NUMBER, VALUE_KIND, Schema, all_fields, key_field
from polynya.table.twin_files import partition_columns

PROPERTIES_PREFIX = "metadata.iceberg.table-properties."
LAST_SYSTEM_ID = SEQUENCE_NUMBER.id  # the largest id in files of primary-key tables
NAME_MAPPING = "schema.name-mapping.default"


def iceberg_schema(schema: Schema, format_version: int) -> IcebergSchema:
    """The columns; UnsupportedError for a type that the format version, or Iceberg, lacks."""
    for field in all_fields(schema.fields):
        nanos = isinstance(field.type, (t.Timestamp, t.LocalTimestamp)) and field.type.precision > 6
        if nanos and format_version < 3:
            raise UnsupportedError(
                f"column '{field.name}': timestamps of more than 6 digits need 'metadata.iceberg.format-version' = '3'"
            )
    made = IcebergSchema(schema.id, tuple(type_json.from_model_fields(schema.fields)))
    ids = list(type_json.ids_of(made.json))
    if len(set(ids)) != len(ids):
        raise UnsupportedError(
            f"schema {schema.id}: a map whose keys and values both hold collections has parts with equal ids"
        )
    return made


def spec_of(schema: Schema) -> PartitionSpec:
    """The identity partitions of the table."""
    columns = zip(schema.partition_fields, partition_columns(schema, FIRST_FIELD_ID), strict=True)
    fields = (PartitionField((field.id,), one.field_id, field.name, "identity") for field, one in columns)
    return PartitionSpec(0, tuple(fields))


def last_column_id(schemas: Iterable[IcebergSchema], schema: Schema) -> int:
    """An id that no column of a data file exceeds; files of primary-key tables have system columns."""
    return LAST_SYSTEM_ID if schema.primary_key else max(one.largest_id for one in schemas)


def properties(options: Mapping[str, str], mapping: str) -> dict[str, str]:
    """The properties of the twin: its files belong to Paimon, and columns of files without ids go by name."""
    prefix = PROPERTIES_PREFIX
    own = {key.removeprefix(prefix): value for key, value in options.items() if key.startswith(prefix)}
    return {"gc.enabled": "false", "write.format.default": "parquet", NAME_MAPPING: mapping, **own}


def name_mapping(schema: Schema, schemas: Sequence[Schema]) -> str:
    """Names to ids, as JSON: of every column, each name that it ever had, unless a later column has taken it."""
    generations = [one.fields for one in sorted(schemas, key=lambda one: -one.id)]
    mapped = _mapped(generations)
    if schema.primary_key:
        keys = tuple(key_field(one) for one in schema.key_fields)
        mapped += _mapped([(*keys, SEQUENCE_NUMBER, VALUE_KIND)])
    return json.dumps(mapped, ensure_ascii=False, separators=(",", ":"))


def unreadable_schemas(schema: Schema, schemas: Iterable[Schema]) -> dict[int, str]:
    """The ids of schemas whose files cannot be read under the schema, each with the reason."""
    now = {field.id: field for field in all_fields(schema.fields)}
    bad = {}
    for one in schemas:
        for field in all_fields(one.fields):
            if _holds_time(field.type):
                bad[one.id] = f"column '{field.name}': Iceberg readers do not read times in milliseconds"
            elif field.id in now and not _is_promotion(field.type, now[field.id].type):
                bad[one.id] = f"column '{now[field.id].name}': its type changed as Iceberg readers cannot follow"
    return bad


def _holds_time(type: t.DataType) -> bool:
    match type:
        case t.Array(element=inner) | t.Multiset(element=inner):
            return _holds_time(inner)
        case t.Map(key=key, value=value):
            return _holds_time(key) or _holds_time(value)
        case _:
            return isinstance(type, t.Time)


def schema_text(schema: IcebergSchema) -> str:
    """The schema on one line, as manifests carry it."""
    return render_flat(metadata.schema_json(schema))


def spec_text(spec: PartitionSpec) -> str:
    """The fields of the spec on one line, as manifests carry them."""
    return render_flat(partition_spec.fields_to_json(spec.fields))


def _mapped(generations: Sequence[Sequence[t.Field]]) -> list[dict[str, object]]:
    names: dict[int, list[str]] = {}
    inner: dict[int, list[t.DataType]] = {}
    taken: set[str] = set()
    for fields in generations:
        for field in fields:
            own = names.setdefault(field.id, [])
            if field.name not in taken:
                own.append(field.name)
                taken.add(field.name)
            inner.setdefault(field.id, []).append(field.type)
    return [{"field-id": id, "names": names[id], **_mapped_parts(inner[id], id, 1)} for id in names if names[id]]


def _mapped_parts(types: Sequence[t.DataType], owner: int, depth: int) -> dict[str, object]:
    rows = [one.fields for one in types if isinstance(one, t.Row)]
    if rows:
        return {"fields": _mapped(rows)}
    (described,) = type_json.from_model_fields([t.Field(owner, "value", types[0])])
    assert isinstance(described, dict)
    return _mapped_json(described["type"])


def _mapped_json(type: object) -> dict[str, object]:
    if not isinstance(type, dict):
        return {}
    if type["type"] == "struct":
        return {
            "fields": [
                {"field-id": one["id"], "names": [one["name"]], **_mapped_json(one["type"])} for one in type["fields"]
            ]
        }
    parts = ("element",) if type["type"] == "list" else ("key", "value")
    return {"fields": [{"field-id": type[f"{part}-id"], "names": [part], **_mapped_json(type[part])} for part in parts]}


def _is_promotion(old: t.DataType, new: t.DataType) -> bool:
    match old, new:
        case (t.Row(), t.Row()):
            return True  # members are looked at on their own
        case (t.Array(element=a), t.Array(element=b)) | (t.Multiset(element=a), t.Multiset(element=b)):
            return _is_promotion(a, b)
        case (t.Map(key=a, value=c), t.Map(key=b, value=d)):
            return _is_promotion(a, b) and _is_promotion(c, d)
        case (t.Decimal(precision=a, scale=c), t.Decimal(precision=b, scale=d)):
            return c == d and a <= b
        case (t.Float(), t.Double()) | (t.TinyInt() | t.SmallInt() | t.Int(), t.BigInt()):
            return True
        case _:
            (a_json,), (b_json,) = (type_json.from_model_fields([t.Field(0, "c", one)]) for one in (old, new))
            return isinstance(a_json, dict) and isinstance(b_json, dict) and a_json["type"] == b_json["type"]
