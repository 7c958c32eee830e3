"""What the reading libraries say of a damaged file, as the one error that names the file."""

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from polynya.errors import CorruptFileError


@contextmanager
def naming_damage(name: str, format: str) -> Iterator[None]:
    """Turn errors of the reading library into CorruptFileError."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise CorruptFileError(f"data file '{name}': expected a whole {format} file, found: {error}") from error
