"""Statistics of data files: what is known of each column, and how a manifest stores it.

A file's `ColumnStats` are exact: smallest and largest value, number of nulls. The mode of a column then says how much
of that a manifest keeps:

| mode | min, max | null count |
|---|---|---|
| none | no | no |
| counts | no | yes |
| truncate(n) | strings to n code points, bytes to n bytes; all else whole | yes |
| full | yes | yes |

A truncated maximum is rounded up: its last position that can be raised is raised and the rest dropped. Where none can,
both bounds are dropped. In the dense form a column of which nothing is known is left out, and the names of the others
are listed.
"""

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from polynya.codec.binary_row import encode_row
from polynya.errors import InvalidInputError
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_type
from polynya.model.options_data import (
    METADATA_STATS_KEEP_FIRST_N_COLUMNS,
    METADATA_STATS_MODE,
    METADATA_STATS_MODE_PER_LEVEL,
)
from polynya.model.value_text import Physical

"""A bound: an int for dates, times and timestamps (in the unit of the Arrow type), else the Python value."""

KEY_MODE = "truncate(128)"
_TRUNCATE = re.compile(r"truncate\((\d+)\)")
_SURROGATES = range(0xD800, 0xE000)
_LAST_CODE_POINT = 0x10FFFF


@dataclass(frozen=True, slots=True)
class ColumnStats:
    """What is known of a column; None is unknown."""

    min: Physical | None = None
    max: Physical | None = None
    null_count: int | None = None


@dataclass(frozen=True, slots=True)
class SimpleStats:
    """Statistics as a manifest holds them: two BinaryRows and a list of null counts."""

    min_values: bytes
    max_values: bytes
    null_counts: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Mode:
    """How much of a column's statistics is kept; `length` only where bounds are cut."""

    counts: bool
    bounds: bool
    length: int | None = None


NONE = Mode(counts=False, bounds=False)
COUNTS = Mode(counts=True, bounds=False)
FULL = Mode(counts=True, bounds=True)


def parse_mode(text: str, option: str = "metadata.stats-mode") -> Mode:
    """The mode a table option names, in any case; InvalidInputError names the option."""
    plain = text.strip().lower()
    simple = {"none": NONE, "counts": COUNTS, "full": FULL}.get(plain)
    if simple is not None:
        return simple
    cut = _TRUNCATE.fullmatch(plain)
    if cut is None or int(cut[1]) == 0:
        raise InvalidInputError(f"option '{option}' must be none, counts, full or truncate(n), got '{text}'")
    return Mode(counts=True, bounds=True, length=int(cut[1]))


def column_modes(
    fields: Sequence[t.Field],
    options: Mapping[str, str],
    *,
    mode: str | None = None,
    key_columns: AbstractSet[str] = frozenset(),
) -> tuple[Mode, ...]:
    """The mode of each stored column.

    `mode` stands for `metadata.stats-mode` where a level or the changelog has a mode of its own. `key_columns` are kept
    longer, whatever the mode, and do not count among the first columns that have statistics.
    """
    text = METADATA_STATS_MODE.of(options) if mode is None else mode
    general, key_mode = parse_mode(text), parse_mode(KEY_MODE)
    first = METADATA_STATS_KEEP_FIRST_N_COLUMNS.of(options)
    modes, counted = [], 0
    for field in fields:
        own = f"fields.{field.name}.stats-mode"
        if own in options:
            modes.append(parse_mode(options[own], own))
        elif field.name in key_columns:
            modes.append(key_mode)
            continue
        else:
            modes.append(NONE if 0 <= first <= counted else general)
        counted += 1
    return tuple(modes)


def level_mode(options: Mapping[str, str], level: int) -> str | None:
    """The mode that `metadata.stats-mode.per.level` gives a level, or None."""
    return METADATA_STATS_MODE_PER_LEVEL.of(options).get(level)


def simple_stats(
    columns: Sequence[ColumnStats], fields: Sequence[t.Field], modes: Sequence[Mode], *, dense: bool = True
) -> tuple[SimpleStats, tuple[str, ...] | None]:
    """Value statistics and the names of the columns they are of; None stands for all columns."""
    kept = [apply_mode(stats, mode) for stats, mode in zip(columns, modes, strict=True)]
    pairs = [(field, stats) for field, stats in zip(fields, kept, strict=True) if not dense or stats != ColumnStats()]
    types = [to_arrow_type(field.type) for field, _ in pairs]
    encoded = SimpleStats(
        encode_row([stats.min for _, stats in pairs], types),
        encode_row([stats.max for _, stats in pairs], types),
        tuple(stats.null_count for _, stats in pairs),
    )
    names = None if len(pairs) == len(fields) else tuple(field.name for field, _ in pairs)
    return encoded, names


def apply_mode(stats: ColumnStats, mode: Mode) -> ColumnStats:
    """What the mode keeps of a column's statistics."""
    null_count = stats.null_count if mode.counts else None
    if not mode.bounds or stats.min is None or stats.max is None:
        return ColumnStats(null_count=null_count)
    if mode.length is None:
        return ColumnStats(stats.min, stats.max, null_count)
    largest = _cut_max(stats.max, mode.length)
    if largest is None:
        return ColumnStats(null_count=null_count)
    return ColumnStats(_cut_min(stats.min, mode.length), largest, null_count)


def _cut_min(value: Physical, length: int) -> Physical:
    return value[:length] if isinstance(value, (str, bytes)) else value


def _cut_max(value: Physical, length: int) -> Physical | None:
    if not isinstance(value, (str, bytes)) or len(value) <= length:
        return value
    return _raise_text(value[:length]) if isinstance(value, str) else _raise_bytes(value[:length])


def _raise_text(prefix: str) -> str | None:
    """The least text of this length or shorter that is greater than every text with the prefix."""
    for index in range(len(prefix) - 1, -1, -1):
        following = ord(prefix[index]) + 1
        if following in _SURROGATES:
            following = _SURROGATES.stop
        if following <= _LAST_CODE_POINT:
            return prefix[:index] + chr(following)
    return None


def _raise_bytes(prefix: bytes) -> bytes | None:
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else None
