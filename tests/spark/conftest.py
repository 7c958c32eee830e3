"""One Spark session for all tests, and a lake of their own for each."""

import pytest

import polynya.spark
from golden_data import golden_root
from polynya.spark import Lake


@pytest.fixture(scope="session")
def spark():
    made = polynya.spark.session(
        "local[2]",
        **{
            "spark.driver.memory": "1g",
            "spark.sql.timeType.enabled": True,
            "spark.sql.session.timeZone": "America/Los_Angeles",  # nothing of ours may depend on it
        },
    )
    yield made
    made.stop()


@pytest.fixture
def lake(spark, tmp_path):
    made = Lake(spark, tmp_path)
    made.create_database("db")
    return made


@pytest.fixture(scope="session")
def golden_lake(spark):
    return Lake(spark, golden_root())
