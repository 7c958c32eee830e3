"""Writing Parquet data files in the layout of Paimon: ids at every level, small decimals as integers, plain v1 pages.

Batches are gathered until they fill a row group and then encoded at once. Statistics come from the footer, which
Parquet writes anyway, with two exceptions that are computed from the row group: floats (a footer leaves NaN out, Paimon
counts it as the largest value) and texts with a value too long for the footer. Spark takes NaN for the largest value
too, and would skip rows by a footer without it: floats are in a footer only where none of the file is NaN.

TIMESTAMP of 7 to 9 digits is written as INT64 nanoseconds, which Paimon reads as well as its own INT96.
"""

from collections.abc import Mapping
from decimal import Context, Decimal
from typing import BinaryIO, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from polynya.arrow.bounds import column_stats, merge
from polynya.arrow.files.ids import PARQUET_ID, schema_with_ids
from polynya.arrow.files.protocol import WrittenFile
from polynya.arrow.files.sink import CountingSink
from polynya.arrow.stats import ColumnStats
from polynya.errors import UnsupportedError
from polynya.model import types as t
from polynya.model.option_kinds import Option
from polynya.model.options_data import (
    FILE_BLOCK_SIZE,
    PARQUET_BLOCK_SIZE,
    PARQUET_BLOOM_FILTER_ENABLED,
    PARQUET_BLOOM_FILTER_FPP,
    PARQUET_COMPRESSION,
    PARQUET_COMPRESSION_ZSTD_LEVEL,
    PARQUET_DICTIONARY_PAGE_SIZE,
    PARQUET_ENABLE_DICTIONARY,
    PARQUET_PAGE_ROW_COUNT_LIMIT,
    PARQUET_PAGE_SIZE,
    PARQUET_PAGE_WRITE_CHECKSUM_ENABLED,
    PARQUET_WRITER_VERSION,
)
from polynya.model.value_text import Physical

_CODECS = {"none": "none", "uncompressed": "none"} | {
    name: name for name in ("zstd", "snappy", "gzip", "lz4", "brotli")
}
_ROW_GROUP_BYTES = 128 * 1024 * 1024
_FOOTER_VALUE_BYTES = 4096  # a longer bound is left out of the footer
_PAGE_STEP_ROWS = 64  # between two looks at the size of a page
_EXACT = Context(prec=40)
_FIRST_RATIO = 1.0  # of encoded to Arrow bytes, the most there can be, until a row group has told the real one
_PAGE_ARGUMENTS = {
    "data_page_size": PARQUET_PAGE_SIZE,
    "dictionary_pagesize_limit": PARQUET_DICTIONARY_PAGE_SIZE,
    "max_rows_per_page": PARQUET_PAGE_ROW_COUNT_LIMIT,
    "write_page_checksum": PARQUET_PAGE_WRITE_CHECKSUM_ENABLED,
}
_JUDGED_ROWS, _JUDGED_ROWS_MIN = 20000, 1000  # the first rows of a file: as many as a page holds, not too few to tell
_DISTINCT_VALUES = 1048576  # of a column with a bloom filter, unless the table says
V = TypeVar("V")


def open_writer(
    stream: BinaryIO,
    *,
    fields: tuple[t.Field, ...],
    compression: str,
    zstd_level: int,
    options: Mapping[str, str],
    buffer_bytes: int,
) -> "ParquetWriter":
    """A writer of Parquet as Paimon lays it out; UnsupportedError names an option or codec it cannot honour."""
    codec = (PARQUET_COMPRESSION.find(options) or compression).lower()
    if codec not in _CODECS:
        raise UnsupportedError(f"compression '{codec}' of Parquet files; choose one of {', '.join(sorted(_CODECS))}")
    arguments = {"compression": _CODECS[codec], **_page_arguments(options), **_column_arguments(fields, options)}
    if codec == "zstd":
        level = PARQUET_COMPRESSION_ZSTD_LEVEL.find(options)
        arguments["compression_level"] = zstd_level if level is None else level
    row_group_bytes = PARQUET_BLOCK_SIZE.find(options) or FILE_BLOCK_SIZE.find(options) or _ROW_GROUP_BYTES
    return ParquetWriter(stream, fields, arguments, min(row_group_bytes, buffer_bytes))


def _page_arguments(options: Mapping[str, str]) -> dict[str, object]:
    version = PARQUET_WRITER_VERSION.of(options)
    found = {argument: option.find(options) for argument, option in _PAGE_ARGUMENTS.items()}
    return {
        "data_page_version": "2.0" if version in ("v2", "PARQUET_2_0") else "1.0",
        **{argument: value for argument, value in found.items() if value is not None},
    }


def _column_arguments(fields: tuple[t.Field, ...], options: Mapping[str, str]) -> dict[str, object]:
    columns = [path for field in fields for path in _leaves(field.name, field.type)]
    plain = [column for column in columns if not _of_column(PARQUET_ENABLE_DICTIONARY, column, options)]
    arguments: dict[str, object] = {"use_dictionary": [column for column in columns if column not in plain]}
    filtered = [column for column in columns if _of_column(PARQUET_BLOOM_FILTER_ENABLED, column, options)]
    if filtered:
        arguments["bloom_filter_options"] = {
            column: {
                "ndv": int(options.get(f"parquet.bloom.filter.expected.ndv#{column}", _DISTINCT_VALUES)),
                "fpp": _of_column(PARQUET_BLOOM_FILTER_FPP, column, options),
            }
            for column in filtered
        }
    return arguments


def _of_column(option: Option[V], column: str, options: Mapping[str, str]) -> V:
    text = options.get(f"{option.key}#{column}")
    return option.of(options) if text is None else option.parse(text)


class ParquetWriter:
    """A Parquet file that is being written."""

    def __init__(
        self, stream: BinaryIO, fields: tuple[t.Field, ...], arguments: dict[str, object], row_group_bytes: int
    ) -> None:
        self._fields = fields
        self._schema = schema_with_ids(fields, PARQUET_ID)
        self._row_group_bytes = row_group_bytes
        self._sink = CountingSink(stream)
        self._footers: list[pq.FileMetaData] = []
        self._arguments = arguments
        self._writer: pq.ParquetWriter | None = None  # until there are rows: they tell how columns are best encoded
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_bytes = 0
        self._encoded_bytes = 0
        self._row_count = 0
        self._computed: list[dict[int, ColumnStats]] = []

    @property
    def row_count(self) -> int:
        """The rows written so far."""
        return self._row_count

    @property
    def written_bytes(self) -> int:
        """What has left the writer, and what waits at the ratio seen so far."""
        ratio = self._sink.count / self._encoded_bytes if self._encoded_bytes else _FIRST_RATIO
        return self._sink.count + int(self._waiting_bytes * ratio)

    @property
    def waiting_bytes(self) -> int:
        """Arrow memory of the row group that is being filled."""
        return self._waiting_bytes

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows; a full row group goes out at once."""
        while batch.num_rows:
            part = batch.slice(0, self._fitting_rows(batch))
            self._waiting.append(part)
            self._waiting_bytes += part.nbytes
            self._row_count += part.num_rows
            batch = batch.slice(part.num_rows)
            if batch.num_rows or self._waiting_bytes >= self._row_group_bytes:
                self.flush()

    def close(self) -> WrittenFile:
        """Write the last row group and the footer."""
        self._flush(is_last=True)
        (self._writer or self._open(self._schema.empty_table(), is_whole=True)).close()
        return WrittenFile(self._row_count, self._statistics(self._footers[0]))

    def _fitting_rows(self, batch: pa.RecordBatch) -> int:
        """How many of the rows still fit the row group, at least one."""
        room = self._row_group_bytes - self._waiting_bytes
        return int(batch.num_rows) if batch.nbytes <= room else max(1, batch.num_rows * room // batch.nbytes)

    def flush(self) -> None:
        """Write the rows that wait as a row group."""
        self._flush(is_last=False)

    def _flush(self, *, is_last: bool) -> None:
        if not self._waiting:
            return
        batches = [pa.RecordBatch.from_arrays(batch.columns, schema=self._schema) for batch in self._waiting]
        table = pa.Table.from_batches(batches)
        if table.num_rows:
            self._writer = self._writer or self._open(table, is_whole=is_last)
            self._writer.write_table(table, row_group_size=table.num_rows)
            self._computed.append(_computed_stats(table, self._fields))
        self._encoded_bytes += self._waiting_bytes
        self._waiting, self._waiting_bytes = [], 0

    def _open(self, first: pa.Table, *, is_whole: bool) -> pq.ParquetWriter:
        plain = {field.name for field in first.schema if is_whole and not _has_nan(first.column(field.name))}
        return pq.ParquetWriter(
            pa.PythonFile(self._sink, mode="w"),
            self._schema,
            store_schema=False,
            store_decimal_as_integer=True,
            write_time_adjusted_to_utc=True,
            write_statistics=_told_columns(self._fields, plain),
            write_page_index=True,
            write_batch_size=_PAGE_STEP_ROWS,
            metadata_collector=self._footers,
            **_without_needless_dictionaries(self._arguments, first),
        )

    def _statistics(self, footer: pq.FileMetaData) -> tuple[ColumnStats, ...]:
        columns = []
        leaf = 0
        for index, field in enumerate(self._fields):
            if t.is_nested(field.type):
                columns.append(ColumnStats())
            else:
                parts = [
                    computed.get(index) or _footer_stats(footer.row_group(group).column(leaf).statistics, field.type)
                    for group, computed in enumerate(self._computed)
                ]
                columns.append(merge(parts) if parts else ColumnStats(null_count=0))
            leaf += len(_leaves(field.name, field.type))
        return tuple(columns)


def _without_needless_dictionaries(arguments: dict[str, object], first: pa.Table) -> dict[str, object]:
    """The arguments with dictionaries for columns alone whose first values come again often enough to pay."""
    head, named = first.slice(0, _JUDGED_ROWS), arguments["use_dictionary"]
    if head.num_rows < _JUDGED_ROWS_MIN or not isinstance(named, list):
        return arguments
    plain = {name for name in named if name in head.column_names and not _comes_again(head.column(name))}
    return {**arguments, "use_dictionary": [name for name in named if name not in plain]}


def _comes_again(column: pa.ChunkedArray) -> bool:
    """Whether a dictionary and numbers into it take fewer bytes than the values; True where that is not looked at."""
    kinds, type = pa.types, column.type
    if not (kinds.is_primitive(type) or kinds.is_string(type) or kinds.is_binary(type)) or kinds.is_boolean(type):
        return True
    if kinds.is_primitive(type) and not column.null_count and pc.all(pc.greater(column[1:], column[:-1])).as_py():
        return False  # ascending, as keys and sequence numbers are: each value is there once
    distinct = pc.count_distinct(column).as_py()
    size_bytes = pc.sum(pc.binary_length(column)).as_py() or 0 if not kinds.is_primitive(type) else column.nbytes
    return bool(distinct * size_bytes / len(column) + len(column) * distinct.bit_length() / 8 < size_bytes)


def _told_columns(fields: tuple[t.Field, ...], plain: set[str]) -> list[str]:
    """The columns with statistics in the footer: all but floats, unless they are among the plain ones."""
    return [
        path
        for field in fields
        for path, type in _leaves(field.name, field.type).items()
        if path in plain or not isinstance(type, (t.Float, t.Double))
    ]


def _has_nan(column: pa.ChunkedArray) -> bool:
    return pa.types.is_floating(column.type) and bool(pc.any(pc.is_nan(column)).as_py())


def _leaves(path: str, type: t.DataType) -> dict[str, t.DataType]:
    """The columns that Parquet stores for a column, by their paths."""
    match type:
        case t.Row(fields=fields):
            inside = {f"{path}.{field.name}": field.type for field in fields}
        case t.Variant():
            return {f"{path}.value": t.VarBinary(), f"{path}.metadata": t.VarBinary()}
        case t.Array(element=element) | t.Vector(element=element):
            inside = {f"{path}.list.element": element}
        case t.Multiset(element=element):
            inside = {f"{path}.key_value.key": element, f"{path}.key_value.value": t.Int()}
        case t.Map(key=key, value=value):
            inside = {f"{path}.key_value.key": key, f"{path}.key_value.value": value}
        case _:
            return {path: type}
    return {leaf: kind for name, one in inside.items() for leaf, kind in _leaves(name, one).items()}


def _computed_stats(table: pa.Table, fields: tuple[t.Field, ...]) -> dict[int, ColumnStats]:
    """The columns of a row group, by index, whose bounds the footer does not tell."""
    return {
        index: column_stats(table.column(index))
        for index, field in enumerate(fields)
        if isinstance(field.type, (t.Float, t.Double)) or _has_long_value(table.column(index))
    }


def _has_long_value(column: pa.ChunkedArray) -> bool:
    if not (pa.types.is_string(column.type) or pa.types.is_binary(column.type)):
        return False
    return any(
        chunk.nbytes > _FOOTER_VALUE_BYTES and (pc.max(pc.binary_length(chunk)).as_py() or 0) > _FOOTER_VALUE_BYTES
        for chunk in column.chunks
    )


def _footer_stats(found: pq.Statistics, type: t.DataType) -> ColumnStats:
    if not found.has_min_max or not _has_bounds(type):
        return ColumnStats(null_count=found.null_count)
    return ColumnStats(_value(found.min_raw, type), _value(found.max_raw, type), found.null_count)


def _has_bounds(type: t.DataType) -> bool:
    """Paimon keeps no bounds of timestamps that it would store as INT96, nor of shapes."""
    if isinstance(type, (t.Timestamp, t.LocalTimestamp)):
        return type.precision <= 6
    return not isinstance(type, (t.Geometry, t.Geography))


def _value(raw: bool | int | float | bytes, type: t.DataType) -> Physical:
    match type:
        case t.Decimal(scale=scale):
            unscaled = int.from_bytes(raw, "big", signed=True) if isinstance(raw, bytes) else int(raw)
            return Decimal(unscaled).scaleb(-scale, _EXACT)
        case t.Char() | t.VarChar():
            return raw.decode() if isinstance(raw, bytes) else str(raw)
        case _:
            return raw
