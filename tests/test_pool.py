"""The pool of threads: who is asked helps, errors come back, nobody works after the end, and few threads are made."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar

import pytest

from ascd._core import threads
from ascd._core.pool import Pool


def test_so_many_threads_do_the_work_at_once():
    barrier, seen = threading.Barrier(4), set()

    def work():
        barrier.wait()  # all of them, or nobody goes on
        seen.add(threading.current_thread().name)

    call = Pool(3).call(3, work)
    work()
    call.end()
    assert len(seen) == 4
    assert call.error is None


def test_nobody_begins_after_the_end():
    pool, done, gate = Pool(1), [], threading.Event()
    first = pool.call(1, gate.wait)
    late = pool.call(1, lambda: done.append("late"))
    late.end()  # its only thread is held by the first call: nothing to wait for
    gate.set()
    first.end()
    last = threading.Event()
    pool.call(1, last.set)
    assert last.wait(60.0)  # the thread has met the late call, and left it
    assert done == []


def test_threads_are_made_as_needed_and_used_again():
    pool = Pool(2)
    for _ in range(20):
        reached = threading.Event()
        call = pool.call(1, reached.set)
        assert reached.wait(60.0)
        call.end()
    assert pool._made <= 2


def test_an_error_in_any_thread_is_raised():
    barrier = threading.Barrier(2)

    def fail():
        barrier.wait()
        if threading.current_thread() is not threading.main_thread():
            raise ValueError("in a thread")

    with threads.use_threads(2), pytest.raises(ValueError, match="in a thread"):
        threads.run_together([fail, fail])


def test_work_sees_the_context_of_the_call_and_shares_nothing_further():
    number: ContextVar[int] = ContextVar("number", default=0)
    number.set(5)
    barrier, seen = threading.Barrier(3), []

    def work():
        barrier.wait()
        seen.append((number.get(), threads.threads_here()))

    with threads.use_threads(3):
        threads.run_together([work] * 3)
    assert seen == [(5, 1)] * 3


def test_calls_from_many_threads_do_not_hold_each_other_up():
    def one(start):
        out = [0] * 50
        with threads.use_threads(4):
            threads.share(1e12, 50, lambda first, last: out.__setitem__(slice(first, last), range(first, last)))
        return out == list(range(50))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(one, range(200)))
