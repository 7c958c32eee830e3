"""schema-<id>: one version of a table's schema, as JSON.

| key | what |
|---|---|
| version | 3; 1 up to Paimon 0.7 (and where absent), 2 in 0.8 |
| id | the number in the file's name |
| fields | columns in order: id, name, type, description?, defaultValue? |
| highestFieldId | the highest id ever given, members of ROWs included; -1 if none |
| partitionKeys, primaryKeys | names; the primary key with its partition columns |
| options | strings to strings |
| comment | left out when there is none |
| timeMillis | when this version was made; 0 where absent |

Old versions had other defaults; they are written into the options on reading: bucket 1 (version 1), format orc (1, 2).
"""

from collections.abc import Iterable

from polynya.codec import json_text
from polynya.codec.json_text import INT_MAX, JsonObject
from polynya.model.schema import Schema, all_fields
from polynya.model.types import Row, types_within
from polynya.paimon.type_text import parse_field, render_field


def decode(data: bytes, *, name: str) -> Schema:
    """The schema that the file holds."""
    found = json_text.decode(data, name=name)
    version = found.find_int("version", highest=INT_MAX)
    fields = tuple(parse_field(field) for field in found.objects("fields"))
    schema = Schema(
        fields,
        primary_key=found.texts("primaryKeys"),
        partition_by=found.texts("partitionKeys"),
        options=_with_old_defaults(found.text_map("options"), 1 if version is None else version),
        comment=found.find_text("comment"),
        id=found.integer("id"),
        highest_field_id=found.integer("highestFieldId", highest=INT_MAX),
        time_ms=_time_ms(found),
        version=1 if version is None else version,
    )
    _check(schema, found)
    return schema


def decode_time_ms(data: bytes, *, name: str) -> int:
    """When the schema was made: the one thing that tells it from a later schema of the same name."""
    return _time_ms(json_text.decode(data, name=name))


def encode(schema: Schema) -> bytes:
    """The file of the schema."""
    return json_text.encode(
        {
            "version": schema.version,
            "id": schema.id,
            "fields": [render_field(field) for field in schema.fields],
            "highestFieldId": schema.highest_field_id,
            "partitionKeys": schema.partition_by,
            "primaryKeys": schema.primary_key,
            "options": schema.options,
            "comment": schema.comment,
            "timeMillis": schema.time_ms,
        }
    )


def _time_ms(found: JsonObject) -> int:
    return found.find_int("timeMillis") or 0


def _with_old_defaults(options: dict[str, str], version: int) -> dict[str, str]:
    if version <= 1:
        options.setdefault("bucket", "1")
    if version <= 2:
        options.setdefault("file.format", "orc")
    return options


def _check(schema: Schema, found: JsonObject) -> None:
    if schema.id < 0:
        found.refuse("id", "a schema id of 0 or more")
    ids = [field.id for field in all_fields(schema.fields)]
    rows = [type for field in schema.fields for type in types_within(field.type) if isinstance(type, Row)]
    groups = [schema.names, *([member.name for member in row.fields] for row in rows)]
    if any(map(_has_duplicates, groups)) or _has_duplicates(ids) or min(ids, default=0) < 0:
        found.refuse("fields", "every name once and every id once")
    for key, names in (("primaryKeys", schema.primary_key), ("partitionKeys", schema.partition_by)):
        if _has_duplicates(names) or not set(names) <= set(schema.names):
            found.refuse(key, "columns of the table, each once")


def _has_duplicates(values: Iterable[object]) -> bool:
    listed = list(values)
    return len(set(listed)) < len(listed)
