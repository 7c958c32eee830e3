"""docs/benchmarks.md, made from the figures of one run."""

import importlib.metadata
import os
import platform
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from stage import Figure, Stage

PACKAGES = ("polynya", "pyarrow", "numpy", "datafusion", "fastavro", "pyspark")
HEAD = """# Benchmarks

Made by `python3 dev.py bench`; run it instead of editing this page. Each line compares the same work on the same data
in the same run, in turn; times are the best of {repeats} repeats after one that does not count. The ratio is polynya's
time over the peer's: **below 1 polynya is faster**. A bound is not a peer: it does only the part that nobody can do
without. The spread is the smallest and the largest ratio of a repeat. Look at ratios, not at seconds:
{load}
"""
TAIL = """
## Peers

| peer | how |
|---|---|
| Java Paimon 2.0.0 | its table API in a JVM that has done the work once before; answers travel as JSON |
| pypaimon | in an environment of its own (it pins an older pyarrow), timed inside its process |
| Spark | its own Parquet reader and writer in the same session |
| pyarrow, fastavro, DataFusion | called directly |

Not compared here, because they are not part of the test environment: pypaimon-rust, Iceberg on Spark, Delta on Spark.
PyIceberg reads the twin in the tests; it has no primary keys to merge.
"""


def render(stage: Stage, missing: Sequence[str], load: float) -> str:
    """The page of what was measured so far; `missing` are the workloads that were not."""
    lines = [HEAD.format(repeats=stage.repeats, load=_load_text(load)), *_table(stage.figures), ""]
    lines += [f"- {note}" for note in stage.notes]
    if stage.scale != 1:
        lines.append(f"- Sizes are {stage.scale:g} of the usual ones.")
    if missing:
        lines.append(f"- Not measured in this run: {', '.join(missing)}.")
    lines += ["", "## Machine", "", *(f"- {fact}" for fact in _machine(load)), TAIL.rstrip()]
    return "\n".join(lines) + "\n"


def _table(figures: Iterable[Figure]) -> list[str]:
    rows = ["| what | polynya | peer or bound | its time | ratio | spread |", "|---|---:|---|---:|---:|---|"]
    last = None
    for figure in figures:
        what, ours = (figure.what, _time(figure.seconds)) if figure.what != last else ("", "")
        last = figure.what
        if figure.peer_seconds:
            spread = f"{min(figure.ratios):.2f}–{max(figure.ratios):.2f}"
            cells = [what, ours, figure.peer, _time(figure.peer_seconds), f"{figure.ratio:.2f}", spread]
        else:
            cells = [what, ours, figure.peer or "–", "–", "–", "–"]
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def _time(seconds: Sequence[float]) -> str:
    best = min(seconds)
    return f"{best:.2f} s" if best >= 1 else f"{1000 * best:.1f} ms"


def _load_text(load: float) -> str:
    cores = os.cpu_count() or 1
    if load <= cores:
        return "the machine is small."
    return (
        f"the machine is small, and was busy with other work (load {load:.0f} on {cores} cores), so the spread is wide."
    )


def _machine(load: float) -> list[str]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
    return [
        f"{datetime.now(UTC):%Y-%m-%d}; {_processor()}, {os.cpu_count()} cores, {memory:.0f} GiB; load {load:.1f}",
        f"{platform.system()} {platform.release().split('-')[0]}, Python {platform.python_version()}",
        versions,
    ]


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    names = (
        [line.partition(":")[2].strip() for line in info.read_text().splitlines() if "model name" in line]
        if info.exists()
        else []
    )
    return names[0] if names else platform.machine()
