"""The storages that the behaviour suite runs against."""

import logging
import uuid
from collections.abc import Callable, Iterator

import pytest

from polynya.storage import MemoryStorage, Storage, open_storage

S3_OPTIONS = {
    "s3.access-key": "test",
    "s3.secret-key": "test",
    "s3.region": "us-east-1",
    "s3.path.style.access": "true",
}
BUCKET = "polynya-test"


@pytest.fixture(scope="session")
def s3_options() -> Iterator[dict[str, str]]:
    """The options that reach an S3 server on loopback, which has the bucket `polynya-test`."""
    boto3 = pytest.importorskip("boto3")
    server_module = pytest.importorskip("moto.server")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    client = boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )
    client.create_bucket(Bucket=BUCKET)
    yield {**S3_OPTIONS, "s3.endpoint": endpoint}
    server.stop()


@pytest.fixture
def s3_storage(s3_options) -> Storage:
    return open_storage(f"s3://{BUCKET}/{uuid.uuid4()}", **s3_options)


@pytest.fixture(params=["local", "memory", pytest.param("s3", marks=pytest.mark.s3)])
def storage(request, tmp_path) -> Storage:
    """An empty storage of each kind."""
    makers: dict[str, Callable[[], Storage]] = {
        "local": lambda: open_storage(tmp_path / "root"),
        "memory": MemoryStorage,
        "s3": lambda: request.getfixturevalue("s3_storage"),
    }
    return makers[request.param]()
