"""Images of decoded manifests on the local disk."""

import os

import pyarrow as pa
import pytest

from polynya.table import manifest_image

COLUMNS = ["kind", "file_name"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(manifest_image.FOLDER_VARIABLE, str(tmp_path))
    return tmp_path


def entries(count=manifest_image.ENTRIES_MIN):
    return pa.table({"kind": pa.array([0] * count, pa.int8()), "file_name": [f"data-{n}" for n in range(count)]})


def test_what_was_put_is_found(folder):
    manifest_image.put("/table", "manifest-1", 10, entries())
    assert manifest_image.find("/table", "manifest-1", 10, COLUMNS).equals(entries())


def test_another_table_size_or_column_is_not_found(folder):
    manifest_image.put("/table", "manifest-1", 10, entries())
    assert manifest_image.find("/other", "manifest-1", 10, COLUMNS) is None
    assert manifest_image.find("/table", "manifest-1", 11, COLUMNS) is None
    assert manifest_image.find("/table", "manifest-1", 10, ["kind"]) is None


def test_without_a_folder_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.delenv(manifest_image.FOLDER_VARIABLE, raising=False)
    manifest_image.put("/table", "manifest-1", 10, entries())
    assert manifest_image.find("/table", "manifest-1", 10, COLUMNS) is None


def test_a_small_manifest_has_no_image(folder):
    manifest_image.put("/table", "manifest-1", 10, entries(5))
    assert list(folder.rglob("*")) == []


def test_a_damaged_image_is_not_used(folder):
    manifest_image.put("/table", "manifest-1", 10, entries())
    image = next(folder.rglob("*.arrow"))
    for size in (0, 3, image.stat().st_size // 2, image.stat().st_size - 1):
        image.write_bytes(image.read_bytes()[:size])
        assert manifest_image.find("/table", "manifest-1", 10, COLUMNS) is None


def test_the_images_used_longest_ago_go_first(folder, monkeypatch):
    manifest_image.put("/table", "manifest-1", 10, entries())
    size = next(folder.rglob("*.arrow")).stat().st_size
    monkeypatch.setenv(manifest_image.BYTES_VARIABLE, str(2 * size))
    manifest_image.put("/table", "manifest-2", 10, entries())
    os.utime(next(folder.rglob("manifest-1*")), (10, 10))
    os.utime(next(folder.rglob("manifest-2*")), (20, 20))
    assert manifest_image.find("/table", "manifest-1", 10, COLUMNS) is not None
    manifest_image.put("/table", "manifest-3", 10, entries())
    assert manifest_image.find("/table", "manifest-2", 10, COLUMNS) is None
    assert manifest_image.find("/table", "manifest-1", 10, COLUMNS) is not None
