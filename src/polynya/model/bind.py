"""Predicates typed against a schema, exactly.

`bind` gives a tree in which every literal is an Arrow scalar of its column's type and Not stands only before In and
Like. There unknown and false need no telling apart: nothing above a leaf can turn either into true.

A literal that the column cannot hold is compared as Spark would, and the comparison is rewritten to one that is exact:
- integers, decimals, days and clocks are points of a grid; `c > 1.5` on INT is `c >= 2`, `c = 1.5` is never true.
- a float literal rounds the column to DOUBLE first: it stands for all the numbers that round to it.
- FLOAT and DOUBLE columns are compared as DOUBLE.
- a time without a zone, compared with TIMESTAMP WITH LOCAL TIME ZONE, is in UTC.
"""

import difflib
from collections.abc import Collection, Iterable, Sequence

from polynya.errors import InvalidInputError
from polynya.model import types as t
from polynya.model.comparison import compare, type_text
from polynya.model.like import pattern_of
from polynya.model.literals import Value
from polynya.model.predicate import (
    FALSE,
    TRUE,
    AlwaysFalse,
    AlwaysTrue,
    And,
    Compare,
    In,
    IsNotNull,
    IsNull,
    Like,
    Not,
    Op,
    Or,
    Path,
    Predicate,
    all_of,
    any_of,
    column_text,
)


def bind(predicate: Predicate, fields: Sequence[t.Field]) -> Predicate:
    """The predicate typed against the fields; InvalidInputError names the column that is missing or does not fit."""
    return _bind(push_not(predicate), fields)


def push_not(predicate: Predicate) -> Predicate:
    """An equal predicate, under three-valued logic, whose Nots stand only before In and Like."""
    match predicate:
        case And(predicates=parts):
            return all_of(*map(push_not, parts))
        case Or(predicates=parts):
            return any_of(*map(push_not, parts))
        case Not(predicate=inner):
            return _negate(inner)
        case _:
            return predicate


def _negate(predicate: Predicate) -> Predicate:
    match predicate:
        case And(predicates=parts):
            return any_of(*map(_negate, parts))
        case Or(predicates=parts):
            return all_of(*map(_negate, parts))
        case Not(predicate=inner):
            return push_not(inner)
        case Compare(op=op, column=column, value=value):
            return Compare(op.negated, column, value)
        case IsNull(column=column):
            return IsNotNull(column)
        case IsNotNull(column=column):
            return IsNull(column)
        case AlwaysTrue():
            return FALSE
        case AlwaysFalse():
            return TRUE
        case _:
            return Not(predicate)


def _bind(predicate: Predicate, fields: Sequence[t.Field]) -> Predicate:
    match predicate:
        case And(predicates=parts):
            return all_of(*(_bind(part, fields) for part in parts))
        case Or(predicates=parts):
            return any_of(*(_bind(part, fields) for part in parts))
        case Not(predicate=In(column=column, values=values)):
            return _bind_not_in(column, resolve(column, fields).type, values)
        case Not(predicate=Like() as leaf):
            return Not(_bind_like(leaf, fields))
        case AlwaysTrue() | AlwaysFalse():
            return predicate
        case _:
            return _bind_leaf(predicate, fields)


def _bind_leaf(predicate: Predicate, fields: Sequence[t.Field]) -> Predicate:
    match predicate:
        case Compare(op=op, column=column, value=value):
            return compare(op, column, resolve(column, fields).type, value)
        case In(column=column, values=values):
            return _bind_in(column, resolve(column, fields).type, values)
        case Like() as leaf:
            return _bind_like(leaf, fields)
        case IsNull(column=column) | IsNotNull(column=column):
            resolve(column, fields)
            return predicate
        case _:
            raise InvalidInputError(f"{predicate!r} is not a predicate")


def _bind_in(column: Path, type: t.DataType, values: Iterable[Value]) -> Predicate:
    equals = [compare(Op.EQ, column, type, value) for value in values]
    scalars = {one.value: None for one in equals if isinstance(one, Compare)}
    others = [one for one in equals if not isinstance(one, Compare)]
    return any_of(_one_of(column, tuple(scalars)), *others)


def _bind_not_in(column: Path, type: t.DataType, values: Collection[Value]) -> Predicate:
    differs = [compare(Op.NE, column, type, value) for value in values]
    scalars = {one.value: None for one in differs if isinstance(one, Compare)}
    others = [one for one in differs if not isinstance(one, Compare)]
    if len(scalars) < 2:
        return all_of(*differs)
    return all_of(Not(In(column, tuple(scalars))), *others)


def _one_of(column: Path, scalars: tuple[Value, ...]) -> Predicate:
    if len(scalars) < 2:
        return any_of(*(Compare(Op.EQ, column, scalar) for scalar in scalars))
    return In(column, scalars)


def _bind_like(leaf: Like, fields: Sequence[t.Field]) -> Like:
    field = resolve(leaf.column, fields)
    if not isinstance(field.type, (t.Char, t.VarChar)):
        raise InvalidInputError(f"column '{column_text(leaf.column)}': LIKE needs text, found {type_text(field.type)}")
    pattern_of(leaf)  # refuses a bad pattern now, before anything is read
    return leaf


def resolve(column: Path, fields: Sequence[t.Field]) -> t.Field:
    """The field that the path names; InvalidInputError suggests a name like it."""
    within: Sequence[t.Field] = fields
    for depth, name in enumerate(column):
        field = next((field for field in within if field.name == name), None)
        if field is None:
            raise InvalidInputError(missing(column[: depth + 1], within))
        if depth + 1 == len(column):
            return field
        if not isinstance(field.type, t.Row):
            parent = column_text(column[: depth + 1])
            raise InvalidInputError(
                f"column '{column_text(column)}' does not exist; '{parent}' is {type_text(field.type)}, not a ROW"
            )
        within = field.type.fields
    raise InvalidInputError("a column needs a name")


def missing(path: Path, within: Sequence[t.Field]) -> str:
    """What to say of a path that leads nowhere, with a name like its last one."""
    spelled = {field.name.lower(): field.name for field in within}
    close = difflib.get_close_matches(path[-1].lower(), spelled, n=1)
    if close:
        return f"column '{'.'.join(path)}' does not exist; did you mean '{'.'.join((*path[:-1], spelled[close[0]]))}'?"
    return f"column '{'.'.join(path)}' does not exist; there are {', '.join(field.name for field in within)}"


def conjuncts(predicate: Predicate) -> tuple[Predicate, ...]:
    """The predicates that must all be true; none for one that is always true."""
    match predicate:
        case And(predicates=parts):
            return parts
        case AlwaysTrue():
            return ()
        case _:
            return (predicate,)


def columns(predicate: Predicate) -> frozenset[Path]:
    """The columns that the predicate looks at."""
    match predicate:
        case And(predicates=parts) | Or(predicates=parts):
            return frozenset[Path]().union(*map(columns, parts))
        case Not(predicate=inner):
            return columns(inner)
        case (
            Compare(column=column)
            | In(column=column)
            | Like(column=column)
            | IsNull(column=column)
            | IsNotNull(column=column)
        ):
            return frozenset((column,))
        case _:
            return frozenset()


def split(predicate: Predicate, names: Collection[str]) -> tuple[Predicate, Predicate]:
    """The conjuncts that look at these top-level columns only, and the rest; together they are the predicate."""
    parts = conjuncts(predicate)
    within = [all(path[0] in names for path in columns(part)) for part in parts]
    inside = (part for part, is_within in zip(parts, within, strict=True) if is_within)
    outside = (part for part, is_within in zip(parts, within, strict=True) if not is_within)
    return all_of(*inside), all_of(*outside)


def project(predicate: Predicate, names: Collection[str]) -> Predicate:
    """What the predicate implies about these top-level columns: true at least wherever the predicate is."""
    match predicate:
        case And(predicates=parts):
            return all_of(*(project(part, names) for part in parts))
        case Or(predicates=parts):
            return any_of(*(project(part, names) for part in parts))
        case Not(predicate=And() | Or() | Not()):
            return project(push_not(predicate), names)
        case _:
            return predicate if all(path[0] in names for path in columns(predicate)) else TRUE
