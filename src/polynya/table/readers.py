"""Threads that fetch blobs side by side, kept for the life of the process."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Readers:
    """A pool of threads; a forked process, into which threads do not follow, starts with a new one."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._start()
        os.register_at_fork(after_in_child=self._start)

    def map(self, fetch: Callable[[T], R], items: Iterable[T]) -> list[R]:
        """What `fetch` returns for each of the items, in their order."""
        return list(self._pool.map(fetch, items))

    def _start(self) -> None:
        self._pool = ThreadPoolExecutor(thread_name_prefix=self._name)
