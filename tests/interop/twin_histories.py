"""Seeded histories of tables that polynya and Java change, with the Iceberg twin published after each step.

PyIceberg reads each new snapshot of the twin at once, Spark all that are left at the end.
"""

import operator
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
from pyiceberg.expressions import EqualTo, GreaterThan, LessThan, LessThanOrEqual

import polynya
from iceberg_twin import load, rows_of, twin_rows, unreferenced_names
from interop import histories as h
from interop.arrow_rows import arrow_rows
from interop.histories import ALL_KINDS, VALUES, History, Kind, Step
from interop.spark_iceberg_env import SparkIceberg
from polynya.table.twin_settings import settings_of
from polynya.table.twin_view import View

COLUMNS = {"k": "INT", "p": "STRING"} | VALUES | {"m": "MAP<STRING, INT>"}
SMALL = {"bucket": "2", "num-sorted-run.compaction-trigger": "3"}
LIVE = {"metadata.iceberg.live": "true"}
VECTORS = {"deletion-vectors.enabled": "true"}
MERGED = {"metadata.iceberg.compaction.min.file-num": "2", "metadata.iceberg.compaction.max.file-num": "3"}
PUBLISHED = {"metadata.iceberg.storage": "table-location"}
KINDS: Mapping[str, Kind] = {
    "append": Kind(COLUMNS, options=MERGED | PUBLISHED),
    "append-partitioned": Kind(COLUMNS, partition_by=["p"], may_delete=True),
    "append-vectors": Kind(COLUMNS, options=VECTORS | MERGED, may_delete=True),
    "keys-compacted": Kind(COLUMNS, ["k"], options=SMALL | MERGED | PUBLISHED, row_kinds=ALL_KINDS, may_delete=True),
    "keys-live": Kind(COLUMNS, ["p", "k"], ["p"], SMALL | LIVE | PUBLISHED, row_kinds=ALL_KINDS, may_delete=True),
    "keys-vectors": Kind(COLUMNS, ["k"], options=SMALL | VECTORS, row_kinds=ALL_KINDS),
}
CONDITIONS = (
    (operator.eq, EqualTo),
    (operator.lt, LessThan),
    (operator.gt, GreaterThan),
    (operator.le, LessThanOrEqual),
)


class TwinHistory(History):
    """A history, and the rows that an Iceberg reader is to find at each snapshot."""

    def __init__(self, *arguments: object, version: str) -> None:
        super().__init__(*arguments)
        self.java.ask("alter", changes=[["set", "metadata.iceberg.format-version", version]])
        self.expected: dict[int, list[str]] = {}
        self.plan = self._plan()

    def _plan(self) -> list[Step]:
        """Everything that can happen, in a random order, after two writes."""
        changes = [h.java_write, h.java_compaction, h.java_new_column, h.java_rename, h.java_tag, java_branch]
        changes += [h.java_overwrite, java_rollback, java_expiry, h.java_manifest_compaction, h.java_wider_column]
        ours = [h.our_write, h.our_overwrite, h.our_compaction, h.our_manifest_compaction, h.our_write]
        changes += [] if self.is_java_only else ours
        changes += [h.our_delete, h.our_update] if self.kind.may_delete else []
        changes += [h.java_compaction, h.java_write] if self.kind.primary_key else []
        self.random.shuffle(changes)
        return [h.java_write if self.is_java_only else h.our_write, h.java_write, *changes]

    @property
    def is_java_only(self) -> bool:
        """Whether only Java can write: it finds the rows that others replace."""
        return bool(self.kind.primary_key) and "deletion-vectors.enabled" in self.kind.options

    def steps(self) -> list[Step]:
        """The next step of the plan, then more writes."""
        return [self.plan.pop(0)] if self.plan else [h.java_write]

    def compare(self) -> None:
        """Publish, and let PyIceberg read what is new."""
        table = self.ours
        table.publish_iceberg()
        twin = load(table)
        there = {one.snapshot_id: one for one in twin.metadata.snapshots}
        ids = set(self.ids())
        tags = {name: table.at(tag=name).snapshot.id for name in self.tags()}
        assert {id for id in there if id >= min(ids)} <= ids
        assert {id for id in there if id < min(ids)} <= set(tags.values())
        assert twin.current_snapshot().snapshot_id == max(ids)
        assert {name: ref.snapshot_id for name, ref in twin.metadata.refs.items() if name != "main"} == {
            name: id for name, id in tags.items() if id in there
        }
        assert twin_rows(table) == self.rows(table), "the latest rows"
        self.compare_filter(table)
        self.expected = {id: rows for id, rows in self.expected.items() if id in there and id <= max(ids)}
        for id in set(there) & ids:
            rows = self.rows(table.at(snapshot_id=id))
            if self.expected.get(id) != rows:
                self.expected[id] = rows
                assert twin_rows(table, snapshot_id=id) == rows, f"rows of snapshot {id}"
        assert [name for name in unreferenced_names(table) if ".metadata.json" not in name] == []

    def compare_filter(self, table: polynya.Table) -> None:
        """The rows of a random condition, for which the reader leaves out files by the bounds of the twin."""
        name, type = self.random.choice([one for one in self.columns.items() if one[1].split()[0] in h.COMPARED])
        value = self.random.choice([one for one in h.POOLS[type.split()[0]] if one is not None])
        keeps, makes = self.random.choice(CONDITIONS)
        column = self.seen(table)[name].to_pylist()
        expected = pa.array([one is not None and keeps(one, value) for one in column], pa.bool_())
        assert twin_rows(table, row_filter=makes(name, value)) == rows_of(self.seen(table).filter(expected)), name

    def rows(self, table: polynya.Table) -> list[str]:
        """The rows that a reader of the twin is to see, as texts."""
        return rows_of(self.seen(table))

    def seen(self, table: polynya.Table) -> pa.Table:
        """The rows that a reader of the twin is to see."""
        view = settings_of(table.root.storage, table.schema).view
        return table.system("ro") if view is View.TOP else table.scan().to_arrow()

    def tags(self) -> list[str]:
        """The names of the tags there are."""
        return [file.name.removeprefix("tag-") for file in self.folder.glob("tag/tag-*")]

    def read_by(self, spark: SparkIceberg) -> None:
        """Spark finds the rows of every snapshot, by the path, and the latest in a catalog."""
        ids = sorted(self.expected)
        for id, found in zip(ids, spark.at(self.folder, ids), strict=True):
            assert rows_of(found) == self.expected[id], f"Spark at snapshot {id}\n" + "\n".join(self.log)
        latest = spark.rows("SELECT * FROM ice.`ours.db`.t", self.folder.parent.parent)
        assert rows_of(latest) == self.rows(self.ours), "\n".join(self.log)


def java_rollback(history: History) -> str:
    id = history.random.choice(history.ids()[-3:])
    history.java.ask("rollback", snapshot=id)
    return f"to {id}"


def java_expiry(history: History) -> None:
    history.java.ask("expire", retain_max=5, retain_min=1)


def java_branch(history: TwinHistory) -> None:
    """A branch lives on beside, and the twin never hears of it."""
    name = f"b{len(history.log)}"
    history.java.ask("tag", name=f"of-{name}")
    history.java.ask("branch", name=name, tag=f"of-{name}")
    before = _metadata(history.folder)
    branch = history.ours.branch(name)
    if not history.is_java_only:
        fields = branch.schema.fields
        branch.write(arrow_rows([row[1 : 1 + len(fields)] for row in history.batch(["+I"])], fields))
        assert branch.refresh().snapshot.id > history.ours.snapshot.id
    assert _metadata(history.folder) == before


def _metadata(folder: Path) -> list[str]:
    return sorted(f"{path.name} {path.stat().st_mtime_ns}" for path in folder.glob("metadata/v*"))
