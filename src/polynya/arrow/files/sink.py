"""The caller's stream as a writing library sees it: never closed, and counted."""

import io
from typing import Any, BinaryIO


class CountingSink(io.RawIOBase):
    """Passes bytes on to a stream that stays open, and counts them."""

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__()
        self._stream = stream
        self.count = 0

    def writable(self) -> bool:
        """Always true."""
        return True

    def write(self, data: Any, /) -> int:  # noqa: ANN401 - whatever holds bytes
        """Pass the bytes on."""
        self._stream.write(data)
        size = memoryview(data).nbytes
        self.count += size
        return size

    def tell(self) -> int:
        """The number of bytes written."""
        return self.count
