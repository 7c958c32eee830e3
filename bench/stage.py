"""Where workloads are measured: polynya and its peers in turn, several times, on the same data in the same run."""

import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from interop.cached import UnavailableError
from interop.line_server import OtherError
from memory import HERE, Told, Watch
from peers import Peers, Task

SMOKE = 0.001  # the scale at which only running counts

# Of a peer: what it answers, a pipe to one that died, a process of its own that ended badly.
FAILURES = (OtherError, OSError, subprocess.CalledProcessError)

Work = Callable[[], object]
Others = Mapping[str, Work | str]  # a text says why there is no figure


class Role(StrEnum):
    """What polynya is compared with."""

    PEER = "peer"  # another program that does the same
    BOUND = "bound"  # only the part of the work that nobody can do without
    SELF = "self"  # polynya itself, in another way or place


@dataclass(frozen=True)
class Figure:
    """The seconds of polynya and of one other, repeat by repeat; without `other_seconds` `reason` says why.

    Memory is a peak in MB, None where nobody could look.
    """

    what: str
    seconds: list[float]
    memory_mb: float | None = None
    other: str = ""
    role: Role = Role.PEER
    other_seconds: list[float] = field(default_factory=list)
    other_memory_mb: float | None = None
    reason: str = ""

    @property
    def ratios(self) -> list[float]:
        return [ours / other for ours, other in zip(self.seconds, self.other_seconds, strict=True)]

    @property
    def ratio(self) -> float:
        """Of the best times: what else runs on the machine only ever adds to one."""
        return min(self.seconds) / min(self.other_seconds)


@dataclass
class Runner:
    """One who does the work, with what was seen of it."""

    name: str
    role: Role
    work: Work
    watch: Watch | Told | None
    seconds: list[float] = field(default_factory=list)
    failure: str = ""

    def run(self) -> None:
        """Once more; a peer that fails says why and is not asked again."""
        if self.failure:
            return
        if self.watch:
            self.watch.begin()
        try:
            self.seconds.append(seconds_of(self.work))
        except FAILURES as error:
            if self.role is not Role.PEER:
                raise
            self.failure = f"failed: {first_line(error)}"
        if self.watch:
            self.watch.end()


@dataclass
class Stage:
    """What a workload needs: a folder, the size of things, the peers; and where its figures go."""

    folder: Path
    scale: float
    repeats: int
    with_peers: bool
    figures: list[Figure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    peers: Peers = field(default_factory=Peers)

    def rows(self, count: int, least: int = 100) -> int:
        """The count at this scale."""
        return max(int(count * self.scale), least)

    def compare(
        self,
        what: str,
        ours: Work,
        peers: Others | None = None,
        *,
        bounds: Others | None = None,
        own: Others | None = None,
    ) -> None:
        """Measure in turn, once to warm up (but for a single repeat) and then `repeats` times."""
        others = [
            (name, role, work)
            for role, group in ((Role.PEER, peers), (Role.BOUND, bounds), (Role.SELF, own))
            for name, work in (group or {}).items()
        ]
        first = Runner("polynya", Role.SELF, ours, ours.watch if isinstance(ours, Task) else Watch(HERE))
        runners = [first] + [_runner(*one) for one in others if callable(one[2])]
        for _ in range(self.repeats + (self.repeats > 1)):
            for runner in runners:
                runner.run()
        found = {runner.name: runner for runner in runners[1:]}
        reasons = {name: text for name, _, text in others if isinstance(text, str)}
        for name, role, _ in others:
            self.figures.append(self._figure(what, first, name, role, found.get(name), reasons.get(name, "")))
        if not others:
            self.figures.append(self._figure(what, first, "", Role.PEER, None, ""))
        times = (f"{one.name} {min(one.seconds):.3f} s" for one in runners if not one.failure)
        print(f"  {what}: {', '.join(times)}", flush=True)

    def _figure(self, what: str, first: Runner, name: str, role: Role, other: Runner | None, reason: str) -> Figure:
        ours = (what, first.seconds[-self.repeats :], _peak(first), name, role)
        if other is None or other.failure:
            return Figure(*ours, reason=reason if other is None else other.failure)
        return Figure(*ours, other.seconds[-self.repeats :], _peak(other))

    def note(self, text: str) -> None:
        """A figure that is no time."""
        self.notes.append(text)
        print(f"  {text}", flush=True)

    def peer(self, name: str, ask: Callable[[Peers], Work]) -> Others:
        """The peer under its name, or why it is not there; nothing at all where peers are left out."""
        if not self.with_peers:
            return {}
        try:
            return {name: ask(self.peers)}
        except UnavailableError as error:
            return {name: f"not available: {first_line(error)}"}
        except FAILURES as error:
            return {name: f"failed: {first_line(error)}"}

    def cannot(self, reason: str, *names: str) -> Others:
        """Peers that have no such thing, and why."""
        return dict.fromkeys(names, reason) if self.with_peers else {}

    @contextmanager
    def opened(self) -> Iterator["Stage"]:
        """The stage; its peers end with the block."""
        with self.peers.open:
            yield self


def _runner(name: str, role: Role, work: Work) -> Runner:
    watch = work.watch if isinstance(work, Task) else None
    return Runner(name, role, work, watch)


def _peak(runner: Runner) -> float | None:
    return runner.watch.peak_mb if runner.watch else None


def first_line(error: Exception) -> str:
    """What fits into a table."""
    return str(error).strip().splitlines()[0][:100].replace("|", "/")


def seconds_of(work: Work) -> float:
    """What the work says that it took, or else what the clock says."""
    started = time.perf_counter()
    answer = work()
    passed = time.perf_counter() - started
    return answer if isinstance(answer, float) else passed
