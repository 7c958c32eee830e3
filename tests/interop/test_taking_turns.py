"""Polynya and Java change one table in turns, and agree on its rows after every step.

POLYNYA_HISTORIES is the number of histories of each kind of table, two unless set; POLYNYA_SEED the first seed,
POLYNYA_STEPS the length of each. An hour of them: POLYNYA_HISTORIES=200 POLYNYA_STEPS=20 pytest tests/interop/<this>.
"""

import os

import pytest

from interop.histories import KINDS, History

COUNT = int(os.environ.get("POLYNYA_HISTORIES", "2"))
FIRST = int(os.environ.get("POLYNYA_SEED", "1"))
STEPS = int(os.environ.get("POLYNYA_STEPS", "8"))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
@pytest.mark.parametrize("kind", KINDS)
def test_both_agree_after_every_step(java, tmp_path, kind, seed):
    History(java, tmp_path, KINDS[kind], seed).run(step_count=STEPS)
