"""Paimon's manifest entries as entries of Iceberg manifests.

Statistics are translated column by column. Paimon's bounds of text are cut and rounded up as Iceberg's are, so they
are taken as they stand. NaN is no bound; a zero bound gets the sign that includes both zeros. A TIME is stored in
milliseconds, which no Iceberg bound can say.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from polynya.codec import binary_rows
from polynya.iceberg import bounds, manifest, type_json
from polynya.iceberg.partition_values import PartitionColumn, column_name
from polynya.model import types as t
from polynya.model.arrow_types import to_arrow_type
from polynya.model.schema import Schema
from polynya.table import file_stats, paths

STATS_COLUMNS = ("value_stats_min", "value_stats_max", "value_stats_null_counts", "value_stats_cols", "write_cols")


@dataclass(frozen=True)
class FileRules:
    """What translating a file needs to know of its table: `url` is the table's location as Iceberg names it."""

    url: str
    schema: Schema
    schema_of: Callable[[int], Schema]
    partition: tuple[PartitionColumn, ...]


def partition_columns(schema: Schema, first_id: int) -> tuple[PartitionColumn, ...]:
    """The partition values of the table, with field ids from `first_id`."""
    return tuple(
        PartitionColumn(first_id + place, field.name, iceberg_type(field.type))
        for place, field in enumerate(schema.partition_fields)
    )


def iceberg_type(type: t.DataType) -> pa.DataType:
    """The Arrow type of a plain column's values in Iceberg."""
    (field,) = type_json.from_model_fields([t.Field(0, "value", type)])
    assert isinstance(field, dict)
    return type_json.to_arrow(field["type"], name="schema")


def file_urls(files: pa.Table, rules: FileRules) -> pa.Array:
    """The location of each data file."""
    places = paths.data_paths(files, rules.schema)
    inside = pc.binary_join_element_wise(rules.url, places, "/")
    return pc.if_else(files["external_path"].combine_chunks().is_valid(), places, inside)


def partition_values(partitions: pa.ChunkedArray, rules: FileRules) -> dict[str, pa.Array]:
    """The partition columns of entries; each distinct partition is decoded once."""
    if not rules.partition:
        return {}
    codes = partitions.combine_chunks().dictionary_encode()
    types = [to_arrow_type(field.type) for field in rules.schema.partition_fields]
    columns = binary_rows.decode_rows(codes.dictionary, types, name="partition of a manifest entry")
    return {
        column_name(one.field_id): _plain(values).cast(one.type).take(codes.indices)
        for one, values in zip(rules.partition, columns, strict=True)
    }


def data_entries(files: pa.Table, rules: FileRules) -> pa.Table:
    """ADDED entries of the data files, with the columns of `manifest.schema_of`."""
    count = files.num_rows
    known: dict[str, object] = {
        "status": pa.repeat(pa.scalar(manifest.ADDED, pa.int32()), count),
        "content": pa.repeat(pa.scalar(manifest.DATA, pa.int32()), count),
        "file_path": file_urls(files, rules),
        "file_format": pa.repeat(pa.scalar("PARQUET"), count),
        "record_count": files["row_count"],
        "file_size_in_bytes": files["file_size"],
        "column_sizes": manifest.no_counts(count),
        "sort_order_id": pa.repeat(pa.scalar(0, pa.int32()), count),
        **_metrics(files, rules),
        **partition_values(files["partition"], rules),
    }
    return entry_table(known, count, rules.partition)


def entry_table(known: dict[str, object], count: int, partition: Sequence[PartitionColumn]) -> pa.Table:
    """A table of entries in which everything that is not known is null."""
    schema = manifest.schema_of(partition)
    arrays = [known[one.name] if one.name in known else pa.nulls(count, one.type) for one in schema]
    return pa.table(arrays, schema=schema)


def _metrics(files: pa.Table, rules: FileRules) -> dict[str, pa.Array]:
    names = {"value_counts": pa.int64(), "null_value_counts": pa.int64(), "lower_bounds": pa.binary()}
    names["upper_bounds"] = pa.binary()
    codes, groups = file_stats.groups(files)
    parts: dict[str, list[pa.Array]] = {name: [] for name in names}
    order = []
    for code, group in enumerate(groups):
        rows = np.flatnonzero(codes == code)
        order.append(rows)
        chosen = files.take(pa.array(rows)) if len(rows) < files.num_rows else files
        columns = _group_metrics(chosen, group, rules)
        for name, type in names.items():
            parts[name].append(_pairs([(id, metrics[name]) for id, metrics in columns], len(rows), type))
    if not order:
        return {}
    back = pa.array(np.argsort(np.concatenate(order)))
    return {name: pa.concat_arrays(arrays).take(back) for name, arrays in parts.items()}


def _group_metrics(
    files: pa.Table, group: file_stats.FileGroup, rules: FileRules
) -> list[tuple[int, dict[str, pa.Array]]]:
    """The metrics of each plain column that has statistics, by column id."""
    schema = rules.schema_of(group.schema_id)
    written = file_stats.named_fields(schema, group.write_cols) or schema.fields
    fields = (
        written if group.value_stats_cols is None else file_stats.named_fields(schema, group.value_stats_cols) or ()
    )
    indexes = [i for i, one in enumerate(fields) if schema.find(one.name) is not None and not t.is_nested(one.type)]
    types = [to_arrow_type(one.type) for one in fields]
    low, high = (
        binary_rows.decode_rows(files[f"value_stats_{end}"], types, name="statistics of a manifest", indexes=indexes)
        for end in ("min", "max")
    )
    nulls = files["value_stats_null_counts"].combine_chunks()
    rows = files["row_count"].combine_chunks()
    return [
        (
            fields[index].id,
            {
                "value_counts": rows,
                "null_value_counts": file_stats.element(nulls, index, len(fields)),
                "lower_bounds": _bound(least, fields[index].type, lower=True),
                "upper_bounds": _bound(most, fields[index].type, lower=False),
            },
        )
        for index, least, most in zip(indexes, low, high, strict=True)
    ]


def _bound(values: pa.Array, type: t.DataType, *, lower: bool) -> pa.Array:
    if isinstance(type, t.Time):
        return pa.nulls(len(values), pa.binary())
    values = _plain(values)
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
        zero = pa.scalar(-0.0 if lower else 0.0, values.type)
        values = pc.if_else(pc.equal(values, pa.scalar(0.0, values.type)), zero, values)
    return bounds.encode(values.cast(iceberg_type(type)))


def _plain(values: pa.Array) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _pairs(columns: Sequence[tuple[int, pa.Array]], count: int, type: pa.DataType) -> pa.Array:
    """A list for each row of (column id, value), of the values that are there."""
    pair = pa.struct([("key", pa.int32()), ("value", type)])
    values = pa.concat_arrays([_plain(values).cast(type) for _, values in columns] or [pa.array([], type)])
    ids = np.repeat(np.array([id for id, _ in columns], np.int32), count)
    rows = np.tile(np.arange(count), len(columns))
    valid = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False))
    order = valid[np.argsort(rows[valid], kind="stable")]
    ends = np.concatenate(([0], np.cumsum(np.bincount(rows[valid], minlength=count))))
    pairs = pa.StructArray.from_arrays(
        [pa.array(ids[order], pa.int32()), values.take(pa.array(order))], fields=list(pair)
    )
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pairs, type=pa.list_(pair))
