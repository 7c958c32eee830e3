"""Workloads of rows through Arrow: writing, reading, merging, compacting, deleting."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import compact
import merge
import polynya
from polynya.arrow.merge import merge as merge_rows
from polynya.arrow.merge import merge_spec
from polynya.model.schema import schema_of
from read import files_of, make_append, scan_by_api, scan_by_pyarrow
from stage import Others, Stage, seconds_of
from tables import WRITE_ONLY, arrow_file, into_new, named, new_table, paimon_clients, timed_on_copy, warehouse_of

ONE_COMMIT = {"commits": 1}


def writes(stage: Stage) -> None:
    """Loading rows."""
    rows = compact.make_rows(np.random.default_rng(7), min(stage.rows(500_000), compact.KEYS))
    data, target = arrow_file(stage, rows), stage.folder / "bound.parquet"
    iceberg = str(stage.folder / "pyiceberg")

    def clients(primary_key: list[str], options: dict[str, str]) -> Others:
        return paimon_clients(
            stage,
            lambda peer: into_new(
                stage,
                peer,
                "write",
                lambda: new_table(stage, rows.schema, primary_key, options),
                data=data,
                **ONE_COMMIT,
            ),
        )

    def load(primary_key: list[str], options: dict[str, str]) -> float:
        table = new_table(stage, rows.schema, primary_key, options)
        return seconds_of(lambda: table.write(rows))

    peers = {**clients([], {})}
    peers |= stage.peer("PyIceberg", lambda them: them.pyiceberg.task("write", folder=iceberg, data=data, **ONE_COMMIT))
    stage.compare(
        f"append {rows.num_rows:,} rows",
        lambda: load([], {}),
        peers,
        bounds={"pyarrow, one Parquet file": lambda: pq.write_table(rows, target, compression="zstd")},
    )
    stage.compare(
        f"load {rows.num_rows:,} rows by key, 2 buckets",
        lambda: load(["k"], WRITE_ONLY),
        {**clients(["k"], WRITE_ONLY), **stage.cannot("has no primary keys that a write keeps", "PyIceberg")},
    )
    _upsert(stage, rows)


def _upsert(stage: Stage, rows: pa.Table) -> None:
    base = new_table(stage, rows.schema, ["k"], WRITE_ONLY)
    base.write(rows)
    changed = rows.slice(0, rows.num_rows // 4)
    data = arrow_file(stage, changed)

    def by_client(peer):
        def write(copy):
            return peer.ask("write", **named(polynya.open_table(copy)), data=data, **ONE_COMMIT)

        return peer.made(lambda: timed_on_copy(stage, base, write))

    stage.compare(
        f"upsert {changed.num_rows:,} of {rows.num_rows:,} rows",
        lambda: timed_on_copy(stage, base, lambda copy: polynya.open_table(copy).write(changed)),
        paimon_clients(stage, by_client),
    )


def reads(stage: Stage) -> None:
    """Scans: raw, filtered, with deletion vectors, merged."""
    count = stage.rows(2_000_000)
    plain = make_append(warehouse_of(stage), "bench.plain", count)
    marked = make_append(warehouse_of(stage), "bench.marked", count, {"deletion-vectors.enabled": "true"})
    marked.delete("kind = 7")
    marked = marked.refresh()
    plain_files, marked_files = files_of(plain), files_of(marked)
    stage.compare(
        f"scan {count:,} rows",
        lambda: scan_by_api(plain),
        {**_readers(stage, plain), **_iceberg_reader(stage, plain)},
        bounds={"pyarrow.dataset on the same files": lambda: scan_by_pyarrow(plain_files)},
    )
    columns = ["id", "amount"]
    stage.compare(
        f"scan {count:,} rows, 2 of 5 columns, a tenth of the rows",
        lambda: scan_by_api(plain, "kind < 10", columns),
        {
            **_readers(stage, plain, "kind < 10", where=["lessThan", "kind", 10], columns=columns),
            **_iceberg_reader(stage, plain, "kind < 10", columns),
        },
        bounds={"pyarrow.dataset": lambda: scan_by_pyarrow(plain_files, ds.field("kind") < 10, columns)},
    )
    stage.compare(
        f"scan {count:,} rows, 1 % deleted by vectors",
        lambda: scan_by_api(marked),
        _readers(stage, marked),
        bounds={"pyarrow.dataset, without the vectors": lambda: scan_by_pyarrow(marked_files)},
    )
    _merge_reads(stage)


def _merge_reads(stage: Stage) -> None:
    draw, size = np.random.default_rng(5), stage.rows(200_000)
    keyed = new_table(stage, compact.SCHEMA, ["k"], WRITE_ONLY)
    for _ in range(5):
        keyed.write(compact.make_rows(draw, size))
    keyed = keyed.refresh()
    stage.compare(f"merge read of 5 runs of {size:,} rows", lambda: scan_by_api(keyed), _readers(stage, keyed))


def _readers(stage: Stage, table: polynya.Table, filter: str | None = None, **fields: object) -> Others:
    expected = scan_by_api(table, filter)
    return paimon_clients(stage, lambda peer: peer.task("read", **named(table), expected=expected, **fields))


def _iceberg_reader(
    stage: Stage, table: polynya.Table, where: str | None = None, columns: list[str] | None = None
) -> Others:
    """PyIceberg on a table of its own with the same rows in as many files."""

    def ask(peers):
        folder = str(stage.folder / "pyiceberg")
        rows = table.scan().to_arrow()
        name = peers.pyiceberg.ask("make", folder=folder, data=arrow_file(stage, rows), commits=8)
        expected = scan_by_api(table, where)
        return peers.pyiceberg.task("read", folder=folder, table=name, where=where, columns=columns, expected=expected)

    return stage.peer("PyIceberg", ask)


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
            bounds={"Arrow, sort and take": lambda: merge.sort_and_take(rows)},
        )


def compactions(stage: Stage) -> None:
    """Compaction; every repeat on a fresh copy of the table."""
    draw, size = np.random.default_rng(7), stage.rows(100_000)
    keyed = new_table(stage, compact.SCHEMA, ["k"], WRITE_ONLY)
    for _ in range(8):
        keyed.write(compact.make_rows(draw, size))
    plain = new_table(stage, compact.SCHEMA, options={"write-only": "true"})
    for _ in range(40):
        plain.write(compact.make_rows(draw, max(size // 2, 1)))
    for table, what in (
        (keyed, f"full compaction of 8 runs of {size:,} rows"),
        (plain, f"40 files of {max(size // 2, 1):,} rows to one"),
    ):
        stage.compare(
            what,
            lambda table=table: timed_on_copy(stage, table, lambda copy: polynya.open_table(copy).compact(full=True)),
            {
                **_java(stage, table, "compact", full=True),
                **stage.cannot("has no compaction", "pypaimon", "pypaimon-rust", "PyIceberg"),
            },
        )


def deletes(stage: Stage) -> None:
    """Deleting 1 % of the rows; every repeat on a fresh copy of the table."""
    count = stage.rows(1_000_000)
    copied, vectors = (
        make_append(warehouse_of(stage), f"bench.delete_{name}", count, options)
        for name, options in (("copies", {}), ("vectors", {"deletion-vectors.enabled": "true"}))
    )
    by_row_id = stage.cannot("deletes by row id only", "pypaimon", "pypaimon-rust")
    data = arrow_file(stage, vectors.scan().to_arrow()) if stage.with_peers else ""
    fields = {"folder": str(stage.folder / "pyiceberg"), "data": data, "commits": 8, "where": "kind = 7"}

    def delete(table: polynya.Table) -> float:
        return timed_on_copy(stage, table, lambda copy: polynya.open_table(copy).delete("kind = 7"))

    stage.compare(
        f"delete 1 % of {count:,} rows, with deletion vectors",
        lambda: delete(vectors),
        {
            **_java(stage, vectors, "delete", where=[["=", "kind", 7]]),
            **by_row_id,
            **stage.cannot("writes no deletion vectors", "PyIceberg"),
        },
    )
    stage.compare(
        f"delete 1 % of {count:,} rows, by rewriting files",
        lambda: delete(copied),
        {**by_row_id, **stage.peer("PyIceberg", lambda peers: peers.pyiceberg.task("delete", **fields))},
    )


def _java(stage: Stage, table: polynya.Table, do: str, **fields: object) -> Others:
    """Java Paimon at work on fresh copies."""

    def ask(peers):
        return peers.java(
            lambda java: timed_on_copy(stage, table, lambda copy: java.table(Path(copy)).ask(do, **fields))
        )

    return stage.peer("Java Paimon, warm", ask)
