"""Writes that bring new columns: the schema evolves with the commit of their rows.

The tasks write under the schema that is to be, which is published after them and before the snapshot; a job that fails
leaves the schema as it was. Who finds that somebody else has changed the schema merges with theirs and writes again.
"""

from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as s

from polynya import api
from polynya.arrow.row_changes import ATTEMPTS_MAX
from polynya.model import types as t
from polynya.model.options_data import WRITE_MERGE_SCHEMA_TYPE_WIDENING
from polynya.model.schema import Schema
from polynya.spark.types import from_spark_type
from polynya.spark.write import FrameRequest, write_frame
from polynya.table.commit import Commit
from polynya.table.evolve_schema import SchemaChangedError, merge_columns


def write_merging(spark: SparkSession, table: api.Table, frame: DataFrame, request: FrameRequest) -> Commit:
    """Write the rows, with columns that the table does not have yet."""
    for attempt in range(ATTEMPTS_MAX):
        evolved, evolving = evolve(table.refresh(), frame.schema, request)
        try:
            return write_frame(spark, evolved, frame, evolving)
        except SchemaChangedError:
            if attempt == ATTEMPTS_MAX - 1:
                raise
    raise AssertionError("the last attempt answers or raises")


def evolve(table: api.Table, schema: s.StructType, request: FrameRequest) -> tuple[api.Table, FrameRequest]:
    """The table under the schema that rows of these columns need, and the request that publishes it."""
    kind = request.rows.rowkind
    incoming = _fields(schema, table.schema, kind)
    merged = merge_columns(table.schema, incoming, widens=WRITE_MERGE_SCHEMA_TYPE_WIDENING.of(table.schema.options))
    if merged is table.schema:
        return table, request
    return replace(table, schema=merged), replace(request, publishes_schema=True)


def _fields(schema: s.StructType, known: Schema, rowkind: str | None) -> list[t.Field]:
    """The columns that carry values; one that is all null says nothing of its type."""
    return [
        t.Field(-1, field.name, from_spark_type(field.dataType, field.name))
        for field in schema.fields
        if not (field.name == rowkind and known.find(field.name) is None)
        and not (isinstance(field.dataType, s.NullType) and known.find(field.name) is not None)
    ]
