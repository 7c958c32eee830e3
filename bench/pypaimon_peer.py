"""Runs inside pypaimon's own environment: a line of JSON in, the seconds that the work took out."""

import json
import sys
import time
import traceback

import pyarrow as pa
from pypaimon import CatalogFactory


def plan(command):
    table = open_table(command)
    started = time.perf_counter()
    table.new_read_builder().new_scan().plan().splits()
    return time.perf_counter() - started


def read(command):
    table = open_table(command)
    started = time.perf_counter()
    builder = table.new_read_builder()
    rows = builder.new_read().to_arrow(builder.new_scan().plan().splits())
    passed = time.perf_counter() - started
    assert rows.num_rows == command["expected"], (rows.num_rows, command["expected"])
    return passed


def write(command):
    """The rows of an Arrow file, in `commits` equal parts, a commit each; seconds of one commit."""
    table = open_table(command)
    with pa.OSFile(command["data"], "rb") as file:
        rows = pa.ipc.open_file(file).read_all()
    count = command["commits"]
    size = rows.num_rows // count
    started = time.perf_counter()
    for number in range(count):
        builder = table.new_batch_write_builder()
        writer, commit = builder.new_write(), builder.new_commit()
        writer.write_arrow(rows.slice(number * size, size))
        commit.commit(writer.prepare_commit())
        writer.close()
        commit.close()
    return (time.perf_counter() - started) / (count if command.get("each") else 1)


def open_table(command):
    return CatalogFactory.create({"warehouse": command["warehouse"]}).get_table(command["table"])


def main():
    answers, sys.stdout = sys.stdout, sys.stderr  # whatever a library prints is not an answer
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = {"ok": True, "result": {"plan": plan, "read": read, "write": write}[command["do"]](command)}
        except Exception as error:  # noqa: BLE001  # every failure is an answer; the caller decides
            answer = {"ok": False, "error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
