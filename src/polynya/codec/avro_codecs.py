"""The block codecs of Avro container files: whole blocks in, whole blocks out, never more than a stated size.

| codec | bytes of a block |
|---|---|
| null | the records as they are |
| deflate | raw deflate, no zlib header; PyIceberg leaves three bytes of zlib's checksum behind it |
| snappy | snappy without framing, then the CRC32 of the records, big-endian |
| zstandard, bzip2, xz | one frame of the named format |
"""

import bz2
import lzma
import zlib
from collections.abc import Callable
from contextlib import suppress

import cramjam
import zstandard

from polynya.errors import CorruptFileError, UnsupportedError

_USUAL_BLOCK_BYTES = (100_000, 4 << 20)
_XZ_MEMORY_BYTES = 128 << 20


def compress(codec: str, data: bytes, level: int | None = None) -> bytes:
    """Compress the records of one block; `level` is that of zstandard, the other codecs use their default."""
    match codec:
        case "null":
            return data
        case "deflate":
            deflater = zlib.compressobj(wbits=-15)
            return deflater.compress(data) + deflater.flush()
        case "snappy":
            return bytes(cramjam.snappy.compress_raw(data)) + zlib.crc32(data).to_bytes(4, "big")
        case "zstandard":
            return bytes(zstandard.ZstdCompressor(1 if level is None else level).compress(data))
        case "bzip2":
            return bz2.compress(data)
        case "xz":
            return lzma.compress(data)
        case _:
            raise UnsupportedError(f"Avro codec '{codec}' is not supported; use one of {', '.join(_DECOMPRESS)}")


def decompress(codec: str, data: memoryview, limit_bytes: int, name: str) -> bytes | memoryview:
    """The records of one block; CorruptFileError when they are damaged or exceed `limit_bytes`."""
    decompressor = _DECOMPRESS.get(codec)
    if decompressor is None:
        raise UnsupportedError(f"'{name}': Avro codec '{codec}' is not supported; rewrite the file with zstandard")
    try:
        return decompressor(data, limit_bytes)
    except (ValueError, EOFError, OSError, *_CODEC_ERRORS) as error:
        raise CorruptFileError(f"'{name}': expected a {codec} block, found damaged bytes: {error}") from error


_CODEC_ERRORS = (zlib.error, lzma.LZMAError, zstandard.ZstdError, cramjam.DecompressionError)


def _plain(data: memoryview, limit_bytes: int) -> memoryview:
    if len(data) > limit_bytes:
        raise ValueError(f"more than {limit_bytes} bytes")
    return data


def _inflate(data: memoryview, limit_bytes: int) -> bytes:
    inflater = zlib.decompressobj(-15)
    records = _to_end(inflater, data, limit_bytes)
    rest = inflater.unused_data
    if rest and not zlib.adler32(records).to_bytes(4, "big").startswith(rest):
        raise ValueError(f"{len(rest)} bytes after the end of the stream")
    return records


def _bunzip(data: memoryview, limit_bytes: int) -> bytes:
    return _stream(bz2.BZ2Decompressor(), data, limit_bytes)


def _unxz(data: memoryview, limit_bytes: int) -> bytes:
    return _stream(lzma.LZMADecompressor(memlimit=_XZ_MEMORY_BYTES), data, limit_bytes)


def _stream(decompressor: "bz2.BZ2Decompressor | lzma.LZMADecompressor", data: memoryview, limit_bytes: int) -> bytes:
    records = _to_end(decompressor, data, limit_bytes)
    if decompressor.unused_data:
        raise ValueError(f"{len(decompressor.unused_data)} bytes after the end of the stream")
    return records


def _to_end(
    decompressor: "zlib._Decompress | bz2.BZ2Decompressor | lzma.LZMADecompressor", data: memoryview, limit_bytes: int
) -> bytes:
    records = decompressor.decompress(data, limit_bytes)
    if not decompressor.eof:
        raise ValueError(f"no end of stream within {limit_bytes} bytes")
    return records


def _unsnap(data: memoryview, limit_bytes: int) -> bytes:
    claimed = cramjam.snappy.decompress_raw_len(data[:-4])
    if claimed > limit_bytes:
        raise ValueError(f"{claimed} bytes claimed, at most {limit_bytes} allowed")
    records = bytes(cramjam.snappy.decompress_raw(data[:-4]))
    if zlib.crc32(records) != int.from_bytes(data[-4:], "big"):
        raise ValueError("the CRC32 of the records differs")
    return records


def _unzstd(data: memoryview, limit_bytes: int) -> bytes:
    claimed = zstandard.frame_content_size(data)
    if claimed > limit_bytes:
        raise ValueError(f"{claimed} bytes claimed, at most {limit_bytes} allowed")
    decompressor = zstandard.ZstdDecompressor()
    # A frame without a size is given a buffer of the stated size at once, so usual sizes are tried first.
    for size in _USUAL_BLOCK_BYTES if claimed < 0 else ():
        if size < limit_bytes:
            with suppress(zstandard.ZstdError):  # too small or damaged: the next call tells
                return bytes(decompressor.decompress(data, max_output_size=size, allow_extra_data=False))
    return bytes(decompressor.decompress(data, max_output_size=limit_bytes, allow_extra_data=False))


_DECOMPRESS: dict[str, Callable[[memoryview, int], bytes | memoryview]] = {
    "null": _plain,
    "deflate": _inflate,
    "snappy": _unsnap,
    "zstandard": _unzstd,
    "bzip2": _bunzip,
    "xz": _unxz,
}
