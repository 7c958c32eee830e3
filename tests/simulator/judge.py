"""What must hold in every history.

After every step: snapshots are contiguous, none is replaced or deleted, and every acknowledged commit is one of them.
In the end: every acknowledged commit is in the history exactly once and at the snapshot that was answered; no commit
that failed is; one of unknown outcome is there at most once; replayed in order, the commits give exactly the files that
each snapshot has; every live file exists; counts add up; what a reader saw is what its snapshot holds; and (in a third
of the histories) the check of the product finds nothing. A commit of a group is known by its file, or by its row in a
file that it shares; each such file and row is of some commit.
"""

import io
from dataclasses import dataclass, field
from enum import Enum

import pyarrow as pa
import pyarrow.parquet as pq

from commit_cases import partition_row
from polynya.paimon import layout, manifest, snapshot
from polynya.paimon.snapshot import CommitKind, Snapshot
from polynya.storage import MemoryStorage
from polynya.table import check, entries, history
from polynya.table.commit import Target
from polynya.table.history import TableRoot
from polynya.table.paths import data_paths

CHECKED_EVERY = 3  # the product's own check costs as much as a commit


class Outcome(Enum):
    PENDING = "pending"
    ACKNOWLEDGED = "acknowledged"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(eq=False)
class Operation:
    """One commit that an actor wants, and what it was told."""

    key: tuple[str, int]
    kind: CommitKind
    added: dict[str, int] = field(default_factory=dict)  # file name: partition
    deleted: frozenset[str] = frozenset()
    replaces: frozenset[int] | None = None  # partitions; None is all of them
    is_grouped: bool = False  # `added` is then one name, that of a file or of a row
    outcome: Outcome = Outcome.PENDING
    snapshot_id: int | None = None


class Judge:
    def __init__(self, storage: MemoryStorage, target: Target) -> None:
        self.storage, self.target = storage, target
        self.root = TableRoot(storage)
        self.operations: list[Operation] = []
        self.seen: list[tuple[int, frozenset[str]]] = []
        self._known: dict[int, bytes] = {}

    def after_step(self) -> None:
        """The cheap invariants."""
        blobs = self.storage._shelf.blobs
        count = len(self._known)
        for id in (*range(1, count + 1)[-2:], count + 1):
            found = blobs.get(layout.snapshot_name(id))
            if id <= count:
                assert found is not None, f"snapshot {id} is gone"
                assert found[0] == self._known[id], f"snapshot {id} was replaced"
            elif found is not None:
                self._known[id] = found[0]
        for one in self.operations:
            if one.outcome is Outcome.ACKNOWLEDGED and one.snapshot_id is not None:
                assert one.snapshot_id in self._known, f"acknowledged snapshot {one.snapshot_id} is missing"

    def verdict(self) -> None:
        """All invariants, once the history has ended."""
        ids = history.snapshot_ids(self.root)
        assert ids == list(range(1, len(ids) + 1)), f"snapshots are not contiguous: {ids}"
        snapshots = [self._read(id) for id in ids]
        by_commit: dict[tuple[str, int, CommitKind], list[Snapshot]] = {}
        for one in snapshots:
            by_commit.setdefault((one.commit_user, one.commit_identifier, one.commit_kind), []).append(one)
        grouped = self._grouped(snapshots)
        for operation in self.operations:
            if operation.is_grouped:
                self._judge(operation, grouped.get(next(iter(operation.added)), []))
            else:
                self._judge(operation, by_commit.get((*operation.key, operation.kind), []))
        states = self._replay(snapshots)
        for id, names in self.seen:
            assert names == states[id].keys(), f"a reader of snapshot {id} saw {sorted(names ^ states[id].keys())}"
        if len(snapshots) % CHECKED_EVERY == 0 and snapshots:
            report = check.check(self.root, self.target.schema, snapshots[-1])
            assert report.is_sound, f"check: {report}"

    def _grouped(self, snapshots: list[Snapshot]) -> dict[str, list[Snapshot]]:
        """The snapshots of groups by what they added: names of files, or of rows where a file holds those of several.

        Each becomes an operation of its own, for the replay.
        """
        keys = {(*one.key, one.kind) for one in self.operations if not one.is_grouped}
        partitions = {one: p for one_operation in self.operations for one, p in one_operation.added.items()}
        found: dict[str, list[Snapshot]] = {}
        for made in snapshots:
            if (made.commit_user, made.commit_identifier, made.commit_kind) in keys:
                continue
            added = {}
            for entry in entries.read_entries(self.root, entries.read_delta_metas(self.root, made)).to_pylist():
                names = [entry["file_name"]]
                if names[0] not in partitions:
                    names = self._rows_of(entry)
                    assert len(names) == entry["row_count"]
                added[entry["file_name"]] = partitions[names[0]]
                for name in names:
                    assert entry["partition"] == partition_row(partitions[name]), f"{name} is in another partition"
                    found.setdefault(name, []).append(made)
            key = (made.commit_user, made.commit_identifier)
            together = Operation(key, CommitKind.APPEND, added, outcome=Outcome.ACKNOWLEDGED, snapshot_id=made.id)
            self.operations.append(together)
        return found

    def _rows_of(self, entry: dict) -> list[str]:
        (path,) = data_paths(pa.Table.from_pylist([entry], manifest.SCHEMA), self.target.schema).to_pylist()
        return pq.read_table(io.BytesIO(self.storage.read(path)))["v"].to_pylist()

    def _read(self, id: int) -> Snapshot:
        data = self.storage.read(layout.snapshot_name(id))
        assert data == self._known.get(id, data), f"snapshot {id} was replaced"
        return snapshot.decode(data, name=str(id))

    def _judge(self, one: Operation, found: list[Snapshot]) -> None:
        ids = [made.id for made in found]
        if one.outcome is Outcome.ACKNOWLEDGED:
            expected = [] if one.snapshot_id is None else [one.snapshot_id]
            assert ids == expected, f"{one.key} was acknowledged as {expected}, history has it as {ids}"
        elif one.outcome is Outcome.FAILED:
            assert not ids, f"{one.key} failed, history has it as {ids}"
        else:
            assert len(ids) <= 1, f"{one.key} is {one.outcome.value}, history has it as {ids}"

    def _replay(self, snapshots: list[Snapshot]) -> dict[int, dict[str, int]]:
        """The live files after each snapshot, by the operations alone, compared with what the snapshot says."""
        operations = {(*one.key, one.kind): one for one in self.operations if not one.is_grouped}
        live: dict[str, int] = {}
        states = {}
        for made in snapshots:
            one = operations[made.commit_user, made.commit_identifier, made.commit_kind]
            missing = one.deleted - live.keys()
            assert not missing, f"snapshot {made.id} deletes {sorted(missing)}, which is not there"
            gone = one.deleted
            if one.kind is CommitKind.OVERWRITE:
                gone = {name for name, p in live.items() if one.replaces is None or p in one.replaces}
            live = {name: p for name, p in live.items() if name not in gone} | one.added
            states[made.id] = dict(live)
            self._compare(made, live)
        return states

    def _compare(self, made: Snapshot, live: dict[str, int]) -> None:
        found = entries.read_live(self.root, made, ["row_count"])
        names = found["file_name"].to_pylist()
        assert sorted(names) == sorted(live), f"snapshot {made.id} has {names}, expected {sorted(live)}"
        for name, p in live.items():
            assert f"p={p}/bucket-0/{name}" in self.storage._shelf.blobs, (
                f"data file {name} of snapshot {made.id} is gone"
            )
        rows = sum(found["row_count"].to_pylist())
        assert made.total_record_count == rows, f"snapshot {made.id} counts {made.total_record_count} rows of {rows}"
