"""Publishing the Iceberg twin of a table of many files: after a commit of one file, against publishing all of it.

    python bench/iceberg_publish.py [files]

append: the commit adds a file; overwrite: it removes one and adds another. Both are compared with a full publish in the
same run; the best of several, in CPU time.
"""

import shutil
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa

from make_table import entries_of, make_table
from polynya.table.commit import Target, commit, new_author
from polynya.table.edit import Change, Edit
from polynya.table.entries import DELETE


def measure(file_count=100_000, repeat=3):
    """Seconds of each kind of publish, and the ratio of the small ones to the full one."""
    with tempfile.TemporaryDirectory() as folder:
        table = make_table(folder, file_count)
        full = min(cpu_seconds(lambda: publish_whole(table)) for _ in range(repeat))
        steps = iter(range(file_count, file_count + 2 * repeat))
        append = min(after(table, lambda: add_one(table, next(steps), file_count)) for _ in range(repeat))
        overwrite = min(after(table, lambda: replace_one(table, next(steps), file_count)) for _ in range(repeat))
    ratios = {"append_to_full": append / full, "overwrite_to_full": overwrite / full}
    return {"files": file_count, "full": full, "append": append, "overwrite": overwrite, **ratios}


def publish_whole(table):
    """A twin made from nothing."""
    shutil.rmtree(Path(table.location, "metadata"), ignore_errors=True)
    table.publish_iceberg()


def after(table, change):
    """The CPU time of the publish after a commit."""
    change()
    return cpu_seconds(table.publish_iceberg)


def add_one(table, number, file_count):
    """Commit one file more; `number` is none of those that the table has."""
    target = Target(table.root, table.schema)
    commit(target, Change(Edit(entries_of(number, 1, file_count + number))), new_author(target))


def replace_one(table, number, file_count):
    """Commit a file in the place of the one in the middle that was never replaced."""
    target = Target(table.root, table.schema)
    old = entries_of(0, file_count, file_count).slice((file_count // 2 + number) % file_count, 1)
    kind = old.schema.get_field_index("kind")
    gone = old.set_column(kind, old.schema.field(kind), pa.array([DELETE], pa.int8()))
    new = entries_of(number, 1, file_count + number)
    commit(target, Change(Edit(pa.concat_tables([new, gone]))), new_author(target))


def cpu_seconds(work):
    """The CPU time of this process for the work."""
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    for name, value in measure(*map(int, sys.argv[1:])).items():
        print(f"{name}: {value:.4g}")
