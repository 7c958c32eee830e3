"""Workloads of DataFrames: polynya on Spark, Iceberg and Delta on Spark, and Spark's own Parquet as the bound."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count as numbers_from
from pathlib import Path

from pyspark.sql import SparkSession

import polynya.spark
import spark_append
import spark_scan
from memory import Watch
from peers import Peer, Task
from stage import Others, Stage, Work

CHANGED = "id % 4 = 0"
KEYED = {"bucket": "2", "write-only": "true"}
VECTORS = {"deletion-vectors.enabled": "true"}
TOTAL = "SELECT day, sum(amount), max(note), avg(kind), max(at), count(id) FROM {table} WHERE {where} GROUP BY day"
UPSERT = (
    f"MERGE INTO {{table}} AS old USING (SELECT * FROM source WHERE {CHANGED}) AS new ON old.id = new.id"
    " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
)
# What makes a table mark rows instead of rewriting files.
MARKING = {
    "iceberg": {"format-version": "3"} | {f"write.{verb}.mode": "merge-on-read" for verb in ("delete", "merge")},
    "delta": {"delta.enableDeletionVectors": "true"},
}
COPYING = {"iceberg": {}, "delta": {"delta.enableDeletionVectors": "false"}}


@dataclass(frozen=True)
class Other:
    """Iceberg or Delta on Spark: each task is SQL, on a table named `{table}`."""

    kind: str
    peer: Peer
    folder: Path
    numbers: Callable[[], int]

    def new(self, *, partitioned: bool = False, marking: bool = False, where: str = "true") -> tuple[str, list[str]]:
        """A name, and the statement that makes the table with those rows of the source."""
        number = self.numbers()
        name = f"ice.db.t{number}" if self.kind == "iceberg" else f"delta.`{self.folder / f't{number}'}`"
        settings = (MARKING if marking else COPYING)[self.kind]
        properties = ", ".join(f"'{key}' = '{value}'" for key, value in settings.items())
        made = f"CREATE TABLE {name} USING {self.kind}" + (" PARTITIONED BY (day)" if partitioned else "")
        made += f" TBLPROPERTIES ({properties})" if properties else ""
        return name, [f"{made} AS SELECT * FROM source WHERE {where}"]

    def on_new(self, statement: str, then: Callable[[str], list[str]] = lambda _: [], **how: object) -> Task:
        """The statement on a table that is new each time; `then` are statements before the clock starts."""

        def run() -> object:
            name, before = self.new(**how)
            return self.peer.ask("timed", before=before + then(name), timed=[statement.format(table=name)])

        return self.peer.made(run)

    def on_one(self, statement: str, **how: object) -> Task:
        """The statement on one table for all runs."""
        name, made = self.new(**how)
        self.peer.ask("timed", before=made, timed=[])
        return self.peer.task("timed", before=[], timed=[statement.format(table=name)])

    def compaction(self) -> Task:
        """Of eight files, or some more."""

        def small(name: str) -> list[str]:
            return [f"INSERT INTO {name} SELECT * FROM source WHERE id % 8 = {part}" for part in range(8)]

        if self.kind == "delta":
            return self.on_new("OPTIMIZE {table}", small, where="false")
        call = "CALL ice.system.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true'))"
        return self.on_new(call, small, where="false")


@dataclass(frozen=True)
class Ground:
    """What the workloads share: the session, the lake, the rows, and the others."""

    stage: Stage
    session: SparkSession
    lake: polynya.spark.Lake
    count: int
    numbers: Callable[[], int]
    others: dict[str, Other | str]

    def compare(self, what: str, ours: Callable[[], object], make: Callable[[Other], Task], **more: Others) -> None:
        """polynya against Iceberg and Delta."""
        peers: dict[str, Work | str] = {}
        for name, other in self.others.items():
            peers |= {name: other} if isinstance(other, str) else self.stage.peer(name, lambda _, one=other: make(one))
        self._measure(what, ours, peers, **more)

    def alone(self, what: str, ours: Callable[[], object], **more: Others) -> None:
        """Work by key, which the others do not know."""
        self._measure(what, ours, self.stage.cannot("has no primary keys", *self.others), **more)

    def _measure(self, what: str, ours: Callable[[], object], peers: Others, **more: Others) -> None:
        process = self.session.sparkContext._gateway.proc
        self.stage.compare(f"Spark: {what}", Task(ours, Watch(process.pid, whole=True)), peers, **more)

    @property
    def parquet(self) -> str:
        """Where Spark's own Parquet is."""
        return str(self.stage.folder / "parquet")

    def native(self) -> None:
        """The rows as Spark's own Parquet."""
        frame = self.session.table("source")
        frame.write.mode("overwrite").option("compression", "zstd").partitionBy("day").parquet(self.parquet)

    def new(self, primary_key=(), partition_by=(), options=None, rows=None) -> polynya.spark.lake.LakeTable:
        """A table of the lake, with rows of a DataFrame if any."""
        name = f"db.t{self.numbers()}"
        schema = self.session.table("source").schema
        table = self.lake.create_table(name, schema, list(primary_key), list(partition_by), options=options or {})
        if rows is not None:
            table.write(rows)
        return table

    def timed_on_new(self, work: Callable[[polynya.spark.lake.LakeTable], object], **how: object) -> float:
        """Seconds of the work on a table that is new each time."""
        table = self.new(**how)
        started = time.perf_counter()
        work(table)
        return time.perf_counter() - started


def spark(stage: Stage) -> None:
    """DataFrames: written, read, upserted, deleted, compacted."""
    session = polynya.spark.session("local[2]", **{"spark.driver.memory": "3g"})
    try:
        lake = polynya.spark.Lake(session, stage.folder / "spark")
        lake.create_database("db")
        frame = spark_append.rows(session, stage.rows(1_000_000))
        frame.createOrReplaceTempView("source")
        numbers = numbers_from().__next__
        ground = Ground(stage, session, lake, frame.count(), numbers, {})
        ground.others.update(_others(stage, ground.count, numbers))
        for work in (_append_and_scan, _keys, _deletes, _compactions):
            work(ground)
    finally:
        session.stop()


def _others(stage: Stage, rows: int, numbers: Callable[[], int]) -> dict[str, Other | str]:
    """Iceberg and Delta with the same rows in memory, or why they are not there."""
    found: dict[str, Other | str] = {}
    for kind, name in (("iceberg", "Iceberg on Spark 4.1"), ("delta", "Delta on Spark 4.1")):
        made: list[Other] = []

        def start(peers, kind=kind, made=made):
            peer = peers.iceberg_on_spark if kind == "iceberg" else peers.delta_on_spark
            folder = stage.folder / kind
            peer.ask("start", folder=str(folder), rows=rows, columns=list(spark_append.COLUMNS))
            made.append(Other(kind, peer, folder, numbers))
            return lambda: None

        reasons = stage.peer(name, start)
        found |= {name: made[0]} if made else {name: text for name, text in reasons.items() if isinstance(text, str)}
    return found


def _append_and_scan(ground: Ground) -> None:
    frame, session = ground.session.table("source"), ground.session
    insert = "INSERT INTO {table} SELECT * FROM source"
    ground.compare(
        f"append {ground.count:,} rows, partitioned",
        lambda: ground.timed_on_new(lambda table: table.write(frame), partition_by=["day"]),
        lambda other: other.on_new(insert, partitioned=True, where="false"),
        bounds={"Spark's partitioned Parquet": ground.native},
    )
    plain = ground.new(partition_by=["day"], rows=frame)
    for what, where in (("", "true"), (", a tenth of the rows", "kind < 100")):
        ground.compare(
            f"scan and add up {ground.count:,} rows{what}",
            lambda where=where: spark_scan._total(plain.read(where=None if where == "true" else where)),
            lambda other, where=where: other.on_one(TOTAL.replace("{where}", where), partitioned=True),
            bounds={
                "Spark's Parquet": lambda where=where: spark_scan._total(
                    session.read.schema(frame.schema).parquet(ground.parquet).where(where)
                )
            },
        )


def _keys(ground: Ground) -> None:
    frame = ground.session.table("source")
    changed = frame.where(CHANGED)
    ground.alone(
        f"load {ground.count:,} rows by key",
        lambda: ground.timed_on_new(lambda table: table.write(frame), primary_key=["id"], options=KEYED),
        bounds={"Spark's partitioned Parquet": ground.native},
    )
    ground.compare(
        f"upsert a quarter of {ground.count:,} rows",
        lambda: ground.timed_on_new(lambda table: table.write(changed), primary_key=["id"], options=KEYED, rows=frame),
        lambda other: other.on_new(UPSERT, marking=True),
    )
    keyed = ground.new(["id"], options=KEYED, rows=frame)
    keyed.write(changed)

    def upserted(other: Other) -> Task:
        name, made = other.new(marking=True)
        other.peer.ask("timed", before=[*made, UPSERT.format(table=name)], timed=[])
        return other.peer.task("timed", before=[], timed=[TOTAL.format(table=name, where="true")])

    ground.compare("scan and add up after that upsert", lambda: spark_scan._total(keyed.read()), upserted)


def _deletes(ground: Ground) -> None:
    frame = ground.session.table("source")
    for what, options, marking in (("with deletion vectors", VECTORS, True), ("by rewriting files", {}, False)):
        ground.compare(
            f"delete a thousandth of {ground.count:,} rows, {what}",
            lambda options=options: ground.timed_on_new(
                lambda table: table.delete("kind = 7"), options=options, rows=frame
            ),
            lambda other, marking=marking: other.on_new("DELETE FROM {table} WHERE kind = 7", marking=marking),
        )


def _compactions(ground: Ground) -> None:
    frame = ground.session.table("source")
    parts = [frame.where(f"id % 8 = {part}") for part in range(8)]

    def compact(options: dict[str, str], *primary_key: str) -> float:
        table = ground.new(primary_key, options=options)
        for part in parts:
            table.write(part)
        started = time.perf_counter()
        table.compact(full=True)
        return time.perf_counter() - started

    ground.compare(
        f"compact 8 appends, {ground.count:,} rows in all",
        lambda: compact({"write-only": "true"}),
        lambda other: other.compaction(),
    )
    ground.alone(
        f"full compaction of 8 runs by key, {ground.count:,} rows in all",
        lambda: compact(KEYED, "id"),
    )
