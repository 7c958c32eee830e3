import io
import zlib

import fastavro
import pyarrow as pa
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from codec.avro_samples import COLUMNS, SCHEMA_TEXT, assert_named, sample_table, tables
from polynya.codec.avro import AvroSource, Block, decode_columns, decode_container, encode_container, encode_file
from polynya.codec.avro_codecs import compress, decompress
from polynya.errors import CorruptFileError, InvalidInputError, NotFoundError, UnsupportedError

CODECS = ("null", "deflate", "snappy", "zstandard", "bzip2", "xz")
SAMPLE = encode_file(SCHEMA_TEXT, sample_table(40), COLUMNS, "null")


def source(data, name="some-file"):
    return AvroSource(name, data=data)


def decode(data):
    return decode_columns([source(data)], COLUMNS).table


@settings(max_examples=40)
@given(st.lists(tables, min_size=1, max_size=3), st.sampled_from(CODECS))
def test_copied_blocks_read_as_the_records_of_all_files(parts, codec):
    files = [decode_container(source(encode_file(SCHEMA_TEXT, part, COLUMNS, codec))) for part in parts]
    copied = encode_container(SCHEMA_TEXT, codec, [block for file in files for block in file.blocks])
    assert decode(copied).equals(pa.concat_tables(parts))


def test_a_written_header_has_the_schema_text_and_the_codec_and_nothing_else():
    reader = fastavro.reader(io.BytesIO(encode_file(SCHEMA_TEXT, sample_table(1), COLUMNS, "deflate")))
    assert dict(reader.metadata) == {"avro.schema": SCHEMA_TEXT, "avro.codec": "deflate"}


def test_a_header_without_a_codec_means_no_compression():
    data = encode_container(SCHEMA_TEXT, "null", [])
    without = data.replace(b"\x04\x16avro.schema", b"\x02\x16avro.schema").replace(b"\x14avro.codec\x08null", b"")
    assert decode_container(source(without)).codec == "null"


def test_blocks_end_at_the_usual_size():
    blocks = decode_container(source(encode_file(SCHEMA_TEXT, sample_table(20_000), COLUMNS, "null"))).blocks
    assert all(64_000 <= len(block.data) < 64_100 for block in blocks[:-1])
    assert sum(block.count for block in blocks) == 20_000


@pytest.mark.parametrize("codec", CODECS)
@given(data=st.binary(max_size=2000))
def test_every_codec_gives_back_what_it_took(codec, data):
    assert bytes(decompress(codec, memoryview(compress(codec, data)), 1 << 20, "f")) == data


@pytest.mark.parametrize("codec", CODECS)
def test_no_codec_gives_more_than_the_limit(codec):
    with pytest.raises(CorruptFileError, match="'bomb'"):
        decompress(codec, memoryview(compress(codec, bytes(1 << 22))), 1 << 20, "bomb")


def test_a_zstandard_frame_without_a_size_is_limited_too():
    packed = zstandard.ZstdCompressor(write_content_size=False).compress(bytes(1 << 22))
    with pytest.raises(CorruptFileError, match="'bomb'"):
        decompress("zstandard", memoryview(packed), 1 << 21, "bomb")
    assert len(decompress("zstandard", memoryview(packed), 1 << 23, "no bomb")) == 1 << 22


@pytest.mark.parametrize("codec", CODECS[1:])
@given(position=st.integers(0, 2**20), bit=st.integers(0, 7))
def test_a_flipped_bit_in_a_compressed_block_raises_nothing_but_corrupt_file(codec, position, bit):
    packed = bytearray(compress(codec, bytes(range(256)) * 4))
    packed[position % len(packed)] ^= 1 << bit
    assert_named("f", lambda: decompress(codec, memoryview(packed), 1 << 20, "f"))


def test_a_wrong_snappy_checksum_is_damage():
    packed = compress("snappy", b"abcabc")
    with pytest.raises(CorruptFileError, match="CRC32"):
        decompress("snappy", memoryview(packed[:-1] + bytes([packed[-1] ^ 1])), 1 << 20, "f")
    assert packed[-4:] == zlib.crc32(b"abcabc").to_bytes(4, "big")


def test_a_rest_of_the_zlib_checksum_behind_a_deflate_block_is_no_damage_but_other_bytes_are():
    data = b"some records " * 9
    left_by_pyiceberg = zlib.compress(data)[2:-1]
    assert decompress("deflate", memoryview(left_by_pyiceberg), 1 << 20, "f") == data
    for tail in (b"\0", left_by_pyiceberg[-1:], zlib.compress(data)[-4:] + b"\0"):
        with pytest.raises(CorruptFileError, match="after the end of the stream"):
            decompress("deflate", memoryview(compress("deflate", data) + tail), 1 << 20, "f")


def test_an_unknown_codec_is_unsupported():
    data = SAMPLE.replace(b"\x08null", b"\x08lzma")
    with pytest.raises(UnsupportedError, match=r"'some-file'.*'lzma'"):
        decode(data)


def test_a_file_cut_anywhere_is_corrupt():
    for length in range(len(SAMPLE) - 1):
        with pytest.raises(CorruptFileError, match="'f'"):
            decode_container(AvroSource("f", data=SAMPLE[:length], size_bytes=len(SAMPLE)))


def test_a_file_cut_within_a_block_is_corrupt_even_where_its_size_is_not_known():
    for length in range(len(encode_container(SCHEMA_TEXT, "null", [])) + 1, len(SAMPLE) - 1):
        with pytest.raises(CorruptFileError, match="'some-file'"):
            decode_container(source(SAMPLE[:length]))


@pytest.mark.parametrize("head", [b"", b"PAR1", b"Obj\x02", b"{}"])
def test_another_magic_is_corrupt(head):
    with pytest.raises(CorruptFileError, match="expected an Avro container file"):
        decode_container(source(head + SAMPLE[4:] if head else b""))


@pytest.mark.parametrize(
    "block",
    [Block(2**40, b"\x00" * 8), Block(-1, b"\x00" * 8), Block(9, b"\x00" * 8), Block(0, b"\x00"), Block(1, b"")],
)
def test_a_count_that_does_not_fit_the_block_is_corrupt(block):
    with pytest.raises(CorruptFileError, match="'some-file'"):
        decode(encode_container(SCHEMA_TEXT, "null", [block]))


@given(st.integers(0, len(SAMPLE) - 1), st.integers(0, 7))
def test_a_flipped_bit_anywhere_raises_nothing_but_named_errors(position, bit):
    damaged = bytearray(SAMPLE)
    damaged[position] ^= 1 << bit
    assert_named("some-file", lambda: decode(bytes(damaged)))


def test_a_source_needs_bytes_or_a_file_that_is_there(tmp_path):
    with pytest.raises(InvalidInputError, match="'x'"):
        decode_container(AvroSource("x"))
    with pytest.raises(NotFoundError, match="'x'"):
        decode_container(AvroSource("x", path=str(tmp_path / "x")))
    (tmp_path / "x").write_bytes(SAMPLE)
    assert decode_container(AvroSource("x", path=str(tmp_path / "x"))).record_count == 40
