"""collect, merge_map, merge_map_with_keytime, nested_update, nested_partial_update: functions of lists and maps.

Lists are laid flat; the elements that stay are chosen by position, and gathered once. Equal elements have equal codes,
so choosing is integer work whatever the elements are. The order of results that Paimon leaves open (hash order there)
is the order of the records here.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polynya.arrow.merge.events import BASE, RETRACT, REVERSED, Events, first_of, last_of
from polynya.arrow.merge.order import Bools, Ints, codes
from polynya.errors import InvalidInputError
from polynya.model.aggregate_functions import NO_LIMIT, Function

_Fold = Callable[[list[int], list[int], int], list[int]]  # elements so far, elements of the record, op -> elements


@dataclass(frozen=True)
class _Flat:
    """The elements of lists or maps, each with the event it came by."""

    elements: pa.Array  # of a map: its entries
    event: Ints
    group: Ints
    op: Ints

    def __len__(self) -> int:
        return len(self.event)


def collect(function: Function, values: pa.Array, events: Events) -> pa.Array:
    """The elements of all lists; distinct ones only where asked for. A retracted element goes once.

    A null list counts as an empty one that cannot be the first.
    """
    flat = _flat(values, events)
    valid = np.asarray(values.is_valid())
    if events.has(RETRACT):
        step = _collect_step(_identity(flat.elements), distinct=function.distinct)
        return _folded(values, events, flat, step, keeps_first=not function.distinct)
    kept = np.arange(len(flat))
    if function.distinct:
        untouched = _untouched(events)[flat.group]
        kept = np.flatnonzero(first_occurrence(flat.group, _identity(flat.elements)) | untouched)
    elif function.ignore_retract and events.has(REVERSED):
        kept = _late_in_front(flat)
    return _rebuilt(values.type, flat, kept, events.where(valid))


def merge_map(values: pa.Array, events: Events) -> pa.Array:
    """The entries of all maps, the newest of each key; retracted keys go."""
    flat = _flat(values, events)
    entry = codes([pa.array(flat.group), pa.array(_identity(flat.elements.field(0)))])
    _, entry = np.unique(entry, return_inverse=True)
    count = int(entry.max(initial=-1)) + 1
    gone = last_of(entry, count, flat.op == RETRACT)
    after = np.arange(len(flat)) > gone[entry]
    newest = last_of(entry, count, after & (flat.op != REVERSED) & (flat.op != RETRACT))
    late = first_of(entry, count, after & (flat.op == REVERSED))
    chosen = np.where(newest >= 0, newest, late)
    return _rebuilt(values.type, flat, np.sort(chosen[chosen >= 0]), events)


def merge_map_with_time(function: Function, values: pa.Array, events: Events) -> pa.Array:
    """The entries of all maps; of each key the one with the greatest time, and none after a null value."""
    flat = _flat(values, events)
    key = _identity(flat.elements.field(0)).tolist()
    value = flat.elements.field(1)
    absent = value.is_null().to_pylist()
    time = pc.struct_field(value, function.time_field or value.type[-1].name).to_pylist()
    # Paimon compares the times as UTF-16 text.
    times = [None if text is None else text.encode("utf-16-be") for text in time]

    def put_over(below: list[int], above: list[int]) -> list[int]:
        merged = {key[element]: element for element in below}
        for element in above:
            held = merged.get(key[element])
            new = times[element]
            if absent[element]:
                merged.pop(key[element], None)
            elif new is not None and (held is None or (old := times[held]) is None or new > old):
                merged[key[element]] = element
        return list(merged.values())

    def step(so_far: list[int], record: list[int], op: int) -> list[int]:
        return put_over(record, so_far) if op == REVERSED else put_over(so_far, record)

    return _folded(values, events, flat, step)


def nested_update(function: Function, values: pa.Array, events: Events) -> pa.Array:
    """The rows of all lists; with a nested key the newest row of each."""
    flat = _flat(values, events)
    plain = not function.nested_key and function.count_limit == NO_LIMIT
    if plain and not events.has(RETRACT) and not events.has(REVERSED):
        untouched = _untouched(events)[flat.group]
        present = np.asarray(flat.elements.is_valid())
        return _rebuilt(values.type, flat, np.flatnonzero(present | untouched), events)
    if function.nested_key:
        return _folded(values, events, flat, _keyed_step(function, flat.elements), keeps_first=False)
    return _folded(values, events, flat, _append_step(function, flat.elements), keeps_first=False)


def nested_partial(function: Function, values: pa.Array, events: Events) -> pa.Array:
    """The rows of all lists, one per nested key: the last non-null value of each member."""
    flat = _flat(values, events)
    untouched = _untouched(events)
    null_key = _has_null_key(function, flat.elements)
    if function.null_key == "error" and (null_key & ~untouched[flat.group]).any():
        raise _null_key_error()
    kept = np.flatnonzero(np.asarray(flat.elements.is_valid()) & ~null_key)
    nested = codes([pa.array(flat.group[kept]), pa.array(_key_codes(function, flat.elements)[kept])])
    _, nested = np.unique(nested, return_inverse=True)
    count = int(nested.max(initial=-1)) + 1
    first = first_of(nested, count, np.ones(len(kept), bool))
    late_last = _late_in_front(_Flat(flat.elements, flat.event[kept], flat.group[kept], flat.op[kept]))
    members = []
    for member in flat.elements.flatten():
        valid = np.asarray(member.is_valid())[kept][late_last]
        position = last_of(nested[late_last], count, valid)
        source = np.where(position < 0, -1, kept[late_last][position]) if len(kept) else position
        members.append(member.take(pa.array(source, mask=source < 0)))
    order = np.argsort(first, kind="stable")
    rows = pa.StructArray.from_arrays(members, fields=list(flat.elements.type)) if members else flat.elements
    flat_rows = _Flat(rows, first, flat.group[kept][first] if len(kept) else first, first)
    merged = _rebuilt(values.type, flat_rows, order, events.where(np.asarray(values.is_valid())))
    only = first_of(events.group, events.group_count, untouched[events.group])
    return pc.if_else(pa.array(untouched), values.take(pa.array(only, mask=only < 0)), merged)


def first_occurrence(group: Ints, code: Ints) -> Bools:
    """Which elements are the first of their code in their group."""
    _, first = np.unique(codes([pa.array(group), pa.array(code)]), return_index=True)
    mask = np.zeros(len(group), bool)
    mask[first] = True
    return mask


def list_bounds(group: Ints, group_count: int) -> tuple[Ints, Bools]:
    """The offsets of a list per group for elements that stand group by group, and which groups have any."""
    sizes = np.bincount(group, minlength=group_count) if len(group) else np.zeros(group_count, np.int64)
    return np.concatenate(([0], np.cumsum(sizes))), sizes > 0


def _flat(values: pa.Array, events: Events) -> _Flat:
    if pa.types.is_map(values.type):
        entry = pa.struct([values.type.key_field, values.type.item_field])
        sizes = np.diff(np.asarray(values.offsets))
        start, end = int(values.offsets[0].as_py()), int(values.offsets[-1].as_py())
        children = [values.keys.slice(start, end - start), values.items.slice(start, end - start)]
        elements = pa.StructArray.from_arrays(children, fields=list(entry))
    else:
        sizes = np.asarray(pc.list_value_length(values).fill_null(0)).astype(np.int64)
        elements = values.flatten()
    event = np.repeat(np.arange(len(values)), sizes)
    return _Flat(elements, event, events.group[event], events.op[event].astype(np.int64))


def _identity(elements: pa.Array) -> Ints:
    """Codes that are equal where elements are."""
    type = elements.type
    if pa.types.is_struct(type):
        parts = [_identity(member) for member in elements.flatten()]
        return codes([elements.is_valid().cast(pa.int8()), *map(pa.array, parts)])
    if pa.types.is_nested(type):
        seen: dict[str, int] = {}  # lists and maps inside elements are rare; their text tells them apart
        return np.array([seen.setdefault(repr(value), len(seen)) for value in elements.to_pylist()], np.int64)
    return codes([elements])


def _untouched(events: Events) -> Bools:
    """Which keys have one event that sets the value as it is: a base, or an older record where there was nothing."""
    count = np.bincount(events.group, minlength=events.group_count)
    sets = np.zeros(events.group_count, bool)
    sets[events.group[(events.op == BASE) | (events.op == REVERSED)]] = True
    single: Bools = count == 1
    return sets & single


def _late_in_front(flat: _Flat) -> Ints:
    """The order of elements in which those of older records stand before all others of their key."""
    late = flat.op == REVERSED
    return np.lexsort((np.arange(len(flat)), np.where(late, -1 - flat.event, flat.event), flat.group))


def _rebuilt(type: pa.DataType, flat: _Flat, kept: Ints, events: Events) -> pa.Array:
    """The lists or maps of the kept elements; null for keys without any value."""
    offsets, _ = list_bounds(flat.group[kept], events.group_count)
    has_value = np.zeros(events.group_count, bool)
    has_value[events.group[events.op != RETRACT]] = True
    elements = flat.elements.take(pa.array(kept))
    bounds = pa.array(offsets, pa.int32())
    if pa.types.is_map(type):
        lists = pa.MapArray.from_arrays(bounds, elements.field(0), elements.field(1), type=type)
    else:
        lists = pa.ListArray.from_arrays(bounds, elements, type=type)
    return pc.if_else(pa.array(has_value), lists, pa.scalar(None, type))


def _folded(values: pa.Array, events: Events, flat: _Flat, step: _Fold, *, keeps_first: bool = True) -> pa.Array:
    """Follow the records of each key one by one, on positions of elements.

    For functions in which what a record does depends on all that came before it. A first record stays as it is,
    unless the function also treats it (`keeps_first` False and not a base).
    """
    sizes = np.bincount(flat.event, minlength=len(events)) if len(flat) else np.zeros(len(events), np.int64)
    ends = np.cumsum(sizes)
    valid = values.is_valid().to_pylist()
    state: dict[int, list[int]] = {}
    ranges = zip((ends - sizes).tolist(), ends.tolist(), strict=True)
    for bounds, is_valid, group, op in zip(ranges, valid, events.group.tolist(), events.op.tolist(), strict=True):
        so_far = state.get(group)
        if so_far is not None:
            state[group] = step(so_far, list(range(*bounds)), op)
        elif is_valid and op != RETRACT:
            first = list(range(*bounds))
            state[group] = first if keeps_first or op in (BASE, REVERSED) else step([], first, op)
    kept = np.array([element for group in sorted(state) for element in state[group]], np.int64)
    return _rebuilt(values.type, flat, kept, events.where(np.asarray(valid, bool)))


def _collect_step(code: Ints, *, distinct: bool) -> _Fold:
    codes_of = code.tolist()

    def step(so_far: list[int], record: list[int], op: int) -> list[int]:
        if op == RETRACT:
            return _without_once(so_far, record, codes_of)
        both = so_far + record
        if not distinct:
            return both
        first: dict[int, int] = {}
        for element in both:
            first.setdefault(codes_of[element], element)
        return list(first.values())

    return step


def _without_once(so_far: list[int], record: list[int], code: list[int]) -> list[int]:
    left: dict[int, int] = {}
    for element in record:
        left[code[element]] = left.get(code[element], 0) + 1
    kept = []
    for element in so_far:
        if left.get(code[element], 0):
            left[code[element]] -= 1
        else:
            kept.append(element)
    return kept


def _append_step(function: Function, elements: pa.Array) -> _Fold:
    code = _identity(elements).tolist()
    valid = elements.is_valid().to_pylist()

    def step(so_far: list[int], record: list[int], op: int) -> list[int]:
        if op == RETRACT:
            gone = {code[element] for element in record if valid[element]}
            return [element for element in so_far if valid[element] and code[element] not in gone]
        head, tail = (record, so_far) if op == REVERSED else (so_far, record)
        if len(head) >= function.count_limit:
            return head
        added = [element for element in tail if valid[element]][: function.count_limit - len(head)]
        return [element for element in head if valid[element]] + added

    return step


def _keyed_step(function: Function, elements: pa.Array) -> _Fold:
    key = _key_codes(function, elements).tolist()
    null_key = _has_null_key(function, elements)
    usable = (np.asarray(elements.is_valid()) & ~null_key).tolist()
    refused = (null_key & (function.null_key == "error")).tolist()
    sequence = [0] * len(elements)
    if function.nested_sequence and len(elements):
        sequence = codes([pc.struct_field(elements, name) for name in function.nested_sequence]).tolist()

    def put(rows: dict[int, int], added: list[int], limit: int) -> None:
        for element in added:
            held = rows.get(key[element]) if usable[element] else None
            if held is not None and sequence[element] < sequence[held]:
                continue
            if usable[element] and (held is not None or len(rows) < limit):
                rows[key[element]] = element

    def step(so_far: list[int], record: list[int], op: int) -> list[int]:
        if any(refused[element] for element in so_far + record):
            raise _null_key_error()
        rows: dict[int, int] = {}
        if op == RETRACT:
            gone = {key[element] for element in record if usable[element]}
            put_all = {key[element]: element for element in so_far if usable[element]}
            return [element for code, element in put_all.items() if code not in gone]
        head, tail = (record, so_far) if op == REVERSED else (so_far, record)
        put(rows, head, NO_LIMIT)
        put(rows, tail, function.count_limit)
        return list(rows.values())

    return step


def _key_codes(function: Function, elements: pa.Array) -> Ints:
    return codes([pa.array(_identity(pc.struct_field(elements, name))) for name in function.nested_key])


def _has_null_key(function: Function, elements: pa.Array) -> Bools:
    """Which rows have a null in their key, where the option forbids it."""
    found = np.zeros(len(elements), bool)
    if function.null_key != "merge":
        for name in function.nested_key:
            found |= np.asarray(pc.struct_field(elements, name).is_null())
    present: Bools = np.asarray(elements.is_valid())
    return found & present


def _null_key_error() -> InvalidInputError:
    return InvalidInputError("nested key: null found; set 'nested-key-null-strategy' to merge or ignore")
