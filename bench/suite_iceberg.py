"""Workloads of Iceberg: publishing the twin, planning."""

import numpy as np

import compact
import iceberg_plan
import iceberg_publish
from memory import Told
from peers import Task
from stage import Stage
from tables import new_table

PLANS = {
    "full": "all files",
    "partition": "one partition of 100",
    "value": "one file by bounds",
    "warm": "again in one process",
}


def iceberg(stage: Stage) -> None:
    """Publishing the twin after a small commit: to a table with a history, to one of many files."""
    table = new_table(stage, compact.SCHEMA)
    rows = compact.make_rows(np.random.default_rng(7), 100)
    for _ in range(stage.rows(100, 5)):
        table.write(rows)
    table.publish_iceberg()

    def publish() -> float:
        table.write(rows)
        return iceberg_publish.cpu_seconds(table.publish_iceberg)

    def commit() -> float:
        return iceberg_publish.cpu_seconds(lambda: table.write(rows))

    stage.compare("publish one commit to Iceberg", publish, own={"the commit itself": commit})
    count = stage.rows(100_000)
    large = iceberg_publish.make_table(str(stage.folder / "published"), count)
    large.publish_iceberg()
    numbers = iter(range(count, 2 * count))
    for what, change in (("adds", iceberg_publish.add_one), ("replaces", iceberg_publish.replace_one)):
        stage.compare(
            f"publish a commit that {what} one of {count:,} files",
            lambda change=change: iceberg_publish.after(large, lambda: change(large, next(numbers), count)),
            own={
                "publishing all of it": lambda: iceberg_publish.cpu_seconds(
                    lambda: iceberg_publish.publish_whole(large)
                )
            },
        )


def iceberg_plans(stage: Stage) -> None:
    """Planning a large Iceberg table, by processor time; each plan in a process of its own."""
    count = stage.rows(100_000, 1000)
    path = iceberg_plan.make_table(str(stage.folder / "iceberg"), count)
    for what, title in PLANS.items():
        ours, peer = (_planned(who, what, path) for who in ("polynya", "pyiceberg"))
        stage.compare(f"plan an Iceberg table of {count:,} files: {title}", ours, {"PyIceberg": peer})


def _planned(who: str, what: str, path: str) -> Task:
    told = Told()

    def run() -> float:
        made = iceberg_plan._child(who, what, path)
        told.tell(made["peak_mb"])
        return made["seconds"]

    return Task(run, told)
