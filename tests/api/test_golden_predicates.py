"""Pruning never loses a row: a filtered scan gives what the filter leaves of a full scan, on every golden table.

Literals are values of the table itself and their neighbours, so that they fall on the borders of files and row groups.
"""

import json
import random

import pyarrow as pa
import pytest

import polynya
from golden_data import golden_table, readable_names
from polynya.model import evaluate
from polynya.model import types as t
from polynya.model.bind import bind
from polynya.model.predicate import Compare, In, IsNotNull, IsNull, Like, Not, Op, all_of, any_of
from rows import render_rows

PREDICATES = 12
COMPARABLE = (
    t.Boolean,
    t.TinyInt,
    t.SmallInt,
    t.Int,
    t.BigInt,
    t.Float,
    t.Double,
    t.Decimal,
    t.Char,
    t.VarChar,
    t.Date,
)
COMPARABLE += (t.Timestamp, t.LocalTimestamp, t.Binary, t.VarBinary)


def leaf(draw, table, fields):
    field = draw.choice(fields)
    path = (field.name,)
    column = table[field.name].drop_null()
    shape = draw.randrange(10)
    if shape == 0 or not len(column):
        return draw.choice((IsNull(path), IsNotNull(path)))
    value = literal(draw, column, field.type)
    if shape == 1:
        return In(path, tuple(literal(draw, column, field.type) for _ in range(draw.randrange(1, 5))))
    if shape == 2 and isinstance(field.type, (t.Char, t.VarChar)):
        return Like(path, value[: draw.randrange(4)].replace("%", "").replace("_", "").replace("\\", "") + "%")
    return Compare(draw.choice(list(Op)), path, value)


def literal(draw, column, type):
    scalar = column[draw.randrange(len(column))]
    if isinstance(type, (t.Timestamp, t.LocalTimestamp)):
        return scalar
    value = scalar.as_py()
    if isinstance(type, (t.TinyInt, t.SmallInt, t.Int, t.BigInt)):
        return value + draw.choice((-1, 0, 0, 1))
    return value


def predicate(draw, table, fields, depth=2):
    if depth == 0 or draw.random() < 0.4:
        return leaf(draw, table, fields)
    parts = [predicate(draw, table, fields, depth - 1) for _ in range(draw.randrange(1, 4))]
    made = draw.choice((all_of, any_of))(*parts)
    return Not(made) if draw.random() < 0.2 else made


@pytest.mark.parametrize("name", readable_names())
def test_a_filtered_scan_gives_what_the_filter_leaves_of_a_full_scan(name):
    table = polynya.open_table(golden_table(name))
    rows = table.scan().to_arrow()
    fields = [field for field in table.schema.fields if isinstance(field.type, COMPARABLE)]
    draw = random.Random(f"predicates of {name}")
    for _ in range(PREDICATES if fields else 0):
        where = predicate(draw, rows, fields)
        expected = rows.filter(evaluate.mask(bind(where, table.schema.fields), rows))
        found = table.scan(where=where).to_arrow()
        assert ordered(found, table) == ordered(expected, table), f"{name}: {where}"


def ordered(rows: pa.Table, table):
    return [json.dumps(row) for row in render_rows(rows, table.schema.fields)]
