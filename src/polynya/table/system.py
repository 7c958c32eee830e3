"""System tables: what a table says about itself, as Arrow tables with Paimon's columns.

Those about data files are in `system_files`. Tables that hold rows (`ro`, `row_tracking`) are scans of the table and
not made here. Times are on the wall clock of this process, as creation times in manifests are on that of their writer.
"""

import difflib
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec.json_text import render, render_flat
from polynya.errors import InvalidInputError, NotFoundError, UnsupportedError
from polynya.model.schema import Schema
from polynya.paimon import consumer, layout, statistics, tag
from polynya.paimon.snapshot import Snapshot
from polynya.paimon.type_text import render_field, render_sql
from polynya.table import entries, history, system_files
from polynya.table.history import TableRoot
from polynya.table.paths import local_zone
from polynya.table.system_columns import arrow_schema, from_columns, from_rows
from polynya.table.system_files import SystemSource
from polynya.table.system_text import duration_text, hash_order, partition_texts, wall_clock

ROW_TABLES = ("ro", "row_tracking")
UNSUPPORTED = ("audit_log", "binlog")

Name = TypeVar("Name", str, int)
Value = TypeVar("Value")


def system_table(name: str, source: SystemSource) -> pa.Table:
    """The system table of that name, but for those that hold rows."""
    make = _TABLES.get(name)
    if make is not None:
        return make(source)
    if name in UNSUPPORTED:
        raise UnsupportedError(f"system table '{name}' is not supported; there are {', '.join(names())}")
    near = difflib.get_close_matches(name, names(), 1)
    hint = f"did you mean '{near[0]}'? " if near else ""
    raise InvalidInputError(f"system table '{name}' does not exist; {hint}there are {', '.join(names())}")


def names() -> tuple[str, ...]:
    """The names of all system tables that can be asked for."""
    return (*_TABLES, *ROW_TABLES)


def _snapshots(source: SystemSource) -> pa.Table:
    zone = local_zone()
    found = _read_all(history.snapshot_ids(source.root), lambda id: history.read_snapshot(source.root, id))
    return from_rows("snapshots", [_snapshot_row(one, wall_clock(one.time_ms, zone)) for one in found])


def _snapshot_row(one: Snapshot, time_ms: int) -> tuple[object, ...]:
    return (
        one.id,
        one.schema_id,
        one.commit_user,
        one.commit_identifier,
        one.commit_kind,
        time_ms,
        one.base_manifest_list,
        one.delta_manifest_list,
        one.changelog_manifest_list,
        one.total_record_count,
        one.delta_record_count,
        one.changelog_record_count,
        one.watermark,
        one.next_row_id,
        one.operation,
        one.writer_version,
    )


def _schemas(source: SystemSource) -> pa.Table:
    zone = local_zone()
    found = _read_all(history.schema_ids(source.root), lambda id: history.read_schema(source.root, id))
    return from_rows("schemas", [_schema_row(one, wall_clock(one.time_ms, zone)) for one in found])


def _schema_row(one: Schema, time_ms: int) -> tuple[object, ...]:
    return (
        one.id,
        render_flat([render_field(field) for field in one.fields]),
        render_flat(one.partition_by),
        render_flat(one.primary_key),
        render_flat(hash_order(one.options)),
        one.comment,
        time_ms,
    )


def _options(source: SystemSource) -> pa.Table:
    return from_rows("options", list(source.schema.options.items()))


def _manifests(source: SystemSource) -> pa.Table:
    if source.snapshot is None:
        return arrow_schema("manifests").empty_table()
    metas = entries.read_lists(source.root, source.snapshot.manifest_lists)
    fields, zone = source.schema.partition_fields, local_zone()
    plain = ("file_name", "file_size", "num_added_files", "num_deleted_files", "schema_id", "min_row_id", "max_row_id")
    texts = {f"{end}_partition_stats": partition_texts(metas[f"partition_stats_{end}"], fields, zone) for end in _ENDS}
    return from_columns("manifests", {name: metas[name] for name in plain} | texts)


_ENDS = ("min", "max")


def _table_indexes(source: SystemSource) -> pa.Table:
    found = entries.read_index(source.root, source.snapshot).combine_chunks()
    plain = ("bucket", "index_type", "file_name", "file_size", "row_count")
    described = found["global_index"].combine_chunks()
    members = {
        name: pc.struct_field(described, name) for name in ("row_range_start", "row_range_end", "index_field_id")
    }
    columns = {
        "partition": partition_texts(found["partition"], source.schema.partition_fields, local_zone()),
        **{name: found[name] for name in plain},
        "dv_ranges": _ranges(found["dv_ranges"].combine_chunks()),
        **members,
        "index_field_name": _field_names(members["index_field_id"], source.schema),
    }
    return from_columns("table_indexes", columns)


def _ranges(lists: pa.ListArray) -> pa.ListArray:
    """The ranges under the member names that Paimon shows."""
    type = arrow_schema("table_indexes").field("dv_ranges").type
    members = pa.StructArray.from_arrays(lists.values.flatten(), fields=list(type.value_type))
    # A null offset makes a null list.
    absent = np.append(lists.is_null().to_numpy(zero_copy_only=False), False)
    offsets = pa.array(lists.offsets.to_numpy(), pa.int32(), mask=absent)
    return pa.ListArray.from_arrays(offsets, members, type=type)


def _field_names(ids: pa.Array, schema: Schema) -> pa.Array:
    known = pa.array([field.id for field in schema.fields], pa.int32())
    return pa.array(schema.names, pa.string()).take(pc.index_in(ids, known))


def _tags(source: SystemSource) -> pa.Table:
    tags = history.tag_names(source.root)
    return from_rows("tags", _read_all(tags, lambda name: _tag_row(source.root, name)))


def _tag_row(root: TableRoot, name: str) -> tuple[object, ...]:
    file_name = layout.tag_name(name, root.branch)
    found = tag.decode(root.storage.read(file_name), name=file_name)
    kept = found.snapshot
    created = None if found.create_time_ns is None else found.create_time_ns // 10**6
    retained = None if found.time_retained_ns is None else duration_text(found.time_retained_ns)
    time_ms = wall_clock(kept.time_ms, local_zone())
    return name, kept.id, kept.schema_id, time_ms, kept.total_record_count, created, retained


def _branches(source: SystemSource) -> pa.Table:
    zone = local_zone()
    rows = []
    for name in history.branch_names(source.root):
        # Not every store keeps times of folders: the oldest file of a branch came with it.
        pages = source.root.storage.list(layout.branch_prefix(name).rstrip("/"), recursive=True)
        oldest = min((blob.time_ms for page in pages for blob in page.blobs), default=0)
        rows.append((name, wall_clock(oldest, zone)))
    return from_rows("branches", rows)


def _consumers(source: SystemSource) -> pa.Table:
    consumers = history.consumer_ids(source.root)
    return from_rows("consumers", _read_all(consumers, lambda id: (id, _next_snapshot(source.root, id))))


def _next_snapshot(root: TableRoot, id: str) -> int:
    file_name = layout.consumer_name(id, root.branch)
    return consumer.decode(root.storage.read(file_name), name=file_name).next_snapshot


def _aggregation_fields(source: SystemSource) -> pa.Table:
    rows = []
    for field in source.schema.fields:
        prefix = f"fields.{field.name}."
        found = {key: value for key, value in source.schema.options.items() if key.startswith(prefix)}
        functions, keys = (f"[{', '.join(texts)}]" for texts in (found.values(), found))
        rows.append((field.name, render_sql(field.type), functions, keys, field.description))
    return from_rows("aggregation_fields", rows)


def _statistics(source: SystemSource) -> pa.Table:
    name = source.snapshot.statistics if source.snapshot is not None else None
    if name is None:
        return arrow_schema("statistics").empty_table()
    path = layout.statistics_path(name)
    found = statistics.decode(source.root.storage.read(path), name=path)
    columns = render({column: statistics.column_json(known) for column, known in found.columns.items()})
    row = (found.snapshot_id, found.schema_id, found.merged_record_count, found.merged_record_size, columns)
    return from_rows("statistics", [row])


_TABLES: dict[str, Callable[[SystemSource], pa.Table]] = {
    "snapshots": _snapshots,
    "schemas": _schemas,
    "options": _options,
    "manifests": _manifests,
    "files": system_files.files,
    "file_key_ranges": system_files.file_key_ranges,
    "table_indexes": _table_indexes,
    "partitions": system_files.partitions,
    "buckets": system_files.buckets,
    "tags": _tags,
    "branches": _branches,
    "consumers": _consumers,
    "aggregation_fields": _aggregation_fields,
    "statistics": _statistics,
}


def _read_all(named: Iterable[Name], read: Callable[[Name], Value]) -> list[Value]:
    """What `read` gives for each name, several at once; names that vanish meanwhile are left out."""

    def read_if_there(name: Name) -> list[Value]:
        try:
            return [read(name)]
        except NotFoundError:
            return []  # an expiry or a delete came between the listing and this

    with ThreadPoolExecutor(thread_name_prefix="polynya-system") as pool:
        return [value for values in pool.map(read_if_there, named) for value in values]
