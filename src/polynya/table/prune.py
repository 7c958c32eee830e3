"""Which files, row groups or manifests can hold a row that a bound predicate asks for.

Every decision here is conservative: false means that no row can match, true that one may. One value of an array stands
for one group of rows; an unknown bound or count is null.

What bounds say: no value is below `min` or above `max`. They need not be values themselves: long texts are cut, the
maximum then raised. Three traps:
- A bound that is NaN says nothing. Where `has_nan_in_max` is false (ORC, and writers other than Paimon's, leave NaN out
  of their statistics), a float column may hold NaN above its maximum.
- ORC pads CHAR with blanks, in the bounds too, and readers trim it: a text may lie below its minimum 'abc  '. So no
  decision here rests on the trailing blanks of a bound.
- `-0.0` and `0.0` are equal and may stand on either side of each other.
"""

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_type
from polynya.model.bind import push_not
from polynya.model.evaluate import is_nan, mask
from polynya.model.like import Pattern, after_prefix, pattern_of
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
    Path,
    Predicate,
)

BUCKET_CANDIDATES_MAX = 1000
_BEFORE_CONTROLS = re.compile(r"[^\x00-\x1f]*")

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class ColumnStats:
    """What is known of one column in each group; arrays (chunked or not) of one length, null where unknown."""

    min: pa.Array
    max: pa.Array
    null_count: pa.Array
    has_nan_in_max: Bools | bool = False  # matters for FLOAT and DOUBLE only


def may_match(predicate: Predicate, stats: Mapping[str, ColumnStats | None], row_count: pa.Array) -> Bools:
    """For each group, whether one of its rows may match the bound predicate.

    A column without statistics (missing or None), and a member of a ROW, is unknown and prunes nothing.
    """
    return _may_match(push_not(predicate), stats, row_count)


def _may_match(predicate: Predicate, stats: Mapping[str, ColumnStats | None], row_count: pa.Array) -> Bools:
    match predicate:
        case And(predicates=parts):
            return reduce(np.bitwise_and, (_may_match(part, stats, row_count) for part in parts))
        case Or(predicates=parts):
            return reduce(np.bitwise_or, (_may_match(part, stats, row_count) for part in parts))
        case AlwaysFalse():
            return np.zeros(len(row_count), np.bool_)
        case (
            Compare(column=(name,))
            | In(column=(name,))
            | Like(column=(name,))
            | IsNull(column=(name,))
            | IsNotNull(column=(name,))
            | Not(predicate=In(column=(name,)) | Like(column=(name,)))
        ):
            known = stats.get(name)
            return np.ones(len(row_count), np.bool_) if known is None else _leaf(predicate, known, row_count)
        case _:
            return np.ones(len(row_count), np.bool_)


def _leaf(predicate: Predicate, stats: ColumnStats, row_count: pa.Array) -> Bools:
    if isinstance(predicate, IsNull):
        return _maybe(pc.greater(stats.null_count, 0))
    has_value = _maybe(pc.less(stats.null_count, row_count))
    if isinstance(predicate, IsNotNull):
        return has_value
    return has_value & _within_bounds(predicate, _bounds(stats))


@dataclass(frozen=True)
class _Bounds:
    min: pa.Array
    max: pa.Array
    above_max: Bools | bool  # whether a value may lie above the maximum

    def all_in(self, values: Sequence[pa.Scalar]) -> Bools:
        """Where the column has one value only, and it is one of these."""
        wanted = pa.array([value for value in values if not _ends_blank(value)], self.min.type)
        single = pc.and_(pc.is_in(self.min, wanted), pc.equal(self.min, self.max))
        sure: Bools = _surely(single) & ~np.asarray(self.above_max)
        return sure


def _bounds(stats: ColumnStats) -> _Bounds:
    if not pa.types.is_floating(stats.min.type):
        return _Bounds(stats.min, stats.max, False)
    return _Bounds(_without_nan(stats.min), _without_nan(stats.max), ~np.asarray(stats.has_nan_in_max))


def _without_nan(bound: pa.Array) -> pa.Array:
    return pc.if_else(pc.is_nan(bound), pa.scalar(None, bound.type), bound)


def _maybe(truth: pa.Array) -> Bools:
    return np.array(pc.fill_null(truth, True))


def _surely(truth: pa.Array) -> Bools:
    return np.asarray(pc.fill_null(truth, False))


def _within_bounds(predicate: Predicate, bounds: _Bounds) -> Bools:
    match predicate:
        case Compare(op=op, value=value):
            return _may_compare(op, value, bounds)
        case In(values=values):
            return _may_be_in(values, bounds)
        case Not(predicate=In(values=values)):
            return ~bounds.all_in(values)
        case Like():
            return _may_be_like(pattern_of(predicate), bounds)
        case Not(predicate=Like() as leaf):
            return _may_be_unlike(pattern_of(leaf), bounds)
        case _:
            return np.ones(len(bounds.min), np.bool_)


def _may_compare(op: Op, value: pa.Scalar, bounds: _Bounds) -> Bools:
    if is_nan(value):
        return np.ones(len(bounds.min), np.bool_)
    match op:
        case Op.EQ:
            return _may_reach_down(value, bounds) & _maybe(pc.greater_equal(bounds.max, value))
        case Op.NE:
            return ~bounds.all_in([value])
        case Op.LT if not isinstance(value, pa.StringScalar):
            return _maybe(pc.less(bounds.min, value))
        case Op.LT | Op.LE:
            return _may_reach_down(value, bounds)
        case Op.GT:
            return _maybe(pc.greater(bounds.max, value)) | bounds.above_max
        case Op.GE:
            return _maybe(pc.greater_equal(bounds.max, value)) | bounds.above_max


def _may_reach_down(value: pa.Scalar, bounds: _Bounds) -> Bools:
    """Whether a value of the column may be the literal or below it."""
    if isinstance(value, pa.StringScalar):
        return _maybe(pc.less(bounds.min, _above_padding(value.as_py())))
    return _maybe(pc.less_equal(bounds.min, value))


def _above_padding(text: str) -> str:
    """A text above every text up to this one, blank padded or not: `!` follows the blank, controls precede it."""
    return _BEFORE_CONTROLS.match(text)[0] + "!"  # type: ignore[index]  # it matches every text


def _ends_blank(value: pa.Scalar) -> bool:
    return isinstance(value, pa.StringScalar) and value.as_py().endswith(" ")


def _may_be_in(values: tuple[pa.Scalar, ...], bounds: _Bounds) -> Bools:
    """For each group, whether the first value that its minimum lets in is not above its maximum."""
    if any(map(is_nan, values)):
        return np.ones(len(bounds.min), np.bool_)
    wanted = pa.array(values, bounds.min.type)
    wanted = wanted.take(pc.sort_indices(wanted))
    ceilings = _ceilings(wanted)
    kept = _maybe(pc.less_equal(bounds.min, ceilings[-1])) & _maybe(pc.greater_equal(bounds.max, wanted[0]))
    near = np.flatnonzero(kept)
    least = _first_reaching(bounds.min.take(pa.array(near)), ceilings)
    is_there = least < len(wanted)
    value = wanted.take(pa.array(np.where(is_there, least, 0)))
    kept[near] = is_there & _maybe(pc.less_equal(value, bounds.max.take(pa.array(near))))
    return kept


def _first_reaching(minimum: pa.Array, ceilings: pa.Array) -> npt.NDArray[np.int64]:
    """For each minimum, the place of the first ceiling that is not below it; 0 for an unknown minimum."""
    low, high = np.zeros(len(minimum), np.int64), np.full(len(minimum), len(ceilings), np.int64)
    for _ in range(len(ceilings).bit_length()):
        middle = (low + high) // 2
        is_open = low < high
        ceiling = ceilings.take(pa.array(np.where(is_open, middle, 0)))
        below = is_open & _surely(pc.less(ceiling, minimum))
        low, high = np.where(below, middle + 1, low), np.where(is_open & ~below, middle, high)
    return low


def _ceilings(wanted: pa.Array) -> pa.Array:
    """For each of the sorted values, what a minimum may be at most when the value or one before it is there."""
    if not pa.types.is_string(wanted.type):
        return wanted
    return pa.array(itertools.accumulate(map(_above_padding, wanted.to_pylist()), max), wanted.type)


def _may_be_like(pattern: Pattern, bounds: _Bounds) -> Bools:
    if pattern.exact is not None:
        return _may_compare(Op.EQ, pa.scalar(pattern.exact), bounds)
    reaches = _maybe(pc.greater_equal(bounds.max, pattern.prefix))
    end = after_prefix(pattern.prefix)
    return reaches if end is None else reaches & _maybe(pc.less(bounds.min, end))


def _may_be_unlike(pattern: Pattern, bounds: _Bounds) -> Bools:
    if pattern.exact is not None:
        return _may_compare(Op.NE, pa.scalar(pattern.exact), bounds)
    if not pattern.is_prefix or pattern.prefix.endswith(" "):
        return np.ones(len(bounds.min), np.bool_)
    both = pc.and_(pc.starts_with(bounds.min, pattern.prefix), pc.starts_with(bounds.max, pattern.prefix))
    return ~_surely(both)


def partition_mask(predicate: Predicate, partitions: pa.RecordBatch | pa.Table) -> Bools:
    """For each partition (a row of decoded partition columns), whether it matches; exact, not only conservative."""
    return np.asarray(mask(predicate, partitions))


def bucket_candidates(
    predicate: Predicate, bucket_key: Sequence[t.Field], limit: int = BUCKET_CANDIDATES_MAX
) -> pa.Table | None:
    """Every bucket key that a matching row can have, one column per key field; None when there are too many to tell.

    The caller hashes them with each entry's own bucket count.
    """
    choices: list[list[pa.Scalar]] = []
    for field in bucket_key:
        values = _finite_values(predicate, (field.name,))
        if values is None:
            return None
        choices.append([spelling for value in values for spelling in _spellings(value)])
    if not bucket_key or math.prod(map(len, choices)) > limit:
        return None
    keys = list(itertools.product(*choices))
    return pa.table(
        {
            field.name: pa.array([key[index] for key in keys], to_arrow_type(field.type))
            for index, field in enumerate(bucket_key)
        }
    )


def _finite_values(predicate: Predicate, column: Path) -> set[pa.Scalar] | None:
    """A finite set that holds what the column equals in every matching row, or None."""
    match predicate:
        case Compare(op=Op.EQ, column=path, value=value) if path == column:
            return _listed((value,))
        case In(column=path, values=values) if path == column:
            return _listed(values)
        case And(predicates=parts):
            found = [listed for part in parts if (listed := _finite_values(part, column)) is not None]
            return set.intersection(*found) if found else None
        case Or(predicates=parts):
            either = [_finite_values(part, column) for part in parts]
            return None if None in either else set[pa.Scalar]().union(*filter(None, either))
        case AlwaysFalse():
            return set()
        case _:
            return None


def _listed(values: tuple[pa.Scalar, ...]) -> set[pa.Scalar] | None:
    """The values with one zero; None where there is a NaN, of which there are too many to hash."""
    if any(map(is_nan, values)):
        return None
    return {pa.scalar(0.0, value.type) if _is_zero(value) else value for value in values}


def _spellings(value: pa.Scalar) -> tuple[pa.Scalar, ...]:
    """The values with bytes of their own that equal a scalar."""
    return (value, pa.scalar(-0.0, value.type)) if _is_zero(value) else (value,)


def _is_zero(value: pa.Scalar) -> bool:
    return bool(pa.types.is_floating(value.type) and value.as_py() == 0)
