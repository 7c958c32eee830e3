"""Reading by absolute names, beside a storage of the same kind."""

import pickle
import uuid

import pytest

from polynya.errors import InvalidInputError, NotFoundError, UnsupportedError
from polynya.storage import open_storage
from polynya.storage.reach import is_absolute, reaching


@pytest.fixture(params=["local", "memory", pytest.param("s3", marks=pytest.mark.s3)])
def pair(request, tmp_path):
    """A storage, and another beside it."""
    if request.param == "s3":
        options = request.getfixturevalue("s3_options")
        return tuple(open_storage(f"s3://polynya-test/{uuid.uuid4()}", **options) for _ in range(2))
    place = str(tmp_path) if request.param == "local" else f"memory://{uuid.uuid4()}"
    return open_storage(f"{place}/a"), open_storage(f"{place}/b")


def test_a_blob_elsewhere_is_read_by_its_absolute_name(pair):
    home, other = pair
    home.put("x/y", b"home")
    other.put("x/y", b"elsewhere")
    storage = reaching(home)
    name = f"{other.location}/x/y"
    assert is_absolute(name)
    assert not is_absolute("x/y")
    assert (storage.read("x/y"), storage.read(name)) == (b"home", b"elsewhere")
    assert (storage.size(name), storage.read_range(name, 4, 2)) == (9, b"wh")
    assert storage.local_path(name) == other.local_path("x/y")
    with pytest.raises(NotFoundError):
        storage.read(f"{other.location}/z")
    if not home.location.startswith("memory"):
        assert pickle.loads(pickle.dumps(storage)).read(name) == b"elsewhere"


def test_nothing_is_written_or_deleted_elsewhere(pair):
    home, other = pair
    other.put("x", b"1")
    storage, name = reaching(home), f"{other.location}/x"
    for act in (lambda: storage.put(name, b""), lambda: storage.put_new(name, b""), lambda: storage.delete([name])):
        with pytest.raises(InvalidInputError):
            act()
    assert other.read("x") == b"1"


def test_another_kind_of_store_is_out_of_reach(tmp_path):
    with pytest.raises(UnsupportedError, match="'s3'"):
        reaching(open_storage(tmp_path)).read("s3://bucket/a")
    for name in ("/etc/hosts", "gs://bucket/a"):
        with pytest.raises(UnsupportedError):
            reaching(open_storage("memory://m/a")).read(name)


@pytest.mark.parametrize("name", ["/", "/a/../b", "/a/./b", "memory://m/"])
def test_a_name_that_leaves_its_place_is_refused(tmp_path, name):
    with pytest.raises((InvalidInputError, UnsupportedError)):
        reaching(open_storage(tmp_path)).read(name)
