"""Scans through the API against pyarrow.dataset on the same Parquet files in the same run.

python bench/read.py [rows]

| figure | bar |
|---|---|
| seconds of a raw scan over those of pyarrow.dataset | 1.15 |
| seconds with deletion vectors on 1 % of the rows over those of pyarrow.dataset, which does not apply them | 1.3 |

Each by the wall clock, which needs a machine that does nothing else, and by the time of all cores.
"""

import sys
import tempfile
import time

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

import polynya

ROWS, FILES, REPEATS = 4_000_000, 8, 5


def make_append(warehouse, name, row_count, options=None):
    """An append table of eight files of five columns; `kind` is one of 100 in no order."""
    draw = np.random.default_rng(11)
    size = max(row_count // FILES, 1)
    texts = pa.array([f"{number:032d}" for number in range(1000)])
    table = None
    for start in range(0, row_count, size):
        count = min(size, row_count - start)
        ids = np.arange(start, start + count)
        rows = pa.table(
            {
                "id": ids,
                "kind": pa.array(draw.integers(0, 100, count), pa.int32()),
                "amount": draw.random(count),
                "at": pa.array(ids * 1000, pa.timestamp("us")),
                "note": texts.take(pa.array(draw.integers(0, 1000, count))),
            }
        )
        if table is None:
            table = warehouse.create_table(name, rows.schema, options=options or {})
        table.write(rows)
    return table.refresh()


def files_of(table):
    """The paths of the table's files, which a peer is told."""
    return table.system("files")["file_path"].to_pylist()


def scan_by_api(table, where=None, columns=None):
    """Plan and read all batches; the number of rows."""
    return sum(batch.num_rows for batch in table.scan(where, columns).to_batches())


def scan_by_pyarrow(files, where=None, columns=None):
    """Read files by their names, without a plan; the number of rows."""
    return sum(batch.num_rows for batch in ds.dataset(files).to_batches(filter=where, columns=columns))


def ratios(ours, other):
    """The best of each, in turn, by the wall clock and by all cores: seconds and their ratio."""
    taken = [(_seconds(ours), _seconds(other)) for _ in range(REPEATS + 1)][1:]
    for clock in (0, 1):
        best = [min(pair[side][clock] for pair in taken) for side in (0, 1)]
        yield (*best, best[0] / best[1])


def _seconds(work):
    started, used = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - started, time.process_time() - used


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with tempfile.TemporaryDirectory() as folder:
        warehouse = polynya.open_warehouse(folder)
        warehouse.create_database("db")
        plain = make_append(warehouse, "db.plain", count)
        marked = make_append(warehouse, "db.marked", count, {"deletion-vectors.enabled": "true"})
        marked.delete("kind = 7")
        marked = marked.refresh()
        assert scan_by_api(plain) == scan_by_pyarrow(files_of(plain)) == count
        for name, table, bar in (("raw", plain, 1.15), ("1 % deleted", marked, 1.3)):
            files = files_of(table)
            found = ratios(lambda t=table: scan_by_api(t), lambda files=files: scan_by_pyarrow(files))
            for clock, (ours, other, times) in zip(("wall", "cores"), found, strict=True):
                print(
                    f"{name:12} {clock:6} {ours:7.3f} s, pyarrow.dataset {other:7.3f} s, ratio {times:.2f} (bar {bar})"
                )


if __name__ == "__main__":
    main()
