"""Rows of a key range."""

import pyarrow as pa
import pytest

from polynya.arrow.key_range import narrowed, rows_within
from polynya.codec.binary_rows import encode_rows
from polynya.model.predicate import TRUE
from polynya.model.schema import schema_of
from polynya.table.key_ranges import KeyRange

SCHEMA = schema_of(pa.schema([("a", pa.string()), ("b", pa.int32()), ("v", pa.int64())]), primary_key=("a", "b"))
ROWS = [(text, number) for text in ("a", "b", "ü") for number in range(4)]


def bound(row):
    return encode_rows([pa.array([row[0]]), pa.array([row[1]], pa.int32())])[0].as_py() if row else None


def batches(size):
    rows = pa.table({"a": [a for a, _ in ROWS], "b": pa.array([b for _, b in ROWS], pa.int32()), "v": range(len(ROWS))})
    return iter(rows.to_batches(size))


@pytest.mark.parametrize("size", [1, 5, 100])
@pytest.mark.parametrize(
    ("after", "through"),
    [(None, None), (None, ("b", 1)), (("a", 3), ("b", 0)), (("b", 1), None), (("a", 9), ("a", 9)), (("z", 0), None)],
)
def test_rows_after_one_key_and_through_another(size, after, through):
    found = list(rows_within(batches(size), KeyRange(bound(after), bound(through)), SCHEMA.key_fields))
    wanted = [row for row in ROWS if (after is None or row > after) and (through is None or row <= through)]
    assert [(row["a"], row["b"]) for batch in found for row in batch.to_pylist()] == wanted


def test_a_predicate_is_narrowed_by_the_first_column_of_the_key():
    range = KeyRange(bound(("a", 3)), bound(("b", 0)))
    assert str(narrowed(TRUE, range, SCHEMA.key_fields)) == "a >= 'a' AND a <= 'b'"
    assert narrowed(TRUE, KeyRange(), SCHEMA.key_fields) == TRUE
