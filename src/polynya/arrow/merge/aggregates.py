"""The aggregate functions: events of a column folded into one value per key.

Functions that choose a record's value answer with the row that holds it, and nothing is copied until the result is
gathered; the others (sums in `aggregates_numeric`, lists and maps in `aggregates_nested`, and `aggregates_text`)
compute new values.
"""

from itertools import pairwise

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from polynya.arrow.merge.aggregates_nested import collect, merge_map, merge_map_with_time, nested_partial, nested_update
from polynya.arrow.merge.aggregates_numeric import product_of, sum_of
from polynya.arrow.merge.aggregates_text import list_text
from polynya.arrow.merge.events import (
    ADD,
    BASE,
    FORGOTTEN,
    RETRACT,
    REVERSED,
    Events,
    first_of,
    last_of,
    picked,
)
from polynya.arrow.merge.folding import Folded
from polynya.arrow.merge.order import Bools, Ints, codes, to_array
from polynya.errors import CorruptFileError, InvalidInputError, UnsupportedError
from polynya.model.aggregate_functions import (
    FIRST_NON_NULL_VALUE,
    FIRST_VALUE,
    KEY,
    LAST_NON_NULL_VALUE,
    LAST_VALUE,
    NESTED,
    Function,
)

_RETRACTABLE = (KEY, LAST_VALUE, LAST_NON_NULL_VALUE, "sum", "product", "collect", "merge_map", "nested_update")
_FALLIBLE = ("sum", "product", *NESTED)  # some values cannot be added or taken back


def fold(function: Function, name: str, column: pa.ChunkedArray, events: Events) -> Folded:
    """The value of the column for each key of the events; `name` is the column, for messages."""
    if function.ignore_retract:
        events = events.where(events.acts != RETRACT)
    elif function.name not in _RETRACTABLE and (events.acts == RETRACT).any():
        raise InvalidInputError(
            f"column '{name}': aggregate function '{function.name}' cannot take values back; "
            f"set 'fields.{name}.ignore-retract' to skip -U and -D records"
        )
    if function.name in (FIRST_VALUE, FIRST_NON_NULL_VALUE):
        return _first(column, events, nulls=function.name == FIRST_VALUE)
    if function.name in _FALLIBLE and (events.op >= FORGOTTEN).any():
        _computed(function, name, column, events.forgotten)  # Paimon fails at what it removes later, too
    events = events.remembered
    match function.name:
        case "primary-key":
            return picked(events.row, last_of(events.group, events.group_count, np.ones(len(events), bool)))
        case "last_value":
            return _last(events)
        case "last_non_null_value":
            return _last_non_null(column, events)
        case "max" | "bool_or":
            return _extreme(column, events, largest=True)
        case "min" | "bool_and":
            return _extreme(column, events, largest=False)
        case _:
            return _computed(function, name, column, events)


def _computed(function: Function, name: str, column: pa.ChunkedArray, events: Events) -> Folded:
    """Functions that make new values; where a null changes nothing, its event is left out."""
    values = to_array(column.take(pa.array(events.row)))
    if function.name == "listagg":
        return list_text(function, values, events)
    if function.name == "collect":
        return collect(function, values, events)
    if values.null_count:
        matters = np.asarray(values.is_valid())
        if function.name in NESTED:  # an older null makes them go over the rows so far
            first = first_of(events.group, events.group_count, matters)[events.group]
            matters = matters | ((events.op == REVERSED) & (first >= 0) & (np.arange(len(events)) > first))
        values, events = values.filter(pa.array(matters)), events.where(matters)
    match function.name:
        case "sum":
            return sum_of(name, values, events)
        case "product":
            return product_of(name, values, events)
        case "merge_map":
            return merge_map(values, events)
        case "merge_map_with_keytime":
            return merge_map_with_time(function, values, events)
        case "nested_update":
            return nested_update(function, values, events)
        case "nested_partial_update":
            return nested_partial(function, values, events)
        case "rbm32":
            return _bitmap_union(name, values, events)
        case _:
            raise UnsupportedError(f"column '{name}': aggregate function '{function.name}' is not supported")


def _last(events: Events) -> Ints:
    position = last_of(events.group, events.group_count, events.op != REVERSED)
    row = picked(events.row, position)
    return np.where(picked(events.op.astype(np.int64), position) == RETRACT, -1, row)


def _last_non_null(column: pa.ChunkedArray, events: Events) -> Ints:
    """The newest value after the last one taken back; an older record counts only where there is no other."""
    valid = _valid(column, events)
    if events.has(RETRACT):
        gone = last_of(events.group, events.group_count, valid & (events.op == RETRACT))
        valid &= np.arange(len(events)) > gone[events.group]
    if not events.has(REVERSED):
        return picked(events.row, last_of(events.group, events.group_count, valid))
    newest = last_of(events.group, events.group_count, valid & (events.op != REVERSED))
    late = first_of(events.group, events.group_count, valid & (events.op == REVERSED))
    return picked(events.row, np.where(newest >= 0, newest, late))


def _first(column: pa.ChunkedArray, events: Events, *, nulls: bool) -> Ints:
    """The first value; once there was one, a base that came later keeps its own."""
    if (events.acts == REVERSED).any():
        return _first_with_late(column, events, nulls=nulls)
    counts = np.ones(len(events), bool) if nulls else _valid(column, events)
    base = last_of(events.group, events.group_count, events.op == BASE)
    first = first_of(events.group, events.group_count, counts & (events.op == ADD))
    remembered = first_of(events.group, events.group_count, counts & (events.op == FORGOTTEN + ADD))
    from_base = (base >= 0) & ((remembered >= 0) | (first < 0))
    return picked(events.row, np.where(from_base, base, first))


def _first_with_late(column: pa.ChunkedArray, events: Events, *, nulls: bool) -> Ints:
    """Follow the records one by one: with late records, what is first depends on what came before each of them."""
    valid = _valid(column, events)
    result = np.full(events.group_count, -1, np.int64)
    started = np.zeros(events.group_count, bool)
    for row, group, op, has_value in zip(events.row, events.group, events.acts, valid, strict=True):
        if op == BASE:
            result[group] = row
            continue
        if op == REVERSED:  # the value so far is offered to the record's
            offered = nulls or _has_value(column, result[group])
            takes = started[group] or not offered
        else:
            offered = nulls or has_value
            takes = offered and not started[group] and op == ADD
        if takes:
            result[group] = row
        started[group] |= offered
    return result


def _has_value(column: pa.ChunkedArray, row: int) -> bool:
    return row >= 0 and bool(column[int(row)].is_valid)


def _extreme(column: pa.ChunkedArray, events: Events, *, largest: bool) -> Ints:
    events = events.where(_valid(column, events))
    result = np.full(events.group_count, -1, np.int64)
    if not len(events):
        return result
    rank = codes([column.take(pa.array(events.row))])
    starts = events.starts
    reduce = np.maximum if largest else np.minimum
    best = np.repeat(reduce.reduceat(rank, starts), np.diff(starts, append=len(events)))
    first = first_of(events.group, events.group_count, rank == best)
    return picked(events.row, first)


def _valid(column: pa.ChunkedArray, events: Events) -> Bools:
    if not column.null_count:
        return np.ones(len(events), bool)
    return np.asarray(to_array(column.is_valid()))[events.row]


def _bitmap_union(name: str, values: pa.Array, events: Events) -> pa.Array:
    """Union the bitmaps of each key; a key with one bitmap keeps its bytes."""
    result: list[bytes | None] = [None] * events.group_count
    bounds = [*events.starts.tolist(), len(events)]
    for start, end in pairwise(bounds):
        stored = values.slice(start, end - start).to_pylist()
        result[events.group[start]] = stored[0] if len(stored) == 1 else _union(name, stored)
    return pa.array(result, values.type)


def _union(name: str, stored: list[bytes]) -> bytes:
    try:
        union = BitMap.union(*(BitMap.deserialize(one) for one in stored))
    except ValueError as error:
        raise CorruptFileError(
            f"column '{name}': expected a serialized 32-bit roaring bitmap, found {error}"
        ) from error
    union.run_optimize()
    return union.serialize()
