"""The bound-based rules on lazy heaps (see ``lazy.py``): u-ASCD, ℓ-ASCD, a-ASCD and SCD.

**u-ASCD** takes the top of the upper bounds; **ℓ-ASCD** the top of the lower bounds, or anything where all are 0.
Where several are equal, as all unknown upper bounds are, the pick is uniform among them, by rejection.

**SCD** takes the top of the upper bounds and reads it, until the top is known exactly: then its score is the largest,
because it beats the upper bounds of all others.

**a-ASCD** keeps the upper bounds in buckets (``buckets.py``), by keys u − ρG as of their last evaluation.  All members
of the active set have a key of at least max ℓ − ρG; a uniform draw from the prefix above that which has u ≥ max ℓ is
uniform on the active set.  A draw that fails gets its key renewed, so that the same stale key fails once.  Where the
buckets have lost their proportions and draws have been wasted to the worth of a scan, they are filled afresh.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._checks import Array
from ascd._jit import helper
from ascd.rules.buckets import Buckets
from ascd.rules.lazy import LazyBounds

#: Filling the buckets costs about as much as n/2 wasted draws.
DRAWS_A_REFILL = 2


class LazyUpper(NamedTuple):
    """u-ASCD."""

    ceiling: LazyBounds
    last: Array  # [the last pick, −1 before the first]

    @staticmethod
    def start(n: int, rates: Array) -> LazyUpper:
        return LazyUpper(LazyBounds.upper(n, rates), np.array([-1]))

    def select(self, point: Any, t: int, rng: Any) -> int:
        follow(self.ceiling, point.intervals, self.last[0])
        pick = self.ceiling.true_top(point.intervals)
        if math.isinf(point.intervals.bounds_at(pick)[1]):
            pick = draw_reaching(point.intervals, 1, math.inf, rng)
        self.last[0] = pick
        return pick

    def active_count(self, point: Any) -> int:
        return count_reaching(point.intervals, 1, 1)


class LazyLower(NamedTuple):
    """ℓ-ASCD."""

    floor: LazyBounds
    last: Array

    @staticmethod
    def start(n: int, rates: Array) -> LazyLower:
        return LazyLower(LazyBounds.lower(n), np.array([-1]))

    def select(self, point: Any, t: int, rng: Any) -> int:
        follow(self.floor, point.intervals, self.last[0])
        pick = self.floor.true_top(point.intervals)
        if point.intervals.bounds_at(pick)[0] == 0.0:
            pick = int(rng.random() * point.x.size)
        self.last[0] = pick
        return pick

    def active_count(self, point: Any) -> int:
        return count_reaching(point.intervals, 0, 0)


class LazySteepest(NamedTuple):
    """SCD that reads only what may be steepest."""

    ceiling: LazyBounds
    last: Array

    @staticmethod
    def start(n: int, rates: Array) -> LazySteepest:
        return LazySteepest(LazyBounds.upper(n, rates), np.array([-1]))

    def select(self, point: Any, t: int, rng: Any) -> int:
        follow(self.ceiling, point.intervals, self.last[0])
        while True:
            top = self.ceiling.true_top(point.intervals)
            if point.intervals.radius_at(top) == 0.0:
                self.last[0] = top
                return top
            point.intervals.pin(top, point.partial(top), 0.0)
            self.ceiling.renew(point.intervals, top)

    def active_count(self, point: Any) -> int:
        return 1


class LazyHeuristic(NamedTuple):
    """a-ASCD."""

    floor: LazyBounds
    ceiling: Buckets
    drift: float
    state: Array  # [the last pick, wasted draws]

    @staticmethod
    def start(n: int, rates: Array) -> LazyHeuristic:
        return LazyHeuristic(LazyBounds.lower(n), Buckets.of(n), float(np.max(rates)), np.array([-1, 0]))

    def select(self, point: Any, t: int, rng: Any) -> int:
        intervals, last = point.intervals, self.state[0]
        follow(self.floor, intervals, last)
        if last < 0:
            self.refill(intervals)
        else:
            self.ceiling.rekey(last, self.level(intervals, last))
        largest = intervals.bounds_at(self.floor.true_top(intervals))[0]
        while True:
            threshold = largest - self.drift * intervals.clock[0]
            candidates = self.ceiling.end[self.ceiling.bucket_of(threshold)]
            j = int(self.ceiling.order[int(rng.random() * candidates)])
            if intervals.bounds_at(j)[1] >= largest:
                self.state[0] = j
                return j
            self.state[1] += 1
            if self.state[1] * DRAWS_A_REFILL > self.ceiling.key.size:
                self.refill(intervals)
            else:
                self.ceiling.rekey(j, self.level(intervals, j))

    def level(self, intervals: Any, j: int) -> float:
        """The key that belongs to coordinate j now."""
        return intervals.bounds_at(j)[1] - self.drift * intervals.clock[0]

    def refill(self, intervals: Any) -> None:
        """Evaluate all keys and fill the buckets afresh."""
        for j in range(self.ceiling.key.size):
            self.ceiling.key[j] = self.level(intervals, j)
        self.ceiling.distribute()
        self.state[1] = 0

    def active_count(self, point: Any) -> int:
        return count_reaching(point.intervals, 1, 0)


@helper
def follow(bounds: Any, intervals: Any, last: int) -> None:
    """Bring the heap up to date with the coordinate that was visited last."""
    if last < 0:
        bounds.evaluate_all(intervals)
    else:
        bounds.renew(intervals, last)


@helper
def draw_reaching(intervals: Any, which: int, threshold: float, rng: Any) -> int:
    """Uniform among the coordinates whose bound reaches the threshold, by rejection; there must be one."""
    j = int(rng.random() * intervals.x.size)
    while intervals.bounds_at(j)[which] < threshold:
        j = int(rng.random() * intervals.x.size)
    return j


@helper
def count_reaching(intervals: Any, which: int, against: int) -> int:
    """How many bounds of one kind (0 lower, 1 upper) reach the largest of a kind."""
    largest = 0.0
    for j in range(intervals.x.size):
        largest = max(largest, intervals.bounds_at(j)[against])
    count = 0
    for j in range(intervals.x.size):
        count += intervals.bounds_at(j)[which] >= largest
    return count
