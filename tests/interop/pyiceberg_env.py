"""PyIceberg with a catalog and its transforms, in an environment of its own; one process serves the whole suite."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from interop.cached import environment
from interop.line_server import LineServer

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Written:
    """A table of PyIceberg: its metadata file, and the rows that PyIceberg reads of each snapshot, tag and branch."""

    metadata: str
    location: str
    steps: list[str]
    snapshots: dict[int, pa.Table]
    tags: dict[str, pa.Table]
    branches: dict[str, pa.Table]


class PyIceberg:
    """The running writer."""

    def __init__(self, server: LineServer):
        self._server = server

    def write(self, folder: Path, *, seed: int, version: str) -> Written:
        """A table with a random history, in a folder."""
        found = self._server.ask({"do": "history", "folder": str(folder), "seed": seed, "version": version})
        snapshots = {int(id): _read(path) for id, path in found["snapshots"].items()}
        refs = [{name: _read(path) for name, path in found[kind].items()} for kind in ("tags", "branches")]
        return Written(found["metadata"], found["location"], found["steps"], snapshots, *refs)


@contextmanager
def running_pyiceberg() -> Iterator[PyIceberg]:
    """A writer for as long as the block lasts; UnavailableError when its packages cannot be had."""
    command = [environment(HERE / "pyiceberg.lock") / "bin" / "python", HERE / "pyiceberg_server.py"]
    with LineServer.started(command) as server:
        yield PyIceberg(server)


def _read(path: str) -> pa.Table:
    with pa.OSFile(path, "rb") as file:
        return pa.ipc.open_file(file).read_all()
