"""The bound-based rules on lazy heaps (see ``lazy.py``): u-ASCD, ℓ-ASCD, a-ASCD and SCD.

**u-ASCD** takes the top of the upper bounds.  Unknown ones are all infinite: the heap starts in random order, so that a
tie is broken uniformly.  **ℓ-ASCD** takes the top of the lower bounds, or any coordinate where all are 0.

**SCD** takes the top of the upper bounds and reads it, until the top is known exactly: then its score is the largest,
because it beats the upper bounds of all others.

**a-ASCD** keeps a list of the coordinates with u ≥ max ℓ, from which it draws, and a queue of the others by their keys
u − ρG as of their last evaluation.  Between visits u_j rises and max ℓ falls.  So a member leaves the list only when it
was visited, or when another visit has raised max ℓ, which a draw finds out; and only those whose key reaches max ℓ − ρG
may have come in.  A lower bound that is 0 after a visit need not be filed: max ℓ counts from 0 on.  Where max ℓ = 0,
everything with u > 0 is active (see ``scan.py``); where there is no such coordinate either, any is picked.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._base.checks import Array
from ascd._base.jit import helper, wide
from ascd._base.scalars import fetch
from ascd.engine.rules.lazy import LazyBounds, Rates
from ascd.engine.rules.scan import LEAST
from ascd.engine.tuning import KEY_ROUNDING

LAST_PICK, ITS_PLACE, LIST_SIZE = range(3)


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
        expect(point, self.ceiling.heap.after_top())
        return wide(self.ceiling.heap.order[0])

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
        return LazyLower(LazyBounds.lower(n, rates), np.array([-1]))

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
    asleep: LazyBounds
    members: Array
    state: Array  # [the last pick (−1 before the first), its place in the list (−1: outside), the length of the list]

    @staticmethod
    def start(n: int, rates: Rates) -> LazyHeuristic:
        bounds = LazyBounds.lower(n, rates), LazyBounds.upper(n, rates)
        return LazyHeuristic(*bounds, np.empty(n, dtype=np.int32), np.array([-1, -1, 0]))

    def select(self, point: Any, t: int, rng: Any) -> int:
        intervals, state = point.intervals, self.state
        if state[LAST_PICK] < 0:
            self.floor.evaluate_all(intervals, rng)
            self.asleep.evaluate_all(intervals, rng)
        elif intervals.bounds_at(state[LAST_PICK])[0] > 0.0:
            self.floor.renew(intervals, state[LAST_PICK])
        largest = max(self.floor.largest_bound(intervals), LEAST)
        if state[LAST_PICK] >= 0:
            self.follow_visit(intervals, largest)
        self.wake_up(intervals, largest)
        while state[LIST_SIZE] > 0:
            state[ITS_PLACE] = int(rng.random() * state[LIST_SIZE])
            state[LAST_PICK] = wide(self.members[state[ITS_PLACE]])
            bound = intervals.signed_upper_at(state[LAST_PICK])
            if bound >= largest:
                return state[LAST_PICK]
            self.put_to_sleep(intervals, bound, largest)
        state[LAST_PICK], state[ITS_PLACE] = int(rng.random() * point.x.size), -1
        return state[LAST_PICK]

    @helper
    def follow_visit(self, intervals: Any, largest: float) -> None:
        """The coordinate visited last leaves the list where it has become too small.

        One from outside the list, picked where nobody could move, comes in where it can.
        """
        bound = intervals.signed_upper_at(self.state[LAST_PICK])
        if self.state[ITS_PLACE] >= 0:
            if not bound >= largest:
                self.put_to_sleep(intervals, bound, largest)
        elif bound >= largest:
            self.asleep.heap.take_out(self.state[LAST_PICK])
            self.let_in(self.state[LAST_PICK])

    @helper
    def wake_up(self, intervals: Any, largest: float) -> None:
        """Those that have become large enough come in; where keys stay true, without a look: a draw has one anyway."""
        queue, threshold = self.asleep.heap, self.wake_threshold(intervals, largest)
        while queue.queued() > 0 and queue.key[0] > threshold:
            j = wide(queue.order[0])
            bound = largest if self.asleep.is_static else intervals.signed_upper_at(j)
            if bound >= largest:
                queue.drop_top()
                self.let_in(j)
            else:
                queue.replace_top(min(self.asleep.key_of(intervals, j, bound), threshold))

    @helper
    def let_in(self, j: int) -> None:
        self.members[self.state[LIST_SIZE]] = j
        self.state[LIST_SIZE] += 1

    @helper
    def put_to_sleep(self, intervals: Any, bound: float, largest: float) -> None:
        """The coordinate at the place in question leaves the list; the last one takes its place."""
        place, j = self.state[ITS_PLACE], wide(self.members[self.state[ITS_PLACE]])
        self.state[LIST_SIZE] -= 1
        self.members[place] = self.members[self.state[LIST_SIZE]]
        self.asleep.heap.put_in(
            j, min(self.asleep.key_of(intervals, j, bound), self.wake_threshold(intervals, largest))
        )

    @helper
    def wake_threshold(self, intervals: Any, largest: float) -> float:
        """No key up to this belongs to an upper bound of ``largest``, also if it was rounded."""
        shift = self.asleep.drift[0] * intervals.clock[0]
        return largest - shift - KEY_ROUNDING * (shift + largest)

    def active_count(self, point: Any) -> int:
        return count_reaching(point.intervals, 1, 0) or point.x.size


@helper
def expect(point: Any, j: int) -> None:
    """Ask for the memory of a coordinate that is likely to be next."""
    intervals = point.intervals
    point.problem.matrix.ahead(j)
    fetch(intervals.estimate, j)
    fetch(intervals.offset, j)
    fetch(intervals.reach, j)
    fetch(intervals.x, j)
    fetch(point.problem.lipschitz, j)


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
