"""Tables, files and surroundings for tests of commits: no row is written, a data file is a short text."""

import functools
import random
import uuid
from collections.abc import Iterable, Mapping

import pyarrow as pa

from polynya.codec.binary_rows import encode_rows
from polynya.model.schema import Schema, schema_of
from polynya.paimon import index_manifest, manifest
from polynya.storage import MemoryStorage
from polynya.storage.protocol import Storage
from polynya.table import catalog, entries, history, paths
from polynya.table.commit import Author, Surroundings, Target
from polynya.table.edit import Change, Edit
from polynya.table.history import TableRoot

COLUMNS = pa.schema([("p", pa.int32()), ("k", pa.int64()), ("v", pa.string())])
START_MS = 1_700_000_000_000


class Clock:
    """Seeded surroundings: time passes only by sleeping, and by a millisecond with every look."""

    def __init__(self, seed: int = 0, now_ms: int = START_MS) -> None:
        self.time_ms, self.slept_s = now_ms, []
        self._random = random.Random(seed)

    def now_ms(self) -> int:
        self.time_ms += 1
        return self.time_ms

    def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        self.time_ms += int(seconds * 1000)

    def surroundings(self) -> Surroundings:
        return Surroundings(self.now_ms, self.sleep, self._random.random, self.new_uuid)

    def new_uuid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128)))


def table_schema(
    partition_by: Iterable[str] = ("p",), primary_key: Iterable[str] = (), options: Mapping[str, str] | None = None
) -> Schema:
    keys = tuple(primary_key)
    given = {"bucket": "2"} | dict(options or {}) if keys else dict(options or {})
    return schema_of(COLUMNS, partition_by=tuple(partition_by), primary_key=keys, options=given)


def new_target(storage: Storage | None = None, schema: Schema | None = None, clock: Clock | None = None) -> Target:
    """A new, empty table; its location is its own, since decoded manifests are remembered by location."""
    storage = storage if storage is not None else MemoryStorage(f"memory://{uuid.uuid4()}")
    root = TableRoot(storage)
    catalog.create_table(root, schema or table_schema())
    made = history.find_latest_schema(root)
    return Target(root, made, (clock or Clock()).surroundings())


def new_file(name: str, p: int | None = 1, *, rows: int = 1, kind: int = manifest.ADD, **others: object) -> dict:
    """One manifest entry; `keys` are the smallest and the largest key."""
    low, high = others.pop("keys", (None, None))
    key_rows = [entries.EMPTY_ROW if one is None else key_row(one) for one in (low, high)]
    return {
        "kind": kind,
        "partition": partition_row(p),
        "bucket": 0,
        "total_buckets": -1,
        "file_name": name,
        "file_size": len(name),
        "row_count": rows,
        "min_key": key_rows[0],
        "max_key": key_rows[1],
        "key_stats_min": entries.EMPTY_ROW,
        "key_stats_max": entries.EMPTY_ROW,
        "key_stats_null_counts": [],
        "value_stats_min": entries.EMPTY_ROW,
        "value_stats_max": entries.EMPTY_ROW,
        "value_stats_null_counts": [],
        "value_stats_cols": [],
        "min_sequence_number": 0,
        "max_sequence_number": 0,
        "schema_id": 0,
        "level": 0,
        "extra_files": [],
        "creation_time": START_MS,
        "delete_row_count": 0,
        "file_source": 0,
    } | others


@functools.cache
def partition_row(p: int | None) -> bytes:
    return encode_rows([pa.array([p], pa.int32())])[0].as_py()


@functools.cache
def key_row(key: int) -> bytes:
    return encode_rows([pa.array([key], pa.int64())])[0].as_py()


def files_of(*files: dict) -> pa.Table:
    return pa.Table.from_pylist(list(files), schema=manifest.SCHEMA)


def edit_of(*files: dict) -> Edit:
    return Edit(files_of(*files))


def append_of(*files: dict, **others: object) -> Change:
    return Change(edit_of(*files), **others)


def compact_of(*files: dict, **others: object) -> Change:
    return Change(compact=edit_of(*files), **others)


def vectors(name: str, *data_files: str, kind: int = manifest.ADD, p: int = 1) -> pa.Table:
    """The entry of an index file with deletion vectors of data files."""
    row = {
        "kind": kind,
        "partition": partition_row(p),
        "bucket": 0,
        "index_type": "DELETION_VECTORS",
        "file_name": name,
        "file_size": 10,
        "row_count": len(data_files),
        "dv_ranges": [{"file_name": one, "offset": 1, "length": 9, "cardinality": 1} for one in data_files],
    }
    return pa.Table.from_pylist([row], schema=index_manifest.SCHEMA)


def deleted(file: dict) -> dict:
    return file | {"kind": manifest.DELETE}


def author(user: str = "writer", identifier: int | None = None, **others: object) -> Author:
    return Author(user, **others) if identifier is None else Author(user, identifier, **others)


def store_files(target: Target, table: pa.Table) -> None:
    """Put the data files of the entries into the store, so that a check finds them."""
    for path, name in zip(
        paths.data_paths(table, target.schema).to_pylist(), table["file_name"].to_pylist(), strict=True
    ):
        target.root.storage.put(path, name.encode())


def live_names(target: Target) -> list[str]:
    return sorted(
        entries.read_live(target.root, history.find_latest(target.root), ["file_name"])["file_name"].to_pylist()
    )


def latest(target: Target):
    return history.find_latest(target.root)


def names_in(storage: Storage, folder: str = "") -> set[str]:
    return {blob.name for page in storage.list(folder, recursive=True) for blob in page.blobs}
