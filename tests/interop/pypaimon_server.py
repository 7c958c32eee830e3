"""Runs inside pypaimon's own environment: a line of JSON in, a line of JSON out, rows as Arrow files."""

import json
import sys
import traceback

import pyarrow as pa
from pypaimon import CatalogFactory


def read(command):
    """Write the rows of the table into the file `out`."""
    builder = table(command).new_read_builder()
    rows = builder.new_read().to_arrow(builder.new_scan().plan().splits())
    with pa.OSFile(command["out"], "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
        writer.write_table(rows)


def write(command):
    """Commit the rows of the file `data`."""
    with pa.OSFile(command["data"], "rb") as file:
        rows = pa.ipc.open_file(file).read_all()
    builder = table(command).new_batch_write_builder()
    writer, commit = builder.new_write(), builder.new_commit()
    writer.write_arrow(rows)
    commit.commit(writer.prepare_commit())
    writer.close()
    commit.close()


def table(command):
    found = CatalogFactory.create({"warehouse": command["warehouse"]}).get_table(command["table"])
    return found.copy(command["options"]) if command.get("options") else found


def main():
    answers, sys.stdout = sys.stdout, sys.stderr  # whatever a library prints is not an answer
    for line in sys.stdin:
        command = json.loads(line)
        try:
            {"read": read, "write": write}[command["do"]](command)
            answer = {"ok": True}
        except Exception as error:  # noqa: BLE001  # every failure is an answer; the caller decides
            answer = {"ok": False, "error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
