"""u-ASCD with a reference (see ``two_clocks.py``).

The highest key is evaluated until no clock lowers it; that coordinate is taken out.  Where its interval is smaller than
its key says, others are looked at, too, until what was found is not below the keys of those asleep.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper, wide
from ascd.engine.oracles.reference import REFRESHES
from ascd.engine.rules.clock_queues import ClockQueues
from ascd.engine.rules.lazy_rules import count_reaching
from ascd.engine.rules.order import shuffle
from ascd.engine.rules.two_clocks import BY_PATH, BY_PLANE, CLOCKS


class TwoClockUpper(NamedTuple):
    """u-ASCD."""

    queues: ClockQueues
    last: Array  # [the last pick, which is not asleep]

    @staticmethod
    def start(parts: Any, steepness: Any) -> TwoClockUpper:
        return TwoClockUpper(ClockQueues.of(parts, steepness), np.array([-1]))

    def select(self, point: Any, t: int, rng: Any) -> int:
        intervals, queues = point.intervals, self.queues
        if queues.clocks.advance(intervals):
            self.let_all_sleep(intervals, rng)
            which, highest = queues.on_top()
        else:
            which, highest = queues.on_top()
            which, highest = queues.let_sleep(intervals, wide(self.last[0]), which, highest)
        count, best, largest, rounding = 0, 0, -math.inf, queues.clocks.rounding()
        renewals = 2 * point.x.size  # at most: rounding might let one go to and fro between the clocks for ever
        while count == 0 or highest > largest + rounding:
            renewals -= 1
            if renewals < 0 or not queues.lower_first(intervals, which, highest - 2.0 * rounding):
                queues.note(count, queues.take_from(which))
                bound = intervals.signed_upper_at(queues.noted(count))
                best, largest = (count, bound) if count == 0 or bound > largest else (best, largest)
                count += 1
            which, highest = queues.on_top()
        self.last[0] = queues.noted(best)
        for number in range(count - 1, -1, -1):  # the last first: room for a list becomes room for the queue
            if number != best:
                which, highest = queues.let_sleep(intervals, queues.noted(number), which, highest)
        queues.foresee_first(point, which)
        return wide(self.last[0])

    @helper
    def let_all_sleep(self, intervals: Any, rng: Any) -> None:
        """Start, or a new reference.  Before the first reference many bounds may be equal: in random order."""
        queues, clocks = self.queues, self.queues.clocks
        queues.forget_all()
        list_all(queues.order[: intervals.x.size], intervals, rng)
        for position in range(intervals.x.size):
            j = wide(queues.order[position])  # no queue has come so far
            path, plane = clocks.upper_bounds(intervals, j)
            bound = plane if plane <= path else path
            which = BY_PLANE + clocks.class_now(intervals, j) if plane <= path else BY_PATH
            queues.queue_of(which).put(queues.end[which, -1], j, clocks.sleep_key(intervals, j, which, bound))
            queues.end[which, -1] += 1
        for which in range(CLOCKS):
            queues.queue_of(which).arrange()

    def active_count(self, point: Any) -> int:
        return count_reaching(point.intervals, 1, 1)


@helper
def list_all(order: Array, intervals: Any, rng: Any) -> None:
    """All coordinates; before the first reference, where many bounds are infinite, in random order."""
    for position in range(order.size):
        order[position] = position
    if intervals.extra.place[REFRESHES] == 0.0:
        shuffle(order, order.size, rng)
