"""Seconds of work, and apart from them seconds of compiling.

Compiling is what a first call costs once: importing numba, compiling a kernel, or loading it from disk.  Each thread
counts its own, waiting for another thread's compiler included.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer, local
from typing import Any

#: Compiling that takes longer than this many seconds is announced, where somebody asked for it.
A_MOMENT = 0.5


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
    def seconds(self) -> float:
        return time.perf_counter() - self._began - (_spent.seconds - self._compiled)


#: Functions to call with the notice, with the time since they were given.
_listeners: list[tuple[Callable[[str], Any], Stopwatch]] = []


@contextmanager
def compiling() -> Iterator[None]:
    """Count the time inside as compiling; a kernel that needs another one first is counted once."""
    _spent.depth += 1
    began, timer = time.perf_counter(), None
    if _listeners and _spent.depth == 1:
        timer = Timer(max(0.0, A_MOMENT - _listeners[0][1].compile_seconds), _announce)
        timer.daemon = True
        timer.start()
    try:
        yield
    finally:
        _spent.depth -= 1
        if _spent.depth == 0:
            _spent.seconds += time.perf_counter() - began
        if timer is not None:
            timer.cancel()


def _announce() -> None:
    while _listeners:
        _listeners.pop()[0]("compiling, once: the compiled code is kept for the next run")


@contextmanager
def announcing(say: Callable[[str], Any]) -> Iterator[None]:
    """Call ``say`` once where compiling inside takes longer than a moment."""
    _listeners.append((say, Stopwatch()))
    try:
        yield
    finally:
        _listeners.clear()
