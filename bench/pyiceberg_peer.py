"""Runs inside the environment of PyIceberg: a line of JSON in, the seconds of the work out.

Tables are in a catalog in SQLite; rows come as an Arrow file. PyIceberg leaves lost races to its caller, so the
caller here tries again.
"""

import json
import sys
import threading
import time
import traceback
import uuid
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException

GIVE_UP_SECONDS = 60


def make(command):
    """A table of the rows, in `commits` equal parts; its name."""
    rows = load(command)
    table = new_table(command, rows.schema)
    size = max(rows.num_rows // command["commits"], 1)
    for start in range(0, rows.num_rows, size):
        table.append(rows.slice(start, size))
    return ".".join(table.name())


def write(command):
    """A new table gets the rows, in `commits` equal parts, then a read if asked for; seconds."""
    rows = load(command)
    table = new_table(command, rows.schema)
    count = command["commits"]
    size = rows.num_rows // count
    started = time.perf_counter()
    for number in range(count):
        table.append(rows.slice(number * size, size))
    if command.get("expected"):
        assert table.scan().to_arrow().num_rows == command["expected"]
    return (time.perf_counter() - started) / (count if command.get("each") else 1)


def read(command):
    table = catalog(command).load_table(command["table"])
    started = time.perf_counter()
    scan = table.scan(command.get("where") or "true", tuple(command.get("columns") or ["*"]))
    count = scan.to_arrow().num_rows
    passed = time.perf_counter() - started
    assert count == command["expected"], f"{count} rows, expected {command['expected']}"
    return passed


def delete(command):
    """Of a new table, each time."""
    table = catalog(command).load_table(make(command))
    started = time.perf_counter()
    table.delete(command["where"])
    return time.perf_counter() - started


def together(command):
    """Threads that append the rows of the file, each `commits` times; seconds of one commit."""
    rows = load(command)
    name = ".".join(new_table(command, rows.schema).name())

    started = time.perf_counter()

    def work():
        table = catalog(command).load_table(name)
        for _ in range(command["commits"]):
            while time.perf_counter() < started + GIVE_UP_SECONDS:
                try:
                    table.append(rows)
                    break
                except CommitFailedException:
                    table.refresh()

    threads = [threading.Thread(target=work) for _ in range(command["threads"])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    count = command["threads"] * command["commits"]
    passed = time.perf_counter() - started
    found = catalog(command).load_table(name).scan().to_arrow().num_rows
    assert found == count * rows.num_rows, f"{found} rows, expected {count * rows.num_rows}"
    return passed / count


def new_table(command, schema):
    place = catalog(command)
    place.create_namespace_if_not_exists("bench")
    return place.create_table(f"bench.t{uuid.uuid4().hex}", schema)


def catalog(command):
    folder = Path(command["folder"])
    folder.mkdir(parents=True, exist_ok=True)
    return SqlCatalog("bench", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}")


def load(command):
    with pa.OSFile(command["data"], "rb") as file:
        return pa.ipc.open_file(file).read_all()


WORK = {"make": make, "write": write, "read": read, "delete": delete, "together": together}


def main():
    answers, sys.stdout = sys.stdout, sys.stderr  # whatever a library prints is not an answer
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = {"ok": True, "result": WORK[command["do"]](command)}
        except Exception as error:  # noqa: BLE001  # every failure is an answer; the caller decides
            answer = {"ok": False, "error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
