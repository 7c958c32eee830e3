"""The peers in processes of their own: fetched once into the cache folder, started when first asked for.

A peer that this machine cannot have raises UnavailableError, and the page says why.
"""

import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from interop import pypaimon_env, spark_iceberg_env
from interop.cached import UnavailableError, digest, made_whole, run
from interop.java_paimon import OPENED, JavaPaimon, compile_server, fetch_jars, find_jdk
from interop.line_server import LineServer
from memory import Told, Watch
from polynya.spark.java import cache_folder

HERE = Path(__file__).parent
PYPAIMON_RUST = ("pypaimon-rust==0.4.0", "pyarrow==26.0.1")
PYICEBERG = ("pyiceberg[sql-sqlite]==0.12.0", "pyarrow==26.0.1")
DELTA_VERSION = "4.3.1"
DELTA = (f"io.delta:delta-spark_4.1_2.13:{DELTA_VERSION}", f"io.delta:delta-storage:{DELTA_VERSION}")


@dataclass(frozen=True)
class Task:
    """Work of a peer, which answers with its seconds; `watch` looks at the process that does it."""

    run: Callable[[], object]
    watch: Watch | Told | None = None

    def __call__(self) -> object:
        return self.run()


class Peer:
    """A process that does work when asked, and times it."""

    def __init__(self, server: LineServer, *, jvm: bool = False):
        self._server = server
        self._jvm = jvm

    def task(self, do: str, **fields: object) -> Task:
        """The work, to be done as often as asked."""
        return self.made(lambda: self._server.ask({"do": do, **fields}))

    def made(self, work: Callable[[], object]) -> Task:
        """Work that asks this process in its own way."""
        return Task(work, Watch(self._server._process.pid, whole=self._jvm))

    def ask(self, do: str, **fields: object) -> object:
        """Something that is not measured."""
        return self._server.ask({"do": do, **fields})


@dataclass
class Peers:
    """All of them; they end with `open`."""

    open: ExitStack = field(default_factory=ExitStack)

    @cached_property
    def java_server(self) -> LineServer:
        """The real Java Paimon, compiled as far as it goes."""
        jdk, jars = find_jdk(), fetch_jars()
        opens = [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in OPENED]
        return self._start([jdk / "java", "-Xmx4g", *opens, "-cp", f"{compile_server(jdk, jars)}:{jars}/*", "Server"])

    def java(self, work: Callable[[JavaPaimon], object]) -> Task:
        """Work of Java Paimon."""
        java = JavaPaimon(self.java_server)
        return Peer(self.java_server, jvm=True).made(lambda: work(java))

    @cached_property
    def pypaimon(self) -> Peer:
        """pypaimon, which pins an older pyarrow."""
        return Peer(self._start([_python(pypaimon_env.make_environment()), HERE / "pypaimon_peer.py"]))

    @cached_property
    def pypaimon_rust(self) -> Peer:
        """The Python binding of Paimon's Rust client."""
        return Peer(self._start([_environment("pypaimon-rust", PYPAIMON_RUST), HERE / "pypaimon_peer.py", "rust"]))

    @cached_property
    def pyiceberg(self) -> Peer:
        """PyIceberg, with a catalog in SQLite."""
        return Peer(self._start([_environment("pyiceberg", PYICEBERG), HERE / "pyiceberg_peer.py"]))

    @cached_property
    def iceberg_on_spark(self) -> Peer:
        """Spark 4.1 with the Iceberg runtime."""
        return self._spark("iceberg", [spark_iceberg_env.fetch_runtime()])

    @cached_property
    def delta_on_spark(self) -> Peer:
        """Spark 4.1 with Delta."""
        return self._spark("delta", sorted(_fetch_delta().glob("*.jar")))

    def _spark(self, kind: str, jars: Sequence[Path]) -> Peer:
        find_jdk()
        python = _python(spark_iceberg_env.make_environment())
        return Peer(self._start([python, HERE / "spark_peer.py", kind, ":".join(map(str, jars))]), jvm=True)

    def _start(self, command: Sequence[str | Path]) -> LineServer:
        return self.open.enter_context(LineServer.started(command))


def _environment(name: str, packages: Sequence[str]) -> Path:
    """The Python of a virtual environment with these packages, made once for each choice of them."""
    folder = cache_folder() / f"{name}-{digest([], sys.version + ' '.join(packages))}"
    if not folder.exists():
        with made_whole(folder) as made:
            run([sys.executable, "-m", "venv", made], "venv")
            run([_python(made), "-m", "pip", "install", "--quiet", *packages], f"pip cannot fetch {packages[0]}")
    return _python(folder)


def _python(environment: Path) -> Path:
    return environment / "bin" / "python"


def _fetch_delta() -> Path:
    folder = cache_folder() / f"delta-{digest([], ' '.join(DELTA))}"
    if not folder.exists():
        if shutil.which("mvn") is None:
            raise UnavailableError("no Maven: mvn is not on the path")
        with made_whole(folder) as made:
            for artifact in DELTA:
                copy = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={made}"]
                run(copy, "Maven cannot fetch Delta")
    return folder


def pinned() -> list[str]:
    """The versions of the peers that are fetched, as `name version`."""
    locks = (HERE.parent / "tests" / "interop" / name for name in ("pypaimon.in", "spark_iceberg.in"))
    lines = [*PYPAIMON_RUST[:1], *(line for lock in locks for line in lock.read_text().split())]
    runtime = spark_iceberg_env.RUNTIME.rpartition(":")[2]
    return [
        *(line.replace("==", " ") for line in lines if line.startswith("py") and "arrow" not in line),
        f"Iceberg {runtime}",
    ]
