"""Runs inside the environment of pypaimon, or with `rust` of pypaimon-rust.

A line of JSON in, the seconds that the work took out.
"""

import json
import sys
import threading
import time
import traceback

import pyarrow as pa


class Python:
    """pypaimon; filters are (method, field, value) as it names them."""

    def open(self, warehouse, name):
        from pypaimon import CatalogFactory

        return CatalogFactory.create({"warehouse": warehouse}).get_table(name)

    def narrow(self, builder, where, columns):
        if where:
            method, field, value = where
            conditions = builder.new_predicate_builder()
            by_method = {"equal": conditions.equal, "lessThan": conditions.less_than}
            builder = builder.with_filter(by_method[method](field, value))
        return builder.with_projection(columns) if columns else builder

    def rows(self, builder, splits):
        return builder.new_read().to_arrow(splits).num_rows

    def write(self, writer, rows):
        writer.write_arrow(rows)


class Rust(Python):
    """pypaimon-rust."""

    def open(self, warehouse, name):
        from pypaimon_rust.datafusion import PaimonCatalog

        return PaimonCatalog({"warehouse": warehouse}).get_table(name)

    def narrow(self, builder, where, columns):
        if columns:
            builder = builder.with_projection(columns)
        if where:
            method, field, value = where
            builder = builder.with_filter({"method": method, "field": field, "literals": [value]})
        return builder

    def rows(self, builder, splits):
        return sum(batch.num_rows for batch in builder.new_read().read_arrow(splits))

    def write(self, writer, rows):
        for batch in rows.combine_chunks().to_batches():
            writer.write_arrow(batch)


CLIENT = Rust() if sys.argv[1:] == ["rust"] else Python()


def plan(command):
    table = open_table(command)
    started = time.perf_counter()
    CLIENT.narrow(table.new_read_builder(), command.get("where"), None).new_scan().plan().splits()
    return time.perf_counter() - started


def read(command):
    table = open_table(command)
    started = time.perf_counter()
    builder = CLIENT.narrow(table.new_read_builder(), command.get("where"), command.get("columns"))
    count = CLIENT.rows(builder, builder.new_scan().plan().splits())
    passed = time.perf_counter() - started
    assert count == command["expected"], f"{count} rows, expected {command['expected']}"
    return passed


def write(command):
    """The rows of an Arrow file, in `commits` equal parts, a commit each, then a read if asked for; seconds."""
    table = open_table(command)
    rows = load(command)
    count = command["commits"]
    size = rows.num_rows // count
    started = time.perf_counter()
    for number in range(count):
        commit_rows(table, rows.slice(number * size, size))
    if command.get("expected"):
        read(command)
    return (time.perf_counter() - started) / (count if command.get("each") else 1)


def together(command):
    """Threads that commit the rows of the file, each `commits` times; seconds of one commit."""
    table = open_table(command)
    rows, count = load(command), command["threads"] * command["commits"]
    failures = []

    def work():
        try:
            for _ in range(command["commits"]):
                commit_rows(table, rows)
        except Exception as error:  # noqa: BLE001  # a thread cannot raise; the failure is raised below
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(command["threads"])]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    passed = time.perf_counter() - started
    if failures:
        raise failures[0]
    read(command | {"expected": count * rows.num_rows})
    return passed / count


def commit_rows(table, rows):
    builder = table.new_batch_write_builder()
    writer, commit = builder.new_write(), builder.new_commit()
    CLIENT.write(writer, rows)
    commit.commit(writer.prepare_commit())
    writer.close()
    commit.close()


def load(command):
    with pa.OSFile(command["data"], "rb") as file:
        return pa.ipc.open_file(file).read_all()


def open_table(command):
    return CLIENT.open(command["warehouse"], command["table"])


WORK = {"plan": plan, "read": read, "write": write, "together": together}


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
