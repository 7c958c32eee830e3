"""A table with many data files that exist in its metadata only: 100 partitions in order, statistics of four columns."""

import uuid

import numpy as np
import pyarrow as pa

import polynya
from polynya.codec.binary_rows import encode_rows
from polynya.paimon import manifest
from polynya.table.commit import Target, commit, new_author
from polynya.table.edit import Change, Edit

PARTITIONS = 100
SCHEMA = pa.schema([("day", pa.int32()), ("id", pa.int64()), ("amount", pa.float64()), ("name", pa.string())])


BUCKETS = 16


def make_table(location, file_count, options=None, *, bucketed=False):
    """Create `bench.t` under the location with that many files and return it; with buckets each holds any id."""
    warehouse = polynya.open_warehouse(location)
    warehouse.create_database("bench", exist_ok=True)
    buckets = {"bucket": str(BUCKETS), "bucket-key": "id"} if bucketed else {}
    table = warehouse.create_table("bench.t", SCHEMA, partition_by=["day"], options=buckets | (options or {}))
    target = Target(table.root, table.schema)
    for start in range(0, file_count, 250_000):
        count = min(250_000, file_count - start)
        entries = entries_of(start, count, file_count, bucketed=bucketed)
        commit(target, Change(Edit(entries)), new_author(target))
    return table.refresh()


def _random_ids(seed, count):
    data = np.random.default_rng(seed).bytes(16 * count)
    return (data[16 * number : 16 * number + 16] for number in range(count))


def entries_of(start, count, total, *, bucketed=False):
    """Entries of files number `start` and on, of so many in total."""
    index = np.arange(start, start + count)
    day = (index * PARTITIONS // total).astype(np.int32)
    low, high = (np.zeros_like(index), np.full_like(index, 10**9)) if bucketed else (index * 1000, index * 1000 + 999)
    names = [f"data-{uuid.UUID(bytes=bytes_)}-0.parquet" for bytes_ in _random_ids(start, count)]
    empty = pa.repeat(pa.scalar(bytes(12)), count)

    def bounds(ids, word):
        amounts = pa.array(ids.astype(float))
        return encode_rows([pa.array(day), pa.array(ids), amounts, pa.repeat(pa.scalar(word), count)])

    zeros = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(4 * count, np.int64)), 4).cast(pa.list_(pa.int64()))
    columns = {
        "kind": np.zeros(count, np.int8),
        "partition": encode_rows([pa.array(day)]),
        "bucket": (index % BUCKETS if bucketed else np.zeros(count)).astype(np.int32),
        "total_buckets": np.full(count, BUCKETS if bucketed else -1, np.int32),
        "file_name": names,
        "file_size": np.full(count, 64 << 20),
        "row_count": np.full(count, 1000),
        "min_key": empty,
        "max_key": empty,
        "key_stats_min": empty,
        "key_stats_max": empty,
        "key_stats_null_counts": pa.repeat(pa.scalar([], pa.list_(pa.int64())), count),
        "value_stats_min": bounds(low, "aaaaaaaa"),
        "value_stats_max": bounds(high, "zzzzzzzz"),
        "value_stats_null_counts": zeros,
        "min_sequence_number": np.zeros(count, np.int64),
        "max_sequence_number": np.full(count, 999),
        "schema_id": np.zeros(count, np.int64),
        "level": np.zeros(count, np.int32),
        "extra_files": pa.repeat(pa.scalar([], pa.list_(pa.string())), count),
        "creation_time": np.full(count, 1_700_000_000_000),
        "delete_row_count": np.zeros(count, np.int64),
        "file_source": np.zeros(count, np.int8),
    }
    arrays = [
        pa.array(columns[field.name]).cast(field.type) if field.name in columns else pa.nulls(count, field.type)
        for field in manifest.SCHEMA
    ]
    return pa.Table.from_arrays(arrays, schema=manifest.SCHEMA)
