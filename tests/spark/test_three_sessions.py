"""The same walk in a local session, on a cluster of two workers, and over Spark Connect."""

import os
import subprocess
import sys

import pytest

from golden_data import golden_root
from polynya.spark.java import java_home_for_spark
from spark import session_walk

pytestmark = pytest.mark.spark


def test_everything_works_in_a_local_session(spark, tmp_path):
    assert session_walk.walk(spark, str(tmp_path), str(golden_root())) == session_walk.EVERYTHING


@pytest.mark.xdist_group("other sessions")
@pytest.mark.parametrize("kind", ["local-cluster[2,1,1024]", "connect"])
def test_everything_works_in_a_session_of_another_kind(kind, tmp_path):
    environment = {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "JAVA_HOME": str(java_home_for_spark()),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    answer = subprocess.run(
        [sys.executable, session_walk.__file__, kind, tmp_path / "lake", golden_root()],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=tmp_path,
    )
    assert answer.stdout.split() == session_walk.EVERYTHING, session_walk.told(answer.stderr)
