"""A storage that fails on demand, for tests that fail every storage call once."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO

from polynya.errors import StorageError
from polynya.storage.protocol import Page, Storage
from polynya.storage.urls import parent_of


@dataclass
class FaultPlan:
    """Fail the call with this number (from 1; 0 is never), before it does anything or after it has done everything.

    `calls` holds what was asked so far, as (verb, name), so that a first run tells how many calls there are to fail.
    """

    fail_at: int = 0
    after: bool = False
    calls: list[tuple[str, str]] = field(default_factory=list)

    @contextmanager
    def call(self, verb: str, name: str) -> Iterator[None]:
        self.calls.append((verb, name))
        chosen = len(self.calls) == self.fail_at
        fault = StorageError(f"planned fault: {verb} {name!r}, call {len(self.calls)}")
        if chosen and not self.after:
            raise fault
        yield
        if chosen:
            raise fault


class FaultStorage:
    """Passes every verb to `inner`, and fails where the plan says; children share the plan."""

    def __init__(self, inner: Storage, plan: FaultPlan) -> None:
        self.inner = inner
        self.plan = plan

    @property
    def location(self) -> str:
        return self.inner.location

    def read(self, name: str) -> bytes:
        with self.plan.call("read", name):
            return self.inner.read(name)

    def read_range(self, name: str, start: int, length: int) -> bytes:
        with self.plan.call("read_range", name):
            return self.inner.read_range(name, start, length)

    def size(self, name: str) -> int:
        with self.plan.call("size", name):
            return self.inner.size(name)

    def put(self, name: str, data: bytes) -> None:
        with self.plan.call("put", name):
            self.inner.put(name, data)

    def put_new(self, name: str, data: bytes) -> None:
        with self.plan.call("put_new", name):
            self.inner.put_new(name, data)

    def writer(self, name: str) -> AbstractContextManager[BinaryIO]:
        return self._writer(name)

    @contextmanager
    def _writer(self, name: str) -> Iterator[BinaryIO]:
        with self.plan.call("writer", name), self.inner.writer(name) as stream:
            yield stream

    def list(self, folder: str, *, recursive: bool = False) -> Iterator[Page]:
        with self.plan.call("list", folder):
            pages = [*self.inner.list(folder, recursive=recursive)]
        yield from pages

    def delete(self, names: Iterable[str]) -> None:
        chosen = [*names]
        with self.plan.call("delete", ", ".join(chosen)):
            self.inner.delete(chosen)

    def delete_folder(self, folder: str) -> None:
        with self.plan.call("delete_folder", folder):
            self.inner.delete_folder(folder)

    def rename_folder(self, old: str, new: str) -> None:
        with self.plan.call("rename_folder", old):
            self.inner.rename_folder(old, new)

    def local_path(self, name: str) -> str | None:
        return self.inner.local_path(name)

    def child(self, folder: str) -> "FaultStorage":
        return FaultStorage(self.inner.child(folder), self.plan)

    def parent(self) -> "FaultStorage":
        return FaultStorage(parent_of(self.inner), self.plan)


class GateStorage(FaultStorage):
    """Holds the creation of snapshots until `open` is set, so that others queue up; then fails it if there is a fault.

    What is raised may be no StorageError: an interrupt, for one.
    """

    def __init__(self, inner: Storage, fault: BaseException | None = None) -> None:
        super().__init__(inner, FaultPlan())
        self.open, self.reached, self.fault = threading.Event(), threading.Event(), fault

    def put_new(self, name: str, data: bytes) -> None:
        self.reached.set()
        assert self.open.wait(20)
        if self.fault is not None:
            raise self.fault
        super().put_new(name, data)
