"""Limits of what a worker gets at once, taken away for a job and put back."""

import pytest
from pyspark.sql import types as s

from polynya.spark.batch_limits import BATCH_ROWS, BYTES_KEY, ROWS_KEY, few_rows_any_bytes, limit_again

PLAIN = s.StructType([s.StructField("id", s.LongType()), s.StructField("name", s.StringType())])
LARGE = s.StructType([s.StructField("image", s.BinaryType())])


class Conf(dict):
    set = dict.__setitem__


class Session:
    """As much of a session as has settings."""

    def __init__(self, size_bytes="67108864", row_count="65536"):
        self.conf = Conf({BYTES_KEY: size_bytes, ROWS_KEY: row_count})


def test_plain_rows_come_without_a_limit_of_bytes_and_settings_come_back():
    session = Session()
    before = dict(session.conf)
    with few_rows_any_bytes(session, PLAIN):
        assert session.conf == {BYTES_KEY: str(2**31 - 1), ROWS_KEY: str(BATCH_ROWS)}
    assert session.conf == before


def test_settings_come_back_after_the_last_of_several_jobs():
    session = Session()
    before = dict(session.conf)
    first, second = few_rows_any_bytes(session, PLAIN), few_rows_any_bytes(session, PLAIN)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert session.conf[BYTES_KEY] == str(2**31 - 1)
    second.__exit__(None, None, None)
    assert session.conf == before


@pytest.mark.parametrize(("session", "schema"), [(Session("1048576"), PLAIN), (Session(), LARGE)])
def test_a_limit_that_is_wanted_stays(session, schema):
    before = dict(session.conf)
    with few_rows_any_bytes(session, schema):
        assert session.conf == before


def test_a_smaller_number_of_rows_stays():
    session = Session(row_count="100")
    with few_rows_any_bytes(session, PLAIN):
        assert session.conf[ROWS_KEY] == "100"


def test_settings_that_a_job_put_back_stay_until_the_last_job_is_done():
    session = Session()
    before = dict(session.conf)
    with few_rows_any_bytes(session, PLAIN) as is_unlimited:
        limit_again(session)
        assert session.conf == before
        with few_rows_any_bytes(session, PLAIN) as is_unlimited_too:
            assert session.conf == before
    assert session.conf == before
    assert is_unlimited
    assert is_unlimited_too
