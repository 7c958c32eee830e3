"""The command as a process: it starts fast, and loads only what a verb needs."""

import subprocess
import sys

from golden_data import golden_table

SLOW = ("pyarrow", "numpy", "pyspark", "datafusion", "pandas", "sqlglot", "rich.console")


def run(*arguments):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)


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
    assert done.stderr == "polynya: /no/such/table is not a Paimon table: it has no file schema/schema-0\n"
