"""Table metadata: the JSON that everything else of an Iceberg table is found from, format versions 1 to 3.

Keys that are not known here, and the JSON of schemas as it was read, are kept and written back. Version 1 has `schema`
and `partition-spec` in the place of, or beside, `schemas` and `partition-specs`; they are written in version 1 only.
Members that are None are left out: readers are stricter about null than about absence.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from polynya.codec import json_text
from polynya.codec.json_text import INT_MAX, Json, JsonObject
from polynya.errors import CorruptFileError, UnsupportedError
from polynya.iceberg import partition_spec, type_json
from polynya.iceberg.partition_spec import FIRST_FIELD_ID, PartitionSpec
from polynya.model import types as t

MAIN = "main"
VERSIONS = (1, 2, 3)
UNSORTED: Mapping[str, Json] = {"order-id": 0, "fields": []}
_GZIP_BYTES_MAX = 1 << 30


@dataclass(frozen=True)
class IcebergSchema:
    """One version of the columns; `json` are its fields as they are stored."""

    schema_id: int
    json: tuple[Json, ...]
    identifier_field_ids: tuple[int, ...] = ()
    name: str = field(default="schema", compare=False)  # the file that it stands in, for errors

    @cached_property
    def fields(self) -> tuple[t.Field, ...]:
        """The columns in terms of the model; UnsupportedError for a type that it lacks."""
        return tuple(type_json.to_model_field(one, name=self.name) for one in self.json)

    @cached_property
    def largest_id(self) -> int:
        """The largest id of a column or of a part of one."""
        return max(type_json.ids_of(self.json), default=0)


@dataclass(frozen=True, kw_only=True)
class IcebergSnapshot:
    """One version of the rows."""

    snapshot_id: int
    parent_snapshot_id: int | None = None
    sequence_number: int = 0
    timestamp_ms: int
    manifest_list: str | None = None
    manifests: tuple[str, ...] | None = None
    summary: Mapping[str, str] = field(default_factory=dict)
    schema_id: int | None = None
    first_row_id: int | None = None
    added_rows: int | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True)
class Ref:
    """A branch or a tag; `extra` says how long it is kept."""

    snapshot_id: int
    type: str
    extra: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True)
class LogEntry:
    """A snapshot id with the time at which it became current, or a metadata file with its own time."""

    timestamp_ms: int
    value: int | str


@dataclass(frozen=True, kw_only=True)
class TableMetadata:
    """A table as one metadata file describes it."""

    format_version: int
    table_uuid: str | None
    location: str
    last_sequence_number: int = 0
    last_updated_ms: int
    last_column_id: int
    schemas: tuple[IcebergSchema, ...]
    current_schema_id: int
    partition_specs: tuple[PartitionSpec, ...]
    default_spec_id: int
    last_partition_id: int = FIRST_FIELD_ID - 1
    sort_orders: tuple[Json, ...] = (UNSORTED,)
    default_sort_order_id: int = 0
    properties: Mapping[str, str] = field(default_factory=dict)
    current_snapshot_id: int | None = None
    snapshots: tuple[IcebergSnapshot, ...] = ()
    snapshot_log: tuple[LogEntry, ...] = ()
    metadata_log: tuple[LogEntry, ...] = ()
    refs: Mapping[str, Ref] = field(default_factory=dict)
    next_row_id: int | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)

    @property
    def schema(self) -> IcebergSchema:
        """The current schema."""
        return next(one for one in self.schemas if one.schema_id == self.current_schema_id)

    @property
    def spec(self) -> PartitionSpec:
        """The spec of new files."""
        return next(one for one in self.partition_specs if one.spec_id == self.default_spec_id)

    @property
    def current_snapshot(self) -> IcebergSnapshot | None:
        """The latest snapshot, or None."""
        return self.find_snapshot(self.current_snapshot_id)

    def find_snapshot(self, id: int | None) -> IcebergSnapshot | None:
        """The snapshot of that id, or None."""
        return next((one for one in self.snapshots if one.snapshot_id == id), None)


_KNOWN = frozenset(
    [
        "format-version",
        "table-uuid",
        "location",
        "last-sequence-number",
        "last-updated-ms",
        "last-column-id",
        "schema",
        "schemas",
        "current-schema-id",
        "partition-spec",
        "partition-specs",
        "default-spec-id",
        "last-partition-id",
        "sort-orders",
        "default-sort-order-id",
        "properties",
        "current-snapshot-id",
        "snapshots",
        "snapshot-log",
        "metadata-log",
        "refs",
        "next-row-id",
    ]
)
_KNOWN_SNAPSHOT = frozenset(
    [
        "snapshot-id",
        "parent-snapshot-id",
        "sequence-number",
        "timestamp-ms",
        "manifest-list",
        "manifests",
        "summary",
        "schema-id",
        "first-row-id",
        "added-rows",
    ]
)


def decode(data: bytes, *, name: str, compressed: bool = False) -> TableMetadata:
    """The table that the file describes.

    Raises CorruptFileError where it is inconsistent, UnsupportedError above version 3.
    """
    found = json_text.decode(_unzipped(data, name) if compressed else data, name=name)
    version = found.integer("format-version", highest=INT_MAX)
    if version > VERSIONS[-1]:
        raise UnsupportedError(f"'{name}': Iceberg format version {version} is not supported, only 1 to 3")
    if version not in VERSIONS:
        found.refuse("format-version", "1, 2 or 3")
    schemas = _schemas(found)
    specs = _specs(found)
    current = found.find_int("current-snapshot-id")
    metadata = TableMetadata(
        format_version=version,
        table_uuid=found.find_text("table-uuid"),
        location=found.text("location").rstrip("/"),
        last_sequence_number=found.integer("last-sequence-number") if version > 1 else 0,
        last_updated_ms=found.integer("last-updated-ms"),
        last_column_id=found.integer("last-column-id"),
        schemas=schemas,
        current_schema_id=_default_id(found, "current-schema-id", schemas[0].schema_id),
        partition_specs=specs,
        default_spec_id=_default_id(found, "default-spec-id", specs[0].spec_id),
        last_partition_id=_last_partition_id(found, specs),
        sort_orders=tuple(one.members for one in _objects(found, "sort-orders")) or (UNSORTED,),
        default_sort_order_id=found.find_int("default-sort-order-id") or 0,
        properties=found.text_map("properties") if found.members.get("properties") is not None else {},
        current_snapshot_id=None if current in (None, -1) else current,
        snapshots=tuple(_snapshot(one, version) for one in _objects(found, "snapshots")),
        snapshot_log=tuple(_snapshot_log(one) for one in _objects(found, "snapshot-log")),
        metadata_log=tuple(_metadata_log(one) for one in _objects(found, "metadata-log")),
        refs=_refs(found),
        next_row_id=found.find_int("next-row-id"),  # some writers of version 3 leave it out
        extra={key: value for key, value in found.members.items() if key not in _KNOWN},
    )
    _check(metadata, found)
    return metadata


def encode(metadata: TableMetadata) -> bytes:
    """The file of the table's metadata."""
    return json_text.encode(to_json(metadata))


def to_json(metadata: TableMetadata) -> dict[str, Json]:
    """The members of the file in order."""
    version = metadata.format_version
    members: dict[str, Json] = {
        "format-version": version,
        "table-uuid": metadata.table_uuid,
        "location": metadata.location,
        "last-sequence-number": metadata.last_sequence_number if version > 1 else None,
        "last-updated-ms": metadata.last_updated_ms,
        "last-column-id": metadata.last_column_id,
        "schema": schema_json(metadata.schema) if version == 1 else None,
        "schemas": [schema_json(one) for one in metadata.schemas],
        "current-schema-id": metadata.current_schema_id,
        "partition-spec": partition_spec.fields_to_json(metadata.spec.fields) if version == 1 else None,
        "partition-specs": [partition_spec.to_json(one) for one in metadata.partition_specs],
        "default-spec-id": metadata.default_spec_id,
        "last-partition-id": metadata.last_partition_id,
        "sort-orders": metadata.sort_orders,
        "default-sort-order-id": metadata.default_sort_order_id,
        "properties": metadata.properties,
        "current-snapshot-id": metadata.current_snapshot_id,
        "refs": {name: _ref_json(ref) for name, ref in metadata.refs.items()},
        "snapshots": [_snapshot_json(one, version) for one in metadata.snapshots],
        "snapshot-log": [{"timestamp-ms": one.timestamp_ms, "snapshot-id": one.value} for one in metadata.snapshot_log],
        "metadata-log": [
            {"timestamp-ms": one.timestamp_ms, "metadata-file": one.value} for one in metadata.metadata_log
        ],
        "next-row-id": metadata.next_row_id,
    }
    if metadata.current_snapshot_id is None and version < 3:
        members["current-snapshot-id"] = -1
    return members | dict(metadata.extra)


def schema_json(schema: IcebergSchema) -> dict[str, Json]:
    """The schema as an object."""
    identifiers = schema.identifier_field_ids or None
    known: dict[str, Json] = {"type": "struct", "schema-id": schema.schema_id, "fields": schema.json}
    return known if identifiers is None else {**known, "identifier-field-ids": identifiers}


def _unzipped(data: bytes, name: str) -> bytes:
    unzip = zlib.decompressobj(wbits=31)
    try:
        plain = unzip.decompress(data, _GZIP_BYTES_MAX)
    except zlib.error as error:
        raise CorruptFileError(f"'{name}': expected gzip, found damaged bytes: {error}") from error
    if not unzip.eof:
        raise CorruptFileError(f"'{name}': expected gzip, found no end of it")
    return plain


def _objects(found: JsonObject, key: str) -> tuple[JsonObject, ...]:
    return found.objects(key) if found.members.get(key) is not None else ()


def _schemas(found: JsonObject) -> tuple[IcebergSchema, ...]:
    if found.members.get("schemas") is None:
        return (_schema(found.object("schema")),)
    schemas = tuple(_schema(one) for one in found.objects("schemas"))
    return schemas if schemas else found.refuse("schemas", "at least one schema")


def _schema(found: JsonObject) -> IcebergSchema:
    if found.members.get("type") != "struct":
        found.refuse("type", "struct")
    type_json.to_arrow(found.members, name=found.name)  # finds damage now rather than at the first use
    for one in found.objects("fields"):
        one.integer("id", highest=INT_MAX)
    identifiers = found.members.get("identifier-field-ids")
    ids = tuple(id for id in identifiers if isinstance(id, int)) if isinstance(identifiers, list) else ()
    schema_id = found.find_int("schema-id", highest=INT_MAX) or 0
    return IcebergSchema(schema_id, tuple(found.list("fields")), ids, found.name)


def _specs(found: JsonObject) -> tuple[PartitionSpec, ...]:
    if found.members.get("partition-specs") is None:
        return (PartitionSpec(0, partition_spec.fields_from_json(found.objects("partition-spec"))),)
    specs = tuple(partition_spec.from_json(one) for one in found.objects("partition-specs"))
    return specs if specs else found.refuse("partition-specs", "at least one spec")


def _default_id(found: JsonObject, key: str, usual: int) -> int:
    id = found.find_int(key)
    return usual if id is None else id


def _last_partition_id(found: JsonObject, specs: Sequence[PartitionSpec]) -> int:
    used = max((id for spec in specs for id in spec.field_ids), default=FIRST_FIELD_ID - 1)
    return _default_id(found, "last-partition-id", used)


def _snapshot(found: JsonObject, version: int) -> IcebergSnapshot:
    sequence_number = found.find_int("sequence-number")
    manifests = found.texts("manifests") if found.members.get("manifests") is not None else None
    manifest_list = found.find_text("manifest-list")
    if manifest_list is None and manifests is None:
        found.refuse("manifest-list", "the location of a manifest list")
    return IcebergSnapshot(
        snapshot_id=found.integer("snapshot-id"),
        parent_snapshot_id=found.find_int("parent-snapshot-id"),
        sequence_number=sequence_number or 0,
        timestamp_ms=found.integer("timestamp-ms"),
        manifest_list=manifest_list,
        manifests=manifests,
        summary=found.text_map("summary") if found.members.get("summary") is not None else {},
        schema_id=found.find_int("schema-id"),
        first_row_id=found.find_int("first-row-id") if version > 2 else None,
        added_rows=found.find_int("added-rows") if version > 2 else None,
        extra={key: value for key, value in found.members.items() if key not in _KNOWN_SNAPSHOT},
    )


def _snapshot_json(snapshot: IcebergSnapshot, version: int) -> dict[str, Json]:
    known: dict[str, Json] = {
        "sequence-number": snapshot.sequence_number or None if version > 1 else None,
        "snapshot-id": snapshot.snapshot_id,
        "parent-snapshot-id": snapshot.parent_snapshot_id,
        "timestamp-ms": snapshot.timestamp_ms,
        "summary": snapshot.summary or None,
        "manifest-list": snapshot.manifest_list,
        "manifests": snapshot.manifests,
        "schema-id": snapshot.schema_id,
        "first-row-id": snapshot.first_row_id,
        "added-rows": snapshot.added_rows,
    }
    return known | dict(snapshot.extra)


def _snapshot_log(found: JsonObject) -> LogEntry:
    return LogEntry(found.integer("timestamp-ms"), found.integer("snapshot-id"))


def _metadata_log(found: JsonObject) -> LogEntry:
    return LogEntry(found.integer("timestamp-ms"), found.text("metadata-file"))


def _refs(found: JsonObject) -> dict[str, Ref]:
    if found.members.get("refs") is None:
        return {}
    refs = found.object("refs")
    return {name: _ref(refs.inside(one, name)) for name, one in refs.members.items()}


def _ref(found: JsonObject) -> Ref:
    type = found.text("type")
    if type not in ("branch", "tag"):
        found.refuse("type", "branch or tag")
    extra = {key: value for key, value in found.members.items() if key not in ("snapshot-id", "type")}
    return Ref(found.integer("snapshot-id"), type, extra)


def _ref_json(ref: Ref) -> dict[str, Json]:
    return {"snapshot-id": ref.snapshot_id, "type": ref.type, **ref.extra}


def _check(metadata: TableMetadata, found: JsonObject) -> None:
    if metadata.current_schema_id not in {one.schema_id for one in metadata.schemas}:
        found.refuse("current-schema-id", "the id of one of the schemas")
    if metadata.default_spec_id not in {one.spec_id for one in metadata.partition_specs}:
        found.refuse("default-spec-id", "the id of one of the partition specs")
    if metadata.current_snapshot_id is not None and metadata.current_snapshot is None:
        found.refuse("current-snapshot-id", "the id of one of the snapshots")
    known = {one.snapshot_id for one in metadata.snapshots}
    for name, ref in metadata.refs.items():
        if ref.snapshot_id not in known:
            raise json_text.corrupt(found.name, f"refs.{name}", "the id of one of the snapshots", ref.snapshot_id)
