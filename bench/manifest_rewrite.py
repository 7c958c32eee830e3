"""Rewriting manifests of 200,000 entries of which 1 % are DELETEs, against decode-and-encode with fastavro.

    python bench/manifest_rewrite.py [entries]
"""

import io
import resource
import sys
import time

import fastavro
import numpy as np
import pyarrow as pa

from polynya.model.schema import schema_of
from polynya.paimon import layout
from polynya.storage import open_memory
from polynya.table import entries, pack
from polynya.table.history import TableRoot
from polynya.table.manifest_writer import ManifestWriter

sys.path.insert(0, __file__.rsplit("/", 1)[0])
from manifest_decode import entries as make_entries


def measure(entry_count: int = 200_000) -> dict[str, float]:
    """Seconds of both ways, and their ratio."""
    schema = schema_of(pa.schema([("p", pa.int32()), ("v", pa.int64())]), partition_by=["p"])
    root = TableRoot(open_memory("bench-rewrite"))
    writer = ManifestWriter(root.storage, schema, "bench")
    added = make_entries(entry_count * 99 // 100)
    chosen = np.random.default_rng(1).choice(added.num_rows, entry_count // 100, replace=False)
    deletes = entries.with_kind(added.take(pa.array(np.sort(chosen))), entries.DELETE)
    metas = pa.concat_tables([writer.write_manifests(added), writer.write_manifests(deletes)])
    names = metas["file_name"].to_pylist()
    blobs = [root.storage.read(layout.manifest_path(name)) for name in names]
    started = time.perf_counter()
    deleted = pack._deleted_entries(root, metas.slice(metas.num_rows - 1))
    after = pack.copy_manifests(root, metas, writer, deleted, keeps_deletes=False)
    ours = time.perf_counter() - started
    assert sum(after["num_added_files"].to_pylist()) == added.num_rows - deletes.num_rows
    started = time.perf_counter()
    _by_fastavro(blobs)
    peer = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"entries": entry_count, "polynya_s": ours, "fastavro_s": peer, "ratio": peer / ours, "peak_rss_mib": peak}


def _by_fastavro(blobs):
    records = []
    for blob in blobs:
        reader = fastavro.reader(io.BytesIO(blob))
        schema = reader.writer_schema
        records += list(reader)
    gone = {(one["_PARTITION"], one["_FILE"]["_FILE_NAME"]) for one in records if one["_KIND"] == 1}
    kept = [one for one in records if one["_KIND"] == 0 and (one["_PARTITION"], one["_FILE"]["_FILE_NAME"]) not in gone]
    fastavro.writer(io.BytesIO(), schema, kept, codec="zstandard", codec_compression_level=1)


if __name__ == "__main__":
    for name, value in measure(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000).items():
        print(f"{name:16} {value:.3f}")
