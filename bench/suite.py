"""The workloads: each makes its data on a stage and compares polynya with its peers, or with a bound."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import commit_latency
import compact
import hash as hashing
import iceberg_plan
import iceberg_publish
import manifest_decode
import manifest_rewrite
import merge
import plan as planning
import polynya
from polynya.arrow import route
from polynya.arrow.merge import merge as merge_rows
from polynya.arrow.merge import merge_spec
from polynya.codec.avro import AvroSource
from polynya.codec.binary_row import encode_row
from polynya.codec.murmur import hash_words
from polynya.model.schema import schema_of
from polynya.paimon import manifest
from read import files_of, make_append, scan_by_api, scan_by_pyarrow
from stage import Stage

WRITE_ONLY = {"bucket": "2", "write-only": "true"}


def manifests(stage: Stage) -> None:
    """Decoding manifests, and merging them."""
    import datafusion  # noqa: F401 - a process that has not loaded it decodes few entries without

    count = stage.rows(100_000)
    data = manifest.encode(manifest_decode.entries(count))
    plain = manifest_decode.uncompressed(data)
    source = AvroSource("manifest", data)
    stage.compare(
        f"decode a manifest of {count:,} entries",
        lambda: manifest.decode([source]),
        {"fastavro, to dicts": lambda: manifest_decode.by_fastavro(plain)},
    )
    count = stage.rows(200_000)
    list_name, blobs = manifest_rewrite.prepare(str(stage.folder / "manifests"), count)
    peaks = []

    def rewrite() -> float:
        made = manifest_rewrite.rewrite_alone(str(stage.folder / "manifests"), list_name)
        peaks.append(made["peak_mb"])
        return made["seconds"]

    stage.compare(
        f"merge manifests of {count:,} entries, 1 % deletes",
        rewrite,
        {"decode, drop and encode with fastavro": lambda: manifest_rewrite.by_fastavro(blobs)},
    )
    stage.note(f"Peak memory of that merge, in a process of its own: {max(peaks):,.0f} MB.")


def keys(stage: Stage) -> None:
    """Hashing keys to buckets."""
    count = stage.rows(1_000_000)
    numbers = np.random.default_rng(1).integers(-(2**60), 2**60, count)
    columns = [pa.array(numbers), pa.array([f"customer-{number % count}" for number in numbers.tolist()])]
    share = max(count // 50, 1)
    rows = list(zip(*(column[:share].to_pylist() for column in columns), strict=True))

    def by_row() -> float:
        taken = hashing.seconds(lambda: [hash_words(encode_row(row, hashing.TYPES)[4:]) for row in rows], 1)
        return taken * count / share

    stage.compare(
        f"bucket of {count:,} keys (bigint, string)",
        lambda: route.bucket_ids(columns, 64, "default"),
        {"row by row in Python, from a sample": by_row},
    )


def plans(stage: Stage) -> None:
    """Planning a table of many files; each of ours in a new process, the clock starts after its imports."""
    count = stage.rows(100_000)
    folder = stage.folder / "plan"
    planning._child("make", str(folder), str(count))
    table = str(folder / "bench.db" / "t")
    peaks = []

    def child(what: str) -> Callable[[], float]:
        def run() -> float:
            made = planning._child(what, str(folder))
            if what == "full":
                peaks.append(made["peak_mib"])
            return made["seconds"]

        return run

    peers = {"bare Avro decode with DataFusion (bound)": child("bare")}
    peers |= stage.peer(
        "Java Paimon, warm, answer as JSON", lambda: lambda j=stage.java: j.table(Path(table)).ask("plan")
    )
    peers |= stage.peer("pypaimon", lambda: stage.pypaimon.work("plan", table))
    stage.compare(f"plan {count:,} files", child("full"), peers)
    for what, title in (
        ("warm", "again in one process"),
        ("partition", "one partition of 100"),
        ("value", "one file by statistics"),
    ):
        stage.compare(f"plan {count:,} files, {title}", child(what))
    stage.note(f"Peak memory of a process that plans these files: {max(peaks):,.0f} MiB.")


def commits(stage: Stage) -> None:
    """Commits of one row: along the history, grouped, and of many files."""
    late = stage.rows(800, 12)
    window = min(commit_latency.WINDOW, late // 4)
    commit_latency.THREADS = min(stage.rows(64, 4), 64)
    place = iter(range(1000))

    def new_folder() -> Path:
        return stage.folder / f"commits-{next(place)}"

    early: list[float] = []

    def one_row() -> float:
        seconds = commit_latency.latencies(new_folder(), late)
        early.append(float(np.median(seconds[window : 2 * window])))
        return float(np.median(seconds[-window:]))

    one = pa.table({"id": [1] * 20, "name": ["x"] * 20})
    peers = {f"the same at ~{2 * window} commits": lambda: early[-1]}
    peers |= stage.peer("pypaimon, new table", lambda: _pypaimon_writes(stage, one, commits=20, each=True))
    stage.compare(f"one-row commit after {late} commits", one_row, peers)
    stage.compare(
        f"commit of one row, {commit_latency.THREADS} threads",
        lambda: 1 / commit_latency.commits_per_second(new_folder(), grouped=True),
        {"one thread": lambda: 1 / commit_latency.commits_per_second(new_folder(), grouped=False)},
    )
    files = stage.rows(10_000)
    stage.compare(f"one commit of {files:,} new files", lambda: commit_latency.many_files(new_folder(), files))
    small_writes(stage)


def small_writes(stage: Stage) -> None:
    """Many small upserts, then a read."""
    count = stage.rows(300, 10)
    rows = compact.make_rows(np.random.default_rng(3), 10 * count)

    def write_all() -> None:
        table = _new_table(stage, rows.schema, ["k"], {"bucket": "1"})
        for number in range(count):
            table.write(rows.slice(10 * number, 10))
        assert table.refresh().scan().to_arrow().num_rows == 10 * count

    peers = stage.peer("pypaimon, writes only", lambda: _pypaimon_writes(stage, rows, commits=count, primary_key=["k"]))
    stage.compare(f"{count} upserts of 10 rows with the compactions that are due, then a read", write_all, peers)


def writes(stage: Stage) -> None:
    """Loading rows through Arrow."""
    rows = compact.make_rows(np.random.default_rng(7), min(stage.rows(500_000), compact.KEYS))
    target = stage.folder / "bound.parquet"
    peers = {"pyarrow, one Parquet file (bound)": lambda: pq.write_table(rows, target, compression="zstd")}
    peers |= stage.peer("pypaimon", lambda: _pypaimon_writes(stage, rows))
    stage.compare(f"append {rows.num_rows:,} rows", lambda: _new_table(stage, rows.schema, [], {}).write(rows), peers)
    peers = stage.peer("pypaimon", lambda: _pypaimon_writes(stage, rows, primary_key=["k"]))
    stage.compare(
        f"load {rows.num_rows:,} rows by key, 2 buckets",
        lambda: _new_table(stage, rows.schema, ["k"], WRITE_ONLY).write(rows),
        peers,
    )


def reads(stage: Stage) -> None:
    """Scans through the API: raw, filtered, with deletion vectors, merged."""
    count = stage.rows(2_000_000)
    plain = make_append(_warehouse(stage), "bench.plain", count)
    marked = make_append(_warehouse(stage), "bench.marked", count, {"deletion-vectors.enabled": "true"})
    marked.delete("kind = 7")
    marked = marked.refresh()
    left = marked.scan().count()
    plain_files, marked_files = files_of(plain), files_of(marked)
    peers = {"pyarrow.dataset on the same files (bound 1.15)": lambda: scan_by_pyarrow(plain_files)}
    peers |= stage.peer("pypaimon", lambda: stage.pypaimon.work("read", plain.location, expected=count))
    stage.compare(f"scan {count:,} rows", lambda: scan_by_api(plain), peers)
    stage.compare(
        "the same, 2 of 5 columns, a tenth of the rows",
        lambda: scan_by_api(plain, "kind < 10", ["id", "amount"]),
        {"pyarrow.dataset": lambda: scan_by_pyarrow(plain_files, ds.field("kind") < 10, ["id", "amount"])},
    )
    peers = {"pyarrow.dataset, without the vectors (bound 1.3)": lambda: scan_by_pyarrow(marked_files)}
    peers |= stage.peer("pypaimon", lambda: stage.pypaimon.work("read", marked.location, expected=left))
    stage.compare("the same rows, 1 % deleted by vectors", lambda: scan_by_api(marked), peers)
    draw, size = np.random.default_rng(5), stage.rows(200_000)
    keyed = _new_table(stage, compact.SCHEMA, ["k"], WRITE_ONLY)
    for _ in range(5):
        keyed.write(compact.make_rows(draw, size))
    keyed = keyed.refresh()
    expected = keyed.scan().to_arrow().num_rows
    peers = stage.peer("pypaimon", lambda: stage.pypaimon.work("read", keyed.location, expected=expected))
    stage.compare(f"merge read of 5 runs of {size:,} rows", lambda: scan_by_api(keyed), peers)


def merges(stage: Stage) -> None:
    """Merging runs in memory, engine by engine."""
    merge.ROWS = stage.rows(100_000)
    merge.KEYS = 2 * merge.ROWS
    rows = pa.concat_tables(merge.make_runs(pa.array))
    values = pa.schema([field for field in rows.schema if not field.name.startswith("_")])
    for label in ("deduplicate", "partial-update", "aggregation"):
        spec = merge_spec(schema_of(values, primary_key=["k"], options=merge.ENGINES[label]))
        stage.compare(
            f"merge {rows.num_rows:,} rows in {merge.RUNS} runs, {label}",
            lambda spec=spec: merge_rows(rows, spec),
            {"Arrow, sort and take (bound)": lambda: merge.sort_and_take(rows)},
        )


def compactions(stage: Stage) -> None:
    """Compaction and deletes; every repeat on a fresh copy of the table."""
    draw, size = np.random.default_rng(7), stage.rows(100_000)
    made = _new_table(stage, compact.SCHEMA, ["k"], WRITE_ONLY)
    for _ in range(8):
        made.write(compact.make_rows(draw, size))
    peers = stage.peer(
        "Java Paimon, warm",
        lambda: (
            lambda j=stage.java: _timed_on_copy(stage, made, lambda copy: j.table(Path(copy)).ask("compact", full=True))
        ),
    )
    stage.compare(
        f"full compaction of 8 runs of {size:,} rows",
        lambda: _timed_on_copy(stage, made, lambda copy: polynya.open_table(copy).compact(full=True)),
        peers,
    )
    copied, vectors = (
        make_append(_warehouse(stage), f"bench.delete_{name}", stage.rows(1_000_000), options)
        for name, options in (("copies", {}), ("vectors", {"deletion-vectors.enabled": "true"}))
    )
    stage.compare(
        "delete 1 % of the rows, with deletion vectors",
        lambda: _timed_on_copy(stage, vectors, lambda copy: polynya.open_table(copy).delete("kind = 7")),
        {
            "the same by rewriting files": lambda: _timed_on_copy(
                stage, copied, lambda copy: polynya.open_table(copy).delete("kind = 7")
            )
        },
    )


def iceberg(stage: Stage) -> None:
    """Publishing the twin after a small commit to a table with a history."""
    table = _new_table(stage, compact.SCHEMA, [], {})
    rows = compact.make_rows(np.random.default_rng(7), 100)
    for _ in range(stage.rows(100, 5)):
        table.write(rows)
    table.publish_iceberg()

    def publish() -> float:
        table.write(rows)
        return hashing.seconds(table.publish_iceberg, 1)

    stage.compare("publish one commit to Iceberg", publish, {"the commit itself": lambda: table.write(rows)})
    count = stage.rows(100_000)
    large = iceberg_publish.make_table(str(stage.folder / "published"), count)
    large.publish_iceberg()
    numbers = iter(range(count, 2 * count))
    for what, change in (("adds", iceberg_publish.add_one), ("replaces", iceberg_publish.replace_one)):
        stage.compare(
            f"publish a commit that {what} one of {count:,} files",
            lambda change=change: iceberg_publish.after(large, lambda: change(large, next(numbers), count)),
            {"publishing all of it": lambda: iceberg_publish.cpu_seconds(lambda: iceberg_publish.publish_whole(large))},
        )


def iceberg_plans(stage: Stage) -> None:
    """Planning a large Iceberg table, by processor time."""
    count = stage.rows(100_000, 1000)
    path = iceberg_plan.make_table(str(stage.folder / "iceberg"), count)
    for what, shown in (("full", "all files"), ("partition", "one partition of 100"), ("value", "one file by bounds")):
        stage.compare(
            f"plan an Iceberg table of {count:,} files: {shown}",
            lambda what=what: iceberg_plan.seconds_of("polynya", what, path),
            {"PyIceberg": lambda what=what: iceberg_plan.seconds_of("pyiceberg", what, path)},
        )


def spark(stage: Stage) -> None:
    """DataFrames, against Spark's own Parquet."""
    import polynya.spark
    import spark_append
    import spark_scan

    session = polynya.spark.session("local[2]", **{"spark.driver.memory": "3g"})
    lake = polynya.spark.Lake(session, stage.folder / "spark")
    lake.create_database("db")
    frame = spark_append.rows(session, stage.rows(1_000_000))
    count, path = frame.count(), str(stage.folder / "spark-parquet")
    names = iter(range(1000))

    def native() -> None:
        frame.write.mode("overwrite").option("compression", "zstd").partitionBy("day").parquet(path)

    def append() -> None:
        lake.create_table(f"db.append{next(names)}", frame.schema, partition_by=["day"]).write(frame)

    def load() -> None:
        lake.create_table(f"db.load{next(names)}", frame.schema, ["id"], options=WRITE_ONLY).write(frame)

    parquet = {"Spark's partitioned Parquet": native}
    stage.compare(f"Spark: append {count:,} rows, partitioned", append, parquet)
    stage.compare(f"Spark: load {count:,} rows by key", load, parquet)
    keyed = lake.create_table("db.keyed", frame.schema, ["id"], options=WRITE_ONLY)
    keyed.write(frame)
    keyed.write(frame.where("id % 4 = 0"))
    plain = lake.table("db.append0")
    frame.unpersist()
    parquet = {"Spark's Parquet": lambda: spark_scan._total(session.read.parquet(path))}
    stage.compare(f"Spark: scan and add up {count:,} rows", lambda: spark_scan._total(plain.read()), parquet)
    stage.compare("Spark: the same, two overlapping runs by key", lambda: spark_scan._total(keyed.read()), parquet)
    session.stop()


WORKLOADS = {
    work.__name__: work
    for work in (manifests, keys, plans, commits, writes, reads, merges, compactions, iceberg, iceberg_plans, spark)
}


def _warehouse(stage: Stage) -> polynya.Warehouse:
    warehouse = polynya.open_warehouse(stage.folder / "warehouse")
    warehouse.create_database("bench", exist_ok=True)
    return warehouse


def _new_table(stage: Stage, schema: pa.Schema, primary_key: list[str], options: dict[str, str]) -> polynya.Table:
    warehouse = _warehouse(stage)
    name = f"bench.t{len(warehouse.tables('bench'))}"
    return warehouse.create_table(name, schema, primary_key, options=options)


def _pypaimon_writes(stage: Stage, rows: pa.Table, primary_key=(), **fields: object) -> Callable[[], object]:
    """pypaimon writes the rows into a new table each time."""
    peer = stage.pypaimon
    data = stage.folder / f"rows-{len(list(stage.folder.glob('rows-*')))}.arrow"
    with pa.OSFile(str(data), "wb") as file, pa.ipc.new_file(file, rows.schema) as writer:
        writer.write_table(rows)
    options = WRITE_ONLY if primary_key else {}

    def write() -> object:
        table = _new_table(stage, rows.schema, list(primary_key), options)
        return peer.work("write", table.location, data=str(data), **({"commits": 1} | fields))()

    return write


def _timed_on_copy(stage: Stage, table: polynya.Table, work: Callable[[str], object]) -> float:
    """Seconds of the work on a copy of the table, which is thrown away."""
    with tempfile.TemporaryDirectory(dir=stage.folder) as folder:
        copy = Path(folder) / "bench.db" / "copy"
        shutil.copytree(table.location, copy)
        return hashing.seconds(lambda: work(str(copy)), 1)
