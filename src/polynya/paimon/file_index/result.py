"""What an index says about the rows of a file: all of them may match, none does, or only these may.

A bitmap holds every matching row and may hold others; the filter itself is applied later. REMAIN is neutral for AND and
absorbs in OR, SKIP the other way round.
"""

from enum import Enum
from typing import TypeAlias

from pyroaring import BitMap

from polynya.errors import CorruptFileError


class Verdict(Enum):
    """What an index says of the file as a whole."""

    REMAIN = "every row may match"
    SKIP = "no row matches"


REMAIN = Verdict.REMAIN
SKIP = Verdict.SKIP

Result: TypeAlias = Verdict | BitMap


def both(left: Result, right: Result) -> Result:
    """The rows that may match two conditions at once."""
    if isinstance(left, Verdict):
        return right if left is REMAIN else SKIP
    if isinstance(right, Verdict):
        return left if right is REMAIN else SKIP
    return left & right or SKIP


def either(left: Result, right: Result) -> Result:
    """The rows that may match one of two conditions."""
    if isinstance(left, Verdict):
        return right if left is SKIP else REMAIN
    if isinstance(right, Verdict):
        return left if right is SKIP else REMAIN
    return left | right


def settle(result: Result, row_count: int) -> Result:
    """The same result, with a verdict in place of a bitmap of no row or of every row."""
    if isinstance(result, Verdict):
        return result
    return SKIP if not result else REMAIN if len(result) == row_count else result


def check_rows(bitmap: BitMap, row_count: int, name: str) -> BitMap:
    """The bitmap, after checking that its rows exist; `name` is the file."""
    if bitmap and bitmap.max() >= row_count:
        raise CorruptFileError(f"{name}, file index: expected rows below {row_count}, found {bitmap.max()}")
    return bitmap


def check_row_count(found: int, row_count: int, name: str) -> None:
    """Refuse an index of another number of rows than the data file has."""
    if found != row_count:
        raise CorruptFileError(f"{name}, file index: expected an index of {row_count} rows, found {found}")
