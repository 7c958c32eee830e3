"""The command as a process: it starts fast, and loads only what a verb needs."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from golden_data import golden_table

SLOW = ("pyarrow", "numpy", "pyspark", "datafusion", "pandas", "sqlglot", "rich.console")


def run(*arguments, **environment):
    environment = os.environ | environment
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, env=environment)


def test_help_loads_nothing_slow():
    code = f"""
import sys
from typer.testing import CliRunner
from polynya.cli.main import app
assert CliRunner().invoke(app, ["--help"]).exit_code == 0
print([name for name in {SLOW!r} if name in sys.modules])
"""
    done = run("-c", code)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_show_does_without_pandas_and_spark():
    code = """
import sys
from polynya.cli.main import main
sys.argv = ["polynya", "show", sys.argv[1]]
try:
    main()
except SystemExit as end:
    print(end.code, [name for name in ("pandas", "pyspark", "datafusion", "sqlglot") if name in sys.modules])
"""
    done = run("-c", code, str(golden_table("tags")))
    assert done.stdout.splitlines()[-1] == "0 []", done.stderr


def test_an_error_is_no_traceback():
    done = run("-m", "polynya.cli.main", "show", "/no/such/table")
    assert done.returncode == 1
    assert done.stderr.startswith("polynya: /no/such/table is not a Paimon table: it has no file schema/schema-0")
    assert done.stderr.count("\n") == 1


@pytest.fixture
def odd_warehouse(tmp_path):
    for name in ("grün", os.fsdecode(b"t\xff")):
        shutil.copytree(golden_table("tags"), tmp_path / "d.db" / name)
    return str(tmp_path)


@pytest.mark.parametrize("encoding", ["ascii", "utf-8:strict"])
def test_a_character_that_the_output_lacks_is_an_escape(odd_warehouse, encoding):
    command = ("-m", "polynya.cli.main", "tables", odd_warehouse)
    text = run(*command, PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    rows = run(*command, "--json", PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    assert (text.returncode, text.stderr, rows.returncode, rows.stderr) == (0, "", 0, "")
    assert [json.loads(line)["table"] for line in rows.stdout.splitlines()] == ["d.grün", "d.t\udcff"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_result_that_cannot_be_written_is_no_traceback(form):
    command = (sys.executable, "-m", "polynya.cli.main", "show", str(golden_table("tags")), *form)
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "polynya: the result cannot be written: No space left on device\n")
