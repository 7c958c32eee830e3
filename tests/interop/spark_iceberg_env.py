"""Spark 4.1 with the Iceberg runtime, in an environment of its own; one process serves the whole suite.

Spark (some 450 MB) and the jar of Iceberg are fetched once, into the cache folder.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from interop.cached import UnavailableError, digest, environment, made_whole, run
from interop.line_server import LineServer
from polynya.spark.java import cache_folder

RUNTIME = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
HERE = Path(__file__).parent


class SparkIceberg:
    """The running Spark; a table is named by its folder."""

    def __init__(self, server: LineServer, folder: Path):
        self._server = server
        self._folder = folder

    def sql(self, *statements: str, warehouse: Path | None = None) -> None:
        """Run statements; the catalog `ice` has its tables in the warehouse."""
        self._server.ask({"do": "sql", "statements": statements, **_place(warehouse)})

    def rows(self, query: str, warehouse: Path | None = None) -> pa.Table:
        """The rows of a query."""
        return self.many([query], warehouse)[0]

    def many(self, queries: Sequence[str], warehouse: Path | None = None) -> list[pa.Table]:
        """The rows of several queries, in one go."""
        out = str(self._folder)
        names = self._server.ask({"do": "rows", "queries": list(queries), "out": out, **_place(warehouse)})
        return [_read(Path(name)) for name in names]

    def at(self, table: Path, snapshot_ids: Sequence[int]) -> list[pa.Table]:
        """The rows of a table, found by its folder, at each snapshot."""
        queries = [{"path": str(table), "snapshot": one} for one in snapshot_ids]
        names = self._server.ask({"do": "rows", "queries": queries, "out": str(self._folder)})
        return [_read(Path(name)) for name in names]


@contextmanager
def running_spark_iceberg() -> Iterator[SparkIceberg]:
    """A session for as long as the block lasts; UnavailableError when Java, Spark or the jar cannot be had."""
    command = [make_environment() / "bin" / "python", HERE / "spark_iceberg_server.py", fetch_runtime()]
    with tempfile.TemporaryDirectory(prefix="polynya-iceberg-") as folder, LineServer.started(command) as server:
        yield SparkIceberg(server, Path(folder))


def make_environment() -> Path:
    """The folder of the virtual environment, made once per lock file and Python."""
    return environment(HERE / "spark_iceberg.lock")


def fetch_runtime() -> Path:
    """The jar of Iceberg."""
    folder = cache_folder() / f"iceberg-runtime-{digest([], RUNTIME)}"
    if not folder.exists():
        if shutil.which("mvn") is None:
            raise UnavailableError("no Maven: mvn is not on the path")
        with made_whole(folder) as made:
            copy = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={RUNTIME}", f"-DoutputDirectory={made}"]
            run(copy, "Maven cannot fetch Iceberg")
    return next(folder.glob("*.jar"))


def _place(warehouse: Path | None) -> dict[str, Any]:
    return {} if warehouse is None else {"warehouse": os.fspath(warehouse)}


def _read(path: Path) -> pa.Table:
    with pa.OSFile(str(path), "rb") as file:
        found = pa.ipc.open_file(file).read_all()
    path.unlink()
    return found
