import os
import subprocess
import sys
from pathlib import Path

import pytest

from polynya.errors import InvalidInputError, UnsupportedError
from polynya.storage import LocalStorage, open_storage

ODD_FOLDERS = ["with space", "100%", "a%20b", "day=a%3Ab", "a+b", "größe 日本", "a?b#c", "s3:", "a&b=c;d"]


@pytest.mark.parametrize("folder", ODD_FOLDERS)
@pytest.mark.parametrize("prefix", ["", "file:", "file://", "file://localhost", "FILE:"])
def test_a_location_on_disk_is_taken_as_it_is(tmp_path, folder, prefix):
    storage = open_storage(f"{prefix}{tmp_path}/{folder}/")
    assert storage.location == f"{tmp_path}/{folder}"
    storage.put("a", b"x")
    assert (tmp_path / folder / "a").read_bytes() == b"x"
    assert open_storage(storage.location) == storage


@pytest.mark.parametrize("folder", ODD_FOLDERS)
def test_a_percent_encoded_file_url_finds_the_folder_that_exists(tmp_path, folder):
    (tmp_path / folder).mkdir()
    assert open_storage((tmp_path / folder).as_uri()).location == f"{tmp_path}/{folder}"


def test_a_file_url_prefers_the_folder_that_is_written_as_it_is(tmp_path):
    (tmp_path / "a b").mkdir()
    (tmp_path / "a%20b").mkdir()
    assert open_storage(f"file:{tmp_path}/a%20b").location == f"{tmp_path}/a%20b"
    (tmp_path / "a%20b").rmdir()
    assert open_storage(f"file:{tmp_path}/a%20b").location == f"{tmp_path}/a b"
    assert open_storage(f"{tmp_path}/a%20b").location == f"{tmp_path}/a%20b"


def test_text_that_was_never_encoded_is_never_decoded(tmp_path):
    (tmp_path / "a b" / "d=x:y").mkdir(parents=True)
    assert open_storage(f"file:{tmp_path}/a b/d=x%3Ay").location == f"{tmp_path}/a b/d=x%3Ay"


def test_relative_paths_and_path_objects(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert open_storage("wh/../wh/db").location == f"{tmp_path}/wh/db"
    assert open_storage(Path("wh")).location == f"{tmp_path}/wh"
    assert open_storage(Path("s3://x")).location == f"{tmp_path}/s3:/x"
    assert open_storage("c:/x").location == f"{tmp_path}/c:/x"
    assert open_storage("/").location == "/"
    assert open_storage("//a//b").location == open_storage("file:////a/b").location == "/a/b"


@pytest.mark.parametrize(
    "url", ["file:", "file:relative", "file://", "file://host/a", "", "a\0b", "/a\ud800", "s3://", "gs:///a"]
)
def test_a_location_that_says_nothing_is_refused(url):
    with pytest.raises(InvalidInputError):
        open_storage(url)


@pytest.mark.parametrize("url", ["hdfs://host/a", "oss://bucket/a", "http://host/a"])
def test_an_unknown_scheme_is_named(url):
    with pytest.raises(UnsupportedError, match=f"'{url.partition(':')[0]}'"):
        open_storage(url)


@pytest.mark.parametrize("url", ["/a", "file:/a", "memory://a"])
def test_options_that_nobody_reads_are_refused(url):
    with pytest.raises(InvalidInputError, match=r"s3\.endpoint"):
        open_storage(url, **{"s3.endpoint": "x"})


def test_opening_touches_nothing(tmp_path):
    open_storage(tmp_path / "wh")
    assert os.listdir(tmp_path) == []


def test_local_use_does_not_import_obstore(tmp_path):
    code = (
        "import sys; from polynya.storage import open_storage; open_storage('memory://x'); "
        f"open_storage({str(tmp_path)!r}).put('a', b''); sys.exit('obstore' in sys.modules or 'pyarrow' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_local_storages_of_one_place_are_equal(tmp_path):
    assert open_storage(tmp_path) == LocalStorage(str(tmp_path)) == open_storage(f"file://{tmp_path}")


def test_an_encoded_step_upwards_in_a_file_url_is_a_name(tmp_path):
    (tmp_path / "inside").mkdir()
    (tmp_path / "secret").touch()
    for step in ("%2e%2e", "%2E.", "..%2Fx%2F.."):
        path = f"{tmp_path}/inside/{step}/secret"
        assert open_storage(f"file:{path}").location.startswith(f"{tmp_path}/inside/")
