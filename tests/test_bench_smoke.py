"""The benchmarks still run, each of them tiny; no time is asserted."""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "bench"))

import page  # noqa: E402  # the path comes first
import plots  # noqa: E402
import results  # noqa: E402
from stage import Figure, Role  # noqa: E402


def smoke(*arguments):
    command = [sys.executable, ROOT / "bench" / "run", "--smoke", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_benchmarks_run():
    shown = smoke("--no-peers", "--skip", "spark", "--skip", "plans_million")
    assert "| what | polynya | memory | compared with |" in shown
    assert "merge read of 5 runs" in shown


@pytest.mark.spark
def test_the_benchmarks_of_spark_run():
    assert "Spark's partitioned Parquet" in smoke("--no-peers", "--only", "spark")


@pytest.mark.interop
def test_the_peers_take_part():
    shown = smoke("--only", "writes", "--only", "deletes")
    for peer in ("Java Paimon", "pypaimon", "pypaimon-rust", "PyIceberg"):
        assert peer in shown


FIGURES = [
    Figure("scan", [1.0, 1.5], 10.0, "slow & steady", Role.PEER, [4.0, 4.0]),
    Figure("scan", [1.0, 1.5], 10.0, "quick", Role.PEER, [2.0, 4.0], 20.0),
    Figure("scan", [1.0, 1.5], 10.0, "floor", Role.BOUND, [0.5, 0.5]),
    Figure("merge", [1.0, 1.0], None, "floor", Role.BOUND, [0.5, 0.8]),
    Figure("upsert", [1.0, 1.0], None, "quick", Role.PEER, reason="has no keys"),
]
RESULT = results.Result(FIGURES, ["a note"], 1.0, 2, 0.5, "2026-01-01", ["a machine"])


def test_a_chart_compares_with_the_best_peer_or_else_a_bound():
    scan, merge = plots.bars_of(FIGURES)
    assert (scan.other, scan.ratio, scan.low, scan.high) == ("quick", 0.5, 0.375, 0.5)
    assert (merge.other, merge.role) == ("floor", Role.BOUND)


def test_a_chart_is_a_drawing():
    drawn = ElementTree.fromstring(plots.render("Scans", plots.bars_of([FIGURES[0]])))
    assert "slow & steady" in "".join(drawn.itertext())


def test_the_page_says_why_a_peer_has_no_figure_and_what_was_not_measured():
    shown = page.render({"reads": RESULT}, ["reads", "spark"], {"reads"})
    assert "quick: has no keys | – |" in shown
    assert "Not measured: spark." in shown
    assert "![Scans](images/bench-reads.svg)" in shown


def test_the_page_is_made_from_figures_that_were_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("POLYNYA_CACHE", str(tmp_path / "cache"))
    results.keep({"reads": RESULT})
    assert results.load() == {"reads": RESULT}
    page.write(results.load(), ["reads", "spark"], tmp_path)
    assert "images/bench-reads.svg" in (tmp_path / "benchmarks.md").read_text()
    assert [path.name for path in (tmp_path / "images").iterdir()] == ["bench-reads.svg"]
