"""What the statistics of manifests and files say about a filter: decoded, mapped to today's columns, asked.

Statistics rows follow the schema that a file was written with, or the columns that its entry lists; files are looked at
in groups that share both. The filter is translated to the columns of the group's schema.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec import binary_rows
from polynya.errors import CorruptFileError
from polynya.model import bind
from polynya.model.arrow_types import to_arrow_type
from polynya.model.evolve_predicate import evolve_predicate
from polynya.model.predicate import AlwaysTrue, Predicate
from polynya.model.schema import ROW_ID, SEQUENCE_NUMBER, Schema
from polynya.model.types import Field
from polynya.table.prune import ColumnStats, may_match

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class FileGroup:
    """What files have in common whose statistics are rows of one type."""

    schema_id: int
    value_stats_cols: list[str] | None
    write_cols: list[str] | None


def manifests_may_match(metas: pa.Table, predicate: Predicate, schema: Schema) -> Mask:
    """Which manifests may hold a file of a partition that the predicate (on partition columns) allows."""
    if isinstance(predicate, AlwaysTrue) or metas.num_rows == 0:
        return np.ones(metas.num_rows, bool)
    rows = pc.add(metas["num_added_files"], metas["num_deleted_files"])
    stats = _decode(metas, "partition_stats", schema.partition_fields, predicate)
    return may_match(predicate, stats, rows)


def keys_may_match(files: pa.Table, predicate: Predicate, schema: Schema) -> Mask:
    """Which files may hold a key that the predicate (on key columns) allows."""
    return may_match(predicate, _decode(files, "key_stats", schema.key_fields, predicate), files["row_count"])


def values_may_match(files: pa.Table, predicate: Predicate, schema: Schema, schema_of: Callable[[int], Schema]) -> Mask:
    """Which files may hold a row that the predicate allows."""
    keep = np.ones(files.num_rows, bool)
    codes, firsts = groups(files)
    for code, first in enumerate(firsts):
        rows = np.flatnonzero(codes == code)
        group = files.take(pa.array(rows)) if len(rows) < files.num_rows else files
        file_schema = schema if first.schema_id == schema.id else schema_of(first.schema_id)
        written = named_fields(file_schema, first.write_cols) or file_schema.fields
        local = evolve_predicate(predicate, schema.fields, written)
        with_stats = written if first.value_stats_cols is None else named_fields(file_schema, first.value_stats_cols)
        stats = _decode(group, "value_stats", with_stats or (), local)
        keep[rows] = may_match(local, stats, group["row_count"])
    return keep


def groups(files: pa.Table) -> tuple[npt.NDArray[np.int64], list[FileGroup]]:
    """A code for each file, equal where schema and statistics columns are, and one example of each code."""
    parts = [files["schema_id"]]
    parts += [_joined(files[name]) for name in ("value_stats_cols", "write_cols") if not _all_null(files[name])]
    if len(parts) > 1:
        parts = [pc.binary_join_element_wise(*(_flat(part.cast(pa.string())) for part in parts), "\x00")]
    codes = _flat(parts[0]).dictionary_encode().indices.to_numpy()
    _, firsts = np.unique(codes, return_index=True)
    examples = files.select(["schema_id", "value_stats_cols", "write_cols"]).take(pa.array(firsts))
    return codes, [FileGroup(**row) for row in examples.to_pylist()]


def _decode(table: pa.Table, prefix: str, fields: Sequence[Field], predicate: Predicate) -> Mapping[str, ColumnStats]:
    """The statistics of the columns that the predicate looks at."""
    wanted = {path[0] for path in bind.columns(predicate)}
    indexes = [index for index, field in enumerate(fields) if field.name in wanted]
    types = [to_arrow_type(field.type) for field in fields]
    low, high = (
        binary_rows.decode_rows(table[f"{prefix}_{end}"], types, name=f"{prefix} of a manifest", indexes=indexes)
        for end in ("min", "max")
    )
    nulls = table[f"{prefix}_null_counts"].combine_chunks()
    has_nan_in_max = ~np.asarray(pc.ends_with(table["file_name"], ".orc"))
    return {
        fields[index].name: ColumnStats(least, most, element(nulls, index, len(fields)), has_nan_in_max)
        for index, least, most in zip(indexes, low, high, strict=True)
    }


def element(lists: pa.ListArray, index: int, arity: int) -> pa.Array:
    """Element `index` of every list; null where a list is missing or of another length."""
    fits = pc.fill_null(pc.equal(pc.list_value_length(lists), arity), False)
    starts = pa.array(np.asarray(lists.offsets[:-1]).astype(np.int64) + index)
    return lists.values.take(pc.if_else(fits, starts, pa.scalar(None, pa.int64())))


def named_fields(schema: Schema, names: list[str] | None) -> tuple[Field, ...] | None:
    """The columns of those names, which an entry lists of a file of that schema; None for no names."""
    if names is None:
        return None
    known = {field.name: field for field in (ROW_ID, SEQUENCE_NUMBER, *schema.fields)}
    strange = [name for name in names if name not in known]
    if strange:
        found = ", ".join(map(repr, strange))
        raise CorruptFileError(f"columns of a manifest entry: expected columns of schema {schema.id}, found {found}")
    return tuple(known[name] for name in names)


def _all_null(column: pa.ChunkedArray) -> bool:
    return bool(column.null_count == len(column))


def _joined(lists: pa.ChunkedArray) -> pa.Array:
    joined = pc.binary_join(_flat(lists), "\x01")
    return pc.if_else(pc.is_valid(joined), pc.binary_join_element_wise("+", joined, ""), "-")


def _flat(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
