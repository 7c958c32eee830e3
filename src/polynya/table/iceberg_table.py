"""An Iceberg table as one metadata file describes it: where its files are, its snapshots, its schemas in the model.

The current metadata is that of the version hint, or of a version that follows it without a gap; without a usable hint,
that of the highest number in the metadata folder. Where its files are is told by `iceberg_places`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa

from polynya.codec.json_text import Json
from polynya.errors import InvalidInputError, NotFoundError
from polynya.iceberg import default_value, layout, metadata, type_json
from polynya.iceberg.metadata import MAIN, IcebergSchema, IcebergSnapshot, TableMetadata
from polynya.model import types as t
from polynya.model.schema import Schema, all_fields
from polynya.storage.protocol import Storage
from polynya.storage.reach import reaching
from polynya.table.iceberg_places import Places, places_of

ROW_ID = t.Field(2147483540, "_row_id", t.BigInt())
LAST_UPDATED = t.Field(2147483539, "_last_updated_sequence_number", t.BigInt())
LINEAGE = (ROW_ID, LAST_UPDATED)
_COMMENT = "comment"


@dataclass(frozen=True)
class SnapshotView:
    """One version of the rows, under the names that a snapshot of a Paimon table has too."""

    id: int
    schema_id: int
    commit_kind: str
    time_ms: int
    total_record_count: int | None
    parent_id: int | None
    sequence_number: int
    summary: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class IcebergRoot:
    """A table's folder and its metadata; `is_pinned`: the metadata file was named, not found."""

    storage: Storage
    metadata_name: str
    metadata: TableMetadata
    is_pinned: bool = False

    @cached_property
    def columns_by_id(self) -> Mapping[int, t.Field]:
        """Every column of any schema, as the newest schema that has it says."""
        return {one.id: one for schema in self._schemas for one in schema.fields}

    @cached_property
    def fields_by_id(self) -> Mapping[int, t.Field]:
        """Every column and struct member of any schema, as the newest schema that has it says."""
        return {one.id: one for schema in self._schemas for one in all_fields(schema.fields)}

    @cached_property
    def leaf_types(self) -> Mapping[int, Json]:
        """The types, as JSON has them, of the columns and parts of any schema that hold no others."""
        return {id: type for schema in self._schemas for _, id, type in type_json.leaves(schema.json)}

    @property
    def named_ids(self) -> frozenset[int]:
        """The columns that have had one name and type in all schemas, which no other column had, and no default."""
        defaults = {id for one in self._schemas for id in default_value.initial_defaults(one.json, name=one.name)}
        known = {
            (one.id, one.name.lower(), one.type.with_nullable(True))
            for schema in self._schemas
            for one in schema.fields
        }
        ids, names = Counter(one[0] for one in known), Counter(name for name, _ in {(one[1], one[0]) for one in known})
        return frozenset(id for id, name, _ in known if ids[id] == 1 and names[name] == 1 and id not in defaults)

    @property
    def _schemas(self) -> list[IcebergSchema]:
        """The schemas, the current one last."""
        current = self.metadata.current_schema_id
        return sorted(self.metadata.schemas, key=lambda one: (one.schema_id == current, one.schema_id))

    @cached_property
    def places(self) -> Places:
        """Where the files are that the metadata names."""
        return places_of(self.storage.location, self.metadata_name, self.metadata)

    def names_of(self, paths: pa.Array | pa.ChunkedArray) -> pa.Array:
        """The names by which the storage has files that metadata names."""
        return self.places.names_of(paths)

    def name_of(self, path: str) -> str:
        """The name of one file."""
        name: str = self.names_of(pa.array([path], pa.string()))[0].as_py()
        return name


def find_table(storage: Storage) -> IcebergRoot | None:
    """The Iceberg table in the folder, or None where there is no metadata."""
    name = _hinted_name(storage) or _newest_name(storage)
    return None if name is None else open_metadata(storage, name)


def open_metadata(storage: Storage, name: str, *, is_pinned: bool = False) -> IcebergRoot:
    """The table that one metadata file describes."""
    decoded = metadata.decode(storage.read(name), name=name, compressed=layout.is_gzip(name))
    return IcebergRoot(reaching(storage), name, decoded, is_pinned)


def refresh(root: IcebergRoot) -> IcebergRoot:
    """The table at its newest metadata; one that was opened by its metadata file stays there."""
    if root.is_pinned:
        return root
    found = find_table(root.storage)
    if found is None:
        raise NotFoundError(f"{root.storage.location} is no Iceberg table any more: it has no metadata file")
    return found


def schema_of(root: IcebergRoot, schema_id: int) -> Schema:
    """A schema in terms of the model."""
    found = next((one for one in root.metadata.schemas if one.schema_id == schema_id), None)
    if found is None:
        known = ", ".join(str(one.schema_id) for one in root.metadata.schemas)
        raise NotFoundError(f"schema {schema_id} of {root.storage.location} does not exist; there are: {known}")
    properties = root.metadata.properties
    return Schema(
        found.fields,
        options={key: value for key, value in properties.items() if key != _COMMENT},
        comment=properties.get(_COMMENT),
        id=schema_id,
        highest_field_id=root.metadata.last_column_id,
        time_ms=root.metadata.last_updated_ms,
    )


def view_of(snapshot: IcebergSnapshot, root: IcebergRoot) -> SnapshotView:
    """A snapshot as the public sees it."""
    total = snapshot.summary.get("total-records", "")
    return SnapshotView(
        id=snapshot.snapshot_id,
        schema_id=root.metadata.current_schema_id if snapshot.schema_id is None else snapshot.schema_id,
        commit_kind=snapshot.summary.get("operation", "overwrite"),
        time_ms=snapshot.timestamp_ms,
        total_record_count=int(total) if total.isascii() and total.isdigit() else None,
        parent_id=snapshot.parent_snapshot_id,
        sequence_number=snapshot.sequence_number,
        summary=snapshot.summary,
    )


def read_snapshot(root: IcebergRoot, id: int) -> IcebergSnapshot:
    """The snapshot of that id; NotFoundError tells which ones there are."""
    found = root.metadata.find_snapshot(id)
    if found is None:
        raise NotFoundError(f"snapshot {id} of {root.storage.location} does not exist; there are: {_ids(root)}")
    return found


def read_ref(root: IcebergRoot, name: str, type: str) -> IcebergSnapshot | None:
    """The snapshot of a tag or branch; the main branch of an empty table has none."""
    refs = root.metadata.refs
    if type == "branch" and name == MAIN:
        return root.metadata.current_snapshot
    if name not in refs or refs[name].type != type:
        known = ", ".join(ref_names(root, type)) or "none"
        raise NotFoundError(f"{type} '{name}' of {root.storage.location} does not exist; there are: {known}")
    return root.metadata.find_snapshot(refs[name].snapshot_id)


def ref_names(root: IcebergRoot, type: str) -> list[str]:
    """The names of the tags or branches."""
    return sorted(name for name, ref in root.metadata.refs.items() if ref.type == type)


def read_snapshot_at(root: IcebergRoot, time_ms: int) -> IcebergSnapshot:
    """The snapshot that was current at a time."""
    before = [one for one in root.metadata.snapshot_log if one.timestamp_ms <= time_ms]
    if not before:
        raise NotFoundError(f"{root.storage.location} has no snapshot at or before {time_ms}")
    return read_snapshot(root, int(before[-1].value))


def _ids(root: IcebergRoot) -> str:
    return ", ".join(str(one.snapshot_id) for one in root.metadata.snapshots) or "none"


def _hinted_name(storage: Storage) -> str | None:
    """The metadata file that the hint leads to, if it is there."""
    try:
        hint = storage.read(f"{layout.METADATA_FOLDER}/{layout.VERSION_HINT}")
    except NotFoundError:
        return None
    version = layout.decode_hint(hint)
    if version is None:
        text = hint.decode(errors="replace").strip()
        return _existing(storage, (f"{text}.metadata.json",)) if re.fullmatch(r"[\w-]+", text) else None
    found = _version_name(storage, version)
    while found is not None and (following := _version_name(storage, version + 1)) is not None:
        found, version = following, version + 1
    return found


def _version_name(storage: Storage, version: int) -> str | None:
    return _existing(storage, (layout.metadata_name(version), layout.gzip_metadata_name(version)))


def _existing(storage: Storage, names: Iterable[str]) -> str | None:
    for name in names:
        path = f"{layout.METADATA_FOLDER}/{name}"
        try:
            storage.size(path)
        except (NotFoundError, InvalidInputError):
            continue  # the next name may be there
        return path
    return None


def _newest_name(storage: Storage) -> str | None:
    """The metadata file with the highest number; of several the latest."""
    blobs = [blob for page in storage.list(layout.METADATA_FOLDER) for blob in page.blobs]
    numbered = [(version, blob) for blob in blobs if (version := layout.find_version(blob.name)) is not None]
    if not numbered:
        return None
    _, newest = max(numbered, key=lambda one: (one[0], one[1].time_ms, one[1].name))
    return f"{layout.METADATA_FOLDER}/{newest.name.rsplit('/', 1)[-1]}"
