"""Damaged files of an Iceberg table are CorruptFileErrors that name the file; nothing else comes out."""

import contextlib
import random
import shutil

import pytest

import polynya
from golden_iceberg import iceberg_table
from polynya.errors import CorruptFileError, NotFoundError, UnsupportedError

KINDS = {
    "metadata": ("dv_v3", "metadata/v8.metadata.json"),
    "gzip metadata": ("gzip_metadata", "metadata/v*.gz.metadata.json"),
    "list": ("dv_v3", "metadata/snap-*.avro"),
    "manifest": ("dv_v3", "metadata/*-m*.avro"),
    "vector": ("dv_v3", "data/**/*.puffin"),
    "position deletes": ("mor_file", "data/**/*deletes*.parquet"),
    "equality deletes": ("eq_upserts", "data/**/*deletes*.parquet"),
}


def damaged(tmp_path, kind, change):
    """A copy of the table whose files of the kind are all changed, and their names."""
    name, pattern = KINDS[kind]
    folder = tmp_path / "t"
    shutil.copytree(iceberg_table(name), folder)
    files = sorted(folder.glob(pattern))
    assert files
    for file in files:
        file.write_bytes(change(file.read_bytes()))
    return folder, [file.name for file in files]


def read(folder):
    table = polynya.open_table(folder)
    table.scan().to_arrow()
    table.scan(where="1 = 1").plan()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.9, 0.99])
def test_a_file_that_is_cut_short_is_named(tmp_path, kind, share):
    folder, names = damaged(tmp_path, kind, lambda data: data[: int(len(data) * share)])
    with pytest.raises(CorruptFileError) as caught:
        read(folder)
    assert any(name in str(caught.value) for name in names)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(12))
def test_a_flipped_bit_is_found_or_does_not_matter(tmp_path, kind, seed):
    draw = random.Random(f"{kind} {seed}")

    def flip(data):
        place = draw.randrange(len(data))
        return data[:place] + bytes([data[place] ^ 1 << draw.randrange(8)]) + data[place + 1 :]

    folder, _ = damaged(tmp_path, kind, flip)
    with contextlib.suppress(CorruptFileError, NotFoundError, UnsupportedError):
        read(folder)


@pytest.mark.parametrize("kind", ["list", "manifest", "vector", "position deletes"])
def test_a_file_that_is_gone_is_named(tmp_path, kind):
    name, pattern = KINDS[kind]
    folder = tmp_path / "t"
    shutil.copytree(iceberg_table(name), folder)
    for file in folder.glob(pattern):
        file.unlink()
    with pytest.raises(NotFoundError):
        read(folder)


def test_a_file_outside_of_the_table_is_not_read(tmp_path):
    folder = tmp_path / "t"
    shutil.copytree(iceberg_table("v2_plain"), folder)
    for file in (folder / "metadata").glob("*.metadata.json"):
        file.write_text(file.read_text().replace("golden/v2_plain/metadata/snap", "golden/other/metadata/snap"))
    with pytest.raises(polynya.UnsupportedError, match="outside of the table's location"):
        read(folder)
