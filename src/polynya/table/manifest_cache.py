"""Decoded manifests, kept in memory: the content under a manifest's name never changes.

One cache serves the whole process and is bounded in bytes; what was used least recently goes first. A manifest is kept
column by column, so that a plan with statistics adds to what a plan without them left.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence

import pyarrow as pa

DEFAULT_BYTES = 512 * 2**20
GLANCES_MAX = 100_000


class ManifestCache:
    """Arrow tables by key, holding at most `size_bytes_max` bytes."""

    def __init__(self, size_bytes_max: int = DEFAULT_BYTES) -> None:
        self.size_bytes_max = size_bytes_max
        self._tables: OrderedDict[Hashable, pa.Table] = OrderedDict()
        self._size_bytes = 0
        self._glanced: set[Hashable] = set()
        self._lock = threading.Lock()

    def find(self, key: Hashable, columns: Sequence[str]) -> pa.Table | None:
        """The columns of the table under `key`, if all of them are here."""
        with self._lock:
            held = self._tables.get(key)
            if held is None or any(name not in held.schema.names for name in columns):
                return None
            self._tables.move_to_end(key)
            return held.select(list(columns))

    def is_first_glance(self, key: Hashable) -> bool:
        """Whether nobody has asked this before: a part will do once, a second time the whole is worth keeping."""
        with self._lock:
            if key in self._glanced:
                return False
            if len(self._glanced) >= GLANCES_MAX:
                self._glanced.clear()
            self._glanced.add(key)
            return True

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._tables.clear()
            self._glanced.clear()
            self._size_bytes = 0

    def put(self, key: Hashable, table: pa.Table) -> None:
        """Keep the table; columns that were here before stay."""
        with self._lock:
            held = self._tables.pop(key, None)
            if held is not None:
                self._size_bytes -= held.nbytes
                for name in set(held.schema.names) - set(table.schema.names):
                    table = table.append_column(held.schema.field(name), held[name])
            self._tables[key] = table
            self._size_bytes += table.nbytes
            while self._size_bytes > self.size_bytes_max:
                _, oldest = self._tables.popitem(last=False)
                self._size_bytes -= oldest.nbytes


SHARED = ManifestCache()
# A process is forked while no thread is at work in the cache: the child could not wait for it.
os.register_at_fork(
    before=SHARED._lock.acquire, after_in_parent=SHARED._lock.release, after_in_child=SHARED._lock.release
)
