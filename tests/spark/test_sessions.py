"""What a session is set up with."""

import os

import pytest

from polynya.errors import InvalidInputError
from polynya.spark.session import _JVM_SETTINGS, _collector, core_count, session


def test_a_local_master_tells_its_cores():
    assert [core_count(master) for master in ("local", "local[3]", "local[4, 2]")] == [1, 3, 4]
    assert core_count("local[*]") == os.cpu_count()
    assert core_count("spark://host:7077") is None


def test_a_setting_goes_by_the_name_that_spark_has_for_it():
    with pytest.raises(InvalidInputError, match=r"'spark\.driver\.memory', found 'memory'"):
        session("local[1]", memory="1g")


def test_a_local_session_chooses_the_collector_unless_options_of_the_jvm_are_set(monkeypatch):
    for name in _JVM_SETTINGS:
        monkeypatch.delenv(name, raising=False)
    assert "ParallelGC" in _collector("local[2]", ())["spark.driver.extraJavaOptions"]
    assert _collector("spark://host:7077", ()) == {}
    assert _collector("local[2]", ["spark.driver.defaultJavaOptions"]) == {}
    monkeypatch.setenv("JDK_JAVA_OPTIONS", "-XX:+UseSerialGC")
    assert _collector("local[2]", ()) == {}
