"""Work shared among threads: compiled kernels release Python's lock, so a plain pool of threads is enough.

The number of threads belongs to the context, set where a run begins (``use_threads``, ``thread_limits``): long work
is passed to ``share``, and no function takes a number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import cache, partial
from itertools import pairwise
from numbers import Integral
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

#: Nanoseconds of work that a further thread must have: to wake one takes a part of that.  With sixteen threads on x86
#: that is some 100 µs each (``python benchmarks/reach.py --only threads``).
WORTH_A_THREAD = 2.5e5
#: Parts for each thread, at most: the first to end takes another.  Nanoseconds of work that a part must have then.
#: (A pass over 5·10⁷ sparse entries has three for each of sixteen.)
MOST_PARTS, WORTH_A_PART = 4, 1e6
#: With fewer entries in the matrix than this, the linear algebra library (OpenBLAS) does not start threads, and they
#: need not be limited, which takes longer than such a product.
WORTH_LIMITING = 10_000
#: Products in a call of that library that are worth waking its threads for, 0.1 s of them: they stay busy for 2²⁶
#: ticks of the processor's stopwatch after it (20 ms on x86, 0.5 s on ARM).
WORTH_THE_LIBRARYS = 1e9

_jobs: ContextVar[int] = ContextVar("threads of this context", default=1)
_lock = Lock()
_limits: list[Any] = []  # one entry a run; the first holds what is to be restored


def as_n_jobs(n_jobs: Any) -> int:
    """Return the number of threads; None is 1, −1 one a processor, −2 one less, and so on, but at least 1."""
    if n_jobs is None:
        return 1
    allowed = "None, a positive integer, or a negative one (-1: all processors, -2: all but one)"
    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool):
        raise TypeError(f"n_jobs must be {allowed}; got {n_jobs!r}")
    asked = int(n_jobs)
    if asked == 0:
        raise ValueError(f"n_jobs must be {allowed}; got 0")
    if asked > 0:
        return asked
    from joblib import cpu_count  # those that this process may use: a container may have fewer than the machine

    return max(1, int(cpu_count()) + 1 + asked)


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    """Return the pool of a process: a forked one inherits the object, but not its threads."""
    return ThreadPoolExecutor(256, thread_name_prefix="ascd")


def threads_here() -> int:
    """Return the number of threads that work may be shared among in this context; set by ``use_threads``."""
    return _jobs.get()


def share(price: float, size: int, kernel: Callable[..., Any], *arguments: Any) -> None:
    """Call kernel(*arguments, start, stop) for consecutive parts of range(size), in parallel.

    ``price`` is the time of all of it on one thread, in nanoseconds.  Parts have equal size.  The kernel writes only to
    the entries of its own part, so that the outcome does not depend on the number of threads.
    """
    n_jobs = _jobs.get()
    most = max(n_jobs, min(MOST_PARTS * n_jobs, price / WORTH_A_PART))
    parts = 1 if n_jobs == 1 else min(size, int(min(most, price / WORTH_A_THREAD)))
    if parts < 2:
        kernel(*arguments, 0, size)
        return
    spans = list(pairwise(size * part // parts for part in range(parts + 1)))
    work = partial(_work, partial(kernel, *arguments), spans, iter(spans))
    helping = [_pool(os.getpid()).submit(copy_context().run, work) for _ in range(min(n_jobs, parts) - 1)]
    try:
        copy_context().run(work)
    finally:
        spans.clear()
        begun = [each for each in helping if not each.cancel()]
        wait(begun)  # after Ctrl-C too: no thread must write to the arrays any more
    for each in begun:
        each.result()


def by_parts(price: float, size: int, part: int, kernel: Callable[..., Any], *arguments: Any) -> npt.NDArray[Any]:
    """Return kernel(*arguments, start, stop) for parts of range(size) of this length, one a row.

    Parts that do not depend on the number of threads give sums that do not, either. No numbers are one empty part.
    """
    found: list[Any] = [None] * max(1, -(-size // part))

    def fill(first: int, last: int) -> None:
        for number in range(first, last):
            found[number] = kernel(*arguments, number * part, min((number + 1) * part, size))

    share(price * size, len(found), fill)
    return np.array(found)


def _work(kernel: Callable[..., Any], spans: list[tuple[int, int]], left: Iterator[tuple[int, int]]) -> None:
    """Do the parts that no other thread has taken; what they do is not shared further."""
    _jobs.set(1)
    try:
        for span in left:
            kernel(*span)
    except BaseException:
        spans.clear()  # nobody begins another
        raise


@contextmanager
def use_threads(n_jobs: int) -> Iterator[None]:
    """Share the library's own work inside among so many threads."""
    token = _jobs.set(n_jobs)
    try:
        yield
    finally:
        _jobs.reset(token)


@contextmanager
def thread_limits(n_jobs: int, entries: int, library: int = 1) -> Iterator[None]:
    """Use ``n_jobs`` threads for our own work, ``library`` for the linear algebra library's; silence NumPy's warnings.

    The library's threads go on waiting busily after each call, on processors that ours need.  So it has one, unless a
    run is made of its calls, and its work is shared among ours.  The library has one number for the whole process: of
    runs in parallel the first sets it, and the last to end restores it.  With so few ``entries`` that it keeps to one
    thread anyway it is left alone.
    """
    token, is_limited = _jobs.set(n_jobs), entries >= WORTH_LIMITING
    if is_limited:
        with _lock:
            _limits.append(None if _limits else _switch(partial(_controller().limit, limits=library, user_api="blas")))
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        _jobs.reset(token)
        if is_limited:
            with _lock:
                if len(_limits) == 1:
                    _switch(_limits[0].restore_original_limits)
                _limits.pop()


@contextmanager
def library_helps(work: float) -> Iterator[None]:
    """Give the library our threads for one long call, of so many products, if no other run is beside this one."""
    n_jobs = _jobs.get()
    if n_jobs == 1 or work < WORTH_THE_LIBRARYS or len(_limits) != 1:
        yield
        return
    limit = _switch(partial(_controller().limit, limits=n_jobs, user_api="blas"))
    try:
        yield
    finally:
        _switch(limit.restore_original_limits)


def _switch(change: Callable[[], Any]) -> Any:
    """Set the number of the library's threads: threadpoolctl, from 3.8 on, listens to one thread until that lets go."""
    from threadpoolctl import OpenBLASController

    let_go = getattr(OpenBLASController, "clear_controlling_thread", dict)
    let_go(force=True)
    former = change()
    let_go(force=True)
    return former


@cache
def _controller() -> Any:
    import scipy.linalg  # noqa: F401  its library must be loaded to be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
