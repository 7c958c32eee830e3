"""The tables that Java Iceberg wrote, unpacked once per test run; `tests/golden/iceberg.md` tells what each shows."""

import atexit
import functools
import io
import json
import shutil
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import zstandard

PACK = Path(__file__).parent / "golden" / "iceberg.tar.zst"
PREFIX = "file:/polynya/iceberg/"  # where the tables were when they were written


@functools.cache
def iceberg_root() -> Path:
    """The folder with `golden` and `expected`; read only by agreement."""
    folder = Path(tempfile.mkdtemp(prefix="polynya-iceberg-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    packed = zstandard.ZstdDecompressor().decompress(PACK.read_bytes())
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder


@functools.cache
def iceberg_names() -> list[str]:
    """Every table, by name."""
    return sorted(path.name for path in (iceberg_root() / "golden").iterdir())


def iceberg_table(name: str) -> Path:
    """The folder of one table; copy it before changing it."""
    return iceberg_root() / "golden" / name


@functools.cache
def iceberg_expected(name: str) -> dict[str, Any]:
    """What Java reads from the table: rows, snapshots, refs, plans, metadata tables."""
    return json.loads((iceberg_root() / "expected" / f"{name}.json").read_text())


def local(location: str) -> Path:
    """The file that stands for a location in the metadata."""
    assert location.startswith(PREFIX), location
    return iceberg_root() / location.removeprefix(PREFIX)
