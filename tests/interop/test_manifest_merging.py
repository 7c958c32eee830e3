"""Manifests that commits merge: after each commit, the lists say what Java's say after the same commits."""

from collections.abc import Sequence
from typing import Any

import pytest

import polynya
from interop import twins
from interop.twins import Case

MERGING = {
    "minor": {"manifest.merge-min-count": "2"},
    "minor, by size": {"manifest.target-file-size": "4 kb", "manifest.merge-min-count": "3"},
    "full": {"manifest.merge-min-count": "30", "manifest.full-compaction-threshold-size": "1 b"},
    "full, by size": {"manifest.target-file-size": "2 kb", "manifest.full-compaction-threshold-size": "16 kb"},
}
PARTITIONS = [("a", 1), ("b", None), (None, 7), ("a", -3), ("ü" * 9, 2**31 - 1)]


def commits(partitions: Sequence[tuple[Any, Any]]) -> list[list[list[Any]]]:
    """Five commits of one to three rows, to one partition each or to several."""
    return [
        [[*partitions[number * step % 5], 10 * number + step, "x" * number] for step in range(1, number % 3 + 2)]
        for number in range(5)
    ]


def replacing() -> Case:
    """Some of the commits replace partitions, so that there are entries to cancel."""
    overwrites = {2: {"p": "a", "q": "1"}, 4: {"p": "a", "q": "-3"}}
    rows = commits(PARTITIONS)
    for position, partition in overwrites.items():
        rows[position] = [[partition["p"], int(partition["q"]), position, "new"]]
    return _case(rows, overwrites=overwrites)


def _case(rows: list[list[list[Any]]], options: dict[str, str] | None = None, **more: Any) -> Case:
    columns = {"p": "STRING", "q": "INT", "k": "INT", "v": "STRING"}
    return Case(columns, rows, partition_by=["p", "q"], options=options or {}, **more)


TABLES = {
    "append": _case(commits(PARTITIONS)),
    "replaced": replacing(),
    "row ids": _case(commits(PARTITIONS), {"row-tracking.enabled": "true"}),
    "levels": _case(
        commits([("a", 1), ("a", 1), ("b", 2), ("a", 1), ("b", 2)])[:4],
        {"bucket": "2", "write-only": "true"},
        primary_key=["p", "q", "k"],
    ),
}


@pytest.mark.parametrize("merging", MERGING)
@pytest.mark.parametrize("name", TABLES)
def test_lists_say_what_java_s_say(java, tmp_path, name, merging):
    table = TABLES[name]
    case = Case(**vars(table) | {"options": {**table.options, **MERGING[merging]}})
    ours, theirs = twins.create_ours(tmp_path, case), twins.create_twin(java, tmp_path, case)
    for _ in range(2):
        twins.write_ours(ours, case)
        twins.write_twin(theirs, case)
        if case.primary_key:
            ours.compact(full=True)
            theirs.ask("compact", full=True)
    ours, twin = (polynya.open_table(tmp_path / database / "t") for database in ("ours.db", "java.db"))
    assert ours.snapshot.id == twin.snapshot.id
    for id in range(1, ours.snapshot.id + 1):
        own, other = (twins.manifests_of(one.at(snapshot_id=id)).to_pylist() for one in (ours, twin))
        assert own == other, f"snapshot {id}"
