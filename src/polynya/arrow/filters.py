"""Predicates on rows: the exact mask, and the weaker expression that readers of files prune with."""

from collections.abc import Callable, Iterable
from functools import reduce
from operator import and_, or_

import pyarrow as pa
import pyarrow.compute as pc

from polynya.model.bind import push_not
from polynya.model.evaluate import is_nan, mask, value_set
from polynya.model.like import after_prefix, pattern_of
from polynya.model.literals import Value
from polynya.model.predicate import (
    AlwaysFalse,
    And,
    Compare,
    In,
    IsNotNull,
    IsNull,
    Like,
    Not,
    Op,
    Or,
    Predicate,
)

__all__ = ["mask", "to_expression"]

_OPS: dict[Op, Callable[[pc.Expression, pa.Scalar], pc.Expression]] = {
    Op.EQ: lambda column, value: column == value,
    Op.NE: lambda column, value: column != value,
    Op.LT: lambda column, value: column < value,
    Op.LE: lambda column, value: column <= value,
    Op.GT: lambda column, value: column > value,
    Op.GE: lambda column, value: column >= value,
}


def to_expression(predicate: Predicate) -> pc.Expression | None:
    """An expression for pyarrow's readers, true wherever the bound predicate is; None when it would say nothing.

    It may be true for more rows: filter with `mask` afterwards. It is for Parquet, whose columns must have the types
    bound to; pyarrow does not prune ORC, where CHAR is padded until it is read.
    """
    return _expression(push_not(predicate))


def _expression(predicate: Predicate) -> pc.Expression | None:
    match predicate:
        case And(predicates=parts):
            known = [one for one in map(_expression, parts) if one is not None]
            return reduce(and_, known) if known else None
        case Or(predicates=parts):
            return _any(map(_expression, parts))
        case AlwaysFalse():
            return pc.scalar(False)
        case (
            Compare(column=(_,))
            | In(column=(_,))
            | Like(column=(_,))
            | IsNull(column=(_,))
            | IsNotNull(column=(_,))
            | Not()
        ):
            return _leaf(predicate)
        case _:  # members of a ROW: a reader's statistics of them count nulls in ways of their own
            return None


def _any(parts: Iterable[pc.Expression | None]) -> pc.Expression | None:
    known = list(parts)
    return None if any(one is None for one in known) else reduce(or_, known)


def _leaf(predicate: Predicate) -> pc.Expression | None:
    match predicate:
        case Compare(op=op, column=path, value=value):
            return None if _blind(op, value) else _OPS[op](pc.field(path[0]), value)
        case In(column=path, values=values):
            return None if any(_blind(Op.EQ, value) for value in values) else pc.field(path[0]).isin(_set(values))
        case Not(predicate=In(column=(name,), values=values)):
            return None if any(_blind(Op.NE, value) for value in values) else ~pc.field(name).isin(_set(values))
        case Like(column=path):
            return _like(path[0], predicate)
        case IsNull(column=path):
            return pc.field(path[0]).is_null()
        case IsNotNull(column=path):
            return pc.field(path[0]).is_valid()
        case _:
            return None


def _blind(op: Op, value: object) -> bool:
    """Whether a reader's minimum and maximum may mislead: they leave NaN out, which is greater than all numbers."""
    return isinstance(value, (pa.FloatScalar, pa.DoubleScalar)) and (op in (Op.NE, Op.GT, Op.GE) or is_nan(value))


def _set(values: tuple[Value, ...]) -> pa.Array:
    first = values[0]
    assert isinstance(first, pa.Scalar), "bind the predicate first"
    return value_set(values, first.type)


def _like(name: str, leaf: Like) -> pc.Expression | None:
    pattern, column = pattern_of(leaf), pc.field(name)
    if pattern.exact is not None:
        return column == pattern.exact
    if not pattern.prefix:
        return None
    end = after_prefix(pattern.prefix)
    return column >= pattern.prefix if end is None else (column >= pattern.prefix) & (column < end)
