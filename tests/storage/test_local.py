import errno
import multiprocessing
import os
import pickle
import resource
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from polynya.errors import AlreadyExistsError, InvalidInputError, NotFoundError, StorageError
from polynya.storage import LocalStorage


@pytest.fixture
def disk(tmp_path):
    return LocalStorage(str(tmp_path / "root"))


def everything_under(path):
    return sorted(os.path.join(folder, file) for folder, _, files in os.walk(path) for file in files)


def fail(code):
    def failing(*_args, **_kwargs):
        raise OSError(code, os.strerror(code))

    return failing


def fail_call(monkeypatch, function, number, code):
    """Make the n-th call of a function of `os` fail, and the others work."""
    real, calls = getattr(os, function), []

    def counted(*args, **kwargs):
        calls.append(args)
        return fail(code)() if len(calls) == number else real(*args, **kwargs)

    monkeypatch.setattr(os, function, counted)


def stream_to(storage, name):
    with storage.writer(name) as stream:
        stream.write(b"data")


WRITERS = {
    "put": lambda storage: storage.put("blob", b"data"),
    "put_new": lambda storage: storage.put_new("blob", b"data"),
    "writer": lambda storage: stream_to(storage, "blob"),
}


def create_in_process(root, start, results, number):
    start.wait()
    try:
        LocalStorage(root).put_new("snapshot/snapshot-1", b"%d" % number * 10_000)
    except AlreadyExistsError:
        results.put(None)
    else:
        results.put(number)


def test_of_8_racing_processes_exactly_one_creates_the_blob(disk):
    context = multiprocessing.get_context("fork")
    start, results = context.Barrier(8), context.Queue()
    workers = [
        context.Process(target=create_in_process, args=(disk.root, start, results, number)) for number in range(8)
    ]
    for worker in workers:
        worker.start()
    winners = [number for number in (results.get(timeout=20) for _ in workers) if number is not None]
    for worker in workers:
        worker.join()
    assert len(winners) == 1
    assert disk.read("snapshot/snapshot-1") == b"%d" % winners[0] * 10_000
    assert everything_under(disk.root) == [disk.local_path("snapshot/snapshot-1")]


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC, errno.EINVAL])
def test_a_failed_sync_leaves_nothing(disk, monkeypatch, writer, code):
    os.mkdir(disk.root)
    fail_call(monkeypatch, "fsync", 1, code)
    with pytest.raises(StorageError, match="blob: cannot be written") as caught:
        WRITERS[writer](disk)
    assert isinstance(caught.value.__cause__, OSError)
    assert everything_under(disk.root) == []


@pytest.mark.parametrize(("writer", "step"), [("put", "replace"), ("put_new", "link"), ("writer", "replace")])
def test_a_failed_publication_leaves_nothing(disk, monkeypatch, writer, step):
    monkeypatch.setattr(os, step, fail(errno.EIO))
    with pytest.raises(StorageError, match="blob: cannot be written"):
        WRITERS[writer](disk)
    assert everything_under(disk.root) == []


@pytest.mark.parametrize("writer", WRITERS)
def test_a_write_that_stops_half_way_leaves_nothing(disk, writer):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2, limits[1]))
    try:
        with pytest.raises(StorageError, match="blob: cannot be written: File too large"):
            WRITERS[writer](disk)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert everything_under(disk.root) == []


@pytest.mark.parametrize("writer", WRITERS)
def test_a_blob_already_published_stays_when_its_folder_cannot_be_synced(disk, monkeypatch, writer):
    os.mkdir(disk.root)
    fail_call(monkeypatch, "fsync", 2, errno.EIO)
    with pytest.raises(StorageError):
        WRITERS[writer](disk)
    assert everything_under(disk.root) == [disk.local_path("blob")]
    assert disk.read("blob") == b"data"


def test_a_file_system_that_cannot_sync_folders_is_accepted(disk, monkeypatch):
    os.mkdir(disk.root)
    fail_call(monkeypatch, "fsync", 2, errno.EINVAL)
    disk.put_new("blob", b"data")
    assert disk.read("blob") == b"data"


@pytest.mark.parametrize("code", [errno.EPERM, errno.EOPNOTSUPP])
def test_without_links_a_new_blob_is_still_exclusive(disk, monkeypatch, code):
    monkeypatch.setattr(os, "link", fail(code))
    disk.put_new("blob", b"first")
    with pytest.raises(AlreadyExistsError):
        disk.put_new("blob", b"second")
    assert disk.read("blob") == b"first"
    assert everything_under(disk.root) == [disk.local_path("blob")]


def test_without_links_of_8_racing_threads_exactly_one_creates_the_blob(disk, monkeypatch):
    monkeypatch.setattr(os, "link", fail(errno.EPERM))
    start = threading.Barrier(8)

    def create(number):
        start.wait()
        try:
            disk.put_new("blob", b"%d" % number)
        except AlreadyExistsError:
            return None
        return b"%d" % number

    with ThreadPoolExecutor(8) as pool:
        winners = [data for data in pool.map(create, range(8)) if data is not None]
    assert winners == [disk.read("blob")]
    assert everything_under(disk.root) == [disk.local_path("blob")]


def test_without_links_a_rename_that_did_happen_is_not_undone(disk, monkeypatch):
    real = os.replace

    def replace_and_fail(source, target):
        real(source, target)
        fail(errno.EIO)()

    monkeypatch.setattr(os, "link", fail(errno.EPERM))
    monkeypatch.setattr(os, "replace", replace_and_fail)
    with pytest.raises(StorageError):
        disk.put_new("blob", b"data")
    assert disk.read("blob") == b"data"


def test_without_links_a_failed_publication_leaves_nothing(disk, monkeypatch):
    monkeypatch.setattr(os, "link", fail(errno.EPERM))
    monkeypatch.setattr(os, "replace", fail(errno.EIO))
    with pytest.raises(StorageError):
        disk.put_new("blob", b"first")
    assert everything_under(disk.root) == []


def test_a_link_reported_as_taken_by_itself_has_won(disk, monkeypatch):
    real = os.link

    def link_twice(source, target):
        real(source, target)
        real(source, target)

    monkeypatch.setattr(os, "link", link_twice)
    disk.put_new("blob", b"data")
    assert disk.read("blob") == b"data"
    assert everything_under(disk.root) == [disk.local_path("blob")]


@pytest.mark.parametrize("verb", ["put", "put_new"])
def test_writing_below_a_file_or_over_a_folder_names_the_blob(disk, verb):
    disk.put("file", b"")
    disk.put("folder/file", b"")
    with pytest.raises(StorageError, match="file/below") as caught:
        getattr(disk, verb)("file/below", b"")
    assert isinstance(caught.value.__cause__, NotADirectoryError)
    with pytest.raises((StorageError, AlreadyExistsError), match="folder"):
        getattr(disk, verb)("folder", b"")
    assert len(everything_under(disk.root)) == 2


def test_the_longest_name_works_and_a_longer_one_is_named(disk):
    disk.put_new("f/" + "x" * 255, b"x")
    disk.put_new("f/" + "é" * 127, b"x")
    for verb in (disk.put, disk.put_new):
        with pytest.raises(StorageError, match=r"xxx.*name too long"):
            verb("f/" + "x" * 256, b"x")
    assert len(everything_under(disk.root)) == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may do everything")
def test_a_forbidden_folder_names_the_blob(disk):
    disk.put("folder/blob", b"")
    os.chmod(disk.local_path("folder"), 0)
    try:
        for act in (
            lambda: disk.read("folder/blob"),
            lambda: disk.put("folder/blob", b""),
            lambda: [*disk.list("folder")],
        ):
            with pytest.raises(StorageError, match="folder"):
                act()
    finally:
        os.chmod(disk.local_path("folder"), 0o755)


def test_a_listing_shows_leftover_temporary_files_and_empty_folders(disk):
    disk.put("f/blob", b"")
    open(disk.local_path("f/.blob.1.tmp"), "xb").close()
    os.mkdir(disk.local_path("empty.db"))
    [page] = disk.list("f")
    assert sorted(blob.name for blob in page.blobs) == ["f/.blob.1.tmp", "f/blob"]
    [page] = disk.list("")
    assert sorted(page.folders) == ["empty.db", "f"]


def test_neither_listing_nor_deleting_follows_links_in_circles(disk, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept").write_bytes(b"")
    disk.put("f/blob", b"")
    os.symlink(disk.root, disk.local_path("f/circle"))
    os.symlink(tmp_path / "outside", disk.local_path("f/outside"))
    os.symlink("nowhere", disk.local_path("f/dangling"))
    [page] = disk.list("", recursive=True)
    assert [blob.name for blob in page.blobs] == ["f/blob"]
    disk.delete_folder("f")
    assert (tmp_path / "outside" / "kept").exists()


def test_a_name_taken_by_a_dangling_link_is_taken(disk):
    disk.put("other", b"")
    os.symlink("nowhere", disk.local_path("blob"))
    with pytest.raises(AlreadyExistsError):
        disk.put_new("blob", b"")


def test_a_folder_that_cannot_be_listed_or_deleted_is_named(disk):
    disk.put("f/blob", b"")
    os.symlink("loop", disk.local_path("f/loop"))
    with pytest.raises(StorageError, match="f: cannot be listed"):
        [*disk.list("f")]
    os.symlink("f", disk.local_path("link"))
    with pytest.raises(StorageError, match=r"link: cannot be deleted: .*symbolic link"):
        disk.delete_folder("link")


def test_delete_folder_goes_on_when_another_deletes_first(disk, monkeypatch):
    for number in range(5):
        disk.put(f"f/{number}", b"")
    fail_call(monkeypatch, "rmdir", 1, errno.ENOENT)
    disk.delete_folder("f")
    assert not os.path.exists(disk.local_path("f"))


def test_an_empty_folder_gives_way_to_a_renamed_one_and_a_file_does_not(disk):
    disk.put("f/blob", b"x")
    os.mkdir(disk.local_path("empty"))
    disk.rename_folder("f", "empty")
    assert disk.read("empty/blob") == b"x"
    disk.put("file", b"")
    with pytest.raises(AlreadyExistsError):
        disk.rename_folder("empty", "file")


def test_new_files_have_the_usual_permissions(disk):
    disk.put("blob", b"")
    with open(disk.local_path("usual"), "xb") as file:
        usual = os.fstat(file.fileno()).st_mode
    assert os.stat(disk.local_path("blob")).st_mode == usual


def test_a_local_storage_pickles(disk):
    disk.put("f/blob", b"x")
    copy = pickle.loads(pickle.dumps(disk.child("f")))
    assert copy.read("blob") == b"x"
    assert copy == disk.child("f")


@pytest.mark.parametrize("root", ["relative", "/a/", "/a/../b", "/a\0", ""])
def test_the_root_is_absolute_and_short(root):
    with pytest.raises(InvalidInputError):
        LocalStorage(root)


def test_an_error_in_the_block_of_a_stream_reaches_the_caller(disk):
    def write():
        with disk.writer("blob") as stream:
            stream.write(b"x")
            raise NotFoundError("of the caller")

    with pytest.raises(NotFoundError, match="of the caller"):
        write()
    assert everything_under(disk.root) == []
