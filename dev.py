#!/usr/bin/env python3
"""Everything a developer runs: `python3 dev.py WHAT`. Needs Python 3.11 or newer and nothing else; sets itself up.

demo    a small story on the terminal
check   the quick gate: format, lint, types, layers, tests that start no server
test    the whole gate: the same, and the tests with Spark, S3 and the real Java Paimon
bench   the benchmarks: `dev.py bench ARGUMENTS` runs bench/run
lock    resolve the lock files anew (needs uv on the path)
setup   only make or refresh .venv

What follows WHAT is handed on: `dev.py test -k commit`, `dev.py demo --help`.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036  # older ones come this far, and deserve a sentence
    sys.exit("dev.py: needs Python 3.11 or newer, this is {}.{}".format(*sys.version_info))

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / "bin"
STAMP = VENV / "polynya-setup"
LOCK = ROOT / "requirements.lock"
QUICK = "not spark and not interop and not s3"
LOCK_COMMAND = ["uv", "pip", "compile", "--universal", "--python-version", "3.11"]
LOCK_COMMAND += ["--generate-hashes", "--no-annotate", "--no-header", "--quiet"]
LOCKS = {
    "requirements.lock": ["pyproject.toml", "--extra", "dev", "--no-emit-package", "polynya"],
    "tests/interop/pypaimon.lock": ["tests/interop/pypaimon.in"],
    "tests/interop/spark_iceberg.lock": ["tests/interop/spark_iceberg.in"],
    "tests/interop/pyiceberg.lock": ["tests/interop/pyiceberg.in"],
}


def main(arguments: list[str]) -> int:
    """Do what the first argument names; 0 when all of it went well."""
    what, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if what == "lock":
        return lock(rest)
    jobs = {"setup": no_job, "demo": demo, "check": check, "test": test, "bench": bench}
    if what not in jobs:
        print(__doc__)
        return 0 if what in ("-h", "--help") else 2
    set_up()
    return jobs[what](rest)


def no_job(_rest: list[str]) -> int:
    """Nothing beyond the set-up."""
    return 0


def demo(rest: list[str]) -> int:
    """The story that the README promises."""
    return run([BIN / "python", "-m", "polynya.cli.demo", *rest])


def check(rest: list[str]) -> int:
    """The quick gate."""
    return gate(["-m", QUICK, *rest])


def test(rest: list[str]) -> int:
    """The whole gate."""
    return gate(rest)


def gate(rest: list[str]) -> int:
    """Every step, whatever the others say; tests that share a server stay in one worker (tests/conftest.py)."""
    steps = (
        ["ruff", "format", "--check", "."],
        ["ruff", "check", "."],
        ["mypy"],
        ["lint-imports"],
        ["pytest", "-n", "3", "--dist", "loadgroup", *rest],  # one for Spark, one for Java, one for the rest
    )
    failed = [step for step in steps if run([BIN / step[0], *step[1:]])]
    for step in failed:
        print("dev.py: failed:", " ".join(step), file=sys.stderr)
    return 1 if failed else 0


def bench(rest: list[str]) -> int:
    """The benchmarks."""
    return run([BIN / "python", ROOT / "bench" / "run", *rest])


def lock(rest: list[str]) -> int:
    """Resolve anew; pins that still fit stay, `lock --upgrade` lets go of them."""
    if shutil.which("uv") is None:
        print("dev.py lock: uv is not on the path; install it first", file=sys.stderr)
        return 1
    codes = (run([*LOCK_COMMAND, *source, "--output-file", target, *rest]) for target, source in LOCKS.items())
    return next((code for code in codes if code), 0)


def run(command: list) -> int:
    """Run one step in the root of the project, and say which."""
    words = [str(word) for word in command]
    print("→", " ".join([Path(words[0]).name, *words[1:]]), flush=True)
    path = f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"
    return subprocess.call(words, cwd=ROOT, env={**os.environ, "PATH": path, "VIRTUAL_ENV": str(VENV)})


def set_up() -> None:
    """Make `.venv` agree with the lock file; nothing to do when neither it nor pyproject.toml changed."""
    wanted = fingerprint()
    if STAMP.exists() and STAMP.read_text() == wanted and (BIN / "polynya").exists():
        return
    print("Setting up .venv (the first time takes a few minutes)", flush=True)
    if not (VENV / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}").exists() or not (BIN / "pip").exists():
        venv.create(VENV, clear=VENV.exists(), with_pip=True)
    pip = [str(BIN / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.check_call([*pip, "--require-hashes", "-r", str(LOCK)], cwd=ROOT)
    subprocess.check_call([*pip, "--no-deps", "--no-build-isolation", "-e", "."], cwd=ROOT)
    STAMP.write_text(wanted)


def fingerprint() -> str:
    """Changes when the environment has to."""
    digest = hashlib.sha256(sys.version.encode())
    for path in (LOCK, ROOT / "pyproject.toml"):
        digest.update(path.read_bytes())
    return digest.hexdigest()


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except subprocess.CalledProcessError as error:
        sys.exit(f"dev.py: set-up failed: {' '.join(error.cmd)}")
    except KeyboardInterrupt:
        sys.exit(130)
