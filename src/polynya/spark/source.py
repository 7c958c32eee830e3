"""The format "polynya" of `spark.read` and `spark.write`, a thin shell over the same readers and writers.

Spark creates these objects in processes of its own: nothing here sees the driver's Python, and everything is rebuilt
from the options, whose keys arrive in lower case. Filters that Spark would push down are not taken, because Spark would
then reuse the filtered read for other queries; `where` and `columns` are options instead.

| option | meaning |
|---|---|
| path | the table |
| where, columns | a condition in SQL; names with commas between them |
| branch, scan.snapshot-id, scan.tag-name, scan.timestamp-millis | what to read |
| rowkind | the column that holds +I, -U, +U or -D, when writing |
| partitionoverwritemode | static or dynamic, when overwriting |
| write.merge-schema, mergeschema | whether columns that the table does not have are added to it |
| storage.<name> | a storage option |

Spark gives a writer no say in where rows go, so several tasks may write to one bucket. The rows of each task are then
numbered in a range of its own, and of rows with one key the one in the last partition of the DataFrame stays.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from polynya import api
from polynya.arrow.read import Reader
from polynya.errors import InvalidInputError
from polynya.model.bucket_mode import BucketMode, bucket_mode
from polynya.model.options import find_option
from polynya.model.options_data import WRITE_MERGE_SCHEMA
from polynya.paimon.snapshot import CommitKind
from polynya.spark.lake import plan_read, view
from polynya.spark.merge_schema import evolve
from polynya.spark.tasks import decode_table, encode_table, read_files, read_tasks, require_reachable, shared_budget
from polynya.spark.types import to_spark_schema
from polynya.spark.write import (
    MESSAGES,
    FrameRequest,
    WriteJob,
    commit_messages,
    delete_files,
    entries_of,
    job_of,
    request_of,
    require_columns,
    write_task,
)
from polynya.table import history
from polynya.table.commit import Author, find_committed

TASKS = 16  # tasks that a read is cut into, where its bytes do not ask for more
READ_OPTIONS = ("where", "columns", "branch", "scan.snapshot-id", "scan.tag-name", "scan.timestamp-millis")
MERGE_SCHEMA = ("write.merge-schema", "merge-schema", "mergeschema")
WRITE_OPTIONS = ("branch", "rowkind", "partitionoverwritemode", *MERGE_SCHEMA)
_STORAGE = "storage."


class PolynyaSource(DataSource):  # type: ignore[misc]  # pyspark is not followed
    """A table by its path."""

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "polynya"

    def schema(self) -> StructType:
        """The columns that a read gives."""
        return to_spark_schema(self._plan()[0].fields)

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of the table as it is now."""
        reader, files = self._plan()
        _require_own(schema, to_spark_schema(reader.fields))
        require_reachable(reader.storage)
        return _Reading(shared_budget(reader), files)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """A writer of rows with the columns of the schema."""
        options = require_options(self.options, WRITE_OPTIONS)
        table, mode = _open(options), _overwrite_mode(options)
        request = request_of(
            "overwrite" if overwrite else "append",
            overwrite=mode if overwrite else None,
            rowkind=options.get("rowkind"),
        )
        if self._merges_schema(options, table):
            table, request = evolve(table, schema, request)
        job = job_of(table, request)
        require_columns(schema, job)
        author = Author(job.write_id)
        return _Writing(table, replace(request, rows=replace(request.rows, author=author)), job)

    def _merges_schema(self, options: Mapping[str, str], table: api.Table) -> bool:
        named = [options[key] for key in MERGE_SCHEMA if key in options]
        return WRITE_MERGE_SCHEMA.of({WRITE_MERGE_SCHEMA.key: named[0]} if named else table.options)

    def _plan(self) -> tuple[Reader, pa.Table]:
        options = require_options(self.options, READ_OPTIONS)
        columns = options.get("columns")
        table = view(
            _open({key: value for key, value in options.items() if key != "branch"}),
            _number(options, "scan.snapshot-id"),
            options.get("scan.tag-name"),
            _number(options, "scan.timestamp-millis"),
            options.get("branch"),
        )
        names = None if columns is None else [name.strip() for name in columns.split(",")]
        reader, plan = plan_read(table, options.get("where"), names)
        return reader, plan.files


def require_options(given: Mapping[str, str], known: tuple[str, ...]) -> dict[str, str]:
    """The options, all of them known; InvalidInputError names one that is not."""
    options = {key.lower(): value for key, value in given.items()}
    for key in options:
        if key not in known and key != "path" and not key.startswith(_STORAGE):
            what = "is an option of tables, not of this call" if find_option(key) is not None else "is unknown"
            raise InvalidInputError(f"format polynya: option '{key}' {what}; there are path, {', '.join(known)}")
    if "path" not in options:
        raise InvalidInputError("format polynya: expected the table's path in load(path), save(path) or option 'path'")
    return options


def _open(options: Mapping[str, str]) -> api.Table:
    storage = {key.removeprefix(_STORAGE): value for key, value in options.items() if key.startswith(_STORAGE)}
    table = api.open_table(options["path"], **storage)
    return table.branch(options["branch"]) if "branch" in options else table


def _overwrite_mode(options: Mapping[str, str]) -> str | None:
    named = options.get("partitionoverwritemode")
    if named is not None and named.lower() not in ("static", "dynamic"):
        raise InvalidInputError(
            f"format polynya: option 'partitionoverwritemode' must be static or dynamic, got '{named}'"
        )
    return named.lower() if named is not None else None


def _require_own(asked: StructType, own: StructType) -> None:
    """Raise InvalidInputError for columns that the table does not have in this way now: rows come as they are."""
    if asked != own:
        raise InvalidInputError(
            f"format polynya: expected columns {own.simpleString()}, found {asked.simpleString()}; load the table "
            "again, without schema(); the option 'columns' chooses some"
        )


def _number(options: Mapping[str, str], key: str) -> int | None:
    text = options.get(key)
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        raise InvalidInputError(f"format polynya: option '{key}' must be a whole number, got '{text}'") from None


class _Reading(DataSourceReader):  # type: ignore[misc]  # pyspark is not followed
    """Reads the files of a plan; only the reader travels to the workers, the files are in the partitions."""

    def __init__(self, reader: Reader, files: pa.Table) -> None:
        self._reader, self._files = reader, files

    def __getstate__(self) -> dict[str, object]:
        return {"_reader": self._reader}

    def partitions(self) -> list[InputPartition]:
        """The tasks; Spark turns none of them into one without a value."""
        if self._files.num_rows == 0:
            return []
        return [InputPartition(encode_table(files)) for files in read_tasks(self._reader, self._files, TASKS)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task."""
        if partition.value is not None:
            yield from read_files(self._reader, decode_table(partition.value))


@dataclass(frozen=True)
class _Written(WriterCommitMessage):  # type: ignore[misc]  # pyspark is not followed
    """The message of one task, in Arrow."""

    data: bytes


class _Writing(DataSourceArrowWriter):  # type: ignore[misc]  # pyspark is not followed
    """Writes rows where Spark has them; commits on the driver."""

    def __init__(self, table: api.Table, request: FrameRequest, job: WriteJob) -> None:
        self._table, self._request, self._job = table, request, job

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Write the rows of one task."""
        message = write_task(self._task_job(), iterator)
        return _Written(encode_table(pa.Table.from_batches([message])))

    def commit(self, messages: list[_Written | None]) -> None:
        """Publish what the tasks wrote."""
        commit_messages(self._table, self._request, self._job, _rows_of(messages), shares_buckets=True)

    def abort(self, messages: list[_Written | None]) -> None:
        """Delete what the tasks wrote, unless it was published after all: Spark also aborts after a late failure."""
        root, snapshot = self._table.root, self._table.snapshot
        kind = CommitKind.OVERWRITE if self._request.rows.overwrite else CommitKind.APPEND
        latest_id, author = history.find_latest_id(root), self._request.rows.author
        assert author is not None
        after = snapshot.id if snapshot is not None else 0
        if latest_id is None or find_committed(root, author, kind, latest_id, after) is None:
            delete_files(root.storage, entries_of(_rows_of(messages)), self._table.schema)

    def _task_job(self) -> WriteJob:
        context, spec = TaskContext.get(), self._job.spec
        if context is None or bucket_mode(spec.schema) is not BucketMode.HASH_FIXED:
            return self._job
        return replace(self._job, spec=replace(spec, buckets=spec.buckets.apart(context.partitionId())))


def _rows_of(messages: list[_Written | None]) -> pa.Table:
    tables = [decode_table(message.data) for message in messages if message is not None]
    return pa.concat_tables(tables) if tables else MESSAGES.empty_table()
