"""Bound predicates evaluated on Arrow columns, exactly as SQL's three-valued logic says.

Inside, a truth is a nullable boolean: null is unknown. Arrow's comparisons follow IEEE 754, ours follow Spark: NaN
equals NaN and is greater than every other number, so floats take a detour.
"""

import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polynya.errors import InvalidInputError
from polynya.model.like import Wildcard, pattern_of
from polynya.model.literals import Value
from polynya.model.predicate import (
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
)

_KERNELS = {
    Op.EQ: pc.equal,
    Op.NE: pc.not_equal,
    Op.LT: pc.less,
    Op.LE: pc.less_equal,
    Op.GT: pc.greater,
    Op.GE: pc.greater_equal,
}


def mask(predicate: Predicate, rows: pa.RecordBatch | pa.Table) -> pa.BooleanArray:
    """True for each row where the bound predicate is true, false where it is false or unknown."""
    truth = _truth(predicate, rows)
    if isinstance(truth, pa.Scalar):
        return pa.array(np.full(rows.num_rows, truth.as_py(), dtype=np.bool_))
    if isinstance(truth, pa.ChunkedArray):
        truth = truth.combine_chunks()
    return pc.fill_null(truth, False)


def _truth(predicate: Predicate, rows: pa.RecordBatch | pa.Table) -> pa.Array | pa.ChunkedArray | pa.Scalar:
    match predicate:
        case And(predicates=parts):
            truth = _truth(parts[0], rows)
            for part in parts[1:]:
                truth = pc.and_kleene(truth, _truth(part, rows))
            return truth
        case Or(predicates=parts):
            truth = _truth(parts[0], rows)
            for part in parts[1:]:
                truth = pc.or_kleene(truth, _truth(part, rows))
            return truth
        case Not(predicate=inner):
            return pc.invert(_truth(inner, rows))
        case AlwaysTrue():
            return pa.scalar(True)
        case AlwaysFalse():
            return pa.scalar(False)
        case _:
            return _leaf(predicate, rows)


def _leaf(predicate: Predicate, rows: pa.RecordBatch | pa.Table) -> pa.Array | pa.ChunkedArray:
    match predicate:
        case Compare(op=op, column=path, value=value):
            return compare(op, column_at(rows, path), value)
        case In(column=path, values=values):
            return one_of(column_at(rows, path), values)
        case Like(column=path):
            return like(column_at(rows, path), predicate)
        case IsNull(column=path):
            return pc.is_null(column_at(rows, path))
        case IsNotNull(column=path):
            return pc.is_valid(column_at(rows, path))
        case _:
            raise InvalidInputError(f"{predicate!r} is not a predicate")


def column_at(rows: pa.RecordBatch | pa.Table, path: Path) -> pa.Array | pa.ChunkedArray:
    """The column that the path names; a member of a null ROW is null."""
    column = rows.column(path[0])
    return pc.struct_field(column, list(path[1:])) if len(path) > 1 else column


def compare(op: Op, column: pa.Array | pa.ChunkedArray, value: Value) -> pa.Array | pa.ChunkedArray:
    """`column op value`, null where the column is null."""
    if not pa.types.is_floating(column.type):
        return _KERNELS[op](column, value)
    if is_nan(value):
        return _compare_nan(op, column)
    truth = _KERNELS[op](column, value)
    return pc.or_(truth, pc.is_nan(column)) if op in (Op.GT, Op.GE) else truth


def is_nan(value: Value) -> bool:
    """Whether a scalar is the float that is no number."""
    return isinstance(value, (pa.FloatScalar, pa.DoubleScalar)) and math.isnan(value.as_py())


def _compare_nan(op: Op, column: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    match op:
        case Op.EQ | Op.GE:
            return pc.is_nan(column)
        case Op.NE | Op.LT:
            return pc.invert(pc.is_nan(column))
        case Op.LE:
            return pc.or_(pc.is_nan(column), pc.invert(pc.is_nan(column)))
        case Op.GT:
            return pc.and_(pc.is_nan(column), pc.invert(pc.is_nan(column)))


def one_of(column: pa.Array | pa.ChunkedArray, values: tuple[Value, ...]) -> pa.Array | pa.ChunkedArray:
    """`column IN values`, null where the column is null; the values are scalars of its type, none null."""
    found = pc.is_in(column, value_set(values, column.type))
    return pc.if_else(pc.is_valid(column), found, pa.scalar(None, pa.bool_()))


def value_set(values: tuple[Value, ...], type: pa.DataType) -> pa.Array:
    """The values as an array to look up in; zero stands there with both its signs, which hash apart."""
    plain = pa.array(values, type)
    if not pa.types.is_floating(type) or not pc.any(pc.equal(plain, 0.0)).as_py():
        return plain
    return pa.concat_arrays([plain, pa.array([0.0, -0.0], type)])


def like(column: pa.Array | pa.ChunkedArray, leaf: Like) -> pa.Array | pa.ChunkedArray:
    """`column LIKE pattern`, null where the column is null."""
    pattern = pattern_of(leaf)
    if pattern.exact is not None:
        return pc.equal(column, pattern.exact)
    match pattern.pieces:
        case (str() as text, Wildcard.ANY_TEXT):
            return pc.starts_with(column, text)
        case (Wildcard.ANY_TEXT, str() as text):
            return pc.ends_with(column, text)
        case (Wildcard.ANY_TEXT, str() as text, Wildcard.ANY_TEXT):
            return pc.match_substring(column, text)
        case _:
            return pc.match_substring_regex(column, pattern.regex)
