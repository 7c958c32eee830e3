"""Work on files as a Spark job: each task gets an Arrow table of files, and answers with bytes.

Rows do not cross into the JVM: a task reads and writes files itself. A task that ends in an error which a retry would
not cure answers with that error, and the driver raises it; after other errors Spark starts the task again.
"""

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from polynya.errors import PolynyaError, StorageError
from polynya.spark.answers import error_of, told
from polynya.spark.tasks import BatchFunction, decode_table, encode_table

ANSWER = "answer binary, error_class string, error string"
ANSWERS = pa.schema([("answer", pa.binary()), ("error_class", pa.string()), ("error", pa.string())])

Work = Callable[[int, pa.Table], bytes]  # the number of the task and its files


def run(spark: SparkSession, tasks: Sequence[pa.Table], work: Work, undo: Callable[[bytes], None]) -> list[bytes]:
    """Do the work for each of the tasks on a worker and return the answers, in any order.

    When a task is refused, `undo` takes back what the others did.
    """
    if not tasks:
        return []
    numbers = pa.array(range(len(tasks)), pa.int32())
    packed = pa.array([encode_table(one) for one in tasks], pa.binary())
    frame = spark.createDataFrame(pa.table({"task": numbers, "files": packed}))
    placed = frame.repartitionById(len(tasks), F.col("task"))
    answers = placed.mapInArrow(_working(work), ANSWER).toArrow()
    done: list[bytes] = answers["answer"].drop_null().to_pylist()
    failed = answers.filter(pc.is_valid(answers["error"])).slice(0, 1).to_pylist()
    if failed:
        for one in done:
            undo(one)
        raise error_of(failed[0]["error_class"], failed[0]["error"])
    return done


def _working(work: Work) -> BatchFunction:
    def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task, data in zip(batch["task"].to_pylist(), batch["files"].to_pylist(), strict=True):
                yield pa.RecordBatch.from_pylist([_answer(work, task, data)], schema=ANSWERS)

    return answer


def _answer(work: Work, task: int, data: bytes) -> dict[str, object]:
    try:
        return {"answer": work(task, decode_table(data))}
    except StorageError:
        raise  # the store may be better the next time
    except PolynyaError as error:
        return told(error)
