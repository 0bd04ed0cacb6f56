"""Columns shared among threads: compiled kernels let go of Python's lock, so a plain pool of threads is enough."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np

from ascd._base.checks import as_count
from ascd._base.tuning import WORTH_LIMITING, WORTH_SHARING


def as_n_jobs(n_jobs: Any) -> int:
    """The number of threads: a positive number, or −1 for one a processor; None is one."""
    if n_jobs is None:
        return 1
    if n_jobs == -1:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(n_jobs, int) and n_jobs < 1:
        raise ValueError(f"n_jobs must be positive, or -1 for all processors; got {n_jobs}")
    return as_count(n_jobs, "n_jobs")


@cache
def _pool(n_jobs: int, process: int) -> ThreadPoolExecutor:
    """One pool for each process: a forked one inherits the pool, but not its threads."""
    return ThreadPoolExecutor(n_jobs, thread_name_prefix="ascd")


def share(n_jobs: int, size: int, kernel: Callable[..., Any], *arguments: Any) -> None:
    """Call kernel(*arguments, start, stop) for consecutive parts of range(size), side by side."""
    if n_jobs == 1 or size < WORTH_SHARING:
        kernel(*arguments, 0, size)
        return
    parts = 4 * n_jobs
    ends = [size * part // parts for part in range(parts + 1)]
    futures = [_pool(n_jobs, os.getpid()).submit(kernel, *arguments, *span) for span in pairwise(ends)]
    try:
        for future in futures:
            future.result()
    finally:
        wait(futures)  # after Ctrl-C too: nobody must write to the arrays any more


@contextmanager
def blas_threads(n_jobs: int, entries: int) -> Iterator[None]:
    """Hold the linear algebra library to as many threads: on small matrices more of them only wait for each other.

    Problems with so few ``entries`` that the library keeps to one thread anyway are left alone.  The library has one
    number for the whole process: of runs side by side the first sets it, and the last to end restores it.
    """
    if entries < WORTH_LIMITING:
        yield
        return
    _enter(n_jobs)
    try:
        yield
    finally:
        _leave()


@contextmanager
def quiet(n_jobs: int, entries: int) -> Iterator[None]:
    """``blas_threads``, and no warnings from NumPy: steps that overflow are looked at and taken back."""
    with blas_threads(n_jobs, entries), np.errstate(all="ignore"):
        yield


_lock = Lock()
_limits: list[Any] = []  # one entry a run; the first holds what is to be restored


def _enter(n_jobs: int) -> None:
    with _lock:
        _limits.append(None if _limits else _controller().limit(limits=n_jobs, user_api="blas"))


def _leave() -> None:
    with _lock:
        if len(_limits) == 1:
            _limits[0].restore_original_limits()
        _limits.pop()


@cache
def _controller() -> Any:
    import scipy.linalg  # noqa: F401  its library must be loaded to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
