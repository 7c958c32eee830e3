"""The groups of workloads: each makes its data on a stage and compares polynya with its peers, or with a bound."""

from collections.abc import Callable

from stage import Stage
from suite_iceberg import iceberg, iceberg_plans
from suite_metadata import commits, keys, manifests, plans, plans_million, small_writes, writers
from suite_rows import compactions, deletes, merges, reads, writes


def spark(stage: Stage) -> None:
    """DataFrames: written, read, upserted, deleted, compacted."""
    from suite_spark import spark as work  # Spark is only loaded where it is measured

    work(stage)


METADATA = (manifests, keys, plans, plans_million, commits, writers, small_writes)
ROWS = (writes, reads, merges, compactions, deletes)

WORKLOADS: dict[str, Callable[[Stage], None]] = {
    work.__name__: work for work in (*METADATA, *ROWS, iceberg, iceberg_plans, spark)
}
