"""Finding a Java, and Spark on the Java of a wheel."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from polynya.errors import NotFoundError
from polynya.spark import java


@pytest.fixture(autouse=True)
def _own_machine(monkeypatch, tmp_path, tools_without_java):
    """No Java but the ones that a test puts there."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tools_without_java))
    monkeypatch.setenv("POLYNYA_CACHE", str(tmp_path / "cache with space"))


@pytest.fixture(scope="module")
def tools_without_java(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("tools")
    for place in ("/bin", "/usr/bin"):
        for tool in Path(place).iterdir():
            link = folder / tool.name
            if tool.name != "java" and not link.is_symlink():
                link.symlink_to(tool)
    return folder


def fake_java(home: Path, version: str) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    return program


def test_java_home_comes_first(monkeypatch, tmp_path):
    wanted = fake_java(tmp_path / "home", "21.0.1")
    other = fake_java(tmp_path / "other", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{other.parent}{os.pathsep}{os.environ['PATH']}")
    assert java.find_java() == wanted


@pytest.mark.parametrize("version", ["1.8.0_392", "11.0.2", "16"])
def test_a_java_that_is_too_old_is_passed_over(monkeypatch, tmp_path, version):
    old = fake_java(tmp_path / "old", version)
    good = fake_java(tmp_path / "good", "17")
    monkeypatch.setenv("JAVA_HOME", str(old.parent.parent))
    monkeypatch.setenv("PATH", f"{good.parent}{os.pathsep}{os.environ['PATH']}")
    assert java.find_java() == good
    assert java.java_home_for_spark() == tmp_path / "good"


def test_a_java_home_without_a_java_is_passed_over(monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert java.find_java() == java._wheel_java()


def test_no_java_says_what_to_install(monkeypatch):
    monkeypatch.setattr(java, "_wheel_java", lambda: None)
    with pytest.raises(NotFoundError, match=r"expected version 17 .* pip install 'polynya\[java\]'"):
        java.java_home_for_spark()


def test_the_shim_drops_only_the_module_that_is_missing(monkeypatch, tmp_path):
    real = tmp_path / "it's" / "bin" / "java"
    real.parent.mkdir(parents=True)
    real.write_text('#!/bin/sh\nfor arg in "$@"; do echo "<$arg>"; done\n')
    real.chmod(0o755)
    shim = java._shimmed_home(real) / "bin" / "java"
    vector = "jdk.incubator.vector"
    args = ["-x", f"--add-modules={vector}", "a b", "--add-modules", vector, "--add-modules", "java.sql", "", "*"]
    said = subprocess.run([shim, *args], capture_output=True, text=True, check=True).stdout.splitlines()
    assert said == ["<-x>", "<a b>", "<--add-modules>", "<java.sql>", "<>", "<*>"]


def test_the_shim_is_made_once(tmp_path):
    first = java.java_home_for_spark()
    made = (first / "bin" / "java").stat().st_mtime_ns
    assert java.java_home_for_spark() == first
    assert (first / "bin" / "java").stat().st_mtime_ns == made
    assert (first / "release").exists()


@pytest.mark.spark
def test_spark_starts_on_the_java_of_the_wheel(tmp_path):
    assert shutil.which("java") is None
    script = """
import os, sys
from polynya.spark.java import java_home_for_spark
os.environ["JAVA_HOME"] = str(java_home_for_spark())
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
spark = builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
spark.range(10).mapInArrow(lambda batches: batches, "id long").write.parquet("out")
print("sum", spark.read.parquet("out").groupBy().sum("id").collect()[0][0])
"""
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}
    answer = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )
    assert "sum 45" in answer.stdout, answer.stderr
