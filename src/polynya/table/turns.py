"""Taking turns: of the threads that want the same done, one does it for all who wait by then.

Everybody waits until woken: with an answer, or to lead. Whoever has waited longest leads, takes those behind it in the
order they came, acts for all, and hands the lead on. So nobody is woken in vain, and nobody acts for others but once.
"""

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from polynya.errors import CommitUnknownError
from polynya.table.history import TableRoot

W = TypeVar("W")
A = TypeVar("A")


@dataclass(frozen=True, eq=False)
class Member(Generic[W, A]):
    """One thread that waits, what it wants done, and how much of the room for one turn that takes."""

    work: W
    size: int = 0
    answer: "Future[A]" = field(default_factory=Future)
    woken: threading.Event = field(default_factory=threading.Event)


class Turns(Generic[W, A]):
    """Who waits, in order of arrival, and who leads; `act` answers every member that it is given."""

    def __init__(self, act: Callable[[list[Member[W, A]]], None], size_max: int = 0) -> None:
        self._act, self._size_max = act, size_max
        self._lock = threading.Lock()
        self._waiting: list[Member[W, A]] = []
        self._leader: Member[W, A] | None = None

    @property
    def waiting_count(self) -> int:
        """How many wait for a turn to begin, the next leader included."""
        return len(self._waiting)

    def join(self, work: W, wait: Callable[[threading.Event], object], size: int = 0) -> A:
        """Have the work done, by this thread or another, and return its answer or raise its error.

        CommitUnknownError when the thread that acted was interrupted.
        """
        member = Member[W, A](work, size)
        try:
            with self._lock:
                self._waiting.append(member)
                self._choose_leader()
            wait(member.woken)
            if self._leader is member:
                self._lead()
            return member.answer.result()
        finally:
            with self._lock:
                if member in self._waiting:  # interrupted while waiting: nobody shall do its work later
                    self._waiting.remove(member)
                if self._leader is member:
                    self._leader = None
                    self._choose_leader()

    def _choose_leader(self) -> None:
        if self._leader is None and self._waiting:
            self._leader = self._waiting[0]
            self._leader.woken.set()

    def _lead(self) -> None:
        members = self._take()
        try:
            self._act(members)
        finally:
            for member in members:
                if not member.answer.done():
                    message = "the thread that committed for several was interrupted; nothing was deleted"
                    member.answer.set_exception(CommitUnknownError(message))
                member.woken.set()

    def _take(self) -> list[Member[W, A]]:
        """Those whose turn it is: the first, and who follows as long as there is room."""
        with self._lock:
            count, size = 1, self._waiting[0].size
            while count < len(self._waiting) and size + self._waiting[count].size <= self._size_max:
                size += self._waiting[count].size
                count += 1
            members, self._waiting = self._waiting[:count], self._waiting[count:]
        return members


class TableTurns(Generic[W, A]):
    """The turns of every table and branch of this process; a forked one starts without those who wait in its parent."""

    def __init__(self, act: Callable[[list[Member[W, A]]], None], size_max: int = 0) -> None:
        self._act, self._size_max = act, size_max
        self.forget()
        os.register_at_fork(after_in_child=self.forget)

    def of(self, root: TableRoot) -> Turns[W, A]:
        """The turns of one table."""
        with self._lock:
            return self._by_table.setdefault(root, Turns(self._act, self._size_max))

    def forget(self) -> None:
        """Start anew for every table."""
        self._lock = threading.Lock()
        # Only those who wait hold the turns of a table, so that neither these nor its store outlive them here.
        self._by_table = WeakValueDictionary[TableRoot, Turns[W, A]]()
