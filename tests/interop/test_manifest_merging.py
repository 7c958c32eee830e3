"""Manifests that commits merge: after each commit, the lists say what Java's say after the same commits."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

import polynya
from interop import twins
from interop.twins import Case
from polynya.codec import avro_block_index
from polynya.codec.avro import decode_container
from polynya.table import entries
from polynya.table.commit import Target, commit, new_author
from polynya.table.edit import Change, Edit

MERGING = {
    "minor": {"manifest.merge-min-count": "2"},
    "minor, by size": {"manifest.target-file-size": "4 kb", "manifest.merge-min-count": "3"},
    "full": {"manifest.merge-min-count": "30", "manifest.full-compaction-threshold-size": "1 b"},
    "full, by size": {"manifest.target-file-size": "2 kb", "manifest.full-compaction-threshold-size": "16 kb"},
}
SORTED = pa.schema([("p", pa.int32()), ("v", pa.string())])
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


def test_java_reads_a_manifest_that_tells_where_its_partitions_are(java, tmp_path):
    warehouse = polynya.open_warehouse(tmp_path)
    warehouse.create_database("db")
    table = warehouse.create_table("db.t", SORTED, partition_by=["p"])
    table.write(pa.table({"p": list(range(20)), "v": ["x"] * 20}, SORTED))
    files = entries.read_live(table.root, table.refresh().snapshot)
    many = files.take([place // 250 for place in range(5000)])
    names = pa.array([f"data-{number:08d}-0.parquet" for number in range(5000)])
    many = many.set_column(many.schema.get_field_index("file_name"), "file_name", names)
    target = Target(table.root, table.schema)
    commit(target, Change(Edit(many)), new_author(target))
    table = table.refresh()
    (big,) = (name for name in manifest_names(table) if avro_block_index.KEY in header_of(table, name))
    assert table.scan(where="p = 7").plan().file_count == 251
    theirs = java.table(tmp_path / "db.db" / "t").read("files")
    paths = [row[[name for name, _ in theirs["columns"]].index("file_path")] for row in theirs["rows"]]
    assert len(paths) == 5020, f"Java reads other entries of {big}"
    assert {path.rsplit("/")[-1] for path in paths} >= set(names.to_pylist())


def manifest_names(table: polynya.Table) -> list[str]:
    return entries.read_metas(table.root, table.snapshot)["file_name"].to_pylist()


def header_of(table: polynya.Table, name: str) -> dict[str, str]:
    return dict(decode_container(entries.source_of(table.root.storage, name)).metadata)
