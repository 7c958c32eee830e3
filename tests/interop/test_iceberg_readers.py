"""Iceberg readers find in the twin what the table itself gives, after every commit of polynya and of Java.

POLYNYA_HISTORIES is the number of histories of each kind of table, POLYNYA_SEED the first seed.
"""

import os

import pytest

from interop.twin_histories import KINDS, TwinHistory

COUNT = int(os.environ.get("POLYNYA_HISTORIES", "1"))
FIRST = int(os.environ.get("POLYNYA_SEED", "1"))
STEPS = int(os.environ.get("POLYNYA_STEPS", "12"))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
@pytest.mark.parametrize("version", ["2", "3"])
@pytest.mark.parametrize("kind", KINDS)
def test_pyiceberg_and_spark_read_the_rows_of_every_snapshot(java, spark_iceberg, tmp_path, kind, version, seed):
    history = TwinHistory(java, tmp_path, KINDS[kind], 2 * seed + int(version), version=version)
    history.run(step_count=STEPS)
    history.read_by(spark_iceberg)
