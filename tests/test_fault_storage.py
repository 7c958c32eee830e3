import pytest

from fault_storage import FaultPlan, FaultStorage
from polynya.errors import StorageError
from polynya.storage import MemoryStorage, Storage


def work(storage):
    storage.put_new("a", b"1")
    storage.child("f").put("b", b"2")
    with storage.writer("c") as stream:
        stream.write(b"3")
    storage.delete(["a"])


def names_in(storage):
    return {blob.name for page in storage.list("", recursive=True) for blob in page.blobs}


def test_without_a_fault_every_call_passes_and_is_counted():
    inner, plan = MemoryStorage(), FaultPlan()
    work(FaultStorage(inner, plan))
    assert isinstance(FaultStorage(inner, plan), Storage)
    assert plan.calls == [("put_new", "a"), ("put", "b"), ("writer", "c"), ("delete", "a")]
    assert names_in(inner) == {"f/b", "c"}


@pytest.mark.parametrize(
    ("fail_at", "after", "names"),
    [
        (1, False, set()),
        (1, True, {"a"}),
        (2, False, {"a"}),
        (2, True, {"a", "f/b"}),
        (3, False, {"a", "f/b"}),
        (3, True, {"a", "f/b", "c"}),
        (4, False, {"a", "f/b", "c"}),
        (4, True, {"f/b", "c"}),
    ],
)
def test_the_chosen_call_fails_before_or_after_it_was_done(fail_at, after, names):
    inner = MemoryStorage()
    with pytest.raises(StorageError, match=f"call {fail_at}"):
        work(FaultStorage(inner, FaultPlan(fail_at, after)))
    assert names_in(inner) == names
