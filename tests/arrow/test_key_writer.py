"""The writer of a bucket with keys keeps to its budget, sorting included."""

import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

from polynya.arrow.file_sink import Place
from polynya.arrow.key_writer import KeyWriter, key_file_spec
from polynya.arrow.merge import MergeSpec, merge
from polynya.model.schema import schema_of
from polynya.storage.memory import MemoryStorage

MIB = 2**20
COLUMNS = pa.schema([pa.field("k", pa.int64(), nullable=False)])
ROWS = 400_000
KEYS = {"sorted": np.arange(ROWS), "shuffled": np.random.default_rng(7).permutation(ROWS)}


@pytest.mark.parametrize(("order", "factor"), [("sorted", 1), ("shuffled", 2)])
def test_sorting_narrow_rows_takes_memory_of_the_budget(order, factor):
    budget = 4 * MIB
    schema = schema_of(COLUMNS, primary_key=["k"], options={"bucket": "1"})
    writer = KeyWriter(key_file_spec(MemoryStorage(), schema), Place(b"", 0, 1), lambda: "u", budget_bytes=budget)
    tracemalloc.start()  # it sees what numpy takes
    for batch in pa.table({"k": KEYS[order]}, COLUMNS).to_batches(16_384):
        writer.write(batch)
    writer.roll()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sum(entry["row_count"] for entry in writer.entries) == ROWS
    assert peak < factor * budget


def test_rows_that_are_merged_already_are_not_copied():
    numbers = {"_SEQUENCE_NUMBER": np.arange(9), "_VALUE_KIND": np.zeros(9, np.int8), "k": np.arange(9)}
    whole = pa.table({name: pa.array(values) for name, values in numbers.items()})
    rows = pa.concat_tables([whole.slice(0, 4), whole.slice(4)])
    merged = merge(rows, MergeSpec(("k",)))
    assert [places(column) for column in merged.columns] == [places(column) for column in rows.columns]


def places(column: pa.ChunkedArray) -> list[int]:
    return [chunk.buffers()[1].address for chunk in column.chunks]
