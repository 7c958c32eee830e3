"""The command line: parse, call one function, print.

Verbs load what they need when they run, so that help and usage errors answer at once.
"""

import errno
import io
import os
import sys
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from polynya.errors import PolynyaError


class _Verbs(TyperGroup):
    """All verbs; an error of polynya, or of the place where results go, is one line on stderr and exit code 1."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - the classes of typer's click are not public
        try:
            found = super().invoke(ctx)
            sys.stdout.flush()
        except PolynyaError as error:
            typer.echo("polynya: " + " ".join(str(error).split()), err=True)
            raise typer.Exit(1) from None
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # the reader has seen enough; click ends quietly
            # What is still buffered would fail once more at the end of the process.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            typer.echo(f"polynya: the result cannot be written: {error.strerror or error}", err=True)
            raise typer.Exit(1) from None
        return found


class _NoPandas:
    """Hides pandas from this process: pyarrow loads it with its first array, though no verb has a data frame."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("pandas is not used by the command line", name=fullname)


def _examples(*lines: str) -> str:
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


app = typer.Typer(
    cls=_Verbs,
    name="polynya",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_examples(
        "polynya tables /data/warehouse",
        "polynya show /data/warehouse/shop.db/orders",
        "polynya read s3://bucket/shop.db/orders --where \"day = '2026-11-01'\"",
    ),
)

TablePath = Annotated[str, typer.Argument(metavar="TABLE", help="Path or URL of the table.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
SnapshotId = Annotated[int | None, typer.Option("--snapshot", metavar="ID", help="Look at this snapshot.")]
TagName = Annotated[str | None, typer.Option("--tag", metavar="NAME", help="Look at the snapshot of this tag.")]
BranchName = Annotated[str | None, typer.Option("--branch", metavar="NAME", help="Look at this branch.")]
Limit = Annotated[
    int | None,
    typer.Option("--limit", min=0, metavar="N", help="At most N rows; by default 50, and with --json all of them."),
]
Where = Annotated[str | None, typer.Option("--where", metavar="SQL", help="Only rows for which this is true.")]
Columns = Annotated[str | None, typer.Option("--columns", metavar="A,B", help="Only these columns, in this order.")]


@app.callback()
def polynya() -> None:
    """Apache Paimon tables, seen and maintained from the command line."""


@app.command(epilog=_examples("polynya tables /data/warehouse", "polynya tables s3://bucket/warehouse --json"))
def tables(
    warehouse: Annotated[str, typer.Argument(metavar="WAREHOUSE", help="Path or URL of the warehouse.")],
    as_json: AsJson = False,
) -> None:
    """List the tables of a warehouse."""
    from polynya.cli import look  # noqa: PLC0415 - Arrow takes longer to load than help to print

    look.tables(warehouse, as_json)


@app.command(epilog=_examples("polynya show shop.db/orders", "polynya show shop.db/orders --tag v1 --json"))
def show(
    table: TablePath,
    snapshot: SnapshotId = None,
    tag: TagName = None,
    branch: BranchName = None,
    as_json: AsJson = False,
) -> None:
    """Show what a table is: columns, options, snapshot, sizes, tags."""
    from polynya.cli import look  # noqa: PLC0415 - see `tables`

    look.show(look.View(table, snapshot, tag, branch), as_json)


@app.command(epilog=_examples("polynya snapshots shop.db/orders", "polynya snapshots shop.db/orders --limit 5 --json"))
def snapshots(table: TablePath, branch: BranchName = None, limit: Limit = None, as_json: AsJson = False) -> None:
    """List the snapshots of a table, the newest first."""
    from polynya.cli import look  # noqa: PLC0415 - see `tables`

    look.snapshots(look.View(table, branch=branch), limit, as_json)


@app.command(epilog=_examples("polynya schema shop.db/orders", "polynya schema shop.db/orders --id 0 --json"))
def schema(
    table: TablePath,
    id: Annotated[int | None, typer.Option("--id", metavar="N", help="An older version of the schema.")] = None,
    branch: BranchName = None,
    as_json: AsJson = False,
) -> None:
    """Show the columns and options of a table."""
    from polynya.cli import look  # noqa: PLC0415 - see `tables`

    look.schema(look.View(table, branch=branch), id, as_json)


@app.command(
    epilog=_examples("polynya files shop.db/orders --limit 20", "polynya files shop.db/orders --tag v1 --json")
)
def files(
    table: TablePath,
    snapshot: SnapshotId = None,
    tag: TagName = None,
    branch: BranchName = None,
    limit: Limit = None,
    as_json: AsJson = False,
) -> None:
    """List the data files of a snapshot."""
    from polynya.cli import look  # noqa: PLC0415 - see `tables`

    look.files(look.View(table, snapshot, tag, branch), limit, as_json)


@app.command(epilog=_examples("polynya manifests shop.db/orders", "polynya manifests shop.db/orders --snapshot 3"))
def manifests(
    table: TablePath,
    snapshot: SnapshotId = None,
    tag: TagName = None,
    branch: BranchName = None,
    limit: Limit = None,
    as_json: AsJson = False,
) -> None:
    """List the manifests of a snapshot."""
    from polynya.cli import look  # noqa: PLC0415 - see `tables`

    look.manifests(look.View(table, snapshot, tag, branch), limit, as_json)


@app.command(epilog=_examples("polynya partitions shop.db/orders", "polynya partitions shop.db/orders --json"))
def partitions(
    table: TablePath,
    snapshot: SnapshotId = None,
    tag: TagName = None,
    branch: BranchName = None,
    limit: Limit = None,
    as_json: AsJson = False,
) -> None:
    """List the partitions of a snapshot."""
    from polynya.cli import look  # noqa: PLC0415 - see `tables`

    look.partitions(look.View(table, snapshot, tag, branch), limit, as_json)


@app.command(
    epilog=_examples(
        'polynya read shop.db/orders --where "amount > 10" --columns id,amount',
        "polynya read shop.db/orders --snapshot 3 --json > orders.jsonl",
    )
)
def read(
    table: TablePath,
    where: Where = None,
    columns: Columns = None,
    limit: Limit = None,
    snapshot: SnapshotId = None,
    tag: TagName = None,
    branch: BranchName = None,
    as_json: AsJson = False,
) -> None:
    """Read rows, now or as they were."""
    from polynya.cli import look, rows  # noqa: PLC0415 - see `tables`

    rows.read(look.View(table, snapshot, tag, branch), where, columns, limit, as_json)


@app.command(epilog=_examples("polynya explain shop.db/orders --where \"day = '2026-11-01'\""))
def explain(
    table: TablePath,
    where: Where = None,
    columns: Columns = None,
    snapshot: SnapshotId = None,
    tag: TagName = None,
    branch: BranchName = None,
    as_json: AsJson = False,
) -> None:
    """Say what a read would open, and what it skips and why."""
    from polynya.cli import look, rows  # noqa: PLC0415 - see `tables`

    rows.explain(look.View(table, snapshot, tag, branch), where, columns, as_json)


@app.command(epilog=_examples("polynya check shop.db/orders", "polynya check shop.db/orders --deep --json"))
def check(
    table: TablePath,
    deep: Annotated[bool, typer.Option("--deep", help="Open every data file and count its rows.")] = False,
    branch: BranchName = None,
    as_json: AsJson = False,
) -> None:
    """Prove that a table is sound; exit code 1 when it is not."""
    from polynya.cli import look, rows  # noqa: PLC0415 - see `tables`

    if not rows.check(look.View(table, branch=branch), deep, as_json):
        raise typer.Exit(1)


@app.command(
    epilog=_examples(
        "polynya write shop.db/orders new_orders.parquet",
        "polynya write shop.db/orders corrections.csv --rowkind kind",
        "polynya write shop.db/orders day.jsonl --mode overwrite",
    )
)
def write(
    table: TablePath,
    source: Annotated[str, typer.Argument(metavar="FILE", help="A .parquet, .csv, .json or .jsonl file.")],
    mode: Annotated[
        Literal["append", "overwrite"], typer.Option("--mode", help="Add rows, or replace them.")
    ] = "append",
    rowkind: Annotated[
        str | None, typer.Option("--rowkind", metavar="COLUMN", help="The column that holds +I, -U, +U or -D.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the rows of a file in one commit."""
    from polynya.cli import rows  # noqa: PLC0415 - see `tables`

    rows.write(table, source, mode, rowkind, as_json)


@app.command(
    epilog=_examples(
        "polynya compact shop.db/orders",
        "polynya compact shop.db/orders --full --where \"day = '2026-11-01'\"",
        "polynya compact shop.db/orders --dry-run",
    )
)
def compact(
    table: TablePath,
    full: Annotated[bool, typer.Option("--full", help="Compact as far as it goes, not only where it is due.")] = False,
    where: Annotated[str | None, typer.Option("--where", metavar="SQL", help="Only in these partitions.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    as_json: AsJson = False,
) -> None:
    """Put small files together."""
    from polynya.cli import rows  # noqa: PLC0415 - see `tables`

    rows.compact(table, full, where, dry_run, as_json)


def main() -> None:
    """The entry point of the command `polynya`."""
    sys.meta_path.insert(0, _NoPandas())
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A character that the terminal has no bytes for is shown as an escape.
            stream.reconfigure(errors="backslashreplace")
    app()


if __name__ == "__main__":
    main()
