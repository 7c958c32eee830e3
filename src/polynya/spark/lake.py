"""What people call with Spark: a lake, its tables, reading into and writing from DataFrames."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from polynya import api
from polynya.arrow.read import Reader
from polynya.errors import InvalidInputError, UnsupportedError
from polynya.model.literals import Value
from polynya.model.options_data import WRITE_MERGE_SCHEMA
from polynya.model.partition import SpecValue
from polynya.model.predicate import Predicate
from polynya.model.schema import Schema
from polynya.spark import scan, write
from polynya.spark.compact import SparkRunner
from polynya.spark.merge_schema import write_merging
from polynya.spark.rewrite_index import reindex_files
from polynya.spark.row_changes import engine_of
from polynya.spark.types import from_spark_schema
from polynya.table.commit import Author, Commit
from polynya.table.compaction import CompactionReport
from polynya.table.plan import Plan


class Lake:
    """The tables of a warehouse, seen from a Spark session, classic or Connect."""

    def __init__(self, spark: SparkSession, location: str | os.PathLike[str], **storage_options: str | bool) -> None:
        self.spark = spark
        self.warehouse = api.open_warehouse(location, **storage_options)

    def table(self, name: str) -> "LakeTable":
        """The table `database.table`."""
        return LakeTable(self.spark, self.warehouse.table(name))

    def create_database(self, name: str, exist_ok: bool = False) -> None:
        """Create an empty database."""
        self.warehouse.create_database(name, exist_ok)

    def create_table(
        self,
        name: str,
        schema: StructType | pa.Schema | Schema,
        primary_key: Iterable[str] = (),
        partition_by: Iterable[str] = (),
        options: Mapping[str, str] | None = None,
        comment: str | None = None,
        exist_ok: bool = False,
    ) -> "LakeTable":
        """Create the table `database.table` with the columns of a Spark, Arrow or Paimon schema."""
        columns = Schema(from_spark_schema(schema)) if isinstance(schema, StructType) else schema
        made = self.warehouse.create_table(name, columns, primary_key, partition_by, options, comment, exist_ok)
        return LakeTable(self.spark, made)

    def sql(self, text: str) -> DataFrame:
        """Refused: SQL over a lake is not there yet; read a table and use `DataFrame.createOrReplaceTempView`."""
        raise UnsupportedError(
            f"lake.sql({text[:40]!r}): SQL is not supported yet; read the table with lake.table(name).read() and "
            "register it with createOrReplaceTempView"
        )


@dataclass(frozen=True)
class LakeTable:
    """One table and the session that reads and writes it."""

    spark: SparkSession
    table: api.Table

    def read(
        self,
        where: str | Predicate | None = None,
        columns: Iterable[str] | None = None,
        *,
        snapshot_id: int | None = None,
        tag: str | None = None,
        time: int | datetime | None = None,
        branch: str | None = None,
        read_optimized: bool = False,
    ) -> DataFrame:
        """The rows as they are now, or were at a snapshot, tag or time (milliseconds or a datetime), on a branch.

        The files are planned now; a DataFrame does not follow later commits. With `read_optimized` the rows of a
        primary-key table are those that its last full compaction left, which need no merge.
        """
        seen = view(self.table, snapshot_id, tag, time, branch)
        reader, plan = plan_read(seen, where, columns, read_optimized=read_optimized)
        return scan.read_plan(self.spark, reader, plan)

    def explain(
        self,
        where: str | Predicate | None = None,
        columns: Iterable[str] | None = None,
        *,
        snapshot_id: int | None = None,
        tag: str | None = None,
        time: int | datetime | None = None,
        branch: str | None = None,
    ) -> str:
        """What a read would skip and open, and which way each file would take."""
        reader, plan = plan_read(view(self.table, snapshot_id, tag, time, branch), where, columns)
        return scan.explain(reader, plan)

    def write(
        self,
        df: DataFrame,
        mode: str = "append",
        partition: Mapping[str, SpecValue] | None = None,
        *,
        overwrite: str | None = None,
        rowkind: str | None = None,
        merge_schema: bool | None = None,
        author: Author | None = None,
    ) -> Commit:
        """Write the rows of a DataFrame in one commit: appended, or (mode "overwrite") in the place of what is there.

        Overwriting replaces the partitions that match `partition`; without it all of the table ("static") or the
        partitions that the rows fall into ("dynamic"); the default is the option 'dynamic-partition-overwrite'.
        `rowkind` names a column that holds +I, -U, +U or -D. With `merge_schema` columns that the table does not have
        are added to it in the same commit; the default is the option 'write.merge-schema'.
        """
        if not isinstance(df, DataFrame):
            raise InvalidInputError(f"rows to write: expected a DataFrame of Spark, found {type(df).__name__}")
        request = write.request_of(mode, partition, overwrite=overwrite, rowkind=rowkind, author=author)
        table = self.table.refresh()
        merges = merge_schema if merge_schema is not None else WRITE_MERGE_SCHEMA.of(table.options)
        return (write_merging if merges else write.write_frame)(self.spark, table, df, request)

    def delete(self, where: str | Predicate) -> Commit:
        """Delete the rows that match in one commit; a row for which the condition is unknown stays.

        Tasks look at the files that may hold such rows. With 'deletion-vectors.enabled' rows are marked, otherwise the
        files that hold some are written anew; a primary-key table gets delete records.
        """
        return self.table.delete(where, engine=engine_of(self.spark))

    def update(self, assignments: Mapping[str, str | Value], where: str | Predicate) -> Commit:
        """Set columns of the rows that match: a text is an SQL expression over the old row, anything else a value."""
        return self.table.update(assignments, where, engine=engine_of(self.spark))

    def rewrite_file_index(self, where: str | Predicate | None = None, *, rebuild: bool = False) -> Commit:
        """Give existing files the indexes that the options `file-index.…` ask for now; tasks read the files.

        `where` names partitions by their values. Indexes that are there stay, or are built anew with `rebuild`.
        """
        return self.table.rewrite_file_index(where, rebuild=rebuild, spread=partial(reindex_files, self.spark))

    def compact(
        self,
        full: bool = False,
        where: str | Predicate | None = None,
        order_by: Iterable[str] = (),
        order: str | None = None,
        dry_run: bool = False,
    ) -> Commit | CompactionReport:
        """Put files together where it is due, or (full) as far as it goes; `where` names partitions by their values.

        With `order_by` the partitions of an append table are rewritten in the order of these columns: "sort", "zorder"
        or "hilbert". Tasks are committed in batches as they are done; the answer is for all commits together. A dry run
        only says what it would do.
        """
        runner = SparkRunner(self.spark)
        return self.table.compact(full, where, order_by, order, dry_run, runner=runner)


def view(
    table: api.Table, snapshot_id: int | None, tag: str | None, time: int | datetime | None, branch: str | None
) -> api.Table:
    """The table as it is now, or as the arguments say."""
    latest = table.refresh() if branch is None else table.branch(branch)
    if snapshot_id is None and tag is None and time is None:
        return latest
    return latest.at(snapshot_id=snapshot_id, tag=tag, time_ms=_time_ms(time))


def _time_ms(time: int | datetime | None) -> int | None:
    if not isinstance(time, datetime):
        return time
    if time.tzinfo is None:
        raise InvalidInputError(f"time {time}: expected a datetime with a time zone, or milliseconds since 1970 in UTC")
    return int(time.timestamp() * 1000)


def plan_read(
    table: api.Table, where: str | Predicate | None, columns: Iterable[str] | None, *, read_optimized: bool = False
) -> tuple[Reader, Plan]:
    """The plan of a read, and the reader that can carry it out anywhere."""
    asked = table.scan(where, columns)
    plan = replace(asked, request=replace(asked.request, top_level_only=read_optimized)).plan()
    return table._reader(plan, None), plan
