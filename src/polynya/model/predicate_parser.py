"""SQL text -> predicate, in the grammar of Spark SQL.

Understood: AND, OR, NOT, = == <> != < <= > >= <=>, IN, BETWEEN, LIKE [ESCAPE], IS [NOT] NULL | TRUE | FALSE,
startswith(column, 'text'), a bare BOOLEAN column, and literals: numbers (with Spark's suffixes), 'text', TRUE, FALSE,
NULL, DATE '…', TIME '…', TIMESTAMP '…', X'…'. Everything else is refused by name.

Importing sqlglot takes a fifth of a second: import this module only where there is a text to parse.
"""

import re
import struct
from decimal import Decimal

import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, TokenError

from polynya.errors import InvalidInputError, UnsupportedError
from polynya.model.literals import Value, parse_date, parse_time, parse_timestamp
from polynya.model.predicate import (
    FALSE,
    TRUE,
    Column,
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


class Grammar(Spark):  # type: ignore[misc]  # sqlglot's types are not followed
    """Spark SQL where a doubled quote inside a string is one quote, as Spark 4 reads it."""

    class Tokenizer(Spark.Tokenizer):  # type: ignore[misc]  # the same
        """Its quotes."""

        STRING_ESCAPES = ("'", '"', "\\")


_OPS: dict[type[exp.Expression], Op] = {
    exp.EQ: Op.EQ,
    exp.NEQ: Op.NE,
    exp.LT: Op.LT,
    exp.LTE: Op.LE,
    exp.GT: Op.GT,
    exp.GTE: Op.GE,
}
_INTEGERS = {exp.DataType.Type.TINYINT, exp.DataType.Type.SMALLINT, exp.DataType.Type.INT, exp.DataType.Type.BIGINT}
_TIMESTAMPS = {
    exp.DataType.Type.TIMESTAMP,
    exp.DataType.Type.TIMESTAMPTZ,
    exp.DataType.Type.TIMESTAMPLTZ,
    exp.DataType.Type.TIMESTAMPNTZ,
}


def parse(text: str) -> Predicate:
    """The predicate that the text states.

    InvalidInputError gives the position of a syntax error; UnsupportedError names what is not understood.
    """
    try:
        return _predicate(sqlglot.parse_one(text, into=exp.Condition, dialect=Grammar))
    except ParseError as error:
        raise InvalidInputError(f"predicate {text!r}: {problem_of(error)}") from error
    except TokenError as error:
        raise InvalidInputError(f"predicate {text!r}: {_open_quote(error)}") from error
    except RecursionError as error:
        raise InvalidInputError(f"predicate of {len(text)} characters: nested too deep; use IN or fewer NOT") from error


def condition_of(node: exp.Expression) -> Predicate:
    """The predicate that a parsed condition states."""
    return _predicate(node)


def literal_of(node: exp.Expression) -> Value:
    """The value of a parsed literal."""
    return _value(node)


def problem_of(error: ParseError) -> str:
    """What is wrong with a text, and where."""
    if not error.errors:
        return "expected a condition, found nothing"
    found = error.errors[0]
    where = f"syntax error at line {found['line']}, column {found['col']}"
    if "missing for" in str(found["description"]):  # sqlglot names its own classes here
        return f"{where}: something is missing after {found['highlight']!r}"
    return f"{where} near {found['highlight']!r}"


def _open_quote(error: TokenError) -> str:
    found = re.fullmatch(r"Missing (.+) from (\d+):(\d+)", str(error.__cause__))
    if found is None:
        return "the text ends inside a quote or comment, or holds an invalid literal"
    return f"syntax error at line {found[2]}, column {found[3]}: {found[1]} is not closed"


def _predicate(node: exp.Expression) -> Predicate:
    match node:
        case exp.Paren():
            return _predicate(node.this)
        case exp.And():
            return all_of(*map(_predicate, node.flatten()))
        case exp.Or():
            return any_of(*map(_predicate, node.flatten()))
        case exp.Not(this=exp.Is(expression=exp.Null())):
            return IsNotNull(_path(node.this.this))
        case exp.Not():
            return Not(_predicate(node.this))
        case exp.Boolean():
            return TRUE if node.this else FALSE
        case exp.Column() | exp.Dot():
            return Compare(Op.EQ, _path(node), True)
        case _ if node.__class__ in _OPS:
            return _comparison(_OPS[node.__class__], node)
        case _:
            return _leaf(node)


def _leaf(node: exp.Expression) -> Predicate:
    match node:
        case exp.In():
            if node.args.get("query") or node.args.get("unnest") or node.args.get("field"):
                raise _unsupported(node, "a subquery")
            return In(_path(node.this), tuple(map(_value, node.expressions)))
        case exp.Between():
            return _between(node)
        case exp.Is() | exp.NullSafeEQ():
            return _is(_path(node.this), node.expression)
        case exp.NullSafeNEQ():
            return Not(_is(_path(node.this), node.expression))
        case exp.Escape(this=exp.Like()):
            return _like(node.this, _text(node.expression))
        case exp.Like():
            return _like(node, "\\")
        case exp.StartsWith():
            return Column(_path(node.this)).starts_with(_text(node.expression))
        case exp.Null():
            raise _unsupported(node, "NULL as a condition")
        case _:
            raise _unsupported(node)


def _comparison(op: Op, node: exp.Expression) -> Predicate:
    left, right = node.this.unnest(), node.expression.unnest()
    if _is_column(left):
        if _is_column(right):
            raise _unsupported(node, "a comparison of two columns")
        return Compare(op, _path(left), _value(right))
    if _is_column(right):
        return Compare(op.flipped, _path(right), _value(left))
    one, other = _value(left), _value(right)
    if op not in (Op.EQ, Op.NE) or one.__class__ is not other.__class__ or one is None:
        raise _unsupported(node, "a comparison of two literals")
    return TRUE if (one == other) == (op is Op.EQ) else FALSE  # 1 = 1 begins many a generated text


def _between(node: exp.Between) -> Predicate:
    if node.args.get("symmetric"):
        raise _unsupported(node, "BETWEEN SYMMETRIC")
    return Column(_path(node.this)).between(_value(node.args["low"]), _value(node.args["high"]))


def _is(path: Path, right: exp.Expression) -> Predicate:
    """The comparison that is never unknown: IS TRUE, IS FALSE, <=>."""
    value = _value(right)
    return IsNull(path) if value is None else all_of(IsNotNull(path), Compare(Op.EQ, path, value))


def _like(node: exp.Like, escape: str) -> Predicate:
    leaf = Like(_path(node.this), _text(node.expression), escape)
    return Not(leaf) if node.args.get("negate") else leaf


def _is_column(node: exp.Expression) -> bool:
    return isinstance(node, (exp.Column, exp.Dot))


def _path(node: exp.Expression) -> Path:
    match node:
        case exp.Paren():
            return _path(node.this)
        case exp.Column(this=exp.Identifier()):
            return tuple(part.name for part in node.parts)
        case exp.Dot(expression=exp.Identifier()):
            return (*_path(node.this), node.expression.name)
        case _:
            raise _unsupported(node)


def _text(node: exp.Expression) -> str:
    value = _value(node)
    if not isinstance(value, str):
        raise _unsupported(node, "a pattern that is not a text")
    return value


def _value(node: exp.Expression) -> Value:
    match node:
        case exp.Paren():
            return _value(node.this)
        case exp.Null():
            return None
        case exp.Boolean():
            return bool(node.this)
        case exp.Literal() if node.is_string:
            return str(node.this)
        case exp.Literal():
            return _number(str(node.this))
        case exp.RawString():
            return str(node.this)
        case exp.HexString():
            return bytes.fromhex(node.this.zfill(len(node.this) + len(node.this) % 2))
        case exp.Neg():
            return _negative(node)
        case exp.TryCast(this=exp.Literal()):
            return _suffixed(node)
        case exp.Cast(this=exp.Literal()):
            return _typed(node)
        case _:
            raise _unsupported(node)


def _number(text: str) -> int | float | Decimal:
    if "e" in text.lower():
        return float(text)
    return Decimal(text) if "." in text else int(text)


def _negative(node: exp.Neg) -> Value:
    value = _value(node.this)
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        raise _unsupported(node)
    return value.copy_negate() if isinstance(value, Decimal) else -value


def _suffixed(node: exp.TryCast) -> Value:
    """A number with a type: 1L, 1.5D, 1.5F, 1.5BD; and the floats that have no other text."""
    text, kind = node.this.name, node.to.this
    try:
        if kind in _INTEGERS and not node.this.is_string:
            return int(text)
        if kind == exp.DataType.Type.DOUBLE:
            return float(text)
        if kind == exp.DataType.Type.FLOAT and not node.this.is_string:
            return float(struct.unpack("f", struct.pack("f", float(text)))[0])
        if kind == exp.DataType.Type.DECIMAL and node.this.is_string:
            return Decimal(text)
    except (ValueError, ArithmeticError) as error:
        raise InvalidInputError(f"{_sql(node)}: not a number of that type") from error
    raise _unsupported(node)


def _typed(node: exp.Cast) -> Value:
    text, kind = node.this.name, node.to.this
    value: Value
    if kind == exp.DataType.Type.DATE:
        value, what = parse_date(text), "DATE"
    elif kind == exp.DataType.Type.TIME:
        value, what = parse_time(text), "TIME"
    elif kind in _TIMESTAMPS:
        value, what = parse_timestamp(text), "TIMESTAMP"
    else:
        raise _unsupported(node)
    if value is None:
        raise InvalidInputError(f"{what} '{text}': not a valid {what}")
    return value


def _unsupported(node: exp.Expression, what: str = "") -> UnsupportedError:
    what = what or _kind(node)
    return UnsupportedError(f"predicate: {what} is not supported: {_sql(node)}")


def _kind(node: exp.Expression) -> str:
    match node:
        case exp.Column():
            return "a column in the place of a literal"
        case exp.Cast():
            return "a cast"
        case exp.Query() | exp.Exists():
            return "a subquery"
        case exp.Anonymous():
            return f"function {node.name}"
        case exp.Func():
            return f"function {node.sql_name().lower()}"
        case _:
            return f"the expression {node.key.upper()}"


def _sql(node: exp.Expression) -> str:
    return str(node.sql(dialect=Grammar))
