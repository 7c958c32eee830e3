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

#: Tables that polynya does not read, and what it says instead.
REFUSED = {
    "agg_sketch": "column 'r64': aggregate function 'rbm64' is not supported",
    "blob_type": "column 'b' .* BLOB columns are not supported",
    "fmt_csv": "format 'csv' is not read",
    "fmt_json": "format 'json' is not read",
    "fmt_row": "format 'row' is not read",
    "fmt_text": "format 'text' is not read",
    "pk_blob": "column 'chunk': BLOB columns are not supported",
    "variant_shredded": "column 'v': a shredded VARIANT",
}
OTHER_ZONE = {"tz_kolkata_orc", "tz_kolkata_part_new"}  # what they mean depends on the zone of the process
ELSEWHERE = {"external_paths"}  # its files are found by absolute paths


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


def readable_names() -> list[str]:
    """The tables that read anywhere, whatever the zone of the process."""
    return sorted(set(golden_names()) - set(REFUSED) - OTHER_ZONE - ELSEWHERE)


def golden_table(name: str) -> Path:
    """The folder of one golden table; copy it before changing it."""
    return golden_root() / "golden.db" / name


@functools.cache
def golden_expected(name: str) -> dict[str, Any]:
    """What Java reads from the table: rows, snapshots, tags, system tables (the README lists the keys)."""
    return json.loads((golden_root() / "expected" / f"{name}.json").read_text())
