"""A stored blob as a file that pyarrow can read at random positions.

A blob with a local path is opened by Arrow itself. Any other blob is read by ranges: the tail is fetched first, because
footers stand there, and a small read fetches a whole window, because the next small read is usually its neighbour.
Large reads (Parquet column chunks that Arrow has already coalesced) go to the store as they are.
"""

import io
from types import TracebackType

import pyarrow as pa

from polynya.errors import NotFoundError, StorageError
from polynya.storage.protocol import Storage

WINDOW_BYTES = 64 * 1024


def open_blob(storage: Storage, name: str) -> pa.NativeFile:
    """Open the blob for random reads; NotFoundError when it is absent."""
    path = storage.local_path(name)
    if path is None:
        return pa.PythonFile(RangeFile(storage, name), mode="r")
    try:
        return pa.OSFile(path)
    except FileNotFoundError as error:
        raise NotFoundError(f"data file '{name}' does not exist in {storage.location}") from error
    except OSError as error:
        raise StorageError(f"data file '{name}' in {storage.location} cannot be opened: {error}") from error


class RangeFile(io.RawIOBase):
    """A read-only file over `Storage.read_range` that holds its tail and one window in memory."""

    def __init__(self, storage: Storage, name: str) -> None:
        super().__init__()
        self._storage = storage
        self._name = name
        self._size = storage.size(name)
        self._position = 0
        tail = min(self._size, WINDOW_BYTES)
        self._tail_start = self._size - tail
        self._tail = storage.read_range(name, self._tail_start, tail) if tail else b""
        self._window_start = 0
        self._window = b""

    def readable(self) -> bool:
        """Always true."""
        return True

    def seekable(self) -> bool:
        """Always true."""
        return True

    def size(self) -> int:
        """The size of the blob in bytes."""
        return self._size

    def tell(self) -> int:
        """The position of the next read."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Move the position of the next read."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, start + offset)
        return self._position

    def read(self, size: int | None = -1, /) -> bytes:
        """Return up to `size` bytes; fewer only at the end of the blob."""
        left = max(0, self._size - self._position)
        length = left if size is None or size < 0 else min(size, left)
        data = self._range(self._position, length) if length else b""
        self._position += length
        return data

    def _range(self, start: int, length: int) -> bytes:
        if start >= self._tail_start:
            return self._tail[start - self._tail_start : start - self._tail_start + length]
        if length >= WINDOW_BYTES:
            return self._storage.read_range(self._name, start, length)
        held = self._window_start <= start and start + length <= self._window_start + len(self._window)
        if not held:
            self._window_start = start
            self._window = self._storage.read_range(self._name, start, min(WINDOW_BYTES, self._size - start))
        return self._window[start - self._window_start : start - self._window_start + length]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
