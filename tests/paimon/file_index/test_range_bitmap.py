import pyarrow as pa
import pytest

from polynya.errors import CorruptFileError
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_type
from polynya.model.bind import bind
from polynya.model.predicate import Not, col
from polynya.paimon.file_index import build, range_bitmap

INTS = [1, 2, 1, 3, None]
WORKED = (
    "00000015 01 00000005 00000003 00000001 00000003 00000036 0000000d 01 00000001 00000004 00000019 00000000 01"
    "00000001 00000000 00000000 00000002 00000008 00000004 00000002 00000003 0000001a 01 02 0000000f 00000010 00000000"
    "00000012 00000012 00000012 3b3000000100000300010000000300 3a3000000100000000000000100000000100"
    "3a3000000100000000000000100000000300"
)


def body_of(type, values, settings=None):
    return build("range-bitmap", pa.array(values, to_arrow_type(type)), type, settings or {})


def ask(body, predicate, type, row_count=5):
    return range_bitmap.evaluate(body, bind(predicate, (t.Field(0, "c", type),)), type, row_count, name="f.index")


def test_the_worked_index():
    assert body_of(t.Int(), INTS) == bytes.fromhex(WORKED)


def test_small_types_have_one_key_in_a_chunk():
    assert body_of(t.TinyInt(), [1, 2]) == body_of(t.TinyInt(), [1, 2], {"chunk-size": "0b"})


@pytest.mark.parametrize(
    ("predicate", "rows"),
    [
        (col("c") == 1, {0, 2}),
        (col("c") != 1, {1, 3}),
        (col("c") < 2, {0, 2}),
        (col("c") <= 2, {0, 1, 2}),
        (col("c") > 2, {3}),
        (col("c") >= 2, {1, 3}),
        (col("c") < 1, set()),
        (col("c") > 3, set()),
        (col("c") > 0, {0, 1, 2, 3}),
        (col("c").is_in([1, 3, 9]), {0, 2, 3}),
        (Not(col("c").is_in([1, 9])), {1, 3}),
        (col("c").is_null(), {4}),
        (col("c").is_not_null(), {0, 1, 2, 3}),
    ],
    ids=str,
)
def test_rows_are_exact(predicate, rows):
    assert set(ask(body_of(t.Int(), INTS), predicate, t.Int())) == rows


@pytest.mark.parametrize("size", ["0b", "10b", "100b", "16kb"])
def test_chunks_of_any_size_are_searched(size):
    texts = [f"text {number:03d}" for number in range(0, 140, 2)]
    body = body_of(t.VarChar(), texts[::-1], {"chunk-size": size})
    for number in range(-1, 141):
        below = {69 - at for at, text in enumerate(texts) if text < f"text {number:03d}"}
        assert set(ask(body, col("c") < f"text {number:03d}", t.VarChar(), 70)) == below


def test_a_prefix_is_a_range():
    body = body_of(t.VarChar(), ["ab", "abc", "b", "a", None])
    assert set(ask(body, col("c").like("ab%"), t.VarChar())) == {0, 1}
    assert set(ask(body, col("c").like("b"), t.VarChar())) == {2}
    assert set(ask(body, col("c").like("%c"), t.VarChar())) == {0, 1, 2, 3}


def test_floats_sort_with_nan_above_all_and_both_zeros_as_one():
    body = body_of(t.Float(), [0.0, -0.0, -1.5, float("nan"), float("inf")])
    assert set(ask(body, col("c") == 0, t.Float())) == {0, 1}
    assert set(ask(body, col("c") < 0, t.Float())) == {2}
    assert set(ask(body, col("c") >= 0, t.Float())) == {0, 1, 3, 4}
    assert set(ask(body, col("c") > 0, t.Float())) == {3, 4}
    assert set(ask(body, col("c") == float("nan"), t.Float())) == {3}


def test_a_column_of_nulls_has_no_value():
    body = body_of(t.Int(), [None] * 5)
    assert set(ask(body, col("c").is_null(), t.Int())) == set(range(5))
    assert not ask(body, col("c") < 5, t.Int())


@pytest.mark.parametrize("type", [t.Decimal(19, 0), t.Timestamp(7), t.VarBinary(), t.Array(t.Int())], ids=str)
def test_types_that_do_not_fit_are_not_accepted(type):
    assert not range_bitmap.accepts(type)


@pytest.mark.parametrize("type", [t.Decimal(18, 0), t.Timestamp(6), t.Boolean(), t.Char(3)], ids=str)
def test_types_that_fit_are_accepted(type):
    assert range_bitmap.accepts(type)


def test_a_cut_index_is_corrupt():
    body = bytes.fromhex(WORKED)
    for size in range(len(body)):
        with pytest.raises(CorruptFileError, match=r"f\.index"):
            ask(body[:size], col("c") == 2, t.Int())
