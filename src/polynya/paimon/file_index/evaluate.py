"""Predicates asked of the indexes of one data file."""

from collections.abc import Sequence
from functools import reduce

from polynya.model import types as t
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
from polynya.paimon.file_index.container import FileIndex, is_map_key
from polynya.paimon.file_index.kinds import KINDS
from polynya.paimon.file_index.result import REMAIN, SKIP, Result, both, either, settle

_ROWS_MAX = 2**31 - 1  # indexes count rows in 31 bits


def evaluate(index: FileIndex, predicate: Predicate, fields: Sequence[t.Field], row_count: int) -> Result:
    """Which rows of the data file may match a predicate bound to `fields`, the file's own.

    A column without an index, or with one of an unknown kind, says nothing. CorruptFileError names the index.
    """
    return REMAIN if row_count > _ROWS_MAX else _evaluate(index, predicate, fields, row_count)


def _evaluate(index: FileIndex, predicate: Predicate, fields: Sequence[t.Field], row_count: int) -> Result:
    match predicate:
        case And(predicates=parts):
            result: Result = REMAIN
            for part in parts:
                result = both(result, _evaluate(index, part, fields, row_count))
                if result is SKIP:
                    break
            return result
        case Or(predicates=parts):
            return settle(reduce(either, (_evaluate(index, part, fields, row_count) for part in parts)), row_count)
        case AlwaysFalse():
            return SKIP
        case Compare() | In() | Like() | IsNull() | IsNotNull() | Not(predicate=In() | Like()):
            return _evaluate_leaf(index, predicate, fields, row_count)
        case _:
            return REMAIN


def _evaluate_leaf(
    index: FileIndex,
    leaf: Compare | In | Like | IsNull | IsNotNull | Not,
    fields: Sequence[t.Field],
    row_count: int,
) -> Result:
    """What all the indexes of the leaf's column say together."""
    column = (leaf.predicate if isinstance(leaf, Not) else leaf).column  # type: ignore[attr-defined]  # Not holds In or Like
    field = next((field for field in fields if (field.name,) == column), None)
    if field is None or is_map_key(field.name):
        return REMAIN
    result: Result = REMAIN
    for type in index.types(field.name):
        body = index.body(field.name, type)
        kind = KINDS.get(type)
        if body is None:
            result = both(result, _evaluate_empty(leaf))
        elif kind is not None and kind.accepts(field.type):
            found = kind.evaluate(body, leaf, field.type, row_count, name=index.name)
            result = both(result, settle(found, row_count))
        if result is SKIP:
            break
    return result


def _evaluate_empty(leaf: Predicate) -> Result:
    """An index over no row: no value is there to be equal, smaller, alike."""
    match leaf:
        case IsNull() | Not() | Compare(op=Op.NE):
            return REMAIN
        case _:
            return SKIP
