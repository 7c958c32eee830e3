"""Threads that fetch: a forked process has its own."""

import os
import signal
import threading

import pytest

from polynya.table.readers import Readers


def test_results_come_in_the_order_of_the_items():
    assert Readers("test").map(lambda item: item * 10, range(20)) == [item * 10 for item in range(20)]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # to fork with threads is what is asked about here
def test_a_forked_process_does_not_wait_for_the_threads_of_its_parent():
    readers, count = Readers("test"), 64
    all_here = threading.Barrier(min(32, (os.cpu_count() or 1) + 4))  # as many threads as a pool has at most
    readers.map(lambda _: all_here.wait(20), range(all_here.parties))
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # ends the child that waits all the same
        os._exit(len(readers.map(str, range(count))))
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == count
