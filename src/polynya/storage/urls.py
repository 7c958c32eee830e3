"""From a location, as people and metadata write it, to a storage.

| written                          | opened                                                            |
|----------------------------------|-------------------------------------------------------------------|
| a/b, /a/b, any os.PathLike       | local disk, every character as it stands                          |
| file:/a/b, file:///a/b           | local disk, see below                                             |
| s3://bucket/a, s3a://bucket/a    | S3 and what speaks like it                                        |
| gs://bucket/a                    | Google Cloud Storage                                              |
| abfs(s)://container@account…/a   | Azure                                                             |
| memory://name/a                  | this process's memory                                             |

Nothing is percent-decoded: Paimon and Hadoop write locations as they are, and partition folders have names such as
`day=a%3Ab`. The one exception is a file URL whose path does not exist as it stands while its decoded form does; that
is how URIs made by other programs arrive.
"""

import os
import re
from urllib.parse import unquote

from polynya.errors import InvalidInputError, UnsupportedError
from polynya.storage.local import LocalStorage
from polynya.storage.memory import open_memory
from polynya.storage.names import is_encodable
from polynya.storage.protocol import NestedStorage, Storage

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
# The characters of a well-formed URI path; one character beyond them, and the text was never encoded.
_ENCODED_PATH = re.compile(r"(?:[A-Za-z0-9/._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})*")
_OBJECT_SCHEMES = ("s3", "s3a", "gs", "abfs", "abfss")


def open_storage(location: str | os.PathLike[str], **options: str | bool) -> Storage:
    """Open the storage at a path or URL; options configure object stores, and an unknown one is an InvalidInputError.

    Nothing is created or contacted yet.
    """
    if not isinstance(location, str | os.PathLike):
        raise InvalidInputError(f"location: expected a path or URL, got {location!r}")
    text = os.fspath(location)
    if not text or "\0" in text or not is_encodable(text):
        raise InvalidInputError(f"location: expected a path or URL, got {text!r}")
    if isinstance(location, str):
        if text.lower().startswith("file:"):
            return _open_local(_path_of_file_url(text), options)
        if match := _URL.fullmatch(text):
            return _open_url(match[1].lower(), _without_spare_slashes(match[2]), options)
    return _open_local(text, options)


def parent_of(storage: Storage) -> Storage:
    """The storage of the folder around a root; UnsupportedError for one that does not know it."""
    if not isinstance(storage, NestedStorage):
        raise UnsupportedError(f"{storage.location}: this kind of storage does not reach the folder around it")
    return storage.parent()


def open_beside(storage: Storage, root: str) -> Storage:
    """Another root of the same kind of store, `/` or `scheme://bucket`, with the same options.

    UnsupportedError for a root of another kind.
    """
    scheme, own = (one.partition("://")[0] if "://" in one else "file" for one in (root, storage.location))
    if {"s3a": "s3"}.get(scheme, scheme) != {"s3a": "s3"}.get(own, own):
        raise UnsupportedError(f"{root}: a place of scheme {scheme!r} is out of reach of {storage.location}")
    if scheme == "file":
        return LocalStorage("/")
    if scheme == "memory":
        return open_memory(root.partition("://")[2])
    from polynya.storage.objects import ObjectStorage  # noqa: PLC0415 - local use does not pay for obstore

    assert isinstance(storage, ObjectStorage)
    return storage.beside(root)


def _open_local(path: str, options: dict[str, str | bool]) -> Storage:
    _refuse_options(path, options)
    # abspath keeps two slashes at the beginning, which mean nothing special here.
    return LocalStorage(re.sub("^//", "/", os.path.abspath(path)))


def _open_url(scheme: str, rest: str, options: dict[str, str | bool]) -> Storage:
    if scheme == "memory":
        _refuse_options(f"memory://{rest}", options)
        return open_memory(rest)
    if scheme not in _OBJECT_SCHEMES:
        known = ", ".join(("file", *_OBJECT_SCHEMES, "memory"))
        raise UnsupportedError(f"{scheme}://{rest}: storage scheme {scheme!r} is not supported; known are {known}")
    host, _, root = rest.partition("/")
    if not host:
        raise InvalidInputError(f"{scheme}://{rest}: expected a bucket or container after '://'")
    from polynya.storage.objects import ObjectStorage  # noqa: PLC0415 - local use does not pay for obstore

    return ObjectStorage(f"{scheme}://{host}", root, options)


def _path_of_file_url(url: str) -> str:
    path = url[len("file:") :]
    if path.startswith("//"):
        host, slash, rest = path[2:].partition("/")
        path = slash + rest if host in ("", "localhost") else ""
    if not path.startswith("/"):
        raise InvalidInputError(f"{url}: expected file:/path or file:///path, without a host")
    if "%" in path and _ENCODED_PATH.fullmatch(path) and not os.path.exists(path):
        decoded = unquote(path)
        # Whoever checked the text for '..' must not get one out of %2e%2e.
        if "\0" not in decoded and ".." not in decoded.split("/") and os.path.exists(decoded):
            return decoded
    return path


def _without_spare_slashes(rest: str) -> str:
    return re.sub("/+", "/", rest).rstrip("/")


def _refuse_options(location: str, options: dict[str, str | bool]) -> None:
    if options:
        raise InvalidInputError(f"{location}: takes no storage options, got {', '.join(sorted(options))}")
