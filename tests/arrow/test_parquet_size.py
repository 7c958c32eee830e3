"""Batches of a Parquet file are of the size asked for, also when texts are much longer than what is stored of them."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from polynya.arrow import files
from polynya.arrow.files.protocol import BATCH_BYTES_MIN
from polynya.model import types as t
from polynya.storage.local import LocalStorage

KB = 1024
FIELDS = (t.Field(0, "id", t.BigInt()), t.Field(1, "note", t.VarChar()))


def batch_sizes(folder, notes, size_bytes):
    """The bytes of the batches of a file with these texts."""
    rows = pa.table({"id": np.arange(len(notes)), "note": notes})
    pq.write_table(rows, folder / "x.parquet", row_group_size=5000)
    size = files.BatchSize(size_bytes=size_bytes)
    found = files.read(
        LocalStorage(str(folder)), "x.parquet", format="parquet", file_fields=FIELDS, columns=FIELDS, size=size
    )
    batches = [batch for _, batch in found]
    assert sum(batch.num_rows for batch in batches) == len(notes)
    return [batch.nbytes for batch in batches]


@pytest.mark.parametrize("distinct", [7, 20_000], ids=["coded", "plain"])
@pytest.mark.parametrize("length", [8, 2 * KB])
def test_batches_have_the_size_asked_for(tmp_path, distinct, length):
    notes = pa.array([f"{number:0{length}d}" for number in range(distinct)])
    notes = notes.take(pa.array(np.arange(20_000) % distinct))
    found = batch_sizes(tmp_path, notes, 200 * KB)
    assert max(found) < 1.1 * 200 * KB
    assert sum(found) / len(found) > 0.5 * 200 * KB


def test_no_batch_is_smaller_than_is_worth_it(tmp_path):
    found = batch_sizes(tmp_path, pa.array(["12345678"] * 20_000), 1)
    assert min(found[:-1]) > 0.5 * BATCH_BYTES_MIN


def test_rows_larger_than_a_batch_come_one_by_one(tmp_path):
    found = batch_sizes(tmp_path, pa.array(["x" * 100 * KB] * 5), 1)
    assert len(found) == 5
