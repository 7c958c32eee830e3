"""listagg: the texts of a key joined by a delimiter; nulls and blanks are skipped."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polynya.arrow.merge.aggregates_nested import first_occurrence, list_bounds
from polynya.arrow.merge.events import ADD, REVERSED, Events, last_of
from polynya.arrow.merge.order import Bools, codes
from polynya.errors import UnsupportedError
from polynya.model.aggregate_functions import Function

# The characters that Java's Character.isWhitespace knows.
_BLANK = (
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \u1680\u2028\u2029\u205f\u3000"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2008\u2009\u200a"
)


def list_text(function: Function, values: pa.Array, events: Events) -> pa.Array:
    """The joined text of each key; an older record goes in front."""
    blank = _is_blank(values)
    # Without any text, what a base or the last of the older records brought stays as it is, blank or null.
    stays = last_of(events.group, events.group_count, events.op != ADD)
    leftover = values.take(pa.array(stays, mask=stays < 0))
    texts, events = values.filter(pa.array(~blank)), events.where(~blank)
    if function.distinct and events.has(REVERSED):
        joined = _distinct_with_late(function.delimiter, texts, events)
    elif function.distinct:
        joined = _distinct(function.delimiter, texts, events)
    else:
        joined = _joined(function.delimiter, texts, events)
    return pc.coalesce(joined, leftover)


def _is_blank(values: pa.Array) -> Bools:
    blank: Bools = np.asarray(pc.binary_length(pc.utf8_trim(values, characters=_BLANK)).fill_null(0)) == 0
    return blank


def _joined(delimiter: str, texts: pa.Array, events: Events) -> pa.Array:
    time = np.arange(len(events))
    order = np.lexsort((np.where(events.op == REVERSED, -1 - time, time), events.group))
    return _join(delimiter, texts.take(pa.array(order)), events.group, events.group_count)


def _distinct(delimiter: str, texts: pa.Array, events: Events) -> pa.Array:
    """The first text as it is, then the tokens that were not there yet."""
    _check(delimiter)
    split = pc.split_pattern(texts, delimiter)
    tokens = split.flatten()
    event = np.repeat(np.arange(len(texts)), np.asarray(pc.list_value_length(split)))
    group = events.group[event]
    first_text = np.isin(event, events.starts)
    fresh = first_occurrence(group, codes([tokens])) & ~_is_blank(tokens) if len(tokens) else first_text
    kept = first_text | fresh
    return _join(delimiter, tokens.filter(pa.array(kept)), group[kept], events.group_count)


def _distinct_with_late(delimiter: str, texts: pa.Array, events: Events) -> pa.Array:
    """Follow the records one by one: the tokens that an older record repeats move to the front."""
    _check(delimiter)
    result: list[str | None] = [None] * events.group_count
    for text, group, op in zip(texts.to_pylist(), events.group.tolist(), events.op.tolist(), strict=True):
        so_far = result[group]
        if so_far is None:
            result[group] = text
            continue
        head, tail = (text, so_far) if op == REVERSED else (so_far, text)
        seen = set(head.split(delimiter))
        fresh = [token for token in dict.fromkeys(tail.split(delimiter)) if token.strip(_BLANK) and token not in seen]
        result[group] = delimiter.join((head, *fresh))
    return pa.array(result, texts.type)


def _check(delimiter: str) -> None:
    if not delimiter:
        raise UnsupportedError("listagg: 'distinct' with an empty 'list-agg-delimiter' is not supported")


def _join(delimiter: str, texts: pa.Array, group: np.ndarray, group_count: int) -> pa.Array:
    """Join the texts of each group; null where there are none."""
    offsets, present = list_bounds(group, group_count)
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), texts)
    joined = pc.binary_join(lists, delimiter)
    return pc.if_else(pa.array(present), joined, pa.scalar(None, joined.type))
