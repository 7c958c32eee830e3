"""The other implementations, one of each for the whole run."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

import pytest

from interop.cached import UnavailableError
from interop.java_paimon import JavaPaimon, running_java
from interop.pyiceberg_env import PyIceberg, running_pyiceberg
from interop.pypaimon_env import PyPaimon, running_pypaimon
from interop.spark_iceberg_env import SparkIceberg, running_spark_iceberg

T = TypeVar("T")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.interop)


@pytest.fixture(scope="session")
def java() -> Iterator[JavaPaimon]:
    """The real Java Paimon."""
    yield from running("Java Paimon", running_java)


@pytest.fixture(scope="session")
def pypaimon() -> Iterator[PyPaimon]:
    """The public Python client, in its own environment."""
    yield from running("pypaimon", running_pypaimon)


@pytest.fixture(scope="session")
def pyiceberg() -> Iterator[PyIceberg]:
    """PyIceberg as a writer, in its own environment."""
    yield from running("PyIceberg", running_pyiceberg)


@pytest.fixture(scope="session")
def spark_iceberg() -> Iterator[SparkIceberg]:
    """Spark 4.1 with Iceberg, in its own environment."""
    yield from running("Spark with Iceberg", running_spark_iceberg)


def running(name: str, start: Callable[[], AbstractContextManager[T]]) -> Iterator[T]:
    """A partner for as long as the tests last, or why there is none."""
    try:
        with start() as partner:
            yield partner
    except UnavailableError as reason:
        unavailable(f"{name}: {reason}")


def unavailable(reason: str) -> None:
    """Skip where a developer lacks something; fail where it must be there."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
