"""The bound-based rules on lazy heaps (see ``lazy.py``): u-ASCD, ℓ-ASCD and SCD (a-ASCD: ``lazy_draws.py``).

**u-ASCD** takes the top of the upper bounds.  Unknown ones are all infinite: the heap starts in random order, so that a
tie is broken uniformly.  **ℓ-ASCD** takes the top of the lower bounds, or any coordinate where all are 0.

**SCD** takes the top of the upper bounds and reads it, until the top is known exactly: then its score is the largest,
because it beats the upper bounds of all others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper, optional_method, wide
from ascd._core.scalars import fetch
from ascd.engine.rules.lazy import LazyBounds, Rates
from ascd.engine.rules.scan import LEAST
from ascd.matrix.columns import ask_for_start


class LazyUpper(NamedTuple):
    """u-ASCD."""

    ceiling: LazyBounds
    started: Array

    @staticmethod
    def start(n: int, rates: Rates) -> LazyUpper:
        return LazyUpper(LazyBounds.upper(n, rates), np.array([False]))

    def select(self, point: Any, t: int, rng: Any) -> int:
        follow_top(self.ceiling, point.intervals, self.started, rng)
        self.ceiling.largest_bound(point.intervals)
        soon = self.ceiling.holder.after_top()
        ask_for_numbers(point, soon)
        ask_for_column(point, soon)
        return wide(self.ceiling.holder.order[0])

    def active_count(self, point: Any) -> int:
        return count_reaching(point.intervals, 1, 1)


class LazySteepest(NamedTuple):
    """SCD that reads only what may be steepest."""

    ceiling: LazyBounds
    started: Array

    @staticmethod
    def start(n: int, rates: Rates) -> LazySteepest:
        return LazySteepest(LazyBounds.upper(n, rates), np.array([False]))

    def select(self, point: Any, t: int, rng: Any) -> int:
        follow_top(self.ceiling, point.intervals, self.started, rng)
        while True:
            self.ceiling.largest_bound(point.intervals)
            top = wide(self.ceiling.holder.order[0])
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
        return LazyLower(LazyBounds.lower(n, rates), np.array([-1]))

    def select(self, point: Any, t: int, rng: Any) -> int:
        if self.last[0] < 0:
            self.floor.evaluate_all(point.intervals, rng)
        else:
            self.floor.renew(point.intervals, self.last[0])
        largest = self.floor.largest_bound(point.intervals)
        self.last[0] = wide(self.floor.holder.order[0]) if largest > 0.0 else int(rng.random() * point.x.size)
        return self.last[0]

    def active_count(self, point: Any) -> int:
        return count_reaching(point.intervals, 0, 0)


@helper
def ask_for_column(point: Any, j: int) -> None:
    """Ask for the entries of a coordinate that is likely to be next."""
    point.problem.matrix.ahead(j)


@helper
def ask_for_numbers(point: Any, j: int) -> None:
    """Ask for what is kept of a coordinate that is likely to be picked soon, and for where its column begins."""
    intervals = point.intervals
    ask_for_start(point.problem.matrix, j)
    fetch(intervals.estimate, j)
    fetch(intervals.offset, j)
    fetch(intervals.reach, j)
    fetch(intervals.x, j)
    fetch(point.problem.lipschitz, j)
    bring(intervals.steepness, j)
    bring(intervals.extra, j)


@optional_method
def bring(part: Any, j: int) -> None:
    """Ask for what a part keeps of coordinate j."""


@helper
def follow_top(bounds: Any, intervals: Any, started: Array, rng: Any) -> None:
    """Bring the heap up to date: the coordinate that was visited last is its top."""
    if started[0]:
        bounds.renew_top(intervals)
    else:
        started[0] = True
        bounds.evaluate_all(intervals, rng)


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
