"""Planning a table of many files, against the bare decode of its manifests with DataFusion, in the same run.

    python bench/plan.py [files]

full: all files; partition: one of 100; value: one file by statistics, or with buckets one of 16; warm: full again with
manifests in memory; image: full in a new process with manifests on disk. Peak memory is that of a process that does
only the full plan.
Ratios are of processor time, which a busy machine distorts least. Libraries are loaded before the clock starts.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BARE_COLUMNS = ("_FILE_NAME", "_FILE_SIZE", "_ROW_COUNT", "_LEVEL", "_SCHEMA_ID", "_MIN_SEQUENCE_NUMBER")


def measure(file_count=100_000, repeat=3):
    """Best of `repeat` runs, each in a process of its own, in seconds; and the peak memory of the full plan in MiB."""
    with tempfile.TemporaryDirectory() as folder:
        _child("make", folder, str(file_count))
        best, cpu = {}, {}
        for _ in range(repeat):
            for what in ("bare", "full", "warm", "partition", "value"):
                figures = _child(what, folder)
                best[what] = min(best.get(what, float("inf")), figures["seconds"])
                cpu[what] = min(cpu.get(what, float("inf")), figures["cpu_seconds"])
                if what == "full":
                    best["peak_mib"] = figures["peak_mib"]
                    best["splits"] = figures["splits"]
        images = {"POLYNYA_MANIFEST_CACHE": str(Path(folder) / "images")}
        best["image"] = min(_child("full", folder, environment=images)["seconds"] for _ in range(2))
    ratios = {"full_to_bare": cpu["full"] / cpu["bare"]}
    ratios |= {f"{what}_to_full": cpu[what] / cpu["full"] for what in ("partition", "value", "warm")}
    return {"files": file_count, **best, **ratios}


def _child(what, folder, *arguments, environment=None):
    command = [sys.executable, __file__, "--child", what, folder, *arguments]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env={**os.environ, **(environment or {})}
    )
    return json.loads(done.stdout.splitlines()[-1])


def _run_child(what, folder, *arguments):
    if what in ("make", "make-bucketed"):
        from make_table import make_table

        make_table(folder, int(arguments[0]), bucketed=what == "make-bucketed")
        return {}
    (seconds, cpu_seconds), splits = _bare(folder) if what == "bare" else _plan(what, folder)
    # Not ru_maxrss, which a child process starts with at the size of its parent.
    status = Path("/proc/self/status").read_text().split()
    figures = {"seconds": seconds, "cpu_seconds": cpu_seconds, "splits": splits}
    return figures | {"peak_mib": int(status[status.index("VmHWM:") + 1]) / 1024}


def _plan(what, folder):
    import datafusion  # noqa: F401 - loaded before the clock starts, as in the bare decode

    import polynya
    import polynya.table.scan

    table = polynya.open_table(f"{folder}/bench.db/t")
    where = {"partition": polynya.col("day") == 42, "value": polynya.col("id") == 4242}.get(what)
    if what == "warm":
        table.scan().plan()
    clock = _clock()
    plan = table.scan(where=where).plan()
    return clock(), len(plan.splits)


def _bare(folder):
    from datafusion import SessionContext

    import polynya
    from polynya.table.entries import read_metas

    table = polynya.open_table(f"{folder}/bench.db/t")
    manifests = Path(folder) / "bench.db" / "t" / "manifest"
    copies = Path(folder) / "avro"
    copies.mkdir(exist_ok=True)
    for name in read_metas(table.root, table.snapshot)["file_name"].to_pylist():
        copy = copies / f"{name}.avro"
        if not copy.exists():
            copy.write_bytes((manifests / name).read_bytes())
    clock = _clock()
    context = SessionContext()
    context.register_avro("entries", str(copies))
    columns = ", ".join(f"\"_FILE\"['{name}']" for name in BARE_COLUMNS)
    rows = context.sql(f'SELECT "_KIND", "_PARTITION", "_BUCKET", "_TOTAL_BUCKETS", {columns} FROM entries')
    rows.to_arrow_table()
    return clock(), 0


def _clock():
    """A function that tells the seconds since now: on the wall, of the processor."""
    started = time.perf_counter(), time.process_time()
    return lambda: (time.perf_counter() - started[0], time.process_time() - started[1])


def main():
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(_run_child(*sys.argv[2:])))
        return
    for name, value in measure(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000).items():
        print(f"{name:14} {value:,.3f}" if isinstance(value, float) else f"{name:14} {value:,}")


if __name__ == "__main__":
    main()
