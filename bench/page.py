"""docs/benchmarks.md and its images, made from the results of all groups."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import plots
from results import Result
from stage import Figure, Role

HEAD = """# Benchmarks

Made by `python3 dev.py bench`; run it instead of editing this page. Each line compares the same work on the same data
in the same run, in turn; times are the best of several repeats after one that does not count. The ratio is polynya's
time over the other's: **below 1 polynya is faster**. The spread is the smallest and the largest ratio of a repeat.
A *bound* is not a peer: it does only the part that nobody can do without. *Itself* is polynya in another way or place.
Look at ratios, not at seconds: the machine is small.

Memory is a peak in MB. Of a Python process it is how far it grew over what it held before; of a JVM with its Python
workers, and of plans and manifest merges, which have a process of their own, it is all of it. The run
that warms up counts, with the libraries that it loads. `–`: nobody looked.
"""
PEERS = """
## Peers

| peer | how |
|---|---|
| Java Paimon | its table API in a JVM that has done the work once before; answers travel as JSON |
| pypaimon, pypaimon-rust | in environments of their own, timed inside their processes |
| PyIceberg | the same, with a catalog in SQLite; it has no primary keys, so it takes no part in upserts and merges |
| Iceberg on Spark, Delta on Spark | on Spark 4.1, the newest that both have; two cores and 3 GB, as for polynya |
| Spark's Parquet | Spark's own reader and writer in polynya's session |
| pyarrow, fastavro, DataFusion | called directly |

"With deletion vectors" Iceberg's tables are merge-on-read, of format version 3, and Delta's have them enabled.
Not compared: Java Paimon for writes and scans, because rows would travel to it and back as JSON.
"""
CHART = ": time over that of the best peer (hollow: of the bound)"
TITLES = {
    "manifests": "Manifests",
    "keys": "Keys",
    "plans": "Plans of many files",
    "plans_million": "Plans of ten times as many files",
    "commits": "Commits",
    "writers": "Writers at once",
    "small_writes": "Small writes",
    "writes": "Loading rows",
    "reads": "Scans",
    "merges": "Merges in memory",
    "compactions": "Compaction",
    "deletes": "Deletes",
    "iceberg": "Publishing to Iceberg, by processor time",
    "iceberg_plans": "Plans of Iceberg tables, by processor time",
    "spark": "Spark",
}


def write(results: Mapping[str, Result], groups: Sequence[str], docs: Path) -> None:
    """The page and its images; images of groups that have none any more go."""
    charts = {name: plots.bars_of(results[name].figures) for name in groups if name in results}
    images = docs / "images"
    images.mkdir(exist_ok=True)
    for name in groups:
        path = images / f"bench-{name}.svg"
        if charts.get(name):
            path.write_text(plots.render(f"{TITLES[name]}{CHART}", charts[name]))
        else:
            path.unlink(missing_ok=True)
    (docs / "benchmarks.md").write_text(render(results, groups, {name for name, bars in charts.items() if bars}))


def render(results: Mapping[str, Result], groups: Sequence[str], charts: set[str]) -> str:
    """The text of the page; `charts` names the groups that have an image."""
    lines = [HEAD]
    for name in groups:
        if name in results:
            lines += _section(name, results[name], name in charts)
    missing = [name for name in groups if name not in results]
    if missing:
        lines += [f"Not measured: {', '.join(missing)}.", ""]
    return "\n".join([*lines, *_runs(results, groups), PEERS.rstrip()]) + "\n"


def _section(name: str, result: Result, chart: bool) -> list[str]:
    image = [f"![{TITLES[name]}](images/bench-{name}.svg)", ""] if chart else []
    notes = [f"- {note}" for note in result.notes]
    return [f"## {TITLES[name]}", "", *image, *_table(result.figures), "", *notes, *([""] if notes else [])]


def _table(figures: Sequence[Figure]) -> list[str]:
    rows = [
        "| what | polynya | memory | compared with | its time | its memory | ratio | spread |",
        "|---|---:|---:|---|---:|---:|---:|---|",
    ]
    last = None
    for figure in figures:
        ours = (figure.what, _time(figure.seconds), _memory(figure.memory_mb)) if figure.what != last else ("", "", "")
        last = figure.what
        rows.append(f"| {' | '.join([*ours, *_other(figure)])} |")
    return rows


def _other(figure: Figure) -> list[str]:
    name = {Role.PEER: "{}", Role.BOUND: "*bound:* {}", Role.SELF: "*itself:* {}"}[figure.role].format(figure.other)
    if not figure.other_seconds:
        return [f"{name}: {figure.reason}" if figure.other else "–", "–", "–", "–", "–"]
    spread = f"{min(figure.ratios):.2f}–{max(figure.ratios):.2f}"
    return [name, _time(figure.other_seconds), _memory(figure.other_memory_mb), f"{figure.ratio:.2f}", spread]


def _time(seconds: Sequence[float]) -> str:
    best = min(seconds)
    return f"{best:.2f} s" if best >= 1 else f"{1000 * best:.1f} ms"


def _memory(peak_mb: float | None) -> str:
    return "–" if peak_mb is None else f"{peak_mb:,.0f}"


def _runs(results: Mapping[str, Result], groups: Sequence[str]) -> list[str]:
    """Where and how, in as few lines as the groups have in common."""
    by_machine: dict[tuple[str, ...], list[str]] = {}
    for name in groups:
        if name in results:
            by_machine.setdefault(tuple(results[name].machine), []).append(name)
    lines = ["## Machine", ""]
    for facts, names in by_machine.items():
        shown = [f"{', '.join(names)}:"] if len(by_machine) > 1 else []
        lines += [*shown, *(["" for _ in shown]), *(f"- {fact}" for fact in facts), ""]
    lines += ["| group | day | repeats | size | load |", "|---|---|---:|---:|---:|"]
    cores = os.cpu_count() or 1
    for name in groups:
        if name in results:
            one = results[name]
            busy = " (busy)" if one.load > 2 * cores else ""
            lines.append(f"| {name} | {one.day} | {one.repeats} | {one.scale:g} | {one.load:.1f}{busy} |")
    return [
        *lines,
        "",
        "Size is the share of the usual numbers of rows and files; load is that of the machine during the group.",
    ]
