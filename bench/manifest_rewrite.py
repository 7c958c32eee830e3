"""Rewriting manifests of 200,000 entries of which 1 % are DELETEs, against decode-and-encode with fastavro.

python bench/manifest_rewrite.py [entries]

| figure | bar |
|---|---|
| seconds with fastavro (which is spared the compression) over seconds of a full merge | 10 |
| peak memory of a process that does nothing but the merge, interpreter and libraries included | 300 MB |

That process is one without pandas, which polynya does not need, and pyarrow loads wherever it is installed.
"""

import io
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import fastavro
import numpy as np
import pyarrow as pa

from polynya.model.schema import schema_of
from polynya.paimon import layout, manifest_list
from polynya.storage import open_storage
from polynya.table import entries, pack
from polynya.table.history import TableRoot
from polynya.table.manifest_writer import ManifestWriter

sys.path.insert(0, str(Path(__file__).parent))
from manifest_decode import entries as make_entries
from manifest_decode import uncompressed

ENTRIES = 200_000
SCHEMA = schema_of(
    pa.schema([("day", pa.string()), ("v", pa.int64())]),
    partition_by=["day"],
    options={"manifest.full-compaction-threshold-size": "1 b"},
)


#: Runs a script as if pandas were not installed.
WITHOUT_PANDAS = """
import runpy, sys
class NoPandas:
    def find_spec(self, name, path=None, target=None):
        if name == "pandas":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NoPandas())
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def prepare(folder: str, entry_count: int) -> tuple[str, list[bytes]]:
    """Write the manifests; return the name of their list and, for the peer, the same manifests uncompressed."""
    storage = open_storage(folder)
    writer = ManifestWriter(storage, SCHEMA, "before")
    added = make_entries(entry_count * 99 // 100)
    chosen = np.random.default_rng(1).choice(added.num_rows, entry_count // 100, replace=False)
    deletes = entries.with_kind(added.take(pa.array(np.sort(chosen))), entries.DELETE)
    metas = pa.concat_tables([writer.write_manifests(added), writer.write_manifests(deletes)])
    blobs = [storage.read(layout.manifest_path(name)) for name in metas["file_name"].to_pylist()]
    return writer.write_list(metas).name, [uncompressed(blob) for blob in blobs]


def rewrite(folder: str, list_name: str) -> dict[str, float]:
    """The full merge of the manifests: its seconds, and the peak memory of this process in MB."""
    root = TableRoot(open_storage(folder))
    metas = manifest_list.decode([entries.source_of(root.storage, list_name)])
    started = time.perf_counter()
    after = pack.merge(root, metas, ManifestWriter(root.storage, SCHEMA, "after"), SCHEMA)
    passed = time.perf_counter() - started
    # Not ru_maxrss, which a child process starts with at the size of its parent.
    status = Path("/proc/self/status").read_text().split()
    peak = int(status[status.index("VmHWM:") + 1]) * 1024 / 1e6
    return {"seconds": passed, "peak_mb": peak, "entries": sum(after["num_added_files"].to_pylist())}


def rewrite_alone(folder: str, list_name: str) -> dict[str, float]:
    """The same in a process of its own."""
    command = [sys.executable, "-c", WITHOUT_PANDAS, __file__, "--only", folder, list_name]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def by_fastavro(blobs: list[bytes]) -> float:
    """Seconds to decode all records, drop what cancels, and encode the rest."""
    started = time.perf_counter()
    records = []
    for blob in blobs:
        reader = fastavro.reader(io.BytesIO(blob))
        schema = reader.writer_schema
        records += list(reader)
    gone = {(one["_PARTITION"], one["_FILE"]["_FILE_NAME"]) for one in records if one["_KIND"] == 1}
    kept = [one for one in records if one["_KIND"] == 0 and (one["_PARTITION"], one["_FILE"]["_FILE_NAME"]) not in gone]
    fastavro.writer(io.BytesIO(), schema, kept)
    return time.perf_counter() - started


def main() -> None:
    if sys.argv[1:2] == ["--only"]:
        print(json.dumps(rewrite(*sys.argv[2:])))
        return
    entry_count = int(sys.argv[1]) if len(sys.argv) > 1 else ENTRIES
    with tempfile.TemporaryDirectory() as folder:
        list_name, blobs = prepare(folder, entry_count)
        ours = min((rewrite_alone(folder, list_name) for _ in range(3)), key=lambda one: one["seconds"])
        assert ours["entries"] == entry_count * 98 // 100
    peer = by_fastavro(blobs)
    print(f"full merge of {entry_count} entries  {ours['seconds']:8.3f} s")
    print(f"  with fastavro              {peer:8.3f} s, ratio {peer / ours['seconds']:.1f} (bar 10)")
    print(f"peak memory                  {ours['peak_mb']:8.0f} MB (bar 300)")


if __name__ == "__main__":
    main()
