"""What the reading libraries say of a damaged file, as the one error that names the file."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

from polynya.errors import CorruptFileError
from polynya.model import types as t
from polynya.model.schema import KEY_PREFIX


@contextmanager
def naming_damage(name: str, format: str) -> Iterator[None]:
    """Turn errors of the reading library into CorruptFileError."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise CorruptFileError(f"data file '{name}': expected a whole {format} file, found: {error}") from error


def require_own_columns(found: Sequence[str], file_fields: tuple[t.Field, ...], name: str) -> None:
    """Raise CorruptFileError for a file of another schema: it lacks a column that is never null, or has none at all.

    Other columns may be missing: files that were brought in from elsewhere lack what was added there later, and thin
    files the copies of the key.
    """
    lacking = [field for field in file_fields if field.name not in found]
    required = [one for one in lacking if not one.type.nullable and not one.name.startswith(KEY_PREFIX)]
    if required or (file_fields and len(lacking) == len(file_fields)):
        expected = ", ".join(field.name for field in required or lacking)
        raise CorruptFileError(
            f"data file '{name}': expected column {expected}, found {', '.join(found)}; the file does not fit its"
            " schema id"
        )
