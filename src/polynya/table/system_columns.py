"""The columns of the system tables: names, order and types as Paimon has them.

A system table is made as plain columns and given its declared schema at the end; a column that the declaration does
not name, or a null where it says NOT NULL, is a mistake of ours and fails there.
"""

import functools
from collections.abc import Mapping, Sequence

import pyarrow as pa

from polynya.model.arrow_types import to_arrow_schema
from polynya.model.types import Field
from polynya.paimon.type_text import parse_sql

_STRING, _TEXT = "STRING", "STRING NOT NULL"
_BIGINT, _LONG = "BIGINT", "BIGINT NOT NULL"
_INT = "INT NOT NULL"
_TIME, _SURE_TIME = "TIMESTAMP(3)", "TIMESTAMP(3) NOT NULL"

#: Of every system table: column name to Paimon type, in order.
COLUMNS: Mapping[str, Mapping[str, str]] = {
    "snapshots": {
        "snapshot_id": _LONG,
        "schema_id": _LONG,
        "commit_user": _TEXT,
        "commit_identifier": _LONG,
        "commit_kind": _TEXT,
        "commit_time": _SURE_TIME,
        "base_manifest_list": _TEXT,
        "delta_manifest_list": _TEXT,
        "changelog_manifest_list": _STRING,
        "total_record_count": _BIGINT,
        "delta_record_count": _BIGINT,
        "changelog_record_count": _BIGINT,
        "watermark": _BIGINT,
        "next_row_id": _BIGINT,
        "operation": _STRING,
        "writer_version": _STRING,
    },
    "schemas": {
        "schema_id": _LONG,
        "fields": _TEXT,
        "partition_keys": _TEXT,
        "primary_keys": _TEXT,
        "options": _TEXT,
        "comment": _STRING,
        "update_time": _SURE_TIME,
    },
    "options": {"key": _TEXT, "value": _TEXT},
    "manifests": {
        "file_name": _TEXT,
        "file_size": _LONG,
        "num_added_files": _LONG,
        "num_deleted_files": _LONG,
        "schema_id": _LONG,
        "min_partition_stats": _STRING,
        "max_partition_stats": _STRING,
        "min_row_id": _BIGINT,
        "max_row_id": _BIGINT,
    },
    "files": {
        "partition": _STRING,
        "bucket": _INT,
        "file_path": _TEXT,
        "file_format": _TEXT,
        "schema_id": _LONG,
        "level": _INT,
        "record_count": _LONG,
        "file_size_in_bytes": _LONG,
        "min_key": _STRING,
        "max_key": _STRING,
        "null_value_counts": _TEXT,
        "min_value_stats": _TEXT,
        "max_value_stats": _TEXT,
        "min_sequence_number": _BIGINT,
        "max_sequence_number": _BIGINT,
        "creation_time": _TIME,
        "deleteRowCount": _BIGINT,
        "file_source": _STRING,
        "first_row_id": _BIGINT,
        "write_cols": "ARRAY<STRING>",
    },
    "file_key_ranges": {
        "partition": _STRING,
        "bucket": _INT,
        "file_path": _TEXT,
        "file_format": _TEXT,
        "schema_id": _LONG,
        "level": _INT,
        "record_count": _LONG,
        "file_size_in_bytes": _LONG,
        "min_key": _STRING,
        "max_key": _STRING,
        "first_row_id": _BIGINT,
    },
    "table_indexes": {
        "partition": _STRING,
        "bucket": _INT,
        "index_type": _TEXT,
        "file_name": _TEXT,
        "file_size": _LONG,
        "row_count": _LONG,
        "dv_ranges": "ARRAY<ROW<`f0` STRING NOT NULL, `f1` INT NOT NULL, `f2` INT NOT NULL, `_CARDINALITY` BIGINT>>",
        "row_range_start": _BIGINT,
        "row_range_end": _BIGINT,
        "index_field_id": "INT",
        "index_field_name": _STRING,
    },
    "partitions": {
        "partition": _STRING,
        "record_count": _LONG,
        "file_size_in_bytes": _LONG,
        "file_count": _LONG,
        "last_update_time": _TIME,
        "created_at": _TIME,
        "created_by": _STRING,
        "updated_by": _STRING,
        "options": _STRING,
        "total_buckets": _INT,
        "done": "BOOLEAN NOT NULL",
        "deleted_record_count": _BIGINT,
    },
    "buckets": {
        "partition": _STRING,
        "bucket": _INT,
        "record_count": _LONG,
        "file_size_in_bytes": _LONG,
        "file_count": _LONG,
        "last_update_time": _TIME,
    },
    "tags": {
        "tag_name": _TEXT,
        "snapshot_id": _LONG,
        "schema_id": _LONG,
        "commit_time": _SURE_TIME,
        "record_count": _BIGINT,
        "create_time": _TIME,
        "time_retained": _STRING,
    },
    "branches": {"branch_name": _TEXT, "create_time": _SURE_TIME},
    "consumers": {"consumer_id": _TEXT, "next_snapshot_id": _LONG},
    "aggregation_fields": {
        "field_name": _TEXT,
        "field_type": _TEXT,
        "function": _STRING,
        "function_options": _STRING,
        "comment": _STRING,
    },
    "statistics": {
        "snapshot_id": _LONG,
        "schema_id": _LONG,
        "mergedRecordCount": _BIGINT,
        "mergedRecordSize": _BIGINT,
        "colstat": _STRING,
    },
}


@functools.cache
def arrow_schema(name: str) -> pa.Schema:
    """The Arrow schema of a system table."""
    return to_arrow_schema(
        tuple(Field(id, column, parse_sql(type)) for id, (column, type) in enumerate(COLUMNS[name].items()))
    )


def from_rows(name: str, rows: Sequence[Sequence[object]]) -> pa.Table:
    """The system table with these rows, each with all columns in order; for tables that stay small."""
    schema = arrow_schema(name)
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    return pa.table(
        [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)], schema=schema
    )


def from_columns(name: str, columns: Mapping[str, pa.Array | pa.ChunkedArray]) -> pa.Table:
    """The system table with these columns, in any order; columns that are missing are null."""
    schema = arrow_schema(name)
    assert set(columns) <= set(schema.names), sorted(set(columns) - set(schema.names))
    row_count = len(next(iter(columns.values())))
    arrays = [columns.get(field.name, pa.nulls(row_count, field.type)) for field in schema]
    return pa.table(arrays, schema=schema)
