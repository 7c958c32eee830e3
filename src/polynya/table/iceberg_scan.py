"""Planning a scan of an Iceberg table: from a snapshot to the splits that a reader must open.

| step | drops | by |
|---|---|---|
| lists | manifests | file counts, partition summaries |
| decode | columns, entries | only what the steps below look at; deleted entries |
| prune | files | the filter on partition values, then on counts and bounds |
| deletes | files | deletion vectors that delete every row |

Delete files are looked for only where data files are left, and in manifests whose partitions match the filter.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from polynya.errors import CorruptFileError
from polynya.iceberg import manifest_list
from polynya.iceberg.metadata import IcebergSnapshot
from polynya.model.predicate import AlwaysTrue
from polynya.model.schema import Schema
from polynya.table import iceberg_deletes, iceberg_prune
from polynya.table.iceberg_entries import live, read_entries, read_metas
from polynya.table.iceberg_table import IcebergRoot, view_of
from polynya.table.plan import Plan, Pruned
from polynya.table.scan import ScanRequest, limited
from polynya.table.splits import SplitRules, cut

SPLIT_BYTES, OPEN_FILE_BYTES = 128 * 2**20, 4 * 2**20
_TARGET, _OPEN_COST = "read.split.target-size", "read.split.open-file-cost"

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class IcebergSource:
    """The state of a table that is scanned, and the schema in which it is read."""

    root: IcebergRoot
    snapshot: IcebergSnapshot | None
    schema: Schema


def plan(source: IcebergSource, request: ScanRequest) -> Plan:
    """Decide what to read."""
    planner = _Planner(source, request)
    files = planner.files()
    snapshot = view_of(source.snapshot, source.root) if source.snapshot is not None else None
    made = Plan(
        source.root.storage.location,
        snapshot,
        source.schema,
        request.columns,
        None if isinstance(request.predicate, AlwaysTrue) else request.predicate,
        files,
        Pruned(**planner.counts, files_skipped=planner.skipped, step_ms=planner.step_ms),
        request.limit,
    )
    return limited(made) if request.limit is not None else made


class _Planner:
    """The steps of one plan, with what each of them skipped and how long it took."""

    def __init__(self, source: IcebergSource, request: ScanRequest) -> None:
        self.root, self.snapshot = source.root, source.snapshot
        self.filter = iceberg_prune.filter_of(request.predicate, source.schema.fields)
        self.skipped: dict[str, int] = {}
        self.step_ms: dict[str, float] = {}
        self.counts: dict[str, int] = {}

    def files(self) -> pa.Table:
        with self._step("lists"):
            metas = self._metas()
        is_data = pc.equal(metas["content"], manifest_list.DATA)
        with self._step("decode"):
            found = read_entries(self.root, metas.filter(is_data), self.filter.metric_columns)
            files = live(found)
        self.counts |= {"entry_count": found.num_rows, "live_file_count": files.num_rows}
        with self._step("prune"):
            files = self._pruned(files)
        with self._step("deletes"):
            files = self._with_deletes(files, metas.filter(pc.invert(is_data)))
        with self._step("split"):
            return self._cut(files)

    def _metas(self) -> pa.Table:
        metas = read_metas(self.root, self.snapshot)
        keep = iceberg_prune.manifests_may_match(self.root, metas, self.filter)
        self.counts |= {"manifest_count": metas.num_rows, "manifests_skipped": int((~keep).sum())}
        return metas if keep.all() else metas.filter(pa.array(keep))

    def _pruned(self, files: pa.Table) -> pa.Table:
        files = self._keep(
            files, "partition", lambda some: iceberg_prune.partitions_match(self.root, some, self.filter)
        )
        name = f"a manifest of {self.root.metadata_name}"
        return self._keep(
            files, "bounds and counts", lambda some: iceberg_prune.metrics_may_match(some, self.filter, name=name)
        )

    def _with_deletes(self, files: pa.Table, metas: pa.Table) -> pa.Table:
        """The files with what deletes rows of them, less those that have no row left."""
        if not files.num_rows or not metas.num_rows:
            return iceberg_deletes.attach_none(files)
        found = read_entries(self.root, metas, iceberg_deletes.COLUMNS)
        self.counts["entry_count"] += found.num_rows
        deletes = live(found)
        for entries in (files, deletes):
            if entries["sequence_number"].null_count:
                raise CorruptFileError(
                    f"a manifest of {self.root.metadata_name}, sequence_number: expected the number of a file that "
                    "was not added there, found none"
                )
        files = iceberg_deletes.attach(self.root, files, deletes)
        emptied = pc.fill_null(pc.equal(files["dv_cardinality"], files["record_count"]), False)
        return self._keep(files, "deletion vectors", lambda _: ~np.asarray(emptied))

    def _cut(self, files: pa.Table) -> pa.Table:
        properties = self.root.metadata.properties
        rules = SplitRules(
            _size(properties.get(_TARGET), SPLIT_BYTES), _size(properties.get(_OPEN_COST), OPEN_FILE_BYTES)
        )
        return cut(_readable(self.root, files), rules)

    def _keep(self, files: pa.Table, reason: str, decide: Callable[[pa.Table], Mask]) -> pa.Table:
        keep = decide(files)
        dropped = int((~keep).sum())
        self.skipped[reason] = self.skipped.get(reason, 0) + dropped
        return files.filter(pa.array(keep)) if dropped else files

    @contextmanager
    def _step(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.step_ms[name] = (time.perf_counter() - started) * 1000


def _readable(root: IcebergRoot, files: pa.Table) -> pa.Table:
    """The files under the names that plans have: no buckets, and partitions do not matter to splits."""
    count = files.num_rows
    own = {
        "file_name": root.names_of(files["file_path"]),
        "file_path": files["file_path"],
        "file_format": pc.utf8_lower(files["file_format"]),
        "file_size": files["file_size_in_bytes"],
        "row_count": files["record_count"],
        "min_sequence_number": pc.fill_null(files["sequence_number"], 0),
        "first_row_id": files["first_row_id"],
        "spec_id": files["spec_id"],
        "partition": pa.repeat(pa.scalar(b""), count),
        "bucket": pa.repeat(pa.scalar(0, pa.int32()), count),
        "schema_id": pa.repeat(pa.scalar(root.metadata.current_schema_id, pa.int64()), count),
        "deletes": files["deletes"],
        "dv_file": files["dv_file"],
        "dv_cardinality": files["dv_cardinality"],
    }
    values = {name: files[name] for name in files.column_names if name.startswith("partition_")}
    return pa.table({**own, **values})


def _size(text: str | None, usual: int) -> int:
    return int(text) if text is not None and text.isascii() and text.isdigit() and int(text) else usual
