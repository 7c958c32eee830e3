"""What a Paimon snapshot changes for an Iceberg reader: files by the delta, hidden rows by vectors or by merging keys.

Hidden rows of a file only ever become more, as long as the file is there. So as many hidden rows as are published mean
the same rows, and nothing is read to find that out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec.bitmap import Bitmap
from polynya.iceberg import manifest, manifest_list
from polynya.model.schema import Schema
from polynya.paimon import manifest as paimon_manifest
from polynya.paimon.snapshot import Snapshot
from polynya.table import compaction, entries
from polynya.table import paths as table_paths
from polynya.table.compaction import Within
from polynya.table.edit import DELETION_VECTORS, vectors_by_file
from polynya.table.history import TableRoot
from polynya.table.scan import split_rules
from polynya.table.splits import cut
from polynya.table.twin_files import FileRules, data_entries, file_urls, partition_values
from polynya.table.twin_manifests import Change, TwinFolder
from polynya.table.twin_view import View, is_seen, require_parquet

_NO_PATHS = pa.array([], pa.string())


class Positions(Protocol):
    """Finds hidden rows in files; the table layer opens none."""

    def vectors(self, index: pa.Table, schema: Schema) -> Mapping[str, Bitmap]:
        """The deletion vectors of these index files, by data file name."""

    def superseded(self, files: pa.Table, schema: Schema) -> Mapping[str, Bitmap]:
        """The rows of these files, with sections, that a merge would not give, by data file name."""


@dataclass(frozen=True)
class TwinState:
    """The table whose change is asked for."""

    root: TableRoot
    view: View
    rules: FileRules
    positions: Positions


class ChangeFinder:
    """Finds the change from the twin's manifests to one snapshot."""

    def __init__(self, state: TwinState, folder: TwinFolder, metas: pa.Table) -> None:
        self.state, self.folder, self.metas = state, folder, metas
        self.schema = state.rules.schema

    def whole(self, snapshot: Snapshot) -> tuple[Change, tuple[int, int]]:
        """All that there is, and how many files and rows the view leaves out."""
        live = entries.read_live(self.state.root, snapshot)
        return self._change(snapshot, live, live.slice(0, 0), None)

    def delta(self, snapshot: Snapshot) -> tuple[Change, tuple[int, int]]:
        """What the snapshot changed, and by how much more files and rows the view leaves out."""
        found = entries.read_entries(self.state.root, entries.read_delta_metas(self.state.root, snapshot))
        is_add = pc.equal(found["kind"], entries.ADD)
        added, removed = found.filter(is_add), found.filter(pc.invert(is_add))
        places = found.group_by(["partition", "bucket"]).aggregate([])
        buckets = frozenset(zip(places["partition"].to_pylist(), places["bucket"].to_pylist(), strict=True))
        return self._change(snapshot, added, removed, buckets)

    def _change(
        self, snapshot: Snapshot, added: pa.Table, removed: pa.Table, buckets: frozenset[tuple[bytes, int]] | None
    ) -> tuple[Change, tuple[int, int]]:
        seen, hidden = self._seen(added)
        gone, hidden_gone = self._seen(removed)
        counts = (hidden.num_rows - hidden_gone.num_rows, _rows(hidden) - _rows(hidden_gone))
        require_parquet(seen)
        seen, gone = _without_same(seen, gone)
        fresh = data_entries(seen, self.state.rules)
        left = self._placed(gone)
        marked, positions, unmarked = self._marks(snapshot, left["file_path"], buckets)
        return Change(fresh, left, marked, positions, unmarked), counts

    def _seen(self, files: pa.Table) -> tuple[pa.Table, pa.Table]:
        seen = pa.array(is_seen(files, self.state.view, self.schema))
        return files.filter(seen), files.filter(pc.invert(seen))

    def _placed(self, files: pa.Table) -> pa.Table:
        """The locations of the files and their partition values."""
        values = partition_values(files["partition"], self.state.rules)
        return pa.table({"file_path": file_urls(files, self.state.rules), **values})

    def _marks(
        self, snapshot: Snapshot, gone: pa.ChunkedArray, buckets: frozenset[tuple[bytes, int]] | None
    ) -> tuple[pa.Table, Sequence[Bitmap], pa.Array]:
        """The files whose hidden rows change, these rows, and the files that are to have none any more."""
        view = self.state.view
        if view is View.TOP:
            return self._placed(paimon_manifest.empty()), (), _NO_PATHS
        published = self._published()
        if view is View.LIVE:
            return self._live_marks(snapshot, gone, buckets, published)
        return self._vector_marks(snapshot, published)

    def _published(self) -> pa.Table:
        """The data files with hidden rows in the twin, and how many these are."""
        deletes = self.metas.filter(pc.equal(self.metas["content"], manifest_list.DELETES))
        names = ["referenced_data_file", "record_count"]
        if not deletes.num_rows:
            return pa.table({names[0]: pa.array([], pa.string()), names[1]: pa.array([], pa.int64())})
        sources = [self.folder.read(path) for path in deletes["manifest_path"].to_pylist()]
        found = manifest.decode(sources, (), names).table
        return found.filter(pc.not_equal(found["status"], manifest.DELETED)).select(names)

    def _vector_marks(self, snapshot: Snapshot, published: pa.Table) -> tuple[pa.Table, Sequence[Bitmap], pa.Array]:
        index = entries.read_index(self.state.root, snapshot)
        index = index.filter(pc.equal(index["index_type"], DELETION_VECTORS))
        vectors = self._with_external(snapshot, vectors_by_file(index))
        placed = self._placed(vectors)
        known = pc.index_in(placed["file_path"], value_set=published["referenced_data_file"].combine_chunks())
        counts = published["record_count"].take(known)
        same = pc.fill_null(pc.equal(counts, vectors["cardinality"]), False)
        hides = pc.fill_null(pc.greater(vectors["cardinality"], 0), True)
        changed = pc.and_(pc.invert(same), hides)
        stale = pc.invert(pc.is_in(published["referenced_data_file"], value_set=placed["file_path"].combine_chunks()))
        unmarked = published["referenced_data_file"].filter(stale).combine_chunks()
        wanted = vectors.filter(changed)
        if not wanted.num_rows:
            return placed.slice(0, 0), (), unmarked
        files = index.filter(pc.is_in(index["file_name"], value_set=pc.unique(wanted["index_file"])))
        loaded = self.state.positions.vectors(files, self.schema)
        return placed.filter(changed), [loaded[name] for name in wanted["file_name"].to_pylist()], unmarked

    def _with_external(self, snapshot: Snapshot, vectors: pa.Table) -> pa.Table:
        """The vectors with the external paths of their data files, as far as a table can have such."""
        place = vectors.schema.get_field_index("external_path")
        if not table_paths.has_external_paths(self.schema):
            return vectors.set_column(place, "external_path", pa.nulls(vectors.num_rows, pa.string()))
        live = entries.read_live(self.state.root, snapshot, ["file_name", "external_path"])
        at = pc.index_in(vectors["file_name"], value_set=live["file_name"].combine_chunks())
        return vectors.set_column(place, "external_path", live["external_path"].take(at))

    def _live_marks(
        self,
        snapshot: Snapshot,
        gone: pa.ChunkedArray,
        buckets: frozenset[tuple[bytes, int]] | None,
        published: pa.Table,
    ) -> tuple[pa.Table, Sequence[Bitmap], pa.Array]:
        gone_marks = published["referenced_data_file"].filter(
            pc.is_in(published["referenced_data_file"], value_set=pc.unique(gone))
        )
        if buckets is not None and not buckets:
            return self._placed(paimon_manifest.empty()), (), gone_marks.combine_chunks()
        state = compaction.read_state(
            self.state.root, snapshot, self.schema, self.state.rules.schema_of, Within(buckets=buckets)
        )
        sections = cut(state.files, split_rules(self.schema))
        merged = sections.filter(pc.invert(sections["raw"]))
        hidden = {name: rows for name, rows in self.state.positions.superseded(merged, self.schema).items() if rows}
        files = merged.filter(pc.is_in(merged["file_name"], value_set=pa.array(list(hidden), pa.string())))
        placed = self._placed(files)
        counts = np.array([len(hidden[name]) for name in files["file_name"].to_pylist()], np.int64)
        known = pc.index_in(placed["file_path"], value_set=published["referenced_data_file"].combine_chunks())
        same = pc.fill_null(pc.equal(published["record_count"].take(known), pa.array(counts)), False)
        changed = pc.invert(same)
        names = files.filter(changed)["file_name"].to_pylist()
        return placed.filter(changed), [hidden[name] for name in names], gone_marks.combine_chunks()


def _rows(files: pa.Table) -> int:
    return pc.sum(files["row_count"]).as_py() or 0


def _without_same(added: pa.Table, removed: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Without the files that are on both sides: they only changed their level or their index."""
    both = pc.unique(added["file_name"].filter(pc.is_in(added["file_name"], value_set=pc.unique(removed["file_name"]))))
    if not len(both):
        return added, removed
    stays = [pc.invert(pc.is_in(one["file_name"], value_set=both)) for one in (added, removed)]
    return added.filter(stays[0]), removed.filter(stays[1])
