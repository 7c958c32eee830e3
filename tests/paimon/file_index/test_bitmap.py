import numpy as np
import pyarrow as pa
import pytest
from pyroaring import BitMap

from polynya.codec.bitmap import decode32, encode32
from polynya.errors import CorruptFileError, InvalidInputError
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_type
from polynya.model.bind import bind
from polynya.model.predicate import Not, col
from polynya.paimon.file_index import REMAIN, bitmap, build
from polynya.paimon.file_index.value_rows import encode_groups

INTS = [1, 2, 1, 3, None]
WORKED_INTS = (
    "02 00000005 00000003 01 fffffffb 00000012 00000001 00000001 00000000 00000028 00000003 00000001 00000000"
    "00000014 00000002 fffffffe ffffffff 00000003 fffffffc ffffffff 3a30000001000000000001001000000000000200"
)
WORKED_TEXTS = (
    "02 00000005 00000002 01 00000000 00000014 00000001 00000001 61 00000000 0000001e 00000002 00000001 61 00000014"
    "00000014 00000001 62 fffffffe ffffffff"
)


def body_of(type, values, settings=None):
    return build("bitmap", pa.array(values, to_arrow_type(type)), type, settings or {})


def ask(body, predicate, type, row_count=5):
    leaf = bind(predicate, (t.Field(0, "c", type),))
    return bitmap.evaluate(body, leaf, type, row_count, name="f.index")


def test_the_worked_index_of_numbers():
    assert body_of(t.Int(), INTS) == bytes.fromhex(WORKED_INTS)


def test_the_worked_index_of_texts():
    bitmaps = encode32(BitMap([2, 4])) + encode32(BitMap([0, 3]))
    assert body_of(t.VarChar(), ["a", "b", None, "a", None]) == bytes.fromhex(WORKED_TEXTS) + bitmaps


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize(
    ("predicate", "rows"),
    [
        (col("c") == 1, {0, 2}),
        (col("c") == 3, {3}),
        (col("c") == 9, set()),
        (col("c") != 1, {1, 3}),
        (col("c").is_in([1, 3, 9]), {0, 2, 3}),
        (Not(col("c").is_in([1, 3])), {1}),
        (col("c").is_null(), {4}),
        (col("c").is_not_null(), {0, 1, 2, 3}),
    ],
    ids=str,
)
def test_rows_are_exact_and_nulls_differ_from_nothing(version, predicate, rows):
    assert set(ask(body_of(t.Int(), INTS, {"version": version}), predicate, t.Int())) == rows


@pytest.mark.parametrize("predicate", [col("c") < 2, col("c") >= 2], ids=str)
def test_ranges_remain(predicate):
    assert ask(body_of(t.Int(), INTS), predicate, t.Int()) is REMAIN


def test_other_nanoseconds_of_the_same_microsecond_stay():
    body = build("bitmap", pa.array([1001, 1002], pa.timestamp("ns")), t.Timestamp(9), {})
    literal = pa.scalar(1001, pa.timestamp("ns"))
    assert set(ask(body, col("c") != literal, t.Timestamp(9), 2)) == {0, 1}
    assert set(ask(body, col("c") == literal, t.Timestamp(9), 2)) == {0, 1}


def test_zero_is_found_with_either_sign():
    body = body_of(t.Double(), [0.0, 1.0, -0.0, float("nan")])
    assert set(ask(body, col("c") == 0, t.Double(), 4)) == {0, 2}
    assert set(ask(body, col("c") != 0, t.Double(), 4)) == {1, 3}
    assert set(ask(body, col("c") == float("nan"), t.Double(), 4)) == {3}


@pytest.mark.parametrize("size", ["0b", "20b", "100b", "16kb"])
def test_blocks_of_any_size_are_searched(size):
    texts = [f"text {number % 70}" for number in range(140)]
    body = body_of(t.VarChar(), texts, {"index-block-size": size})
    for number in range(70):
        assert set(ask(body, col("c") == f"text {number}", t.VarChar(), 140)) == {number, number + 70}
    assert not ask(body, col("c") == "aaa", t.VarChar(), 140)
    assert not ask(body, col("c") == "zzz", t.VarChar(), 140)


def test_batches_make_the_index_of_the_whole_column():
    column = pa.array([None if number % 7 == 0 else number * number % 50 for number in range(300)], pa.int32())
    parts = (column.slice(at, 41) for at in range(0, 300, 41))
    assert build("bitmap", parts, t.Int(), {}) == build("bitmap", column, t.Int(), {})


@pytest.mark.parametrize("step", [1, 2, 3, 700, 70_000])
def test_groups_of_rows_are_encoded_as_one_by_one(step):
    random = np.random.default_rng(step)
    groups = [np.unique(random.integers(0, 60 * step, size)) for size in (2, 3, 40, 50, 3000)]
    groups += [np.arange(10, 30), np.arange(0, 200_000, 2), np.array([1, 2, 3, 65536, 65537, 65538])]
    encoded = encode_groups(np.concatenate(groups), np.array([len(group) for group in groups]))
    assert [decode32(one, name="f") for one in encoded.to_pylist()] == [BitMap(group.tolist()) for group in groups]
    assert encoded.to_pylist() == [encode32(BitMap(group.tolist())) for group in groups]


@pytest.mark.parametrize(
    ("settings", "problem"),
    [({"version": "3"}, "'version' must be 1 or 2"), ({"index-block-size": "big"}, "must be a size")],
    ids=str,
)
def test_settings_that_cannot_be_are_refused(settings, problem):
    with pytest.raises(InvalidInputError, match=problem):
        bitmap.Writer(t.Int(), settings)


def test_an_index_of_another_number_of_rows_is_corrupt():
    with pytest.raises(CorruptFileError, match=r"f\.index.* 6 rows, found 5"):
        ask(body_of(t.Int(), INTS), col("c") == 1, t.Int(), 6)


def test_a_row_beyond_the_file_is_corrupt():
    body = bytes.fromhex(WORKED_INTS)
    with pytest.raises(CorruptFileError, match=r"f\.index"):
        ask(body[:-2] + b"\x07\x00", col("c") == 1, t.Int())
