import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from index_cases import GOLDEN, golden_indexes, golden_schema, rows_of
from polynya.errors import CorruptFileError, InvalidInputError
from polynya.model import types as t
from polynya.model.bind import bind
from polynya.model.evaluate import mask
from polynya.model.predicate import FALSE, TRUE, Not, col
from polynya.paimon import file_index as fi
from polynya.paimon.file_index import REMAIN, SKIP
from polynya.paimon.file_index.result import both, either
from predicate_cases import FIELDS, cases

SETTINGS = {
    "bloom-filter": {"items": "20"},
    "bitmap": {"index-block-size": "30b"},
    "bsi": {},
    "range-bitmap": {"chunk-size": "9b"},
}
A = t.Field(0, "a", t.Int())
B = t.Field(1, "b", t.VarChar())


def container_of(table, kinds, version="2"):
    """The indexes of all columns that take them; a bsi that cannot hold its values is left out."""
    columns = {}
    for field in (field for field in FIELDS if field.name in table.column_names):
        for kind in kinds:
            if fi.KINDS[kind].accepts(field.type):
                own = SETTINGS[kind] | ({"version": version} if kind == "bitmap" else {})
                try:
                    body = fi.build(kind, table.column(field.name).chunks, field.type, own)
                except InvalidInputError:
                    continue
                columns.setdefault(field.name, {})[kind] = body
    return fi.decode(fi.encode(columns), "f.index")


@settings(max_examples=300, deadline=None)
@given(
    cases(floats=True, max_size=12),
    st.sets(st.sampled_from(sorted(fi.KINDS)), min_size=1),
    st.sampled_from(["1", "2"]),
)
def test_no_matching_row_is_lost(case, kinds, version):
    predicate, table = case
    bound = bind(predicate, FIELDS)
    index = container_of(table, kinds, version)
    found = rows_of(fi.evaluate(index, bound, FIELDS, table.num_rows), table.num_rows)
    assert set(mask(bound, table).to_numpy(zero_copy_only=False).nonzero()[0].tolist()) <= found


@pytest.mark.parametrize("table", GOLDEN)
def test_every_value_of_a_golden_table_is_found(table):
    fields = golden_schema(table).fields
    for index, rows in golden_indexes(table):
        for field in (field for field in fields if index.types(field.name)):
            for value in rows.column(field.name):
                question = col(field.name) == value if value.is_valid else col(field.name).is_null()
                bound = bind(question, fields)
                matching = set(mask(bound, rows).to_numpy(zero_copy_only=False).nonzero()[0].tolist())
                found = rows_of(fi.evaluate(index, bound, fields, rows.num_rows), rows.num_rows)
                assert matching <= found
                assert matching == found or index.types(field.name) == ("bloom-filter",)


def index_of_both():
    a, b = pa.array([1, 2, 3, None], pa.int32()), pa.array(["x", "y", None, "x"])
    bodies = {"a": {"range-bitmap": fi.build("range-bitmap", a, A.type, {})}}
    bodies["b"] = {"bitmap": fi.build("bitmap", b, B.type, {})}
    return fi.decode(fi.encode(bodies), "f.index")


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ((col("a") > 1) & (col("b") == "x"), SKIP),
        ((col("a") > 1) & (col("b") == "y"), BitMap([1])),
        ((col("a") > 2) | (col("b") == "x"), BitMap([0, 2, 3])),
        ((col("a") > 2) | (col("c") == 1), REMAIN),
        ((col("a") > 2) & (col("c") == 1), BitMap([2])),
        ((col("a") > 9) | (col("b") == "q"), SKIP),
        (col("a").is_null() | col("a").is_not_null(), REMAIN),
        (Not(col("b").is_in(["x", "q"])), BitMap([1])),
        (TRUE, REMAIN),
        (FALSE, SKIP),
    ],
    ids=str,
)
def test_results_combine(predicate, expected):
    fields = (A, B, t.Field(2, "c", t.Int()))
    assert fi.evaluate(index_of_both(), bind(predicate, fields), fields, 4) == expected


def test_remain_is_neutral_for_and_and_absorbs_in_or():
    rows = BitMap([1])
    assert [both(REMAIN, rows), both(rows, REMAIN), both(SKIP, rows), both(rows, SKIP)] == [rows, rows, SKIP, SKIP]
    assert [either(REMAIN, rows), either(rows, SKIP), either(SKIP, rows)] == [REMAIN, rows, rows]
    assert both(rows, BitMap([2])) is SKIP


def test_all_indexes_of_a_column_count():
    column = pa.array([1, 2, 3], pa.int32())
    bodies = {kind: fi.build(kind, column, A.type, {}) for kind in ("bitmap", "range-bitmap")}
    index = fi.decode(fi.encode({"a": bodies}), "f.index")
    assert fi.evaluate(index, bind(col("a") >= 2, (A,)), (A,), 3) == BitMap([1, 2])
    assert fi.evaluate(index, bind(col("a") == 2, (A,)), (A,), 3) == BitMap([1])


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        (col("a") == 1, SKIP),
        (col("a") < 1, SKIP),
        (col("a").is_in([1, 2]), SKIP),
        (col("a").is_not_null(), SKIP),
        (col("a") != 1, REMAIN),
        (Not(col("a").is_in([1, 2])), REMAIN),
        (col("a").is_null(), REMAIN),
    ],
    ids=str,
)
def test_an_index_over_no_row_has_no_value(predicate, expected):
    index = fi.decode(fi.encode({"a": {"bitmap": None}}), "f.index")
    assert fi.evaluate(index, bind(predicate, (A,)), (A,), 3) is expected


def test_kinds_and_columns_that_are_not_known_say_nothing():
    index = fi.decode(fi.encode({"a": {"other": b"?"}, "m[k]": {"bitmap": b"?"}}), "f.index")
    fields = (A, t.Field(1, "m[k]", t.Int()))
    assert fi.evaluate(index, bind((col("a") == 1) & (col("m[k]") == 1), fields), fields, 3) is REMAIN


def test_more_rows_than_31_bits_count_remain():
    index = index_of_both()
    assert fi.evaluate(index, bind(col("a") == 9, (A, B)), (A, B), 2**31) is REMAIN


FLIPS_MAX = 400


def damaged(data):
    """Copies of the data cut short or with one bit turned, all over it."""
    step = len(data) // FLIPS_MAX + 1
    for at in range(0, len(data), step):
        yield data[:at] + bytes([data[at] ^ 1 << at // step % 8]) + data[at + 1 :]
    for at in range(0, len(data), 5 * step):
        yield data[:at]


def ask_all(data, questions, fields, row_count):
    """The name in the error, or None when all questions have an answer."""
    try:
        index = fi.decode(data, "f.index")
        for question in questions:
            fi.evaluate(index, question, fields, row_count)
    except CorruptFileError as error:
        return str(error)
    return None


@pytest.mark.parametrize("table", GOLDEN)
def test_damage_is_an_error_that_names_the_file_or_an_answer(table):
    fields = golden_schema(table).fields
    index, rows = golden_indexes(table)[-1]
    values = {name: rows.column(name).drop_null()[:1].to_pylist() for name in rows.column_names if index.types(name)}
    questions = [bind(col(name) <= value[0], fields) for name, value in values.items() if value]
    questions += [bind(col(name) == value[0], fields) for name, value in values.items() if value]
    errors = [ask_all(data, questions, fields, rows.num_rows) for data in damaged(index.data)]
    assert all("f.index" in error for error in errors if error is not None)
