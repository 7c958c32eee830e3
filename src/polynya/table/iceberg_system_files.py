"""The metadata tables of files: entries, files and partitions of manifests."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec.json_text import Json
from polynya.iceberg import bounds, manifest, type_json
from polynya.iceberg.partition_spec import PartitionField
from polynya.iceberg.partition_values import column_name
from polynya.model.arrow_types import to_arrow_type
from polynya.table.iceberg_entries import VOID, all_specs, field_type, live, partition_keys, read_entries
from polynya.table.iceberg_prune import by_key
from polynya.table.iceberg_table import IcebergRoot

_MAPS = (
    "column_sizes",
    "value_counts",
    "null_value_counts",
    "nan_value_counts",
    "lower_bounds",
    "upper_bounds",
)
_BEFORE_PARTITION = ("content", "file_path", "file_format", "spec_id")
_AFTER_PARTITION = (
    "record_count",
    "file_size_in_bytes",
    *_MAPS,
    "key_metadata",
    "split_offsets",
    "equality_ids",
    "sort_order_id",
    "first_row_id",
    "referenced_data_file",
    "content_offset",
    "content_size_in_bytes",
)
_METRICS = {
    "column_size": "column_sizes",
    "value_count": "value_counts",
    "null_value_count": "null_value_counts",
    "nan_value_count": "nan_value_counts",
}
_DELETES = {"position": manifest.POSITION_DELETES, "equality": manifest.EQUALITY_DELETES}


def entries(root: IcebergRoot, metas: pa.Table) -> pa.Table:
    """Every entry, with its file as a struct."""
    found = _read(root, metas)
    files = _files(root, found)
    data_file = pa.StructArray.from_arrays(
        [files[name].combine_chunks() for name in files.column_names], files.column_names
    )
    plain = found.select(["status", "snapshot_id", "sequence_number", "file_sequence_number"])
    return plain.append_column("data_file", data_file).append_column("readable_metrics", _readable(root, found))


def files(root: IcebergRoot, metas: pa.Table, contents: Sequence[int]) -> pa.Table:
    """The live files of these contents."""
    found = live(_read(root, metas))
    found = found.filter(pc.is_in(found["content"], pa.array(contents, pa.int32())))
    return _files(root, found).append_column("readable_metrics", _readable(root, found))


def partitions(root: IcebergRoot, metas: pa.Table) -> pa.Table:
    """Every partition with what its live files add up to; one row for all where there are none."""
    found = live(read_entries(root, metas))
    _, first, group = np.unique(partition_keys(root, found), return_index=True, return_inverse=True)
    totals = _totals(found, group, len(first))
    latest, updated = _last_updates(root, found, group, len(first))
    partition = _partition(root, found)
    columns: dict[str, pa.Array] = {}
    if partition is not None:
        columns["partition"] = partition.take(pa.array(first))
        columns["spec_id"] = found["spec_id"].take(pa.array(first))
    snapshots = found["snapshot_id"].combine_chunks()
    columns |= totals | {
        "last_updated_at": updated,
        "last_updated_snapshot_id": snapshots.take(pa.array(latest, mask=latest < 0)),
    }
    return pa.table(columns)


def partition_fields(root: IcebergRoot) -> list[PartitionField]:
    """The partition fields of all specs by id: as the newest spec has them in which they are not void."""
    found: dict[int, PartitionField] = {}
    for spec in sorted(all_specs(root), key=lambda one: one.spec_id):
        for field in spec.fields:
            if field.transform != VOID or field.field_id not in found:
                found[field.field_id] = field
    return [found[id] for id in sorted(found)]


def _read(root: IcebergRoot, metas: pa.Table) -> pa.Table:
    return read_entries(root, metas, [name for name in _AFTER_PARTITION if name in manifest.PLAIN_SCHEMA.names])


def _files(root: IcebergRoot, found: pa.Table) -> pa.Table:
    columns: dict[str, pa.Array | pa.ChunkedArray] = {name: found[name] for name in _BEFORE_PARTITION}
    partition = _partition(root, found)
    if partition is not None:
        columns["partition"] = partition
    columns |= {name: _map(found[name]) if name in _MAPS else found[name] for name in _AFTER_PARTITION}
    return pa.table(columns)


def _partition(root: IcebergRoot, found: pa.Table) -> pa.StructArray | None:
    """The partition of each entry as a struct of the fields of all specs; None for a table that has none."""
    fields = partition_fields(root)
    if not fields:
        return None
    columns = [
        found[column_name(one.field_id)].combine_chunks()
        if column_name(one.field_id) in found.column_names
        else pa.nulls(found.num_rows, field_type(root, one))
        for one in fields
    ]
    return pa.StructArray.from_arrays(columns, [one.name for one in fields])


def _map(pairs: pa.ChunkedArray) -> pa.MapArray:
    """Pairs as a map."""
    flat = pairs.combine_chunks()
    values = flat.values
    offsets = np.asarray(flat.offsets)
    starts = pa.array(offsets, pa.int32(), mask=np.append(np.asarray(flat.is_null()), False))
    return pa.MapArray.from_arrays(starts, values.field("key"), values.field("value"))


def _readable(root: IcebergRoot, found: pa.Table) -> pa.StructArray:
    """The metrics of every leaf column by its name, bounds in the column's own type."""
    columns = {
        name: _metrics(found, id, _leaf_type(type, root.metadata_name), root.metadata_name)
        for name, id, type in sorted(type_json.leaves(root.metadata.schema.json))
    }
    if not columns:
        return pa.array([{}] * found.num_rows, pa.struct([]))
    return pa.StructArray.from_arrays(list(columns.values()), list(columns))


def _metrics(found: pa.Table, id: int, type: pa.DataType, name: str) -> pa.StructArray:
    counts = {metric: by_key(found[column], id) for metric, column in _METRICS.items()}
    ends = {
        f"{end}_bound": bounds.decode(by_key(found[f"{end}_bounds"], id), type, name=name)
        if _has_bounds(type)
        else pa.nulls(found.num_rows, type)
        for end in ("lower", "upper")
    }
    return pa.StructArray.from_arrays([*counts.values(), *ends.values()], [*counts, *ends])


def _leaf_type(type: Json, name: str) -> pa.DataType:
    return to_arrow_type(type_json.to_model(type, required=False, name=name))


def _has_bounds(type: pa.DataType) -> bool:
    return not pa.types.is_null(type) and not pa.types.is_nested(type)


def _totals(found: pa.Table, group: np.ndarray, count: int) -> dict[str, pa.Array]:
    content, rows = found["content"].to_numpy(), found["record_count"].to_numpy()
    sizes = found["file_size_in_bytes"].to_numpy()

    def total(values: np.ndarray, type: pa.DataType) -> pa.Array:
        sums = np.zeros(count, np.int64)
        np.add.at(sums, group, values)
        return pa.array(sums, type)

    is_data = content == manifest.DATA
    found_totals = {
        "record_count": total(np.where(is_data, rows, 0), pa.int64()),
        "file_count": total(is_data, pa.int32()),
        "total_data_file_size_in_bytes": total(np.where(is_data, sizes, 0), pa.int64()),
    }
    for name, kind in _DELETES.items():
        found_totals[f"{name}_delete_record_count"] = total(np.where(content == kind, rows, 0), pa.int64())
        found_totals[f"{name}_delete_file_count"] = total(content == kind, pa.int32())
    return found_totals


def _last_updates(root: IcebergRoot, found: pa.Table, group: np.ndarray, count: int) -> tuple[np.ndarray, pa.Array]:
    """Of each group the entry of the latest snapshot that is still there (-1: none), and the time of that."""
    times = {one.snapshot_id: one.timestamp_ms for one in root.metadata.snapshots}
    known = pa.array(list(times), pa.int64())
    at = pc.index_in(found["snapshot_id"], known)
    time_ms = pc.fill_null(pa.array(list(times.values()), pa.int64()).take(at), -1).to_numpy()
    order = np.lexsort((-np.arange(len(group)), time_ms, group))
    latest = np.full(count, -1, np.int64)
    latest[group[order]] = order
    latest[(time_ms[latest] if len(group) else latest) < 0] = -1
    micros = np.where(latest >= 0, time_ms[latest] if len(group) else 0, 0) * 1000
    return latest, pa.array(micros, pa.int64(), mask=latest < 0).cast(pa.timestamp("us", "UTC"))
