"""The metadata tables of an Iceberg table, with the names, columns and types that Iceberg gives them.

| table | a row for |
|---|---|
| snapshots, history, refs | each snapshot, each time that one became current, each branch and tag |
| metadata_log_entries | each metadata file that is still listed, and the current one |
| manifests, all_manifests | each manifest of the snapshot; of every snapshot |
| entries, all_entries | each entry of these manifests, deleted ones too; each manifest counts once |
| files, data_files, delete_files, and each with all_ | each live entry |
| partitions | each partition with live files |
"""

from collections.abc import Callable, Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polynya.errors import InvalidInputError
from polynya.iceberg import bounds, manifest, manifest_list
from polynya.iceberg.metadata import MAIN, IcebergSnapshot
from polynya.iceberg.partition_spec import PartitionSpec
from polynya.table import iceberg_system_files as file_tables
from polynya.table.iceberg_entries import VOID, field_type, read_metas, spec_of
from polynya.table.iceberg_system_text import texts_of
from polynya.table.iceberg_table import IcebergRoot

TIME = pa.timestamp("us", "UTC")
_SNAPSHOTS = pa.schema(
    {
        "committed_at": TIME,
        "snapshot_id": pa.int64(),
        "parent_id": pa.int64(),
        "operation": pa.string(),
        "manifest_list": pa.string(),
        "summary": pa.map_(pa.string(), pa.string()),
    }
)
_HISTORY = pa.schema(
    {"made_current_at": TIME, "snapshot_id": pa.int64(), "parent_id": pa.int64(), "is_current_ancestor": pa.bool_()}
)
_REFS = pa.schema(
    {
        "name": pa.string(),
        "type": pa.string(),
        "snapshot_id": pa.int64(),
        "max_reference_age_in_ms": pa.int64(),
        "min_snapshots_to_keep": pa.int32(),
        "max_snapshot_age_in_ms": pa.int64(),
    }
)
_METADATA_LOG = pa.schema(
    {
        "timestamp": TIME,
        "file": pa.string(),
        "latest_snapshot_id": pa.int64(),
        "latest_schema_id": pa.int32(),
        "latest_sequence_number": pa.int64(),
    }
)
_SUMMARY = pa.struct(
    {
        "contains_null": pa.bool_(),
        "contains_nan": pa.bool_(),
        "lower_bound": pa.string(),
        "upper_bound": pa.string(),
    }
)
_COUNTS = ("added", "existing", "deleted")


def system_table(root: IcebergRoot, snapshot: IcebergSnapshot | None, name: str) -> pa.Table:
    """The metadata table of that name, as of the snapshot; InvalidInputError tells which ones there are."""
    whole = _WHOLE_TABLE.get(name)
    if whole is not None:
        return whole(root)
    one = _ONE_SNAPSHOT.get(name)
    if one is None:
        known = ", ".join((*_WHOLE_TABLE, *_ONE_SNAPSHOT))
        raise InvalidInputError(f"system table '{name}' does not exist for an Iceberg table; there are: {known}")
    return one(root, read_metas(root, snapshot))


def _snapshots(root: IcebergRoot) -> pa.Table:
    rows = [
        {
            "committed_at": _micros(one.timestamp_ms),
            "snapshot_id": one.snapshot_id,
            "parent_id": one.parent_snapshot_id,
            "operation": one.summary.get("operation"),
            "manifest_list": one.manifest_list,
            "summary": [(key, value) for key, value in one.summary.items() if key != "operation"],
        }
        for one in root.metadata.snapshots
    ]
    return pa.Table.from_pylist(rows, _SNAPSHOTS)


def _history(root: IcebergRoot) -> pa.Table:
    ancestors = set(_ancestor_ids(root))
    found = [(one.timestamp_ms, int(one.value)) for one in root.metadata.snapshot_log]
    parents = {one.snapshot_id: one.parent_snapshot_id for one in root.metadata.snapshots}
    rows = [
        {
            "made_current_at": _micros(time_ms),
            "snapshot_id": id,
            "parent_id": parents.get(id),
            "is_current_ancestor": id in ancestors,
        }
        for time_ms, id in found
    ]
    return pa.Table.from_pylist(rows, _HISTORY)


def _ancestor_ids(root: IcebergRoot) -> Iterable[int]:
    current = root.metadata.current_snapshot
    seen: set[int] = set()
    while current is not None and current.snapshot_id not in seen:
        seen.add(current.snapshot_id)
        yield current.snapshot_id
        current = root.metadata.find_snapshot(current.parent_snapshot_id)


def _refs(root: IcebergRoot) -> pa.Table:
    rows = [
        {
            "name": name,
            "type": ref.type.upper(),
            "snapshot_id": ref.snapshot_id,
            "max_reference_age_in_ms": ref.extra.get("max-ref-age-ms"),
            "min_snapshots_to_keep": ref.extra.get("min-snapshots-to-keep"),
            "max_snapshot_age_in_ms": ref.extra.get("max-snapshot-age-ms"),
        }
        for name, ref in root.metadata.refs.items()
    ]
    current = root.metadata.current_snapshot_id
    if current is not None and MAIN not in root.metadata.refs:
        rows.append(dict.fromkeys(_REFS.names) | {"name": MAIN, "type": "BRANCH", "snapshot_id": current})
    return pa.Table.from_pylist(rows, _REFS)


def _metadata_log(root: IcebergRoot) -> pa.Table:
    metadata = root.metadata
    place = f"{metadata.location}/{root.metadata_name}"
    files = [(one.timestamp_ms, str(one.value)) for one in metadata.metadata_log]
    rows = []
    for time_ms, file in (*files, (metadata.last_updated_ms, place)):
        before = [one.value for one in metadata.snapshot_log if one.timestamp_ms <= time_ms]
        latest = metadata.find_snapshot(int(before[-1])) if before else None
        rows.append(
            {
                "timestamp": _micros(time_ms),
                "file": file,
                "latest_snapshot_id": int(before[-1]) if before else None,
                "latest_schema_id": latest.schema_id if latest is not None else None,
                "latest_sequence_number": latest.sequence_number if latest is not None else None,
            }
        )
    return pa.Table.from_pylist(rows, _METADATA_LOG)


def _manifests(root: IcebergRoot, metas: pa.Table) -> pa.Table:
    is_data = pc.equal(metas["content"], manifest_list.DATA)
    zero = pa.scalar(0, pa.int32())
    columns = {
        "content": metas["content"],
        "path": metas["manifest_path"],
        "length": metas["manifest_length"],
        "partition_spec_id": metas["partition_spec_id"],
        "added_snapshot_id": metas["added_snapshot_id"],
    }
    for kind, own in (("data", is_data), ("delete", pc.invert(is_data))):
        columns |= {f"{one}_{kind}_files_count": pc.if_else(own, metas[f"{one}_files_count"], zero) for one in _COUNTS}
    return pa.table({**columns, "partition_summaries": _summaries(root, metas)})


def _summaries(root: IcebergRoot, metas: pa.Table) -> pa.Array:
    """The partition summaries with their bounds as text, spec by spec, in the order of the manifests."""
    spec_ids = metas["partition_spec_id"].to_numpy()
    parts, places = [pa.array([], pa.list_(_SUMMARY))], [np.zeros(0, np.int64)]
    for spec_id in np.unique(spec_ids).tolist():
        own = np.flatnonzero(spec_ids == spec_id)
        lists = metas["partitions"].take(pa.array(own)).combine_chunks()
        parts.append(_summary_texts(root, lists, spec_of(root, spec_id)))
        places.append(own)
    back = np.argsort(np.concatenate(places), kind="stable")
    return pa.concat_arrays(parts).take(pa.array(back))


def _summary_texts(root: IcebergRoot, lists: pa.ListArray, spec: PartitionSpec) -> pa.Array:
    whole = lists.flatten()
    ends = {name: pa.repeat(pa.scalar("null"), len(whole)) for name in ("lower_bound", "upper_bound")}
    start = pc.list_parent_indices(lists).to_numpy()
    place = np.arange(len(whole)) - np.searchsorted(start, start)
    for index, field in enumerate(spec.fields):
        own = pa.array(place == index)
        for name in ends if field.transform != VOID else ():
            stored = pc.if_else(own, pc.struct_field(whole, name), None)
            values = bounds.decode(stored, field_type(root, field), name=root.metadata_name)
            ends[name] = pc.if_else(own, texts_of(values, field, root.leaf_types), ends[name])
    flags = [pc.struct_field(whole, name) for name in ("contains_null", "contains_nan")]
    texts = pa.StructArray.from_arrays([*flags, *ends.values()], fields=list(_SUMMARY))
    offsets = pa.array(np.append(np.asarray(lists.offsets), 0)[: len(lists) + 1])
    return pa.ListArray.from_arrays(
        pc.subtract(offsets, offsets[0]), texts, type=pa.list_(_SUMMARY), mask=lists.is_null()
    )


def _every_meta(root: IcebergRoot) -> pa.Table:
    """The manifests of all snapshots, with the snapshot that lists each."""
    parts = [
        metas.append_column("reference_snapshot_id", pa.repeat(pa.scalar(one.snapshot_id), metas.num_rows))
        for one in root.metadata.snapshots
        for metas in [read_metas(root, one)]
    ]
    empty = manifest_list.empty().append_column("reference_snapshot_id", pa.array([], pa.int64()))
    return pa.concat_tables([empty, *parts])


def _each_meta_once(root: IcebergRoot) -> pa.Table:
    metas = _every_meta(root).drop_columns(["reference_snapshot_id"])
    codes = pc.index_in(metas["manifest_path"], pc.unique(metas["manifest_path"])).to_numpy()
    _, first = np.unique(codes, return_index=True)
    return metas.take(pa.array(np.sort(first)))


def _all_manifests(root: IcebergRoot) -> pa.Table:
    metas = _every_meta(root)
    return _manifests(root, metas).append_column("reference_snapshot_id", metas["reference_snapshot_id"])


def _micros(time_ms: int) -> int:
    return time_ms * 1000


_CONTENTS: dict[str, tuple[int, ...]] = {
    "files": (manifest.DATA, manifest.POSITION_DELETES, manifest.EQUALITY_DELETES),
    "data_files": (manifest.DATA,),
    "delete_files": (manifest.POSITION_DELETES, manifest.EQUALITY_DELETES),
}


def _files(contents: tuple[int, ...]) -> Callable[[IcebergRoot, pa.Table], pa.Table]:
    return lambda root, metas: file_tables.files(root, metas, contents)


def _all_files(contents: tuple[int, ...]) -> Callable[[IcebergRoot], pa.Table]:
    return lambda root: file_tables.files(root, _each_meta_once(root), contents)


_ONE_SNAPSHOT: dict[str, Callable[[IcebergRoot, pa.Table], pa.Table]] = {
    "manifests": _manifests,
    "entries": file_tables.entries,
    "partitions": file_tables.partitions,
    **{name: _files(contents) for name, contents in _CONTENTS.items()},
}
_WHOLE_TABLE: dict[str, Callable[[IcebergRoot], pa.Table]] = {
    "snapshots": _snapshots,
    "history": _history,
    "refs": _refs,
    "metadata_log_entries": _metadata_log,
    "all_manifests": _all_manifests,
    "all_entries": lambda root: file_tables.entries(root, _each_meta_once(root)),
    **{f"all_{name}": _all_files(contents) for name, contents in _CONTENTS.items()},
}
