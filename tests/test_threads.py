"""Runs side by side: the linear algebra library's threads, and kernels met by several threads at once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import ascd
from ascd._core import jit as _jit
from ascd._core import threads
from ascd._core.threads import as_n_jobs
from ascd.estimators._base import as_threads
from ascd.problem.penalties import is_held


class Library:
    """Stands for the process-wide number of threads, and tells what it was set to."""

    def __init__(self) -> None:
        self.threads, self.before, self.lib_controllers = 7, [], []

    def limit(self, limits: int, user_api: str) -> Library:
        self.before.append(self.threads)
        self.threads = limits
        return self

    def restore_original_limits(self) -> None:
        self.threads = self.before.pop()


def test_the_last_of_overlapping_runs_restores_the_librarys_threads(monkeypatch):
    library = Library()
    monkeypatch.setattr(threads, "_controller", lambda: library)
    first, second = (threads.blas_threads(1, 10**9) for _ in range(2))
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert library.threads == 1
    second.__exit__(None, None, None)
    assert library.threads == 7


def library_threads():
    return {library.num_threads for library in threads._controller().lib_controllers if library.user_api == "blas"}


def test_every_thread_is_heard_by_the_library():
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


def test_small_problems_leave_the_library_alone(monkeypatch):
    monkeypatch.setattr(threads, "_controller", None)
    with threads.blas_threads(1, 10):
        pass


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


def test_threads_that_meet_a_kernel_for_the_first_time_share_one_dispatcher():
    def fresh_kernel(values):
        return values[0]

    kernel, barrier = _jit.kernel(fresh_kernel), threading.Barrier(4)

    def compiled() -> object:
        barrier.wait()
        return kernel.stored

    with ThreadPoolExecutor(4) as pool:
        found = [future.result() for future in [pool.submit(compiled) for _ in range(4)]]
    assert len({id(dispatcher) for dispatcher in found}) == 1
    assert fresh_kernel.__qualname__.endswith("fresh_kernel")


@pytest.mark.parametrize(
    ("penalty", "held"),
    [
        (ascd.Box(0.0, 1.0), True),
        (ascd.Box(0.0, np.inf, l2=0.5), True),
        (ascd.Box(0.0, np.inf), False),
        (ascd.BoundedL1L2(1.0, 0.0, -1.0, 1.0), False),
        (ascd.BoundedL1L2(0.0, 0.0, -1.0, 1.0), True),
        (ascd.L1(1.0), False),
        (ascd.L2(1.0), False),
    ],
)
def test_only_bounds_and_squares_hold_coordinates(penalty, held):
    assert is_held(penalty) == held


@pytest.mark.parametrize(
    ("n_jobs", "threads"), [(None, 1), (3, 3), (np.int64(2), 2), (-1, 4), (-2, 3), (-4, 1), (-9, 1)]
)
def test_numbers_of_threads_mean_what_joblib_says(n_jobs, threads, monkeypatch):
    monkeypatch.setattr("joblib.cpu_count", lambda: 4)
    assert as_n_jobs(n_jobs) == threads


@pytest.mark.parametrize("n_jobs", [None, 2, -1, -2, -100])
def test_problems_and_estimators_count_threads_alike(n_jobs):
    assert as_n_jobs(n_jobs) == as_threads(n_jobs)
