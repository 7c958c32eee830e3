from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_type
from polynya.model.bind import bind
from polynya.model.evaluate import mask
from polynya.model.evolve_predicate import evolve_predicate
from polynya.model.predicate import Compare, Op
from polynya.model.predicate_parser import parse

TABLE = (
    t.Field(0, "id", t.BigInt()),
    t.Field(1, "label", t.VarChar()),
    t.Field(5, "added", t.Int()),
    t.Field(3, "number", t.Int()),
    t.Field(6, "home", t.Row((t.Field(7, "town", t.VarChar()), t.Field(9, "street", t.VarChar())))),
)
FILE = (
    t.Field(0, "id", t.Int()),
    t.Field(1, "name", t.VarChar(10)),
    t.Field(2, "added", t.Int()),
    t.Field(3, "number", t.VarChar()),
    t.Field(6, "address", t.Row((t.Field(7, "city", t.VarChar()),))),
)


@pytest.mark.parametrize(
    ("text", "evolved"),
    [
        ("id > 5", "id > 5"),
        ("id > 5000000000", "FALSE"),
        ("id <> 5000000000", "id IS NOT NULL"),
        ("label = 'x'", "name = 'x'"),
        ("label like 'x%'", "name LIKE 'x%'"),
        ("label not in ('x', 'y')", "name NOT IN ('x', 'y')"),
        ("added = 3", "FALSE"),
        ("not added = 3", "FALSE"),
        ("added not in (3, 4)", "FALSE"),
        ("added is null", "TRUE"),
        ("not added is null", "FALSE"),
        ("not (added = 3 and label = 'x')", "name <> 'x'"),
        ("number = 3", "TRUE"),
        ("number is null", "TRUE"),
        ("number = 3 and id = 1", "id = 1"),
        ("number = 3 or id = 1", "TRUE"),
        ("home.town = 'x'", "address.city = 'x'"),
        ("home.street is null", "TRUE"),
        ("home.street = 'x'", "FALSE"),
        ("home is null", "address IS NULL"),
    ],
)
def test_a_predicate_follows_field_ids_into_an_old_file(text, evolved):
    assert str(evolve_predicate(bind(parse(text), TABLE), TABLE, FILE)) == evolved


def test_a_file_of_the_same_schema_keeps_the_predicate():
    bound = bind(parse("id > 5"), TABLE)
    assert evolve_predicate(bound, TABLE, TABLE) is bound


NUMBERS = [-(10**6), -200, -3, 0, 1, 2, 127, 128, 32767, 70000, 2**31 - 1]
LITERALS = [*NUMBERS, 2**40, Decimal("1.5"), Decimal("-2.25"), 0.5, 0.1, 1e300, float("inf"), float("nan")]
WIDENINGS = [
    (t.TinyInt(), t.Int()),
    (t.SmallInt(), t.BigInt()),
    (t.Int(), t.BigInt()),
    (t.Int(), t.Decimal(12, 2)),
    (t.SmallInt(), t.Float()),
    (t.Int(), t.Double()),
    (t.Float(), t.Double()),
    (t.Decimal(8, 1), t.Decimal(12, 3)),
]


@settings(max_examples=300, deadline=None)
@given(
    types=st.sampled_from(WIDENINGS),
    values=st.lists(st.none() | st.sampled_from(NUMBERS), max_size=6),
    op=st.sampled_from(list(Op)),
    literal=st.sampled_from(LITERALS),
)
def test_a_widened_column_gives_the_same_rows_in_the_old_type(types, values, op, literal):
    old, new = (t.Field(0, "c", type) for type in types)
    stored = pa.array(values, pa.int64())
    limits = {t.TinyInt: 127, t.SmallInt: 32767}.get(old.type.__class__, 2**31)
    stored = stored.filter(pa.array([value is None or abs(value) <= limits for value in values], pa.bool_()))
    if isinstance(old.type, t.Decimal):
        stored = pa.array([None if value is None else Decimal(value) / 10 for value in stored.to_pylist()])
        stored = stored.cast(pa.decimal128(12, 1)) if len(stored) else stored
        stored = stored.filter(pa.array([v is None or abs(v) < 10**7 for v in stored.to_pylist()], pa.bool_()))
    file_rows = pa.table({"c": stored.cast(to_arrow_type(old.type), safe=False)})
    table_rows = pa.table({"c": file_rows["c"].cast(to_arrow_type(new.type))})
    bound = bind(Compare(op, ("c",), literal), [new])
    assert mask(evolve_predicate(bound, [new], [old]), file_rows) == mask(bound, table_rows)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (t.BigInt(), t.Int()),
        (t.BigInt(), t.Double()),
        (t.Int(), t.VarChar()),
        (t.VarChar(), t.Int()),
        (t.VarChar(10), t.VarChar(5)),
        (t.Decimal(10, 2), t.Decimal(10, 4)),
        (t.Timestamp(6), t.Timestamp(3)),
        (t.Timestamp(6), t.Date()),
        (t.Timestamp(6), t.LocalTimestamp(6)),
    ],
)
def test_a_cast_that_may_change_values_says_nothing(old, new):
    bound = parse("c is not null")
    assert str(evolve_predicate(bound, [t.Field(0, "c", new)], [t.Field(0, "c", old)])) == "TRUE"
