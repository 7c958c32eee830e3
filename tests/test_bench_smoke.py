"""The benchmarks still run, each of them tiny; no time is asserted."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def smoke(*arguments):
    command = [sys.executable, ROOT / "bench" / "run", "--smoke", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_benchmarks_run():
    shown = smoke("--no-peers", "--skip", "spark")
    assert "| what | polynya | peer or bound |" in shown
    assert "merge read of 5 runs" in shown


@pytest.mark.spark
def test_the_benchmarks_of_spark_run():
    assert "Spark's partitioned Parquet" in smoke("--no-peers", "spark")


@pytest.mark.interop
def test_the_peers_take_part():
    shown = smoke("plans", "writes", "compactions")
    assert "Java Paimon" in shown
    assert "pypaimon" in shown
