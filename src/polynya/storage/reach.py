"""A storage from which blobs elsewhere are read by absolute names: `/a/b` on a local disk, `s3://bucket/a` in a store.

Names without a root stay in the storage, and only these are written, listed or deleted. A place elsewhere must be of
the storage's own kind, and is opened with its options: a table in a bucket cannot name a file of the local disk.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import BinaryIO

from polynya.errors import InvalidInputError
from polynya.storage.protocol import Page, Storage
from polynya.storage.urls import open_beside

_ROOTED = re.compile(r"(/|[A-Za-z][A-Za-z0-9+.-]*://[^/]+(?=/))/*(.*)", re.DOTALL)


def reaching(storage: Storage) -> "ReachingStorage":
    """The storage with everything of its kind in reach."""
    return storage if isinstance(storage, ReachingStorage) else ReachingStorage(storage)


def is_absolute(name: str) -> bool:
    """Whether a name has a root of its own."""
    return _ROOTED.fullmatch(name) is not None


@dataclass(frozen=True)
class ReachingStorage:
    """The home storage, and those of other roots as they are met."""

    home: Storage
    _others: dict[str, Storage] = field(default_factory=dict, compare=False, repr=False)

    @property
    def location(self) -> str:
        """The root of the home."""
        return self.home.location

    def read(self, name: str) -> bytes:
        """Return the whole blob."""
        storage, own = self._at(name)
        return storage.read(own)

    def read_range(self, name: str, start: int, length: int) -> bytes:
        """Return exactly `length` bytes from `start`."""
        storage, own = self._at(name)
        return storage.read_range(own, start, length)

    def size(self, name: str) -> int:
        """Return the size in bytes."""
        storage, own = self._at(name)
        return storage.size(own)

    def local_path(self, name: str) -> str | None:
        """The path in the local file system, or None."""
        storage, own = self._at(name)
        return storage.local_path(own)

    def put(self, name: str, data: bytes) -> None:
        """Create or replace a blob of the home."""
        self.home.put(name, data)

    def put_new(self, name: str, data: bytes) -> None:
        """Create a blob of the home if its name is free."""
        self.home.put_new(name, data)

    def writer(self, name: str) -> AbstractContextManager[BinaryIO]:
        """A stream into a new blob of the home."""
        return self.home.writer(name)

    def list(self, folder: str, *, recursive: bool = False) -> Iterator[Page]:
        """Yield what is under a folder of the home."""
        return self.home.list(folder, recursive=recursive)

    def delete(self, names: Iterable[str]) -> None:
        """Delete blobs of the home."""
        self.home.delete(names)

    def delete_folder(self, folder: str) -> None:
        """Delete a folder of the home."""
        self.home.delete_folder(folder)

    def rename_folder(self, old: str, new: str) -> None:
        """Move a folder of the home."""
        self.home.rename_folder(old, new)

    def child(self, folder: str) -> Storage:
        """A folder of the home."""
        return self.home.child(folder)

    def _at(self, name: str) -> tuple[Storage, str]:
        """Where a blob is, and its name there."""
        match = _ROOTED.fullmatch(name)
        if match is None:
            return self.home, name
        place, own = match[1], match[2]
        if not own:
            raise InvalidInputError(f"{name}: expected the name of a file, found a root")
        if place not in self._others:
            self._others[place] = open_beside(self.home, place)
        return self._others[place], own
