"""Those asleep by the path or by the plane (``two_clocks.py``), in a queue for each clock: for u-ASCD."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper, wide
from ascd.engine.rules.lazy_rules import ask_for_column, ask_for_numbers
from ascd.engine.rules.queue import Queue
from ascd.engine.rules.two_clocks import BY_PATH, BY_PLANE, CLASSES, CLOCKS, Clocks


class ClockQueues(NamedTuple):
    """A queue for each clock; its keys are bounds minus what the clock has moved them by.

    ``key`` and ``order`` are for those who sleep by the path, and behind them by the plane, by class.  Whoever does not
    sleep leaves room in the first part, behind the queue: for a list of those who have just been woken.
    """

    clocks: Clocks
    key: Array
    order: Array
    first: Array  # where each queue begins in them
    edge: Array  # of all queues, by rows
    end: Array
    sample: Array
    places: Array

    @staticmethod
    def of(parts: Any, steepness: Any) -> ClockQueues:
        """Nobody is asleep."""
        n = parts.norm.size
        one, first = Queue.empty(n), np.zeros(CLOCKS, dtype=np.int64)
        rooms = np.empty(3 * n), np.empty(3 * n, dtype=np.int32), first
        levels = np.tile(one.edge, (CLOCKS, 1)), np.tile(one.end, (CLOCKS, 1))
        return ClockQueues(Clocks.of(parts, steepness), *rooms, *levels, one.sample, one.places)

    @helper
    def queue_of(self, which: int) -> Queue:
        begin, size = self.first[which], self.clocks.kind.size
        if which != BY_PATH:
            size = self.clocks.members_of(which - BY_PLANE)
        rooms = self.key[begin : begin + size], self.order[begin : begin + size]
        return Queue(*rooms, self.edge[which], self.end[which], self.sample, self.places)

    @helper
    def forget_all(self) -> None:
        """Nobody is asleep, and there may be other kinds of columns than before."""
        self.end[:] = 0
        for k in range(CLASSES):
            before = self.clocks.kind.size if k == 0 else self.first[BY_PLANE + k - 1] + self.clocks.members_of(k - 1)
            self.first[BY_PLANE + k] = before

    @helper
    def note(self, number: int, j: int) -> None:
        """Put j into the list of those who have just been woken."""
        self.order[self.clocks.kind.size - 1 - number] = j

    @helper
    def noted(self, number: int) -> int:
        return wide(self.order[self.clocks.kind.size - 1 - number])

    @helper
    def top_bound(self, which: int) -> float:
        """What no upper bound of those in a queue exceeds."""
        return self.key[self.first[which]] + self.clocks.shift[which] if self.end[which, -1] > 0 else -math.inf

    @helper
    def top_of(self, which: int) -> int:
        """The first of a queue that is not empty."""
        return wide(self.order[self.first[which]])

    @helper
    def on_top(self) -> tuple[int, float]:
        """The queue of the highest of all, and a number that no upper bound of those asleep exceeds."""
        which, highest = 0, -math.inf
        for each in range(CLOCKS):
            bound = self.top_bound(each)
            if bound > highest or self.end[which, -1] == 0:
                which, highest = each, bound
        return which, highest

    @helper
    def foresee_first(self, point: Any, which: int) -> None:
        """Ask for the memory of the first of a queue, who is likely to be taken next."""
        if self.end[which, -1] > 0:
            ask_for_numbers(point, self.top_of(which))
            ask_for_column(point, self.top_of(which))

    @helper
    def take_from(self, which: int) -> int:
        """Wake the first of a queue."""
        j = self.top_of(which)
        self.queue_of(which).drop_top()
        return j

    @helper
    def let_sleep(self, intervals: Any, j: int, which: int, level: float) -> tuple[int, float]:
        """Let j sleep by the clock that is expected to keep it below the level for longer.

        The level is what is on top, in a queue; returns the same after that.
        """
        clock, bound = self.clocks.best_clock(intervals, j, level)
        self.queue_of(clock).put_in(j, self.clocks.sleep_key(intervals, j, clock, bound))
        highest = self.top_bound(clock)
        return (clock, highest) if highest > level or self.end[which, -1] == 0 else (which, level)

    @helper
    def lower_first(self, intervals: Any, which: int, level: float) -> bool:
        """Renew the key of the first of a queue where a clock keeps it below the level and the key falls.

        Was it renewed?  If not, it is as low as it can be, up to a difference of rounding.
        """
        j, clocks = self.top_of(which), self.clocks
        other, bound = clocks.best_clock(intervals, j, level)
        if not bound < level:
            return False
        key = clocks.sleep_key(intervals, j, other, bound)
        if other != which:
            self.take_from(which)
            self.queue_of(other).put_in(j, key)
            return True
        has_fallen = key < self.key[self.first[which]]
        if has_fallen:
            self.queue_of(which).replace_top(key)
        return has_fallen
