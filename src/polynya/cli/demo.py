"""A small story on the terminal: `python -m polynya.cli.demo`.

Orders come in through PySpark while somebody else writes, too; late updates and deletes follow; then the table is
compacted, asked, published to Iceberg and checked. Every number is computed from the table that the story has just
made. Without Spark or Java the same story is told with Arrow alone.
"""

import argparse
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

import polynya
from polynya.api import Table, Warehouse
from polynya.cli.printing import Listing, console, plural, print_listing, size_text
from polynya.errors import NotFoundError
from polynya.table.commit import Commit

FIRST_DAY = date(2026, 11, 1)
DAY_COUNT = 10
BATCH_COUNT = 4
WEB_ORDERS = 50  # in each commit of the writer beside us
WEB_COMMITS_MAX = 20
WEB_PAUSE_SECONDS = 0.1
STATUSES = ("new", "paid", "sent")

Write = Callable[[pa.Table, str | None], Commit]


@dataclass(frozen=True)
class Engine:
    """What writes and reads big things: Spark, or Arrow where there is none."""

    name: str
    write: Write
    sums: Callable[[str], pa.Table]
    explain: Callable[[str], str]
    stop: Callable[[], None] = field(default=lambda: None)


def main(arguments: list[str] | None = None) -> int:
    """Tell the story in a folder of its own, or in one that is kept."""
    parser = argparse.ArgumentParser(prog="polynya demo", description="A small story of one table.")
    parser.add_argument("--warehouse", metavar="FOLDER", help="keep the tables here")
    parser.add_argument("--orders", type=int, default=100_000, metavar="N", help="how many orders to begin with")
    parser.add_argument("--no-spark", action="store_true", help="use Arrow alone")
    chosen = parser.parse_args(arguments)
    if chosen.orders < 100:
        parser.error(f"--orders must be 100 or more, got {chosen.orders}")
    if chosen.warehouse is not None:
        tell(chosen.warehouse, chosen.orders, with_spark=not chosen.no_spark)
        return 0
    with tempfile.TemporaryDirectory(prefix="polynya-demo-") as folder:
        tell(folder, chosen.orders, with_spark=not chosen.no_spark)
    return 0


def tell(warehouse_path: str, order_count: int, *, with_spark: bool) -> None:
    """The whole story."""
    out = console()
    seed = np.random.default_rng(7)
    with timed() as clock:
        warehouse = polynya.open_warehouse(warehouse_path)
        table = create(out, warehouse)
        engine = start(out, warehouse, table, with_spark=with_spark)
        try:
            live_count = ingest(out, engine, table, orders(seed, np.arange(order_count)))
            live_count -= change(out, engine, seed, order_count)
            table = table.refresh()
            print_snapshots(table)
            require_count(table, live_count)
            say(out, f"Nothing lost: {plural(live_count, 'order')} were expected, and are there.")
            table = tidy(out, table)
            query(out, engine)
        finally:
            engine.stop()
        travel(out, table)
        publish(out, table)
        prove(out, table)
    out.print()
    say(out, f"All of it in {clock.seconds:.0f} s.")


def create(out: Console, warehouse: Warehouse) -> Table:
    """A primary-key table, partitioned by day."""
    chapter(out, "Create a table with a primary key")
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
    options = {"bucket": "2", "write-only": "true"}  # the story compacts in a chapter of its own
    table = warehouse.create_table("shop.orders", schema, ["day", "id"], ["day"], options, comment="orders of the shop")
    say(out, f"{table.location}: key {', '.join(table.primary_key)}, partitioned by {', '.join(table.partition_by)}")
    return table


def start(out: Console, warehouse: Warehouse, table: Table, *, with_spark: bool) -> Engine:
    """Spark where it is wanted and there, else Arrow; says which, and why."""
    if not with_spark:
        return arrow_engine(table)
    chapter(out, "Start Spark")
    try:
        with timed() as clock:
            engine = spark_engine(warehouse)
    except (ImportError, NotFoundError) as error:  # no PySpark, or no Java for it
        say(out, f"There is none here, so the story goes on without it: {error}")
        return arrow_engine(table)
    say(out, f"{engine.name} is up after {clock.seconds:.1f} s; polynya needs no jar in it.")
    return engine


def spark_engine(warehouse: Warehouse) -> Engine:
    """Rows as DataFrames."""
    from polynya import spark as with_spark  # noqa: PLC0415 - Spark is heavy, and may not be there

    session = with_spark.session("local[2]", **{"spark.driver.memory": "1g"})
    orders_table = with_spark.Lake(session, warehouse.location).table("shop.orders")

    def write(rows: pa.Table, rowkind: str | None) -> Commit:
        return orders_table.write(session.createDataFrame(rows), rowkind=rowkind)

    def sums(where: str) -> pa.Table:
        orders_table.read(where, ["status", "amount"]).createOrReplaceTempView("orders")
        asked = "select status, count(*) as orders, sum(amount) as amount from orders group by status order by status"
        found: pa.Table = session.sql(asked).toArrow()
        return found

    return Engine(f"Spark {session.version}", write, sums, orders_table.explain, session.stop)


def arrow_engine(table: Table) -> Engine:
    """Rows as Arrow tables."""

    def sums(where: str) -> pa.Table:
        rows = table.refresh().scan(where, ["status", "amount"]).to_arrow()
        found = rows.group_by("status").aggregate([("amount", "count"), ("amount", "sum")]).sort_by("status")
        return found.select(["status", "amount_count", "amount_sum"]).rename_columns(["status", "orders", "amount"])

    return Engine(
        "Arrow",
        lambda rows, rowkind: table.write(rows, rowkind=rowkind),
        sums,
        lambda where: table.refresh().scan(where).plan().explain(),
    )


def ingest(out: Console, engine: Engine, table: Table, rows: pa.Table) -> int:
    """Orders in several commits, with another writer beside; how many orders there are then."""
    chapter(out, f"Load {rows.num_rows:,} orders with {engine.name}, while somebody else writes, too")
    size = -(-rows.num_rows // BATCH_COUNT)
    writer = WebShop(table, first_id=rows.num_rows)
    with timed() as clock, writer.running(), progress(out, "commits", BATCH_COUNT) as advance:
        for number in range(BATCH_COUNT):
            made = engine.write(rows.slice(number * size, size), None)
            advance(f"snapshot {made.snapshot_id}: {made.record_count:,} orders in {plural(made.added_files, 'file')}")
    say(out, f"{rows.num_rows / clock.seconds:,.0f} rows a second: routed, sorted, merged, with statistics.")
    say(
        out, f"Meanwhile the web shop took {plural(writer.order_count, 'order')} in {plural(writer.commits, 'commit')}."
    )
    return rows.num_rows + writer.order_count


class WebShop:
    """Somebody who writes small batches from a thread, without a word to us."""

    def __init__(self, table: Table, first_id: int) -> None:
        self.table, self.first_id = table, first_id
        self.commits = 0
        self._done = threading.Event()

    @property
    def order_count(self) -> int:
        """How many orders were taken."""
        return self.commits * WEB_ORDERS

    @contextmanager
    def running(self) -> Iterator[None]:
        """Writing for as long as the block lasts."""
        thread = threading.Thread(target=self._write, name="web shop")
        thread.start()
        try:
            yield
        finally:
            self._done.set()
            thread.join()

    def _write(self) -> None:
        seed = np.random.default_rng(8)
        while self.commits < WEB_COMMITS_MAX and not self._done.wait(WEB_PAUSE_SECONDS):
            start = self.first_id + self.order_count
            self.table.write(orders(seed, np.arange(start, start + WEB_ORDERS)))
            self.commits += 1


def change(out: Console, engine: Engine, seed: np.random.Generator, order_count: int) -> int:
    """Late updates and deletes by key, a commit each; how many orders are gone."""
    chapter(out, "Late updates and deletes, by key")
    for _ in range(2):
        ids = seed.choice(order_count, order_count // 50, replace=False)
        made = engine.write(orders(seed, ids), None)
        say(out, f"snapshot {made.snapshot_id}: {plural(len(ids), 'order')} updated")
    ids = seed.choice(order_count, order_count // 100, replace=False)
    gone = orders(seed, ids)
    made = engine.write(gone.append_column("kind", pa.repeat("-D", gone.num_rows)), "kind")
    say(out, f"snapshot {made.snapshot_id}: {plural(len(ids), 'order')} deleted")
    return len(ids)


def query(out: Console, engine: Engine) -> None:
    """A read that opens few files, and says why."""
    chapter(out, f"Ask {engine.name} for one day")
    where = f"day = '{FIRST_DAY + timedelta(days=3)}' and amount > 900"
    with timed() as clock:
        found = engine.sums(where)
    rows = [(row["status"], f"{row['orders']:,}", f"{row['amount']:,.2f}") for row in found.to_pylist()]
    print_listing(Listing(("status", "orders", "amount"), rows, frozenset(("orders", "amount"))))
    say(
        out,
        f"{pc.sum(found['orders']).as_py() or 0:,} rows in {clock.seconds:.2f} s; this is what was skipped, and why:",
    )
    for line in engine.explain(where).splitlines():
        say(out, line)


def travel(out: Console, table: Table) -> None:
    """The table as it was."""
    chapter(out, "Travel in time")
    assert table.snapshot is not None
    for id in (1, table.snapshot.id // 2, table.snapshot.id):
        then = table.at(snapshot_id=id)
        rows = then.scan(columns=["amount"]).to_arrow()
        say(out, f"snapshot {id}: {rows.num_rows:,} orders, {pc.sum(rows['amount']).as_py():,.2f} in all")


def tidy(out: Console, table: Table) -> Table:
    """Compaction of files and manifests, which changes no row."""
    chapter(out, "Compact")
    before = stored(table)
    count = table.scan(columns=["id"]).count()
    with timed() as clock:
        table.compact(full=True)
        table.compact_manifests()
    table = table.refresh()
    say(out, f"before: {before}")
    say(out, f"after:  {stored(table)}, in {clock.seconds:.2f} s")
    require_count(table, count)
    say(out, f"The same {plural(count, 'order')} as before.")
    return table


def publish(out: Console, table: Table) -> None:
    """The same files for Iceberg readers."""
    chapter(out, "Publish the Iceberg twin")
    with timed() as clock:
        published = table.publish_iceberg()
    say(out, f"{published.metadata_location} in {clock.seconds:.2f} s, no row was copied")
    try:
        from pyiceberg.table import StaticTable  # noqa: PLC0415 - it may not be there
    except ImportError:
        say(out, "PyIceberg is not installed, so nobody reads it here.")
        return
    with timed() as clock:
        rows = StaticTable.from_metadata(str(published.metadata_location)).scan().to_arrow()
    require_count(table, rows.num_rows)
    say(out, f"PyIceberg reads {rows.num_rows:,} orders from it in {clock.seconds:.2f} s, as many as polynya.")


def prove(out: Console, table: Table) -> None:
    """The table is sound."""
    chapter(out, "Check everything")
    with timed() as clock:
        report = table.check(deep=True)
    for problem in report.problems:
        say(out, str(problem))
    assert not report.problems, "the demo must leave a sound table"
    say(out, f"Every file is there and holds what it should, checked in {clock.seconds:.2f} s.")


def orders(seed: np.random.Generator, ids: np.ndarray) -> pa.Table:
    """Orders with these ids; the day of an order never changes."""
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


def require_count(table: Table, expected: int) -> None:
    """The story ends where a row is lost or made up."""
    found = table.scan(columns=["id"]).count()
    assert found == expected, f"expected {expected} orders, found {found}"


def stored(table: Table) -> str:
    """Files and manifests of the table in a few words."""
    files, manifests = table.system("files"), table.system("manifests")
    size = size_text(pc.sum(files["file_size_in_bytes"]).as_py())
    return f"{plural(files.num_rows, 'file')}, {size}, {plural(manifests.num_rows, 'manifest')}"


def print_snapshots(table: Table) -> None:
    """The last snapshots of the table."""
    found = table.system("snapshots").sort_by([("snapshot_id", "descending")]).slice(0, 5)
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


@contextmanager
def progress(out: Console, what: str, total: int) -> Iterator[Callable[[str], None]]:
    """A bar on a terminal, lines everywhere; the function given says what was done and moves on."""
    columns = (TextColumn("  {task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=out, transient=True, disable=not out.is_terminal) as bar:
        task = bar.add_task(what, total=total)

        def advance(text: str) -> None:
            say(out, text)
            bar.advance(task)

        yield advance


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
