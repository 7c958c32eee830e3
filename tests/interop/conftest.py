"""The other implementations, one of each for the whole run."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from interop.cached import UnavailableError
from interop.java_paimon import JavaPaimon, running_java
from interop.pyiceberg_env import PyIceberg, running_pyiceberg
from interop.pypaimon_env import PyPaimon, running_pypaimon
from interop.spark_iceberg_env import SparkIceberg, running_spark_iceberg


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.interop)


@pytest.fixture(scope="session")
def java() -> Iterator[JavaPaimon]:
    """The real Java Paimon."""
    try:
        with running_java() as server:
            yield server
    except UnavailableError as reason:
        unavailable(f"Java Paimon: {reason}")


@pytest.fixture(scope="session")
def pypaimon() -> Iterator[PyPaimon]:
    """The public Python client, in its own environment."""
    try:
        with running_pypaimon() as client:
            yield client
    except UnavailableError as reason:
        unavailable(f"pypaimon: {reason}")


@pytest.fixture(scope="session")
def pyiceberg() -> Iterator[PyIceberg]:
    """PyIceberg as a writer, in its own environment."""
    try:
        with running_pyiceberg() as writer:
            yield writer
    except UnavailableError as reason:
        unavailable(f"PyIceberg: {reason}")


@pytest.fixture(scope="session")
def spark_iceberg() -> Iterator[SparkIceberg]:
    """Spark 4.1 with Iceberg, in its own environment."""
    try:
        with running_spark_iceberg() as spark:
            yield spark
    except UnavailableError as reason:
        unavailable(f"Spark with Iceberg: {reason}")


def unavailable(reason: str) -> None:
    """Skip where a developer lacks something; fail where it must be there."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
