"""Threads: work is shared among them, errors come back, and the linear algebra library's threads are limited."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar

import numpy as np
import pytest

from ascd._core import jit, threads
from ascd._core.threads import as_n_jobs
from ascd.estimators._base import as_threads


def test_work_is_done_by_all_threads_in_the_context_of_the_call_and_shared_no_further():
    number: ContextVar[int] = ContextVar("number", default=0)
    number.set(5)
    barrier, seen = threading.Barrier(3), []

    def work():
        barrier.wait()  # all of them, or nobody goes on
        seen.append((number.get(), threads.threads_here(), threading.current_thread().name))

    with threads.use_threads(3):
        threads.run_together([work] * 3)
    assert {each[:2] for each in seen} == {(5, 1)}
    assert len({each[2] for each in seen}) == 3


def test_threads_that_have_not_begun_at_the_end_are_not_waited_for(monkeypatch):
    """The only thread of the pool is busy; the calling thread does all."""
    pool, gate, done = ThreadPoolExecutor(1), threading.Event(), []
    monkeypatch.setattr(threads, "_pool", lambda process: pool)
    busy = pool.submit(gate.wait)
    with threads.use_threads(2):
        threads.run_together([lambda: done.append(1)] * 4)
    assert done == [1] * 4
    gate.set()
    assert busy.result()
    pool.shutdown()


def test_an_error_in_any_thread_is_raised():
    barrier = threading.Barrier(2)

    def fail():
        barrier.wait()
        if threading.current_thread() is not threading.main_thread():
            raise ValueError("in a thread")

    with threads.use_threads(2), pytest.raises(ValueError, match="in a thread"):
        threads.run_together([fail, fail])


def test_calls_from_many_threads_do_not_hold_each_other_up():
    def one(start):
        out = [0] * 50
        with threads.use_threads(4):
            threads.share(1e12, 50, lambda first, last: out.__setitem__(slice(first, last), range(first, last)))
        return out == list(range(50))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(one, range(200)))


class Library:
    """Stands for the process-wide number of threads, and knows what it was set to."""

    def __init__(self) -> None:
        self.threads, self.before, self.lib_controllers = 7, [], []

    def limit(self, limits: int, user_api: str) -> Library:
        self.before.append(self.threads)
        self.threads = limits
        return self

    def restore_original_limits(self) -> None:
        self.threads = self.before.pop()


def library_threads():
    return {library.num_threads for library in threads._controller().lib_controllers if library.user_api == "blas"}


def test_the_last_of_overlapping_runs_on_any_thread_restores_the_librarys_threads():
    """threadpoolctl 3.8 listens to one thread alone; runs begin and end in any order, on any thread."""
    before = library_threads()
    if not before:
        pytest.skip("no linear algebra library here whose threads can be set")
    first, second = (threads.blas_threads(1, 10**9) for _ in range(2))
    with threads.blas_threads(2, 10**9):
        assert library_threads() == {2}
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        one.submit(first.__enter__).result()
        assert library_threads() == {1}
        other.submit(second.__enter__).result()
        one.submit(first.__exit__, None, None, None).result()
        assert library_threads() == {1}
        other.submit(second.__exit__, None, None, None).result()
    assert library_threads() == before


def test_the_library_has_one_thread_but_for_long_calls(monkeypatch):
    library = Library()
    monkeypatch.setattr(threads, "_controller", lambda: library)
    with threads.quiet(3, 10**9):
        assert library.threads == 1
        with threads.library_helps(10.0):
            assert library.threads == 1
        with threads.library_helps(1e12):
            assert library.threads == 3
        with threads.blas_threads(1, 10**9), threads.library_helps(1e12):  # another run beside this one
            assert library.threads == 1
    with threads.quiet(3, 10**9, library=2):
        assert library.threads == 2
    with threads.quiet(3, 10):  # a small problem
        assert library.threads == 7


def test_threads_that_meet_a_kernel_for_the_first_time_share_one_dispatcher():
    def fresh_kernel(values):
        return values[0]

    kernel, barrier = jit.Kernel(fresh_kernel), threading.Barrier(4)

    def compiled() -> object:
        barrier.wait()
        return kernel.compiled

    with ThreadPoolExecutor(4) as pool:
        found = [future.result() for future in [pool.submit(compiled) for _ in range(4)]]
    assert len({id(dispatcher) for dispatcher in found}) == 1
    assert fresh_kernel.__qualname__.endswith("fresh_kernel")


@pytest.mark.parametrize(
    ("n_jobs", "threads"), [(None, 1), (3, 3), (np.int64(2), 2), (-1, 4), (-2, 3), (-4, 1), (-9, 1)]
)
def test_numbers_of_threads_mean_what_joblib_says(n_jobs, threads, monkeypatch):
    monkeypatch.setattr("joblib.cpu_count", lambda: 4)
    assert as_n_jobs(n_jobs) == threads


@pytest.mark.parametrize("n_jobs", [None, 2, -1, -2, -100])
def test_problems_and_estimators_count_threads_alike(n_jobs):
    assert as_n_jobs(n_jobs) == as_threads(n_jobs)
