"""Things that take long to fetch or make, kept in the cache folder under a name that tells their content."""

import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from polynya.spark.java import cache_folder


class UnavailableError(Exception):
    """What the suite needs and this machine lacks; the message is the reason of the skip."""


@contextmanager
def made_whole(folder: Path) -> Iterator[Path]:
    """A new folder that appears under its name when the block ends well, or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        made = Path(temporary) / "made"
        made.mkdir()
        yield made
        if not folder.exists():
            made.rename(folder)


def run(command: Sequence[str | Path], failure: str) -> None:
    """Run to the end; UnavailableError with the last words when that fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise UnavailableError(f"{failure}: {(done.stdout + done.stderr).strip()[-2000:]}")


def digest(files: Sequence[Path], text: str) -> str:
    """A short name for exactly this content."""
    content = b"".join(path.read_bytes() for path in files) + text.encode()
    return hashlib.sha256(content).hexdigest()[:16]


def environment(lock: Path) -> Path:
    """The folder of a virtual environment, made once per lock file and Python."""
    folder = cache_folder() / f"{lock.stem.replace('_', '-')}-{digest([lock], sys.version)}"
    if not folder.exists():
        with made_whole(folder) as made:
            run([sys.executable, "-m", "venv", made], "venv")
            pip = [made / "bin" / "python", "-m", "pip", "install", "--quiet", "--require-hashes", "-r", lock]
            run(pip, f"pip cannot fetch what {lock.name} names")
    return folder
