import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_type
from polynya.model.bind import bind, columns
from polynya.model.evaluate import mask
from polynya.model.like import after_prefix
from polynya.model.predicate import FALSE, Compare, In, Op, col
from polynya.model.predicate_parser import parse
from polynya.table.prune import ColumnStats, bucket_candidates, may_match, partition_mask
from predicate_cases import FIELDS, cases, columns_of, predicates


def bounds_of(values: list, *, counts_nan: bool, cut: int | None) -> tuple:
    """The statistics of one column in one group, as a writer of Paimon files keeps them."""
    present = [value for value in values if value is not None]
    numbers = [value for value in present if value == value]
    null_count = len(values) - len(present)
    if not numbers:
        return None, (math.nan if present and counts_nan else None), null_count
    low, high = min(numbers), max(numbers)
    if counts_nan and len(numbers) < len(present):
        high = math.nan
    if cut is not None and isinstance(low, str):
        low, high = low[:cut], (high if len(high) <= cut else after_prefix(high[:cut]))
        low = None if high is None else low
    return low, high, null_count


def statistics(groups: list[pa.Table], name: str, *, counts_nan: bool, cut: int | None) -> ColumnStats:
    type = groups[0].schema.field(name).type
    found = [bounds_of(group.column(name).to_pylist(), counts_nan=counts_nan, cut=cut) for group in groups]
    low, high, null_count = zip(*found, strict=True)
    return ColumnStats(
        pa.array(low, type), pa.array(high, type), pa.array(null_count, pa.int64()), has_nan_in_max=counts_nan
    )


@settings(max_examples=200, deadline=None)
@given(data=st.data(), counts_nan=st.booleans(), cut=st.sampled_from([None, 1, 2]))
def test_a_group_with_a_matching_row_is_never_dropped(data, counts_nan, cut):
    bound = bind(data.draw(predicates(floats=True)), FIELDS)
    names = sorted({path[0] for path in columns(bound)})
    groups = data.draw(st.lists(columns_of(names, 3), min_size=1, max_size=4))
    known = [name for name in names if name != "home" and data.draw(st.booleans() | st.just(True))]
    stats = {name: statistics(groups, name, counts_nan=counts_nan, cut=cut) for name in known}
    row_count = pa.array([group.num_rows for group in groups], pa.int64())
    kept = may_match(bound, stats, row_count)
    assert kept.dtype == np.bool_
    for group, keep in zip(groups, kept, strict=True):
        assert keep or not any(mask(bound, group).to_pylist())


def group_stats(type: t.DataType, *groups: tuple, **more: object) -> ColumnStats:
    arrow = to_arrow_type(type)
    low, high, null_count = zip(*groups, strict=True)
    return ColumnStats(pa.array(low, arrow), pa.array(high, arrow), pa.array(null_count, pa.int64()), **more)


def decide(text: str, type: t.DataType, *groups: tuple, **more: object) -> list[bool]:
    """Decisions on groups (min, max, null count) of ten rows of column c."""
    bound = bind(parse(text), [t.Field(0, "c", type)])
    stats = {"c": group_stats(type, *groups, **more)}
    return may_match(bound, stats, pa.array([10] * len(groups), pa.int64())).tolist()


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("c = 5", [True, True, False, False, True]),
        ("c > 5", [True, False, True, False, True]),
        ("c >= 5", [True, True, True, False, True]),
        ("c < 5", [True, False, False, False, True]),
        ("c <= 5", [True, True, False, False, True]),
        ("c <> 5", [True, False, True, False, True]),
        ("c in (4, 5)", [True, True, False, False, True]),
        ("c in (0, 20)", [False, False, False, False, True]),
        ("c not in (4, 5)", [True, False, True, False, True]),
        ("c is null", [False, True, False, True, True]),
        ("c is not null", [True, True, True, False, True]),
        ("not (c < 5 or c > 5)", [True, True, False, False, True]),
        ("c = 5 and c is null", [False, True, False, False, True]),
        ("c > 100 or c is null", [False, True, False, True, True]),
        ("false", [False, False, False, False, False]),
        ("true", [True, True, True, True, True]),
    ],
)
def test_bounds_decide(text, kept):
    spread, single, above, nulls, unknown = (1, 9, 0), (5, 5, 2), (6, 9, 0), (None, None, 10), (None, None, None)
    assert decide(text, t.Int(), spread, single, above, nulls, unknown) == kept


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("c like 'b%'", [False, True, True, False]),
        ("c like 'b%x'", [False, True, True, False]),
        ("c like 'bb'", [False, True, True, False]),
        ("c not like 'b%'", [True, False, True, True]),
        ("c not like 'b%x'", [True, True, True, True]),
        ("c like '%b'", [True, True, True, True]),
    ],
)
def test_a_pattern_prunes_by_its_prefix(text, kept):
    assert decide(text, t.VarChar(), ("a", "az", 0), ("ba", "bz", 3), ("a", "c", 0), ("c", "d", 0)) == kept


def test_a_large_list_prunes_by_each_value():
    values = list(range(0, 1000, 10))
    bound = bind(In(("c",), tuple(values)), [t.Field(0, "c", t.Int())])
    groups = [(1, 9, 0), (1, 10, 0), (985, 2000, 0), (991, 2000, 0), (None, 5, 0), (None, -5, 0), (5, None, 0)]
    kept = may_match(bound, {"c": group_stats(t.Int(), *groups)}, pa.array([10] * len(groups)))
    assert kept.tolist() == [False, True, True, False, True, False, True]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(-200, 200), min_size=33, max_size=60, unique=True),
    st.lists(st.tuples(st.integers(-250, 250), st.integers(0, 9)), min_size=1, max_size=9),
)
def test_a_large_list_is_the_union_of_small_ones(values, spans):
    field = t.Field(0, "c", t.Decimal(10, 2))
    stats = {"c": group_stats(field.type, *((Decimal(low), Decimal(low + width), 0) for low, width in spans))}
    row_count = pa.array([5] * len(spans))
    large = may_match(bind(In(("c",), tuple(values)), [field]), stats, row_count)
    small = [may_match(bind(In(("c",), (value,)), [field]), stats, row_count) for value in values]
    assert large.tolist() == np.any(small, axis=0).tolist()


def test_nan_is_above_a_maximum_that_leaves_it_out():
    assert decide("c > 5", t.Double(), (1.0, 3.0, 0)) == [True]
    assert decide("c > 5", t.Double(), (1.0, 3.0, 0), has_nan_in_max=True) == [False]
    assert decide("c <> 3", t.Double(), (3.0, 3.0, 0)) == [True]
    assert decide("c < 1", t.Double(), (1.0, 3.0, 0)) == [False]
    assert decide("c = 5", t.Double(), (1.0, 3.0, 0)) == [False]


def test_a_nan_bound_is_unknown():
    both = {"has_nan_in_max": True}
    assert decide("c > 5", t.Double(), (1.0, math.nan, 0), **both) == [True]
    assert decide("c = 5", t.Double(), (1.0, math.nan, 0), **both) == [True]
    assert decide("c < 1", t.Double(), (1.0, math.nan, 0), **both) == [False]
    assert decide("c = cast('NaN' as double)", t.Double(), (1.0, math.nan, 0), **both) == [True]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("c = 'abc'", [True, False]),
        ("c <= 'abc'", [True, False]),
        ("c < 'abc '", [True, False]),
        ("c in ('abc', 'zz')", [True, False]),
        ("c <> 'abc  '", [True, True]),
        ("c not in ('abc  ', 'x')", [True, True]),
        ("c not like 'abc %'", [True, True]),
        ("c < 'abb'", [False, False]),
        ("c < 'abc\\t'", [True, False]),
        ("c in ('abb', 'zz')", [False, False]),
    ],
)
def test_blanks_that_pad_a_minimum_hide_no_text(text, kept):
    assert decide(text, t.Char(5), ("abc  ", "abc  ", 0), ("b", "c", 0)) == kept


@settings(max_examples=150, deadline=None)
@given(
    data=st.data(),
    values=st.lists(st.text("\x01 !ab", max_size=3).map(lambda text: text.rstrip(" ")), min_size=1, max_size=4),
)
def test_padded_texts_are_never_lost(data, values):
    padded = [value.ljust(3) for value in values]
    literal = st.text("\x01 !ab", max_size=4)
    predicate = data.draw(
        st.one_of(
            st.builds(Compare, st.sampled_from(list(Op)), st.just(("c",)), literal),
            st.builds(In, st.just(("c",)), st.lists(literal, min_size=2, max_size=4).map(tuple)),
            literal.map(lambda text: col("c").starts_with(text)),
        )
    )
    predicate = data.draw(st.sampled_from([predicate, ~predicate]))
    bound = bind(predicate, [t.Field(0, "c", t.Char(3))])
    kept = may_match(bound, {"c": group_stats(t.Char(3), (min(padded), max(padded), 0))}, pa.array([len(values)]))
    assert kept[0] or not any(mask(bound, pa.table({"c": values})).to_pylist())


def test_zeros_of_both_signs_meet():
    assert decide("c = 0", t.Double(), (-0.0, -0.0, 0)) == [True]
    assert decide("c < 0", t.Double(), (-0.0, 1.0, 0)) == [False]


def test_a_column_without_statistics_prunes_nothing():
    bound = bind(parse("c = 5 and d = 6"), [t.Field(0, "c", t.Int()), t.Field(1, "d", t.Int())])
    assert may_match(bound, {"c": None}, pa.array([1, None])).tolist() == [True, True]


@settings(max_examples=25, deadline=None)
@given(cases())
def test_partitions_are_matched_exactly(case):
    predicate, rows = case
    bound = bind(predicate, FIELDS)
    assert partition_mask(bound, rows).tolist() == mask(bound, rows).to_pylist()


KEY = (t.Field(0, "a", t.Int()), t.Field(1, "b", t.VarChar()))


def candidates(text: str, key: tuple = KEY, **more: int) -> list | None:
    found = bucket_candidates(bind(parse(text), [*key, t.Field(9, "other", t.Int())]), key, **more)
    return None if found is None else sorted(map(tuple, (row.values() for row in found.to_pylist())))


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("a = 1 and b = 'x'", [(1, "x")]),
        ("a in (1, 2) and b = 'x' and other > 3", [(1, "x"), (2, "x")]),
        ("a = 1 and b in ('x', 'y') and a in (1, 5)", [(1, "x"), (1, "y")]),
        ("a = 1 and a = 2 and b = 'x'", []),
        ("(a = 1 or a = 2) and b = 'x'", [(1, "x"), (2, "x")]),
        ("(a = 1 and b = 'x') or (a = 2 and b = 'y')", [(1, "x"), (1, "y"), (2, "x"), (2, "y")]),
        ("a = 1.5 and b = 'x'", []),
        ("a = 1", None),
        ("a > 1 and b = 'x'", None),
        ("a is null and b = 'x'", None),
        ("(a = 1 or other = 2) and b = 'x'", None),
        ("a not in (1, 2) and b = 'x'", None),
    ],
)
def test_equalities_on_the_whole_bucket_key_give_its_values(text, keys):
    assert candidates(text) == keys


def test_too_many_bucket_keys_are_not_listed():
    assert len(candidates("a in (1, 2, 3) and b in ('x', 'y')", limit=6)) == 6
    assert candidates("a in (1, 2, 3) and b in ('x', 'y')", limit=5) is None


def test_a_zero_key_has_two_spellings_and_nan_too_many():
    key = (t.Field(0, "x", t.Double()),)
    assert sorted(map(str, candidates("x = 0", key))) == ["(-0.0,)", "(0.0,)"]
    assert candidates("x = cast('NaN' as double)", key) is None


def test_bucket_keys_have_the_types_of_the_key():
    table = bucket_candidates(bind(parse("a = 1 and b = 'x'"), KEY), KEY)
    assert table.schema == pa.schema([("a", pa.int32()), ("b", pa.string())])
    assert bucket_candidates(FALSE, KEY).num_rows == 0
    assert bucket_candidates(bind(col("a") == 1, KEY), ()) is None


def test_deciding_on_many_groups_takes_no_loop():
    count = 200_000
    low = pa.array(np.arange(count), pa.int64())
    stats = {"c": ColumnStats(low, pc.add(low, 10), pa.array(np.zeros(count), pa.int64()))}
    bound = bind(parse("c between 100 and 105 or c in (7, 100000)"), [t.Field(0, "c", t.BigInt())])
    assert may_match(bound, stats, pa.array(np.full(count, 10), pa.int64())).sum() == 16 + 8 + 11
