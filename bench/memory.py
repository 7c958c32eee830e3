"""How much memory work takes: the peak of the resident pages of the processes that do it.

| kind | figure |
|---|---|
| a Python process | how far it grew over what it held before the work: what it works on may be in memory already |
| a JVM with its Python workers | all of it: a heap grows as far as it is let, whatever the work needs |
| a process for this work alone | all of it, as it says itself |

Linux counts; elsewhere there is no figure.
"""

import ctypes
import gc
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

PROC = Path("/proc")
HERE = os.getpid()


@dataclass
class Watch:
    """The peak of one doer over all of its runs, in MB; call `begin` before each and `end` after it."""

    pid: int
    whole: bool = False
    peak_mb: float | None = None
    _before: float = field(default=0.0, init=False)
    _fresh: bool = field(default=False, init=False)

    def begin(self) -> None:
        """Forget earlier peaks."""
        if self.pid == HERE:
            _let_go()
        forgotten = [_forget_peak(pid) for pid in self._processes()]
        self._fresh = all(forgotten)
        self._before = 0.0 if self.whole else _status(self.pid).get("VmRSS", 0.0)

    def end(self) -> None:
        """Take the peak of this run."""
        peak = sum(_status(pid).get("VmHWM", 0.0) for pid in self._processes())
        if peak and self._fresh:
            self.peak_mb = max(self.peak_mb or 0.0, peak - self._before)

    def _processes(self) -> list[int]:
        return [self.pid, *_descendants(self.pid)] if self.whole else [self.pid]


@dataclass
class Told:
    """The peak of processes that say it themselves."""

    peak_mb: float | None = None

    def begin(self) -> None:
        """Nothing to do."""

    def end(self) -> None:
        """Nothing to do."""

    def tell(self, peak_mb: float) -> None:
        """One of them had this peak."""
        self.peak_mb = max(self.peak_mb or 0.0, peak_mb)


def _let_go() -> None:
    """Give freed pages back, so that they do not hide growth."""
    gc.collect()
    pa.default_memory_pool().release_unused()
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):
        libc.malloc_trim(0)


def _forget_peak(pid: int) -> bool:
    """Whether the peak begins anew: not where there is no /proc, nor for a process that has ended."""
    try:
        (PROC / str(pid) / "clear_refs").write_text("5")  # the number that resets the peak of resident pages
    except OSError:
        return False
    return True


def _status(pid: int) -> dict[str, float]:
    """The sizes in a process's status, in MB; none when it has ended."""
    try:
        text = (PROC / str(pid) / "status").read_text()
    except OSError:
        return {}
    pairs = (line.split(":", 1) for line in text.splitlines())
    return {name: int(value.split()[0]) * 1024 / 1e6 for name, value in pairs if value.endswith(" kB")}


def _descendants(pid: int) -> Iterator[int]:
    for path in PROC.glob(f"{pid}/task/*/children"):
        try:
            children = [int(child) for child in path.read_text().split()]
        except OSError:  # the thread has just ended
            continue
        for child in children:
            yield child
            yield from _descendants(child)
