"""What every storage does alike: one suite, run against each of them."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from polynya.errors import AlreadyExistsError, CorruptFileError, InvalidInputError, NotFoundError
from polynya.storage import Storage

ODD_NAMES = [
    "with space/two  spaces",
    "day=a%3Ab/100%/%2F",
    "k=v=w/a+b&c",
    "größe/日本/🐟",
    "a:b/c?d#e",
    "[x]{y}/*'~|^\\",
    ".hidden/..two/three...",
]
BAD_NAMES = ["/a", "a/", "a//b", ".", "..", "a/../b", "a/./b", "a\0b", "a\ud800b"]


def names_in(storage, folder="", *, recursive=True):
    return sorted(blob.name for page in storage.list(folder, recursive=recursive) for blob in page.blobs)


def folders_in(storage, folder=""):
    return sorted(name for page in storage.list(folder) for name in page.folders)


def test_each_storage_fits_the_protocol(storage):
    assert isinstance(storage, Storage)


def test_put_then_read_gives_the_bytes_back(storage):
    storage.put("a/b", b"hello")
    assert storage.read("a/b") == b"hello"
    assert type(storage.read("a/b")) is bytes
    assert storage.size("a/b") == 5


def test_put_replaces(storage):
    storage.put("a", b"first")
    storage.put("a", b"2")
    assert storage.read("a") == b"2"


def test_an_empty_blob_is_a_blob(storage):
    storage.put_new("a", b"")
    assert (storage.read("a"), storage.size("a"), storage.read_range("a", 0, 0)) == (b"", 0, b"")
    assert names_in(storage) == ["a"]


def test_a_big_blob_survives_each_way_of_writing(storage):
    data = bytes(range(256)) * (80 << 10)  # 20 MiB: several parts of an upload
    storage.put("put", data)
    storage.put_new("new", data)
    with storage.writer("streamed") as stream:
        for start in range(0, len(data), 3 << 20):
            stream.write(data[start : start + (3 << 20)])
    for name in ("put", "new", "streamed"):
        assert storage.read(name) == data


def test_put_new_refuses_a_taken_name_and_keeps_what_is_there(storage):
    storage.put_new("s/snapshot-1", b"first")
    with pytest.raises(AlreadyExistsError, match="snapshot-1"):
        storage.put_new("s/snapshot-1", b"second")
    assert storage.read("s/snapshot-1") == b"first"
    assert names_in(storage) == ["s/snapshot-1"]


def test_of_8_racing_threads_exactly_one_creates_the_blob(storage):
    start = threading.Barrier(8)

    def create(number):
        start.wait()
        try:
            storage.put_new("s/snapshot-1", b"%d" % number * 1000)
        except AlreadyExistsError:
            return None
        return number

    for _ in range(3):
        with ThreadPoolExecutor(8) as pool:
            winners = [number for number in pool.map(create, range(8)) if number is not None]
        assert len(winners) == 1
        assert storage.read("s/snapshot-1") == b"%d" % winners[0] * 1000
        assert names_in(storage) == ["s/snapshot-1"]
        storage.delete(["s/snapshot-1"])


@pytest.mark.parametrize("verb", ["read", "size"])
@pytest.mark.parametrize("name", ["absent", "folder", "folder/blob/deeper"])
def test_reading_what_is_not_a_blob_is_not_found(storage, verb, name):
    storage.put("folder/blob", b"x")
    with pytest.raises(NotFoundError, match=name):
        getattr(storage, verb)(name)


@pytest.mark.parametrize("length", [0, 1])
def test_a_range_of_an_absent_blob_is_not_found(storage, length):
    with pytest.raises(NotFoundError, match="absent"):
        storage.read_range("absent", 0, length)


@pytest.mark.parametrize(("start", "length"), [(0, 10), (0, 3), (3, 4), (9, 1), (5, 0), (10, 0)])
def test_a_range_inside_the_blob_is_exact(storage, start, length):
    storage.put("a", b"0123456789")
    assert storage.read_range("a", start, length) == b"0123456789"[start : start + length]


@pytest.mark.parametrize(("start", "length"), [(0, 11), (9, 2), (10, 1), (11, 0), (50, 1), (0, 1 << 62), (1 << 64, 1)])
def test_a_range_past_the_end_is_an_error(storage, start, length):
    storage.put("a", b"0123456789")
    with pytest.raises(CorruptFileError, match="a: expected"):
        storage.read_range("a", start, length)


@pytest.mark.parametrize(("start", "length"), [(-1, 1), (0, -1)])
def test_a_negative_range_is_refused(storage, start, length):
    with pytest.raises(InvalidInputError):
        storage.read_range("a", start, length)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_are_taken_as_they_are(storage, name):
    folder, _, last = name.rpartition("/")
    storage.put_new(name, b"x")
    assert storage.read(name) == b"x"
    assert names_in(storage) == [name]
    assert names_in(storage, folder, recursive=False) == [name]
    assert names_in(storage.child(folder)) == [last]
    assert folders_in(storage) == [name.partition("/")[0]]
    storage.rename_folder(folder, "moved 2%20")
    assert names_in(storage) == [f"moved 2%20/{last}"]
    storage.delete([f"moved 2%20/{last}"])
    assert names_in(storage) == []


@pytest.mark.parametrize("name", [*BAD_NAMES, ""])
def test_a_malformed_blob_name_is_refused_by_every_verb(storage, name):
    for verb in (
        storage.read,
        storage.size,
        lambda name: storage.read_range(name, 0, 1),
        lambda name: storage.put(name, b""),
        lambda name: storage.put_new(name, b""),
        lambda name: storage.writer(name).__enter__(),
        lambda name: storage.delete([name]),
        lambda name: storage.rename_folder(name, "b"),
        lambda name: storage.rename_folder("b", name),
    ):
        with pytest.raises(InvalidInputError):
            verb(name)


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_malformed_folder_name_is_refused_by_every_verb(storage, name):
    for verb in (lambda name: [*storage.list(name)], storage.delete_folder, storage.child, storage.local_path):
        with pytest.raises(InvalidInputError):
            verb(name)


def test_a_listing_shows_blobs_with_size_and_time_and_the_folders_beside_them(storage):
    for name in ("top", "f/one", "f/g/two", "f/g/h/three", "ff/other"):
        storage.put(name, name.encode())
    assert names_in(storage, recursive=False) == ["top"]
    assert folders_in(storage) == ["f", "ff"]
    assert names_in(storage, "f", recursive=False) == ["f/one"]
    assert folders_in(storage, "f") == ["f/g"]
    assert names_in(storage, "f") == ["f/g/h/three", "f/g/two", "f/one"]
    [page] = storage.list("f/g/h")
    assert page.blobs[0].size_bytes == len("f/g/h/three")
    assert 1_600_000_000_000 < page.blobs[0].time_ms < 10_000_000_000_000


def test_many_folders_fit_with_few_blobs(storage):
    for number in range(3):
        storage.put(f"folder-{number}/blob", b"")
    pages = [*storage.list("")]
    assert [len(page.folders) for page in pages] == [3]


@pytest.mark.parametrize("recursive", [False, True])
def test_an_absent_folder_is_an_empty_listing(storage, recursive):
    storage.put("blob", b"")
    assert [*storage.list("absent/folder", recursive=recursive)] == []
    assert [*storage.list("blob", recursive=recursive)] == []


def test_a_long_listing_comes_in_pages_and_is_complete(storage):
    names = [f"f/{number:04}" for number in range(1100)]
    with ThreadPoolExecutor(4) as pool:
        [*pool.map(lambda name: storage.put(name, b""), names)]
    for recursive in (False, True):
        pages = [*storage.list("f", recursive=recursive)]
        assert [len(page.blobs) for page in pages] == [1000, 100]
        assert sorted(blob.name for page in pages for blob in page.blobs) == names
    storage.delete(names[:-1])
    assert names_in(storage) == names[-1:]


def test_delete_removes_the_named_blobs_and_nothing_else(storage):
    for name in ("a", "f/b", "f/c"):
        storage.put(name, b"")
    storage.delete(name for name in ["f/b", "absent", "no/such/folder", "a/below", "f"])
    assert names_in(storage) == ["a", "f/c"]
    storage.delete([])
    storage.delete(["a", "a"])
    assert names_in(storage) == ["f/c"]


def test_delete_folder_removes_everything_under_it_and_no_namesake(storage):
    for name in ("f/a", "f/g/b", "ff/c", "f.txt"):
        storage.put(name, b"")
    storage.delete_folder("f")
    storage.delete_folder("absent")
    assert names_in(storage) == ["f.txt", "ff/c"]
    assert folders_in(storage) == ["ff"]
    storage.delete_folder("")
    assert names_in(storage) == []
    storage.put("again", b"x")
    assert names_in(storage) == ["again"]


def test_rename_folder_moves_everything(storage):
    for name in ("f/a", "f/g/b", "ff/c"):
        storage.put(name, name.encode())
    storage.rename_folder("f", "new/place")
    assert names_in(storage) == ["ff/c", "new/place/a", "new/place/g/b"]
    assert storage.read("new/place/g/b") == b"f/g/b"


def test_rename_folder_refuses_a_taken_name(storage):
    storage.put("f/a", b"f")
    storage.put("g/a", b"g")
    with pytest.raises(AlreadyExistsError, match="g"):
        storage.rename_folder("f", "g")
    assert (storage.read("f/a"), storage.read("g/a")) == (b"f", b"g")


def test_rename_of_an_absent_folder_is_not_found(storage):
    storage.put("blob", b"")
    for name in ("absent", "blob"):
        with pytest.raises(NotFoundError, match=name):
            storage.rename_folder(name, "g")


@pytest.mark.parametrize("new", ["f", "f/g"])
def test_a_folder_does_not_move_into_itself(storage, new):
    storage.put("f/a", b"")
    with pytest.raises(InvalidInputError):
        storage.rename_folder("f", new)
    assert names_in(storage) == ["f/a"]


def test_a_child_sees_the_same_blobs_under_shorter_names(storage):
    storage.put("t/snapshot/LATEST", b"1")
    child = storage.child("t").child("snapshot")
    assert child.read("LATEST") == b"1"
    assert names_in(child) == ["LATEST"]
    child.put("EARLIEST", b"1")
    assert names_in(storage, "t") == ["t/snapshot/EARLIEST", "t/snapshot/LATEST"]
    assert child.location == storage.location + "/t/snapshot"
    assert storage.child("").location == storage.location


def test_a_streamed_blob_appears_when_the_block_ends(storage):
    with storage.writer("f/data") as stream:
        stream.write(b"one")
        stream.write(memoryview(b"two"))
        assert stream.tell() == 6
        with pytest.raises(NotFoundError):
            storage.read("f/data")
    assert storage.read("f/data") == b"onetwo"
    assert names_in(storage) == ["f/data"]


def test_a_stream_closed_inside_the_block_is_still_published(storage):
    with storage.writer("data") as stream:
        stream.write(b"x")
        stream.close()
    assert storage.read("data") == b"x"


@pytest.mark.parametrize("size", [10, 20 << 20])
def test_a_failed_stream_leaves_nothing(storage, size):
    def write_and_fail():
        with storage.writer("f/data") as stream:
            stream.write(bytes(size))
            raise OSError("of the caller")

    with pytest.raises(OSError, match="of the caller"):
        write_and_fail()
    assert names_in(storage) == []


def test_arrow_writes_parquet_into_a_stream(storage):
    table = pa.table({"a": range(1000)})
    with storage.writer("data.parquet") as stream:
        pq.write_table(table, stream)
    assert pq.read_table(pa.BufferReader(storage.read("data.parquet"))).equals(table)
