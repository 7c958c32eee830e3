"""Roaring bitmaps: round trip, positions and masks, and bytes that must not reach the C library."""

import struct

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap, BitMap64

from polynya.codec.bitmap import (
    decode32,
    decode64,
    encode32,
    encode64,
    from_positions,
    keep_mask,
    positions,
    size32,
)
from polynya.errors import CorruptFileError

KINDS = {
    "empty": BitMap(),
    "array": BitMap([1, 3, 5]),
    "array full": BitMap(range(0, 8192, 2)),
    "bits": BitMap(range(0, 20000, 2)),
    "one run": BitMap(range(10, 50000)),
    "whole container": BitMap(range(65536)),
    "mixed, no offsets": BitMap(range(1000)) | BitMap([70000, 70002]),
    "mixed, offsets": BitMap(range(1000))
    | BitMap([70000, 140000])
    | BitMap(range(200000, 260000, 2))
    | BitMap([400000]),
    "many containers": BitMap(range(0, 2**31, 2**20)),
    "largest": BitMap([0, 2**32 - 1]),
}


@st.composite
def bitmaps(draw: st.DrawFn) -> BitMap:
    bitmap = BitMap(draw(st.lists(st.integers(0, 2**32 - 1), max_size=20)))
    for start, length, step in draw(
        st.lists(st.tuples(st.integers(0, 2**31), st.integers(0, 70000), st.integers(1, 5)), max_size=3)
    ):
        bitmap |= BitMap(range(start, start + length, step))
    return bitmap


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_container_round_trips(kind):
    assert decode32(encode32(KINDS[kind]), name="x") == KINDS[kind]
    assert decode32(bytes(KINDS[kind].serialize()), name="x") == KINDS[kind]


@given(bitmaps())
def test_bitmap_round_trips(bitmap):
    assert decode32(encode32(bitmap), name="x") == bitmap
    wide = BitMap64(bitmap)
    assert decode64(encode64(wide), name="x") == wide


def test_encoding_leaves_the_bitmap_as_it_is():
    bitmap = BitMap([1, 2, 3, 4, 5, 6, 7, 8])
    before = bytes(bitmap.serialize())
    encode32(bitmap)
    assert bytes(bitmap.serialize()) == before


def test_size_is_that_of_the_first_bitmap():
    data = encode32(KINDS["mixed, offsets"])
    assert size32(data + b"more", name="x") == len(data)


def test_wide_bitmap_has_a_slot_for_every_high_half():
    data = encode64(BitMap64([5, 2**33 + 1]))
    assert struct.unpack_from("<q", data) == (3,)
    assert decode64(data, name="x") == BitMap64([5, 2**33 + 1])


def test_wide_bitmap_with_missing_slots_is_read():
    data = struct.pack("<qI", 1, 2) + encode32(BitMap([1]))
    assert decode64(data, name="x") == BitMap64([2**33 + 1])


def test_empty_wide_bitmap_has_no_slot():
    assert encode64(BitMap64()) == bytes(8)
    assert decode64(bytes(8), name="x") == BitMap64()


@given(bitmaps())
def test_positions_ascend_and_make_the_bitmap_again(bitmap):
    for wide in (False, True):
        values = positions(BitMap64(bitmap) if wide else bitmap)
        assert values.tolist() == sorted(bitmap)
        assert from_positions(values[::-1], wide=wide) == (BitMap64(bitmap) if wide else bitmap)


@given(bitmaps(), st.integers(0, 2**32 + 10), st.integers(0, 300))
def test_mask_keeps_the_rows_that_are_not_deleted(bitmap, start, row_count):
    expected = pa.array(
        [row not in bitmap if row < 2**32 else True for row in range(start, start + row_count)], pa.bool_()
    )
    assert keep_mask(bitmap, start, row_count).equals(expected)
    assert keep_mask(BitMap64(bitmap), start, row_count).equals(expected)


@pytest.mark.parametrize("kind", KINDS)
def test_truncated_bitmap_is_corrupt(kind):
    data = encode32(KINDS[kind])
    for cut in sorted({*range(min(len(data), 80)), *np.linspace(0, len(data) - 1, 50).astype(int).tolist()}):
        with pytest.raises(CorruptFileError, match="index-1"):
            decode32(data[:cut], name="index-1")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "many containers"])
def test_damaged_bitmap_is_corrupt_or_sound(kind):
    random = np.random.default_rng(7)
    data = encode32(KINDS[kind])
    for _ in range(150):
        damaged = bytearray(data)
        for at in random.integers(0, min(len(data), 200), size=random.integers(1, 4)).tolist():
            damaged[at] = int(random.integers(0, 256))
        assert_corrupt_or_sound(bytes(damaged))


@given(st.binary(max_size=60), st.sampled_from([b"", b"\x3a\x30\0\0", b"\x3b\x30\0\0", b"\x3b\x30\3\0"]))
def test_garbage_is_corrupt_or_sound(tail, cookie):
    assert_corrupt_or_sound(cookie + tail)


@given(st.binary(max_size=60), st.integers(-1, 3))
def test_wide_garbage_is_corrupt_or_sound(tail, count):
    try:
        bitmap = decode64(struct.pack("<q", count) + tail, name="index-1")
    except CorruptFileError:
        return
    assert len(positions(bitmap)) == len(bitmap)


@pytest.mark.parametrize("data", [b"", b"\1", bytes(7), struct.pack("<q", 2**62), struct.pack("<q", -1)])
def test_wide_bitmap_with_an_absurd_count_is_corrupt(data):
    with pytest.raises(CorruptFileError, match="index-1"):
        decode64(data, name="index-1")


def assert_corrupt_or_sound(data: bytes) -> None:
    """What the check lets through, the library reads as a proper set."""
    try:
        bitmap = decode32(data, name="index-1")
    except CorruptFileError:
        return
    values = positions(bitmap)
    assert (np.diff(values.astype(np.int64)) > 0).all()
    assert len(values) == len(bitmap)
    assert decode32(encode32(bitmap), name="x") == bitmap


def test_runs_that_touch_are_corrupt():
    two_runs = bytes.fromhex("3b300000 01 00000900 0200 00000400 05000400")  # 0-4 and 5-9: one run in two
    with pytest.raises(CorruptFileError, match="touching"):
        decode32(two_runs, name="f")
