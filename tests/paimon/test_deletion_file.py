"""Deletion-vector index files: what Paimon wrote, the worked examples, the round trip, damage."""

import zlib

import numpy as np
import pyarrow as pa
import pytest
from pyroaring import BitMap, BitMap64

from golden_metadata import index_entries
from polynya.codec.deletion_vector import decode_vector, encode_vector
from polynya.errors import CorruptFileError, InvalidInputError
from polynya.paimon.deletion_file import decode_file, encode_file, record_bytes
from polynya.paimon.index_manifest import RANGE

TABLES = [
    "dv_pk",
    "dv_pk_64",
    "dv_pk_64_live",
    "dv_pk_changelog",
    "dv_append",
    "dv_append_64",
    "dv_append_bucketed",
    "dv_append_compacted",
    "data_evolution_dv",
    "pk_clustering",
    "ice_pk_dv",
]

EXAMPLES = {
    "version 1": (
        {"a": BitMap([2, 3]), "b": BitMap([1])},
        "01 00000018 5e43f2d0 3a300000010000000000010010000000 02000300 c898f63d"
        "00000016 5e43f2d0 3a3000000100000000000000100000000100 fa2b5192",
        [(1, 24), (33, 22)],
    ),
    "version 2": (
        {"a": BitMap64([2, 3]), "b": BitMap64([1])},
        "01 00000024 d1d33964 0100000000000000 00000000 3a30000001000000000001001000000002000300 7a813847"
        "00000022 d1d33964 0100000000000000 00000000 3a3000000100000000000000100000000100 eebd85f4",
        [(1, 44), (45, 42)],
    ),
    "with an array of four": (
        {"a": BitMap([1, 3, 4, 5]), "b": BitMap([2])},
        "01 0000001c 5e43f2d0 3a30000001000000000003001000000001000300 04000500 239f1ace"
        "00000016 5e43f2d0 3a3000000100000000000000100000000200 d1060251",
        [(1, 28), (37, 22)],
    ),
}


def stored_ranges(entry) -> pa.StructArray:
    ranges = entry["_DELETIONS_VECTORS_RANGES"] or []
    names = {"file_name": "f0", "offset": "f1", "length": "f2", "cardinality": "_CARDINALITY"}
    return pa.array([{ours: range[theirs] for ours, theirs in names.items()} for range in ranges], RANGE)


@pytest.mark.parametrize("table", TABLES)
def test_golden_file_decodes_and_encodes_to_the_same_bytes(table):
    for entry, data in index_entries(table, "DELETION_VECTORS"):
        ranges = stored_ranges(entry)
        vectors = decode_file(data, ranges, name=entry["_FILE_NAME"])
        assert len(vectors) == entry["_ROW_COUNT"]
        by_offset = sorted(ranges.to_pylist(), key=lambda range: range["offset"])
        encoded, encoded_ranges = encode_file({range["file_name"]: vectors[range["file_name"]] for range in by_offset})
        assert encoded == data
        assert encoded_ranges.to_pylist() == by_offset


def test_golden_tables_hold_vectors_of_both_versions():
    found = {
        type(vector)
        for table in TABLES
        for entry, data in index_entries(table, "DELETION_VECTORS")
        for vector in decode_file(data, stored_ranges(entry), name="index").values()
    }
    assert found == {BitMap, BitMap64}


@pytest.mark.parametrize("example", EXAMPLES)
def test_worked_example_encodes_and_decodes(example):
    vectors, expected, places = EXAMPLES[example]
    data, ranges = encode_file(vectors)
    assert data == bytes.fromhex(expected)
    assert [(range["offset"], range["length"]) for range in ranges.to_pylist()] == places
    assert decode_file(data, ranges, name="index-1") == vectors


@pytest.mark.parametrize("example", EXAMPLES)
def test_one_vector_is_read_by_its_range(example):
    vectors, hex_bytes, places = EXAMPLES[example]
    data = bytes.fromhex(hex_bytes)
    for vector, (offset, length) in zip(vectors.values(), places, strict=True):
        part = data[offset : offset + record_bytes(length)]
        assert decode_vector(part, length, name="index-1") == vector


def test_no_vectors_make_a_file_of_one_byte():
    data, ranges = encode_file({})
    assert data == b"\1"
    assert decode_file(data, ranges, name="index-1") == {}


def test_vectors_of_two_versions_do_not_share_a_file():
    with pytest.raises(InvalidInputError, match="one version"):
        encode_file({"a": BitMap([1]), "b": BitMap64([1])})


def test_position_beyond_version_1_is_refused():
    with pytest.raises(InvalidInputError, match=r"below 2\^31"):
        encode_vector(BitMap([2**31]))


@pytest.mark.parametrize("example", EXAMPLES)
def test_truncated_or_flipped_file_is_corrupt(example):
    data, ranges = encode_file(EXAMPLES[example][0])
    for cut in range(len(data)):
        with pytest.raises(CorruptFileError, match="index-1"):
            decode_file(data[:cut], ranges, name="index-1")
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(CorruptFileError, match="index-1"):
            decode_file(bytes(flipped), ranges, name="index-1")


@pytest.mark.parametrize(
    "change", [{"offset": 0}, {"offset": 2**31 - 1}, {"length": -1}, {"length": 25}, {"cardinality": 9}]
)
def test_range_that_does_not_fit_the_file_is_corrupt(change):
    data, ranges = encode_file({"a": BitMap([2, 3])})
    wrong = pa.array([ranges[0].as_py() | change], RANGE)
    with pytest.raises(CorruptFileError, match="index-1"):
        decode_file(data, wrong, name="index-1")


def test_bitmap_with_a_right_checksum_and_wrong_content_is_corrupt():
    record, length = encode_vector(BitMap([2, 3]))
    random = np.random.default_rng(3)
    for _ in range(200):
        body = bytearray(record[4:-4])
        body[int(random.integers(4, len(body)))] = int(random.integers(256))
        sealed = len(body).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")
        try:
            assert len(decode_vector(sealed, length, name="index-1")) == 2
        except CorruptFileError:
            continue
