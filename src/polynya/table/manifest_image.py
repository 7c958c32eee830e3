"""Decoded manifests kept on the local disk, so that a new process need not decode them again.

Off unless the environment variable POLYNYA_MANIFEST_CACHE names a folder, which stands outside of every table. An image
is an Arrow file of some columns of one manifest, mapped into memory when it is used. Its name is made of the table's
location and the manifest's name and size, whose content never changes. Images that were used least recently go when the
folder grows beyond POLYNYA_MANIFEST_CACHE_BYTES. Nothing depends on an image: a damaged or missing one is made anew.
"""

import hashlib
import os
import uuid
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

FOLDER_VARIABLE = "POLYNYA_MANIFEST_CACHE"
BYTES_VARIABLE = "POLYNYA_MANIFEST_CACHE_BYTES"
DEFAULT_BYTES = 8 * 2**30
ENTRIES_MIN = 2000  # smaller manifests decode as fast as an image opens


def find(location: str, name: str, size_bytes: int, columns: Sequence[str]) -> pa.Table | None:
    """The columns of the manifest, if there is an image of them."""
    path = _path(location, name, size_bytes, columns)
    if path is None:
        return None
    try:
        with pa.memory_map(str(path)) as source:
            image = pa.ipc.open_file(source).read_all()
        os.utime(path)
    except (OSError, pa.ArrowInvalid):
        return None  # not there, or damaged: the manifest is decoded instead
    return image if image.schema.names == list(columns) else None


def put(location: str, name: str, size_bytes: int, table: pa.Table) -> None:
    """Keep an image of the decoded columns, if images are kept at all and this one pays."""
    path = _path(location, name, size_bytes, table.schema.names)
    if path is None or table.num_rows < ENTRIES_MIN:
        return
    temporary = path.with_name(f".{uuid.uuid4()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with pa.OSFile(str(temporary), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table.combine_chunks())
        temporary.replace(path)
        _shrink(path.parent.parent)
    except OSError:
        temporary.unlink(missing_ok=True)  # a full or read-only disk costs only the image


def _path(location: str, name: str, size_bytes: int, columns: Sequence[str]) -> Path | None:
    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder:
        return None
    table, shape = (hashlib.sha256(text.encode()).hexdigest()[:16] for text in (location, "\0".join(columns)))
    return Path(folder) / table / f"{name}-{size_bytes}-{shape}.arrow"


def _shrink(folder: Path) -> None:
    """Delete the images used longest ago until the folder is within its bytes."""
    size_bytes_max = int(os.environ.get(BYTES_VARIABLE, DEFAULT_BYTES))
    images = [(path, path.stat()) for path in folder.glob("*/*.arrow")]
    excess = sum(stat.st_size for _, stat in images) - size_bytes_max
    for path, stat in sorted(images, key=lambda image: image[1].st_mtime):
        if excess <= 0:
            return
        path.unlink(missing_ok=True)
        excess -= stat.st_size
