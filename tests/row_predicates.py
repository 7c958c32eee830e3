"""Random predicates whose literals are values of the rows themselves and their neighbours.

So they fall on the borders of files and partitions.
"""

from polynya.model import evaluate
from polynya.model import types as t
from polynya.model.predicate import Compare, In, IsNotNull, IsNull, Like, Not, Op, all_of, any_of

NESTED = (t.Array, t.Map, t.Variant, t.Unknown)


def paths_of(fields, prefix=()):
    for field in fields:
        if isinstance(field.type, t.Row):
            yield from paths_of(field.type.fields, (*prefix, field.name))
        elif not isinstance(field.type, NESTED):
            yield (*prefix, field.name), field.type


def leaf(draw, table, paths):
    path, type = draw.choice(paths)
    column = evaluate.column_at(table, path).drop_null()
    shape = draw.randrange(10)
    if shape == 0 or not len(column):
        return draw.choice((IsNull(path), IsNotNull(path)))
    value = literal(draw, column, type)
    if shape == 1:
        return In(path, tuple(literal(draw, column, type) for _ in range(draw.randrange(1, 5))))
    if shape == 2 and isinstance(type, t.VarChar):
        return Like(path, value[: draw.randrange(4)].replace("%", "").replace("_", "").replace("\\", "") + "%")
    return Compare(draw.choice(list(Op)), path, value)


def literal(draw, column, type):
    scalar = column[draw.randrange(len(column))]
    if isinstance(type, (t.Timestamp, t.LocalTimestamp, t.Time, t.Date)):
        return scalar
    value = scalar.as_py()
    return value + draw.choice((-1, 0, 0, 1)) if isinstance(type, (t.Int, t.BigInt)) else value


def predicate(draw, table, paths, depth=2):
    if depth == 0 or draw.random() < 0.4:
        return leaf(draw, table, paths)
    parts = [predicate(draw, table, paths, depth - 1) for _ in range(2)]
    combined = draw.choice((all_of, any_of))(*parts)
    return Not(combined) if draw.random() < 0.2 else combined
