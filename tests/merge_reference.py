"""Merging one record at a time, in plain Python: what the vectorised engines are compared with.

A record is a dict of `_SEQUENCE_NUMBER`, `_VALUE_KIND` and the columns. Maps are lists of pairs, rows are dicts.
"""

import math
import struct
from decimal import ROUND_HALF_UP, Decimal

import numpy as np

from polynya.model.aggregate_functions import Function
from polynya.model.merge_spec import Engine, MergeSpec

SEQUENCE, KIND, LEVEL = "_SEQUENCE_NUMBER", "_VALUE_KIND", "_LEVEL"
INSERT, UPDATE_BEFORE, DELETE = 0, 1, 3


class Refused(Exception):
    """Paimon throws here."""


def merge_reference(records: list[dict], spec: MergeSpec, types: dict) -> list[dict]:
    """One record per key in key order; `types` gives the Arrow type of each column."""
    keys: dict[tuple, list[dict]] = {}
    for record in records:
        keys.setdefault(tuple(order(record[name]) for name in spec.key), []).append(record)
    results = [_merge_key(sorted(keys[key], key=lambda r: age(r, spec)), spec, types) for key in sorted(keys)]
    return [{name: value for name, value in row.items() if name != LEVEL} for row in results if row is not None]


def order(value: object) -> tuple:
    """What compares in Python as the value does in Paimon."""
    if value is None:
        return (0,)
    if isinstance(value, float):
        bits = struct.unpack(">q", struct.pack(">d", math.nan if value != value else value))[0]
        return (1, bits if bits >= 0 else bits ^ (2**63 - 1))
    return (1, value.encode() if isinstance(value, str) else value)


def is_retract(record: dict) -> bool:
    return record[KIND] in (UPDATE_BEFORE, DELETE)


def age(record: dict, spec: MergeSpec) -> tuple:
    user = [order(record[name]) for name in spec.sequence_fields]
    if spec.descending:
        user = [(0,) if value == (0,) else (1, _Flipped(value[1])) for value in user]
    return (*user, record[SEQUENCE], not is_retract(record))


class _Flipped:
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return self.value == other.value

    def __hash__(self):
        return hash(self.value)

    def __lt__(self, other):
        return other.value < self.value


def _merge_key(records: list[dict], spec: MergeSpec, types: dict) -> dict | None:
    if len(records) == 1:
        return records[0]
    if LEVEL in records[0] and spec.engine is not Engine.FIRST_ROW:
        deep = [record[LEVEL] for record in records if record[LEVEL] > 0]
        records = [record for record in records if record[LEVEL] <= 0 or record[LEVEL] == min(deep)]
    match spec.engine:
        case Engine.DEDUPLICATE:
            kept = [record for record in records if not (spec.ignore_delete and is_retract(record))]
            return kept[-1] if kept else None
        case Engine.FIRST_ROW:
            if not spec.ignore_delete and any(map(is_retract, records)):
                raise Refused
            kept = [record for record in records if not is_retract(record)]
            return kept[0] if kept else None
        case Engine.AGGREGATION:
            return _aggregation(records, spec, types)
        case Engine.PARTIAL_UPDATE:
            return _PartialUpdate(spec, types).merge(records)


def _aggregation(records: list[dict], spec: MergeSpec, types: dict) -> dict:
    names = [name for name in records[0] if name not in (SEQUENCE, KIND, LEVEL)]
    functions = {name: aggregator(spec.functions[name], types[name]) for name in names}
    row = dict.fromkeys(names)
    deleted = False
    for record in records:
        deleted = spec.remove_on_delete and record[KIND] == DELETE
        if deleted:
            row = {name: record[name] for name in names}
            continue
        for name in names:
            act = functions[name].retract if is_retract(record) else functions[name].agg
            row[name] = act(row[name], record[name])
    return {SEQUENCE: records[-1][SEQUENCE], KIND: DELETE if deleted else INSERT, **row}


class _PartialUpdate:
    def __init__(self, spec: MergeSpec, types: dict):
        self.spec = spec
        self.functions = {name: aggregator(function, types[name]) for name, function in spec.functions.items()}
        self.group_of = {name: group for group in spec.groups for name in (*group.ordering, *group.protected)}

    def merge(self, records: list[dict]) -> dict:
        names = [name for name in records[0] if name not in (SEQUENCE, KIND, LEVEL)]
        self.row = dict.fromkeys(names)
        self.names, self.filled, self.deleted, has_add, sequence = names, False, False, False, 0
        for record in records:
            self.deleted = False
            if is_retract(record):
                if not self.filled:
                    self.row = {name: record[name] for name in names}
                    self.filled = True
                if self.spec.ignore_delete:
                    continue
                sequence = record[SEQUENCE]
                self.take_back(record)
                continue
            sequence = record[SEQUENCE]
            self.add(record)
            has_add = self.filled = True
        return {SEQUENCE: sequence, KIND: DELETE if self.deleted or not has_add else INSERT, **self.row}

    def take_back(self, record: dict) -> None:
        if not self.spec.groups:
            if not self.spec.remove_on_delete:
                raise Refused
            if record[KIND] == DELETE:
                self.deleted = True
                self.row = {name: record[name] for name in self.names}
            return
        for name in self.names:
            group = self.group_of.get(name)
            if group is None or all(record[other] is None for other in group.ordering):
                continue
            newer = self.rank(record, group) >= self.rank(self.row, group)
            function = self.functions.get(name)
            if newer and record[KIND] == DELETE and name in group.removing:
                self.deleted = True
                self.row = {name: record[name] for name in self.names}
                return
            if name in group.ordering:
                if newer:
                    self.row |= {other: record[other] for other in group.ordering}
            elif function is not None:
                self.row[name] = function.retract(self.row[name], record[name])
            elif newer:
                self.row[name] = None

    def add(self, record: dict) -> None:
        for group in self.spec.groups:
            if all(record[name] is None for name in group.ordering):
                continue
            newer = self.rank(record, group) >= self.rank(self.row, group)
            for name in group.protected:
                function = self.functions.get(name)
                if newer:
                    self.row[name] = function.agg(self.row[name], record[name]) if function else record[name]
                elif function is not None:
                    self.row[name] = function.agg_reversed(self.row[name], record[name])
            if newer:
                self.row |= {name: record[name] for name in group.ordering}
        for name in self.names:
            if name not in self.group_of and record[name] is not None:
                self.row[name] = record[name]

    def rank(self, row: dict, group) -> tuple:
        return tuple(order(row[name]) for name in group.ordering)


def aggregator(function: Function, type):
    """The function as an object with the state of one key."""
    made = {
        "primary-key": _Key,
        "last_value": _Last,
        "last_non_null_value": _LastNonNull,
        "first_value": _First,
        "first_non_null_value": _FirstNonNull,
        "sum": _Sum,
        "product": _Product,
        "max": _Max,
        "min": _Min,
        "bool_or": _Max,
        "bool_and": _Min,
        "listagg": _ListText,
        "collect": _Collect,
        "merge_map": _MergeMap,
        "merge_map_with_keytime": _MergeMapTime,
        "nested_update": _Nested,
        "nested_partial_update": _NestedPartial,
    }[function.name](function, type)
    return _IgnoringRetract(made) if function.ignore_retract else made


class _Function:
    def __init__(self, function: Function, type):
        self.function, self.type = function, type

    def agg_reversed(self, acc, value):
        return self.agg(value, acc)

    def retract(self, acc, value):
        raise Refused


class _IgnoringRetract:
    def __init__(self, inner):
        self.inner = inner

    def agg(self, acc, value):
        return self.inner.agg(acc, value)

    def agg_reversed(self, acc, value):
        return self.inner.agg(value, acc)

    def retract(self, acc, value):
        return acc


class _Key(_Function):
    def agg(self, acc, value):
        return value

    retract = agg


class _Last(_Function):
    def agg(self, acc, value):
        return value

    def retract(self, acc, value):
        return None


class _LastNonNull(_Function):
    def agg(self, acc, value):
        return acc if value is None else value

    def retract(self, acc, value):
        return acc if value is None else None


class _First(_Function):
    started = False

    def agg(self, acc, value):
        if self.started:
            return acc
        self.started = True
        return value


class _FirstNonNull(_Function):
    started = False

    def agg(self, acc, value):
        if self.started or value is None:
            return acc
        self.started = True
        return value


class _Number(_Function):
    def fit(self, value):
        kind = str(self.type)
        if kind.startswith("int") and not -(2 ** (int(kind[3:]) - 1)) <= value < 2 ** (int(kind[3:]) - 1):
            raise Refused
        if kind == "float":
            return struct.unpack("f", struct.pack("f", value))[0]
        return value

    def decimal(self, value: Decimal, limit: int):
        value = value.quantize(Decimal(1).scaleb(-self.type.scale), ROUND_HALF_UP)
        return value if abs(int(value.scaleb(self.type.scale))) < limit else None


class _Sum(_Number):
    def agg(self, acc, value):
        if acc is None or value is None:
            return value if acc is None else acc
        if isinstance(value, Decimal):
            return self.decimal(acc + value, 2**63 if self.type.precision <= 18 else 10**self.type.precision)
        return self.fit(acc + value)

    def retract(self, acc, value):
        if value is None:
            return acc
        return self.fit(-value) if acc is None else self.agg(acc, -value)


class _Product(_Number):
    def agg(self, acc, value):
        if acc is None or value is None:
            return value if acc is None else acc
        if isinstance(value, Decimal):
            return self.decimal(acc * value, 10**self.type.precision)
        return self.fit(acc * value)

    def retract(self, acc, value):
        if acc is None or value is None:
            return acc
        if isinstance(value, float):
            with np.errstate(all="ignore"):
                return self.fit(float(np.float64(acc) / np.float64(value)))
        if value == 0:
            raise Refused
        if isinstance(value, int):
            quotient = abs(acc) // abs(value)
            return self.fit(quotient if (acc < 0) == (value < 0) else -quotient)
        return self.fit(acc / value)


class _Max(_Function):
    def agg(self, acc, value):
        if acc is None or value is None:
            return value if acc is None else acc
        return value if order(acc) < order(value) else acc


class _Min(_Function):
    def agg(self, acc, value):
        if acc is None or value is None:
            return value if acc is None else acc
        return acc if order(acc) < order(value) else value


class _ListText(_Function):
    def agg(self, acc, value):
        if value is None or not value.strip():
            return acc
        if acc is None or not acc.strip():
            return value
        delimiter = self.function.delimiter
        if not self.function.distinct:
            return acc + delimiter + value
        seen = acc.split(delimiter)
        for token in value.split(delimiter):
            if token.strip() and token not in seen:
                seen.append(token)
                acc += delimiter + token
        return acc


class _Collect(_Function):
    def agg(self, acc, value):
        if acc is None and value is None:
            return None
        if not self.function.distinct:
            return (acc or []) + (value or [])
        unique: list = []
        for element in (acc or []) + (value or []):
            if element not in unique:
                unique.append(element)
        return unique

    agg_reversed = agg

    def retract(self, acc, value):
        if acc is None or value is None:
            return acc
        left = list(value)
        kept = []
        for element in acc:
            if element in left:
                left.remove(element)
            else:
                kept.append(element)
        return kept


class _MergeMap(_Function):
    def agg(self, acc, value):
        if acc is None or value is None:
            return value if acc is None else acc
        return list((dict(acc) | dict(value)).items())

    def retract(self, acc, value):
        if acc is None or value is None:
            return acc
        return [pair for pair in acc if pair[0] not in dict(value)]


class _MergeMapTime(_Function):
    def agg(self, acc, value):
        if acc is None or value is None:
            return value if acc is None else acc
        merged = dict(acc)
        for key, row in value:
            held = merged.get(key)
            if row is None:
                merged.pop(key, None)
            elif row["ts"] is not None and (held is None or held["ts"] is None or row["ts"] > held["ts"]):
                merged[key] = row
        return list(merged.items())


class _Nested(_Function):
    def key(self, row):
        return tuple(row[name] for name in self.function.nested_key)

    def usable(self, row) -> bool:
        if row is None:
            return False
        if self.function.null_key == "merge" or None not in self.key(row):
            return True
        if self.function.null_key == "error":
            raise Refused
        return False

    def agg(self, acc, value):
        if value is None:
            return acc
        limit = self.function.count_limit
        if not self.function.nested_key:
            if acc is not None and len(acc) >= limit:
                return acc
            added = [row for row in value if row is not None][: limit - len(acc or [])]
            return [row for row in acc or [] if row is not None] + added
        rows: dict[tuple, dict] = {}
        for source, most in ((acc or [], None), (value, limit)):
            for row in filter(self.usable, source):
                held = rows.get(self.key(row))
                if held is not None:
                    if self.sequence(row) >= self.sequence(held):
                        rows[self.key(row)] = row
                elif most is None or len(rows) < most:
                    rows[self.key(row)] = row
        return list(rows.values())

    def sequence(self, row):
        return [order(row[name]) for name in self.function.nested_sequence]

    def retract(self, acc, value):
        if acc is None or value is None:
            return acc
        if not self.function.nested_key:
            return [row for row in acc if row is not None and row not in value]
        gone = [self.key(row) for row in value if self.usable(row)]
        rows = {self.key(row): row for row in acc if self.usable(row)}
        return [row for key, row in rows.items() if key not in gone]


class _NestedPartial(_Nested):
    def agg(self, acc, value):
        if value is None:
            return acc
        rows: dict[tuple, dict] = {}
        for row in (acc or []) + value:
            if self.usable(row):
                held = rows.setdefault(self.key(row), dict.fromkeys(row))
                held |= {name: member for name, member in row.items() if member is not None}
        return list(rows.values())

    def retract(self, acc, value):
        raise Refused
