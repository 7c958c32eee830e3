"""The same walk on a cluster of two workers and over Spark Connect, and what a session is set up with."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from golden_data import golden_root
from polynya.errors import InvalidInputError
from polynya.spark.java import java_home_for_spark
from polynya.spark.session import core_count, session


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["connect", "local-cluster[2,1,1024]"])
def test_reading_and_writing_work_in_every_kind_of_session(kind, tmp_path):
    script = Path(__file__).with_name("every_session.py")
    environment = {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "JAVA_HOME": str(java_home_for_spark()),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    answer = subprocess.run(
        [sys.executable, script, kind, tmp_path / "lake", golden_root()],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=tmp_path,
    )
    assert answer.stdout.strip().endswith("walked"), answer.stderr[-4000:]


def test_a_local_master_tells_its_cores():
    assert [core_count(master) for master in ("local", "local[3]", "local[4, 2]")] == [1, 3, 4]
    assert core_count("local[*]") == os.cpu_count()
    assert core_count("spark://host:7077") is None


def test_a_setting_goes_by_the_name_that_spark_has_for_it():
    with pytest.raises(InvalidInputError, match=r"'spark\.driver\.memory', found 'memory'"):
        session("local[1]", memory="1g")
