"""Rewriting the manifests of an Iceberg table: fewer of them, each of neighbouring partitions.

Live entries stay as EXISTING, with the snapshot id, sequence numbers and row ids that they had or inherited. Manifests
of one spec and one content are written together, sorted by partition, at the size that the table asks for; where they
are as few as that already, they are left alone. The result is one snapshot more, of the same rows.

It is published as tables in a file system are: the next `v<N>.metadata.json` is created if nobody else was first, the
hint follows. Who was not first looks again.
"""

import gzip
import math
import secrets
import time
import uuid as uuids
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec.json_text import Json, render_flat
from polynya.errors import AlreadyExistsError, ConflictError, InvalidInputError, UnsupportedError
from polynya.iceberg import layout, manifest, manifest_list, metadata, partition_spec, type_json
from polynya.iceberg.manifest import Header
from polynya.iceberg.metadata import MAIN, IcebergSnapshot, LogEntry, Ref, TableMetadata
from polynya.iceberg.partition_spec import PartitionField, PartitionSpec
from polynya.iceberg.partition_values import PartitionColumn, column_name
from polynya.storage.reach import is_absolute
from polynya.table import iceberg_entries, iceberg_table
from polynya.table.iceberg_places import normal
from polynya.table.iceberg_table import IcebergRoot
from polynya.table.twin_manifests import with_row_ids
from polynya.table.twin_summary import SOURCE_KEY

TARGET_SIZE = "commit.manifest.target-size-bytes"
TARGET_SIZE_BYTES = 8 << 20
RETRIES = "commit.retry.num-retries"
METADATA_VERSIONS_MAX = "write.metadata.previous-versions-max"
METADATA_TRIMMED = "write.metadata.delete-after-commit.enabled"
METADATA_CODEC = "write.metadata.compression-codec"
METADATA_PATH = "write.metadata.path"
_TOTALS = "total-"


@dataclass(frozen=True)
class RewriteReport:
    """What rewriting manifests did, or in a dry run would do; `snapshot_id` is None where nothing was due."""

    manifest_count: int
    manifest_count_after: int
    entry_count: int
    size_bytes: int
    snapshot_id: int | None = None
    metadata_name: str | None = None


@dataclass(frozen=True)
class _Group:
    """The manifests of one spec and content that are written anew, as so many."""

    spec_id: int
    content: int
    metas: pa.Table
    count_after: int


@dataclass(frozen=True)
class _Made:
    """The files of one attempt."""

    names: list[str]
    metas: pa.Table
    entry_count: int


def rewrite_manifests(
    root: IcebergRoot, *, dry_run: bool = False, now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000
) -> RewriteReport:
    """Rewrite the manifests of the main branch where there are more than need be.

    UnsupportedError for a table of a catalog, whose metadata file only the catalog can replace; ConflictError when
    others commit faster.
    """
    if root.is_pinned:
        raise InvalidInputError(f"{root.metadata_name}: to rewrite manifests, open the table by its folder")
    attempts = 1 + _number(root.metadata, RETRIES, 4)
    for _ in range(attempts):
        root = iceberg_table.refresh(root)
        _require_ours(root)
        metas = iceberg_entries.read_metas(root, root.metadata.current_snapshot)
        groups = _due(root, metas)
        report = _planned(metas, groups)
        if dry_run or not groups:
            return report
        made = _written(root, metas, groups)
        try:
            return _published(root, metas, made, report, now_ms())
        except AlreadyExistsError as error:
            failure = error  # somebody committed in between: nobody refers to what was made, look again
            root.storage.delete(made.names)
    raise ConflictError(f"{root.storage.location}: others were first every time: {failure}")


def _require_ours(root: IcebergRoot) -> None:
    found = root.metadata
    place = f"{root.storage.location} is an Iceberg table"
    if layout.find_file_system_version(root.metadata_name) is None:
        raise UnsupportedError(
            f"{place} of a catalog ({root.metadata_name}): rewrite its manifests through the catalog"
        )
    if found.properties.get(METADATA_PATH, f"{found.location}/{layout.METADATA_FOLDER}").rstrip("/") != _folder(found):
        raise UnsupportedError(f"{place} with property '{METADATA_PATH}': manifests elsewhere are not rewritten")
    if found.extra.get("encryption-keys"):
        raise UnsupportedError(f"{place} with encryption keys: its manifests are not rewritten")
    current = found.current_snapshot
    if current is not None and SOURCE_KEY in current.summary:
        raise UnsupportedError(f"{place} that follows a Paimon table: compact the manifests of that one")
    if normal(found.location) not in root.places.homes:
        raise UnsupportedError(f"{place} apart from its location {found.location}: its manifests are not rewritten")


def _due(root: IcebergRoot, metas: pa.Table) -> list[_Group]:
    """The manifests to write anew, by spec and content."""
    target = _number(root.metadata, TARGET_SIZE, TARGET_SIZE_BYTES)
    groups = []
    places = metas.group_by(["partition_spec_id", "content"]).aggregate([]).to_pylist()
    for place in sorted(places, key=lambda one: (one["content"], one["partition_spec_id"])):
        spec_id, content = place["partition_spec_id"], place["content"]
        of = metas.filter(pc.and_(pc.equal(metas["partition_spec_id"], spec_id), pc.equal(metas["content"], content)))
        count = max(1, math.ceil((pc.sum(of["manifest_length"]).as_py() or 0) / max(1, target)))
        # Row ids are given out by counts, which manifests of version 1 may lack.
        is_unknown = root.metadata.format_version > 2 and of["added_rows_count"].null_count > 0
        if of.num_rows > count or is_unknown:
            groups.append(_Group(spec_id, content, of, count))
    return groups


def _planned(metas: pa.Table, groups: Sequence[_Group]) -> RewriteReport:
    old = sum(one.metas.num_rows for one in groups)
    counts = [one.metas[f"{kind}_files_count"] for one in groups for kind in ("added", "existing")]
    return RewriteReport(
        manifest_count=metas.num_rows,
        manifest_count_after=metas.num_rows - old + sum(one.count_after for one in groups),
        entry_count=sum(pc.sum(one).as_py() or 0 for one in counts),
        size_bytes=sum(pc.sum(one.metas["manifest_length"]).as_py() for one in groups),
    )


def _written(root: IcebergRoot, metas: pa.Table, groups: Sequence[_Group]) -> _Made:
    """Write the manifests of the groups; those of the others stay as they are."""
    uuid, entry_count = str(uuids.uuid4()), 0
    names: list[str] = []
    stale = [one.metas["manifest_path"].combine_chunks() for one in groups]
    kept = metas.filter(pc.invert(pc.is_in(metas["manifest_path"], value_set=pa.concat_arrays(stale))))
    rows = []
    for group in groups:
        partition = _partition(root, iceberg_entries.spec_of(root, group.spec_id))
        entries = _entries(root, group, partition)
        entry_count += entries.num_rows
        size = max(1, math.ceil(entries.num_rows / group.count_after))
        for start in range(0, entries.num_rows, size):
            name = layout.manifest_name(uuid, len(names))
            part = entries.slice(start, size).combine_chunks()
            rows.append(_write(root, name, part, partition, group))
            names.append(f"{layout.METADATA_FOLDER}/{name}")
    listed = pa.concat_tables([*rows, kept])
    order = pc.sort_indices(listed["content"].combine_chunks())
    return _Made(names, listed.take(order), entry_count)


def _entries(root: IcebergRoot, group: _Group, partition: Sequence[PartitionColumn]) -> pa.Table:
    """The live entries of the group in the order of their partitions, with all that they are told by the list."""
    schema = manifest.schema_of(partition)
    found = iceberg_entries.live(iceberg_entries.read_entries(root, group.metas, manifest.PLAIN_SCHEMA.names))
    columns = [
        found[one.name].cast(one.type) if one.name in found.column_names else pa.nulls(found.num_rows, one.type)
        for one in schema
    ]
    entries = pa.table(columns, schema=schema)
    status = pa.repeat(pa.scalar(manifest.EXISTING, pa.int32()), entries.num_rows)
    entries = entries.set_column(entries.schema.get_field_index("status"), "status", status)
    keys = [(column_name(one.field_id), "ascending") for one in partition if not pa.types.is_null(one.type)]
    return entries.take(pc.sort_indices(entries, keys)) if keys else entries


def _write(
    root: IcebergRoot, name: str, entries: pa.Table, partition: Sequence[PartitionColumn], group: _Group
) -> pa.Table:
    """Write one manifest, and return its row of the list but for what the snapshot tells."""
    found = root.metadata
    spec = iceberg_entries.spec_of(root, group.spec_id)
    schema = found.schema
    texts = render_flat(metadata.schema_json(schema)), render_flat(partition_spec.fields_to_json(spec.fields))
    header = Header(texts[0], schema.schema_id, texts[1], spec.spec_id, group.content)
    data = manifest.encode(entries, partition, header, found.format_version)
    root.storage.put(f"{layout.METADATA_FOLDER}/{name}", data)
    place = {
        "manifest_path": f"{_folder(found)}/{name}",
        "manifest_length": len(data),
        "partition_spec_id": spec.spec_id,
        "content": group.content,
    }
    return manifest.meta_of(entries, partition, place, 0, _sequence(found))


def _published(root: IcebergRoot, metas: pa.Table, made: _Made, report: RewriteReport, now_ms: int) -> RewriteReport:
    """Write the list and the metadata of the new snapshot; AlreadyExistsError when somebody else was first."""
    found, before = root.metadata, root.metadata.current_snapshot
    assert before is not None
    id = secrets.randbits(62) + 1
    is_new = pc.equal(made.metas["added_snapshot_id"], 0)
    listed = made.metas.set_column(
        made.metas.schema.get_field_index("added_snapshot_id"),
        "added_snapshot_id",
        pc.if_else(is_new, pa.scalar(id, pa.int64()), made.metas["added_snapshot_id"]),
    )
    first_row_id = found.next_row_id or 0
    next_row_id = first_row_id
    if found.format_version > 2:
        listed, next_row_id = with_row_ids(listed, first_row_id)
    keys = {"snapshot-id": str(id), "parent-snapshot-id": str(before.snapshot_id)}
    keys |= {"sequence-number": str(_sequence(found))} if found.format_version > 1 else {}
    name = f"snap-{id}-1-{uuids.uuid4()}.avro"
    root.storage.put(f"{layout.METADATA_FOLDER}/{name}", manifest_list.encode(listed, found.format_version, keys))
    made.names.append(f"{layout.METADATA_FOLDER}/{name}")
    is_lined = found.format_version > 2
    snapshot = IcebergSnapshot(
        snapshot_id=id,
        parent_snapshot_id=before.snapshot_id,
        sequence_number=_sequence(found),
        timestamp_ms=max(now_ms, found.last_updated_ms),
        manifest_list=f"{_folder(found)}/{name}",
        summary=_summary(before, metas, listed, made, id),
        schema_id=found.current_schema_id,
        first_row_id=first_row_id if is_lined else None,
        added_rows=next_row_id - first_row_id if is_lined else None,
    )
    version = _put(root, snapshot, next_row_id if is_lined else found.next_row_id)
    after = replace(report, manifest_count_after=listed.num_rows, entry_count=made.entry_count)
    return replace(after, snapshot_id=id, metadata_name=version)


def _put(root: IcebergRoot, snapshot: IcebergSnapshot, next_row_id: int | None) -> str:
    """Make the metadata with the snapshot current, and return the name of its file."""
    old = root.metadata
    version = layout.find_file_system_version(root.metadata_name)
    assert version is not None
    previous = LogEntry(old.last_updated_ms, f"{old.location}/{root.metadata_name}")
    log = (*old.metadata_log, previous)
    keep = max(1, _number(old, METADATA_VERSIONS_MAX, 100))
    main = old.refs.get(MAIN)
    made = replace(
        old,
        last_sequence_number=max(old.last_sequence_number, snapshot.sequence_number),
        last_updated_ms=snapshot.timestamp_ms,
        current_snapshot_id=snapshot.snapshot_id,
        snapshots=(*old.snapshots, snapshot),
        snapshot_log=(*old.snapshot_log, LogEntry(snapshot.timestamp_ms, snapshot.snapshot_id)),
        metadata_log=log[-keep:],
        refs={**old.refs, MAIN: Ref(snapshot.snapshot_id, "branch", main.extra if main is not None else {})},
        next_row_id=next_row_id,
    )
    is_gzip = old.properties.get(METADATA_CODEC, "none").lower() == "gzip"
    name = layout.gzip_metadata_name(version + 1) if is_gzip else layout.metadata_name(version + 1)
    data = metadata.encode(made)
    folder = layout.METADATA_FOLDER
    root.storage.put_new(f"{folder}/{name}", gzip.compress(data, mtime=0) if is_gzip else data)
    root.storage.put(f"{folder}/{layout.VERSION_HINT}", layout.encode_hint(version + 1))
    if old.properties.get(METADATA_TRIMMED, "false").lower() == "true":
        names = [root.name_of(str(one.value)) for one in log[:-keep]]
        root.storage.delete([one for one in names if not is_absolute(one)])
    return f"{folder}/{name}"


def _summary(before: IcebergSnapshot, metas: pa.Table, listed: pa.Table, made: _Made, id: int) -> dict[str, str]:
    created = pc.sum(pc.equal(listed["added_snapshot_id"], id)).as_py()
    kept = listed.num_rows - created
    counted = {
        "manifests-created": created,
        "manifests-kept": kept,
        "manifests-replaced": metas.num_rows - kept,
        "entries-processed": made.entry_count,
        "changed-partition-count": 0,
    }
    totals = {key: value for key, value in before.summary.items() if key.startswith(_TOTALS)}
    return {"operation": "replace", **{key: str(value) for key, value in counted.items()}, **totals}


def _partition(root: IcebergRoot, spec: PartitionSpec) -> tuple[PartitionColumn, ...]:
    """All fields of the spec with the types that manifests have, those without values too."""
    types = _types(root)
    return tuple(PartitionColumn(one.field_id, one.name, _field_type(one, types)) for one in spec.fields)


def _field_type(field: PartitionField, types: dict[int, Json]) -> pa.DataType:
    if not partition_spec.is_known(field.transform):
        raise UnsupportedError(f"partition transform '{field.transform}': its manifests are not rewritten")
    source = types.get(field.source_id)
    if source is None:
        return partition_spec.result_type(field.transform, pa.int32())  # the column was dropped, its values are null
    if source == "uuid" and field.transform == "identity":
        raise UnsupportedError(f"partition field '{field.name}': manifests with values of type uuid are not rewritten")
    return partition_spec.result_type(field.transform, type_json.to_arrow(source, name=f"column {field.source_id}"))


def _types(root: IcebergRoot) -> dict[int, Json]:
    """The types of all columns and struct members of any schema, as the current schema has them where it does."""
    found: dict[int, Json] = {}
    current = root.metadata.current_schema_id
    for schema in sorted(root.metadata.schemas, key=lambda one: (one.schema_id == current, one.schema_id)):
        _collect(schema.json, found)
    return found


def _collect(fields: Sequence[Json], found: dict[int, Json]) -> None:
    for one in fields:
        assert isinstance(one, dict)
        found[one["id"]] = one["type"]
        if isinstance(one["type"], dict) and one["type"]["type"] == "struct":
            _collect(one["type"]["fields"], found)


def _folder(found: TableMetadata) -> str:
    return f"{found.location}/{layout.METADATA_FOLDER}"


def _sequence(found: TableMetadata) -> int:
    """The sequence number of the next snapshot; version 1 counts none."""
    return found.last_sequence_number + 1 if found.format_version > 1 else 0


def _number(found: TableMetadata, key: str, usual: int) -> int:
    text = found.properties.get(key, "")
    return int(text) if text.isascii() and text.isdigit() else usual
