"""The real Java Paimon, kept up as one process that answers JSON lines; `java/Server.java` lists the commands.

Its jars (some 240 MB) are fetched with Maven once, into the cache folder, and the server is compiled there.
"""

import functools
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from interop.cached import UnavailableError, digest, made_whole, run
from interop.line_server import LineServer
from polynya.spark.java import cache_folder
from rows import sorted_rows

VERSION = "2.0.0"
BUNDLE = f"org.apache.paimon:paimon-flink-2.0:{VERSION}"
SOURCES = Path(__file__).parent / "java"
OPENED = ["lang", "util", "nio", "net", "time", "lang.reflect", "util.concurrent", "util.concurrent.atomic"]

Rows = Sequence[Sequence[Any]]


class JavaPaimon:
    """One running server; not for two threads at once."""

    def __init__(self, server: LineServer):
        self._server = server

    def ask(self, do: str, **fields: Any) -> Any:
        """Send one command and return its result; None fields are left out."""
        return self._server.ask({"do": do} | {name: value for name, value in fields.items() if value is not None})

    def table(self, folder: Path, branch: str | None = None) -> "JavaTable":
        """The table in `<warehouse>/<database>.db/<table>`, there or to be created."""
        name = f"{folder.parent.name.removesuffix('.db')}.{folder.name}" + (f"$branch_{branch}" if branch else "")
        return JavaTable(self, folder.parent.parent, name)

    def sql(self, warehouse: Path, statement: str) -> Rows:
        """Rows of a Flink SQL statement, each [kind, value, ...]; the warehouse is the current catalog."""
        return self.ask("sql", warehouse=f"file:{warehouse}", sql=statement)["rows"]


class JavaTable:
    """A table as Java sees it. Values are those of `tests/rows.py`, column types those of a schema file."""

    def __init__(self, java: JavaPaimon, warehouse: Path, name: str):
        self._ask = functools.partial(java.ask, warehouse=f"file:{warehouse}")
        self._name = name

    def ask(self, do: str, **fields: Any) -> Any:
        """Any command, on this table."""
        return self._ask(do, table=self._name, **fields)

    def create(
        self,
        fields: Sequence[tuple[str, Any]],
        *,
        primary_key: Sequence[str] = (),
        partition_by: Sequence[str] = (),
        options: Mapping[str, str] | None = None,
    ) -> "JavaTable":
        """Create the table, and its database if need be."""
        keys = {"primary_key": list(primary_key), "partition_by": list(partition_by)}
        self.ask("create", fields=[list(field) for field in fields], options=dict(options or {}), **keys)
        return self

    def write(self, rows: Rows, kind: str | None = "+I", **fields: Any) -> Rows:
        """Commit rows of that kind; `kind=None` when each begins with its own. The answer: [id, kind] per snapshot."""
        return self.ask("write", rows=[list(row) if kind is None else [kind, *row] for row in rows], **fields)

    def rows(self, system: str | None = None, **fields: Any) -> list[list[Any]]:
        """Rows of the table or its system table, in `render_rows` order; fields: `options`, `where`, `columns`."""
        return sorted_rows(self.read(system, **fields)["rows"])

    def read(self, system: str | None = None, **fields: Any) -> dict[str, Any]:
        """Columns (name and type) and rows."""
        return self._ask("read", table=self._name + (f"${system}" if system else ""), **fields)

    def at(self, snapshot_id: int) -> list[list[Any]]:
        """The rows of one snapshot."""
        return self.rows(options={"scan.snapshot-id": str(snapshot_id)})

    def at_tag(self, name: str) -> list[list[Any]]:
        """The rows of one tag."""
        return self.rows(options={"scan.tag-name": name})


@contextmanager
def running_java() -> Iterator[JavaPaimon]:
    """A server for as long as the block lasts; UnavailableError when this machine cannot run it."""
    jdk, jars = find_jdk(), fetch_jars()
    classes = compile_server(jdk, jars)
    opens = [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in OPENED]
    quick = ["-Xmx2g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Duser.timezone=UTC"]
    command = [jdk / "java", *quick, *opens, "-cp", f"{classes}:{jars}/*", "Server"]
    with LineServer.started(command) as server:
        yield JavaPaimon(server)


def find_jdk() -> Path:
    """The folder of `java` and `javac`."""
    home = os.environ.get("JAVA_HOME")
    javac = shutil.which("javac", path=f"{home}/bin" if home else None)
    if javac is None:
        raise UnavailableError("no JDK: javac is neither in JAVA_HOME nor on the path")
    return Path(javac).parent


def fetch_jars() -> Path:
    """The folder of the jars."""
    pom = SOURCES / "pom.xml"
    folder = cache_folder() / f"java-paimon-{digest([pom], BUNDLE)}"
    if folder.exists():
        return folder
    if shutil.which("mvn") is None:
        raise UnavailableError("no Maven: mvn is not on the path")
    with made_whole(folder) as made:
        target = f"-DoutputDirectory={made}"
        run(["mvn", "-q", "-B", "-f", pom, "dependency:copy-dependencies", target], "Maven cannot fetch the jars")
        run(["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={BUNDLE}", target], "Maven cannot fetch Paimon")
    return folder


def compile_server(jdk: Path, jars: Path) -> Path:
    """The folder of the compiled server."""
    sources = sorted(SOURCES.glob("*.java"))
    folder = cache_folder() / f"java-server-{digest(sources, jars.name)}"
    if not folder.exists():
        with made_whole(folder) as made:
            subprocess.run([jdk / "javac", "-nowarn", "-cp", f"{jars}/*", "-d", made, *sources], check=True)
    return folder
