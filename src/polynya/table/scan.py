"""Planning a scan: from a snapshot to the splits that a reader must open.

| step | drops | by |
|---|---|---|
| lists | manifests | partition statistics, bucket and level range of the manifest list |
| decode | columns, blocks | what no step below looks at; parts of a manifest without a partition of the filter |
| fold | entries | DELETE entries and what they take back |
| partition | files | the filter on partition values, exactly |
| bucket | files | the filter on the whole bucket key |
| level | files | level 0 of tables that only show compacted files |
| key, value | files, whole sections | the filter on statistics |
| vectors | files | deletion vectors that delete every row |

A value filter drops a file of a primary-key table only where no other file can hold a newer version of its rows: a
section goes as a whole or not at all, and with engines that combine rows only a section of one file goes.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec import binary_rows
from polynya.model import bind, evaluate
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_type
from polynya.model.options import level_count
from polynya.model.options_data import DATA_EVOLUTION_ENABLED
from polynya.model.options_keys import DELETION_VECTORS_ENABLED, DELETION_VECTORS_MERGE_ON_READ, MERGE_ENGINE
from polynya.model.options_scan import SOURCE_SPLIT_OPEN_FILE_COST, SOURCE_SPLIT_TARGET_SIZE
from polynya.model.predicate import AlwaysTrue, Predicate
from polynya.model.schema import Schema
from polynya.paimon import manifest, manifest_list
from polynya.paimon.snapshot import Snapshot
from polynya.table import entries, file_stats
from polynya.table.buckets import BucketFilter
from polynya.table.edit import vectors_by_file
from polynya.table.history import TableRoot
from polynya.table.index_prune import indexes_may_match
from polynya.table.plan import Plan, Pruned
from polynya.table.prune import bucket_candidates
from polynya.table.splits import SplitRules, cut

BASE_COLUMNS = (
    "kind",
    *entries.IDENTITY,
    "total_buckets",
    "file_size",
    "row_count",
    "schema_id",
    "min_sequence_number",
    "max_sequence_number",
    "delete_row_count",
    "first_row_id",
    "write_cols",
)
KEY_COLUMNS = ("min_key", "max_key")
KEY_STATS_COLUMNS = ("key_stats_min", "key_stats_max", "key_stats_null_counts")
VALUE_STATS_COLUMNS = ("value_stats_min", "value_stats_max", "value_stats_null_counts", "value_stats_cols")
WHOLE_ROW_ENGINES = ("deduplicate", "first-row")
PARTITIONS_LISTED_MAX = 16
SPELLED_ALIKE = (t.TinyInt, t.SmallInt, t.Int, t.BigInt, t.Date, t.Char, t.VarChar)  # equal values have equal bytes

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class ScanSource:
    """The state of a table that is scanned; `schema_of` gives the schema that a file was written with."""

    root: TableRoot
    snapshot: Snapshot | None
    schema: Schema
    schema_of: Callable[[int], Schema]


@dataclass(frozen=True)
class ScanRequest:
    """What is asked of the table; the predicate is bound to its schema."""

    columns: tuple[str, ...]
    predicate: Predicate = field(default_factory=AlwaysTrue)
    limit: int | None = None
    top_level_only: bool = False


def plan(source: ScanSource, request: ScanRequest) -> Plan:
    """Decide what to read."""
    planner = _Planner(source, request)
    files = planner.files()
    predicate = None if isinstance(request.predicate, AlwaysTrue) else request.predicate
    made = Plan(
        source.root.storage.location,
        source.snapshot,
        source.schema,
        request.columns,
        predicate,
        files,
        Pruned(**planner.counts, files_skipped=planner.skipped, step_ms=planner.step_ms),
        request.limit,
    )
    return limited(made) if request.limit is not None else made


class _Planner:
    """The steps of one plan, with what each of them skipped and how long it took."""

    def __init__(self, source: ScanSource, request: ScanRequest) -> None:
        self.source, self.request, self.schema = source, request, source.schema
        self.skipped: dict[str, int] = {}
        self.step_ms: dict[str, float] = {}
        self.counts: dict[str, int] = {}
        names = source.schema.partition_by
        self.by_partition = bind.project(request.predicate, names)
        self.by_key = bind.project(request.predicate, source.schema.trimmed_primary_key)
        self.by_value = request.predicate
        self.has_key = bool(source.schema.primary_key)
        self.buckets = BucketFilter.of(request.predicate, source.schema, source.schema_of)

    def files(self) -> pa.Table:
        with self._step("lists"):
            metas = self._metas()
        with self._step("decode"):
            found = entries.read_entries(self.source.root, metas, self._columns(), self._partitions())
        with self._step("fold"):
            live = entries.fold(found)
        self.counts |= {"entry_count": found.num_rows, "live_file_count": live.num_rows}
        with self._step("prune"):
            live = self._attach_vectors(self._prune_files(live))
        with self._step("split"):
            return self._cut(live)

    def _metas(self) -> pa.Table:
        snapshot = self.source.snapshot
        metas = entries.read_metas(self.source.root, snapshot) if snapshot is not None else manifest_list.empty()
        keep = file_stats.manifests_may_match(metas, self.by_partition, self.schema)
        keep &= self.buckets.may_hold(metas)
        if self._hides_level_0:
            keep &= np.asarray(pc.fill_null(pc.greater(metas["max_level"], 0), True))
        self.counts |= {"manifest_count": metas.num_rows, "manifests_skipped": int((~keep).sum())}
        return metas if keep.all() else metas.filter(pa.array(keep))

    def _columns(self) -> list[str]:
        wanted = list(BASE_COLUMNS)
        if self.has_key:
            wanted += KEY_COLUMNS
        if not isinstance(self.by_key, AlwaysTrue):
            wanted += KEY_STATS_COLUMNS
        if not isinstance(self.by_value, AlwaysTrue):
            wanted += VALUE_STATS_COLUMNS
        return [name for name in manifest.SCHEMA.names if name in wanted]

    def _partitions(self) -> list[bytes]:
        """The partitions that the filter leaves, as manifests spell them; none where they are too many to list."""
        fields = self.schema.partition_fields
        if not fields or not all(isinstance(one.type, SPELLED_ALIKE) for one in fields):
            return []
        listed = bucket_candidates(self.by_partition, fields, PARTITIONS_LISTED_MAX)
        return [] if listed is None or not listed.num_rows else binary_rows.encode_rows(listed.columns).to_pylist()

    def _prune_files(self, live: pa.Table) -> pa.Table:
        live = self._keep(live, "partition", self._partition_mask)
        live = self._keep(live, "bucket", self.buckets.mask)
        live = self._keep(live, "level", self._level_mask)
        if self.has_key and not isinstance(self.by_key, AlwaysTrue):
            live = self._keep(live, "key statistics", self._key_mask)
        return live

    def _cut(self, live: pa.Table) -> pa.Table:
        rules = split_rules(self.schema)
        if isinstance(self.by_value, AlwaysTrue) or rules.by_row_id:
            return cut(live, rules)
        if not self.has_key:
            live = self._keep(live, "value statistics", self._value_mask)
            return cut(self._keep(live, "file index", self._index_mask), rules)
        sections = cut(live, rules)
        kept = self._keep(sections, "value statistics and file index", self._section_mask)
        return cut(kept.drop_columns(["split", "section", "raw"]), rules)

    def _partition_mask(self, live: pa.Table) -> Mask:
        return partitions_match(live["partition"], self.by_partition, self.schema)

    def _level_mask(self, live: pa.Table) -> Mask:
        keep = live["bucket"].to_numpy() >= 0
        level = live["level"].to_numpy()
        if self._hides_level_0:
            keep &= level > 0
        if self.request.top_level_only and self.has_key:
            keep &= level == level_count(self.schema.options) - 1
        return keep

    def _key_mask(self, live: pa.Table) -> Mask:
        return file_stats.keys_may_match(live, self.by_key, self.schema)

    def _value_mask(self, live: pa.Table) -> Mask:
        return file_stats.values_may_match(live, self.by_value, self.schema, self.source.schema_of)

    def _index_mask(self, live: pa.Table) -> Mask:
        return indexes_may_match(live, self.by_value, self.schema, self.source.schema_of)

    def _section_mask(self, live: pa.Table) -> Mask:
        matches = self._value_mask(live)
        matches[matches] = self._index_mask(live.filter(pa.array(matches)))
        sections = live["section"].to_numpy()
        size = np.bincount(sections)[sections]
        hit = np.bincount(sections, weights=matches)[sections] > 0
        if MERGE_ENGINE.of(self.schema.options) in WHOLE_ROW_ENGINES:
            return hit
        return hit | (size > 1)

    def _attach_vectors(self, live: pa.Table) -> pa.Table:
        """The files with where their deletion vectors are, less the files that have no row left."""
        live = with_vectors(live, entries.read_index(self.source.root, self.source.snapshot))
        emptied = pc.fill_null(pc.equal(live["dv_cardinality"], live["row_count"]), False)
        return self._keep(live, "deletion vectors", lambda _: ~np.asarray(emptied))

    @property
    def _hides_level_0(self) -> bool:
        options = self.schema.options
        if not self.has_key:
            return False
        if MERGE_ENGINE.of(options) == "first-row":
            return True
        return DELETION_VECTORS_ENABLED.of(options) and not DELETION_VECTORS_MERGE_ON_READ.of(options)

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


_VECTOR_COLUMNS = {
    "dv_file": "index_file",
    "dv_file_size": "index_file_size",
    "dv_external_path": "external_path",
    "dv_offset": "offset",
    "dv_length": "length",
    "dv_cardinality": "cardinality",
}


def partitions_match(partitions: pa.ChunkedArray, predicate: Predicate, schema: Schema) -> Mask:
    """Which of the partition rows match a predicate on partition columns."""
    if isinstance(predicate, AlwaysTrue):
        return np.ones(len(partitions), bool)
    codes = partitions.combine_chunks().dictionary_encode()
    types = [to_arrow_type(one.type) for one in schema.partition_fields]
    columns = binary_rows.decode_rows(codes.dictionary, types, name="partition of a manifest entry")
    rows = pa.table(dict(zip(schema.partition_by, columns, strict=True)))
    return np.asarray(evaluate.mask(predicate, rows))[codes.indices.to_numpy()]


def with_vectors(files: pa.Table, index: pa.Table) -> pa.Table:
    """The files with where their deletion vectors are, as the index files tell."""
    vectors = vectors_by_file(index)
    at = pc.index_in(files["file_name"], vectors["file_name"]) if vectors.num_rows else None
    nulls = {kind: pa.nulls(files.num_rows, kind) for kind in set(vectors.schema.types)} if at is None else {}
    for name, source in _VECTOR_COLUMNS.items():
        known = vectors[source]
        files = files.append_column(name, nulls[known.type] if at is None else known.take(at))
    return files


def split_rules(schema: Schema) -> SplitRules:
    """How the table's files are cut into splits."""
    options = schema.options
    has_vectors = DELETION_VECTORS_ENABLED.of(options)
    return SplitRules(
        target_size_bytes=SOURCE_SPLIT_TARGET_SIZE.of(options),
        open_file_cost_bytes=SOURCE_SPLIT_OPEN_FILE_COST.of(options),
        key_types=[to_arrow_type(one.type) for one in schema.key_fields] if schema.primary_key else (),
        reads_compacted_raw=has_vectors or MERGE_ENGINE.of(options) == "first-row",
        by_row_id=DATA_EVOLUTION_ENABLED.of(options),
    )


def limited(made: Plan) -> Plan:
    """The plan with only as many splits as the limit needs, where the rows of a split are known."""
    if made.exact_row_count is None or made.files.num_rows == 0:
        return made
    rows = made.files["row_count"].to_numpy() - pc.fill_null(made.files["dv_cardinality"], 0).to_numpy()
    reached = np.cumsum(rows) >= (made.limit or 0)
    if not reached.any():
        return made
    last = made.files["split"].to_numpy()[np.argmax(reached)]
    files = made.files.filter(pc.less_equal(made.files["split"], int(last)))
    skipped = made.pruned.files_skipped | {"limit": made.files.num_rows - files.num_rows}
    return replace(made, files=files, pruned=replace(made.pruned, files_skipped=skipped))
