import os
import pickle
import signal
from contextlib import suppress

import boto3
import pytest

from polynya.errors import InvalidInputError, NotFoundError, StorageError, UnsupportedError
from polynya.storage import open_storage

AZURE = "abfss://container@account.dfs.core.windows.net"


@pytest.fixture
def s3_client(s3_options):
    return boto3.client(
        "s3",
        endpoint_url=s3_options["s3.endpoint"],
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )


@pytest.mark.s3
@pytest.mark.parametrize("path", ["a b/c", "100%/a%20b", "day=a%3Ab", "a+b", "größe", "a?b#c"])
def test_the_path_of_a_url_is_the_key_as_it_is(s3_options, s3_client, path):
    storage = open_storage(f"s3a://polynya-test//{path}/", **s3_options)
    assert storage.location == f"s3a://polynya-test/{path}"
    storage.put("blob", b"x")
    assert s3_client.get_object(Bucket="polynya-test", Key=f"{path}/blob")["Body"].read() == b"x"
    storage.delete_folder("")


@pytest.mark.s3
def test_an_object_storage_pickles_with_its_options(s3_storage):
    s3_storage.put("f/blob", b"x")
    copy = pickle.loads(pickle.dumps(s3_storage.child("f")))
    assert copy.read("blob") == b"x"
    assert copy.location == s3_storage.location + "/f"


@pytest.mark.s3
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # to fork with threads is what is asked about here
def test_a_process_that_is_forked_from_a_user_of_object_stores_refuses_them(s3_storage):
    s3_storage.put("blob", b"x")
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # ends the child that waits all the same
        with suppress(UnsupportedError):
            s3_storage.read("blob")
            os._exit(1)
        os._exit(7)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7


@pytest.mark.s3
@pytest.mark.parametrize("size", [1, 20 << 20])
def test_a_failed_stream_leaves_no_upload_behind(s3_storage, s3_client, size):
    def write_and_fail():
        with s3_storage.writer("blob") as stream:
            stream.write(bytes(size))
            raise KeyError

    with pytest.raises(KeyError):
        write_and_fail()
    assert "Uploads" not in s3_client.list_multipart_uploads(Bucket="polynya-test")


@pytest.mark.s3
def test_the_marker_of_a_folder_is_no_blob_of_it(s3_storage, s3_client):
    root = s3_storage.location.removeprefix("s3://polynya-test/")
    for key in (f"{root}/", f"{root}/db.db/"):
        s3_client.put_object(Bucket="polynya-test", Key=key, Body=b"")
    [page] = s3_storage.list("")
    assert (page.blobs, page.folders) == ((), ("db.db",))
    assert [blob for page in s3_storage.list("db.db") for blob in page.blobs] == []
    assert [blob for page in s3_storage.list("db.db", recursive=True) for blob in page.blobs] == []


@pytest.mark.s3
def test_an_absent_bucket_is_an_error_for_every_verb_that_writes_or_lists(s3_options):
    storage = open_storage("s3://no-such-bucket", **s3_options)
    for act in (
        lambda: storage.put("a", b""),
        lambda: storage.put_new("a", b""),
        lambda: [*storage.list("")],
        lambda: [*storage.list("", recursive=True)],
    ):
        with pytest.raises(StorageError, match="no-such-bucket"):
            act()
    with pytest.raises(NotFoundError, match="no-such-bucket/a"):
        storage.read("a")


@pytest.mark.s3
def test_control_characters_are_refused_before_anything_is_sent(s3_storage):
    with pytest.raises(InvalidInputError, match="not a name"):
        s3_storage.put("a\nb", b"")
    with pytest.raises(InvalidInputError, match="not a name"):
        [*s3_storage.list("a\nb")]


@pytest.mark.s3
def test_the_names_of_obstore_work_as_well(s3_options):
    storage = open_storage(
        "s3://polynya-test/plain",
        aws_endpoint=s3_options["s3.endpoint"],
        aws_access_key_id="test",
        aws_secret_access_key="test",
        aws_region="us-east-1",
        allow_http=True,
    )
    storage.put("a", b"x")
    assert storage.read("a") == b"x"


@pytest.mark.parametrize("url", ["s3://bucket", "s3a://bucket", "gs://bucket", AZURE])
@pytest.mark.parametrize("option", ["no_such_option", "s3.no-such-option", "fs.s3a.no.such.option"])
def test_an_unknown_option_is_refused_by_name(url, option):
    with pytest.raises(InvalidInputError, match=option):
        open_storage(url, **{option: "x"})


def test_an_option_of_another_store_is_refused():
    with pytest.raises(InvalidInputError, match=r"s3\.endpoint"):
        open_storage("gs://bucket", **{"s3.endpoint": "http://x"})


def test_a_wrong_value_of_an_option_is_refused():
    with pytest.raises(InvalidInputError, match="maybe"):
        open_storage("s3://bucket", aws_skip_signature="maybe", aws_allow_http="maybe")


def test_a_dotdot_in_a_url_is_refused():
    with pytest.raises(InvalidInputError):
        open_storage("s3://bucket/a/../b", aws_skip_signature="true")


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("gs://bucket_name/wh", {"skip_signature": "true"}),
        (AZURE + "/wh", {"account_key": "aGk="}),
        (AZURE.replace("abfss", "abfs") + "/wh", {"account_key": "aGk="}),
    ],
)
def test_other_stores_open_and_pickle(url, options):
    storage = open_storage(url, **options)
    assert storage.location == url
    assert pickle.loads(pickle.dumps(storage)).location == url
    assert storage.child("db.db").location == url + "/db.db"
    assert storage.local_path("a") is None


def test_stores_are_equal_when_url_and_options_are():
    options = {"s3.endpoint": "http://localhost:1", "s3.region": "x"}
    one, other = (open_storage("s3://bucket/wh", **options) for _ in range(2))
    elsewhere = open_storage("s3://bucket/wh", **{**options, "s3.endpoint": "http://localhost:2"})
    assert (one, hash(one)) == (other, hash(other))
    assert one.child("t") == other.child("t") != one
    assert one != elsewhere
    assert one != "s3://bucket/wh"
