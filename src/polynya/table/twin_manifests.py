"""The manifests of one Iceberg snapshot: those of the snapshot before, less what is gone, plus what is new.

Only manifests that hold a removed file are rewritten: the files that stay become EXISTING with what they inherited,
the removed ones DELETED. Small manifests are merged when there are enough of them. All others are reused as they are.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from polynya.codec.avro import AvroSource, Decoded
from polynya.codec.bitmap import Bitmap
from polynya.codec.deletion_vector import encode_vector, widened
from polynya.errors import InvalidInputError
from polynya.iceberg import bounds, layout, manifest, manifest_list, position_delete, puffin
from polynya.iceberg.manifest import DELETED, EXISTING, Header
from polynya.iceberg.partition_values import PartitionColumn, column_name
from polynya.storage.protocol import Storage
from polynya.table.twin_files import entry_table

ENTRIES_MAX = 5_000  # of a new manifest: a removal rewrites that many
PLACES_MAX = 1_000  # so many partitions of removed files are looked for in the summaries of manifests

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class MergeRules:
    """When small manifests are merged."""

    count_min: int
    count_max: int
    target_size_bytes: int

    def candidates(self, metas: pa.Table) -> pa.Table:
        """The manifests to merge, those well below what is written at most; none when it is not worth while."""
        entries = pc.add(metas["added_files_count"], metas["existing_files_count"])
        is_small = pc.and_(
            pc.less(metas["manifest_length"], self.target_size_bytes * 2 // 3),
            pc.less(pc.fill_null(entries, 0), ENTRIES_MAX * 2 // 3),
        )
        small = metas.filter(is_small)
        size, count = (pc.sum(one.filter(is_small)).as_py() or 0 for one in (metas["manifest_length"], entries))
        due = small.num_rows >= self.count_max or size >= self.target_size_bytes or count >= ENTRIES_MAX
        return small if small.num_rows >= max(2, self.count_min) and due else small.slice(0, 0)


@dataclass(frozen=True)
class TwinFolder:
    """Where Iceberg metadata is, and how its files are written."""

    storage: Storage
    url: str
    version: int
    codec: str
    legacy_names: bool
    merge: MergeRules

    def read(self, location: str, size_bytes: int | None = None) -> AvroSource:
        """A file of the folder, by its location."""
        return AvroSource(location, self.storage.read(self.name_of(location)), size_bytes=size_bytes)

    def name_of(self, location: str) -> str:
        """The name in the folder of a location; InvalidInputError for one that is elsewhere."""
        prefix = f"{self.url}/"
        if not location.startswith(prefix) or "/" in location[len(prefix) :]:
            raise InvalidInputError(f"'{location}': expected a file in {self.url}")
        return location[len(prefix) :]


@dataclass(frozen=True)
class Change:
    """What one snapshot changes: data files by their entries, hidden rows by data file.

    `marked` has a row for each data file whose hidden rows are new or have changed, with its location and partition,
    and `positions` are those rows, in the same order. `unmarked` and `removed` are locations of data files.
    """

    added: pa.Table
    removed: pa.Table
    marked: pa.Table
    positions: Sequence[Bitmap] = ()
    unmarked: pa.Array = field(default_factory=lambda: pa.array([], pa.string()))


@dataclass(frozen=True)
class Counts:
    """How many files, rows and bytes of one kind."""

    files: int = 0
    rows: int = 0
    size_bytes: int = 0


@dataclass(frozen=True)
class Edition:
    """The manifests of a snapshot, and what they changed."""

    metas: pa.Table
    added: Counts
    removed: Counts
    added_deletes: Counts
    removed_deletes: Counts
    changed_partition_count: int


class ManifestWriter:
    """Makes the manifests of one snapshot."""

    def __init__(
        self,
        folder: TwinFolder,
        partition: Sequence[PartitionColumn],
        header: Callable[[int], Header],
        snapshot_id: int,
        uuid: str,
    ) -> None:
        self.folder, self.partition, self.header, self.snapshot_id = folder, tuple(partition), header, snapshot_id
        self.uuid = uuid
        self._number = 0

    def edit(self, base: pa.Table, change: Change) -> Edition:
        """The manifests after the change to those of the base."""
        alive = pc.or_(
            *(pc.fill_null(pc.not_equal(base[f"{kind}_files_count"], 0), True) for kind in ("added", "existing"))
        )
        base = base.filter(alive)
        is_data = pc.equal(base["content"], manifest_list.DATA)
        data, gone = self._without(base.filter(is_data), change.removed["file_path"], "file_path", change.removed)
        stale = pa.chunked_array([*change.marked["file_path"].chunks, change.unmarked], pa.string())
        deletes, gone_deletes = self._without(base.filter(pc.invert(is_data)), stale, "referenced_data_file", None)
        new_deletes = self._delete_entries(change)
        metas = pa.concat_tables(
            [
                self._write(change.added, manifest_list.DATA),
                self._merged(data, manifest_list.DATA),
                self._write(new_deletes, manifest_list.DELETES),
                self._merged(deletes, manifest_list.DELETES),
            ]
        )
        touched = pa.concat_tables(
            [table.select(self._places) for table in (change.added, gone, new_deletes, gone_deletes)]
        )
        partitions = touched.group_by(self._places).aggregate([]).num_rows if self._places else bool(touched.num_rows)
        added, removed, marks, unmarks = (_counts(one) for one in (change.added, gone, new_deletes, gone_deletes))
        return Edition(metas, added, removed, marks, unmarks, int(partitions))

    def write_list(self, metas: pa.Table, header: Mapping[str, str]) -> str:
        """Write the manifest list and return its location."""
        folder = self.folder
        data = manifest_list.encode(metas, folder.version, header, folder.codec, legacy_names=folder.legacy_names)
        name = layout.manifest_list_name(self.uuid, 1)
        folder.storage.put(name, data)
        return f"{folder.url}/{name}"

    @property
    def _places(self) -> list[str]:
        return [column_name(one.field_id) for one in self.partition] or ["content"]

    def _without(
        self, metas: pa.Table, paths: pa.ChunkedArray, key: str, partitions: pa.Table | None
    ) -> tuple[pa.Table, pa.Table]:
        """The manifests with those rewritten that hold one of the paths, and the entries that left."""
        none = manifest.schema_of(self.partition).empty_table()
        if not len(paths) or not metas.num_rows:
            return metas, none
        wanted = pc.unique(paths)
        near = np.flatnonzero(
            np.ones(metas.num_rows, bool) if partitions is None else self._may_hold(metas, partitions)
        )
        if not len(near):
            return metas, none
        found = self._read(metas.take(pa.array(near)), [key])
        live = pc.not_equal(found.table["status"], DELETED)
        hits = pc.and_(live, pc.fill_null(pc.is_in(found.table[key], value_set=wanted), False)).to_numpy()
        touched = near[np.unique(np.searchsorted(found.row_ends, np.flatnonzero(hits), side="right"))]
        if not len(touched):
            return metas, none
        kept = metas.take(pa.array(np.setdiff1d(np.arange(metas.num_rows), touched)))
        entries = self._live(metas.take(pa.array(touched)))
        leaves = pc.fill_null(pc.is_in(entries[key], value_set=wanted), False)
        gone = self._with(entries.filter(leaves), status=DELETED, snapshot_id=self.snapshot_id)
        survivors = self._with(entries.filter(pc.invert(leaves)), status=EXISTING)
        content = metas["content"][0].as_py()
        return pa.concat_tables([self._write(pa.concat_tables([survivors, gone]), content), kept]), gone

    def _may_hold(self, metas: pa.Table, files: pa.Table) -> Mask:
        """Which manifests have partition summaries that leave room for one of the files."""
        if not self.partition:
            return np.ones(metas.num_rows, bool)
        places = files.group_by(self._places).aggregate([])
        is_told = pc.fill_null(pc.equal(pc.list_value_length(metas["partitions"]), len(self.partition)), False)
        told = metas.filter(is_told)
        if not told.num_rows or places.num_rows > PLACES_MAX:
            return np.ones(metas.num_rows, bool)
        ranges = [self._range(told, index) for index in range(len(self.partition))]
        fits = np.zeros(told.num_rows, bool)
        for place in range(places.num_rows):
            values = [places[name][place] for name in self._places]
            fits |= np.all([_is_within(*pair) for pair in zip(values, ranges, strict=True)], axis=0)
        holds = np.ones(metas.num_rows, bool)
        holds[np.asarray(is_told)] = fits
        return holds

    def _range(self, metas: pa.Table, index: int) -> tuple[pa.Array, pa.Array]:
        """The bounds of a partition field in each manifest."""
        summaries = pc.list_element(metas["partitions"].combine_chunks(), index)
        low, high = (pc.struct_field(summaries, name) for name in ("lower_bound", "upper_bound"))
        type, name = self.partition[index].type, f"a manifest list of {self.folder.url}"
        return bounds.decode(low, type, name=name), bounds.decode(high, type, name=name)

    def _merged(self, metas: pa.Table, content: int) -> pa.Table:
        """The manifests with the small ones of older snapshots merged, where that is due."""
        old = metas.filter(pc.not_equal(metas["added_snapshot_id"], self.snapshot_id))
        small = self.folder.merge.candidates(old)
        if not small.num_rows:
            return metas
        rest = metas.filter(pc.invert(pc.is_in(metas["manifest_path"], value_set=pc.unique(small["manifest_path"]))))
        together = self._write(self._with(self._live(small), status=EXISTING), content)
        return pa.concat_tables([rest, together])

    def _read(self, metas: pa.Table, columns: Sequence[str] | None) -> Decoded:
        places = zip(metas["manifest_path"].to_pylist(), metas["manifest_length"].to_pylist(), strict=True)
        sources = [self.folder.read(path, size) for path, size in places]
        return manifest.decode(sources, self.partition if columns is None else (), columns)

    def _live(self, metas: pa.Table) -> pa.Table:
        entries = manifest.inherit(self._read(metas, None), metas)
        return entries.filter(pc.not_equal(entries["status"], DELETED))

    def _with(self, entries: pa.Table, **values: int) -> pa.Table:
        for name, value in values.items():
            index = entries.schema.get_field_index(name)
            type = entries.schema.field(index).type
            entries = entries.set_column(index, name, pa.repeat(pa.scalar(value, type), entries.num_rows))
        return entries

    def _write(self, entries: pa.Table, content: int) -> pa.Table:
        """Write manifests of the entries and return their rows for the list; each has neighbouring partitions."""
        rows = [manifest_list.empty()]
        if entries.num_rows > ENTRIES_MAX and self.partition:
            entries = entries.take(pc.sort_indices(entries, [(name, "ascending") for name in self._places]))
        for start in range(0, entries.num_rows, ENTRIES_MAX):
            part = self._told(entries.slice(start, ENTRIES_MAX)).combine_chunks()
            header = self.header(content)
            data = manifest.encode(part, self.partition, header, self.folder.version, self.folder.codec)
            self._number += 1
            name = layout.manifest_name(self.uuid, self._number)
            self.folder.storage.put(name, data)
            place = {
                "manifest_path": f"{self.folder.url}/{name}",
                "manifest_length": len(data),
                "partition_spec_id": header.partition_spec_id,
                "content": content,
            }
            rows.append(manifest.meta_of(part, self.partition, place, self.snapshot_id, self.snapshot_id))
        return pa.concat_tables(rows)

    def _told(self, entries: pa.Table) -> pa.Table:
        """The entries with what new ones could inherit; Paimon, which may go on with the twin, reads no null there."""
        own = pa.scalar(self.snapshot_id, pa.int64())
        for name in ("snapshot_id", "sequence_number", "file_sequence_number"):
            index = entries.schema.get_field_index(name)
            entries = entries.set_column(index, name, pc.fill_null(entries[name], own))
        return entries

    def _delete_entries(self, change: Change) -> pa.Table:
        """Write the hidden rows, and return the entries of the files that hold them."""
        count = change.marked.num_rows
        if not count:
            return manifest.schema_of(self.partition).empty_table()
        written = self._write_vectors(change) if self.folder.version > 2 else self._write_positions(change)
        known: dict[str, object] = {
            "status": pa.repeat(pa.scalar(manifest.ADDED, pa.int32()), count),
            "content": pa.repeat(pa.scalar(manifest.POSITION_DELETES, pa.int32()), count),
            "record_count": pa.array([len(one) for one in change.positions], pa.int64()),
            "referenced_data_file": change.marked["file_path"],
            **{name: change.marked[name] for name in change.marked.column_names if name.startswith("partition_")},
            **written,
        }
        return entry_table(known, count, self.partition)

    def _write_vectors(self, change: Change) -> dict[str, object]:
        paths = change.marked["file_path"].to_pylist()
        wide = [one if isinstance(one, BitMap64) else widened(one) for one in change.positions]
        described = [puffin.deletion_vector_blob(path, len(one)) for path, one in zip(paths, wide, strict=True)]
        data, blobs = puffin.encode([(blob, encode_vector(one)[0]) for blob, one in zip(described, wide, strict=True)])
        name = layout.puffin_name(self.uuid)
        self.folder.storage.put(name, data)
        return {
            "file_path": pa.repeat(pa.scalar(f"{self.folder.url}/{name}"), len(blobs)),
            "file_format": pa.repeat(pa.scalar("PUFFIN"), len(blobs)),
            "file_size_in_bytes": pa.repeat(pa.scalar(len(data), pa.int64()), len(blobs)),
            "content_offset": pa.array([blob.offset for blob in blobs], pa.int64()),
            "content_size_in_bytes": pa.array([blob.length for blob in blobs], pa.int64()),
        }

    def _write_positions(self, change: Change) -> dict[str, object]:
        rows = []
        for number, (path, positions) in enumerate(
            zip(change.marked["file_path"].to_pylist(), change.positions, strict=True)
        ):
            data = position_delete.encode(path, positions)
            name = layout.position_delete_name(self.uuid, number + 1)
            self.folder.storage.put(name, data)
            lower, upper = position_delete.bounds_of(path, positions)
            rows.append((f"{self.folder.url}/{name}", len(data), lower, upper))
        names, sizes, lowers, uppers = zip(*rows, strict=True)
        return {
            "file_path": pa.array(names, pa.string()),
            "file_format": pa.repeat(pa.scalar("PARQUET"), len(rows)),
            "file_size_in_bytes": pa.array(sizes, pa.int64()),
            "column_sizes": manifest.no_counts(len(rows)),
            "lower_bounds": pa.array(lowers, manifest.BOUNDS),
            "upper_bounds": pa.array(uppers, manifest.BOUNDS),
        }


def with_row_ids(metas: pa.Table, next_row_id: int) -> tuple[pa.Table, int]:
    """The manifests with first row ids for the data manifests that have none, and the next row id after them."""
    ids = []
    columns = ("content", "first_row_id", "added_rows_count", "existing_rows_count")
    for content, first, added, existing in zip(*(metas[name].to_pylist() for name in columns), strict=True):
        takes = content == manifest_list.DATA and first is None
        ids.append(next_row_id if takes else first)
        next_row_id += added + existing if takes else 0
    index = metas.schema.get_field_index("first_row_id")
    return metas.set_column(index, "first_row_id", pa.array(ids, pa.int64())), next_row_id


def _counts(entries: pa.Table) -> Counts:
    rows, size = (pc.sum(entries[name]).as_py() or 0 for name in ("record_count", "file_size_in_bytes"))
    return Counts(entries.num_rows, rows, size)


def _is_within(value: pa.Scalar, ends: tuple[pa.Array, pa.Array]) -> Mask:
    """In which of the ranges the value is; null and NaN, which bounds do not tell of, in all."""
    low, high = ends
    if not value.is_valid or (pa.types.is_floating(value.type) and pc.is_nan(value).as_py()):
        return np.ones(len(low), bool)
    return np.asarray(pc.fill_null(pc.and_(pc.less_equal(low, value), pc.greater_equal(high, value)), False))
