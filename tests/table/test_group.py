"""Group commit: threads share snapshots, and each gets its own answer."""

import dataclasses
import threading

import pytest

from commit_cases import append_of, author, compact_of, deleted, latest, live_names, new_file, new_target
from fault_storage import FaultPlan, FaultStorage, GateStorage
from polynya.errors import CommitUnknownError, ConflictError, StorageError
from polynya.paimon import schema_file
from polynya.paimon.snapshot import CommitKind
from polynya.table import group
from polynya.table.commit import commit
from polynya.table.edit import Change, Overwrite
from polynya.table.history import TableRoot


def gated(target, fault=None):
    return dataclasses.replace(target, root=TableRoot(GateStorage(target.root.storage, fault)))


def commit_in_threads(target, changes):
    """Commit all changes at once, the first alone and the others behind it; return their answers or errors.

    A list of targets is one for each change.
    """
    targets = target if isinstance(target, list) else [target] * len(changes)
    target, answers = targets[0], [None] * len(changes)

    def work(index):
        try:
            answers[index] = group.commit(targets[index], changes[index], None)
        except (ConflictError, CommitUnknownError, StorageError) as error:
            answers[index] = error

    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(changes))]
    threads[0].start()
    gate = target.root.storage
    assert gate.reached.wait(20)
    for thread in threads[1:]:
        thread.start()
    turns = group.TURNS.of(target.root)
    while turns.waiting_count < len(changes) - 1:
        threading.Event().wait(0.001)
    gate.open.set()
    for thread in threads:
        thread.join(30)
    return answers


def test_64_threads_share_two_snapshots_and_each_gets_its_own_commit():
    target = new_target()
    changes = [append_of(*(new_file(f"f{n}-{m}", rows=n + 1) for m in range(n % 3 + 1))) for n in range(64)]
    answers = commit_in_threads(gated(target), changes)
    assert [one.added_files for one in answers] == [n % 3 + 1 for n in range(64)]
    assert [one.record_count for one in answers] == [(n % 3 + 1) * (n + 1) for n in range(64)]
    assert [one.snapshot_id for one in answers] == [1] + [2] * 63
    assert {one.commit_kind for one in answers} == {CommitKind.APPEND}
    assert len(live_names(target)) == len(set(live_names(target))) == sum(n % 3 + 1 for n in range(64))


def test_one_that_does_not_fit_does_not_fail_the_others():
    target = new_target()
    commit(target, append_of(new_file("old", total_buckets=2)), author("old"))
    rescale = Change(append_of(new_file("new", total_buckets=4)).append, overwrite=Overwrite())
    commit(target, rescale, author("rescale"))
    fits = append_of(new_file("fits", 9), based_on=1)
    does_not = append_of(new_file("bad", total_buckets=2), based_on=1)
    answers = commit_in_threads(gated(target), [append_of(new_file("first", 9)), fits, does_not])
    assert answers[1].added_files == 1
    assert isinstance(answers[2], ConflictError)
    assert live_names(target) == ["first", "fits", "new"]


def test_an_unknown_outcome_is_told_to_everybody():
    target = new_target()
    answers = commit_in_threads(
        gated(target, StorageError("no answer")), [append_of(new_file(f"f{n}")) for n in range(4)]
    )
    assert [type(one) for one in answers] == [CommitUnknownError] * 4


def test_an_interrupted_leader_leaves_the_others_unknown_and_the_queue_free():
    target = new_target()
    with pytest.raises(KeyboardInterrupt):
        group.commit(interrupting(target), append_of(new_file("a")), None)
    assert group.commit(target, append_of(new_file("b")), None).snapshot_id == 1


def interrupting(target):
    class Interrupting(FaultStorage):
        def put_new(self, name, data):
            raise KeyboardInterrupt

    return dataclasses.replace(target, root=TableRoot(Interrupting(target.root.storage, FaultPlan())))


def test_only_plain_appends_without_an_author_are_shared():
    target = new_target()
    assert group.commit(target, append_of(new_file("a")), author("me", 3)).snapshot_id == 1
    assert latest(target).commit_user == "me"
    made = group.commit(target, compact_of(deleted(new_file("a")), new_file("b", file_source=1)), None)
    assert made.commit_kind is CommitKind.COMPACT
    assert group.commit(target, Change(), None).snapshot_id is None


def test_members_with_different_schemas_are_committed_apart():
    target = new_target()
    gate = gated(target)
    evolved = dataclasses.replace(gate, schema=dataclasses.replace(target.schema, id=1))
    target.root.storage.put("schema/schema-1", schema_file.encode(evolved.schema))
    targets = [gate, gate, evolved, gate, evolved]
    answers = commit_in_threads(targets, [append_of(new_file(f"f{n}", rows=n + 1)) for n in range(5)])
    assert [one.record_count for one in answers] == [1, 2, 3, 4, 5]
    ids = [one.snapshot_id for one in answers]
    assert ids[0] == 1
    assert ids[1] == ids[3]
    assert ids[2] == ids[4]
    assert {ids[1], ids[2]} == {2, 3}
    assert live_names(target) == [f"f{n}" for n in range(5)]


def test_branches_and_tables_do_not_share_a_queue():
    target, other = new_target(), new_target()
    gate = gated(target)
    waiting = threading.Thread(target=group.commit, args=(gate, append_of(new_file("a")), None))
    waiting.start()
    assert gate.root.storage.reached.wait(20)
    branch = dataclasses.replace(target, root=TableRoot(target.root.storage, "b"))
    target.root.storage.put("branch/branch-b/schema/schema-0", target.root.storage.read("schema/schema-0"))
    assert group.commit(branch, append_of(new_file("b")), None).snapshot_id == 1
    assert group.commit(other, append_of(new_file("c")), None).snapshot_id == 1
    gate.root.storage.open.set()
    waiting.join(30)
    assert (live_names(target), live_names(branch), live_names(other)) == (["a"], ["b"], ["c"])
