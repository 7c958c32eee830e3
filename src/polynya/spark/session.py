"""A SparkSession set up well, for people who have none yet.

What must be right before the JVM starts: the Java, and the Python of the workers. The rest are settings that a caller
may override by name. The session time zone is left as Spark finds it: no conversion of ours depends on it.
"""

import os
import re
import sys
import warnings
from collections.abc import Iterable

from pyspark.sql import SparkSession

from polynya.errors import InvalidInputError
from polynya.spark.java import java_home_for_spark

_DEFAULTS = {
    "spark.app.name": "polynya",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.python.unix.domain.socket.enabled": "true",
}

# Many files make Spark run much code for the first time: without the barriers of the default collector it is compiled
# in less time. Whoever sets options of a JVM by themselves has chosen.
_COLLECTOR = {"spark.driver.extraJavaOptions": "-XX:+UseParallelGC"}
_JVM_SETTINGS = (
    *("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"),
    *("SPARK_SUBMIT_OPTS", "SPARK_CONF_DIR", "SPARK_HOME", "PYSPARK_SUBMIT_ARGS"),
)

# Workers free the memory of a batch and take it again: fresh pages from the system cost more than the work on them.
_KEEP_MEMORY, _KEEP_MEMORY_MS = "MIMALLOC_PURGE_DELAY", "10000"


def session(master: str = "local[*]", **conf: str | int | bool) -> SparkSession:
    """Start or find a session; settings go by Spark's names: `session("local[2]", **{"spark.driver.memory": "4g"})`.

    What the JVM is started with, such as its memory, only counts in a process that has none yet.
    """
    os.environ["JAVA_HOME"] = str(java_home_for_spark())
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault(_KEEP_MEMORY, _KEEP_MEMORY_MS)
    warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
    settings = {
        **_DEFAULTS,
        f"spark.executorEnv.{_KEEP_MEMORY}": os.environ[_KEEP_MEMORY],
        **_local_settings(master),
        **_collector(master, conf),
        **_named(conf),
    }
    builder = SparkSession.builder.master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def core_count(master: str) -> int | None:
    """The number of cores that a local master uses, or None for a cluster."""
    found = re.fullmatch(r"local(?:\[(\*|\d+)(?:,\s*\d+)?\])?", master)
    if found is None:
        return None
    named = found[1] or "1"
    return (os.cpu_count() or 1) if named == "*" else int(named)


def _local_settings(master: str) -> dict[str, str]:
    """A local session stays on this machine and shuffles into as many parts as its cores can use."""
    cores = core_count(master)
    if cores is None:
        return {}
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    return {"spark.driver.bindAddress": "127.0.0.1", "spark.sql.shuffle.partitions": str(2 * cores)}


def _collector(master: str, conf: Iterable[str]) -> dict[str, str]:
    """The choice of a collector for the JVM of a local session; a JVM that is told of two does not start."""
    has_chosen = any(name in os.environ for name in _JVM_SETTINGS) or any("JavaOptions" in key for key in conf)
    return {} if has_chosen or core_count(master) is None else _COLLECTOR


def _named(conf: dict[str, str | int | bool]) -> dict[str, str]:
    for key in conf:
        if not key.startswith("spark."):
            raise InvalidInputError(f"session: expected settings such as 'spark.driver.memory', found '{key}'")
    return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in conf.items()}
