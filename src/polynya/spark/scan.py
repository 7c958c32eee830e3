"""A plan as a DataFrame: native scans of what Spark reads itself, our reader in workers for the rest, one union.

A native scan reads columns under the names of the file's schema and projects them to today's names and types. Rows that
a deletion vector marks are dropped by their position in the file. The filter stands above the projection, where
Catalyst finds it and pushes it down.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as s

from polynya.arrow import file_rows
from polynya.arrow.file_rows import DataFile
from polynya.arrow.iceberg_read import IcebergReader
from polynya.arrow.read import Reader
from polynya.errors import PolynyaError
from polynya.model import types as t
from polynya.model.predicate import AlwaysTrue
from polynya.model.schema import VALUE_KIND, Schema
from polynya.spark import iceberg_ways
from polynya.spark.file_log import open_files
from polynya.spark.filters import column_of, literal, narrowed, quoted, to_column
from polynya.spark.tasks import python_frame
from polynya.spark.types import require_known, to_spark_schema, to_spark_type
from polynya.spark.ways import NativeGroup, Ways, Wish, casts_alike, choose
from polynya.table.plan import Plan

ADD_KINDS = (0, 2)  # +I and +U
_ABSENT = s.StructField("__absent", s.IntegerType())  # no file has it; rows are counted by it


def read_plan(spark: SparkSession, reader: Reader, plan: Plan) -> DataFrame:
    """The rows of the plan."""
    require_known(wanted_fields(reader), has_time=_has_time(spark))
    ways = ways_of(reader, plan)
    frames = [_native_frame(spark, reader, group) for group in ways.native]
    if ways.python.num_rows:
        frames.append(python_frame(spark, reader, ways.python))
    if not frames:
        return spark.createDataFrame([], to_spark_schema(reader.fields))
    return reduce(DataFrame.unionByName, frames)


def ways_of(reader: Reader, plan: Plan) -> Ways:
    """The way of each file of the plan."""
    if isinstance(reader, IcebergReader):
        return iceberg_ways.choose(plan.files, reader, wanted_fields(reader))
    root = reader.storage.local_path("")
    return choose(plan.files, Wish(reader.schema, wanted_fields(reader), reader.file_schemas, root))


def explain(reader: Reader, plan: Plan) -> str:
    """The funnel of the plan, and which way each part of it goes, and why."""
    return "\n".join([plan.explain(), *_way_lines(ways_of(reader, plan))])


def _way_lines(ways: Ways) -> Iterator[str]:
    for group in ways.native:
        vectors = ", deletion vectors" if group.has_vectors else ""
        values = ", ".join(f"{name}={value}" for name, value in group.partition.items())
        where = f", partition {values}" if values else ""
        yield f"native     {group.files.num_rows} {group.format} files of schema {group.schema_id}{vectors}{where}"
    for reason, count in ways.reasons.items():
        yield f"python     {count} files: {reason}"


def wanted_fields(reader: Reader) -> tuple[t.Field, ...]:
    """The columns of the result, and those that only the filter looks at; whole, as Spark prunes nested ones itself."""
    return tuple(reader.schema.find(field.name) or field for field in reader.wanted)


def _has_time(spark: SparkSession) -> bool:
    return str(spark.conf.get("spark.sql.timeType.enabled", "false")).lower() == "true"


def _native_frame(spark: SparkSession, reader: Reader, group: NativeGroup) -> DataFrame:
    scan = _NativeScan(reader, group, reader.file_schemas[group.schema_id])
    schema = scan.read_schema
    frame = open_files(spark, group.files, schema, format=group.format, partitioned=scan.takes_partition_from_folders)
    if reader.schema.primary_key:
        frame = frame.filter(f"{quoted((VALUE_KIND.name,))} in {ADD_KINDS}")
    if group.has_vectors:
        frame = _without_deleted(spark, frame, reader, group)
    columns = scan.columns
    if not _are_names(columns):
        frame = frame.select(*columns)
    if not isinstance(reader.predicate, AlwaysTrue):
        frame = frame.filter(to_column(reader.predicate))
    result = [_result_column(reader.schema, field) for field in reader.fields]
    is_result = not group.has_vectors and _are_names([*columns, *result]) and schema.names == _names(reader.fields)
    return frame if is_result else frame.select(*result)


def _names(fields: Iterable[t.Field]) -> list[str]:
    return [field.name for field in fields]


def _are_names(columns: Iterable[Column | str]) -> bool:
    """Whether the columns are those of the scan as they are: each Column is several calls to the JVM."""
    return all(isinstance(column, str) for column in columns)


def _result_column(schema: Schema, field: t.Field) -> Column | str:
    if schema.find(field.name) in (None, field):
        return quoted((field.name,))
    return narrowed(column_of((field.name,)), field.type).alias(field.name)


@dataclass(frozen=True)
class _NativeScan:
    """What is read of the files of one group, and how it becomes today's columns."""

    reader: Reader
    group: NativeGroup
    file_schema: Schema

    @property
    def fields(self) -> tuple[t.Field, ...]:
        return wanted_fields(self.reader)

    @property
    def takes_partition_from_folders(self) -> bool:
        partition_by = self.reader.schema.partition_by
        return not self.group.partition and any(field.name in partition_by for field in self.fields)

    @property
    def read_schema(self) -> s.StructType:
        stored = [old for field in self.fields if (old := self._stored(field)) is not None]
        if self.reader.schema.primary_key:
            stored.append(VALUE_KIND)
        columns = list(to_spark_schema(stored).fields)
        if self.takes_partition_from_folders:
            columns += [_folder_field(field) for field in self.reader.schema.partition_fields]
        return s.StructType(columns or [_ABSENT])

    @property
    def columns(self) -> list[Column | str]:
        """Today's columns: names of those that are read as they are."""
        return [
            quoted((field.name,)) if self._is_as_read(field) else self._column(field).alias(field.name)
            for field in self.fields
        ]

    def _is_as_read(self, field: t.Field) -> bool:
        if field.name in self.group.partition:
            return False
        if field.name in self.reader.schema.partition_by:
            return not isinstance(field.type, t.Date)
        old = self._stored(field)
        if old is None or old.name != field.name:
            return False
        return to_spark_type(old.type, old.name) == to_spark_type(field.type, field.name)

    def _stored(self, field: t.Field) -> t.Field | None:
        if field.name in self.reader.schema.partition_by:
            return None
        return self.file_schema.find_id(field.id)

    def _column(self, field: t.Field) -> Column:
        type = to_spark_type(field.type, field.name)
        if field.name in self.group.partition:
            value = self.group.partition[field.name]
            return literal(value).cast(type) if value.is_valid else F.lit(None).cast(type)
        if field.name in self.reader.schema.partition_by:
            return F.date_from_unix_date(column_of((field.name,)))  # others are as read
        old = self._stored(field)
        if old is None:
            return F.lit(None).cast(type)
        assert casts_alike(old.type, field.type)
        return column_of((old.name,)).cast(type)


def _folder_field(field: t.Field) -> s.StructField:
    """A partition column as folders tell it: a day is the number of the day."""
    type = s.IntegerType() if isinstance(field.type, t.Date) else to_spark_type(field.type, field.name)
    return s.StructField(field.name, type)


def _without_deleted(spark: SparkSession, frame: DataFrame, reader: Reader, group: NativeGroup) -> DataFrame:
    """The rows that the deletion vectors of their files leave; a file without its vector fails the query."""
    mark = "__" + "_" * max(map(len, frame.columns), default=0)  # longer than the name of any column
    place = frame.metadataColumn("_metadata")
    placed = frame.select("*", place["file_name"].alias(f"{mark}file"), place["row_index"].alias(f"{mark}row"))
    words = F.broadcast(spark.createDataFrame(_vector_words(reader, group, mark)))
    joined = placed.join(words, placed[f"{mark}file"] == words[f"{mark}of"], "left")
    word = F.get(F.col(f"{mark}words"), F.expr(f"cast({mark}row div 64 as int)"))
    bit = F.coalesce(F.getbit(word, F.expr(f"cast({mark}row % 64 as int)")), F.lit(0).cast("tinyint"))
    lost = F.raise_error(F.concat(F.lit("no deletion vector was handed over for "), F.col(f"{mark}file")))
    return joined.filter(F.when(F.col(f"{mark}words").isNull(), lost.cast("boolean")).otherwise(bit == 0))


def _vector_words(reader: Reader, group: NativeGroup, mark: str) -> pa.Table:
    """The deleted positions of each file as bits in 64-bit words, up to the last one that is set."""
    files = file_rows.files_of(group.files)
    with ThreadPoolExecutor() as threads:
        words = list(threads.map(lambda file: _words(reader, file), files))
    arrays = pa.array(words, pa.list_(pa.int64()))
    return pa.table({f"{mark}of": pa.array([file.file_name for file in files]), f"{mark}words": arrays})


def _words(reader: Reader, file: DataFile) -> np.ndarray:
    try:
        positions = np.asarray(list(file_rows.read_vector(reader, file)), np.int64)
    except PolynyaError as error:
        raise type(error)(f"table {reader.storage.location}, data file {file.file_name}: {error}") from error
    bits = np.zeros((int(positions.max(initial=-1)) // 64 + 1) * 64, np.uint8)
    bits[positions] = 1
    return np.packbits(bits, bitorder="little").view("<i8")
