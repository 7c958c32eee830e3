"""The simulator finds nothing in the product, and does find what is broken on purpose."""

import sys
from pathlib import Path

import pytest

from polynya.errors import CommitUnknownError
from polynya.paimon.snapshot import CommitKind
from polynya.table import commit as commits
from polynya.table import draft, group
from polynya.table.turns import TableTurns

sys.path.insert(0, str(Path(__file__).parent.parent))

from simulator.history import run

HISTORIES = 200  # more: python -m simulator --histories 20000
SEEDS_MAX = 150  # within these a broken commit must be caught


@pytest.mark.parametrize("chunk", range(4))
def test_no_history_breaks_an_invariant(chunk):
    for seed in range(chunk * HISTORIES // 4, (chunk + 1) * HISTORIES // 4):
        try:
            run(seed)
        except AssertionError as error:
            pytest.fail(f"seed {seed}: {error}; replay: cd tests && python -m simulator --replay {seed}")


def test_a_seed_replays_exactly():
    traces = [[], []]
    for trace in traces:
        run(7, trace=trace.append)
    assert traces[0] == traces[1]
    assert len(traces[0]) > 20


def test_check_then_put_is_caught():
    assert _first_failure(creates_atomically=False) is not None


def test_a_retry_without_reading_back_is_caught(monkeypatch):
    monkeypatch.setattr(commits, "_look_up_after", lambda *_: commits.Outcome.LOST)
    assert _first_failure() is not None


def test_an_overwrite_that_does_not_look_again_is_caught(monkeypatch):
    resolve = draft.Drafter._resolve

    def once(drafter, latest):
        if not hasattr(drafter, "resolved"):
            drafter.resolved = resolve(drafter, latest)
        return drafter.resolved

    monkeypatch.setattr(draft.Drafter, "_resolve", once)
    assert _first_failure() is not None


def test_an_interrupt_that_cleans_up_is_caught(monkeypatch):
    publish = commits._publish_draft

    def and_clean(target, drafter, author):
        try:
            return publish(target, drafter, author)
        except BaseException:
            drafter.writer._storage.inner.delete(f"manifest/{name}" for name in drafter.writer.written)
            raise

    monkeypatch.setattr(commits, "_publish_draft", and_clean)
    assert _first_failure(SEEDS_MAX * 4, seeds_min=100) is not None  # few schedules show it


def test_a_group_that_tries_again_when_told_nothing_is_caught(monkeypatch):
    commit = group.commit

    def again(target, change, author):
        try:
            return commit(target, change, author)
        except CommitUnknownError:
            return commit(target, change, author)

    monkeypatch.setattr(group, "commit", again)
    assert _first_failure(SEEDS_MAX * 4, seeds_min=100) is not None  # few schedules show it


def test_a_group_whose_leader_answers_before_it_commits_is_caught(monkeypatch):
    def hasty(members):
        for member in members:
            member.answer.set_result(commits.Commit(1, CommitKind.APPEND, 1, 0, 1))
        for member in members:
            commits.commit(member.work.target, member.work.change, commits.new_author(member.work.target))

    monkeypatch.setattr(group, "TURNS", TableTurns(hasty))
    assert _first_failure() is not None


def _first_failure(seeds_max=SEEDS_MAX, seeds_min=1, **options):
    for seed in range(seeds_min, seeds_max):
        try:
            run(seed, **options)
        except Exception as error:  # noqa: BLE001 - however it shows
            return error
    return None
