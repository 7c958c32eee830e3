"""Where workloads are measured: polynya and its peers in turn, several times, on the same data in the same run."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from interop.cached import UnavailableError
from interop.java_paimon import OPENED, JavaPaimon, compile_server, fetch_jars, find_jdk
from interop.line_server import LineServer
from interop.pypaimon_env import make_environment

Work = Callable[[], object]
Peers = Mapping[str, Work | str]  # a text says why there is no figure


@dataclass(frozen=True)
class Figure:
    """The seconds of polynya and of one peer, repeat by repeat; without `peer_seconds` the peer has no figure."""

    what: str
    seconds: list[float]
    peer: str = ""
    peer_seconds: list[float] = field(default_factory=list)

    @property
    def ratios(self) -> list[float]:
        return [ours / other for ours, other in zip(self.seconds, self.peer_seconds, strict=True)]

    @property
    def ratio(self) -> float:
        """Of the best times: what else runs on the machine only ever adds to one."""
        return min(self.seconds) / min(self.peer_seconds)


@dataclass
class Stage:
    """What a workload needs: a folder, the size of things, the peers; and where its figures go."""

    folder: Path
    scale: float
    repeats: int
    with_peers: bool
    figures: list[Figure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _open: ExitStack = field(default_factory=ExitStack)

    def rows(self, count: int, least: int = 100) -> int:
        """The count at this scale."""
        return max(int(count * self.scale), least)

    def compare(self, what: str, ours: Work, peers: Peers | None = None) -> None:
        """Measure in turn, once to warm up (but for a single repeat) and then `repeats` times."""
        peers = peers or {}
        able = {name: work for name, work in peers.items() if callable(work)}
        taken: dict[str, list[float]] = {name: [] for name in ("", *able)}
        for _ in range(self.repeats + (self.repeats > 1)):
            for name, work in (("", ours), *able.items()):
                taken[name].append(seconds_of(work))
        taken = {name: seconds[-self.repeats :] for name, seconds in taken.items()}
        for name, other in peers.items():
            self.figures.append(
                Figure(what, taken[""], name, taken[name])
                if callable(other)
                else Figure(what, taken[""], f"{name}: {other}")
            )
        if not peers:
            self.figures.append(Figure(what, taken[""]))
        print(f"  {what}", *(f"{name or 'polynya'} {min(t):.3f} s" for name, t in taken.items()), sep=", ")

    def note(self, text: str) -> None:
        """A figure that is no time."""
        self.notes.append(text)
        print(f"  {text}", flush=True)

    def peer(self, name: str, ask: Callable[[], Work]) -> Peers:
        """The peer under its name, or why it is not there; nothing at all where peers are left out."""
        if not self.with_peers:
            return {}
        try:
            return {name: ask()}
        except UnavailableError as error:
            return {name: f"not on this machine ({str(error).splitlines()[0][:60]})"}

    @cached_property
    def java(self) -> JavaPaimon:
        """The real Java Paimon, one process for all, compiled as far as it goes."""
        jdk, jars = find_jdk(), fetch_jars()
        opens = [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in OPENED]
        command = [jdk / "java", "-Xmx4g", *opens, "-cp", f"{compile_server(jdk, jars)}:{jars}/*", "Server"]
        return JavaPaimon(self._open.enter_context(LineServer.started(command)))

    @cached_property
    def pypaimon(self) -> "PyPaimonPeer":
        """pypaimon in its own environment, one process for all."""
        command = [make_environment() / "bin" / "python", Path(__file__).parent / "pypaimon_peer.py"]
        return PyPaimonPeer(self._open.enter_context(LineServer.started(command)))

    @contextmanager
    def opened(self) -> Iterator["Stage"]:
        """The stage; its peers end with the block."""
        with self._open:
            yield self


class PyPaimonPeer:
    """Work that pypaimon does on a table, timed inside its own process."""

    def __init__(self, server: LineServer):
        self._server = server

    def work(self, do: str, table: str, **fields: object) -> Work:
        """The work, which answers with its seconds."""
        folder = Path(table)
        name = f"{folder.parent.name.removesuffix('.db')}.{folder.name}"
        command = {"do": do, "warehouse": str(folder.parent.parent), "table": name, **fields}
        return lambda: self._server.ask(command)


def seconds_of(work: Work) -> float:
    """What the work says that it took, or else what the clock says."""
    started = time.perf_counter()
    answer = work()
    passed = time.perf_counter() - started
    return answer if isinstance(answer, float) else passed
