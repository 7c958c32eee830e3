"""Random tables and random predicates over them, for the tests of filters and pruning."""

import math
from collections.abc import Collection
from datetime import date, datetime, time
from decimal import Decimal

import pyarrow as pa
from hypothesis import strategies as st

from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_schema
from polynya.model.bind import columns
from polynya.model.predicate import (
    FALSE,
    TRUE,
    Compare,
    In,
    IsNotNull,
    IsNull,
    Like,
    Not,
    Op,
    Path,
    Predicate,
    all_of,
    any_of,
)

FIELDS = (
    t.Field(0, "flag", t.Boolean()),
    t.Field(1, "tiny", t.TinyInt()),
    t.Field(2, "count", t.Int()),
    t.Field(3, "big", t.BigInt()),
    t.Field(4, "price", t.Decimal(5, 2)),
    t.Field(5, "wide", t.Decimal(25, 3)),
    t.Field(6, "real", t.Float()),
    t.Field(7, "amount", t.Double()),
    t.Field(8, "name", t.VarChar()),
    t.Field(9, "code", t.VarChar(4)),
    t.Field(10, "raw", t.VarBinary()),
    t.Field(11, "day", t.Date()),
    t.Field(12, "clock", t.Time(3)),
    t.Field(13, "seen", t.Timestamp(6)),
    t.Field(14, "coarse", t.Timestamp(3)),
    t.Field(15, "home", t.Row((t.Field(16, "zip", t.Int()), t.Field(17, "city", t.VarChar())))),
)
TYPES: dict[Path, t.DataType] = {(field.name,): field.type for field in FIELDS if not t.is_nested(field.type)} | {
    ("home", "zip"): t.Int(),
    ("home", "city"): t.VarChar(),
}

_WHOLE = st.one_of(
    st.integers(-3, 3),
    st.sampled_from([-129, -128, 127, 128, 999, 2**31 - 1, 2**31, -(2**31) - 1, 2**53, 2**53 + 1, 2**63 - 1, 2**64]),
)
_FRACTIONS = st.sampled_from([Decimal(text) for text in ("1.5", "-0.5", "0.01", "2.00", "999.99", "1000", "0.125")])
_FLOATS = st.sampled_from(
    [0.0, -0.0, 1.5, 0.5, -2.25, 0.1, 3.0, 1e10, 2.0**53, 1e300, math.inf, -math.inf, math.nan, 16777217.0]
)
_TEXTS = st.one_of(
    st.sampled_from(["", "a", "ab", "b", "a%b", "a_b", "é", "𝒳", "\\"]), st.text("ab%_\\'é𝒳\n", max_size=4)
)
_BYTES = st.binary(max_size=2)
_DAYS = st.dates(date(1969, 12, 28), date(1970, 1, 4))
_CLOCKS = st.sampled_from([time(0), time(12, 30), time(23, 59, 59, 999000)])
_FINE_CLOCKS = st.one_of(_CLOCKS, st.sampled_from([time(12, 30, 0, 500), time(0, 0, 0, 1)]))
_MOMENTS = st.datetimes(datetime(1969, 12, 31, 23), datetime(1970, 1, 1, 1))


def _values(type: t.DataType) -> st.SearchStrategy[object]:
    """Values that a column of the type can hold."""
    match type:
        case t.Boolean():
            return st.booleans()
        case t.TinyInt():
            return st.one_of(st.integers(-3, 3), st.sampled_from([-128, 127]))
        case t.Int():
            return st.one_of(st.integers(-3, 3), st.sampled_from([-(2**31), 2**31 - 1]))
        case t.BigInt():
            return st.one_of(st.integers(-3, 3), st.sampled_from([2**53, 2**53 + 1, 2**63 - 1, -(2**63)]))
        case t.Decimal(precision=5):
            return st.decimals(-3, 3, places=2) | st.sampled_from([Decimal("999.99"), Decimal("0.10")])
        case t.Decimal():
            return st.decimals(-3, 3, places=3) | st.just(Decimal("9007199254740993.000"))
        case t.Float() | t.Double():
            return _FLOATS
        case t.VarChar():
            return _TEXTS
        case t.VarBinary():
            return _BYTES
        case t.Date():
            return _DAYS
        case t.Time():
            return _CLOCKS
        case t.Timestamp(precision=3):
            return _MOMENTS.map(lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000))
        case _:
            return _MOMENTS


def literals(type: t.DataType, *, floats: bool) -> st.SearchStrategy[object]:
    """Literals that may be compared with a column of the type, also ones that it cannot hold."""
    match type:
        case t.TinyInt() | t.Int() | t.BigInt() | t.Decimal():
            return st.one_of(_WHOLE, _FRACTIONS, *([_FLOATS] if floats else []))
        case t.Float() | t.Double():
            return st.one_of(_FLOATS, st.integers(-3, 3), _FRACTIONS)
        case t.Date():
            return st.one_of(_DAYS, _MOMENTS, _DAYS.map(str))
        case t.Time():
            return _FINE_CLOCKS
        case t.Timestamp():
            return st.one_of(_MOMENTS, _DAYS, _MOMENTS.map(str))
        case _:
            return _values(type)


_ROW = st.fixed_dictionaries({"zip": st.none() | _values(t.Int()), "city": st.none() | _TEXTS})


def columns_of(names: Collection[str], max_size: int = 8) -> st.SearchStrategy[pa.Table]:
    """Tables of some of the FIELDS, with many nulls and repeated values."""
    chosen = [field for field in FIELDS if field.name in names] or [FIELDS[0]]
    values = [st.none() | (_ROW if t.is_nested(field.type) else _values(field.type)) for field in chosen]
    schema = to_arrow_schema(tuple(chosen))
    return st.lists(st.tuples(*values), max_size=max_size).map(
        lambda rows: pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)
    )


@st.composite
def cases(draw: st.DrawFn, floats: bool = False, max_size: int = 8) -> tuple[Predicate, pa.Table]:
    """A predicate and a table of the columns that it looks at."""
    predicate = draw(predicates(floats=floats))
    return predicate, draw(columns_of({path[0] for path in columns(predicate)}, max_size))


@st.composite
def patterns(draw: st.DrawFn) -> str:
    """Valid LIKE patterns with the escape character `\\`."""
    pieces = st.sampled_from(["a", "b", "é", "𝒳", "%", "_", "\\%", "\\_", "\\\\", "\n", "'"])
    return "".join(draw(st.lists(pieces, max_size=5)))


@st.composite
def leaves(draw: st.DrawFn, floats: bool = False, nulls: bool = True) -> Predicate:
    """A comparison of one column."""
    path = draw(st.sampled_from(sorted(TYPES)))
    type = TYPES[path]
    literal = literals(type, floats=floats)
    if nulls:
        literal = st.one_of(literal, literal, literal, literal, st.none())
    kind = draw(st.sampled_from(["compare", "compare", "compare", "in", "null", "not null", "like"]))
    if kind == "in":
        return In(path, tuple(draw(st.lists(literal, min_size=1, max_size=4))))
    if kind == "null":
        return IsNull(path)
    if kind == "not null":
        return IsNotNull(path)
    if kind == "like" and isinstance(type, t.VarChar):
        return Like(path, draw(patterns()))
    return Compare(draw(st.sampled_from(list(Op))), path, draw(literal))


def predicates(floats: bool = False) -> st.SearchStrategy[Predicate]:
    """Trees of comparisons; `floats` allows float literals for integers and decimals."""
    return st.recursive(
        st.one_of(leaves(floats=floats), leaves(floats=floats), leaves(floats=floats), st.sampled_from([TRUE, FALSE])),
        lambda inner: st.one_of(
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: all_of(*parts)),
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: any_of(*parts)),
            inner.map(Not),
        ),
        max_leaves=6,
    )
