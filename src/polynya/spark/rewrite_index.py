"""Indexes of existing files as a Spark job: tasks read files and write indexes, the driver commits their entries."""

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from polynya.arrow.rewrite_index import IndexWork, delete_indexes, reindexed
from polynya.paimon import manifest
from polynya.spark import jobs
from polynya.spark.tasks import decode_table, encode_table, parallelism_of, require_reachable, task_files


def reindex_files(spark: SparkSession, work: IndexWork, entries: pa.Table) -> pa.Table:
    """The new entries of those files whose index changes."""
    require_reachable(work.storage)
    numbered = entries.append_column("section", pa.array(np.arange(entries.num_rows)))
    tasks = [one.drop_columns("section") for one in task_files(numbered, parallelism_of(spark))]

    def reindex(_: int, files: pa.Table) -> bytes:
        return encode_table(reindexed(work, files))

    answers = jobs.run(spark, tasks, reindex, undo=lambda answer: delete_indexes(work, decode_table(answer)))
    return pa.concat_tables([manifest.empty(), *map(decode_table, answers)])
