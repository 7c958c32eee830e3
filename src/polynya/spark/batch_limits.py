"""How much Spark hands to a Python worker at once, while a job of ours runs.

Spark ends a batch at a number of rows or of bytes, 64 MB unless a session says otherwise. To know the bytes it adds up
all buffers after every single row, which costs as much as filling them. So where rows are numbers and plain texts, a
job goes without the limit of bytes and with few rows to a batch. Columns that may hold a lot in one value, and sessions
with a limit of their own, keep the limit.
"""

import contextlib
import threading
from collections.abc import Iterator

from pyspark.sql import SparkSession
from pyspark.sql import types as s

BATCH_ROWS = 1024
BYTES_KEY = "spark.sql.execution.arrow.maxBytesPerBatch"
ROWS_KEY = "spark.sql.execution.arrow.maxRecordsPerBatch"
_DEFAULT_BYTES = ("67108864", "67108864b", "64mb", "64m")
_NO_LIMIT = str(2**31 - 1)
_LARGE = (s.BinaryType, s.VariantType, s.ArrayType, s.MapType, s.StructType)

_lock = threading.Lock()
_held: dict[int, tuple[int, dict[str, str]]] = {}  # by session: jobs that run, and the settings before them


@contextlib.contextmanager
def few_rows_any_bytes(spark: SparkSession, schema: s.StructType) -> Iterator[None]:
    """Let jobs of rows of the schema start without a limit of bytes, where that is safe; settings come back."""
    if any(isinstance(field.dataType, _LARGE) for field in schema.fields):
        yield
        return
    with _lock:
        count, before = _held.get(id(spark), (0, {}))
        if count == 0:
            before = _found(spark)
            for key, value in _replaced(before).items():
                spark.conf.set(key, value)
        _held[id(spark)] = count + 1, before
    try:
        yield
    finally:
        with _lock:
            count, before = _held.pop(id(spark))
            if count > 1:
                _held[id(spark)] = count - 1, before
            else:
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
