"""Taking turns: one thread acts for all who wait, in the order they came."""

import gc
import os
import signal
import sys
import threading
import weakref

import pytest

from polynya.errors import CommitUnknownError
from polynya.storage import MemoryStorage
from polynya.table.history import TableRoot
from polynya.table.turns import TableTurns, Turns


class Held:
    """Turns whose first act waits until all others have joined; `acts` are the works of each act."""

    def __init__(self, fault=None, size_max=0):
        self.acts, self.fault = [], fault
        self.reached, self.open = threading.Event(), threading.Event()
        self.turns = Turns(self._act, size_max)

    def _act(self, members):
        self.acts.append([member.work for member in members])
        self.reached.set()
        assert self.open.wait(20)
        for member in members:
            if self.fault is not None and member.work == self.fault[0]:
                raise self.fault[1]
            member.answer.set_result(member.work * 10)

    def run(self, sizes):
        """The answers of one thread for each size, all behind the first; works are numbered from 0."""
        answers = [None] * len(sizes)

        def work(number):
            try:
                answers[number] = self.turns.join(number, threading.Event.wait, sizes[number])
            except (CommitUnknownError, KeyboardInterrupt) as error:
                answers[number] = type(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(len(sizes))]
        threads[0].start()
        assert self.reached.wait(20)
        for number, thread in enumerate(threads[1:]):
            thread.start()
            while self.turns.waiting_count <= number:
                threading.Event().wait(0.001)
        self.open.set()
        for thread in threads:
            thread.join(20)
        assert not self.turns.waiting_count
        return answers


def test_the_second_turn_takes_all_who_came_in_the_order_they_came():
    held = Held()
    assert held.run([0] * 20) == [10 * number for number in range(20)]
    assert held.acts == [[0], list(range(1, 20))]


def test_who_finds_no_room_leads_the_next_turn():
    held = Held(size_max=10)
    assert held.run([1, 4, 4, 4, 99, 1, 1]) == [0, 10, 20, 30, 40, 50, 60]
    assert held.acts == [[0], [1, 2], [3], [4], [5, 6]]


def test_an_interrupted_leader_leaves_the_others_unknown_and_the_next_turn_goes_on():
    held = Held(fault=(2, KeyboardInterrupt()))
    assert held.run([0] * 4) == [0, KeyboardInterrupt, CommitUnknownError, CommitUnknownError]
    assert held.turns.join(7, threading.Event.wait) == 70


def test_who_is_interrupted_while_waiting_is_taken_out():
    held = Held()
    leader = threading.Thread(target=held.turns.join, args=(1, threading.Event.wait))
    leader.start()
    assert held.reached.wait(20)

    def interrupted(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        held.turns.join(2, interrupted)
    held.open.set()
    leader.join(20)
    assert held.turns.join(3, threading.Event.wait) == 30
    assert held.acts == [[1], [3]]


def test_who_is_interrupted_just_when_it_should_lead_hands_the_lead_on():
    held = Held()
    held.open.set()

    def woken_and_interrupted(event):
        assert event.wait(20)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        held.turns.join(1, woken_and_interrupted)
    assert held.turns.join(2, threading.Event.wait) == 20
    assert held.acts == [[2]]


def test_an_interrupt_between_joining_and_waiting_leaves_the_lead_free():
    held = Held()
    held.open.set()

    def interrupting(frame, event, _):
        if event == "return" and frame.f_code is Turns._choose_leader.__code__:
            sys.setprofile(None)
            raise KeyboardInterrupt

    sys.setprofile(interrupting)
    with pytest.raises(KeyboardInterrupt):
        held.turns.join(1, threading.Event.wait)
    answers = []
    next_one = threading.Thread(target=lambda: answers.append(held.turns.join(2, threading.Event.wait)), daemon=True)
    next_one.start()
    next_one.join(20)
    assert answers == [20]
    assert held.acts == [[2]]


def test_stores_of_one_location_share_turns_only_when_they_hold_the_same_blobs():
    turns = TableTurns(lambda members: None)
    one, other = MemoryStorage("memory://m"), MemoryStorage("memory://m")
    held = turns.of(TableRoot(one.child("t")))
    assert turns.of(TableRoot(one.child("t"))) is held
    assert turns.of(TableRoot(one.child("t"), "branch")) is not held
    assert turns.of(TableRoot(other.child("t"))) is not held


def test_a_table_is_forgotten_once_nobody_waits():
    turns, storage = TableTurns(lambda members: members[0].answer.set_result(1)), MemoryStorage()
    assert turns.of(TableRoot(storage)).join(1, threading.Event.wait) == 1
    gone = weakref.ref(storage)
    del storage
    gc.collect()
    assert gone() is None


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # to fork with threads is what is asked about here
def test_a_forked_process_does_not_wait_for_the_threads_of_its_parent():
    reached, opened = threading.Event(), threading.Event()

    def act(members):
        reached.set()
        assert opened.wait(20)
        for member in members:
            member.answer.set_result(member.work)

    turns, root = TableTurns(act), TableRoot(MemoryStorage())
    leader = threading.Thread(target=turns.of(root).join, args=(1, threading.Event.wait))
    leader.start()
    assert reached.wait(20)
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # ends the child that waits all the same
        opened = threading.Event()
        opened.set()
        os._exit(turns.of(root).join(7, threading.Event.wait))
    _, status = os.waitpid(child, 0)
    opened.set()
    leader.join(20)
    assert os.waitstatus_to_exitcode(status) == 7
