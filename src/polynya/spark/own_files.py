"""Files that a job writes are known by their names: a part of the id of the job stands in each of them."""

import contextlib
import uuid

from polynya.errors import StorageError
from polynya.storage.protocol import Storage

_OWN = 18  # characters of a file's uuid that are those of the job


def named_uuid(job_id: str) -> str:
    """A new name for files of the job."""
    return job_id[:_OWN] + str(uuid.uuid4())[_OWN:]


def delete_own(storage: Storage, job_id: str) -> None:
    """Delete what a job of which nothing was committed left on a local disk; elsewhere listing costs too much."""
    if storage.local_path("") is None:
        return
    own = job_id[:_OWN]
    with contextlib.suppress(StorageError):
        pages = storage.list("", recursive=True)
        storage.delete([blob.name for page in pages for blob in page.blobs if own in blob.name.rpartition("/")[2]])
