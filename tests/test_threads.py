"""Threads: work is shared among them, errors come back, and the linear algebra library's threads are limited."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from ascd._core import threads


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
    first, second = (threads.thread_limits(1, 10**9) for _ in range(2))
    with threads.thread_limits(2, 10**9, library=2):
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
    with threads.thread_limits(3, 10**9):
        assert library.threads == 1
        with threads.library_helps(10.0):
            assert library.threads == 1
        with threads.library_helps(1e12):
            assert library.threads == 3
        with threads.thread_limits(1, 10**9), threads.library_helps(1e12):  # another run beside this one
            assert library.threads == 1
    with threads.thread_limits(3, 10**9, library=2):
        assert library.threads == 2
    with threads.thread_limits(3, 10):  # a small problem
        assert library.threads == 7
