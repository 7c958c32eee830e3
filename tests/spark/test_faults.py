"""Workers that are killed, tasks that fail, jobs that are cancelled, drivers that die: all rows once, or none."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from polynya.spark import Lake
from polynya.spark.java import java_home_for_spark
from spark import fault_walk, session_walk

pytestmark = pytest.mark.spark


def run(folder: Path, moment: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "JAVA_HOME": str(java_home_for_spark())}
    command = [sys.executable, fault_walk.__file__, folder, moment]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=folder)


def data_files(table):
    return list(Path(table.table.location).rglob("data-*.parquet"))


def test_hurt_tasks_give_all_rows_once_and_a_driver_that_dies_before_the_commit_gives_none(spark, tmp_path):
    answer = run(tmp_path, "before")
    assert answer.stdout.splitlines() == ["killed", "failed", "change killed", "change failed", "cancelled"], (
        session_walk.told(answer.stderr)
    )
    assert answer.returncode == 9
    table = Lake(spark, tmp_path / "lake").table("db.before")
    assert table.table.snapshot is None
    left = data_files(table)
    assert left
    assert table.write(fault_walk.rows(spark), author=fault_walk.AUTHOR).record_count == fault_walk.COUNT
    fault_walk.require(table, fault_walk.COUNT)
    named = table.table.refresh().system("files")["file_path"].to_pylist()
    assert not {path.name for path in left} & {Path(name).name for name in named}


def test_a_driver_that_dies_after_the_commit_has_written_and_does_not_write_again(spark, tmp_path):
    answer = run(tmp_path, "after")
    assert (answer.returncode, answer.stdout) == (9, ""), session_walk.told(answer.stderr)
    table = Lake(spark, tmp_path / "lake").table("db.after")
    fault_walk.require(table, fault_walk.COUNT)
    before = data_files(table)
    made = table.write(fault_walk.rows(spark), author=fault_walk.AUTHOR)
    assert (made.snapshot_id, made.record_count) == (1, fault_walk.COUNT)
    assert data_files(table) == before
