"""An exact list of files handed to Spark's own scan, without a listing of folders.

The list is written as the log of Spark's file sink, `<folder>/_spark_metadata/0`: a line `v1`, then a JSON object for
each file. Spark trusts it blindly, so this is the only place that writes one, and it keeps six rules:

- files lie outside of the log's folder, which Spark would answer with no rows at all, unless `recursiveFileLookup` is
  set or partition columns are found in the paths; `open_files` sets one or looks for the other.
- sizes are exact: what lies behind a size that is too small is silently left out.
- a file that is gone or damaged fails the query, also in a session that ignores such files.
- floats are not looked for in dictionaries, which tell -0.0 from 0.0: a filter for one would lose the other.
- paths are URIs: every character that is not plain is encoded.
- the log stays until the process ends: a DataFrame may be analysed again at any time.
"""

import atexit
import functools
import hashlib
import shutil
import tempfile
import uuid
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, DoubleType, FloatType, StructType

from polynya.errors import StorageError
from polynya.spark.ways import PLAIN_NAME

SCRATCH = "spark.polynya.scratch"  # a local folder that the driver (of Spark Connect: the server) reads too
CHECKED_FILES_MAX = 256  # up to so many files Spark is asked which ones it found
_checked: set[Path] = set()  # logs of which Spark has found every file
_STRICT = {"ignoreMissingFiles": "false", "ignoreCorruptFiles": "false"}  # whatever the session says
_LINE_END = ',"isDir":false,"modificationTime":0,"blockReplication":1,"blockSize":134217728,"action":"add"}'


def open_files(
    spark: SparkSession, files: pa.Table, schema: StructType, *, format: str, partitioned: bool = False
) -> DataFrame:
    """A native scan of the files: columns `folder` (absolute, local), `file_name` and `file_size`.

    With `partitioned` the columns of the schema that folders name as `<column>=<value>` come from there.
    """
    log = write_log(_scratch(spark), files)
    reader = spark.read.schema(schema).format(format).options(**_STRICT)
    if format == "parquet":
        reader = reader.options(datetimeRebaseMode="CORRECTED", int96RebaseMode="CORRECTED")
        if _has_float(schema):
            reader = reader.option("parquet.filter.dictionary.enabled", "false")
    if not partitioned:
        return reader.option("recursiveFileLookup", "true").load(str(log))
    found = reader.option("basePath", "file:/").load(str(log))
    if log not in _checked and files.num_rows <= CHECKED_FILES_MAX:
        _require_all_found(found, files.num_rows)
        _checked.add(log)
    return found


def _has_float(type: DataType) -> bool:
    """Whether a filter on a column of the type, or on a member of it, may look for a float."""
    if isinstance(type, StructType):
        return any(_has_float(field.dataType) for field in type.fields)
    return isinstance(type, (FloatType, DoubleType))


def _require_all_found(frame: DataFrame, file_count: int) -> None:
    found = len(frame.inputFiles())
    if found != file_count:
        raise StorageError(
            f"Spark found {found} of {file_count} files of a table, because it did not find the partition columns in "
            "their paths"
        )


def write_log(scratch: Path, files: pa.Table) -> Path:
    """The folder of the log that lists the files; the same list has the same folder."""
    lines = log_lines(files)
    body = pc.binary_join(pa.ListArray.from_arrays([0, len(lines)], lines), "\n")[0].as_buffer()
    folder = scratch / hashlib.sha256(body).hexdigest()[:32]
    log = folder / "_spark_metadata" / "0"
    if not log.exists():
        log.parent.mkdir(parents=True, exist_ok=True)
        part = log.with_name(f".part-{uuid.uuid4()}")  # of this call: other threads may list the same files now
        with part.open("wb") as file:
            file.write(b"v1\n")
            file.write(body)
        part.replace(log)
    return folder


def log_lines(files: pa.Table) -> pa.Array:
    """The line of each file."""
    folders = files["folder"].combine_chunks().dictionary_encode()
    texts = pa.array([f'{{"path":"file://{quote(path)}/' for path in folders.dictionary.to_pylist()], pa.string())
    sizes = files["file_size"].combine_chunks().cast(pa.string())
    return pc.binary_join_element_wise(
        texts.take(folders.indices), _quoted(files["file_name"].combine_chunks()), '","size":', sizes, _LINE_END, ""
    )


def _quoted(names: pa.Array) -> pa.Array:
    plain = pc.match_substring_regex(names, PLAIN_NAME)
    return names if pc.all(plain).as_py() else pa.array([quote(name) for name in names.to_pylist()], pa.string())


def _scratch(spark: SparkSession) -> Path:
    named = spark.conf.get(SCRATCH, None)
    return Path(named) if named else _own_scratch()


@functools.cache
def _own_scratch() -> Path:
    folder = tempfile.mkdtemp(prefix="polynya-spark-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)
