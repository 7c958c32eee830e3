"""sum and product.

Integers are exact at every step: a step that leaves the type is an error, as in Paimon. Floats are added in the order
of the records, so the bits agree. A decimal of at most 18 digits is a 64-bit number to Paimon: its sum may outgrow the
precision; wider ones become null when they do, and the next record starts anew.
"""

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from polynya.arrow.merge.events import RETRACT, Events, steps
from polynya.arrow.merge.order import Bools, Ints
from polynya.errors import InvalidInputError

_LOW = 0xFFFFFFFF
_COMPACT_DIGITS = 18
_LONG_GROUP = 64
Numbers = npt.NDArray[Any]  # integers or floats, as the column has them
_Step = Callable[[int | None, int, bool, pa.DataType], int | None]


def sum_of(name: str, values: pa.Array, events: Events) -> pa.Array:
    """The sum of each key; retracted values are subtracted."""
    if pa.types.is_decimal(values.type):
        return _sum_decimals(values, events)
    numbers = np.asarray(values)
    if pa.types.is_floating(values.type):
        return _scatter(_sum_floats(numbers, events), events, values.type)
    total, fits = _sum_longs(numbers.astype(np.int64), events)
    limits = np.iinfo(numbers.dtype)
    fits &= (total >= limits.min) & (total <= limits.max)
    if not fits.all():
        raise _overflow(name, "sum", values.type)
    return _scatter(_at_ends(total, events), events, values.type)


def product_of(name: str, values: pa.Array, events: Events) -> pa.Array:
    """The product of each key; by a retracted value it is divided."""
    if pa.types.is_decimal(values.type):
        return _fold_decimals(values, events, np.arange(len(events.starts)), _multiply)
    numbers = np.asarray(values)
    retract = events.op == RETRACT
    starts = events.starts
    result = np.zeros(len(starts), numbers.dtype)
    started = np.zeros(len(starts), bool)
    for keys, position in steps(starts, len(events)):
        factor, back, going = numbers[position], retract[position], started[keys]
        result[keys[~going & ~back]] = factor[~going & ~back]
        for chosen, operation in ((going & ~back, _times), (going & back, _divided)):
            result[keys[chosen]] = operation(name, result[keys[chosen]], factor[chosen])
        started[keys[~back]] = True
    return _scatter(result, events, values.type, started)


def _sum_longs(numbers: Ints, events: Events) -> tuple[Ints, Bools]:
    """The sum up to each event, and whether it fits 64 bits; large numbers go in two halves, so that no step wraps."""
    sign = np.where(events.op == RETRACT, -1, 1) if events.has(RETRACT) else 1
    largest = max(abs(int(numbers.min(initial=0))), int(numbers.max(initial=0)))
    if largest * len(numbers) < 2**62:
        return _running(sign * numbers, events), np.ones(len(numbers), bool)
    high = _running(sign * (numbers >> 32), events)
    low = _running(sign * (numbers & _LOW), events)
    high += low >> 32
    fits = (high >= -(2**31)) & (high < 2**31)
    return (high << 32) | (low & _LOW), fits


def _running(numbers: Ints, events: Events) -> Ints:
    """Cumulative sums that start anew with each key."""
    total = np.cumsum(numbers)
    starts = events.starts
    before = total[starts] - numbers[starts]
    return total - np.repeat(before, np.diff(starts, append=len(events)))


def _sum_floats(numbers: Numbers, events: Events) -> Numbers:
    signed = np.where(events.op == RETRACT, -numbers, numbers)
    starts = events.starts
    sizes = np.diff(starts, append=len(events))
    result = signed[starts]
    short = np.flatnonzero(sizes <= _LONG_GROUP)
    kept = np.repeat(sizes <= _LONG_GROUP, sizes)
    short_starts = np.cumsum(sizes[short]) - sizes[short]
    for keys, position in steps(short_starts, int(kept.sum())):
        if position[0] != short_starts[keys[0]]:
            result[short[keys]] += signed[kept][position]
    # A key with very many records is walked by numpy alone; there are few of them.
    for key in np.flatnonzero(sizes > _LONG_GROUP):
        result[key] = np.add.accumulate(signed[starts[key] : starts[key] + sizes[key]])[-1]
    return result


def _sum_decimals(values: pa.Array, events: Events) -> pa.Array:
    if values.type.precision <= _COMPACT_DIGITS:
        total, fits = _sum_longs(_words(values)[:, 0], events)
        ends = _at_ends(total, events)
        result = _from_words(np.stack((ends, ends >> 63), axis=1), values.type)
    else:
        result, fits = _sum_wide(values, events)
    if not fits.all():
        doubtful = np.flatnonzero(~np.logical_and.reduceat(fits, events.starts)) if len(fits) else np.zeros(0, int)
        exact = _fold_decimals(values, events, doubtful, _add)
        chosen = pa.array(np.isin(np.arange(len(result)), doubtful))
        result = pc.if_else(chosen, exact.take(pa.array(events.group[events.starts])), result)
    return _spread(result, events, np.ones(len(result), bool))


def _sum_wide(values: pa.Array, events: Events) -> tuple[pa.Array, Bools]:
    """The sums in 256 bits; a key whose absolute values together outgrow the type may have outgrown it on the way."""
    wide = values.cast(pa.decimal256(values.type.precision, values.type.scale))
    signed = pc.if_else(pa.array(events.op == RETRACT), pc.negate(wide), wide)
    table = pa.table({"group": events.group, "value": signed, "size": pc.abs(wide)})
    sums = table.group_by("group", use_threads=False).aggregate([("value", "sum"), ("size", "sum")])
    limit = Decimal(10) ** (values.type.precision - values.type.scale)
    fits = np.asarray(pc.less(sums["size_sum"], pa.scalar(limit, pa.decimal256(76, values.type.scale))))
    kept = pc.if_else(pa.array(fits), sums["value_sum"], None).combine_chunks().cast(values.type)
    return kept, np.repeat(fits, np.diff(events.starts, append=len(events)))


def _fold_decimals(values: pa.Array, events: Events, keys: Ints, step: _Step) -> pa.Array:
    """Fold the records of the keys one by one: products, and the rare sums that overflow on the way.

    It works on unscaled integers of any size; the answer is null for keys not asked for.
    """
    result: list[int | None] = [None] * events.group_count
    words = _words(values)
    numbers = [
        (high << 64) | low for low, high in zip(words[:, 0].view(np.uint64).tolist(), words[:, 1].tolist(), strict=True)
    ]
    bounds = np.append(events.starts, len(events))
    for key in keys.tolist():
        value: int | None = None
        start, end = int(bounds[key]), int(bounds[key + 1])
        for number, op in zip(numbers[start:end], events.op[start:end], strict=True):
            value = step(value, number, op == RETRACT, values.type)
        result[events.group[start]] = value
    return _from_integers(result, values.type)


def _add(value: int | None, number: int, retract: bool, type: pa.DataType) -> int | None:
    total = (value or 0) + (-number if retract else number)
    if type.precision <= _COMPACT_DIGITS:
        return total if -(2**63) <= total < 2**63 else None
    return _within(total, type)


def _multiply(value: int | None, number: int, retract: bool, type: pa.DataType) -> int | None:
    if value is None:
        return None if retract else number
    scale = 10**type.scale
    if not retract:
        return _within(_half_up(value * number, scale), type)
    if number == 0 or not _ends(number // math.gcd(value, number)):
        raise InvalidInputError(f"product: {value} / {number} has no exact decimal result")
    return _within(_half_up(value * scale, number), type)


def _half_up(numerator: int, denominator: int) -> int:
    quotient = (2 * abs(numerator) + abs(denominator)) // (2 * abs(denominator))
    return quotient if (numerator < 0) == (denominator < 0) else -quotient


def _ends(denominator: int) -> bool:
    """Whether a fraction of this denominator has finitely many decimal digits."""
    for prime in (2, 5):
        while denominator % prime == 0:
            denominator //= prime
    return abs(denominator) == 1


def _within(unscaled: int, type: pa.DataType) -> int | None:
    return unscaled if abs(unscaled) < 10**type.precision else None


def _times(name: str, left: Numbers, right: Numbers) -> Numbers:
    with np.errstate(over="ignore", invalid="ignore"):
        product = left * right
        if np.issubdtype(left.dtype, np.integer):
            divisor = np.where(right == 0, 1, right)
            wrapped = (right != 0) & ((product // divisor != left) | (product % divisor != 0))
            wrapped |= (left == np.iinfo(left.dtype).min) & (right == -1)
            if wrapped.any():
                raise _overflow(name, "product", pa.from_numpy_dtype(left.dtype))
    return product


def _divided(name: str, left: Numbers, right: Numbers) -> Numbers:
    if not np.issubdtype(left.dtype, np.integer):
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return left / right
    if (right == 0).any():
        raise InvalidInputError(f"column '{name}': product: cannot take back a factor of 0")
    if ((left == np.iinfo(left.dtype).min) & (right == -1)).any():
        raise _overflow(name, "product", pa.from_numpy_dtype(left.dtype))
    quotient = left // right
    towards_zero = (left % right != 0) & ((left < 0) != (right < 0))
    result: Numbers = quotient + towards_zero.astype(left.dtype)
    return result


def _overflow(name: str, function: str, type: pa.DataType) -> InvalidInputError:
    return InvalidInputError(f"column '{name}': {function} overflows {type}; use a wider type")


def _at_ends(running: Ints, events: Events) -> Ints:
    return running[np.append(events.starts[1:], len(events)) - 1] if len(events) else running


def _words(values: pa.Array) -> Ints:
    """Decimals as pairs of 64-bit words, low first."""
    words = np.frombuffer(values.buffers()[1], np.int64) if len(values) else np.zeros(0, np.int64)
    return words[2 * values.offset : 2 * (values.offset + len(values))].reshape(-1, 2)


def _from_words(words: Ints, type: pa.DataType) -> pa.Array:
    return pa.Array.from_buffers(type, len(words), [None, pa.py_buffer(np.ascontiguousarray(words))])


def _from_integers(numbers: list[int | None], type: pa.DataType) -> pa.Array:
    """Decimals of unscaled integers, which may have more digits than the type: Paimon keeps such sums."""
    low = np.array([(number or 0) & (2**64 - 1) for number in numbers], np.uint64).view(np.int64)
    high = np.array([(number or 0) >> 64 for number in numbers], np.int64)
    values = _from_words(np.stack((low, high), axis=1), type)
    present = pa.array([number is not None for number in numbers], pa.bool_())
    return pc.if_else(present, values, pa.scalar(None, type))


def _scatter(result: Numbers, events: Events, type: pa.DataType, valid: Bools | None = None) -> pa.Array:
    """Values of the keys that have events, as a value or null for every key."""
    return _spread(pa.array(result, type), events, np.ones(len(result), bool) if valid is None else valid)


def _spread(result: pa.Array, events: Events, valid: Bools) -> pa.Array:
    indices = np.full(events.group_count, -1, np.int64)
    indices[events.group[events.starts[valid]]] = np.flatnonzero(valid)
    return result.take(pa.array(indices, mask=indices < 0))
