"""Blobs as files of a local disk.

A blob is written to a temporary file `.<name>.<uuid>.tmp` beside its final name, synced, and then given that name in
one step: `link` for a new name, which the system refuses when the name is taken, or `rename` to replace. The folder is
synced after that. Temporary files go in every case; only a crash leaves one, and a listing shows it.
"""

import errno
import os
import shutil
import stat
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import FileIO
from typing import BinaryIO, cast

from polynya.errors import AlreadyExistsError, CorruptFileError, InvalidInputError, NotFoundError, StorageError
from polynya.storage.names import join, require_blob, require_folder, require_move, require_range
from polynya.storage.protocol import PAGE_BLOB_COUNT, Blob, Page

_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}
_NO_FOLDER_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}
# Temporary names stay far below the usual 255 bytes, however long the final name is.
_STEM_CHARACTER_COUNT = 40


@dataclass(frozen=True)
class LocalStorage:
    """Files under one absolute path."""

    root: str

    def __post_init__(self) -> None:
        if "\0" in self.root or os.path.abspath(self.root) != self.root:
            raise InvalidInputError(f"local storage: expected an absolute path in its shortest form, got {self.root!r}")

    @property
    def location(self) -> str:
        """The absolute path of the root."""
        return self.root

    def read(self, name: str) -> bytes:
        """Return the whole blob."""
        path = self._path(name)
        with _reading(path), open(path, "rb") as file:
            return file.read()

    def read_range(self, name: str, start: int, length: int) -> bytes:
        """Return exactly `length` bytes from `start`."""
        require_range(name, start, length)
        path = self._path(name)
        with _reading(path), open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            # An absurd length is refused before it asks for memory.
            if start + length <= size:
                file.seek(start)
                data = file.read(length)
                if len(data) == length:
                    return data
        raise CorruptFileError(f"{path}: expected {length} bytes from byte {start}, found {size} bytes in all")

    def size(self, name: str) -> int:
        """Return the size in bytes."""
        path = self._path(name)
        with _reading(path):
            found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):
            raise NotFoundError(f"{path} does not exist as a file")
        return found.st_size

    def put(self, name: str, data: bytes) -> None:
        """Create or replace the blob, atomically and durably."""
        path = self._path(name)
        with _acting(path), _temporary_file(path) as (temporary, stream):
            stream.write(data)
            os.fsync(stream.fileno())
            os.replace(temporary, path)
            _sync_folder(os.path.dirname(path))

    def put_new(self, name: str, data: bytes) -> None:
        """Create the blob if its name is free, atomically and durably, else raise AlreadyExistsError."""
        path = self._path(name)
        with _acting(path), _temporary_file(path) as (temporary, stream):
            stream.write(data)
            os.fsync(stream.fileno())
            try:
                _publish_new(temporary, path)
            except FileExistsError as error:
                raise AlreadyExistsError(f"{path} already exists") from error
            _sync_folder(os.path.dirname(path))

    @contextmanager
    def writer(self, name: str) -> Iterator[BinaryIO]:
        """A stream into a new blob, which appears, durably, when the block ends without an error."""
        path = self._path(name)
        with _temporary_file(path) as (temporary, stream):
            # The descriptor outlives the stream: libraries close the streams they are given.
            with _acting(path):
                descriptor = os.dup(stream.fileno())
            try:
                yield cast(BinaryIO, stream)
                with _acting(path):
                    os.fsync(descriptor)
                    os.replace(temporary, path)
                    _sync_folder(os.path.dirname(path))
            finally:
                os.close(descriptor)

    def list(self, folder: str, *, recursive: bool = False) -> Iterator[Page]:
        """Yield what is under the folder, empty directories included as folders; recursion follows no links."""
        require_folder(folder)
        blobs: list[Blob] = []
        folders: list[str] = []
        pending = [folder]
        while pending:
            current = pending.pop()
            with _acting(self._full(current), "listed"):
                for entry in _entries(self._full(current)):
                    name = join(current, entry.name)
                    if entry.is_dir(follow_symlinks=not recursive):
                        (pending if recursive else folders).append(name)
                    elif blob := _blob(name, entry):
                        blobs.append(blob)
                    if len(blobs) + len(folders) >= PAGE_BLOB_COUNT:
                        yield Page(tuple(blobs), tuple(folders))
                        blobs, folders = [], []
        if blobs or folders:
            yield Page(tuple(blobs), tuple(folders))

    def delete(self, names: Iterable[str]) -> None:
        """Delete the blobs; absent ones are fine, and folders stay."""
        for name in names:
            path = self._path(name)
            # A folder of that name, or a file where a folder would be, means that there is no such blob.
            with _acting(path, "deleted"), suppress(FileNotFoundError, NotADirectoryError, IsADirectoryError):
                os.unlink(path)

    def delete_folder(self, folder: str) -> None:
        """Delete the folder and everything under it."""
        require_folder(folder)
        path = self._full(folder)
        with _acting(path, "deleted"):
            while os.path.isdir(path):
                # Someone else may be deleting here too: what they took first is no reason to stop.
                with suppress(FileNotFoundError):
                    shutil.rmtree(path)

    def rename_folder(self, old: str, new: str) -> None:
        """Move the folder in one step; an empty directory at the new name gives way."""
        require_move(old, new)
        source, target = self._full(old), self._full(new)
        with _reading(source):
            if not stat.S_ISDIR(os.stat(source).st_mode):
                raise NotFoundError(f"{source} does not exist as a folder")
        with _acting(target, "made out of another folder"):
            _make_folders(os.path.dirname(target))
            try:
                os.rename(source, target)
            except OSError as error:
                # The system itself refuses to replace a file or a folder with something in it.
                if error.errno in {errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR}:
                    raise AlreadyExistsError(f"{target} already exists") from error
                raise
            _sync_folder(os.path.dirname(target))
            _sync_folder(os.path.dirname(source))

    def local_path(self, name: str) -> str:
        """The path of the blob or folder."""
        require_folder(name)
        return self._full(name)

    def parent(self) -> "LocalStorage":
        """The store of the folder around the root."""
        return LocalStorage(os.path.dirname(self.root))

    def child(self, folder: str) -> "LocalStorage":
        """The folder as a storage of its own."""
        require_folder(folder)
        return LocalStorage(self._full(folder))

    def _path(self, name: str) -> str:
        require_blob(name)
        return self._full(name)

    def _full(self, name: str) -> str:
        return os.path.join(self.root, name) if name else self.root


class _TemporaryFile(FileIO):
    """A new file that is written without a buffer and reports failures as StorageError, naming the blob."""

    def __init__(self, temporary: str, path: str) -> None:
        super().__init__(temporary, "xb")
        self._path = path

    def write(self, data: "bytes | memoryview", /) -> int:  # type: ignore[override]  # one kind of buffer is enough
        rest = whole = memoryview(data).cast("B")
        try:
            while rest:
                rest = rest[super().write(rest) :]
        except OSError as error:
            raise _failure(self._path, "written", error) from error
        return len(whole)

    def close(self) -> None:
        with _acting(self._path):
            super().close()


@contextmanager
def _temporary_file(path: str) -> Iterator[tuple[str, _TemporaryFile]]:
    """A temporary file beside `path`, with its name; neither is left when the block ends."""
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name[:_STEM_CHARACTER_COUNT]}.{uuid.uuid4()}.tmp")
    with _acting(path):
        try:
            stream = _TemporaryFile(temporary, path)
        except FileNotFoundError:
            _make_folders(folder)
            stream = _TemporaryFile(temporary, path)
    try:
        with stream:
            yield temporary, stream
    finally:
        # After a rename the temporary name is gone already.
        with suppress(OSError):
            os.unlink(temporary)


def _publish_new(temporary: str, path: str) -> None:
    """Give the finished file its final name; FileExistsError when the name is taken.

    A file system without links gets the name reserved by an empty file first, which the finished one replaces at once.
    The winner is still the only one, but a reader may meet the empty file between the two calls.
    """
    try:
        os.link(temporary, path)
    except FileExistsError:
        # Over a network the system may repeat a link that had worked, and report its own work as someone else's.
        if os.stat(temporary).st_nlink == 1:
            raise
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        try:
            os.replace(temporary, path)
        except OSError:
            # While the temporary file is there, the final name is still the empty reservation.
            if os.path.exists(temporary):
                os.unlink(path)
            raise


def _make_folders(path: str) -> None:
    """Create the folder and its missing parents, each synced into the one above it."""
    missing = []
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    for folder in reversed(missing):
        with suppress(FileExistsError):
            os.mkdir(folder)
        _sync_folder(os.path.dirname(folder))


def _sync_folder(path: str) -> None:
    """Make new names in the folder durable, where the file system can."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise
    finally:
        os.close(descriptor)


def _entries(path: str) -> Iterator[os.DirEntry[str]]:
    """What a folder holds: nothing when it is absent, or gone since its parent was read."""
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(path) as scan:
        yield from scan


def _blob(name: str, entry: os.DirEntry[str]) -> Blob | None:
    """The entry as a blob; None when it is not a file, or is gone since the folder was read."""
    try:
        found = entry.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return Blob(name, found.st_size, found.st_mtime_ns // 1_000_000)


@contextmanager
def _reading(path: str) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        raise NotFoundError(f"{path} does not exist") from error
    except OSError as error:
        raise _failure(path, "read", error) from error


@contextmanager
def _acting(path: str, act: str = "written") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _failure(path, act, error) from error


def _failure(path: str, act: str, error: OSError) -> StorageError:
    return StorageError(f"{path}: cannot be {act}: {error.strerror or error}")
