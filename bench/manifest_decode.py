"""Manifests to Arrow and back, against fastavro on the same file in the same run. Prints seconds and ratios.

python bench/manifest_decode.py [entries]
"""

import io
import sys
import time

import fastavro
import numpy as np
import pyarrow as pa

from polynya.codec.avro import AvroSource, decode_container, encode_container
from polynya.codec.binary_rows import encode_rows
from polynya.paimon import manifest

ENTRIES = 100_000
NEW_ENTRIES = 10_000
PLAN_FILES = 30
PLAN_ENTRIES = 1_000_000
PLAN_COLUMNS = ["kind", "partition", "bucket", "total_buckets", "level", "file_name", "file_size", "row_count"]


def entries(count, seed=1):
    """Entries of a primary-key table: 100 partitions, 16 buckets, a bigint key, statistics of four columns."""
    random = np.random.default_rng(seed)
    keys = random.integers(0, 2**40, count)
    ids = random.integers(0, 2**62, count).tolist()
    key = encode_rows([pa.array(keys)])
    high = encode_rows([pa.array(keys + 10_000)])
    low_stats = encode_rows(
        [pa.array(keys), pa.array(keys % 1000), pa.array(keys / 3), pa.array([f"v{k % 97}" for k in keys])]
    )
    high_stats = encode_rows(
        [pa.array(keys + 10_000), pa.array(keys % 1000 + 9), pa.array(keys / 2), pa.array(["w"] * count)]
    )
    days = [f"2026-{1 + part % 12:02}-{1 + part % 28:02}" for part in random.integers(0, 100, count).tolist()]
    zeros = pa.array(np.zeros(count, np.int64))
    columns = {
        "kind": zeros,
        "partition": encode_rows([pa.array(days)]),
        "bucket": pa.array(random.integers(0, 16, count)),
        "total_buckets": pa.repeat(16, count),
        "file_name": pa.array([f"data-{name:032x}-{row}.parquet" for row, name in enumerate(ids)]),
        "file_size": pa.array(random.integers(10_000, 2**27, count)),
        "row_count": pa.array(random.integers(100, 2**20, count)),
        "min_key": key,
        "max_key": high,
        "key_stats_min": key,
        "key_stats_max": high,
        "key_stats_null_counts": pa.array([[0]] * count),
        "value_stats_min": low_stats,
        "value_stats_max": high_stats,
        "value_stats_null_counts": pa.array([[0, 0, 3, 0]] * count),
        "min_sequence_number": pa.array(np.arange(count)),
        "max_sequence_number": pa.array(np.arange(count) + 1000),
        "schema_id": zeros,
        "level": pa.array(random.integers(0, 6, count)),
        "extra_files": pa.array([[]] * count, pa.list_(pa.string())),
        "creation_time": pa.array(1_790_000_000_000 + np.arange(count)),
        "delete_row_count": zeros,
        "file_source": zeros,
    }
    arrays = [
        columns[field.name].cast(field.type) if field.name in columns else pa.nulls(count, field.type)
        for field in manifest.SCHEMA
    ]
    return pa.Table.from_arrays(arrays, schema=manifest.SCHEMA)


def seconds(work, repeat=3):
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def uncompressed(data):
    """The same file without compression: what fastavro reads without another library, and sooner."""
    container = decode_container(AvroSource("f", data))
    blocks = [type(block)(block.count, container.records(block)) for block in container.blocks]
    return encode_container(container.schema_text, "null", blocks)


def by_fastavro(data):
    return list(fastavro.reader(io.BytesIO(data)))


def decode_figures(count=ENTRIES, repeat=3):
    """Seconds to decode one manifest: to Arrow, and with fastavro from a file that is not even compressed."""
    data = manifest.encode(entries(count))
    plain = uncompressed(data)
    source = AvroSource("manifest", data)
    assert manifest.decode([source]).num_rows == len(by_fastavro(plain)) == count
    return seconds(lambda: manifest.decode([source]), repeat), seconds(lambda: by_fastavro(plain), min(repeat, 2))


def encode_figures(count=NEW_ENTRIES, repeat=3):
    """Seconds to encode new entries, and to copy the blocks of a manifest."""
    table = entries(count)
    data = manifest.encode(table)
    return seconds(lambda: manifest.encode(table), repeat), seconds(lambda: copy(data), repeat), len(data)


def copy(data):
    container = decode_container(AvroSource("manifest", data))
    return encode_container(container.schema_text, container.codec, container.blocks)


def plan_figures(count=PLAN_ENTRIES, files=PLAN_FILES, repeat=3):
    """Seconds to decode what a plan without a filter needs, of many manifests."""
    data = manifest.encode(entries(count // files))
    sources = [AvroSource(f"manifest-{index}", data) for index in range(files)]
    rows = manifest.decode(sources, PLAN_COLUMNS).num_rows
    return seconds(lambda: manifest.decode(sources, PLAN_COLUMNS), repeat), rows


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else ENTRIES
    arrow, fast = decode_figures(count)
    print(f"decode {count} entries      {arrow:8.3f} s")
    print(f"  with fastavro            {fast:8.3f} s, ratio {fast / arrow:.1f} (bar 8)")
    encode, copied, size = encode_figures(count // 10)
    print(f"encode {count // 10} entries       {encode:8.3f} s")
    print(f"copy its blocks            {copied:8.4f} s, {size / copied / 1e6:.0f} MB/s")
    plan, rows = plan_figures(count * 10)
    print(f"decode {rows} for a plan  {plan:8.3f} s in {PLAN_FILES} files")


if __name__ == "__main__":
    main()
