"""Key ranges: every row is in one of them, and none is much larger than asked for."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polynya.codec.binary_rows import encode_rows
from polynya.table.key_ranges import can_cut, cut_by_key

KEY = [pa.int64()]
SPANS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(1, 100)), min_size=1, max_size=20)


def files_of(spans):
    low, high = (np.array([pick(span[:2]) for span in spans], np.int64) for pick in (min, max))
    return pa.table(
        {
            "file_name": [str(number) for number in range(len(spans))],
            "file_size": pa.array([span[2] for span in spans], pa.int64()),
            "min_key": encode_rows([pa.array(low)]).cast(pa.binary()),
            "max_key": encode_rows([pa.array(high)]).cast(pa.binary()),
        }
    )


def number(key):
    return int.from_bytes(key[12:20], "little")


@given(SPANS, st.integers(1, 500))
def test_every_key_of_a_file_is_in_one_range_that_has_the_file(spans, part_bytes):
    parts = cut_by_key(files_of(spans), KEY, part_bytes)
    for index, span in enumerate(spans):
        for key in (min(span[:2]), max(span[:2])):
            holding = [
                str(index) in part.files["file_name"].to_pylist()
                for part in parts
                if (part.range.after is None or number(part.range.after) < key)
                and (part.range.through is None or key <= number(part.range.through))
            ]
            assert holding == [True]


@given(SPANS, st.integers(1, 500))
def test_ranges_join_one_another_and_share_the_bytes(spans, part_bytes):
    parts = cut_by_key(files_of(spans), KEY, part_bytes)
    assert [part.range.after for part in parts[1:]] == [part.range.through for part in parts[:-1]]
    assert parts[0].range.after is parts[-1].range.through is None
    total = sum(span[2] for span in spans)
    assert sum(part.size_bytes for part in parts) == pytest.approx(total, abs=len(parts))


def test_files_side_by_side_are_cut_into_equal_parts():
    parts = cut_by_key(files_of([(10 * one, 10 * one + 9, 100) for one in range(8)]), KEY, 200)
    assert [part.files.num_rows for part in parts] == [2, 2, 2, 2]
    assert [part.size_bytes for part in parts] == [200] * 4


def test_keys_with_two_zeros_are_not_cut():
    assert can_cut(KEY)
    assert not can_cut([pa.int64(), pa.float32()])
