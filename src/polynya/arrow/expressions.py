"""SQL expressions over the columns of a row, evaluated on Arrow batches: what `update` sets columns to.

Understood, in the grammar of Spark SQL: columns, literals, + - * / and unary minus, || and concat, CASE WHEN, if,
coalesce, upper, lower, trim, abs. Conditions are those of predicates. Everything else is refused by name.

As in Spark's ANSI mode an overflow or a division by zero is an error, / gives a DOUBLE unless both sides are decimals,
and null comes out where null goes in.

Importing sqlglot takes a fifth of a second: import this module only where there is an expression.
"""

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from polynya.errors import InvalidInputError, UnsupportedError
from polynya.model import bind, evaluate
from polynya.model.literals import Value
from polynya.model.predicate_parser import Grammar, condition_of, literal_of, problem_of
from polynya.model.types import Field

Evaluate: TypeAlias = Callable[[pa.RecordBatch], pa.Array | pa.Scalar]

_KERNELS = {exp.Add: pc.add_checked, exp.Sub: pc.subtract_checked, exp.Mul: pc.multiply_checked}
_TEXT_KERNELS = {
    exp.Upper: pc.utf8_upper,
    exp.Lower: pc.utf8_lower,
    exp.Trim: partial(pc.utf8_trim, characters=" "),  # no other white space
}
_LITERALS = (exp.Literal, exp.Boolean, exp.Null, exp.RawString, exp.HexString)


def parse(text: str, fields: Sequence[Field]) -> Evaluate:
    """The function that computes the expression for the rows of a batch; names are resolved against `fields`."""
    try:
        node = sqlglot.parse_one(text, dialect=Grammar)
    except ParseError as error:
        raise InvalidInputError(f"expression {text!r}: {problem_of(error)}") from error
    except TokenError as error:
        raise InvalidInputError(f"expression {text!r}: the text ends inside a quote or comment") from error
    return _compile(node, fields)


def evaluate_expression(compute: Evaluate, rows: pa.RecordBatch) -> pa.Array:
    """The values of an expression, one for each row; InvalidInputError where it has none."""
    try:
        value = compute(rows)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise InvalidInputError(f"expression: {error}") from error
    return _values(value, rows.num_rows)


def _values(value: pa.Array | pa.Scalar, row_count: int) -> pa.Array:
    return pa.repeat(value, row_count) if isinstance(value, pa.Scalar) else value


def always(value: Value) -> Evaluate:
    """The function that gives a literal, in the narrowest type that SQL gives it."""
    is_int = isinstance(value, int) and not isinstance(value, bool) and -(2**31) <= value < 2**31
    try:
        scalar = value if isinstance(value, pa.Scalar) else pa.scalar(value, pa.int32() if is_int else None)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InvalidInputError(
            f"expected a value or the text of an SQL expression, found {value!r} of {type(value).__name__}"
        ) from error
    return lambda rows: scalar


def assign_type(array: pa.Array, wanted: pa.DataType, column: str) -> pa.Array:
    """The values as the type of the column that they are assigned to; a decimal is rounded to the column's scale."""
    try:
        if pa.types.is_decimal(array.type) and pa.types.is_floating(wanted):
            return array.cast(wanted)
        if pa.types.is_integer(array.type) and pa.types.is_decimal(wanted):
            return array.cast(pa.decimal128(38, wanted.scale)).cast(wanted)  # Arrow asks for room for any integer
        if pa.types.is_decimal(array.type) and pa.types.is_decimal(wanted) and array.type.scale > wanted.scale:
            array = pc.round(array, ndigits=wanted.scale, round_mode="half_towards_infinity")
            return array.cast(wanted)
        if pa.types.is_floating(array.type) and pa.types.is_floating(wanted):
            return array.cast(wanted, safe=False)
    except pa.ArrowInvalid as error:
        raise InvalidInputError(f"column '{column}': a new value does not fit {wanted}: {error}") from error
    return array


def _compile(node: exp.Expression, fields: Sequence[Field]) -> Evaluate:
    match node:
        case exp.Paren():
            return _compile(node.this, fields)
        case exp.Column() | exp.Dot():
            return _column(node, fields)
        case _ if isinstance(node, _LITERALS) or _is_typed_literal(node):
            return always(literal_of(node))
        case exp.Neg():
            inner = _compile(node.this, fields)
            return lambda rows: pc.negate_checked(inner(rows))
        case exp.Abs():
            inner = _compile(node.this, fields)
            return lambda rows: pc.abs_checked(inner(rows))
        case exp.Case() | exp.If():
            return _case(node, fields)
        case _:
            return _call(node, [_compile(part, fields) for part in _operands(node)])


def _call(node: exp.Expression, parts: list[Evaluate]) -> Evaluate:
    kind = node.__class__
    if kind in _KERNELS:
        kernel = _KERNELS[kind]
        return lambda rows: kernel(*_same_kind(parts[0](rows), parts[1](rows)))
    if kind is exp.Div:
        return lambda rows: _divide(parts[0](rows), parts[1](rows))
    if kind in (exp.DPipe, exp.Concat):
        return lambda rows: pc.binary_join_element_wise(*(_text(part(rows)) for part in parts), "")
    if kind is exp.Coalesce:
        return lambda rows: _coalesce(rows, parts)
    text_kernel = _TEXT_KERNELS[kind]
    return lambda rows: text_kernel(_text(parts[0](rows)))


def _coalesce(rows: pa.RecordBatch, parts: list[Evaluate]) -> pa.Array:
    """The first value that is there; each is computed for the rows that have none yet only."""
    found = _values(parts[0](rows), rows.num_rows)
    for part in parts[1:]:
        missing = found.is_null(nan_is_null=False)
        own = rows.filter(missing)
        found, more = _unified([found, _values(part(own), own.num_rows)])
        found = pc.replace_with_mask(found, missing, more)
    return found


def _operands(node: exp.Expression) -> list[exp.Expression]:
    match node:
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div() | exp.DPipe():
            return [node.this, node.expression]
        case exp.Concat():
            return list(node.expressions)
        case exp.Coalesce():
            return [node.this, *node.expressions]
        case exp.Upper() | exp.Lower():
            return [node.this]
        case exp.Trim() if not (node.args.get("expression") or node.args.get("position")):
            return [node.this]
        case _:
            name = node.name if isinstance(node, exp.Anonymous) else "cast" if isinstance(node, exp.Cast) else node.key
            raise UnsupportedError(f"expression: {name.lower()} is not supported: {node.sql(dialect=Grammar)}")


def _column(node: exp.Expression, fields: Sequence[Field]) -> Evaluate:
    path = tuple(part.name for part in node.parts)
    bind.resolve(path, fields)
    return lambda rows: evaluate.column_at(rows, path)


def _case(node: exp.Case | exp.If, fields: Sequence[Field]) -> Evaluate:
    branches = [node] if isinstance(node, exp.If) else node.args["ifs"]
    if isinstance(node, exp.Case) and node.this is not None:
        branches = [exp.If(this=exp.EQ(this=node.this, expression=one.this), true=one.args["true"]) for one in branches]
    conditions = [bind.bind(condition_of(one.this), fields) for one in branches]
    values = [_compile(one.args["true"], fields) for one in branches]
    default = node.args.get("default") or node.args.get("false")
    values.append(_compile(default, fields) if default is not None else lambda rows: pa.scalar(None))

    def choose(rows: pa.RecordBatch) -> pa.Array:
        """Each value is computed for the rows that take it only: for others it may be an error."""
        masks = [np.asarray(evaluate.mask(one, rows).fill_null(False), bool) for one in conditions]
        branch = np.argmax([*masks, np.ones(rows.num_rows, bool)], axis=0)
        chosen = [rows.filter(pa.array(branch == index)) for index in range(len(values))]
        parts = _unified([_values(value(own), own.num_rows) for value, own in zip(values, chosen, strict=True)])
        return pa.concat_arrays(parts).take(pa.array(np.argsort(np.argsort(branch, kind="stable"))))

    return choose


def _is_typed_literal(node: exp.Expression) -> bool:
    """Whether the node is a literal with a sign or a type: -1, 1L, DATE '2026-11-01'."""
    return isinstance(node, (exp.Neg, exp.Cast)) and isinstance(node.this, exp.Literal)


def _same_kind(left: pa.Array | pa.Scalar, right: pa.Array | pa.Scalar) -> tuple[pa.Array | pa.Scalar, ...]:
    """Both operands as floats where one of them is one; decimals and integers meet by themselves."""
    if pa.types.is_floating(left.type) or pa.types.is_floating(right.type):
        return tuple(one.cast(pa.float64()) for one in (left, right))
    return left, right


def _divide(left: pa.Array | pa.Scalar, right: pa.Array | pa.Scalar) -> pa.Array | pa.Scalar:
    if not (pa.types.is_decimal(left.type) and pa.types.is_decimal(right.type)):
        left, right = left.cast(pa.float64()), right.cast(pa.float64())
    zero = pc.equal(right, pa.scalar(Decimal(0)).cast(right.type) if pa.types.is_decimal(right.type) else 0.0)
    if (zero.as_py() if isinstance(zero, pa.Scalar) else pc.any(zero).as_py()) is True:
        raise InvalidInputError("expression: division by zero")
    return pc.divide(left, right)


def _text(value: pa.Array | pa.Scalar) -> pa.Array | pa.Scalar:
    if pa.types.is_null(value.type):
        return value.cast(pa.string())
    if not pa.types.is_string(value.type):
        raise UnsupportedError(f"expression: expected a text, found {value.type}; casts are not supported")
    return value


def _unified(values: list[pa.Array | pa.Scalar]) -> list[pa.Array | pa.Scalar]:
    """The values in one type: that of numbers which holds them all, and any type where the others are null."""
    types = [value.type for value in values if not pa.types.is_null(value.type)]
    if not types:
        return values
    common = types[0]
    for type in types[1:]:
        common = (
            pa.unify_schemas([pa.schema([("_", common)]), pa.schema([("_", type)])], promote_options="permissive")
            .field(0)
            .type
        )
    return [value.cast(common) for value in values]
