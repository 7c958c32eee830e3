"""Jobs that are hurt while they run, for a process with a session of its own that starts failed tasks again.

Prints what it has been through. Told to die, it ends without a word at the commit of a write: before it, or behind it.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import polynya.spark
from polynya.spark import Lake, LakeTable, jobs
from polynya.table import group
from polynya.table.commit import Author

COUNT = 4000
AUTHOR = Author("faults", 7)
Hurt = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def is_time(marks: Path, times: int) -> bool:
    """Whether this is one of the first calls, counted over all processes by files."""
    marks.mkdir(exist_ok=True)
    for number in range(times):
        try:
            (marks / str(number)).touch(exist_ok=False)
        except FileExistsError:
            continue
        return True
    return False


def kill_workers() -> None:
    """Kill all Python workers of this executor, the calling one too."""
    daemon = os.getppid()
    for process in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(process.read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended meanwhile
        if parent == daemon and process.parent.name != str(os.getpid()):
            os.kill(int(process.parent.name), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def killing(marks: Path) -> Hurt:
    def hurt(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            if is_time(marks, 1):
                kill_workers()

    return hurt


def failing(marks: Path) -> Hurt:
    def hurt(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            if is_time(marks, 2):
                raise OSError("a bad moment")

    return hurt


def endless(marks: Path) -> Hurt:
    def hurt(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            marks.mkdir(exist_ok=True)
            while True:
                threading.Event().wait(0.02)
                yield batch.slice(0, 1)

    return hurt


def rows(spark: SparkSession) -> DataFrame:
    return spark.range(0, COUNT, 1, 4).selectExpr("id", "cast(id % 3 as string) as p")


def hurt_rows(spark: SparkSession, hurt: Hurt) -> DataFrame:
    frame = rows(spark)
    return frame.mapInArrow(hurt, frame.schema)


def require(table: LakeTable, count: int) -> None:
    """The rows are there once, and the table is sound."""
    found = table.table.refresh().scan(columns=["id"]).to_arrow()["id"].to_pylist()
    assert sorted(found) == list(range(count)), len(found)
    assert not table.table.refresh().check(deep=True).problems


def write_hurt(lake: Lake, folder: Path) -> None:
    for name, hurt, key in (("killed", killing, ("id",)), ("failed", failing, ())):
        marks = folder / name
        options = {"bucket": "2"} if key else {}
        table = lake.create_table(f"db.{name}", rows(lake.spark).schema, key, options=options)
        table.write(hurt_rows(lake.spark, hurt(marks)))
        assert marks.exists()
        require(table, COUNT)
        print(name)


def change_hurt(lake: Lake, folder: Path) -> None:
    run = jobs.run
    for name, hurt, vectors in (("killed", kill_workers, "true"), ("failed", None, "false")):
        marks = folder / f"change-{name}"
        options = {"deletion-vectors.enabled": vectors}
        table = lake.create_table(f"db.change_{name}", rows(lake.spark).schema, options=options)
        table.write(rows(lake.spark))
        jobs.run = lambda spark, tasks, work, undo, hurt=hurt, marks=marks: run(
            spark, tasks, hurt_work(work, hurt, marks), undo
        )
        table.delete(f"id >= {COUNT - 100}")
        table.update({"p": "'new'"}, "id < 10")
        jobs.run = run
        require(table, COUNT - 100)
        assert table.table.refresh().scan("p = 'new'").count() == 10
        print("change", name)


def hurt_work(work: jobs.Work, hurt: Callable[[], None] | None, marks: Path) -> jobs.Work:
    def again(task: int, files: pa.Table) -> bytes:
        answer = work(task, files)
        if is_time(marks, 1 if hurt is not None else 2):
            if hurt is not None:
                hurt()
            raise OSError("a bad moment")
        return answer

    return again


def cancel(lake: Lake, folder: Path) -> None:
    marks = folder / "cancelled"
    table = lake.create_table("db.cancelled", rows(lake.spark).schema)
    with ThreadPoolExecutor(1) as pool:
        write = pool.submit(table.write, hurt_rows(lake.spark, endless(marks)))
        while not marks.exists() and not write.done():
            threading.Event().wait(0.02)
        lake.spark.interruptAll()
        assert "cancel" in str(write.exception())
    assert table.table.refresh().snapshot is None
    table.write(rows(lake.spark))
    require(table, COUNT)
    print("cancelled")


def die_at_commit(lake: Lake, moment: str) -> None:
    commit = group.commit

    def dying(*arguments: object) -> None:
        if moment == "after":
            commit(*arguments)
        os._exit(9)

    group.commit = dying
    lake.create_table(f"db.{moment}", rows(lake.spark).schema).write(rows(lake.spark), author=AUTHOR)


if __name__ == "__main__":
    folder, moment = Path(sys.argv[1]), sys.argv[2]
    made = polynya.spark.session("local[2, 4]", **{"spark.sql.shuffle.partitions": "2"})
    home = Lake(made, folder / "lake")
    home.create_database("db", exist_ok=True)
    if moment == "before":
        write_hurt(home, folder)
        change_hurt(home, folder)
        cancel(home, folder)
        sys.stdout.flush()
    die_at_commit(home, moment)
