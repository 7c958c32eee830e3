"""Blobs in an object store (S3, GCS, Azure) through obstore, which also repeats requests that failed for a while.

`put_new` is one conditional request. A repeated request can meet its own first try, so whoever gets AlreadyExistsError
for a blob that only it could have written should look at the blob before calling itself beaten.

Marker objects, whose key ends in '/', stand for folders: listings of a folder show the folders, never their markers.
"""

import io
import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import islice
from typing import BinaryIO, cast

import obstore
from obstore.exceptions import AlreadyExistsError as ObstoreAlreadyExistsError
from obstore.exceptions import BaseError, UnknownConfigurationKeyError
from obstore.store import AzureStore, GCSStore, S3Store

from polynya.errors import (
    AlreadyExistsError,
    CorruptFileError,
    InvalidInputError,
    NotFoundError,
    StorageError,
    UnsupportedError,
)
from polynya.storage.names import join, require_blob, require_folder, require_move, require_range
from polynya.storage.protocol import PAGE_BLOB_COUNT, Blob, Page, pages_of

_PART_SIZE_BYTES = 8 << 20
_COPIES_AT_ONCE = 16

# The option names of Paimon catalogs and Hadoop, after their prefix and with '.' for '-'.
_S3_PREFIXES = ("fs.s3a.", "s3a.", "s3.")
_S3_OPTIONS = {
    "endpoint": "endpoint",
    "endpoint.region": "region",
    "region": "region",
    "access.key": "access_key_id",
    "secret.key": "secret_access_key",
    "session.token": "session_token",
}
_PATH_STYLE = "path.style.access"

Option = str | bool


class ObjectStorage:
    """Objects under one prefix of a bucket or container.

    `bucket_url` is the URL without a path, as in `s3://bucket`; options are those of obstore for that kind of store,
    or for S3 the names that Paimon catalogs use.
    """

    def __init__(self, bucket_url: str, root: str = "", options: Mapping[str, Option] | None = None) -> None:
        require_folder(root)
        self._bucket_url = bucket_url
        self._root = root
        self._options = dict(options or {})
        self._store = _connect(bucket_url, self._options)

    @property
    def location(self) -> str:
        """The URL of the root."""
        return join(self._bucket_url, self._root)

    def read(self, name: str) -> bytes:
        """Return the whole blob."""
        with self._reading(name) as key:
            return bytes(obstore.get(self._store, key).bytes())

    def read_range(self, name: str, start: int, length: int) -> bytes:
        """Return exactly `length` bytes from `start`."""
        require_range(name, start, length)
        if not length:
            data, enough = b"", start <= self.size(name)
        else:
            data = self._read_up_to(name, start, length)
            enough = len(data) == length
        if not enough:
            raise CorruptFileError(f"{self._show(name)}: expected {length} bytes from byte {start}, found {len(data)}")
        return data

    def _read_up_to(self, name: str, start: int, length: int) -> bytes:
        """The bytes of the range that the blob has."""
        try:
            with self._reading(name) as key:
                return bytes(obstore.get_range(self._store, key, start=start, length=length))
        except StorageError:
            # A range that begins past the end is refused in the words of any other failure.
            if start + length <= self.size(name):
                raise
            return b""

    def size(self, name: str) -> int:
        """Return the size in bytes."""
        with self._reading(name) as key:
            return int(obstore.head(self._store, key)["size"])

    def put(self, name: str, data: bytes) -> None:
        """Create or replace the blob, atomically."""
        with self._writing(name) as key:
            obstore.put(self._store, key, data)

    def put_new(self, name: str, data: bytes) -> None:
        """Create the blob if its name is free, in one conditional request, else raise AlreadyExistsError."""
        with self._writing(name) as key:
            obstore.put(self._store, key, data, mode="create")

    @contextmanager
    def writer(self, name: str) -> Iterator[BinaryIO]:
        """A stream into a new blob, uploaded in parts; it appears when the block ends without an error."""
        with self._writing(name) as key:
            upload = obstore.open_writer(self._store, key, buffer_size=_PART_SIZE_BYTES)
        stream = _UploadStream(self, name, upload)
        try:
            yield cast(BinaryIO, stream)
        except BaseException as error:
            # Leaving with an error makes obstore drop the parts sent so far.
            with suppress(BaseError, OSError):
                upload.__exit__(type(error), error, error.__traceback__)
            raise
        with self._writing(name):
            upload.close()

    def list(self, folder: str, *, recursive: bool = False) -> Iterator[Page]:
        """Yield what is under the folder; without recursion the store is asked for all pages at once."""
        require_folder(folder)
        prefix = join(self._root, folder)
        with self._asking(folder, "listed"):
            if recursive:
                for found in obstore.list(self._store, prefix, chunk_size=PAGE_BLOB_COUNT):
                    yield Page(self._blobs(found, prefix))
                return
            result = obstore.list_with_delimiter(self._store, prefix)
        blobs = self._blobs(result["objects"], prefix)
        yield from pages_of(blobs, (path[self._strip :] for path in result["common_prefixes"]))

    def delete(self, names: Iterable[str]) -> None:
        """Delete the blobs, a thousand per request where the store can; absent ones are fine."""
        rest = iter(names)
        while batch := list(islice(rest, PAGE_BLOB_COUNT)):
            keys = [self._key(name) for name in batch]
            with self._writing(batch[0]):
                try:
                    obstore.delete(self._store, keys)
                except FileNotFoundError:
                    # Some stores report absent objects, and stop there.
                    for key in keys:
                        with suppress(FileNotFoundError):
                            obstore.delete(self._store, key)

    def delete_folder(self, folder: str) -> None:
        """Delete everything under the folder."""
        for page in self.list(folder, recursive=True):
            self.delete(blob.name for blob in page.blobs)

    def rename_folder(self, old: str, new: str) -> None:
        """Copy every blob to its new name, then delete the old ones; a failure between leaves both."""
        require_move(old, new)
        if next(self.list(new, recursive=True), None):
            raise AlreadyExistsError(f"{self._show(new)} already exists")
        names = [blob.name for page in self.list(old, recursive=True) for blob in page.blobs]
        if not names:
            raise NotFoundError(f"{self._show(old)} does not exist")
        with ThreadPoolExecutor(_COPIES_AT_ONCE) as pool:
            list(pool.map(lambda name: self._copy(name, new + name[len(old) :]), names))
        self.delete(names)

    def local_path(self, name: str) -> None:
        """None: nothing here is in the local file system."""
        require_folder(name)

    def parent(self) -> "ObjectStorage":
        """The same store, over the same connections, with the folder around the root as the root."""
        parent = object.__new__(ObjectStorage)
        parent.__dict__.update(self.__dict__, _root=self._root.rpartition("/")[0])
        return parent

    def beside(self, bucket_url: str) -> "ObjectStorage":
        """Another bucket, with the same options."""
        return ObjectStorage(bucket_url, "", self._options)

    def child(self, folder: str) -> "ObjectStorage":
        """The same store, over the same connections, with `folder` as the root."""
        require_folder(folder)
        child = object.__new__(ObjectStorage)
        child.__dict__.update(self.__dict__, _root=join(self._root, folder))
        return child

    def __repr__(self) -> str:
        return f"ObjectStorage({self.location!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ObjectStorage):
            return NotImplemented
        return (self.location, self._options) == (other.location, other._options)

    def __hash__(self) -> int:
        return hash(self.location)

    def __reduce__(self) -> tuple[object, ...]:
        return ObjectStorage, (self._bucket_url, self._root, self._options)

    @property
    def _strip(self) -> int:
        return len(self._root) + 1 if self._root else 0

    def _blobs(self, found: "Iterable[obstore.ObjectMeta]", prefix: str) -> tuple[Blob, ...]:
        return tuple(
            Blob(meta["path"][self._strip :], meta["size"], round(meta["last_modified"].timestamp() * 1000))
            for meta in found
            if meta["path"] != prefix
        )

    def _copy(self, name: str, target: str) -> None:
        with self._writing(name) as key:
            obstore.copy(self._store, key, self._key(target))

    def _key(self, name: str) -> str:
        require_blob(name)
        return join(self._root, name)

    def _show(self, name: str) -> str:
        return join(self.location, name)

    @contextmanager
    def _reading(self, name: str) -> Iterator[str]:
        """The key of a blob to read, which may turn out to be absent."""
        key = self._key(name)
        with self._asking(name, "read"):
            try:
                yield key
            except FileNotFoundError as error:
                raise NotFoundError(f"{self._show(name)} does not exist") from error

    @contextmanager
    def _writing(self, name: str) -> Iterator[str]:
        """The key of a blob to write."""
        key = self._key(name)
        with self._asking(name, "written"):
            yield key

    @contextmanager
    def _asking(self, name: str, act: str) -> Iterator[None]:
        """Say in polynya's errors what goes wrong between obstore and the store."""
        _HOME.require(self.location)
        try:
            yield
        except ObstoreAlreadyExistsError as error:
            raise AlreadyExistsError(f"{self._show(name)} already exists") from error
        except (BaseError, OSError, OverflowError) as error:
            raise StorageError(f"{self._show(name)}: cannot be {act}: {_first_line(error)}") from error
        except ValueError as error:
            raise InvalidInputError(f"{self._show(name)!r}: not a name for an object store") from error


class _Home:
    """The process that obstore's threads are in: its first request starts them, and they do not follow into a fork."""

    def __init__(self) -> None:
        self._pid: int | None = None

    def require(self, location: str) -> None:
        """Refuse what would wait for ever in a forked process."""
        pid = os.getpid()
        if self._pid is None:
            self._pid = pid
        elif self._pid != pid:
            raise UnsupportedError(
                f"{location}: this process was forked from one that had used object stores, and cannot use them; "
                "start it by 'spawn' or 'forkserver', or before the first use"
            )


_HOME = _Home()


class _UploadStream(io.RawIOBase):
    """What a writer hands out: a stream that libraries may close, while the upload ends with the block."""

    def __init__(self, storage: ObjectStorage, name: str, upload: "obstore.WritableFile") -> None:
        self._storage, self._name, self._upload = storage, name, upload
        self._position = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def write(self, data: "bytes | memoryview", /) -> int:  # type: ignore[override]  # one kind of buffer is enough
        with self._storage._writing(self._name):
            self._upload.write(data)
        written = memoryview(data).nbytes
        self._position += written
        return written


def _connect(url: str, options: Mapping[str, Option]) -> "S3Store | GCSStore | AzureStore":
    scheme, _, host = url.partition("://")
    try:
        match scheme:
            case "s3" | "s3a":
                return S3Store(host, config=_s3_config(options))
            case "gs":
                return GCSStore(host, config=dict(options))
            case "abfs" | "abfss":
                return AzureStore.from_url(url, config=dict(options))
    except UnknownConfigurationKeyError as error:
        raise InvalidInputError(f"{url}: {_first_line(error)}") from error
    except (BaseError, ValueError, TypeError) as error:
        raise InvalidInputError(f"{url}: the options do not open a store: {_first_line(error)}") from error
    raise InvalidInputError(f"{url}: expected s3, s3a, gs, abfs or abfss")


def _s3_config(options: Mapping[str, Option]) -> dict[str, Option]:
    """The options under the names that obstore knows; unknown ones keep theirs, and obstore refuses them."""
    config: dict[str, Option] = {}
    for name, value in options.items():
        prefix = next((prefix for prefix in _S3_PREFIXES if name.startswith(prefix)), None)
        plain = name[len(prefix) :].replace("-", ".") if prefix else ""
        if plain == _PATH_STYLE:
            config["virtual_hosted_style_request"] = str(value).lower() != "true"
        elif plain == "endpoint" and "://" not in str(value):
            config["endpoint"] = f"https://{value}"
        else:
            config[_S3_OPTIONS.get(plain, name)] = value
    # Whoever writes http:// has decided; obstore wants it said twice.
    if any("endpoint" in name and str(value).startswith("http://") for name, value in config.items()):
        config.setdefault("allow_http", "true")
    return config


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
