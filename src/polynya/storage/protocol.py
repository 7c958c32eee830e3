"""What polynya asks of a store: named blobs under one root, few verbs.

Names are relative to the root, separated by '/', never absolute, never containing '..' or NUL; the empty name is the
root itself. A blob is visible whole or not at all: no reader ever sees half of one. Folders exist because blobs do;
a store with real directories keeps that appearance, except that it lists empty ones too.

Every verb raises NotFoundError when a blob it reads is absent (a folder is not a blob), AlreadyExistsError when
`put_new` or `rename_folder` finds its name taken, InvalidInputError for a malformed name, and StorageError for whatever
else the store says (the name of the blob in the message, the store's own exception as the cause).

`polynya.storage.urls` opens a storage; one that is not in memory can be pickled. Storages that are equal hold the same
blobs; the same location alone does not say so, since a bucket's name may mean another bucket at another endpoint.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import BinaryIO, Protocol, runtime_checkable

#: How many blobs a page of a listing holds at most.
PAGE_BLOB_COUNT = 1000


@dataclass(frozen=True, slots=True)
class Blob:
    """One stored blob as a listing shows it."""

    name: str
    size_bytes: int
    time_ms: int


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a listing: blobs, and (in a listing that is not recursive) the folders beside them."""

    blobs: tuple[Blob, ...]
    folders: tuple[str, ...] = ()


def pages_of(blobs: Sequence[Blob], folders: Iterable[str]) -> Iterator[Page]:
    """Cut a finished listing into pages; the folders come with the first."""
    named = tuple(folders)
    for start in range(0, max(len(blobs), bool(named)), PAGE_BLOB_COUNT):
        yield Page(tuple(blobs[start : start + PAGE_BLOB_COUNT]), () if start else named)


@runtime_checkable
class Storage(Protocol):
    """Named blobs under one root."""

    @property
    def location(self) -> str:
        """The root as a URL or an absolute path, without a trailing slash."""

    def read(self, name: str) -> bytes:
        """Return the whole blob."""

    def read_range(self, name: str, start: int, length: int) -> bytes:
        """Return exactly `length` bytes from `start`; CorruptFileError when the blob ends before that."""

    def size(self, name: str) -> int:
        """Return the size in bytes."""

    def put(self, name: str, data: bytes) -> None:
        """Create or replace the blob, atomically."""

    def put_new(self, name: str, data: bytes) -> None:
        """Create the blob if its name is free, atomically and durably, else raise AlreadyExistsError.

        Any other error leaves the outcome unknown: the blob may have been created.
        """

    def writer(self, name: str) -> AbstractContextManager[BinaryIO]:
        """A stream into a new blob of a name nobody else uses; it appears when the block ends without an error."""

    def list(self, folder: str, *, recursive: bool = False) -> Iterator[Page]:
        """Yield what is under the folder, page by page, in no particular order; an absent folder is empty."""

    def delete(self, names: Iterable[str]) -> None:
        """Delete the blobs; absent ones are fine."""

    def delete_folder(self, folder: str) -> None:
        """Delete everything under the folder; an absent folder is fine."""

    def rename_folder(self, old: str, new: str) -> None:
        """Move everything under `old` to `new`; atomic on local disks, blob by blob on object stores."""

    def local_path(self, name: str) -> str | None:
        """The blob's path in the local file system, or None where it has none (native readers use it)."""

    def child(self, folder: str) -> "Storage":
        """The same store with `folder` as its root."""


@runtime_checkable
class NestedStorage(Protocol):
    """A storage that knows the folder around its root."""

    def parent(self) -> Storage:
        """The same store with the folder around the root as its root."""
