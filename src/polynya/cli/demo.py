"""A small story on the terminal: `python -m polynya.cli.demo`.

Every number that it prints is computed from the table it has just made.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.text import Text

import polynya
from polynya.api import Table
from polynya.cli.printing import Listing, console, plural, print_listing, size_text

FIRST_DAY = date(2026, 11, 1)
DAY_COUNT = 10
STATUSES = ("new", "paid", "sent")


def main(arguments: list[str] | None = None) -> int:
    """Tell the story in a folder of its own, or in one that is kept."""
    parser = argparse.ArgumentParser(prog="polynya demo", description="A small story of one table.")
    parser.add_argument("--warehouse", metavar="FOLDER", help="keep the tables here")
    parser.add_argument("--orders", type=int, default=100_000, metavar="N", help="how many orders to begin with")
    chosen = parser.parse_args(arguments)
    if chosen.warehouse is not None:
        tell(chosen.warehouse, chosen.orders)
        return 0
    with tempfile.TemporaryDirectory(prefix="polynya-demo-") as folder:
        tell(folder, chosen.orders)
    return 0


def tell(warehouse_path: str, order_count: int) -> None:
    """The whole story."""
    out = console()
    seed = np.random.default_rng(7)
    table = create(out, warehouse_path)
    table = load(out, table, orders(seed, order_count))
    table = change(out, table, seed, order_count)
    query(out, table)
    travel(out, table)
    table = tidy(out, table)
    prove(out, table)


def create(out: Console, warehouse_path: str) -> Table:
    """A primary-key table, partitioned by day."""
    chapter(out, "Create a table with a primary key")
    warehouse = polynya.open_warehouse(warehouse_path)
    warehouse.create_database("shop", exist_ok=True)
    if "orders" in warehouse.tables("shop"):
        warehouse.drop_table("shop.orders")
    schema = pa.schema(
        [
            ("id", pa.int64()),
            ("day", pa.date32()),
            ("customer", pa.string()),
            ("status", pa.string()),
            ("amount", pa.float64()),
        ]
    )
    options = {"bucket": "2", "write-only": "true"}
    table = warehouse.create_table("shop.orders", schema, ["day", "id"], ["day"], options, comment="orders of the shop")
    say(out, f"{table.location}: key {', '.join(table.primary_key)}, partitioned by {', '.join(table.partition_by)}")
    return table


def load(out: Console, table: Table, rows: pa.Table) -> Table:
    """The first commit."""
    chapter(out, f"Load {rows.num_rows:,} orders")
    with timed() as clock:
        made = table.write(rows)
    say(out, f"snapshot {made.snapshot_id}: {plural(made.added_files, 'file')} in {clock.seconds:.2f} s")
    say(out, f"{rows.num_rows / clock.seconds:,.0f} rows a second, merged, sorted and with statistics")
    return table.refresh()


def change(out: Console, table: Table, seed: np.random.Generator, order_count: int) -> Table:
    """Updates and deletes, a commit each."""
    chapter(out, "Change them: updates and deletes by key")
    for _ in range(3):
        ids = seed.choice(order_count, order_count // 50, replace=False)
        made = table.write(orders(seed, order_count, ids))
        say(out, f"snapshot {made.snapshot_id}: {plural(len(ids), 'order')} updated")
    ids = seed.choice(order_count, order_count // 100, replace=False)
    gone = orders(seed, order_count, ids)
    kinds = pa.repeat("-D", gone.num_rows)
    made = table.write(gone.append_column("kind", kinds), rowkind="kind")
    say(out, f"snapshot {made.snapshot_id}: {plural(len(ids), 'order')} deleted")
    table = table.refresh()
    print_snapshots(table)
    return table


def query(out: Console, table: Table) -> None:
    """A read that opens few files, and says why."""
    chapter(out, "Ask for one day")
    day = FIRST_DAY + timedelta(days=3)
    scan = table.scan(where=f"day = '{day}' and amount > 900", columns=["status", "amount"])
    with timed() as clock:
        found = scan.to_arrow()
    sums = found.group_by("status").aggregate([("amount", "count"), ("amount", "sum")]).sort_by("status")
    rows = [(row["status"], f"{row['amount_count']:,}", f"{row['amount_sum']:,.2f}") for row in sums.to_pylist()]
    print_listing(Listing(("status", "orders", "amount"), rows, frozenset(("orders", "amount"))))
    say(out, f"{plural(found.num_rows, 'row')} in {clock.seconds * 1000:.0f} ms, and this is how:")
    out.print(Text(scan.plan().explain()), soft_wrap=True)


def travel(out: Console, table: Table) -> None:
    """The table as it was."""
    chapter(out, "Travel in time")
    assert table.snapshot is not None
    for id in (1, table.snapshot.id):
        then = table.at(snapshot_id=id)
        rows = then.scan(columns=["amount"]).to_arrow()
        say(out, f"snapshot {id}: {rows.num_rows:,} orders, {pc.sum(rows['amount']).as_py():,.2f} in all")


def tidy(out: Console, table: Table) -> Table:
    """Compaction of files and manifests, which changes no row."""
    chapter(out, "Tidy up")
    before = stored(table)
    count = table.scan(columns=["id"]).count()
    with timed() as clock:
        table.compact(full=True)
        table.compact_manifests()
    table = table.refresh()
    say(out, f"before: {before}")
    say(out, f"after:  {stored(table)}, in {clock.seconds:.2f} s")
    assert table.scan(columns=["id"]).count() == count, "compaction must not change rows"
    say(out, f"the same {plural(count, 'order')} as before")
    return table


def prove(out: Console, table: Table) -> None:
    """The table is sound."""
    chapter(out, "Check everything")
    with timed() as clock:
        report = table.check(deep=True)
    for problem in report.problems:
        say(out, str(problem))
    assert not report.problems, "the demo must leave a sound table"
    say(out, f"every file is there and holds what it should, checked in {clock.seconds:.2f} s")


def orders(seed: np.random.Generator, order_count: int, ids: np.ndarray | None = None) -> pa.Table:
    """Orders with these ids, or all of them; the day of an order never changes."""
    ids = np.arange(order_count) if ids is None else ids
    days = np.datetime64(FIRST_DAY) + (ids % DAY_COUNT)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "day": pa.array(days.astype("datetime64[D]"), pa.date32()),
            "customer": pc.binary_join_element_wise("customer", pa.array(ids % 997).cast(pa.string()), "-"),
            "status": pa.array(STATUSES).take(pa.array(seed.integers(0, len(STATUSES), len(ids)))),
            "amount": pa.array(np.round(seed.gamma(2.0, 200.0, len(ids)), 2)),
        }
    )


def stored(table: Table) -> str:
    """Files and manifests of the table in a few words."""
    files, manifests = table.system("files"), table.system("manifests")
    size = size_text(pc.sum(files["file_size_in_bytes"]).as_py())
    return f"{plural(files.num_rows, 'file')}, {size}, {plural(manifests.num_rows, 'manifest')}"


def print_snapshots(table: Table) -> None:
    """The history of the table."""
    found = table.system("snapshots")
    columns = ("snapshot_id", "commit_kind", "total_record_count", "delta_record_count")
    rows = [
        tuple(f"{row[name]:,}" if isinstance(row[name], int) else row[name] for name in columns)
        for row in found.to_pylist()
    ]
    print_listing(
        Listing(("snapshot", "kind", "stored rows", "change"), rows, frozenset(("snapshot", "stored rows", "change")))
    )


def chapter(out: Console, title: str) -> None:
    """A heading."""
    out.print()
    out.print(Text(title, style="bold cyan"))


def say(out: Console, text: str) -> None:
    """A sentence."""
    out.print(Text(f"  {text}"), soft_wrap=True)


class Clock:
    """How long a block took."""

    seconds: float = 0.0


@contextmanager
def timed() -> Iterator[Clock]:
    """Measure a block."""
    clock, started = Clock(), time.perf_counter()
    yield clock
    clock.seconds = time.perf_counter() - started


if __name__ == "__main__":
    raise SystemExit(main())
