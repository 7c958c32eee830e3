"""How much Spark hands to a Python worker at once, while a job of ours runs.

Spark ends a batch at a number of rows or of bytes, 64 MB unless a session says otherwise. To know the bytes it adds up
all buffers after every single row, which costs as much as filling them. So where rows are numbers and plain texts, a
job goes without the limit of bytes and with few rows to a batch. Columns that may hold a lot in one value, and sessions
with a limit of their own, keep the limit. Texts that turn out to be long would take the memory of the JVM: such a job
fails at the first one, by `refuse_long_texts`, and is started again with the limit.
"""

import contextlib
import threading
from collections.abc import Iterator

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as s

BATCH_ROWS = 1024
TEXT_BYTES_MAX = 2**16  # a batch of such texts has the bytes of Spark's own limit
LONG_TEXT = "polynya: a text is too long for batches without a limit of bytes"
BYTES_KEY = "spark.sql.execution.arrow.maxBytesPerBatch"
ROWS_KEY = "spark.sql.execution.arrow.maxRecordsPerBatch"
_DEFAULT_BYTES = ("67108864", "67108864b", "64mb", "64m")
_NO_LIMIT = str(2**31 - 1)
_LARGE = (s.BinaryType, s.VariantType, s.ArrayType, s.MapType, s.StructType)

_lock = threading.Lock()
_held: dict[int, tuple[int, dict[str, str]]] = {}  # by session: jobs that run, and the settings before them


@contextlib.contextmanager
def few_rows_any_bytes(spark: SparkSession, schema: s.StructType) -> Iterator[bool]:
    """Let jobs of rows of the schema start without a limit of bytes, where that is safe; settings come back.

    The answer is whether the limit is gone: then long texts must be refused.
    """
    if any(isinstance(field.dataType, _LARGE) for field in schema.fields):
        yield False
        return
    with _lock:
        count, before = _held.get(id(spark), (0, {}))
        if count == 0:
            before = _found(spark)
            for key, value in _replaced(before).items():
                spark.conf.set(key, value)
        _held[id(spark)] = count + 1, before
    try:
        yield bool(_replaced(before))
    finally:
        with _lock:
            count, before = _held.pop(id(spark))
            if count > 1:
                _held[id(spark)] = count - 1, before
            else:
                _restore(spark, before)


def limit_again(spark: SparkSession) -> None:
    """Inside of `few_rows_any_bytes`: put the settings back now, for all jobs until the last one has left."""
    with _lock:
        _restore(spark, _held[id(spark)][1])


def refuse_long_texts(frame: DataFrame) -> DataFrame:
    """The frame, whose job fails with LONG_TEXT at a text that needs a limit of bytes; names of columns are plain."""
    return frame.select(*(_short(field) for field in frame.schema.fields))


def _short(field: s.StructField) -> Column:
    column = F.col(field.name)
    if not isinstance(field.dataType, s.StringType):
        return column
    is_long = F.octet_length(column) > TEXT_BYTES_MAX
    return F.when(is_long, F.raise_error(F.lit(LONG_TEXT))).otherwise(column).alias(field.name)


def _restore(spark: SparkSession, before: dict[str, str]) -> None:
    for key in _replaced(before):
        spark.conf.set(key, before[key])


def _found(spark: SparkSession) -> dict[str, str]:
    return {key: str(spark.conf.get(key)) for key in (BYTES_KEY, ROWS_KEY)}


def _replaced(before: dict[str, str]) -> dict[str, str]:
    """The settings that change: none where the session has a limit of bytes of its own."""
    if before[BYTES_KEY].lower() not in _DEFAULT_BYTES:
        return {}
    rows = int(before[ROWS_KEY])
    return {BYTES_KEY: _NO_LIMIT, ROWS_KEY: str(min(rows, BATCH_ROWS) if rows > 0 else BATCH_ROWS)}
