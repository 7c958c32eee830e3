"""One commit: its kinds, its counts, what it carries over, and what it does when it is not alone."""

import dataclasses

import pyarrow as pa
import pytest

from commit_cases import (
    Clock,
    append_of,
    author,
    compact_of,
    deleted,
    edit_of,
    files_of,
    latest,
    live_names,
    names_in,
    new_file,
    new_target,
    partition_row,
    store_files,
    table_schema,
    vectors,
)
from fault_storage import FaultPlan, FaultStorage
from polynya.errors import CommitUnknownError, ConflictError, InvalidInputError, NotFoundError, StorageError
from polynya.paimon import layout
from polynya.paimon import snapshot as snapshots
from polynya.paimon.snapshot import CommitKind
from polynya.storage import MemoryStorage
from polynya.table import check, entries, history
from polynya.table import commit as commits
from polynya.table.commit import Commit, Target, commit
from polynya.table.edit import Change, Edit, Overwrite
from polynya.table.history import TableRoot


@pytest.fixture
def target():
    return new_target()


def kinds(target):
    return [one.commit_kind for one in reversed(list(history.newest_first(target.root, latest(target).id)))]


class RacingStorage(FaultStorage):
    """Lets a rival act just before a snapshot is created, as often as there are acts."""

    def __init__(self, inner, rivals):
        super().__init__(inner, FaultPlan())
        self.rivals = list(rivals)

    def put_new(self, name, data):
        if self.rivals:
            self.rivals.pop(0)()
        super().put_new(name, data)


def racing(target, *rivals):
    """The same table, where others commit just before this one's attempts."""
    return dataclasses.replace(target, root=TableRoot(RacingStorage(target.root.storage, rivals)))


def append(target, *files, by="rival"):
    return commit(target, append_of(*files), author(by))


# Kinds, order and counts


def test_an_append_is_one_snapshot_of_kind_append(target):
    made = commit(target, append_of(new_file("a", rows=3), new_file("b", rows=4)), author())
    assert made == Commit(1, CommitKind.APPEND, 2, 0, 7)
    assert (latest(target).total_record_count, latest(target).delta_record_count) == (7, 7)


def test_append_comes_before_compact(target):
    append(target, new_file("a", rows=2))
    change = Change(
        edit_of(new_file("b")), edit_of(deleted(new_file("a", rows=2)), new_file("c", rows=2, file_source=1))
    )
    made = commit(target, change, author("me", 5))
    assert made.snapshot_id == 2
    assert kinds(target) == ["APPEND", "APPEND", "COMPACT"]
    assert live_names(target) == ["b", "c"]
    assert {one.commit_identifier for one in history.newest_first(target.root, 3) if one.id > 1} == {5}


def test_an_append_part_that_deletes_is_an_overwrite(target):
    append(target, new_file("a"))
    made = commit(target, append_of(deleted(new_file("a")), new_file("b")), author())
    assert made.commit_kind is CommitKind.OVERWRITE
    assert live_names(target) == ["b"]


def test_changed_deletion_vectors_make_an_overwrite(target):
    append(target, new_file("a"))
    made = commit(target, Change(Edit(index=vectors("i1", "a"))), author())
    assert made.commit_kind is CommitKind.OVERWRITE


def test_statistics_are_an_analyze_commit_without_a_delta(target):
    append(target, new_file("a", rows=2))
    made = commit(target, Change(statistics="stat-1"), author())
    assert (made.commit_kind, latest(target).statistics, made.record_count) == (CommitKind.ANALYZE, "stat-1", 0)


def test_record_counts_go_down_with_deleted_files(target):
    append(target, new_file("a", rows=10), new_file("b", rows=5))
    made = commit(target, append_of(deleted(new_file("a", rows=10)), new_file("c", rows=1)), author())
    assert (made.record_count, made.added_files, made.deleted_files) == (-9, 1, 1)
    assert latest(target).total_record_count == 6


def test_changelog_files_are_listed_apart_and_counted(target):
    commit(target, Change(Edit(files_of(new_file("a")), files_of(new_file("log", rows=4)))), author())
    made = latest(target)
    assert (made.changelog_record_count, made.total_record_count) == (4, 1)
    listed = entries.read_entries(target.root, entries.read_lists(target.root, [made.changelog_manifest_list]))
    assert listed["file_name"].to_pylist() == ["log"]


def test_an_empty_commit_makes_no_snapshot_unless_asked(target):
    assert commit(target, Change(), author()) == Commit()
    assert latest(target) is None
    assert commit(target, Change(), author(), allow_empty=True).snapshot_id == 1
    assert live_names(target) == []


def test_the_first_snapshot_has_an_empty_base_list_that_exists(target):
    append(target, new_file("a"))
    assert entries.read_lists(target.root, [latest(target).base_manifest_list]).num_rows == 0


# What is carried over


def test_index_statistics_watermark_and_row_ids_are_carried_over():
    target = new_target(schema=table_schema(options={"row-tracking.enabled": "true"}))
    append(target, new_file("a", rows=3))
    commit(target, Change(Edit(index=vectors("i1", "a"))), author("dv", watermark=50))
    commit(target, Change(statistics="stat-1"), author("analyze"))
    append(target, new_file("b"))
    made = latest(target)
    assert made.index_manifest is not None
    assert (made.statistics, made.watermark, made.next_row_id) == ("stat-1", 50, 4)


def test_a_watermark_never_falls(target):
    commit(target, append_of(new_file("a")), author("a", watermark=9))
    commit(target, append_of(new_file("b")), author("b", watermark=4))
    assert latest(target).watermark == 9


def test_statistics_of_another_schema_are_not_carried_over(target):
    commit(target, Change(statistics="stat-1"), author())
    storage = target.root.storage
    storage.put("schema/schema-1", storage.read("schema/schema-0").replace(b'"id" : 0', b'"id" : 1', 1))
    append(target, new_file("a"))
    assert (latest(target).schema_id, latest(target).statistics) == (1, None)


def test_time_does_not_run_backwards_along_the_history():
    clock = Clock()
    target = new_target(clock=clock)
    append(target, new_file("a"))
    first = latest(target).time_ms
    clock.time_ms -= 3_600_000
    append(target, new_file("b"))
    assert latest(target).time_ms == first


def test_properties_and_operation_are_written(target):
    commit(target, append_of(new_file("a"), operation="WRITE"), author(properties={"job": "7"}))
    assert (latest(target).properties, latest(target).operation) == ({"job": "7"}, "WRITE")


# Races


def test_commit_retries_after_losing_the_race(target):
    raced = racing(target, lambda: append(target, new_file("b")))
    made = commit(raced, append_of(new_file("a")), author("me"))
    assert made.snapshot_id == 2
    assert live_names(target) == ["a", "b"]


def test_a_lost_race_costs_only_the_two_lists(target):
    append(target, new_file("z"))
    plan = FaultPlan()
    rivals = [lambda n=n: append(target, new_file(f"b{n}"), by=f"rival{n}") for n in range(3)]
    raced = racing(target, *rivals)
    raced.root.storage.plan = plan
    commit(raced, append_of(new_file("a")), author("me"))
    written = [
        name.split("/")[-1].rsplit("-", 6)[0] for verb, name in plan.calls if verb == "put" and "manifest" in name
    ]
    assert sorted(written) == ["manifest"] + ["manifest-list"] * 8


def test_a_commit_leaves_nothing_of_its_lost_attempts(target):
    commit(racing(target, lambda: append(target, new_file("b"))), append_of(new_file("a")), author("me"))
    assert names_in(target.root.storage, "manifest") == referred(target)


def test_retries_back_off_with_doubled_and_capped_waits():
    clock = Clock()
    options = {"commit.min-retry-wait": "10 ms", "commit.max-retry-wait": "40 ms"}
    target = new_target(schema=table_schema(options=options), clock=clock)
    rivals = [lambda n=n: append(target, new_file(f"b{n}"), by=f"rival{n}") for n in range(5)]
    commit(racing(target, *rivals), append_of(new_file("a")), author("me"))
    assert [10 <= 1000 * one <= 12 for one in clock.slept_s[:1]] == [True]
    assert all(40 <= 1000 * one <= 48 for one in clock.slept_s[2:])


def test_a_commit_gives_up_after_its_retries_and_cleans_up():
    target = new_target(schema=table_schema(options={"commit.max-retries": "2"}))
    rivals = [lambda n=n: append(target, new_file(f"b{n}"), by=f"rival{n}") for n in range(9)]
    with pytest.raises(ConflictError, match=r"lost the race 3 times.*'commit.max-retries' \(2\)"):
        commit(racing(target, *rivals), append_of(new_file("a")), author("me"))
    assert "a" not in live_names(target)
    assert names_in(target.root.storage, "manifest") == referred(target)


def test_a_commit_gives_up_after_its_timeout():
    target = new_target(schema=table_schema(options={"commit.timeout": "1 ms"}))
    rivals = [lambda n=n: append(target, new_file(f"b{n}"), by=f"rival{n}") for n in range(9)]
    with pytest.raises(ConflictError, match="lost the race"):
        commit(racing(target, *rivals), append_of(new_file("a")), author("me"))


def referred(target):
    """The metadata files that the snapshots refer to."""
    found = set()
    for one in history.newest_first(target.root, latest(target).id):
        lists = [one.base_manifest_list, one.delta_manifest_list, one.changelog_manifest_list]
        lists = [name for name in lists if name is not None]
        found |= {*lists, *entries.read_lists(target.root, lists)["file_name"].to_pylist()}
        found |= {one.index_manifest} - {None}
    return {layout.manifest_path(name) for name in found}


# Exactly once


def test_the_same_user_and_identifier_is_published_once(target):
    first = commit(target, append_of(new_file("a", rows=2)), author("job", 1))
    append(target, new_file("b"))
    assert commit(target, append_of(new_file("a", rows=2)), author("job", 1)) == first
    assert latest(target).id == 2


def test_a_repeat_after_the_append_part_publishes_only_the_compact_part(target):
    append(target, new_file("a"))
    commit(target, append_of(new_file("b")), author("job", 1))
    change = Change(edit_of(new_file("b")), edit_of(deleted(new_file("a")), new_file("c", file_source=1)))
    assert commit(target, change, author("job", 1)).snapshot_id == 2
    assert kinds(target) == ["APPEND", "APPEND", "COMPACT"]


def test_a_twin_that_publishes_in_between_is_found(target):
    twin = lambda: commit(target, append_of(new_file("a")), author("job", 1))  # noqa: E731
    made = commit(racing(target, twin), append_of(new_file("a")), author("job", 1))
    assert (made.snapshot_id, latest(target).id) == (1, 1)


def test_filter_committed_keeps_what_the_user_has_not_committed(target):
    for identifier in (1, 2, 3):
        commit(target, append_of(new_file(f"a{identifier}")), author("job", identifier))
    append(target, new_file("b"))
    assert commits.filter_committed(target.root, "job", [5, 2, 3, 4]) == [4, 5]
    assert commits.filter_committed(target.root, "other", [2, 1]) == [1, 2]


def test_filter_committed_does_not_take_a_batch_commit_for_the_newest_identifier(target):
    commit(target, append_of(new_file("a")), author("job", 1))
    commit(target, append_of(new_file("b")), author("job"))
    assert commits.filter_committed(target.root, "job", [1, 2]) == [2]


def test_an_identifier_behind_a_larger_one_of_its_user_is_refused_or_found(target):
    commit(target, append_of(new_file("a")), author("job", 3))
    commit(target, append_of(new_file("b")), author("job", 5))
    with pytest.raises(InvalidInputError, match="above 5, which the user committed in snapshot 2; nothing was publish"):
        commit(target, append_of(new_file("c")), author("job", 4))
    with pytest.raises(InvalidInputError, match="above 5"):
        commit(target, append_of(new_file("c")), author("job", 1))
    assert commit(target, append_of(new_file("b")), author("job", 5)).snapshot_id == 2
    assert commit(target, append_of(new_file("a")), author("job", 3)).snapshot_id == 1
    assert live_names(target) == ["a", "b"]


def test_a_repeat_of_a_commit_that_may_have_expired_is_unknown(target):
    commit(target, append_of(new_file("a")), author("job", 3))
    commit(target, append_of(new_file("b")), author("job", 5))
    target.root.storage.delete(["snapshot/snapshot-1"])
    with pytest.raises(CommitUnknownError, match="its snapshot have expired"):
        commit(target, append_of(new_file("a")), author("job", 3))
    assert live_names(target) == ["a", "b"]


def test_a_larger_identifier_that_wins_the_race_is_seen(target):
    other = lambda: commit(target, append_of(new_file("b")), author("job", 2))  # noqa: E731
    with pytest.raises(InvalidInputError, match="above 2"):
        commit(racing(target, other), append_of(new_file("a")), author("job", 1))
    assert live_names(target) == ["b"]


# Unknown outcomes and failures at every call


def test_a_create_that_reports_a_failure_after_the_fact_is_recognised(target):
    class Forgetful(FaultStorage):
        def put_new(self, name, data):
            super().put_new(name, data)
            raise StorageError("the connection broke")

    forgetful = dataclasses.replace(target, root=TableRoot(Forgetful(target.root.storage, FaultPlan())))
    assert commit(forgetful, append_of(new_file("a")), author()).snapshot_id == 1
    assert live_names(target) == ["a"]


def test_a_store_that_never_answers_leaves_the_outcome_unknown_and_deletes_nothing(target):
    class Silent(FaultStorage):
        def put_new(self, name, data):
            raise StorageError("no answer")

    silent = dataclasses.replace(target, root=TableRoot(Silent(target.root.storage, FaultPlan())))
    with pytest.raises(CommitUnknownError, match=r"snapshot 1 .*look for commit user me"):
        commit(silent, append_of(new_file("a")), author("me"))
    assert len(names_in(target.root.storage, "manifest")) == 3


def test_a_snapshot_that_cannot_be_read_back_leaves_the_outcome_unknown(target):
    target.root.storage.put("snapshot/LATEST", b"0")
    raced = racing(target, lambda: target.root.storage.put("snapshot/snapshot-1", b""))
    with pytest.raises(CommitUnknownError, match="cannot be read"):
        commit(raced, append_of(new_file("a")), author("me"))


def test_a_snapshot_that_expired_before_it_was_looked_up_is_not_created_again(target):
    def overtaken():
        for id in (1, 2):
            append(target, new_file(f"b{id}"), by=f"rival{id}")
        target.root.storage.delete(["snapshot/snapshot-1"])
        raise StorageError("no answer")

    with pytest.raises(CommitUnknownError, match="gone again"):
        commit(racing(target, overtaken), append_of(new_file("a")), author("me"))
    assert history.snapshot_ids(target.root) == [2]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("repeats", [False, True], ids=["batch", "numbered"])
def test_a_failure_at_any_call_is_success_or_a_clean_error_or_unknown(after, repeats):
    who = author("job", 7) if repeats else author("job")
    total = len(_faulty_commit(0, after, who)[2].calls)
    assert total > 8
    outcomes = set()
    for fail_at in range(1, total + 1):
        target, error, _ = _faulty_commit(fail_at, after, who)
        outcomes.add(type(error))
        visible = "new" in live_names(target)
        if error is None:
            assert visible
        elif not isinstance(error, CommitUnknownError):
            assert not visible, (fail_at, error)
        if repeats:
            commit(target, _replacing(), who)
        assert live_names(target).count("new") <= 1
        assert not repeats or live_names(target) == ["new", "other"]
        assert latest(target).id <= 3
    assert outcomes <= {type(None), StorageError, CommitUnknownError}


def _replacing():
    return append_of(deleted(new_file("old")), new_file("new"))


def _faulty_commit(fail_at, after, who):
    """A commit that replaces a file, on a table where merging is due, with one failing call."""
    target = new_target(schema=table_schema(options={"manifest.merge-min-count": "2"}))
    append(target, new_file("old"))
    append(target, new_file("other"))
    plan = FaultPlan(fail_at, after)
    faulty = dataclasses.replace(target, root=TableRoot(FaultStorage(target.root.storage, plan)))
    try:
        commit(faulty, _replacing(), who)
    except (StorageError, CommitUnknownError, ConflictError) as error:
        return target, error, plan
    return target, None, plan


def test_a_compact_part_that_fails_behind_its_append_part_is_not_a_clean_error(target):
    append(target, new_file("a"))
    change = Change(edit_of(new_file("b")), edit_of(deleted(new_file("gone")), new_file("c", file_source=1)))
    with pytest.raises(CommitUnknownError, match=r"snapshot 2 \(APPEND\) is published, its COMPACT part is not"):
        commit(target, change, author("me"))
    assert live_names(target) == ["a", "b"]


def test_an_interrupt_deletes_nothing(target):
    def interrupt():
        raise KeyboardInterrupt

    before = names_in(target.root.storage)
    with pytest.raises(KeyboardInterrupt):
        commit(racing(target, interrupt), append_of(new_file("a")), author())
    assert len(names_in(target.root.storage) - before) == 3


def test_a_hint_that_cannot_be_written_does_not_fail_the_commit(target):
    class NoHints(FaultStorage):
        def put(self, name, data):
            if name.endswith("LATEST"):
                raise StorageError("no space left")
            super().put(name, data)

    made = commit(
        dataclasses.replace(target, root=TableRoot(NoHints(target.root.storage, FaultPlan()))),
        append_of(new_file("a")),
        author(),
    )
    assert made.snapshot_id == 1


# Conflicts


def test_a_file_that_is_gone_is_a_conflict_that_says_by_whom(target):
    append(target, new_file("a", 7))
    commit(target, compact_of(deleted(new_file("a", 7)), new_file("b", 7, file_source=1)), author("compactor-1"))
    with pytest.raises(ConflictError) as caught:
        commit(target, compact_of(deleted(new_file("a", 7)), new_file("c", 7, file_source=1)), author("compactor-2"))
    message = str(caught.value)
    for part in (
        "partition p=7",
        "bucket 0",
        "data file a",
        "snapshot 2",
        "COMPACT",
        "compactor-1",
        "read the table again",
    ):
        assert part in message
    assert live_names(target) == ["b"]


def test_appends_never_conflict_with_appends_nor_with_compactions_of_other_files(target):
    append(target, new_file("a"), new_file("b"))
    compaction = lambda: commit(  # noqa: E731
        target, compact_of(deleted(new_file("a")), new_file("c", file_source=1)), author("compactor")
    )
    commit(racing(target, compaction), append_of(new_file("d")), author("me"))
    assert live_names(target) == ["b", "c", "d"]


def test_a_compaction_that_lost_against_an_append_is_published_on_top_of_it(target):
    append(target, new_file("a"), new_file("b"))
    raced = racing(target, lambda: append(target, new_file("d"), by="writer"))
    change = compact_of(deleted(new_file("a")), deleted(new_file("b")), new_file("c", rows=2, file_source=1))
    assert commit(raced, change, author("compactor")).snapshot_id == 3
    assert live_names(target) == ["c", "d"]


def test_overlapping_keys_on_one_level_are_a_conflict():
    target = new_target(schema=table_schema(primary_key=["p", "k"]))
    append(target, new_file("a", keys=(1, 9), level=5, total_buckets=2))
    with pytest.raises(ConflictError, match="overlaps another file of its level"):
        commit(target, compact_of(new_file("b", keys=(9, 12), level=5, total_buckets=2)), author())
    commit(target, compact_of(new_file("b", keys=(10, 12), level=5, total_buckets=2)), author())
    commit(target, append_of(new_file("c", keys=(0, 99), total_buckets=2)), author("level 0 may overlap"))
    assert live_names(target) == ["a", "b", "c"]


def test_another_bucket_count_is_a_conflict_that_names_the_partition(target):
    append(target, new_file("a", 3, total_buckets=2))
    with pytest.raises(ConflictError, match=r"partition p=3: the files are of 2 and of 4 buckets; overwrite"):
        commit(target, compact_of(new_file("b", 3, total_buckets=4)), author())


def test_an_append_planned_before_a_rescale_is_a_conflict(target):
    append(target, new_file("a", total_buckets=2))
    rescale = Change(edit_of(new_file("b", total_buckets=4)), overwrite=Overwrite())
    commit(target, rescale, author("rescaler"))
    with pytest.raises(ConflictError, match="of 2 and of 4 buckets"):
        commit(target, append_of(new_file("c", total_buckets=2), based_on=1), author())


def test_an_append_planned_on_an_expired_snapshot_is_checked_and_fits(target):
    for name in "abc":
        append(target, new_file(name, total_buckets=2))
    target.root.storage.delete(["snapshot/snapshot-1", "snapshot/snapshot-2"])
    assert commit(target, append_of(new_file("d", total_buckets=2), based_on=1), author()).snapshot_id == 4


def test_an_append_of_a_changelog_alone_needs_no_buckets(target):
    append(target, new_file("a"))
    commit(target, Change(Edit(changelog=files_of(new_file("log"))), based_on=0), author())
    assert latest(target).changelog_record_count == 1


def test_a_file_that_is_added_twice_is_refused(target):
    with pytest.raises(InvalidInputError, match="adds a file twice"):
        commit(target, append_of(new_file("a"), new_file("a")), author())
    append(target, new_file("a"))
    with pytest.raises(ConflictError, match="is in the table already"):
        commit(target, compact_of(new_file("a")), author())


# Deletion vectors


def test_deletion_vectors_of_a_file_that_is_gone_are_a_conflict(target):
    append(target, new_file("a"))
    commit(target, compact_of(deleted(new_file("a")), new_file("b", file_source=1)), author("compactor"))
    with pytest.raises(ConflictError, match=r"data file a, of which rows are deleted.*snapshot 2 .*compactor"):
        commit(target, Change(Edit(index=vectors("i1", "a"))), author())


def test_two_deletes_on_one_file_conflict(target):
    append(target, new_file("a"))
    commit(target, Change(Edit(index=vectors("i1", "a"))), author("first"))
    with pytest.raises(ConflictError, match=r"deletion vectors of data file a .*snapshot 2 .*first"):
        commit(target, Change(Edit(index=vectors("i2", "a"))), author("second"))


def test_an_index_file_that_was_replaced_cannot_be_replaced_again(target):
    append(target, new_file("a"))
    commit(target, Change(Edit(index=vectors("i1", "a"))), author("1"))
    both = [vectors("i1", "a", kind=1), vectors("i2", "a")]
    commit(target, Change(Edit(index=pa.concat_tables(both))), author("2"))
    with pytest.raises(ConflictError, match="index file i1 was replaced"):
        commit(target, Change(Edit(index=pa.concat_tables(both))), author("3"))


def test_a_compaction_does_not_bring_back_rows_that_were_deleted_meanwhile(target):
    append(target, new_file("a"))
    compaction = compact_of(deleted(new_file("a")), new_file("b", file_source=1))
    raced = racing(target, lambda: commit(target, Change(Edit(index=vectors("i1", "a"))), author("deleter")))
    with pytest.raises(ConflictError, match="data file a, of which rows are deleted"):
        commit(raced, compaction, author("compactor"))
    assert live_names(target) == ["a"]


# Overwrites


def test_a_whole_table_overwrite_replaces_what_is_there_at_publication(target):
    append(target, new_file("a", 1))
    raced = racing(target, lambda: append(target, new_file("late", 2)))
    made = commit(raced, Change(edit_of(new_file("new", 3)), overwrite=Overwrite()), author())
    assert live_names(target) == ["new"]
    assert (made.added_files, made.deleted_files) == (1, 2)


def test_a_dynamic_overwrite_leaves_other_partitions_alone(target):
    append(target, new_file("a1", 1), new_file("a2", 2))
    raced = racing(target, lambda: append(target, new_file("late1", 1), new_file("late2", 2)))
    commit(raced, Change(edit_of(new_file("new", 1)), overwrite=Overwrite((partition_row(1),))), author())
    assert live_names(target) == ["a2", "late2", "new"]


def test_a_static_overwrite_with_nothing_new_drops_the_partition(target):
    append(target, new_file("a1", 1), new_file("a2", 2))
    commit(target, Change(overwrite=Overwrite(spec={"p": pa.scalar(1, pa.int32())})), author())
    assert live_names(target) == ["a2"]
    assert latest(target).commit_kind is CommitKind.OVERWRITE


def test_a_dynamic_overwrite_without_files_makes_no_snapshot(target):
    append(target, new_file("a"))
    assert commit(target, Change(overwrite=Overwrite(())), author()) == Commit()


def test_a_new_file_outside_of_what_is_replaced_is_refused(target):
    change = Change(edit_of(new_file("new", 2)), overwrite=Overwrite((partition_row(1),)))
    with pytest.raises(InvalidInputError, match=r"partition p=2/?, which is not among"):
        commit(target, change, author())


def test_an_overwrite_takes_the_deletion_vectors_of_its_partitions_along(target):
    append(target, new_file("a", 1), new_file("b", 2))
    commit(target, Change(Edit(index=vectors("i1", "a"))), author("d1"))
    commit(target, Change(Edit(index=vectors("i2", "b", p=2))), author("d2"))
    commit(target, Change(edit_of(new_file("new", 1)), overwrite=Overwrite((partition_row(1),))), author())
    assert entries.read_index(target.root, latest(target))["file_name"].to_pylist() == ["i2"]


def test_an_overwrite_leaves_postponed_files_alone(target):
    append(target, new_file("a"), new_file("later", bucket=-2, total_buckets=-2))
    commit(target, Change(edit_of(new_file("new")), overwrite=Overwrite()), author())
    assert live_names(target) == ["later", "new"]


# A changed schema


def test_a_writer_with_an_old_schema_commits_under_the_latest_one(target):
    storage = target.root.storage
    storage.put("schema/schema-1", storage.read("schema/schema-0").replace(b'"id" : 0', b'"id" : 1', 1))
    append(target, new_file("a"))
    assert latest(target).schema_id == 1
    assert entries.read_live(target.root, latest(target))["schema_id"].to_pylist() == [0]


def test_a_sound_table_after_everything(target):
    table = files_of(new_file("a"), new_file("b", 2))
    store_files(target, table)
    commit(target, Change(Edit(table)), author())
    assert check.check(target.root, target.schema, latest(target)).is_sound


def test_snapshots_are_numbered_without_gaps_from_one(target):
    for number in range(4):
        append(target, new_file(f"f{number}"), by=f"u{number}")
    assert history.snapshot_ids(target.root) == [1, 2, 3, 4]
    stored = target.root.storage.read("snapshot/snapshot-4")
    assert snapshots.decode(stored, name="s").next_row_id == 0


def test_a_table_in_a_store_that_is_gone_says_so():
    target = Target(TableRoot(MemoryStorage("memory://gone")), table_schema())
    with pytest.raises(NotFoundError):
        history.read_snapshot(target.root, 1)
