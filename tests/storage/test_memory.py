import pickle
import uuid

import pytest

from polynya.errors import InvalidInputError, UnsupportedError
from polynya.storage import MemoryStorage, open_memory, open_storage


def test_times_come_from_the_clock():
    ticks = iter([1000, 2000])
    storage = MemoryStorage(clock=lambda: next(ticks))
    storage.put("a", b"")
    storage.child("f").put_new("b", b"")
    [page] = storage.list("", recursive=True)
    assert {blob.name: blob.time_ms for blob in page.blobs} == {"a": 1000, "f/b": 2000}


def test_one_url_is_one_store_in_a_process():
    name = f"test-{uuid.uuid4()}"
    open_memory(name, clock=lambda: 7).put("wh/t/a", b"x")
    table = open_storage(f"memory://{name}/wh//t/")
    assert table.read("a") == b"x"
    assert table.location == f"memory://{name}/wh/t"
    table.put("b", b"y")
    assert open_storage(table.location).read("b") == b"y"
    [page] = table.list("")
    assert {blob.time_ms for blob in page.blobs} == {7}


def test_unnamed_stores_are_apart():
    storage = MemoryStorage()
    storage.put("a", b"")
    other = MemoryStorage()
    assert [*other.list("")] == []
    assert other.location != storage.location


@pytest.mark.parametrize("url", ["memory://", MemoryStorage().location, MemoryStorage().child("t").location])
def test_memory_without_a_name_cannot_be_opened(url):
    with pytest.raises(InvalidInputError):
        open_storage(url)


def test_memory_cannot_be_sent_to_another_process():
    with pytest.raises(UnsupportedError, match="memory://wh"):
        pickle.dumps(MemoryStorage("memory://wh"))


def test_a_blob_does_not_change_with_the_buffer_it_came_from():
    buffer = bytearray(b"before")
    storage = MemoryStorage()
    storage.put("a", buffer)
    buffer[:] = b"after!"
    assert storage.read("a") == b"before"
