"""What the verbs print: tables that fit the terminal, facts, and JSON.

Values that are too long are shortened in the middle, where names hold their random part. A table whose columns do not
fit side by side is printed row by row. Colours appear on terminals only.
"""

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

ELLIPSIS = "…"
_GAP = 2
_NARROWEST = 6
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


@dataclass(frozen=True)
class Listing:
    """Rows under column names; numbers are aligned to the right."""

    columns: Sequence[str]
    rows: Sequence[Sequence[object]]
    numbers: frozenset[str] = field(default_factory=frozenset)


def console() -> Console:
    """Where results go; plain text when that is no terminal."""
    return Console(highlight=False, markup=False, emoji=False)


def print_json(value: object) -> None:
    """One value on one line."""
    escape = not (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    sys.stdout.write(json.dumps(value, ensure_ascii=escape, allow_nan=False, default=str) + "\n")


def print_json_rows(table: pa.Table) -> None:
    """Every row as an object on a line of its own."""
    for batch in table.to_batches():
        columns = [json_values(column) for column in batch.columns]
        for row in zip(*columns, strict=True):
            print_json(dict(zip(table.column_names, row, strict=True)))


def print_listing(listing: Listing, more: str | None = None) -> None:
    """The rows side by side where they fit, else row by row; `more` says what was left out."""
    out = console()
    texts = [[_cell(value) for value in row] for row in listing.rows]
    widths = _widths(listing.columns, texts, out.width)
    if not texts:
        out.print("nothing to show")
    elif widths is None:
        _print_records(out, listing.columns, texts)
    else:
        _print_grid(out, listing, texts, widths)
    if more:
        out.print(Text(more, style="dim"))


def print_facts(facts: Mapping[str, object]) -> None:
    """A name and its value on each line; values that are None are left out."""
    out = console()
    shown = {name: value for name, value in facts.items() if value is not None}
    width = max(map(len, shown), default=0)
    for name, value in shown.items():
        room = max(out.width - width - _GAP, _NARROWEST)
        out.print(Text.assemble((name.ljust(width + _GAP), "dim"), shorten(_cell(value), room)), no_wrap=True)


def shorten(text: str, width: int) -> str:
    """The text, its middle left out where it is longer than `width`."""
    if cell_len(text) <= width:
        return text
    kept = min(width - 1, len(text))
    while True:
        tail = kept // 2
        short = text[: kept - tail] + ELLIPSIS + (text[-tail:] if tail else "")
        if cell_len(short) <= width or not kept:
            return short
        kept -= 1  # some characters take two cells


def size_text(size_bytes: int) -> str:
    """Bytes for people: 12 B, 3.4 MiB."""
    power = min(int(math.log(size_bytes, 1024)), len(_UNITS) - 1) if size_bytes > 0 else 0
    return f"{size_bytes / 1024**power:.1f} {_UNITS[power]}" if power else f"{size_bytes} B"


def plural(count: int, noun: str) -> str:
    """A count with its noun: 1 file, 1,200 files."""
    ending = "" if count == 1 else "es" if noun.endswith(("s", "x", "ch")) else "s"
    return f"{count:,} {noun}{ending}"


def json_values(column: pa.Array) -> list[Any]:
    """The values of a column for JSON: times as text, decimals as text, bytes as hexadecimal digits."""
    kind = column.type
    if pa.types.is_struct(kind):
        members = [json_values(column.field(index)) for index in range(kind.num_fields)]
        names = [member.name for member in kind]
        rows = (dict(zip(names, row, strict=True)) for row in zip(*members, strict=True)) if members else iter([])
        return [row if valid else None for row, valid in zip(rows, column.is_valid().to_pylist(), strict=True)]
    if pa.types.is_map(kind):
        pairs = list(map(list, zip(json_values(column.keys), json_values(column.items), strict=True)))
        return _sliced(pairs, column)
    if pa.types.is_list(kind):
        return _sliced(json_values(column.values), column)
    if pa.types.is_temporal(kind):
        return list(column.cast(pa.string()).to_pylist())
    if pa.types.is_decimal(kind):
        return [None if value is None else format(value, "f") for value in column.to_pylist()]
    if pa.types.is_floating(kind):
        return [_finite(value) for value in column.to_pylist()]
    if pa.types.is_binary(kind):
        return [None if value is None else value.hex() for value in column.to_pylist()]
    return list(column.to_pylist())


def _sliced(values: list[Any], column: pa.Array) -> list[Any]:
    offsets, valid = column.offsets.to_pylist(), column.is_valid().to_pylist()
    return [values[start:end] if ok else None for start, end, ok in zip(offsets, offsets[1:], valid, strict=False)]


def _finite(value: float | None) -> float | str | None:
    """JSON has no words for what is not a number."""
    if value is None or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _cell(value: object) -> str:
    text = "-" if value is None else str(value)
    return "".join(mark if mark.isprintable() else " " for mark in text)


def _widths(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[int] | None:
    """How wide each column is so that all fit; the widest gives way first. None when that is not enough."""
    wanted = [max(map(cell_len, (name, *(row[at] for row in rows)))) for at, name in enumerate(columns)]
    room = width - _GAP * (len(columns) - 1)
    while sum(wanted) > room:
        widest = max(range(len(wanted)), key=wanted.__getitem__)
        second = max((one for at, one in enumerate(wanted) if at != widest), default=0)
        target = max(wanted[widest] - (sum(wanted) - room), min(second, wanted[widest] - 1), _NARROWEST)
        if target >= wanted[widest]:
            return None
        wanted[widest] = target
    return wanted


def _print_grid(out: Console, listing: Listing, rows: Iterable[Sequence[str]], widths: Sequence[int]) -> None:
    grid = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="bold", show_edge=False)
    for name, width in zip(listing.columns, widths, strict=True):
        justify: JustifyMethod = "right" if name in listing.numbers else "left"
        grid.add_column(Text(shorten(name, width)), justify=justify, no_wrap=True, width=width)
    for row in rows:
        grid.add_row(*(Text(shorten(text, width)) for text, width in zip(row, widths, strict=True)))
    out.print(grid)


def _print_records(out: Console, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    label = min(max(map(len, columns)), out.width // 3)
    for number, row in enumerate(rows):
        if number:
            out.print()
        for name, text in zip(columns, row, strict=True):
            room = max(out.width - label - _GAP, _NARROWEST)
            out.print(
                Text.assemble((shorten(name, label).ljust(label + _GAP), "dim"), shorten(text, room)), no_wrap=True
            )
