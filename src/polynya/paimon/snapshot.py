"""snapshot-<id> and changelog-<id>: one version of a table, as JSON.

The keys are the attributes of `Snapshot` in camel case and in their order; what is None is left out. Keys that are not
known here are kept in `extra` and written back. A changelog file is the snapshot it outlives.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum

from polynya.codec import json_text
from polynya.codec.json_text import INT_MAX, Json, JsonObject
from polynya.paimon.layout import require_plain

CURRENT_VERSION = 3
BATCH_COMMIT_IDENTIFIER = 2**63 - 1
NO_WATERMARK = -(2**63)

_OLDEST_VERSION = 1


class CommitKind(StrEnum):
    """What a commit did to the table."""

    APPEND = "APPEND"
    COMPACT = "COMPACT"
    OVERWRITE = "OVERWRITE"
    ANALYZE = "ANALYZE"


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """One version of a table; the record counts are None only in files of old versions."""

    version: int = CURRENT_VERSION
    uuid: str | None = None
    id: int
    schema_id: int
    base_manifest_list: str
    base_manifest_list_size: int | None = None
    delta_manifest_list: str
    delta_manifest_list_size: int | None = None
    changelog_manifest_list: str | None = None
    changelog_manifest_list_size: int | None = None
    index_manifest: str | None = None
    commit_user: str
    writer_version: str | None = None
    commit_identifier: int
    commit_kind: CommitKind
    time_ms: int
    total_record_count: int | None
    delta_record_count: int | None
    changelog_record_count: int | None = None
    watermark: int | None = None
    statistics: str | None = None
    properties: Mapping[str, str] | None = None
    next_row_id: int | None = None
    operation: str | None = None
    extra: Mapping[str, Json] = field(default_factory=dict)

    @property
    def manifest_lists(self) -> tuple[str, ...]:
        """The names of the base list, the delta list and, where there is one, the changelog list."""
        changelog = () if self.changelog_manifest_list is None else (self.changelog_manifest_list,)
        return (self.base_manifest_list, self.delta_manifest_list, *changelog)


def _key(attribute: str) -> str:
    first, *rest = attribute.replace("_ms", "_millis").split("_")
    return first + "".join(map(str.capitalize, rest))


_ATTRIBUTES = {_key(column.name): column.name for column in fields(Snapshot) if column.name != "extra"}


def decode(data: bytes, *, name: str) -> Snapshot:
    """The snapshot, or long-lived changelog, that the file holds."""
    return from_json(json_text.decode(data, name=name))


def encode(snapshot: Snapshot) -> bytes:
    """The file of the snapshot."""
    return json_text.encode(to_json(snapshot))


def from_json(found: JsonObject) -> Snapshot:
    """The snapshot that the object holds; other keys go to `extra`."""
    version = found.find_int("version", highest=INT_MAX)
    snapshot = Snapshot(
        version=_OLDEST_VERSION if version is None else version,
        uuid=found.find_text("uuid"),
        id=found.integer("id"),
        schema_id=found.integer("schemaId"),
        base_manifest_list=require_plain(found.text("baseManifestList"), name=found.name, part="baseManifestList"),
        base_manifest_list_size=found.find_int("baseManifestListSize"),
        delta_manifest_list=require_plain(found.text("deltaManifestList"), name=found.name, part="deltaManifestList"),
        delta_manifest_list_size=found.find_int("deltaManifestListSize"),
        changelog_manifest_list=_find_file_name(found, "changelogManifestList"),
        changelog_manifest_list_size=found.find_int("changelogManifestListSize"),
        index_manifest=_find_file_name(found, "indexManifest"),
        commit_user=found.text("commitUser"),
        writer_version=found.find_text("writerVersion"),
        commit_identifier=found.integer("commitIdentifier"),
        commit_kind=_commit_kind(found),
        time_ms=found.integer("timeMillis"),
        total_record_count=found.find_int("totalRecordCount"),
        delta_record_count=found.find_int("deltaRecordCount"),
        changelog_record_count=found.find_int("changelogRecordCount"),
        watermark=found.find_int("watermark"),
        statistics=_find_file_name(found, "statistics"),
        properties=found.text_map("properties") if found.members.get("properties") is not None else None,
        next_row_id=found.find_int("nextRowId"),
        operation=found.find_text("operation"),
        extra={key: value for key, value in found.members.items() if key not in _ATTRIBUTES},
    )
    _check(snapshot, found)
    return snapshot


def to_json(snapshot: Snapshot) -> dict[str, Json]:
    """The members of the snapshot's file in order."""
    return {key: getattr(snapshot, attribute) for key, attribute in _ATTRIBUTES.items()} | dict(snapshot.extra)


def _commit_kind(found: JsonObject) -> CommitKind:
    text = found.text("commitKind")
    return CommitKind(text) if text in CommitKind.__members__ else found.refuse("commitKind", "a kind of commit")


def _check(snapshot: Snapshot, found: JsonObject) -> None:
    if snapshot.id < 1:
        found.refuse("id", "a snapshot id of 1 or more")
    if snapshot.schema_id < 0:
        found.refuse("schemaId", "a schema id of 0 or more")


def _find_file_name(found: JsonObject, key: str) -> str | None:
    file_name = found.find_text(key)
    return None if file_name is None else require_plain(file_name, name=found.name, part=key)
