"""Planning an Iceberg table of many files, against PyIceberg in the same run.

    python bench/iceberg_plan.py [files]

The table is metadata only: manifests of 1000 files in 100 partitions, with counts and bounds of six columns. full: all
files; partition: one of 100; value: one file by its bounds; warm: full again with manifests in memory. CPU seconds of a
process that has loaded its modules, best of three, each in a process of its own.
"""

import json
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import numpy as np
import pyarrow as pa

from polynya.iceberg import layout, manifest, manifest_list, metadata, partition_spec
from polynya.iceberg.metadata import IcebergSchema, IcebergSnapshot, LogEntry, Ref, TableMetadata
from polynya.iceberg.partition_spec import PartitionField, PartitionSpec
from polynya.iceberg.partition_values import PartitionColumn

MANIFEST_FILES, PARTITIONS, FILE_ROWS = 1000, 100, 1000
SNAPSHOT_ID = 4242
COLUMNS = {"id": "long", "day": "int", "customer": "string", "amount": "double", "at": "timestamptz", "note": "string"}
WHATS = ("full", "partition", "value", "warm")


def make_table(folder, file_count):
    """An Iceberg table of that many files, none of which is there; the path of its metadata file."""
    place = Path(folder).absolute()
    (place / layout.METADATA_FOLDER).mkdir(parents=True, exist_ok=True)
    url = f"file://{place}"
    fields = [{"id": i, "name": n, "required": False, "type": t} for i, (n, t) in enumerate(COLUMNS.items(), 1)]
    schema = IcebergSchema(0, tuple(fields))
    spec = PartitionSpec(0, (PartitionField((2,), 1000, "day", "identity"),))
    partition = (PartitionColumn(1000, "day", pa.int32()),)
    header = manifest.Header(
        json.dumps(metadata.schema_json(schema)), 0, json.dumps(partition_spec.fields_to_json(spec.fields)), 0, 0
    )
    metas = []
    for number, start in enumerate(range(0, file_count, MANIFEST_FILES)):
        entries = _entries(url, np.arange(start, min(start + MANIFEST_FILES, file_count)), file_count)
        data = manifest.encode(entries, partition, header, 2)
        path = f"{layout.METADATA_FOLDER}/{layout.manifest_name(str(uuid.UUID(int=number)), 0)}"
        (place / path).write_bytes(data)
        about = {"manifest_path": f"{url}/{path}", "manifest_length": len(data), "partition_spec_id": 0, "content": 0}
        metas.append(manifest.meta_of(entries, partition, about, SNAPSHOT_ID, 1))
    listing = f"{layout.METADATA_FOLDER}/snap-{SNAPSHOT_ID}-1.avro"
    (place / listing).write_bytes(manifest_list.encode(pa.concat_tables(metas), 2, {}))
    made = _metadata(url, schema, spec, f"{url}/{listing}")
    path = place / layout.METADATA_FOLDER / layout.metadata_name(1)
    path.write_bytes(metadata.encode(made))
    return str(path)


def _metadata(url, schema, spec, listing):
    snapshot = IcebergSnapshot(
        snapshot_id=SNAPSHOT_ID,
        sequence_number=1,
        timestamp_ms=1_700_000_000_000,
        manifest_list=listing,
        summary={"operation": "append"},
        schema_id=0,
    )
    return TableMetadata(
        format_version=2,
        table_uuid=str(uuid.UUID(int=7)),
        location=url,
        last_sequence_number=1,
        last_updated_ms=1_700_000_000_000,
        last_column_id=len(COLUMNS),
        schemas=(schema,),
        current_schema_id=0,
        partition_specs=(spec,),
        default_spec_id=0,
        last_partition_id=1000,
        current_snapshot_id=SNAPSHOT_ID,
        snapshots=(snapshot,),
        snapshot_log=(LogEntry(1_700_000_000_000, SNAPSHOT_ID),),
        refs={"main": Ref(SNAPSHOT_ID, "branch")},
    )


def _entries(url, numbers, file_count):
    count = len(numbers)
    day = (numbers * PARTITIONS // file_count).astype(np.int32)
    low, high = _bounds(numbers, day, 0), _bounds(numbers, day, FILE_ROWS - 1)
    columns = {
        "status": np.full(count, manifest.ADDED, np.int32),
        "content": np.zeros(count, np.int32),
        "file_path": [f"{url}/data/day={d}/{n:08d}.parquet" for d, n in zip(day, numbers, strict=True)],
        "file_format": ["PARQUET"] * count,
        "record_count": np.full(count, FILE_ROWS),
        "file_size_in_bytes": np.full(count, 1 << 20),
        "column_sizes": [_counts(1 << 17)] * count,
        "value_counts": [_counts(FILE_ROWS)] * count,
        "null_value_counts": [_counts(0)] * count,
        "nan_value_counts": [[{"key": 4, "value": 0}]] * count,
        "lower_bounds": low,
        "upper_bounds": high,
        "split_offsets": [[4]] * count,
        "partition_1000": day,
    }
    schema = manifest.schema_of((PartitionColumn(1000, "day", pa.int32()),))
    arrays = [
        pa.array(columns[one.name], one.type) if one.name in columns else pa.nulls(count, one.type) for one in schema
    ]
    return pa.table(arrays, schema=schema)


def _counts(value):
    return [{"key": id, "value": value} for id in range(1, len(COLUMNS) + 1)]


def _bounds(numbers, day, offset):
    rows = []
    for number, one in zip(numbers.tolist(), day.tolist(), strict=True):
        value = number * FILE_ROWS + offset
        stored = (
            value.to_bytes(8, "little"),
            one.to_bytes(4, "little"),
            f"customer-{value:012d}"[:16].encode(),
            np.float64(value).tobytes(),
            value.to_bytes(8, "little"),
            b"note",
        )
        rows.append([{"key": id, "value": data} for id, data in enumerate(stored, 1)])
    return rows


def by_polynya(path, what):
    """CPU seconds of a plan, and how many files it has."""
    import datafusion  # noqa: F401 - loaded before the clock starts, as PyIceberg loads its own

    import polynya
    import polynya.model.bind
    import polynya.table.iceberg_scan

    table = polynya.open_table(path)
    where = {"partition": polynya.col("day") == 42, "value": polynya.col("id") == 424_242}.get(what)
    if what == "warm":
        table.scan().plan()
    started = time.process_time()
    return table.scan(where=where).plan().file_count, time.process_time() - started


def by_pyiceberg(path, what):
    from pyiceberg.expressions import AlwaysTrue, EqualTo
    from pyiceberg.table import StaticTable

    table = StaticTable.from_metadata(path)
    filters = {"partition": EqualTo("day", 42), "value": EqualTo("id", 424_242)}
    if what == "warm":
        list(table.scan().plan_files())
    started = time.process_time()
    return len(list(table.scan(filters.get(what, AlwaysTrue())).plan_files())), time.process_time() - started


BY = {"polynya": by_polynya, "pyiceberg": by_pyiceberg}


def measure(file_count=100_000, repeat=3):
    """By kind of plan: CPU seconds of both, best of `repeat`, and how many times as long PyIceberg takes."""
    with tempfile.TemporaryDirectory() as folder:
        path = make_table(folder, file_count)
        found = {}
        for what in WHATS:
            taken = {who: [_child(who, what, path) for _ in range(repeat)] for who in BY}
            counts = {one["files"] for runs in taken.values() for one in runs}
            assert len(counts) == 1, f"{what}: the plans have different files: {counts}"
            best = {who: min(one["seconds"] for one in runs) for who, runs in taken.items()}
            found[what] = {**best, "files": counts.pop(), "times": best["pyiceberg"] / best["polynya"]}
    return found


def _child(who, what, path):
    command = [sys.executable, __file__, "--child", who, what, path]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        count, seconds = BY[sys.argv[2]](sys.argv[4], sys.argv[3])
        status = Path("/proc/self/status").read_text().split()
        peak_mb = int(status[status.index("VmHWM:") + 1]) * 1024 / 1e6
        print(json.dumps({"files": count, "seconds": seconds, "peak_mb": peak_mb}))
    else:
        for what, one in measure(*map(int, sys.argv[1:])).items():
            times = (
                f"polynya {one['polynya']:.3f} s, PyIceberg {one['pyiceberg']:.3f} s, {one['times']:.0f} times as long"
            )
            print(f"{what:10} {one['files']:>7,} files: {times}")
