"""Which names a storage accepts, and which file names read out of metadata are believed.

A blob name is one or more segments joined by '/'. No segment is empty, '.' or '..', and none holds NUL, so a name can
neither leave the root nor stand for two blobs. A folder name is a blob name, or empty for the root itself.
"""

import re

from polynya.errors import InvalidInputError

#: Matches what a file name in metadata must not be. RE2 understands it too, so it also checks a column of names.
BAD_FILE_NAME = r"^$|^\.\.?$|[/\x00]"

_BAD_NAME = re.compile(r"(?:^|/)\.{0,2}(?:/|\Z)|\x00")


def require_blob(name: str) -> None:
    """Raise InvalidInputError unless the name can be that of a blob."""
    if _BAD_NAME.search(name) or not is_encodable(name):
        raise InvalidInputError(
            f"blob name {name!r}: expected segments joined by '/', none of them empty, '.' or '..', and no NUL"
        )


def require_folder(name: str) -> None:
    """Raise InvalidInputError unless the name can be that of a folder."""
    if name:
        require_blob(name)


def require_range(name: str, start: int, length: int) -> None:
    """Raise InvalidInputError unless the numbers can be a range of bytes."""
    if start < 0 or length < 0:
        raise InvalidInputError(f"range of {name!r}: expected start and length of 0 or more, got {start} and {length}")


def require_move(old: str, new: str) -> None:
    """Raise InvalidInputError unless a folder can move from the one name to the other."""
    require_blob(old)
    require_blob(new)
    if new == old or new.startswith(old + "/"):
        raise InvalidInputError(f"folder {old!r} cannot move to {new!r}, which is in it")


def join(folder: str, name: str) -> str:
    """The name of a blob in a folder, where either may be the empty root."""
    return f"{folder}/{name}" if folder and name else folder or name


def is_encodable(name: str) -> bool:
    """Whether the name has bytes: a half of a character has none."""
    # Listings of local disks may hold bytes that are no UTF-8; Python carries them as escaped surrogates.
    try:
        name.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True
