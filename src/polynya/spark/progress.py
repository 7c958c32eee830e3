"""A bar for jobs that take long, where somebody looks at a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn


@contextmanager
def bytes_done(what: str, total_bytes: int) -> Iterator[Callable[[int], None]]:
    """A bar over so many bytes on standard error; the function given moves it on."""
    out = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(binary_units=True), TimeElapsedColumn())
    with Progress(*columns, console=out, transient=True, disable=not out.is_terminal) as bar:
        task = bar.add_task(what, total=total_bytes)
        yield lambda size_bytes: bar.advance(task, size_bytes)
