"""The system tables about data files: files, file_key_ranges, partitions, buckets.

They show the live files of a snapshot. Statistics are shown under today's columns: a file's own schema tells what its
statistics mean, columns are matched by id, values of a changed type are cast. Files are looked at in groups that share
schema, written columns and statistics columns; within a group everything is a column.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec import binary_rows
from polynya.errors import InvalidInputError, UnsupportedError
from polynya.model import partition
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_type
from polynya.model.options_keys import CLUSTERING_COLUMNS, PK_CLUSTERING_OVERRIDE
from polynya.model.schema import Schema
from polynya.paimon import layout, manifest, manifest_list
from polynya.paimon.snapshot import Snapshot
from polynya.table import entries, paths
from polynya.table.edit import vectors_by_file
from polynya.table.file_stats import FileGroup, element, groups, named_fields
from polynya.table.history import TableRoot
from polynya.table.system_columns import COLUMNS, from_columns
from polynya.table.system_text import key_texts, map_texts, partition_texts, plain_texts

Cast = Callable[[pa.Array], pa.Array]
FindCast = Callable[[t.DataType, t.DataType, str], Cast]

_SOURCES = pa.array(manifest.FILE_SOURCES)
_ENDING = r"(?P<ending>(?:\.[^.]+)?\.[^.]+)$"


@dataclass(frozen=True)
class SystemSource:
    """The state of a table that a system table shows; `schema_of` and `find_cast` tell what old files mean."""

    root: TableRoot
    schema: Schema
    snapshot: Snapshot | None
    schema_of: Callable[[int], Schema]
    find_cast: FindCast


def files(source: SystemSource) -> pa.Table:
    """One row for each data file."""
    live = _visible(entries.read_live(source.root, source.snapshot))
    return from_columns("files", _file_columns(live, source) | _value_columns(live, source))


def file_key_ranges(source: SystemSource) -> pa.Table:
    """One row for each data file, without its statistics."""
    live = _visible(entries.read_live(source.root, source.snapshot))
    columns = _file_columns(live, source)
    return from_columns("file_key_ranges", {name: columns[name] for name in COLUMNS["file_key_ranges"]})


def partitions(source: SystemSource) -> pa.Table:
    """One row for each partition that has files."""
    found = _summed(_visible(_signed_entries(source)), ["partition"])
    columns = {
        "partition": _partition_names(found["partition"].combine_chunks(), source.schema),
        **_counts(found),
        "total_buckets": found["total_buckets_last"],
        # Only a catalog that keeps partitions knows which of them are done.
        "done": pa.repeat(False, found.num_rows),
        "deleted_record_count": found["deleted_sum"],
    }
    return from_columns("partitions", columns)


def buckets(source: SystemSource) -> pa.Table:
    """One row for each bucket that has files, staged ones included."""
    found = _summed(_signed_entries(source), ["partition", "bucket"])
    texts = partition_texts(found["partition"], source.schema.partition_fields, paths.local_zone())
    return from_columns("buckets", {"partition": texts, "bucket": found["bucket"], **_counts(found)})


def _signed_entries(source: SystemSource) -> pa.Table:
    """Every entry of the snapshot with its counts, those of DELETE entries negative.

    Sums over them are those of the live files. The newest creation time is that of all entries: it also tells when
    files were replaced.
    """
    snapshot = source.snapshot
    metas = entries.read_metas(source.root, snapshot) if snapshot is not None else manifest_list.empty()
    found = entries.read_entries(source.root, metas, _COUNTED)
    is_added = pc.equal(found["kind"], entries.ADD)
    sign = pc.if_else(is_added, 1, -1).cast(pa.int64())
    vectors = vectors_by_file(entries.read_index(source.root, snapshot))
    deleted = vectors["cardinality"].take(pc.index_in(found["file_name"], vectors["file_name"]))
    signed = {
        "file_count": sign,
        "row_count": pc.multiply(sign, found["row_count"]),
        "file_size": pc.multiply(sign, found["file_size"]),
        "deleted": pc.multiply(sign, pc.fill_null(deleted, 0)),
        "total_buckets": pc.if_else(is_added, found["total_buckets"], pa.scalar(None, pa.int32())),
    }
    return pa.table({name: found[name] for name in ("partition", "bucket", "creation_time")} | signed)


def _summed(signed: pa.Table, by: list[str]) -> pa.Table:
    """The sums of each partition or bucket that has files, in the order of their first entries."""
    found = signed.group_by(by, use_threads=False).aggregate(_SUMS)
    return found.filter(pc.greater(found["file_count_sum"], 0))


_COUNTED = ("kind", "partition", "bucket", "total_buckets", "file_name", "file_size", "row_count", "creation_time")
_SUMS = [
    *((name, "sum") for name in ("file_count", "row_count", "file_size", "deleted")),
    ("creation_time", "max"),
    ("total_buckets", "last"),
]


def _counts(found: pa.Table) -> dict[str, pa.ChunkedArray]:
    return {
        "record_count": found["row_count_sum"],
        "file_size_in_bytes": found["file_size_sum"],
        "file_count": found["file_count_sum"],
        "last_update_time": found["creation_time_max"],
    }


def _visible(live: pa.Table) -> pa.Table:
    """The files without those that are staged for buckets to come."""
    return live.filter(pc.greater_equal(live["bucket"], 0))


def _partition_names(rows: pa.Array, schema: Schema) -> pa.Array:
    """Partitions as `column=value/...`: values as SQL casts them, null and blank ones by the default name."""
    fields, names = schema.partition_fields, replace(paths.partition_names(schema), legacy=False)
    if not fields:
        return pa.repeat("", len(rows))
    types = [to_arrow_type(field.type) for field in fields]
    columns = binary_rows.decode_rows(rows, types, name="partition of a manifest entry")
    parts: list[pa.Array | str] = []
    for field, column in zip(fields, columns, strict=True):
        parts += [f"{'/' if parts else ''}{field.name}=", partition.value_texts(column, field.type, names)]
    return pc.binary_join_element_wise(*parts, "")


def _file_columns(live: pa.Table, source: SystemSource) -> dict[str, pa.Array | pa.ChunkedArray]:
    """All columns of `files` that need no value statistics."""
    schema = source.schema
    return {
        "partition": partition_texts(live["partition"], schema.partition_fields, paths.local_zone()),
        "bucket": live["bucket"],
        "file_path": _absolute(paths.data_paths(live, schema), live["external_path"], source.root.storage.location),
        "file_format": _formats(live["file_name"]),
        "schema_id": live["schema_id"],
        "level": live["level"],
        "record_count": live["row_count"],
        "file_size_in_bytes": live["file_size"],
        "min_key": _keys(live, "min_key", source),
        "max_key": _keys(live, "max_key", source),
        "min_sequence_number": live["min_sequence_number"],
        "max_sequence_number": live["max_sequence_number"],
        "creation_time": live["creation_time"],
        "deleteRowCount": live["delete_row_count"],
        "file_source": _SOURCES.take(live["file_source"].combine_chunks()),
        "first_row_id": live["first_row_id"],
        "write_cols": live["write_cols"],
    }


def _absolute(relative: pa.Array, external: pa.ChunkedArray, location: str) -> pa.Array:
    inside = pc.binary_join_element_wise(location, relative, "/")
    return pc.coalesce(external.combine_chunks(), inside)


def _formats(names: pa.ChunkedArray) -> pa.Array:
    """The format of each file; one name is taken apart for each distinct ending."""
    endings = pc.struct_field(pc.extract_regex(names.combine_chunks(), _ENDING), "ending")
    codes = pc.fill_null(endings, "").dictionary_encode()
    _, firsts = np.unique(codes.indices.to_numpy(), return_index=True)
    formats = [layout.format_of(name) for name in names.take(pa.array(firsts)).to_pylist()]
    return pa.array(formats, pa.string()).take(codes.indices)


def _keys(live: pa.Table, column: str, source: SystemSource) -> pa.Array:
    """The keys as texts; null in a table without a primary key."""
    if not source.schema.primary_key:
        return pa.nulls(live.num_rows, pa.string())
    ids = live["schema_id"].to_numpy()
    parts = []
    for id in np.unique(ids).tolist():
        rows = np.flatnonzero(ids == id)
        fields = _key_fields(source.schema_of(id))
        parts.append((rows, key_texts(live[column].take(pa.array(rows)), fields)))
    return _scattered(parts, live.num_rows)


def _key_fields(schema: Schema) -> tuple[t.Field, ...]:
    """What `min_key` and `max_key` of files of this schema hold."""
    if PK_CLUSTERING_OVERRIDE.of(schema.options):
        return schema.select(CLUSTERING_COLUMNS.find(schema.options) or schema.trimmed_primary_key)
    return schema.key_fields


def _value_columns(live: pa.Table, source: SystemSource) -> dict[str, pa.Array]:
    """The three texts of value statistics."""
    codes, examples = groups(live)
    shown: dict[str, list[tuple[npt.NDArray[np.int64], pa.Array]]] = {name: [] for name in _VALUE_TEXTS}
    for code, example in enumerate(examples):
        rows = np.flatnonzero(codes == code)
        group = _StatsGroup.of(live.select(_STATS_COLUMNS).take(pa.array(rows)), example, source)
        for name, end in _VALUE_TEXTS.items():
            texts = {field.name: group.texts(field, end) for field in source.schema.fields}
            shown[name].append((rows, map_texts(texts, len(rows))))
    return {name: _scattered(parts, live.num_rows) for name, parts in shown.items()}


_STATS_COLUMNS = ["row_count", "value_stats_min", "value_stats_max", "value_stats_null_counts"]
_VALUE_TEXTS = {"null_value_counts": "null_counts", "min_value_stats": "min", "max_value_stats": "max"}


@dataclass(frozen=True)
class _StatsGroup:
    """Files with the same columns: those that were written, and those that have statistics."""

    files: pa.Table
    written: tuple[t.Field, ...]
    with_stats: tuple[t.Field, ...]
    find_cast: FindCast

    @classmethod
    def of(cls, files: pa.Table, example: FileGroup, source: SystemSource) -> "_StatsGroup":
        schema = source.schema_of(example.schema_id)
        written = named_fields(schema, example.write_cols) or schema.fields
        listed = named_fields(schema, example.value_stats_cols)
        return cls(files, written, written if listed is None else listed, source.find_cast)

    def texts(self, field: t.Field, end: str) -> pa.Array:
        """One statistic of one of today's columns for every file; null where it is not known."""
        if all(written.id != field.id for written in self.written):
            rows = self.files["row_count"].combine_chunks()
            return rows.cast(pa.string()) if end == "null_counts" else self._unknown
        index = next((at for at, stored in enumerate(self.with_stats) if stored.id == field.id), None)
        if index is None:
            return self._unknown
        if end == "null_counts":
            counts = self.files["value_stats_null_counts"].combine_chunks()
            return element(counts, index, len(self.with_stats)).cast(pa.string())
        return self._bound_texts(index, field, end)

    def _bound_texts(self, index: int, field: t.Field, end: str) -> pa.Array:
        stored, bounds = self.with_stats[index], self._bounds[end].get(index)
        if bounds is None:
            return self._unknown
        if stored.type.with_nullable(True) != field.type.with_nullable(True):
            try:
                bounds = self.find_cast(stored.type, field.type, field.name)(bounds)
            except (InvalidInputError, UnsupportedError):
                return self._unknown  # a bound that today's type cannot hold tells nothing
        return plain_texts(bounds, field.type)

    @cached_property
    def _bounds(self) -> dict[str, dict[int, pa.Array]]:
        """The least and greatest values by the place of their column, but for types that have none."""
        plain = [
            at for at, one in enumerate(self.with_stats) if not (t.is_nested(one.type) or isinstance(one.type, t.Blob))
        ]
        return {end: self._decoded(f"value_stats_{end}", plain) for end in ("min", "max")}

    def _decoded(self, column: str, indexes: Sequence[int]) -> dict[int, pa.Array]:
        rows, types = self.files[column], [to_arrow_type(one.type) for one in self.with_stats]
        try:
            found = binary_rows.decode_rows(rows, types, name="statistics of a manifest", indexes=indexes)
        except UnsupportedError:  # a time that Arrow cannot hold: do without that column
            halves = () if len(indexes) <= 1 else (indexes[: len(indexes) // 2], indexes[len(indexes) // 2 :])
            return {at: array for half in halves for at, array in self._decoded(column, half).items()}
        return dict(zip(indexes, found, strict=True))

    @property
    def _unknown(self) -> pa.Array:
        return pa.nulls(self.files.num_rows, pa.string())


def _scattered(parts: Sequence[tuple[npt.NDArray[np.int64], pa.Array]], row_count: int) -> pa.Array:
    """The texts of groups, each with the rows it stands in, in the order of the rows."""
    if not parts:
        return pa.nulls(row_count, pa.string())
    order = np.argsort(np.concatenate([rows for rows, _ in parts]), kind="stable")
    return pa.chunked_array([texts for _, texts in parts], pa.string()).take(pa.array(order)).combine_chunks()
