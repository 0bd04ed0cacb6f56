"""A pool of threads that is quick to call: work is shared out dozens of times in a run of milliseconds.

A call hands the same work to several threads and does not wait for those that have not begun when it ends: whoever
shares work does a part of it, and may be done before the last thread wakes up.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context, copy_context
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any


class Call:
    """Work that several threads are asked to do; ``error`` is what one of them raised."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        self.error: BaseException | None = None
        self._lock, self._ended = Lock(), Lock()
        self._busy, self._is_open = 0, True
        self._ended.acquire()  # released by the last thread that is busy after the end

    def help(self, context: Context) -> None:
        """Do the work, unless the call has ended."""
        with self._lock:
            if not self._is_open:
                return
            self._busy += 1
        try:
            context.run(self.work)
        except BaseException as error:  # raised again where the call was made
            self.error = error
        with self._lock:
            self._busy -= 1
            is_last = not self._is_open and self._busy == 0
        if is_last:
            self._ended.release()

    def end(self) -> None:
        """Nobody begins any more; wait for those who have begun."""
        with self._lock:
            self._is_open = False
            is_busy = self._busy > 0
        if is_busy:
            self._ended.acquire()


class Pool:
    """At most so many threads, made as needed; they end with the process."""

    def __init__(self, most: int) -> None:
        self.most, self._lock = most, Lock()
        self._calls: SimpleQueue[tuple[Call, Context]] = SimpleQueue()
        self._made = self._wanted = 0

    def call(self, count: int, work: Callable[[], Any]) -> Call:
        """Ask so many threads to do the work, each in a copy of this context."""
        call = Call(work)
        with self._lock:
            self._wanted += count
            missing = range(self._made, min(self._wanted, self.most))
            self._made += len(missing)
        for number in missing:
            Thread(target=self._serve, name=f"ascd_{number}", daemon=True).start()
        for _ in range(count):
            self._calls.put((call, copy_context()))
        return call

    def _serve(self) -> None:
        while True:
            call, context = self._calls.get()
            call.help(context)
            del call, context  # what they hold is not kept until the next call
            with self._lock:
                self._wanted -= 1
