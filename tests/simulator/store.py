"""The store of a simulated history: blobs in memory, every call a switch point that may go wrong."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, TypeVar

from polynya.errors import AlreadyExistsError, NotFoundError, StorageError
from polynya.storage import MemoryStorage
from polynya.storage.protocol import Page
from simulator.world import World

T = TypeVar("T")


class SimulatedStore:
    """A storage for actors; `inner` is the truth, which the judge looks at without faults."""

    def __init__(self, inner: MemoryStorage, world: World, *, creates_atomically: bool = True) -> None:
        self.inner, self.world = inner, world
        self._creates_atomically = creates_atomically
        self._created: dict[str, int] = {}

    @property
    def location(self) -> str:
        return self.inner.location

    def read(self, name: str) -> bytes:
        return self._call("read", name, lambda: self.inner.read(name))

    def read_range(self, name: str, start: int, length: int) -> bytes:
        return self._call("read_range", name, lambda: self.inner.read_range(name, start, length))

    def size(self, name: str) -> int:
        return self._call("size", name, lambda: self.inner.size(name))

    def put(self, name: str, data: bytes) -> None:
        self._call("put", name, lambda: self._store(name, lambda: self.inner.put(name, data)))

    def put_new(self, name: str, data: bytes) -> None:
        world = self.world
        create = self._create(name, data)
        if world.random.random() < world.rates.late:
            world.switch(f"put_new {name}: late")
            world.arrive_late(lambda: self._create_late(create))
            raise StorageError(f"{name}: no answer, the store may still create it")
        self._call("put_new", name, create, after=world.rates.after_create)

    @contextmanager
    def writer(self, name: str) -> Iterator[BinaryIO]:
        with self.inner.writer(name) as stream:
            yield stream
            self.world.switch(f"writer {name}")

    def list(self, folder: str, *, recursive: bool = False) -> Iterator[Page]:
        pages = self._call("list", folder, lambda: list(self.inner.list(folder, recursive=recursive)))
        if self.world.random.random() < self.world.rates.stale:
            seen = self.world.step - self.world.random.randint(1, 80)
            pages = [self._as_of(page, seen) for page in pages]
        yield from pages

    def delete(self, names: Iterable[str]) -> None:
        chosen = [*names]
        self._call("delete", ", ".join(chosen), lambda: self.inner.delete(chosen))

    def delete_folder(self, folder: str) -> None:
        self._call("delete_folder", folder, lambda: self.inner.delete_folder(folder))

    def rename_folder(self, old: str, new: str) -> None:
        self._call("rename_folder", old, lambda: self.inner.rename_folder(old, new))

    def local_path(self, name: str) -> str | None:
        return self.inner.local_path(name)

    def child(self, folder: str) -> "SimulatedStore":
        raise NotImplementedError(folder)

    def _call(self, verb: str, name: str, act: Callable[[], T], after: float | None = None) -> T:
        """One call: time passes before it and, where its answer is slow, after it."""
        world = self.world
        world.switch(f"{verb} {name}")
        luck = world.random.random()
        if luck < world.rates.before:
            raise StorageError(f"{verb} {name}: failed before it was done")
        result = act()
        if luck < world.rates.before + (world.rates.after if after is None else after):
            world.switch(f"{verb} {name}: done, reported as failed")
            raise StorageError(f"{verb} {name}: failed after it was done")
        return result

    def _create(self, name: str, data: bytes) -> Callable[[], None]:
        if self._creates_atomically:
            return lambda: self._store(name, lambda: self.inner.put_new(name, data))
        return lambda: self._check_then_put(name, data)

    def _check_then_put(self, name: str, data: bytes) -> None:
        """What a store without create-if-absent tempts one to do; the judge must find out."""
        with suppress(NotFoundError):
            self.inner.size(name)
            raise AlreadyExistsError(name)
        if self.world.running is not None:
            self.world.switch(f"between check and put of {name}")
        self._store(name, lambda: self.inner.put(name, data))

    def _create_late(self, create: Callable[[], None]) -> None:
        with suppress(AlreadyExistsError):
            create()

    def _store(self, name: str, act: Callable[[], None]) -> None:
        act()
        self._created.setdefault(name, self.world.step)

    def _as_of(self, page: Page, step: int) -> Page:
        return Page(tuple(blob for blob in page.blobs if self._created.get(blob.name, 0) <= step), page.folders)
