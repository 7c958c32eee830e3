"""What a leaf of a bound predicate asks of an index: null rows, others, or keys within spans.

A text pattern becomes the span of its prefix, so spans may hold keys that do not match. They are never too narrow; and
where they are turned round by `negated`, they are exact.
"""

from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import TypeAlias

from polynya.errors import InvalidInputError
from polynya.model import types as t
from polynya.model.like import after_prefix, pattern_of
from polynya.model.literals import Value
from polynya.model.predicate import Compare, In, IsNotNull, IsNull, Like, Not, Op, Predicate
from polynya.paimon.file_index.keys import Key, KeyForm, literal_keys


class Nullness(Enum):
    """Whether the value is null."""

    NULL = "null"
    NOT_NULL = "not null"


@dataclass(frozen=True, slots=True)
class Span:
    """Keys from `low` to `high`, both included unless they are open; None is no bound."""

    low: Key | None = None
    high: Key | None = None
    low_open: bool = False
    high_open: bool = False


@dataclass(frozen=True, slots=True)
class Spans:
    """Keys in one of the spans, or not null and in none of them."""

    spans: tuple[Span, ...]
    negated: bool = False


Wanted: TypeAlias = Nullness | Spans


@lru_cache(maxsize=256)  # a plan asks the same of many files
def wanted(leaf: Predicate, type: t.DataType, form: KeyForm) -> Wanted:
    """What the leaf, bound to a column of the type, asks for."""
    match leaf:
        case IsNull():
            return Nullness.NULL
        case IsNotNull():
            return Nullness.NOT_NULL
        case Compare(op=Op.NE, value=value):
            return _other_than((value,), type, form)
        case Compare(op=op, value=value):
            return Spans((_span(op, *literal_keys(value, type), form),))
        case In(values=values):
            return Spans(tuple(Span(*literal_keys(value, type)) for value in values))
        case Not(predicate=In(values=values)):
            return _other_than(values, type, form)
        case Like():
            return _like(leaf)
        case Not(predicate=Like()):
            return Nullness.NOT_NULL
        case _:
            raise InvalidInputError(f"{leaf!r} is not a leaf of a bound predicate")


def _other_than(values: tuple[Value, ...], type: t.DataType, form: KeyForm) -> Wanted:
    if not form.is_exact:
        return Nullness.NOT_NULL  # a value beside the literal may share its key
    return Spans(tuple(Span(*literal_keys(value, type)) for value in values), negated=True)


def _span(op: Op, first: Key, last: Key, form: KeyForm) -> Span:
    match op:
        case Op.LT:
            return Span(high=first, high_open=form.is_exact)
        case Op.LE:
            return Span(high=last)
        case Op.GT:
            return Span(low=last, low_open=form.is_exact)
        case Op.GE:
            return Span(low=first)
        case _:
            return Span(first, last)


def _like(leaf: Like) -> Wanted:
    pattern = pattern_of(leaf)
    if pattern.exact is not None:
        key = pattern.exact.encode()
        return Spans((Span(key, key),))
    if not pattern.prefix:
        return Nullness.NOT_NULL
    after = after_prefix(pattern.prefix)
    return Spans((Span(pattern.prefix.encode(), after.encode() if after is not None else None, high_open=True),))


def points(asked: Spans) -> list[Key] | None:
    """The single keys that the spans consist of; None where a span holds more."""
    keys: list[Key] = []
    for span in asked.spans:
        low, high = span.low, span.high
        if low == high and low is not None:
            keys.append(low)
        elif isinstance(low, int) and isinstance(high, int) and high - low == 1:
            keys += [low, high]  # zero, with both its signs
        else:
            return None
    return keys
