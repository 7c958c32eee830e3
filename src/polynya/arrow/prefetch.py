"""Several streams of batches read ahead at once, handed on in their order, within a budget of bytes.

Each stream has its own share of the budget, so that the one whose turn it is can never be starved by those behind it.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

Stream = Callable[[], Iterator[pa.RecordBatch]]


def read_ahead(streams: Iterable[Stream], *, workers: int, budget_bytes: int) -> Iterator[pa.RecordBatch]:
    """The batches of all streams, one stream after the other; up to `workers` streams run at a time."""
    if workers <= 1:
        for stream in streams:
            yield from stream()
        return
    running: deque[_Lane] = deque()
    share = max(1, budget_bytes // workers)
    with ThreadPoolExecutor(workers, thread_name_prefix="polynya-read") as pool:
        try:
            for stream in streams:
                running.append(_Lane(pool, stream, share))
                if len(running) == workers:
                    yield from running[0].drain()
                    running.popleft()
            while running:
                yield from running[0].drain()
                running.popleft()
        finally:
            for lane in running:
                lane.stop()


class _Lane:
    """One stream on a thread of its own, at most `share_bytes` ahead of its reader."""

    def __init__(self, pool: ThreadPoolExecutor, stream: Stream, share_bytes: int) -> None:
        self._share_bytes = share_bytes
        self._batches: deque[pa.RecordBatch] = deque()
        self._waiting_bytes = 0
        self._is_done = self._is_stopped = False
        self._changed = threading.Condition()
        self._outcome = pool.submit(self._run, stream)

    def drain(self) -> Iterator[pa.RecordBatch]:
        """The batches as they come; an error of the stream is raised here."""
        while True:
            with self._changed:
                while not self._batches and not self._is_done:
                    self._changed.wait()
                if not self._batches:
                    break
                batch = self._batches.popleft()
                self._waiting_bytes -= batch.nbytes
                self._changed.notify_all()
            yield batch
        self._outcome.result()

    def stop(self) -> None:
        """Let the thread end at its next batch."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()

    def _run(self, stream: Stream) -> None:
        try:
            for batch in stream():
                if not self._put(batch):
                    break
        finally:
            with self._changed:
                self._is_done = True
                self._changed.notify_all()

    def _put(self, batch: pa.RecordBatch) -> bool:
        with self._changed:
            while self._waiting_bytes >= self._share_bytes and not self._is_stopped:
                self._changed.wait()
            if self._is_stopped:
                return False
            self._batches.append(batch)
            self._waiting_bytes += batch.nbytes
            self._changed.notify_all()
        return True
