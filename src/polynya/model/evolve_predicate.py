"""Predicates carried over to a file of an older schema.

Columns are found by field id and named as the file names them. A column that the file lacks is null in all its rows.
Where the type has changed, a leaf is kept only if every stored value means the same number, text or moment in both
types; its literal is then compared in the file's type, exactly. Any other leaf becomes true: it says nothing about the
file. So the result is true at least wherever the predicate is, and serves pruning, not the final filter.
"""

from collections.abc import Sequence
from dataclasses import replace

from polynya.model import types as t
from polynya.model.bind import bind, push_not, resolve
from polynya.model.predicate import (
    FALSE,
    TRUE,
    And,
    Compare,
    In,
    IsNotNull,
    IsNull,
    Like,
    Not,
    Or,
    Path,
    Predicate,
    all_of,
    any_of,
)


def evolve_predicate(
    predicate: Predicate, table_fields: Sequence[t.Field], file_fields: Sequence[t.Field]
) -> Predicate:
    """What a predicate bound to the table's fields says about a file's own columns, bound to those."""
    if tuple(table_fields) == tuple(file_fields):
        return predicate
    return _evolve(push_not(predicate), table_fields, file_fields)


def _evolve(predicate: Predicate, table_fields: Sequence[t.Field], file_fields: Sequence[t.Field]) -> Predicate:
    match predicate:
        case And(predicates=parts):
            return all_of(*(_evolve(part, table_fields, file_fields) for part in parts))
        case Or(predicates=parts):
            return any_of(*(_evolve(part, table_fields, file_fields) for part in parts))
        case Not(predicate=In() | Like() as leaf):
            return _evolve_leaf(leaf, table_fields, file_fields, negated=True)
        case Compare() | In() | Like() | IsNull() | IsNotNull():
            return _evolve_leaf(predicate, table_fields, file_fields, negated=False)
        case _:
            return predicate


_Leaf = Compare | In | Like | IsNull | IsNotNull


def _evolve_leaf(
    leaf: _Leaf, table_fields: Sequence[t.Field], file_fields: Sequence[t.Field], *, negated: bool
) -> Predicate:
    found = _find(leaf.column, table_fields, file_fields)
    if found is None:
        return TRUE if isinstance(leaf, IsNull) else FALSE
    path, old = found
    new = resolve(leaf.column, table_fields)
    if not _keeps_meaning(old.type, new.type):
        return TRUE
    moved = replace(leaf, column=path)
    return bind(Not(moved) if negated else moved, file_fields)


def _find(column: Path, table_fields: Sequence[t.Field], file_fields: Sequence[t.Field]) -> tuple[Path, t.Field] | None:
    """The path and field in the file that hold the column, by ids; None when the file has none."""
    path: Path = ()
    for depth in range(len(column)):
        field_id = resolve(column[: depth + 1], table_fields).id
        old = next((field for field in file_fields if field.id == field_id), None)
        if old is None:
            return None
        path = (*path, old.name)
        if depth + 1 == len(column):
            return path, old
        file_fields = old.type.fields if isinstance(old.type, t.Row) else ()
    return None


_DIGITS = {t.TinyInt: 3, t.SmallInt: 5, t.Int: 10, t.BigInt: 19}


def _keeps_meaning(old: t.DataType, new: t.DataType) -> bool:
    """Whether reading a value of the old type as the new one keeps it, and its order, as it is."""
    if old.with_nullable(True) == new.with_nullable(True):
        return True
    match old, new:
        case ((t.TinyInt() | t.SmallInt() | t.Int() | t.BigInt()), (t.TinyInt() | t.SmallInt() | t.Int() | t.BigInt())):
            return _DIGITS[old.__class__] <= _DIGITS[new.__class__]
        case ((t.TinyInt() | t.SmallInt() | t.Int() | t.BigInt()), t.Decimal(precision=precision, scale=scale)):
            return _DIGITS[old.__class__] <= precision - scale
        case ((t.TinyInt() | t.SmallInt()), (t.Float() | t.Double())):
            return True
        case ((t.Int() | t.Float()), t.Double()):
            return True
        case t.Decimal(), t.Decimal():
            return old.scale <= new.scale and old.precision - old.scale <= new.precision - new.scale
        case ((t.Char() | t.VarChar()), t.VarChar()):
            return old.length <= new.length
        case ((t.Binary() | t.VarBinary()), t.VarBinary()):
            return old.length <= new.length
        case t.Timestamp(), t.Timestamp():
            return old.precision <= new.precision
        case t.LocalTimestamp(), t.LocalTimestamp():
            return old.precision <= new.precision
        case t.Row(), t.Row():
            return True  # only IS NULL looks at a ROW itself
        case _:
            return False
