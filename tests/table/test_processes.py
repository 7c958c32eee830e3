"""Real processes that race for one table; some of them are killed in the middle."""

import json
import os
import random
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pyarrow as pa
import pytest

import polynya

PROCESSES, COMMITS = 8, 25
S3_PROCESSES, S3_COMMITS = 4, 4

#: Commits one row at a time; a line on stdout is the acknowledgement, flushed after the commit has returned.
WORKER = """
import json, sys
import pyarrow as pa
import polynya
location, worker, commits, options = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), json.loads(sys.argv[4])
table = polynya.open_table(location, **options)
print("ready", flush=True)
sys.stdin.readline()
for number in range(commits):
    row = worker * 1000 + number
    made = table.write(pa.table({"p": pa.array([worker % 3], pa.int32()), "id": [row]}))
    print(row, made.snapshot_id, flush=True)
"""


def new_table(location, **options):
    warehouse = polynya.open_warehouse(location, **options)
    warehouse.create_database("db")
    schema = pa.schema([("p", pa.int32()), ("id", pa.int64())])
    retries = {"commit.max-retries": "1000", "commit.max-retry-wait": "50 ms"}
    return warehouse.create_table("db.t", schema, partition_by=["p"], options=retries)


def start(location, worker, commits, options_text="{}"):
    command = [sys.executable, "-c", WORKER, location, str(worker), str(commits), options_text]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def race(workers, kill_after):
    """Let the workers go at once, kill some after their n-th acknowledgement; return all (row, snapshot)."""
    for worker in workers:
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()
    acknowledged = []
    for index, limit in kill_after.items():
        acknowledged += [workers[index].stdout.readline() for _ in range(limit)]
        workers[index].send_signal(signal.SIGKILL)
    for worker in workers:
        acknowledged += worker.stdout.read().splitlines()  # lines that readline has buffered too
        worker.stdin.close()
        worker.wait(timeout=300)
    return [tuple(map(int, line.split())) for line in acknowledged]


def referred(table):
    """All files that any snapshot refers to."""
    names = set()
    for id in range(1, table.snapshot.id + 1):
        plan = table.at(snapshot_id=id).scan().plan()
        names |= set(plan.files["file_name"].to_pylist())
    return names


def test_nothing_acknowledged_is_lost_when_processes_race_and_die(tmp_path):
    table = new_table(tmp_path)
    workers = [start(table.location, number, COMMITS) for number in range(PROCESSES)]
    killed = {index: random.Random(5).randint(2, 12) for index in (1, 4, 6)}
    acknowledged = race(workers, killed)
    survivors = [worker for index, worker in enumerate(workers) if index not in killed]
    assert [worker.returncode for worker in survivors] == [0] * len(survivors)

    table = table.refresh()
    rows = table.scan().to_arrow()["id"].to_pylist()
    assert len(rows) == len(set(rows))
    assert {row for row, _ in acknowledged} <= set(rows)
    assert len({snapshot for _, snapshot in acknowledged}) == len(acknowledged)
    # What a killed process had not acknowledged may be there or not, but is at most the one commit it was in.
    assert len(rows) <= len(acknowledged) + 2 * len(killed)
    assert table.snapshot.id == len(rows) == table.snapshot.total_record_count
    report = table.check(deep=True)
    assert report.is_sound, str(report)


def test_what_a_killed_process_leaves_behind_is_unreferenced(tmp_path):
    table = new_table(tmp_path)
    workers = [start(table.location, number, COMMITS) for number in range(2)]
    race(workers, {0: 3, 1: 5})
    table = table.refresh()
    known = referred(table)
    stored = {path.name for path in Path(table.location).glob("p=*/bucket-0/*")}
    assert known <= stored
    assert len(stored - known) <= 2
    assert table.check(deep=True).is_sound
    assert table.write(pa.table({"p": pa.array([1], pa.int32()), "id": [-1]})).snapshot_id == table.snapshot.id + 1


@pytest.mark.s3
def test_nothing_acknowledged_is_lost_on_s3(s3_options):
    location = f"s3://polynya-test/{uuid.uuid4()}"
    table = new_table(location, **s3_options)
    options = json.dumps(s3_options)
    workers = [start(table.location, number, S3_COMMITS, options) for number in range(S3_PROCESSES)]
    acknowledged = race(workers, {0: 1})
    table = table.refresh()
    rows = table.scan().to_arrow()["id"].to_pylist()
    assert {row for row, _ in acknowledged} <= set(rows)
    assert len(rows) == len(set(rows)) == table.snapshot.id
    assert table.check().is_sound
