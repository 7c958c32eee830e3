"""The tables that Java Paimon wrote, unpacked once per test run.

`tests/golden/README.md` says where they come from and what each of them shows.
"""

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

PACK = Path(__file__).parent / "golden" / "paimon.tar.zst"


@functools.cache
def golden_root() -> Path:
    """The folder with `golden.db`, `golden_external`, `iceberg` and `expected`; read only by agreement."""
    folder = Path(tempfile.mkdtemp(prefix="polynya-golden-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    packed = zstandard.ZstdDecompressor().decompress(PACK.read_bytes())
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def golden_names() -> list[str]:
    """Every golden table, by name."""
    return sorted(path.name for path in (golden_root() / "golden.db").iterdir())


def golden_table(name: str) -> Path:
    """The folder of one golden table; copy it before changing it."""
    return golden_root() / "golden.db" / name


@functools.cache
def golden_expected(name: str) -> dict[str, Any]:
    """What Java reads from the table: rows, snapshots, tags, system tables (the README lists the keys)."""
    return json.loads((golden_root() / "expected" / f"{name}.json").read_text())
