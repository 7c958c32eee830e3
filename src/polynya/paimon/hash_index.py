"""Hash index files: the hashes of all keys of one dynamic bucket, as big-endian int32 without order or header."""

import numpy as np
import numpy.typing as npt

from polynya.errors import CorruptFileError

_HASH_BYTES = 4


def decode(data: bytes, *, name: str) -> npt.NDArray[np.int32]:
    """The hashes in the file."""
    if len(data) % _HASH_BYTES:
        raise CorruptFileError(f"{name}, hash index: expected a multiple of 4 bytes, found {len(data)}")
    return np.frombuffer(data, dtype=">i4").astype(np.int32)


def encode(hashes: npt.NDArray[np.int32]) -> bytes:
    """The file of the hashes."""
    return hashes.astype(">i4").tobytes()
