"""The bound-based rules on lazy heaps (see ``lazy.py``): u-ASCD, ℓ-ASCD, a-ASCD and SCD.

**u-ASCD** takes the top of the upper bounds.  Unknown ones are all infinite: the heap starts in random order, so that a
tie is broken uniformly.  **ℓ-ASCD** takes the top of the lower bounds, or any coordinate where all are 0.

**SCD** takes the top of the upper bounds and reads it, until the top is known exactly: then its score is the largest,
because it beats the upper bounds of all others.

**a-ASCD** keeps the upper bounds in buckets (``buckets.py``), by keys u − ρG as of their last evaluation.  All members
of the active set have a key of at least max ℓ − ρG; a uniform draw from the prefix above that which has u ≥ max ℓ is
uniform on the active set.  A draw that fails gets its key renewed, so that the same stale key fails once.  Where the
buckets have lost their proportions and draws have been wasted to the worth of a scan, they are filled afresh.  Where
max ℓ = 0 everything with u > 0 is active (see ``scan.py``); where there is no such coordinate either, any is picked.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._base.checks import Array
from ascd._base.jit import helper, wide
from ascd.engine.rules.buckets import Buckets
from ascd.engine.rules.lazy import LazyBounds, Rates
from ascd.engine.rules.scan import LEAST
from ascd.engine.tuning import DRAWS_A_REFILL


class LazyUpper(NamedTuple):
    """u-ASCD."""

    ceiling: LazyBounds
    started: Array

    @staticmethod
    def start(n: int, rates: Rates) -> LazyUpper:
        return LazyUpper(LazyBounds.upper(n, rates.rise), np.array([False]))

    def select(self, point: Any, t: int, rng: Any) -> int:
        follow_top(self.ceiling, point.intervals, self.started, rng)
        self.ceiling.largest_bound(point.intervals)
        return wide(self.ceiling.heap.order[0])

    def active_count(self, point: Any) -> int:
        return count_reaching(point.intervals, 1, 1)


class LazySteepest(NamedTuple):
    """SCD that reads only what may be steepest."""

    ceiling: LazyBounds
    started: Array

    @staticmethod
    def start(n: int, rates: Rates) -> LazySteepest:
        return LazySteepest(LazyBounds.upper(n, rates.rise), np.array([False]))

    def select(self, point: Any, t: int, rng: Any) -> int:
        follow_top(self.ceiling, point.intervals, self.started, rng)
        while True:
            self.ceiling.largest_bound(point.intervals)
            top = wide(self.ceiling.heap.order[0])
            if point.intervals.radius_at(top) == 0.0:
                return top
            point.intervals.pin(top, point.partial(top), 0.0)
            self.ceiling.renew_top(point.intervals)

    def active_count(self, point: Any) -> int:
        return 1


class LazyLower(NamedTuple):
    """ℓ-ASCD."""

    floor: LazyBounds
    last: Array  # [the last pick, −1 before the first]

    @staticmethod
    def start(n: int, rates: Rates) -> LazyLower:
        return LazyLower(LazyBounds.lower(n, rates.fall), np.array([-1]))

    def select(self, point: Any, t: int, rng: Any) -> int:
        if self.last[0] < 0:
            self.floor.evaluate_all(point.intervals, rng)
        else:
            self.floor.renew(point.intervals, self.last[0])
        largest = self.floor.largest_bound(point.intervals)
        self.last[0] = wide(self.floor.heap.order[0]) if largest > 0.0 else int(rng.random() * point.x.size)
        return self.last[0]

    def active_count(self, point: Any) -> int:
        return count_reaching(point.intervals, 0, 0)


class LazyHeuristic(NamedTuple):
    """a-ASCD."""

    floor: LazyBounds
    ceiling: Buckets
    drift: float
    state: Array  # [the last pick, wasted draws]

    @staticmethod
    def start(n: int, rates: Rates) -> LazyHeuristic:
        return LazyHeuristic(LazyBounds.lower(n, rates.fall), Buckets.of(n), rates.rise, np.array([-1, 0]))

    def select(self, point: Any, t: int, rng: Any) -> int:
        intervals, last = point.intervals, self.state[0]
        if last < 0:
            self.floor.evaluate_all(intervals, rng)
            self.refill(intervals)
        else:
            self.floor.renew(intervals, last)
            self.ceiling.rekey(last, self.level(intervals, last))
        largest = max(self.floor.largest_bound(intervals), LEAST)
        while True:
            threshold = largest - self.drift * intervals.clock[0]
            candidates = self.ceiling.end[self.ceiling.bucket_of(threshold)]
            j = wide(self.ceiling.order[int(rng.random() * candidates)])
            if intervals.signed_upper_at(j) >= largest:
                self.state[0] = j
                return j
            self.state[1] += 1
            if self.state[1] * DRAWS_A_REFILL > self.ceiling.key.size:
                self.refill(intervals)
                if count_above(intervals, largest) == 0:
                    self.state[0] = int(rng.random() * point.x.size)
                    return self.state[0]
            else:
                self.ceiling.rekey(j, self.level(intervals, j))

    @helper
    def level(self, intervals: Any, j: int) -> float:
        """The key that belongs to coordinate j now."""
        return intervals.signed_upper_at(j) - self.drift * intervals.clock[0]

    @helper
    def refill(self, intervals: Any) -> None:
        """Evaluate all keys and fill the buckets afresh."""
        for j in range(self.ceiling.key.size):
            self.ceiling.key[j] = self.level(intervals, j)
        self.ceiling.distribute()
        self.state[1] = 0

    def active_count(self, point: Any) -> int:
        return count_reaching(point.intervals, 1, 0) or point.x.size


@helper
def follow_top(bounds: Any, intervals: Any, started: Array, rng: Any) -> None:
    """Bring the heap up to date: the coordinate that was visited last is its top."""
    if started[0]:
        bounds.renew_top(intervals)
    else:
        started[0] = True
        bounds.evaluate_all(intervals, rng)


@helper
def count_above(intervals: Any, threshold: float) -> int:
    """How many upper bounds reach the threshold."""
    count = 0
    for j in range(intervals.x.size):
        count += intervals.signed_upper_at(j) >= threshold
    return count


@helper
def count_reaching(intervals: Any, which: int, against: int) -> int:
    """How many bounds of one kind (0 lower, 1 upper) reach the largest of a kind."""
    largest = 0.0 if which == against else LEAST
    for j in range(intervals.x.size):
        largest = max(largest, intervals.bounds_at(j)[against])
    count = 0
    for j in range(intervals.x.size):
        count += intervals.bounds_at(j)[which] >= largest
    return count
