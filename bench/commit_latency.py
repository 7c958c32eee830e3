"""Commits: latency along the history, group commit, many files at once. Ratios within one run are what counts.

python bench/commit_latency.py [--long]

| figure | bar |
|---|---|
| median latency of a one-row commit at ~800 commits (--long: also at ~5000), over that at ~50 | 1.2 |
| commits per second of 64 threads, grouped, over one by one | 5 |
| seconds of one commit of 10,000 new files, data files aside | 1 |

The processor time of the same commits is shown too, as the mean: it holds the merges, which the median leaves out, and
stands where a busy machine makes latencies a matter of luck.
"""

import argparse
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import pyarrow as pa

import polynya
from polynya.model.schema import schema_of
from polynya.storage import open_storage
from polynya.table import catalog, history
from polynya.table.commit import Target, commit, new_author
from polynya.table.edit import Change, Edit
from polynya.table.history import TableRoot

sys.path.insert(0, str(Path(__file__).parent))
from manifest_decode import entries as make_entries

WINDOW = 60
THREADS, COMMITS_PER_THREAD = 64, 4
NEW_FILES = 10_000


def latencies(folder: Path, commit_count: int) -> list[float]:
    """Seconds of each one-row commit on a table with default options."""
    return [seconds for seconds, _ in timed_commits(folder, commit_count)]


def timed_commits(folder: Path, commit_count: int) -> list[tuple[float, float]]:
    """Seconds, and seconds of processor time, of each one-row commit on a table with default options."""
    table = _new_table(folder)
    row = pa.table({"id": [1], "name": ["x"]})
    seconds = []
    for _ in range(commit_count):
        started, used = time.perf_counter(), time.process_time()
        table.write(row)
        seconds.append((time.perf_counter() - started, time.process_time() - used))
    return seconds


def commits_per_second(folder: Path, *, grouped: bool) -> float:
    """Many threads that write one row each, several times; or the same writes one after the other."""
    table = _new_table(folder)
    row = pa.table({"id": [1], "name": ["x"]})

    def work() -> None:
        for _ in range(COMMITS_PER_THREAD):
            table.write(row)

    threads = [threading.Thread(target=work) for _ in range(THREADS if grouped else 1)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    count = len(threads) * COMMITS_PER_THREAD * (1 if grouped else 8)
    if not grouped:
        for _ in range(7):
            work()
    passed = time.perf_counter() - started
    assert table.refresh().scan().count() == count
    return count / passed


def many_files(folder: Path, file_count: int = NEW_FILES) -> float:
    """Seconds of a commit that adds many files, whose entries are there already."""
    root = TableRoot(open_storage(folder / "many"))
    columns = pa.schema([("day", pa.string()), ("k", pa.int64())])
    catalog.create_table(root, schema_of(columns, partition_by=["day"]))
    schema = history.find_latest_schema(root)
    assert schema is not None
    target = Target(root, schema)
    change = Change(Edit(make_entries(file_count)))
    started = time.perf_counter()
    commit(target, change, new_author(target))
    return time.perf_counter() - started


def _new_table(folder: Path) -> polynya.Table:
    warehouse = polynya.open_warehouse(folder)
    warehouse.create_database("db", exist_ok=True)
    name = f"db.t{len(warehouse.tables('db'))}"
    return warehouse.create_table(name, pa.schema([("id", pa.int64()), ("name", pa.string())]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--long", action="store_true", help="go on to 5,000 commits")
    parser.add_argument("--folder", help="where the tables are made; a memory file system leaves the disk out")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        marks = (50, 800, 5000) if given.long else (50, 800)
        seconds = timed_commits(folder, marks[-1] + WINDOW // 2)
        first = None
        for mark in marks:
            walls, used = zip(*seconds[mark - WINDOW // 2 : mark + WINDOW // 2], strict=True)
            median, mean = statistics.median(walls), statistics.mean(used)
            first = first or median
            print(
                f"one-row commit at ~{mark:<6} {1000 * median:8.2f} ms, ratio {median / first:.2f} (bar 1.2);"
                f" processor {1000 * mean:.2f} ms on average"
            )
        alone = commits_per_second(folder, grouped=False)
        together = commits_per_second(folder, grouped=True)
        print(f"one by one               {alone:8.1f} commits/s")
        print(f"{THREADS} threads, grouped      {together:8.1f} commits/s, ratio {together / alone:.1f} (bar 5)")
        print(f"{NEW_FILES} new files          {many_files(folder):8.3f} s (bar 1)")


if __name__ == "__main__":
    main()
