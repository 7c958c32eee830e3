"""Row ids and sequence numbers that a commit gives."""

from commit_cases import append_of, author, compact_of, deleted, files_of, latest, new_file, new_target, table_schema
from polynya.table import entries, row_ids
from polynya.table.commit import commit
from polynya.table.commit_options import CommitOptions

TRACKED = {"row-tracking.enabled": "true"}
OPTIONS = CommitOptions.of(TRACKED)


def assigned(*files, next_row_id=0, snapshot_id=5, options=OPTIONS):
    table, following = row_ids.assign(files_of(*files), options, next_row_id, snapshot_id)
    return table.to_pylist(), following


def test_new_files_get_ranges_that_follow_each_other():
    rows, following = assigned(new_file("a", rows=3), new_file("b", rows=4), next_row_id=10)
    assert [row["first_row_id"] for row in rows] == [10, 13]
    assert following == 17


def test_files_of_a_compaction_and_files_with_ids_of_their_own_get_none():
    own = new_file("own", rows=5, write_cols=["v", "_ROW_ID"])
    lookalike = new_file("lookalike", rows=2, write_cols=["MY_ROW_ID_2"])
    kept = new_file("kept", rows=9, first_row_id=3)
    rows, following = assigned(new_file("c", rows=3, file_source=1), own, lookalike, kept, deleted(new_file("d")))
    assert [row["first_row_id"] for row in rows] == [None, None, 0, 3, None]
    assert following == 2


def test_unset_sequence_numbers_become_the_snapshot_id():
    numbers = [(0, 7), (3, 0), (3, 7)]
    files = [new_file(f"f{a}{b}", min_sequence_number=a, max_sequence_number=b) for a, b in numbers]
    rows, _ = assigned(*files)
    assert [(row["min_sequence_number"], row["max_sequence_number"]) for row in rows] == [(5, 5), (3, 5), (3, 7)]


def test_tables_without_row_tracking_are_left_alone():
    table = files_of(new_file("a"))
    assert row_ids.assign(table, CommitOptions.of({}), 0, 1) == (table, 0)


def test_next_row_id_goes_on_through_compactions_and_races():
    target = new_target(schema=table_schema(options=TRACKED))
    commit(target, append_of(new_file("a", rows=3)), author("1"))
    found = entries.read_live(target.root, latest(target)).to_pylist()[0]
    commit(target, compact_of(deleted(found), found | {"file_name": "b", "kind": 0, "file_source": 1}), author("2"))
    commit(target, append_of(new_file("c", rows=2)), author("3"))
    live = {row["file_name"]: row["first_row_id"] for row in entries.read_live(target.root, latest(target)).to_pylist()}
    assert live == {"b": 0, "c": 3}
    assert latest(target).next_row_id == 5
