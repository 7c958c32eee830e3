"""Row ids through compactions: polynya's files are described as Java's own, and Java reads the same ids from them."""

import pytest

from interop import twins
from interop.arrow_rows import arrow_rows
from interop.twins import Case
from polynya.model.schema import ROW_ID, SEQUENCE_NUMBER
from rows import render_rows

COLUMNS = {"k": "INT", "v": "STRING", "p": "INT"}
COMMITS = [  # of one partition each: Java does not tell which of several gets the lower ids
    [[1, "a", 1], [2, None, 1], [3, "a longer text for a larger file", 1]],
    [[4, "b", 1]],
    [[5, "two", 2], [6, "rows", 2]],
    [[7, None, 2]],
]
OPTIONS = {
    "parquet": {},
    "orc": {"file.format": "orc"},
    "no statistics": {"metadata.stats-mode": "none"},
    "counts": {"metadata.stats-mode": "counts", "metadata.stats-dense-store": "false"},
    "first column": {"metadata.stats-keep-first-n-columns": "1"},
    "index": {"file-index.bloom-filter.columns": "k,v"},
    "vectors": {"deletion-vectors.enabled": "true"},
}


def tracked_rows(table):
    fields = (*table.schema.fields, ROW_ID, SEQUENCE_NUMBER)
    return render_rows(table.refresh().system("row_tracking"), fields)


@pytest.mark.parametrize("options", OPTIONS)
def test_a_compacted_table_is_like_one_that_java_compacted(java, tmp_path, options):
    tracked = {"row-tracking.enabled": "true", "compaction.min.file-num": "2"}
    case = Case(COLUMNS, COMMITS, partition_by=["p"], options=tracked | OPTIONS[options])
    ours, twin = twins.create_ours(tmp_path, case), twins.create_twin(java, tmp_path, case)
    twins.write_ours(ours, case)
    twins.write_twin(twin, case)
    if options == "vectors":
        ours.delete("k = 3")
        twin.ask("delete", where=[["=", "k", 3]])
    before = tracked_rows(ours)
    ours.compact()
    twin.ask("compact")
    theirs = twins.polynya.open_table(tmp_path / "java.db" / "t")
    assert tracked_rows(ours) == before == twin.rows("row_tracking") == tracked_rows(theirs)
    assert java.table(tmp_path / "ours.db" / "t").rows("row_tracking") == before
    assert twins.entries_of(ours.refresh()) == twins.entries_of(theirs)
    assert twins.parquet_columns(tmp_path / "ours.db" / "t") == twins.parquet_columns(tmp_path / "java.db" / "t")


def test_java_compacts_what_polynya_changed_and_the_ids_stay(java, tmp_path):
    options = {"row-tracking.enabled": "true", "compaction.min.file-num": "2"}
    case = Case(COLUMNS, COMMITS, options=options)
    ours, theirs = twins.create_ours(tmp_path, case), java.table(tmp_path / "ours.db" / "t")
    twins.write_ours(ours, case)
    changed = ours.update({"v": "'new'"}, "k in (2, 6)").snapshot_id
    ours.delete("k = 5")
    ours.write(arrow_rows([[8, "later", 1]], case.fields))
    before = tracked_rows(ours)
    assert [row for row in before if row[1] == "new"] == [[2, "new", 1, 1, changed], [6, "new", 2, 5, changed]]
    assert theirs.rows("row_tracking") == before
    theirs.ask("alter", changes=[["add", "added", "BIGINT"], ["rename", "p", "q"]])
    theirs.ask("compact")
    after = [[*row[:3], None, *row[3:]] for row in before]
    assert theirs.rows("row_tracking") == tracked_rows(ours.refresh()) == after
    ours.update({"added": 7}, "k = 8")
    ours.compact(full=True)
    after[-1][3], after[-1][-1] = 7, ours.refresh().snapshot.id
    assert theirs.rows("row_tracking") == tracked_rows(ours.refresh())
