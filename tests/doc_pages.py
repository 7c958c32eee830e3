"""Runs the examples of a page, in order, in one namespace and one empty folder.

| block | what happens |
|---|---|
| python | runs |
| python spark | runs where a Spark session is at hand |
| console | each line `$ polynya …` runs; other lines are what it prints |
| text, right after python | is what that block prints |

In what is printed, `…` stands for anything, and spaces at the end of a line do not count.
"""

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

from polynya.cli.main import app

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block: its info string, its text, the line it begins at, and whether it follows on the one before."""

    kind: str
    text: str
    line: int
    follows: bool


def blocks(page: Path) -> list[Block]:
    """The blocks of a page that are run or compared."""
    text = page.read_text()
    found, last_end = [], 0
    for match in _BLOCK.finditer(text):
        follows = not text[last_end : match.start()].strip()
        found.append(Block(match[1].strip(), match[2], text[: match.start()].count("\n") + 2, follows))
        last_end = match.end()
    return found


def has(page: Path, *kinds: str) -> bool:
    """Whether the page has blocks of one of these kinds."""
    return any(block.kind in kinds for block in blocks(page))


def run(page: Path, *, with_spark: bool) -> None:
    """Run the blocks; AssertionError where a page shows something else than what is printed."""
    namespace: dict[str, object] = {}
    printed: str | None = None
    for block in blocks(page):
        if block.kind == "python" or (block.kind == "python spark" and with_spark):
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                # Empty lines in front, so that a traceback names the line of the page.
                exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), namespace)
            printed = out.getvalue()
        elif block.kind == "text" and block.follows and printed is not None:
            require_like(printed, block.text, f"{page.name}:{block.line}")
        elif block.kind == "console":
            for command, shown in commands(block.text):
                require_like(called(command), shown, f"{page.name}:{block.line} $ {command}")
        if block.kind != "python":
            printed = printed if block.kind == "python spark" and with_spark else None


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Each command with the lines under it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def called(command: str) -> str:
    """What `polynya …` prints."""
    words = shlex.split(command, comments=True)
    assert words[0] == "polynya", f"{command}: only polynya is run here"
    done = CliRunner(env={"COLUMNS": "120"}).invoke(app, words[1:])
    assert done.exit_code == 0, f"{command}: {done.output} {done.exception!r}"
    return done.output


def require_like(printed: str, shown: str, where: str) -> None:
    """Compare what a page shows with what was printed; a page may show nothing."""
    if not shown.strip():
        return
    lines = [re.escape(line.rstrip()).replace("…", ".*") for line in shown.strip("\n").splitlines()]
    actual = "\n".join(line.rstrip() for line in printed.strip("\n").splitlines())
    assert re.fullmatch("\n".join(lines), actual, re.DOTALL), f"{where} shows\n{shown}\nbut printed is\n{actual}"
