"""The story that the README promises ends well; it checks its own numbers on the way."""

import subprocess
import sys

import pytest

from polynya.cli import demo


def test_the_story_is_told_without_spark(capsys):
    assert demo.main(["--no-spark", "--orders", "1000"]) == 0
    told = capsys.readouterr().out
    assert "Nothing lost" in told
    assert "PyIceberg reads" in told
    assert "Every file is there" in told
    assert "\x1b" not in told  # no colours in a pipe


def test_a_missing_spark_is_told_and_done_without(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "polynya.spark", None)
    monkeypatch.delattr("polynya.spark", raising=False)
    assert demo.main(["--orders", "200"]) == 0
    assert "There is none here" in capsys.readouterr().out


@pytest.mark.spark
def test_the_story_is_told_with_spark():
    command = [sys.executable, "-m", "polynya.cli.demo", "--orders", "1000"]  # it stops its session at the end
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "orders with Spark" in done.stdout
    assert "native" in done.stdout
