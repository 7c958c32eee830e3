"""What every test may use."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

# Each Java of a test lives shortly, and needs no fast code.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# A busy machine is no failure, and what passed once passes again; `--hypothesis-profile=explore` tries new examples.
settings.register_profile("polynya", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile("polynya")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that share a server run in one process, so that there is one Spark session and one Java.

    A test that starts a Spark of its own says so by another group.
    """
    for item in items:
        for server in ("spark", "interop"):
            if item.get_closest_marker(server) and not item.get_closest_marker("xdist_group"):
                item.add_marker(pytest.mark.xdist_group(server))
                break
