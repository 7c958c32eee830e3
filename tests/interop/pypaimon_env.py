"""pypaimon in an environment of its own, because it pins an older pyarrow; one process serves the whole suite."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from interop.cached import environment
from interop.line_server import LineServer

HERE = Path(__file__).parent


class PyPaimon:
    """The running client; tables are named by their folder `<warehouse>/<database>.db/<table>`."""

    def __init__(self, server: LineServer, folder: Path):
        self._server = server
        self._folder = folder

    def read(self, folder: Path, options: Mapping[str, str] | None = None) -> pa.Table:
        """The rows of the table; `options` travels in time."""
        out = self._folder / "read.arrow"
        self._server.ask({"do": "read", "out": str(out), "options": dict(options or {}), **_named(folder)})
        with pa.OSFile(str(out), "rb") as file:
            return pa.ipc.open_file(file).read_all()

    def write(self, folder: Path, rows: pa.Table) -> None:
        """Commit rows in one batch."""
        data = self._folder / "write.arrow"
        with pa.OSFile(str(data), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
            writer.write_table(rows)
        self._server.ask({"do": "write", "data": str(data), **_named(folder)})


@contextmanager
def running_pypaimon() -> Iterator[PyPaimon]:
    """A client for as long as the block lasts; UnavailableError when its packages cannot be had."""
    command = [make_environment() / "bin" / "python", HERE / "pypaimon_server.py"]
    with tempfile.TemporaryDirectory(prefix="polynya-pypaimon-") as folder, LineServer.started(command) as server:
        yield PyPaimon(server, Path(folder))


def make_environment() -> Path:
    """The folder of the virtual environment, made once per lock file and Python."""
    return environment(HERE / "pypaimon.lock")


def _named(folder: Path) -> dict[str, str]:
    database = folder.parent.name.removesuffix(".db")
    return {"warehouse": str(folder.parent.parent), "table": f"{database}.{folder.name}"}
