"""Two kinds of time: seconds of work, and, apart from them, seconds of compiling.

Compiling is what a first call costs once: importing numba, compiling a kernel, or loading it from disk.  Each thread
counts its own, waiting for another thread's compiler included; so a run can tell what of its time was not work.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import Lock, Timer, local
from typing import Any

from ascd._core import tuning

#: Said where compiling takes longer than a moment and somebody asked for it.
NOTICE = "compiling, once: the compiled code is kept for the next run"


class _Spent(local):
    seconds = 0.0
    depth = 0


_spent = _Spent()


class Stopwatch:
    """Seconds since it was made; compiling counts apart."""

    def __init__(self) -> None:
        self._began, self._compiled = time.perf_counter(), _spent.seconds

    @property
    def compile_seconds(self) -> float:
        return _spent.seconds - self._compiled

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - self._began

    @property
    def seconds(self) -> float:
        return self.elapsed - self.compile_seconds


@contextmanager
def compiling() -> Iterator[None]:
    """The time inside is compiling; a kernel that needs another one first is counted once."""
    _spent.depth += 1
    began = time.perf_counter()
    timer = _notice.start() if _spent.depth == 1 else None
    try:
        yield
    finally:
        _spent.depth -= 1
        if _spent.depth == 0:
            _spent.seconds += time.perf_counter() - began
        if timer is not None:
            timer.cancel()


def timed(compiler: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose time is compiling."""

    @wraps(compiler)
    def with_the_clock(*args: Any, **kwargs: Any) -> Any:
        with compiling():
            return compiler(*args, **kwargs)

    return with_the_clock


class _Notice:
    """Says once that something is being compiled, when it has taken longer than a moment in all."""

    def __init__(self) -> None:
        self.say: Callable[[str], Any] | None = None
        self.watch = Stopwatch()
        self._lock = Lock()

    def start(self) -> Timer | None:
        if self.say is None:
            return None
        timer = Timer(max(0.0, tuning.A_MOMENT - self.watch.compile_seconds), self._announce)
        timer.daemon = True
        timer.start()
        return timer

    def _announce(self) -> None:
        with self._lock:
            say, self.say = self.say, None
        if say is not None:
            say(NOTICE)


_notice = _Notice()


@contextmanager
def announcing(say: Callable[[str], Any]) -> Iterator[None]:
    """Inside, ``say`` is called once if compiling takes longer than a moment."""
    _notice.say, _notice.watch = say, Stopwatch()
    try:
        yield
    finally:
        _notice.say = None
