"""Damaged files of an Iceberg table are CorruptFileErrors that name the file; nothing else comes out."""

import contextlib
import json
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


@pytest.mark.parametrize("place", ["gs://bucket", "hdfs://host/a", "file://host/a", "memory://a", "a/b"])
def test_a_file_in_another_kind_of_store_is_not_read(tmp_path, place):
    with pytest.raises(UnsupportedError, match=f"'{place}/other/snap.*outside of the table's folder"):
        read(with_lists_in(tmp_path / "t", f"{place}/other"))


@pytest.mark.parametrize("place", ["file:/a/../b", "/a/./b", "/a//b", "file:///a/b/.."])
def test_a_path_that_is_none_of_a_file_is_damage(tmp_path, place):
    with pytest.raises(CorruptFileError, match="expected the path of a file"):
        read(with_lists_in(tmp_path / "t", place))


def with_lists_in(folder, place):
    """A table whose metadata names its manifest lists elsewhere."""
    shutil.copytree(iceberg_table("v2_plain"), folder)
    for file in (folder / "metadata").glob("*.metadata.json"):
        made = json.loads(file.read_text())
        for one in made.get("snapshots", ()):
            one["manifest-list"] = place + one["manifest-list"][one["manifest-list"].rindex("/") :]
        file.write_text(json.dumps(made))
    return folder
