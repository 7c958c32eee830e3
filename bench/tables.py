"""Tables and files for workloads."""

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

import polynya
from peers import Peer, Task
from stage import Others, Stage, seconds_of

WRITE_ONLY = {"bucket": "2", "write-only": "true"}


def warehouse_of(stage: Stage) -> polynya.Warehouse:
    """Where the tables of a stage are."""
    warehouse = polynya.open_warehouse(stage.folder / "warehouse")
    warehouse.create_database("bench", exist_ok=True)
    return warehouse


def new_table(
    stage: Stage, schema: pa.Schema, primary_key: Sequence[str] = (), options: Mapping[str, str] | None = None
) -> polynya.Table:
    """An empty table with a name of its own."""
    warehouse = warehouse_of(stage)
    name = f"bench.t{len(warehouse.tables('bench'))}"
    return warehouse.create_table(name, schema, list(primary_key), options=dict(options or {}))


def arrow_file(stage: Stage, rows: pa.Table) -> str:
    """A file with the rows, for peers in other processes."""
    data = stage.folder / f"rows-{len(list(stage.folder.glob('rows-*')))}.arrow"
    with pa.OSFile(str(data), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
        writer.write_table(rows)
    return str(data)


def named(table: polynya.Table) -> dict[str, str]:
    """How the clients of Paimon find a table."""
    folder = Path(table.location)
    name = f"{folder.parent.name.removesuffix('.db')}.{folder.name}"
    return {"warehouse": str(folder.parent.parent), "table": name}


def paimon_clients(stage: Stage, make: Callable[[Peer], Task]) -> Others:
    """pypaimon and pypaimon-rust at the same work."""
    found = stage.peer("pypaimon", lambda peers: make(peers.pypaimon))
    return {**found, **stage.peer("pypaimon-rust", lambda peers: make(peers.pypaimon_rust))}


def into_new(stage: Stage, peer: Peer, do: str, new: Callable[[], polynya.Table], **fields: object) -> Task:
    """Work of a client on a table that is new each time."""
    return peer.made(lambda: peer.ask(do, **named(new()), **fields))


def timed_on_copy(stage: Stage, table: polynya.Table, work: Callable[[str], object]) -> float:
    """Seconds of the work on a copy of the table, which is thrown away; the work may say them itself."""
    with tempfile.TemporaryDirectory(dir=stage.folder) as folder:
        copy = Path(folder) / "bench.db" / "copy"
        shutil.copytree(table.location, copy)
        return seconds_of(lambda: work(str(copy)))
