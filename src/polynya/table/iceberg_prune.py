"""Which manifests and files of an Iceberg table can hold a row that a filter asks for.

A filter on columns is projected on partition values: what it implies of them, true at least wherever the filter is. A
leaf that a transform tells nothing about becomes true.

| transform | leaf | projected |
|---|---|---|
| identity | any | the same |
| bucket | =, in | = and in of the buckets |
| year ... hour, truncate of numbers | < x, > x | <= f(x - 1 unit), >= f(x + 1 unit) |
| | <=, >=, =, in | the same, of f(x) |
| truncate of texts and bytes | < and <=, > and >=, =, in | <= f(x), >= f(x), =, in |
| truncate of texts | like 'p%' | like 'p%', or = where p is as long as the width |
| all but void | is null, is not null | the same |

Writers of old made years, months, days and hours before 1970 one too large, so such values may be either. The least
numbers of a type, cut down, leave it and go on from its greatest: `<=` looks there too.

Predicates here name a column by its id, and a partition value as entries do.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from polynya.errors import CorruptFileError
from polynya.iceberg import bounds, partition_spec
from polynya.iceberg.partition_spec import PartitionSpec
from polynya.iceberg.partition_values import column_name
from polynya.model import bind, evaluate
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_type
from polynya.model.like import pattern_of
from polynya.model.predicate import (
    TRUE,
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
    Predicate,
    all_of,
    any_of,
    col,
)
from polynya.table.iceberg_entries import VOID, field_type, spec_of
from polynya.table.iceberg_table import IcebergRoot
from polynya.table.prune import ColumnStats, may_match

Mask = npt.NDArray[np.bool_]
_TIMES = ("year", "month", "day", "hour")
_Leaf = Compare | In | Like | IsNull | IsNotNull


@dataclass(frozen=True)
class Filter:
    """A bound predicate with columns named by their ids, and the types of these."""

    predicate: Predicate
    types: Mapping[int, t.DataType]

    @property
    def is_open(self) -> bool:
        """Whether it lets everything through."""
        return isinstance(self.predicate, AlwaysTrue)

    @property
    def metric_columns(self) -> tuple[str, ...]:
        """The columns of entries that it looks at."""
        if self.is_open:
            return ()
        has_floats = any(isinstance(type, (t.Float, t.Double)) for type in self.types.values())
        return ("null_value_counts", "lower_bounds", "upper_bounds", *(("nan_value_counts",) if has_floats else ()))


def filter_of(predicate: Predicate, fields: Sequence[t.Field]) -> Filter:
    """The filter that a predicate bound to the fields means."""
    types: dict[int, t.DataType] = {}
    return Filter(_by_id(bind.push_not(predicate), fields, types), types)


def manifests_may_match(root: IcebergRoot, metas: pa.Table, wanted: Filter) -> Mask:
    """Which manifests may hold a matching row, by the counts and partition summaries of the list."""
    files = pc.add(
        pc.cast(pc.fill_null(metas["added_files_count"], 1), pa.int64()), pc.fill_null(metas["existing_files_count"], 1)
    )
    keep = np.array(pc.not_equal(files, 0))
    if wanted.is_open:
        return keep
    spec_ids = metas["partition_spec_id"].to_numpy()
    for spec_id in np.unique(spec_ids).tolist():
        spec, own = spec_of(root, spec_id), np.flatnonzero(spec_ids == spec_id)
        projected = project(root, wanted, spec)
        if not isinstance(projected, AlwaysTrue):
            summaries = metas["partitions"].take(pa.array(own)).combine_chunks()
            rows = pa.repeat(pa.scalar(_SUMMARY_ROWS, pa.int64()), len(own))
            keep[own] &= may_match(projected, _summary_stats(root, summaries, spec), rows)
    return keep


def partitions_match(root: IcebergRoot, entries: pa.Table, wanted: Filter) -> Mask:
    """Which entries have a partition that may hold a matching row."""
    keep = np.ones(entries.num_rows, bool)
    if wanted.is_open:
        return keep
    spec_ids = entries["spec_id"].to_numpy()
    for spec_id in np.unique(spec_ids).tolist():
        projected = project(root, wanted, spec_of(root, spec_id))
        if not isinstance(projected, AlwaysTrue):
            own = np.flatnonzero(spec_ids == spec_id)
            columns = [path[0] for path in bind.columns(projected)]
            keep[own] = evaluate.mask(projected, entries.select(columns).take(pa.array(own)))
    return keep


def metrics_may_match(entries: pa.Table, wanted: Filter, *, name: str) -> Mask:
    """Which entries may hold a matching row, by their counts and bounds; CorruptFileError names the metadata."""
    keep = np.asarray(pc.greater(entries["record_count"], 0))
    if wanted.is_open or not entries.num_rows:
        return keep
    stats = {str(id): _column_stats(entries, id, type, name) for id, type in wanted.types.items()}
    return keep & may_match(wanted.predicate, stats, entries["record_count"])


def project(root: IcebergRoot, wanted: Filter, spec: PartitionSpec) -> Predicate:
    """What the filter implies of the partition values of a spec."""
    return _project(wanted.predicate, root, spec)


def by_key(pairs: pa.ChunkedArray, key: int) -> pa.Array:
    """The values under a key of a column of maps, null where there is none."""
    flat = pairs.combine_chunks()
    entries = flat.flatten()
    at = np.flatnonzero(np.asarray(pc.equal(entries.field("key"), key)))
    owner = pc.list_parent_indices(flat).to_numpy()[at]
    place = np.full(len(flat), -1, np.int64)
    place[owner] = at
    return entries.field("value").take(pa.array(place, mask=place < 0))


def _by_id(predicate: Predicate, fields: Sequence[t.Field], types: dict[int, t.DataType]) -> Predicate:
    match predicate:
        case And(predicates=parts):
            return all_of(*(_by_id(part, fields, types) for part in parts))
        case Or(predicates=parts):
            return any_of(*(_by_id(part, fields, types) for part in parts))
        case Not(predicate=inner):
            return Not(_by_id(inner, fields, types))
        case Compare() | In() | Like() | IsNull() | IsNotNull():
            field = bind.resolve(predicate.column, fields)
            types[field.id] = field.type
            return _renamed(predicate, str(field.id))
        case _:
            return predicate


def _renamed(leaf: _Leaf, name: str) -> Predicate:
    match leaf:
        case Compare(op=op, value=value):
            return Compare(op, (name,), value)
        case In(values=values):
            return In((name,), values)
        case Like(pattern=pattern, escape=escape):
            return Like((name,), pattern, escape)
        case IsNull():
            return IsNull((name,))
        case IsNotNull():
            return IsNotNull((name,))


def _project(predicate: Predicate, root: IcebergRoot, spec: PartitionSpec) -> Predicate:
    match predicate:
        case And(predicates=parts):
            return all_of(*(_project(part, root, spec) for part in parts))
        case Or(predicates=parts):
            return any_of(*(_project(part, root, spec) for part in parts))
        case Not(predicate=(In() | Like()) as leaf):
            return _project_leaf(leaf, root, spec, negated=True)
        case Compare() | In() | Like() | IsNull() | IsNotNull():
            return _project_leaf(predicate, root, spec, negated=False)
        case _:
            return predicate


def _project_leaf(leaf: _Leaf, root: IcebergRoot, spec: PartitionSpec, *, negated: bool) -> Predicate:
    id = int(leaf.column[0])
    fields = [one for one in spec.fields if one.source_ids == (id,) and partition_spec.is_known(one.transform)]
    source = root.fields_by_id.get(id)
    if source is None:
        return TRUE
    type = to_arrow_type(source.type)
    return all_of(*(_through(leaf, one.transform, column_name(one.field_id), type, negated=negated) for one in fields))


def _through(leaf: _Leaf, transform: str, name: str, type: pa.DataType, *, negated: bool) -> Predicate:
    """What a leaf, negated or not, says of the values of one transform."""
    kind, width = partition_spec.parse(transform)
    if kind == VOID:
        return TRUE
    if isinstance(leaf, (IsNull, IsNotNull)):
        return _renamed(leaf, name)
    typed = _typed(leaf, type)
    if kind == "identity":
        return Not(_renamed(typed, name)) if negated else _renamed(typed, name)
    if negated:
        return TRUE
    match typed:
        case In(values=values):
            return _compared(Op.EQ, values, transform, name)
        case Compare(op=Op.EQ, value=value):
            return _compared(Op.EQ, [value], transform, name)
        case Compare(op=op, value=value) if kind != "bucket" and op is not Op.NE:
            closed, beside = _closed(op, value)
            if kind == "truncate" and pa.types.is_integer(type):
                return _compared_number(closed, beside, transform, width, name)
            return _compared(closed, [beside], transform, name)
        case Like() if kind == "truncate":
            return _like(typed, width, name)
        case _:
            return TRUE


def _typed(leaf: _Leaf, type: pa.DataType) -> _Leaf:
    """The leaf with literals of the type that the column has today: partition values have it."""
    match leaf:
        case Compare(op=op, column=column, value=pa.Scalar() as value):
            return Compare(op, column, value.cast(type))
        case In(column=column, values=values):
            return In(column, tuple(value.cast(type) for value in values if isinstance(value, pa.Scalar)))
        case _:
            return leaf


def _closed(op: Op, value: pa.Scalar) -> tuple[Op, pa.Scalar]:
    """The comparison without `<` and `>`: of types with a next value the one beside it, else wider than it was."""
    if op is Op.LT:
        return Op.LE, _beside(value, -1)
    return (Op.GE, _beside(value, 1)) if op is Op.GT else (op, value)


def _beside(value: pa.Scalar, step: int) -> pa.Scalar:
    type = value.type
    if pa.types.is_string(type) or pa.types.is_binary(type):
        return value
    try:
        if pa.types.is_decimal(type):
            return pa.scalar(value.as_py() + step * Decimal(1).scaleb(-type.scale), type)
        plain = pa.int32() if type.bit_width == 32 else pa.int64()
        return pa.scalar(value.cast(plain).as_py() + step, plain).cast(type)
    except (pa.ArrowInvalid, OverflowError):
        return value  # at the end of the type's range; the comparison is only wider


def _compared(op: Op, values: Sequence[pa.Scalar], transform: str, name: str) -> Predicate:
    """`name op f(value)`, for equality with any of the values."""
    results = pc.unique(partition_spec.apply(transform, pa.array(values, values[0].type)))
    if transform in _TIMES and op is not Op.GE:
        results = _or_one_later(results, op)
    scalars = tuple(results)
    return Compare(op, (name,), scalars[0]) if len(scalars) == 1 else In((name,), scalars)


def _compared_number(op: Op, value: pa.Scalar, transform: str, width: int, name: str) -> Predicate:
    """`name op f(value)` of numbers cut down; the least ones end up within a width of the greatest."""
    cut = partition_spec.apply(transform, pa.array([value.as_py()], value.type))[0]
    if op is Op.LE:
        near_end = pa.scalar(2 ** (value.type.bit_width - 1) - 1 - width, value.type)
        return any_of(Compare(op, (name,), cut), Compare(Op.GT, (name,), near_end))
    return TRUE if cut.as_py() > value.as_py() else Compare(op, (name,), cut)


def _or_one_later(results: pa.Array, op: Op) -> pa.Array:
    numbers = results.cast(pa.int32()).to_numpy()
    later = numbers + (numbers < 0)
    return pa.array(later if op is Op.LE else np.union1d(numbers, later), pa.int32()).cast(results.type)


def _like(leaf: Like, width: int, name: str) -> Predicate:
    pattern = pattern_of(leaf)
    if pattern.exact is not None:
        return Compare(Op.EQ, (name,), pa.scalar(pattern.exact[:width]))
    if not pattern.prefix:
        return TRUE
    if len(pattern.prefix) >= width:
        return Compare(Op.EQ, (name,), pa.scalar(pattern.prefix[:width]))
    return col(name).starts_with(pattern.prefix)


# Counts of rows and nulls that stand for what a summary says: none, some or all values are null.
_SUMMARY_ROWS, _SOME_NULLS, _NO_NULLS = 2, 1, 0


def _summary_stats(root: IcebergRoot, summaries: pa.Array, spec: PartitionSpec) -> dict[str, ColumnStats | None]:
    """The summaries of manifests of one spec, field by field; a list without summaries tells nothing."""
    lengths = pc.list_value_length(summaries)
    wrong = pc.and_(pc.is_valid(lengths), pc.not_equal(lengths, len(spec.fields)))
    if pc.any(wrong).as_py():
        raise CorruptFileError(
            f"manifest list of {root.storage.location}, partitions: expected {len(spec.fields)} summaries for spec "
            f"{spec.spec_id}, found another number"
        )
    whole = summaries.flatten()
    place = np.cumsum(pc.is_valid(lengths).to_numpy(zero_copy_only=False)) - 1
    known = pc.is_valid(lengths)
    stats: dict[str, ColumnStats | None] = {}
    for index, field in enumerate(spec.fields):
        at = pa.array(place * len(spec.fields) + index, mask=~known.to_numpy(zero_copy_only=False))
        if field.transform != VOID and partition_spec.is_known(field.transform):
            stats[column_name(field.field_id)] = _summary(whole.take(at), field_type(root, field), root.metadata_name)
    return stats


def _summary(summary: pa.StructArray, type: pa.DataType, name: str) -> ColumnStats:
    low, high = (
        bounds.decode(pc.struct_field(summary, one), type, name=name) for one in ("lower_bound", "upper_bound")
    )
    has_nan, has_null = (pc.struct_field(summary, one) for one in ("contains_nan", "contains_null"))
    no_nan = pc.equal(has_nan, False) if pa.types.is_floating(type) else pa.repeat(True, len(summary))
    all_null = pc.and_kleene(pc.and_(pc.is_null(low), pc.is_null(high)), pc.fill_null(no_nan, False))
    some = pc.if_else(all_null, pa.scalar(_SUMMARY_ROWS, pa.int64()), pa.scalar(_SOME_NULLS, pa.int64()))
    nulls = pc.if_else(has_null, some, pa.scalar(_NO_NULLS, pa.int64()))
    return ColumnStats(low, high, nulls, np.asarray(pc.fill_null(no_nan, False)))


def _column_stats(entries: pa.Table, id: int, type: t.DataType, name: str) -> ColumnStats | None:
    arrow = to_arrow_type(type)
    nulls = by_key(entries["null_value_counts"], id)
    if t.is_nested(type) or isinstance(type, t.Unknown):
        return None
    low, high = (bounds.decode(by_key(entries[one], id), arrow, name=name) for one in ("lower_bounds", "upper_bounds"))
    if not pa.types.is_floating(arrow):
        return ColumnStats(low, high, nulls)
    no_nan = pc.equal(by_key(entries["nan_value_counts"], id), 0)
    return ColumnStats(low, high, nulls, np.asarray(pc.fill_null(no_nan, False)))
