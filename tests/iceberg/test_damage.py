"""Bytes that are cut or changed give CorruptFileError, or a value; never anything else."""

import random

import pytest

from golden_iceberg import iceberg_table, local
from iceberg_files import golden_metadata, partition_columns
from polynya.codec.avro import AvroSource
from polynya.errors import CorruptFileError, UnsupportedError
from polynya.iceberg import manifest, manifest_list, metadata, puffin


def _metadata(data):
    metadata.decode(data, name="damaged")


def _list(data):
    manifest_list.decode([AvroSource("damaged", data)])


def _manifest(data):
    manifest.decode([AvroSource("damaged", data)], partition_columns(golden_metadata("part_identity"), 0))


def _puffin(data):
    puffin.decode(data, name="damaged")


def _files():
    table = golden_metadata("part_identity")
    metas = manifest_list.decode([AvroSource("l", local(table.current_snapshot.manifest_list).read_bytes())])
    yield _metadata, (iceberg_table("refs") / "metadata" / "v2.metadata.json").read_bytes()
    yield _list, local(table.current_snapshot.manifest_list).read_bytes()
    yield _manifest, local(metas["manifest_path"][0].as_py()).read_bytes()
    yield _puffin, next((iceberg_table("dv_v3") / "data").rglob("*.puffin")).read_bytes()


@pytest.mark.parametrize(("decode", "data"), list(_files()), ids=["metadata", "list", "manifest", "puffin"])
def test_a_cut_file_is_corrupt(decode, data):
    decode(data)
    rng = random.Random(7)
    for end in [0, 1, 4, len(data) - 1, *(rng.randrange(len(data)) for _ in range(60))]:
        with pytest.raises(CorruptFileError, match="damaged"):
            decode(data[:end])


@pytest.mark.parametrize(("decode", "data"), list(_files()), ids=["metadata", "list", "manifest", "puffin"])
def test_changed_bytes_give_a_value_or_one_of_our_errors(decode, data):
    rng = random.Random(11)
    for _ in range(250):
        damaged = bytearray(data)
        for _ in range(rng.randrange(1, 4)):
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        try:
            decode(bytes(damaged))
        except (CorruptFileError, UnsupportedError) as error:
            assert "damaged" in str(error)  # noqa: PT017  # most changes are harmless


def test_the_smallest_puffin_file_is_read():
    data, blobs = puffin.encode([])
    assert blobs == puffin.decode(data, name="p") == ()
    assert data.startswith(b"PFA1PFA1{")
