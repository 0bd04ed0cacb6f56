"""Ctrl-C and SIGTERM on the command line: stop at once and write nothing.

The library answers a ``KeyboardInterrupt`` with the best point so far.  That is right for a session in Python, but a
command would go on with the next fold or method, and write half a result.  So commands are stopped by ``Stopped``,
which the library does not catch.
"""

from __future__ import annotations

import _thread
import atexit
import os
import signal
import sys
import threading
from contextlib import contextmanager, suppress

TYPE_CHECKING = False  #: as in ``typing``, which is not waited for before Ctrl-C has its handler
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

#: Seconds after which an interrupt that got lost is repeated.
AGAIN = 0.05
#: Seconds that threads are given to end.
GRACE = 1.0


class Stopped(BaseException):
    """The user pressed Ctrl-C, or the process was asked to end."""


class Watch:
    """Records that Ctrl-C was pressed, and repeats it where a callback of compiled code lost it."""

    def __init__(self) -> None:
        self.seen, self.is_terminated = False, False
        self.hook = sys.unraisablehook
        self.repeats: list[threading.Timer] = []

    def stop(self, number: int, frame: Any) -> None:
        """Handle the signal."""
        self.seen, self.is_terminated = True, self.is_terminated or number == signal.SIGTERM
        raise Stopped

    def lost(self, report: Any) -> None:
        """Serve as Python's hook for exceptions that cannot be raised."""
        if not isinstance(report.exc_value, Stopped):
            self.hook(report)
            return
        self.repeats.append(threading.Timer(AGAIN, _thread.interrupt_main))
        self.repeats[-1].start()


@contextmanager
def stoppable(watch: Watch) -> Iterator[None]:
    """Turn Ctrl-C and SIGTERM into ``Stopped``."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        for number in handlers:
            signal.signal(number, watch.stop)
        sys.unraisablehook = watch.lost
        yield
    finally:
        for repeat in watch.repeats:
            repeat.cancel()
        sys.unraisablehook = watch.hook
        for number, handler in handlers.items():
            signal.signal(number, handler)


def ignore_signals() -> None:
    """Ignore further interrupts, so that the ending of the command is not changed by them."""
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)


def leave(code: int) -> None:
    """End the process at once; Python would wait for threads that go on fitting, and for a compilation."""
    others = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]
    for thread in others:
        with suppress(RuntimeError):  # one that the signal found half started cannot be waited for
            thread.join(GRACE / len(others))
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
