"""Blobs in memory: for tests, demonstrations and throw-away tables.

All storages over one `memory://name` in one process share their blobs; another process sees none of them.
"""

import io
import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, NoReturn

from polynya.errors import (
    AlreadyExistsError,
    CorruptFileError,
    InvalidInputError,
    NotFoundError,
    UnsupportedError,
)
from polynya.storage.names import join, require_blob, require_folder, require_move, require_range
from polynya.storage.protocol import Blob, Page, pages_of

_UNNAMED = "unnamed-"
_numbers = itertools.count()


def system_time_ms() -> int:
    """The time of the machine, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class MemoryStorage:
    """Blobs in a dictionary, safe to use from threads; `clock` gives their times, so that a test can choose them.

    One made here is private, and without a location it gets one of its own; `open_memory` makes those that a URL opens.
    """

    def __init__(self, location: str | None = None, *, clock: Callable[[], int] = system_time_ms) -> None:
        self._location = location if location is not None else f"memory://{_UNNAMED}{next(_numbers)}"
        self._shelf = _Shelf(clock)
        self._root = ""

    @property
    def location(self) -> str:
        """The URL under which the root was opened."""
        return join(self._location, self._root)

    def read(self, name: str) -> bytes:
        """Return the whole blob."""
        return self._find(name)[0]

    def read_range(self, name: str, start: int, length: int) -> bytes:
        """Return exactly `length` bytes from `start`."""
        require_range(name, start, length)
        data = self._find(name)[0]
        if start + length > len(data):
            raise CorruptFileError(
                f"{self._show(name)}: expected {length} bytes from byte {start}, found {len(data)} bytes in all"
            )
        return data[start : start + length]

    def size(self, name: str) -> int:
        """Return the size in bytes."""
        return len(self._find(name)[0])

    def put(self, name: str, data: bytes) -> None:
        """Create or replace the blob."""
        key = self._key(name)
        with self._shelf.lock:
            self._shelf.blobs[key] = (bytes(data), self._shelf.clock())

    def put_new(self, name: str, data: bytes) -> None:
        """Create the blob if its name is free, else raise AlreadyExistsError."""
        key = self._key(name)
        with self._shelf.lock:
            if key in self._shelf.blobs:
                raise AlreadyExistsError(f"{self._show(name)} already exists")
            self._shelf.blobs[key] = (bytes(data), self._shelf.clock())

    @contextmanager
    def writer(self, name: str) -> Iterator[BinaryIO]:
        """A stream into a new blob, which appears when the block ends without an error."""
        self._key(name)
        stream = _Buffer()
        yield stream
        stream.close()
        self.put(name, stream.content)

    def list(self, folder: str, *, recursive: bool = False) -> Iterator[Page]:
        """Yield what is under the folder, as it was at the call of the first page."""
        prefix = self._prefix(folder)
        with self._shelf.lock:
            found = [(key, *value) for key, value in self._shelf.blobs.items() if key.startswith(prefix)]
        strip = len(self._root) + 1 if self._root else 0
        blobs, folders = [], set()
        for key, data, time_ms in found:
            head, slash, _ = key[len(prefix) :].partition("/")
            if slash and not recursive:
                folders.add(join(folder, head))
            else:
                blobs.append(Blob(key[strip:], len(data), time_ms))
        yield from pages_of(blobs, sorted(folders))

    def delete(self, names: Iterable[str]) -> None:
        """Delete the blobs; absent ones are fine."""
        keys = [self._key(name) for name in names]
        with self._shelf.lock:
            for key in keys:
                self._shelf.blobs.pop(key, None)

    def delete_folder(self, folder: str) -> None:
        """Delete everything under the folder."""
        prefix = self._prefix(folder)
        with self._shelf.lock:
            for key in [key for key in self._shelf.blobs if key.startswith(prefix)]:
                del self._shelf.blobs[key]

    def rename_folder(self, old: str, new: str) -> None:
        """Move everything under `old` to `new` in one step."""
        require_move(old, new)
        source, target = self._prefix(old), self._prefix(new)
        with self._shelf.lock:
            blobs = self._shelf.blobs
            if any(key.startswith(target) or key + "/" == target for key in blobs):
                raise AlreadyExistsError(f"{self._show(new)} already exists")
            moved = [key for key in blobs if key.startswith(source)]
            if not moved:
                raise NotFoundError(f"{self._show(old)} does not exist")
            for key in moved:
                blobs[target + key[len(source) :]] = blobs.pop(key)

    def local_path(self, name: str) -> None:
        """None: nothing here is in the local file system."""
        require_folder(name)

    def parent(self) -> "MemoryStorage":
        """The same blobs with the folder around the root as the root."""
        parent = MemoryStorage(self._location)
        parent._shelf, parent._root = self._shelf, self._root.rpartition("/")[0]
        return parent

    def child(self, folder: str) -> "MemoryStorage":
        """The same blobs with `folder` as the root."""
        require_folder(folder)
        child = MemoryStorage(self._location)
        child._shelf, child._root = self._shelf, join(self._root, folder)
        return child

    def __repr__(self) -> str:
        return f"MemoryStorage({self.location!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MemoryStorage):
            return NotImplemented
        return self._shelf is other._shelf and self._root == other._root

    def __hash__(self) -> int:
        return hash((id(self._shelf), self._root))

    def __reduce__(self) -> NoReturn:
        raise UnsupportedError(
            f"{self.location}: a memory storage lives in one process and cannot be sent to another; use a path or a URL"
        )

    def _find(self, name: str) -> tuple[bytes, int]:
        try:
            return self._shelf.blobs[self._key(name)]
        except KeyError:
            raise NotFoundError(f"{self._show(name)} does not exist") from None

    def _key(self, name: str) -> str:
        require_blob(name)
        return join(self._root, name)

    def _prefix(self, folder: str) -> str:
        require_folder(folder)
        path = join(self._root, folder)
        return path + "/" if path else ""

    def _show(self, name: str) -> str:
        return join(self.location, name)


class _Shelf:
    """The blobs that storages over one URL share: bytes and time in milliseconds, by full name."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self.blobs: dict[str, tuple[bytes, int]] = {}
        self.clock = clock
        self.lock = threading.Lock()


class _Buffer(io.BytesIO):
    """A buffer whose content outlives its closing, since libraries close the streams they are given."""

    content = b""

    def close(self) -> None:
        if not self.closed:
            self.content = self.getvalue()
        super().close()


_opened: dict[str, MemoryStorage] = {}
_opened_lock = threading.Lock()


def open_memory(name: str, *, clock: Callable[[], int] | None = None) -> MemoryStorage:
    """Return this process's storage at `memory://name`; a clock given here replaces the one it had."""
    require_blob(name)
    host, _, folder = name.partition("/")
    if host.startswith(_UNNAMED):
        raise InvalidInputError(f"memory://{name}: a memory storage without a name of its own cannot be opened by URL")
    with _opened_lock:
        storage = _opened.setdefault(host, MemoryStorage(f"memory://{host}"))
    if clock is not None:
        storage._shelf.clock = clock
    return storage.child(folder)
