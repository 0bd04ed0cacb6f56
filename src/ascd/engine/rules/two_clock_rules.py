"""u-ASCD with a reference (see ``two_clocks.py``).

The highest key is evaluated until no clock lowers it; that coordinate is taken out.  Where its interval is smaller than
its key says, others are looked at, too, until what was found is not below the keys of those asleep.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._base.checks import Array
from ascd._base.jit import helper, wide
from ascd.engine.oracles.reference import REFRESHES
from ascd.engine.rules.lazy_rules import count_reaching
from ascd.engine.rules.order import shuffle
from ascd.engine.rules.two_clocks import never_or, upper_bounds
from ascd.engine.rules.two_queues import TwoQueues


class TwoClockUpper(NamedTuple):
    """u-ASCD."""

    queues: TwoQueues
    woken: Array
    last: Array  # [the last pick, which is not asleep]

    @staticmethod
    def start(parts: Any, oracle: Any, steepness: Any) -> TwoClockUpper:
        n = parts.norm.size
        return TwoClockUpper(TwoQueues.of(parts, oracle, steepness), np.empty(n, dtype=np.int32), np.array([-1]))

    def select(self, point: Any, t: int, rng: Any) -> int:
        intervals, queues = point.intervals, self.queues
        if queues.clocks.advance(intervals):
            self.let_all_sleep(intervals, rng)
        else:
            queues.let_sleep(intervals, wide(self.last[0]), queues.highest(intervals))
        count, best, largest, rounding = 0, 0, -math.inf, queues.clocks.rounding(intervals)
        renewals = 2 * self.woken.size  # at most: rounding might let one go to and fro between the clocks for ever
        while count == 0 or queues.highest(intervals) > largest + rounding:
            renewals -= 1
            if renewals < 0 or not queues.lower_highest(intervals, queues.highest(intervals) - 2.0 * rounding):
                self.woken[count] = queues.take_highest(intervals)
                bound = intervals.signed_upper_at(wide(self.woken[count]))
                best, largest = (count, bound) if count == 0 or bound > largest else (best, largest)
                count += 1
        for number in range(count):
            if number != best:
                queues.let_sleep(intervals, wide(self.woken[number]), largest)
        queues.foresee_next(point)
        self.last[0] = self.woken[best]
        return wide(self.last[0])

    @helper
    def let_all_sleep(self, intervals: Any, rng: Any) -> None:
        """Start, or a new reference.  Before the first reference many bounds may be equal: in random order."""
        queues, clocks, paths, planes = self.queues, self.queues.clocks, 0, 0
        list_all(self.woken, intervals, rng)
        for position in range(self.woken.size):
            j = wide(self.woken[position])
            path, plane = upper_bounds(intervals, j)
            if plane <= path:
                queues.by_plane().put(planes, j, never_or(intervals, j, plane, clocks.plane_shift()))
                planes += 1
            else:
                queues.by_path.put(paths, j, never_or(intervals, j, path, clocks.path_shift(intervals)))
                paths += 1
        queues.by_path.take_first(paths)
        queues.by_plane().take_first(planes)

    def active_count(self, point: Any) -> int:
        return count_reaching(point.intervals, 1, 1)


@helper
def list_all(order: Array, intervals: Any, rng: Any) -> None:
    """All coordinates; before the first reference, where many bounds are infinite, in random order."""
    for position in range(order.size):
        order[position] = position
    if intervals.extra.place[REFRESHES] == 0.0:
        shuffle(order, order.size, rng)
