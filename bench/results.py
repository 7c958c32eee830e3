"""Figures of all groups, kept in the cache folder between runs: the page can be made in several goes."""

import importlib.metadata
import json
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import peers
from interop.java_paimon import VERSION as JAVA_PAIMON
from polynya.spark.java import cache_folder
from stage import Figure, Role, Stage

PACKAGES = ("polynya", "pyarrow", "numpy", "datafusion", "fastavro", "pyspark", "pyiceberg")


@dataclass(frozen=True)
class Result:
    """What one group gave, when, how and where."""

    figures: list[Figure]
    notes: list[str]
    scale: float
    repeats: int
    load: float
    day: str
    machine: list[str]


def result_of(stage: Stage, load: float) -> Result:
    """What the stage has seen, on this machine, today."""
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    return Result(stage.figures, stage.notes, stage.scale, stage.repeats, load, today, _machine())


def kept_path() -> Path:
    """The file that holds the results."""
    return cache_folder() / "bench-results.json"


def load() -> dict[str, Result]:
    """Results by group; none on a machine that has measured nothing."""
    path = kept_path()
    if not path.exists():
        return {}
    return {name: _parse(one) for name, one in json.loads(path.read_text()).items()}


def keep(results: Mapping[str, Result]) -> None:
    """Write them, in the place of those that are there."""
    path = kept_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = path.with_suffix(".new")
    whole.write_text(json.dumps({name: asdict(one) for name, one in results.items()}, indent=1))
    whole.replace(path)


def _parse(fields: dict) -> Result:
    figures = [Figure(**{**one, "role": Role(one["role"])}) for one in fields["figures"]]
    return Result(**{**fields, "figures": figures})


def _machine() -> list[str]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = [f"{name} {importlib.metadata.version(name)}" for name in PACKAGES]
    others = [f"Java Paimon {JAVA_PAIMON}", f"Delta {peers.DELTA_VERSION}", *peers.pinned()]
    return [
        f"{_processor()}, {os.cpu_count()} cores, {memory:.0f} GiB",
        f"{platform.system()} {platform.release().split('-')[0]}, Python {platform.python_version()}",
        ", ".join(versions),
        f"peers in environments of their own: {', '.join(others)}",
    ]


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if "model name" in line]
    return names[0] if names else platform.machine()
