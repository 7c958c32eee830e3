"""A plan is read in pieces at the same time, and the rows come as if one file were read after the other."""

import numpy as np
import pyarrow as pa
import pytest

import polynya
from polynya.arrow import read

SCHEMA = pa.schema([pa.field("k", pa.int64(), nullable=False), ("v", pa.int64())])


def rows(start, end, value):
    keys = np.arange(start, end)
    return pa.table({"k": keys, "v": np.full(len(keys), value)}, SCHEMA)


def table_of(folder, **arguments):
    warehouse = polynya.open_warehouse(folder)
    warehouse.create_database("db")
    return warehouse.create_table("db.t", SCHEMA, **arguments)


@pytest.mark.parametrize("piece_bytes", [1, 2000, 2**40])
def test_files_of_a_split_come_in_their_order(tmp_path, monkeypatch, piece_bytes):
    monkeypatch.setattr(read, "PIECE_BYTES", piece_bytes)
    table = table_of(tmp_path)
    for start in range(0, 600, 100):
        table.write(rows(start, start + 100, 1))
    assert table.refresh().scan().to_arrow()["k"].to_pylist() == list(range(600))
    assert table.refresh().scan(limit=250).to_arrow()["k"].to_pylist() == list(range(250))


@pytest.mark.parametrize("piece_bytes", [1, 4000, 2**40])
def test_sections_stay_whole(tmp_path, monkeypatch, piece_bytes):
    monkeypatch.setattr(read, "PIECE_BYTES", piece_bytes)
    table = table_of(tmp_path, primary_key=["k"], options={"bucket": "1", "write-only": "true"})
    for value in range(3):
        for start in range(0, 500, 100):
            table.write(rows(start, start + 100 - value, value))
    found = table.refresh().scan().to_arrow().sort_by("k")
    assert found["k"].to_pylist() == list(range(500))
    assert found["v"].to_pylist() == [{99: 0, 98: 1}.get(key % 100, 2) for key in range(500)]


def test_a_failing_piece_raises_and_ends_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr(read, "PIECE_BYTES", 1)
    table = table_of(tmp_path)
    for start in range(0, 600, 100):
        table.write(rows(start, start + 100, 1))
    table = table.refresh()
    third = sorted(table.scan().plan().files["file_name"].to_pylist())[2]
    next(tmp_path.rglob(third)).unlink()
    with pytest.raises(polynya.NotFoundError, match=third):
        table.scan().to_arrow()


@pytest.mark.parametrize("where", [None, "v = 1", "k >= 100 and v < 2"])
def test_a_count_is_the_number_of_rows(tmp_path, where):
    table = table_of(tmp_path, primary_key=["k"], options={"bucket": "1", "write-only": "true"})
    for value in range(3):
        table.write(rows(value * 50, 300 - value * 50, value))
    scan = table.refresh().scan(where)
    assert scan.count() == scan.to_arrow().num_rows > 0
