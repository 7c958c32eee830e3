"""Blobs without a local path are read by few ranges."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from polynya.arrow import files
from polynya.arrow.blob_file import WINDOW_BYTES, RangeFile, open_blob
from polynya.errors import NotFoundError
from polynya.model import types as t
from polynya.storage.memory import MemoryStorage


class CountedStorage(MemoryStorage):
    """A store that keeps a record of the ranges asked of it."""

    def read_range(self, name, start, length):
        self.__dict__.setdefault("ranges", []).append((start, length))
        return super().read_range(name, start, length)


def stored(data):
    store = CountedStorage()
    store.put("blob", data)
    return store


def test_any_range_gives_the_bytes_of_the_blob():
    data = bytes(range(256)) * 1500
    file = RangeFile(stored(data), "blob")
    for start in (0, 5, 70_000, 200_000, len(data) - 10, len(data)):
        for length in (0, 1, 100, WINDOW_BYTES, 2 * WINDOW_BYTES, -1):
            file.seek(start)
            assert file.read(length) == (data[start:] if length < 0 else data[start : start + length])


def test_neighbouring_small_reads_share_a_window():
    store = stored(bytes(4 * WINDOW_BYTES))
    with open_blob(store, "blob") as file:
        for start in range(0, 1000, 10):
            file.seek(start)
            assert len(file.read(10)) == 10
    assert len(store.ranges) == 2  # the tail and one window


def test_column_chunks_of_a_parquet_file_are_read_together():
    sink = io.BytesIO()
    columns = {f"c{i}": pa.array(range(50_000)) for i in range(8)}
    pq.write_table(pa.table(columns), sink, compression="none", use_dictionary=False)
    store = stored(sink.getvalue())
    fields = tuple(t.Field(i, f"c{i}", t.BigInt()) for i in range(8))
    rows = sum(
        batch.num_rows for _, batch in files.read(store, "blob", format="parquet", file_fields=fields, columns=fields)
    )
    assert rows == 50_000
    assert len(store.ranges) <= 3


def test_an_absent_blob_is_not_found():
    with pytest.raises(NotFoundError, match="blob"):
        open_blob(MemoryStorage(), "blob")
