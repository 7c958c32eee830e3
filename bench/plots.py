"""Bar charts as SVG: polynya's time over that of its best peer, on a logarithmic axis, with the spread of the repeats.

A bar to the left of the line at 1 says that polynya is faster. A workload that only has a bound gets a hollow bar.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from stage import Figure, Role

WIDTH, ROW, TOP, BOTTOM = 860, 26, 34, 30
LEFT, RIGHT = 330, 250  # room for the names of workloads, and of peers
FASTER, SLOWER, HOLLOW, INK, FAINT = "#2a7f62", "#c2571a", "#8a8f98", "#24292f", "#d0d7de"
STYLE = "font-family: system-ui, sans-serif; font-size: 12px"


@dataclass(frozen=True)
class Bar:
    """One workload: the ratio with its spread, and whose time it is over."""

    what: str
    ratio: float
    low: float
    high: float
    other: str
    role: Role


def bars_of(figures: Iterable[Figure]) -> list[Bar]:
    """A bar for each workload that has a peer, or else a bound: the fastest of them."""
    by_work: dict[str, list[Figure]] = {}
    for figure in figures:
        if figure.other_seconds and figure.role is not Role.SELF:
            by_work.setdefault(figure.what, []).append(figure)
    bars = []
    for what, found in by_work.items():
        best = max(found, key=lambda one: (one.role is Role.PEER, one.ratio))
        ratios = best.ratios
        bars.append(Bar(what, best.ratio, min(ratios), max(ratios), best.other, best.role))
    return bars


def render(title: str, bars: Sequence[Bar]) -> str:
    """The chart, as the text of an SVG file."""
    low = min(0.1, *(10 ** math.floor(math.log10(bar.low)) for bar in bars))
    high = max(10.0, *(10 ** math.ceil(math.log10(bar.high)) for bar in bars))
    axis = _Axis(low, high)
    height = TOP + ROW * len(bars) + BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" style="{STYLE}">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        _text(LEFT, 16, title, "start", weight="600"),
        *_grid(axis, TOP + ROW * len(bars)),
    ]
    for number, bar in enumerate(bars):
        parts += _row(bar, axis, TOP + ROW * number)
    return "\n".join([*parts, "</svg>"]) + "\n"


@dataclass(frozen=True)
class _Axis:
    low: float
    high: float

    def x(self, ratio: float) -> float:
        share = math.log10(ratio / self.low) / math.log10(self.high / self.low)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def ticks(self) -> list[float]:
        first, last = round(math.log10(self.low)), round(math.log10(self.high))
        return [10.0**power for power in range(first, last + 1)]


def _grid(axis: _Axis, bottom: int) -> list[str]:
    parts = []
    for tick in axis.ticks():
        x, middle = axis.x(tick), tick == 1
        stroke, width = (INK, 1.5) if middle else (FAINT, 1)
        parts.append(
            f'<line x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{bottom}" stroke="{stroke}" stroke-width="{width}"/>'
        )
        parts.append(_text(x, bottom + 16, f"{tick:g}", "middle"))
    return parts


def _row(bar: Bar, axis: _Axis, top: int) -> list[str]:
    start, end = sorted((axis.x(1), axis.x(bar.ratio)))
    colour = FASTER if bar.ratio <= 1 else SLOWER
    paint = f'fill="none" stroke="{HOLLOW}"' if bar.role is Role.BOUND else f'fill="{colour}"'
    middle = top + 9
    low, high = axis.x(bar.low), axis.x(bar.high)
    label = f"{bar.ratio:.2g} × {'bound: ' if bar.role is Role.BOUND else ''}{bar.other}"
    return [
        _text(LEFT - 8, top + 13, _short(bar.what, 50), "end"),
        f'<rect x="{start:.1f}" y="{top}" width="{max(end - start, 1):.1f}" height="18" {paint}/>',
        f'<path d="M{low:.1f} {middle - 4}v8m0-4H{high:.1f}m0-4v8" stroke="{INK}" fill="none"/>',
        _text(WIDTH - RIGHT + 10, top + 13, _short(label, 38), "start"),
    ]


def _text(x: float, y: float, text: str, anchor: str, weight: str = "400") -> str:
    return f'<text x="{x:.1f}" y="{y}" text-anchor="{anchor}" font-weight="{weight}" fill="{INK}">{escape(text)}</text>'


def _short(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
