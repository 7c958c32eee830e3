"""Files and row groups end near the size that the table asks for, whatever the rows are like."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import polynya
from polynya.arrow.files.page_index import PageIndex
from polynya.arrow.write import TableWriter, WriteSpec
from polynya.model.schema import schema_of
from polynya.storage.memory import MemoryStorage
from polynya.table.bucket_state import BucketState

KB = 1024
MB = 1024 * KB
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("note", pa.string())])


def wide_rows(count, size=4096, seed=5):
    """Rows of random text, which hardly compresses."""
    draw = np.random.default_rng(seed)
    letters = draw.integers(33, 126, count * size, np.uint8).tobytes().decode()
    notes = [letters[start : start + size] for start in range(0, count * size, size)]
    return pa.table({"id": np.arange(count), "note": notes}, SCHEMA)


def same_rows(count):
    """Rows that compress to next to nothing."""
    return pa.table({"id": np.arange(count), "note": ["the same text in every row"] * count}, SCHEMA)


def table_of(folder, options, **arguments):
    warehouse = polynya.open_warehouse(folder)
    warehouse.create_database("db")
    return warehouse.create_table("db.t", SCHEMA, options=options, **arguments)


def sizes_of(table):
    return table.refresh().system("files")["file_size_in_bytes"].to_pylist()


@pytest.mark.parametrize("key", [[], ["id"]])
@pytest.mark.parametrize("rows", [wide_rows(2000), same_rows(1_200_000)], ids=["wide", "alike"])
def test_files_end_near_the_target_size(tmp_path, key, rows):
    target = 512 * KB
    options = {"target-file-size": f"{target // KB} kb"} | ({"bucket": "1"} if key else {})
    table = table_of(tmp_path, options, primary_key=key)
    table.write(rows)
    *full, _ = sizes_of(table)
    assert full, "the rows should fill several files"
    assert all(0.85 * target < size < 1.3 * target for size in full), full
    assert table.refresh().scan().to_arrow().sort_by("id").equals(rows)


def test_row_groups_hold_no_more_than_the_block_size(tmp_path):
    table = table_of(tmp_path, {"parquet.block.size": "256 kb"})
    table.write(wide_rows(500))
    (name,) = table.refresh().system("files")["file_path"].to_pylist()
    footer = pq.read_metadata(name)
    sizes = [footer.row_group(group).total_byte_size for group in range(footer.num_row_groups)]
    assert len(sizes) > 5
    assert max(sizes) < 1.1 * 256 * KB
    assert min(sizes[:-1]) > 0.8 * 256 * KB


def test_pages_of_wide_rows_are_near_the_page_size(tmp_path):
    table = table_of(tmp_path, {"parquet.page.size": "1 mb"})
    table.write(wide_rows(1000, size=16 * KB))
    (name,) = table.refresh().system("files")["file_path"].to_pylist()
    with pa.OSFile(name) as source:
        pages = PageIndex(pq.ParquetFile(source), source, name).pages(0, 1)
    assert max(pages.sizes) < 2.2 * MB


def test_rows_that_wait_in_many_partitions_are_written_out_and_the_files_go_on():
    schema = schema_of(pa.schema([("p", pa.int32()), ("note", pa.string())]), partition_by=["p"])
    budget = 256 * KB
    writer = TableWriter(WriteSpec(MemoryStorage(), schema, BucketState(-1), buffer_bytes=budget), lambda: "u")
    notes = wide_rows(200, size=1024).column("note")
    for number in range(40):
        partitions = pa.array(np.arange(200) % 10, pa.int32())
        writer.write(pa.record_batch([partitions, notes.chunk(0)], ["p", "note"]))
        assert writer._buffered_bytes() <= budget, number
    files = writer.finish()
    assert files["row_count"].to_pylist() == [800] * 10
