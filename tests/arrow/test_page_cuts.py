"""Pages that a filter rules out are not read, and no row is lost by it."""

import contextlib
import io
import math
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from polynya.arrow import files
from polynya.arrow.files import page_cuts
from polynya.errors import CorruptFileError
from polynya.model import evaluate
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_schema
from polynya.model.bind import bind
from polynya.model.predicate import Compare, In, IsNotNull, IsNull, Like, Not, Op, all_of, any_of, col
from polynya.storage.memory import MemoryStorage

ROWS = 3000
FIELDS = (
    t.Field(0, "id", t.BigInt()),
    t.Field(1, "tiny", t.TinyInt()),
    t.Field(2, "real", t.Double()),
    t.Field(3, "name", t.VarChar()),
    t.Field(4, "price", t.Decimal(9, 2)),
    t.Field(5, "wide", t.Decimal(30, 2)),
    t.Field(6, "day", t.Date()),
    t.Field(7, "seen", t.Timestamp(6)),
    t.Field(8, "flag", t.Boolean()),
    t.Field(9, "home", t.Row((t.Field(10, "zip", t.Int()), t.Field(11, "at", t.Row((t.Field(12, "x", t.Float()),)))))),
    t.Field(13, "none", t.Int()),
)
LISTS = t.Field(14, "tags", t.Array(t.VarChar()))


def thousands():
    """Rows whose columns rise, jump and repeat in ways of their own, so that the pages differ."""
    numbers = range(ROWS)
    reals = [math.nan if n % 997 == 0 else n / 7 - 100 for n in numbers]
    return pa.Table.from_arrays(
        [
            pa.array(numbers, pa.int64()),
            pa.array([n // 25 - 60 for n in numbers], pa.int8()),
            pa.array(reals, pa.float64()),
            pa.array([None if n % 11 == 0 else f"name {n:05} é𝒳" + "x" * (n % 90) for n in numbers]),
            pa.array([Decimal(n - 1500).scaleb(-2) for n in numbers], pa.decimal128(9, 2)),
            pa.array([Decimal(n - 1500).scaleb(20).scaleb(-2) for n in numbers], pa.decimal128(30, 2)),
            pa.array([date.fromordinal(719163 + n // 10) for n in numbers]),
            pa.array([n * 10**9 for n in numbers], pa.timestamp("us")),
            pa.array([n % 3 == 0 for n in numbers]),
            pa.array(
                [None if n // 400 == 2 else {"zip": None if n % 5 == 0 else n, "at": {"x": n / 3}} for n in numbers],
                to_arrow_schema(FIELDS)[9].type,
            ),
            pa.array([n if 1200 <= n < 1300 else None for n in numbers], pa.int32()),
        ],
        schema=to_arrow_schema(FIELDS),
    )


def parquet_bytes(table, **options):
    sink = io.BytesIO()
    settings = {"write_page_index": True, "row_group_size": 1700, "write_batch_size": 64, "data_page_size": 512}
    pq.write_table(table, sink, **settings | options)
    return sink.getvalue()


TABLE = thousands()
VARIANTS = {
    "plain": parquet_bytes(TABLE, use_dictionary=False),
    "dictionary": parquet_bytes(TABLE, max_rows_per_page=100, store_decimal_as_integer=True),
    "v2": parquet_bytes(TABLE, data_page_version="2.0", compression="zstd", max_rows_per_page=70),
    "no index": parquet_bytes(TABLE, write_page_index=False),
}


@pytest.fixture(autouse=True)
def every_file_is_worth_it(monkeypatch):
    monkeypatch.setattr(page_cuts, "ROW_GROUP_BYTES_MIN", 0)
    monkeypatch.setattr(page_cuts, "_FOOTER_RATIO_MIN", 0)
    monkeypatch.setattr(page_cuts, "_FAR_LEAF_BYTES", 0)


def read(data, predicate, columns=FIELDS, fields=FIELDS, rows=500):
    store = MemoryStorage()
    store.put("x.parquet", data)
    arguments = {"file_fields": fields, "columns": columns, "size": files.BatchSize(rows=rows)}
    return list(files.read(store, "x.parquet", format="parquet", predicate=bind(predicate, fields), **arguments))


def is_same(batch, table):
    """Whether both hold the same rows; NaN is the same as itself."""
    pairs = zip(batch.columns, (column.combine_chunks() for column in table.columns), strict=True)
    return all(
        one.view(pa.int64()).equals(other.view(pa.int64())) if one.type == pa.float64() else one.equals(other)
        for one, other in pairs
    )


def positions(batches):
    return [row for first, batch in batches for row in range(first, first + batch.num_rows)]


@pytest.mark.parametrize("variant", ["plain", "dictionary", "v2"])
def test_only_pages_that_may_match_are_read(variant):
    found = read(VARIANTS[variant], col("id").between(1000, 1010))
    assert len(positions(found)) < 400
    assert set(range(1000, 1011)) <= set(positions(found))


def test_pages_of_members_prune_too():
    found = read(VARIANTS["dictionary"], col("home.zip") == 2000, FIELDS[:1])
    assert 2000 in positions(found)
    assert len(positions(found)) <= 200


def test_null_pages_are_left_out_and_found():
    some = read(VARIANTS["dictionary"], col("none").is_not_null(), FIELDS[:1])
    assert positions(some) == list(range(1200, 1300))
    near = col("none").is_null() & col("id").between(1150, 1349)
    others = set(positions(read(VARIANTS["dictionary"], near, FIELDS[:1])))
    assert {*range(1150, 1200), *range(1300, 1350)} <= others
    assert others.isdisjoint(range(1200, 1300))


def test_a_filter_that_leaves_nothing_reads_nothing():
    assert read(VARIANTS["dictionary"], (col("id") > 100) & (col("id") < 100)) == []


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_column_that_is_asked_for_and_not_filtered_by_comes_with_its_rows(variant):
    for first, batch in read(VARIANTS[variant], col("id").is_in([5, 1699, 1700, 2999])):
        assert is_same(batch, TABLE.slice(first, batch.num_rows))
        batch.validate(full=True)


def test_lists_are_read_by_row_groups():
    table = TABLE.select(["id"]).append_column("tags", pa.array([["a"] * (n % 3) for n in range(ROWS)]))
    found = read(parquet_bytes(table), col("id") == 7, (FIELDS[0], LISTS), (FIELDS[0], LISTS))
    assert len(positions(found)) == 1700


LEAVES = [
    *(("id", value) for value in (-1, 0, 5, 1699, 1700, 2500, 2999, 3000)),
    *(("tiny", value) for value in (-60, -1, 0, 59, 60)),
    *(("real", value) for value in (-100.0, 0.0, -0.0, 200.5, math.nan, math.inf, 1e9)),
    *(("name", value) for value in ("", "name 00000", "name 01500 é𝒳", "name 02", "z")),
    *(("price", value) for value in (Decimal("-15"), Decimal("0.01"), Decimal("14.99"), Decimal(99))),
    *(("wide", value) for value in (Decimal("-1500e18"), Decimal(0), Decimal("1e20"))),
    *(("day", value) for value in (date(1970, 1, 1), date(1970, 6, 1), date(1971, 1, 1))),
    *(("seen", value) for value in (datetime(1970, 1, 1), datetime(1970, 1, 15), datetime(2020, 1, 1))),
    *(("flag", value) for value in (True, False)),
    *(("home.zip", value) for value in (0, 799, 800, 1200, 2999)),
    *(("home.at.x", value) for value in (0.0, 333.25, 1e6)),
    *(("none", value) for value in (0, 1200, 1250, 5000)),
]


@st.composite
def leaves(draw):
    name, value = draw(st.sampled_from(LEAVES))
    path = col(name).path
    others = [other for column, other in LEAVES if column == name]
    shapes = [Compare(draw(st.sampled_from(list(Op))), path, value), IsNull(path), IsNotNull(path)]
    shapes.append(In(path, tuple(draw(st.lists(st.sampled_from(others), min_size=1, max_size=3)))))
    if name == "name":
        shapes.append(Like(path, value + "%"))
    leaf = draw(st.sampled_from(shapes))
    return Not(leaf) if draw(st.booleans()) else leaf


PREDICATES = st.recursive(
    leaves(),
    lambda inner: st.lists(inner, min_size=1, max_size=3).flatmap(
        lambda parts: st.sampled_from([all_of(*parts), any_of(*parts), Not(all_of(*parts))])
    ),
    max_leaves=5,
)


@settings(max_examples=80, deadline=None)
@given(PREDICATES, st.sampled_from(list(VARIANTS)), st.sampled_from([FIELDS, FIELDS[:1], (FIELDS[9], FIELDS[3])]))
def test_no_row_that_matches_is_lost(predicate, variant, columns):
    found = read(VARIANTS[variant], predicate, columns)
    matching = np.flatnonzero(evaluate.mask(bind(predicate, FIELDS), TABLE))
    assert set(matching.tolist()) <= set(positions(found))
    for first, batch in found:
        assert is_same(batch, TABLE.select([field.name for field in columns]).slice(first, batch.num_rows))


def test_bounds_of_another_type_than_the_schema_has_prune_nothing():
    fields = (t.Field(0, "id", t.Timestamp(3)),)
    table = pa.table({"id": pa.array([n * 1000 for n in range(ROWS)], pa.timestamp("us"))})
    data = parquet_bytes(table, row_group_size=ROWS)
    found = read(data, Compare(Op.EQ, ("id",), datetime(1970, 1, 1)), fields, fields)
    assert len(positions(found)) == ROWS


def test_an_unsigned_column_prunes_no_page():
    fields = (t.Field(0, "id", t.BigInt()),)
    table = pa.table({"id": pa.array(range(ROWS), pa.uint32())})
    with pytest.raises(CorruptFileError, match="expected int64, found uint32"):
        read(parquet_bytes(table), col("id") == 5, fields, fields)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 4000), st.integers(1, 255))
@example(3404, 1)  # the codec of a column is gone
@example(2719, 4)  # a list of bools
def test_damage_of_index_or_footer_is_found_or_harmless(back, flip):
    data = bytearray(VARIANTS["dictionary"])
    data[len(data) - 1 - back] ^= flip
    with contextlib.suppress(CorruptFileError):
        read(bytes(data), col("id").between(1000, 1010))
