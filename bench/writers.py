"""Writers at the same table at the same time: seconds of a one-row commit, over all of them.

    python bench/writers.py [writers]

Threads of one process share its group commit; processes race for each snapshot.
"""

import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pyarrow as pa

import polynya

ROW = pa.table({"id": [1], "name": ["x"]})


def new_table(folder: Path) -> polynya.Table:
    """An empty table."""
    warehouse = polynya.open_warehouse(folder)
    warehouse.create_database("db", exist_ok=True)
    return warehouse.create_table(f"db.t{len(warehouse.tables('db'))}", ROW.schema)


def by_threads(table: polynya.Table, writers: int, commits: int) -> float:
    """Seconds of a commit."""
    threads = [threading.Thread(target=_write, args=(table, commits)) for _ in range(writers)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return _each(table, started, writers * commits)


def by_processes(table: polynya.Table, writers: int, commits: int) -> float:
    """Seconds of a commit; the clock starts when all are ready."""
    command = [sys.executable, __file__, "--child", table.location, str(commits)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    children = [subprocess.Popen(command, **pipes) for _ in range(writers)]
    for child in children:
        child.stdout.readline()
    started = time.perf_counter()
    for child in children:
        child.stdin.write("go\n")
        child.stdin.close()
    for child in children:
        assert child.wait() == 0, "a writer failed"
    return _each(table, started, writers * commits)


def _each(table: polynya.Table, started: float, count: int) -> float:
    passed = time.perf_counter() - started
    assert table.refresh().scan().count() == count
    return passed / count


def _write(table: polynya.Table, commits: int) -> None:
    for _ in range(commits):
        table.write(ROW)


def _child(location: str, commits: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _write(new_table(Path(folder)), 1)  # loads what a first commit loads
    table = polynya.open_table(location)
    print("ready", flush=True)
    sys.stdin.readline()
    _write(table, commits)


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        _child(sys.argv[2], int(sys.argv[3]))
        return
    with tempfile.TemporaryDirectory() as folder:
        for writers in [int(text) for text in sys.argv[1:]] or [1, 2, 4, 8, 16]:
            rates = (1 / by(new_table(Path(folder)), writers, 8) for by in (by_threads, by_processes))
            print("{:3} writers: {:7.1f} commits/s by threads, {:7.1f} by processes".format(writers, *rates))


if __name__ == "__main__":
    main()
