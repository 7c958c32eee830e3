"""Finding snapshots: hints are checked, listings may be late."""

import pytest

from commit_cases import append_of, author, new_file, new_target
from fault_storage import FaultPlan, FaultStorage
from polynya.errors import NotFoundError, StorageError
from polynya.table import history
from polynya.table.commit import commit
from polynya.table.history import TableRoot


def grown(count):
    target = new_target()
    for number in range(count):
        commit(target, append_of(new_file(f"f{number}")), author(f"u{number}"))
    return target


@pytest.fixture(scope="module")
def forty():
    return grown(40)


@pytest.mark.parametrize("hint", [None, b"40", b"39", b"3", b"41", b"999", b"0", b"-1", b"", b"damaged", b"1\n"])
def test_the_latest_snapshot_is_found_whatever_the_hint_says(forty, hint):
    storage = forty.root.storage
    storage.delete(["snapshot/LATEST"]) if hint is None else storage.put("snapshot/LATEST", hint)
    assert history.find_latest_id(forty.root) == 40


def test_a_late_listing_does_not_hide_what_comes_next(forty):
    class Late(FaultStorage):
        def list(self, folder, *, recursive=False):
            for page in self.inner.list(folder, recursive=recursive):
                early = [blob for blob in page.blobs if not blob.name.endswith(tuple(f"-{n}" for n in range(10, 41)))]
                yield type(page)(tuple(early), page.folders)

    forty.root.storage.put("snapshot/LATEST", b"2")
    assert history.find_latest_id(TableRoot(Late(forty.root.storage, FaultPlan()))) == 40


def test_an_unreadable_hint_is_no_hint(forty):
    class NoHints(FaultStorage):
        def read(self, name):
            if name.endswith("LATEST"):
                raise StorageError("permission denied")
            return super().read(name)

    assert history.find_latest_id(TableRoot(NoHints(forty.root.storage, FaultPlan()))) == 40


def test_the_cost_of_finding_the_latest_does_not_grow(forty):
    forty.root.storage.put("snapshot/LATEST", b"40")
    plan = FaultPlan()
    history.find_latest(TableRoot(FaultStorage(forty.root.storage, plan)))
    assert [verb for verb, _ in plan.calls] == ["read", "size", "size", "read"]


def test_an_empty_table_has_no_snapshot():
    target = new_target()
    assert history.find_latest(target.root) is None
    assert history.find_earliest_id(target.root) is None


def test_the_earliest_snapshot_is_found_after_expiry(forty):
    target = grown(5)
    target.root.storage.delete(["snapshot/snapshot-1", "snapshot/snapshot-2"])
    target.root.storage.put("snapshot/EARLIEST", b"1")
    assert history.find_earliest_id(target.root) == 3


def test_a_missing_snapshot_says_which_there_are(forty):
    with pytest.raises(NotFoundError, match="available are snapshots 1 to 40"):
        history.read_snapshot(forty.root, 99)


def test_time_travel_takes_a_logarithmic_number_of_reads(forty):
    forty.root.storage.put("snapshot/LATEST", b"40")
    wanted = history.read_snapshot(forty.root, 17)
    plan = FaultPlan()
    root = TableRoot(FaultStorage(forty.root.storage, plan))
    assert history.read_snapshot_at_time(root, wanted.time_ms).id == 17
    assert sum(verb == "read" for verb, _ in plan.calls) < 12
    with pytest.raises(NotFoundError, match="is as old as"):
        history.read_snapshot_at_time(forty.root, 5)


def test_newest_first_ends_at_the_earliest_that_is_there():
    target = grown(4)
    target.root.storage.delete(["snapshot/snapshot-1"])
    assert [one.id for one in history.newest_first(target.root, 4)] == [4, 3, 2]
