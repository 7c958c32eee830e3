"""Workloads of metadata: manifests, keys, plans, commits."""

from collections.abc import Callable
from itertools import count as numbers_from
from pathlib import Path

import numpy as np
import pyarrow as pa

import commit_latency
import compact
import hash as hashing
import manifest_decode
import manifest_rewrite
import plan as planning
import writers as writing
from memory import Told
from peers import Task
from polynya.arrow import route
from polynya.codec.avro import AvroSource
from polynya.codec.binary_row import encode_row
from polynya.codec.murmur import hash_words
from polynya.paimon import manifest
from stage import SMOKE, Others, Stage
from tables import arrow_file, into_new, new_table, paimon_clients

MIB = 2**20 / 1e6
WRITERS = (1, 2, 4, 8, 16)


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
    folder = str(stage.folder / "manifests")
    list_name, blobs = manifest_rewrite.prepare(folder, count)
    told = Told()

    def rewrite() -> float:
        made = manifest_rewrite.rewrite_alone(folder, list_name)
        told.tell(made["peak_mb"])
        return made["seconds"]

    stage.compare(
        f"merge manifests of {count:,} entries, 1 % deletes",
        Task(rewrite, told),
        {"decode, drop and encode with fastavro": lambda: manifest_rewrite.by_fastavro(blobs)},
    )


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
        own={"row by row in Python, from a sample": by_row},
    )


def plans(stage: Stage) -> None:
    """Planning a table of many files; each of ours in a new process, the clock starts after its imports."""
    _plans(stage, stage.rows(100_000), lambda where: _plan_clients(stage, where))


def plans_million(stage: Stage) -> None:
    """Planning ten times as many files."""
    too_long = stage.cannot("left out: takes minutes for each plan", "pypaimon")
    _plans(stage, stage.rows(1_000_000), lambda where: {**too_long, **_plan_rust(stage, where)})


def _plans(stage: Stage, count: int, clients: Callable[[dict[str, object]], Others]) -> None:
    folder, bucketed = stage.folder / "plan", stage.folder / "plan-bucketed"
    planning._child("make", str(folder), str(count))
    planning._child("make-bucketed", str(bucketed), str(count))
    for what, place, title, where in (
        ("full", folder, "", None),
        ("warm", folder, ", again in one process", None),
        ("partition", folder, ", one partition of 100", ("day", 42)),
        ("value", bucketed, ", one bucket of 16", ("id", 4242)),
        ("value", folder, ", one file by statistics", ("id", 4242)),
    ):
        name = {"warehouse": str(place), "table": "bench.t"}
        condition = {"where": ["equal", *where]} if where else {}
        peers = {**_plan_java(stage, place, where), **clients(name | condition)} if what != "warm" else {}
        bound = {"bare Avro decode with DataFusion": _planned("bare", place)} if what == "full" else {}
        stage.compare(f"plan {count:,} files{title}", _planned(what, place), peers, bounds=bound)


def _planned(what: str, folder: Path) -> Task:
    told = Told()

    def run() -> float:
        made = planning._child(what, str(folder))
        told.tell(made["peak_mib"] * MIB)
        return made["seconds"]

    return Task(run, told)


def _plan_java(stage: Stage, folder: Path, where: tuple[str, int] | None) -> Others:
    condition = {"where": [["=", *where]]} if where else {}
    table = folder / "bench.db" / "t"
    return stage.peer(
        "Java Paimon, warm, answer as JSON",
        lambda peers: peers.java(lambda java: java.table(table).ask("plan", **condition)),
    )


def _plan_clients(stage: Stage, fields: dict[str, object]) -> Others:
    return paimon_clients(stage, lambda peer: peer.task("plan", **fields))


def _plan_rust(stage: Stage, fields: dict[str, object]) -> Others:
    return stage.peer("pypaimon-rust", lambda peers: peers.pypaimon_rust.task("plan", **fields))


def commits(stage: Stage) -> None:
    """Commits of one row along the history, and of many files."""
    late = stage.rows(800, 12)
    window = min(commit_latency.WINDOW, late // 4)
    place = numbers_from()
    early: list[float] = []

    def new_folder() -> Path:
        return stage.folder / f"commits-{next(place)}"

    def one_row() -> float:
        seconds = commit_latency.latencies(new_folder(), late)
        early.append(float(np.median(seconds[window : 2 * window])))
        return float(np.median(seconds[-window:]))

    one = pa.table({"id": [1] * 20, "name": ["x"] * 20})
    stage.compare(
        f"one-row commit after {late} commits",
        one_row,
        _appends(stage, one, ", new table", commits=20, each=True),
        own={f"the same at ~{2 * window} commits": lambda: early[-1]},
    )
    files = stage.rows(10_000)
    stage.compare(f"one commit of {files:,} new files", lambda: commit_latency.many_files(new_folder(), files))


def writers(stage: Stage) -> None:
    """Commits of one row by 1 to 16 writers at once."""
    commits = stage.rows(8, 2)
    data = arrow_file(stage, writing.ROW)
    place = numbers_from()

    def new() -> Path:
        return stage.folder / f"writers-{next(place)}"

    counts = WRITERS if stage.scale > SMOKE else WRITERS[:2]
    for count in counts:
        fields = {"data": data, "threads": count, "commits": commits}
        peers = paimon_clients(
            stage,
            lambda peer, fields=fields: into_new(
                stage, peer, "together", lambda: new_table(stage, writing.ROW.schema), **fields
            ),
        )
        peers |= stage.peer(
            "PyIceberg, trying again",
            lambda them, fields=fields: them.pyiceberg.task(
                "together", folder=str(stage.folder / "pyiceberg"), **fields
            ),
        )
        stage.compare(
            f"commit of one row, threads: {count}",
            lambda count=count: writing.by_threads(writing.new_table(new()), count, commits),
            peers,
            own={
                "in as many processes": lambda count=count: writing.by_processes(
                    writing.new_table(new()), count, commits
                )
            },
        )
    _note_rates(stage)


def _note_rates(stage: Stage) -> None:
    """The same figures as commits a second."""
    rates: dict[str, list[str]] = {}
    for figure in stage.figures:
        rates.setdefault(figure.other, []).append(
            f"{1 / min(figure.other_seconds):,.0f}" if figure.other_seconds else "–"
        )
    best = {figure.what: f"{1 / min(figure.seconds):,.0f}" for figure in stage.figures}
    shown = [f"polynya {', '.join(best.values())}"]
    shown += [f"{name} {', '.join(values)}" for name, values in rates.items()]
    stage.note(f"Commits a second with {', '.join(map(str, WRITERS[: len(best)]))} writers: {'; '.join(shown)}.")


def small_writes(stage: Stage) -> None:
    """Many small writes, then a read."""
    count = stage.rows(300, 10)
    rows = compact.make_rows(np.random.default_rng(3), 10 * count)

    def write_all(primary_key: list[str], options: dict[str, str]) -> None:
        table = new_table(stage, rows.schema, primary_key, options)
        for number in range(count):
            table.write(rows.slice(10 * number, 10))
        assert table.refresh().scan().to_arrow().num_rows == 10 * count

    fields = {"commits": count, "expected": 10 * count}
    stage.compare(
        f"{count} appends of 10 rows, then a read",
        lambda: write_all([], {}),
        _appends(stage, rows, "", **fields),
    )
    data = arrow_file(stage, rows)
    upserts = paimon_clients(
        stage,
        lambda peer: into_new(
            stage, peer, "write", lambda: new_table(stage, rows.schema, ["k"], {"bucket": "1"}), data=data, **fields
        ),
    )
    stage.compare(
        f"{count} upserts of 10 rows with the compactions that are due, then a read",
        lambda: write_all(["k"], {"bucket": "1"}),
        {f"{name}, which does not compact": work for name, work in upserts.items()},
    )


def _appends(stage: Stage, rows: pa.Table, suffix: str, **fields: object) -> Others:
    """Each client appends the rows to a new table."""
    data = arrow_file(stage, rows)
    folder = str(stage.folder / "pyiceberg")
    found = paimon_clients(
        stage,
        lambda peer: into_new(stage, peer, "write", lambda: new_table(stage, rows.schema), data=data, **fields),
    )
    found |= stage.peer("PyIceberg", lambda peers: peers.pyiceberg.task("write", folder=folder, data=data, **fields))
    return {f"{name}{suffix}": work for name, work in found.items()}
