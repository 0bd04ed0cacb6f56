"""u-ASCD and a-ASCD with a reference (see ``two_clocks.py``).

**u-ASCD** evaluates the highest key until no clock lowers it; that coordinate is taken out.  Where its interval is
smaller than its key says, others are looked at, too, until what was found is not below the keys of those asleep.

**a-ASCD** keeps a list of coordinates from which it draws, as with one clock (``lazy_draws.py``).  Everything with
u ≥ max ℓ is in it.  One that is drawn and has u < max ℓ is sent to sleep where a clock keeps it below max ℓ; where none
does, it stays and is drawn in vain at times.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._base.checks import Array
from ascd._base.jit import helper, wide
from ascd.engine.oracles.reference import REFRESHES
from ascd.engine.rules.heap import Heap
from ascd.engine.rules.lazy_draws import ITS_PLACE, LAST_PICK, LIST_SIZE
from ascd.engine.rules.lazy_rules import count_reaching
from ascd.engine.rules.order import shuffle
from ascd.engine.rules.scan import LEAST
from ascd.engine.rules.two_clock_lower import arrange_lower, largest_lower, raise_lower
from ascd.engine.rules.two_clocks import TwoClocks, never_or, upper_bounds


class TwoClockUpper(NamedTuple):
    """u-ASCD."""

    clocks: TwoClocks
    woken: Array
    last: Array  # [the last pick, which is not asleep]

    @staticmethod
    def start(parts: Any, oracle: Any, steepness: Any) -> TwoClockUpper:
        n = parts.norm.size
        return TwoClockUpper(TwoClocks.of(parts, oracle, steepness), np.empty(n, dtype=np.int32), np.array([-1]))

    def select(self, point: Any, t: int, rng: Any) -> int:
        intervals, clocks = point.intervals, self.clocks
        if clocks.advance(intervals):
            let_all_sleep(clocks, intervals, self.woken, math.inf, True, rng)
        else:
            clocks.let_sleep(intervals, wide(self.last[0]), clocks.highest(intervals))
        count, best, largest, rounding = 0, 0, -math.inf, clocks.rounding(intervals)
        renewals = 2 * self.woken.size  # at most: rounding might let one go to and fro between the clocks for ever
        while count == 0 or clocks.highest(intervals) > largest + rounding:
            renewals -= 1
            if renewals < 0 or not clocks.lower_highest(intervals, clocks.highest(intervals) - 2.0 * rounding):
                self.woken[count] = clocks.take_highest(intervals)
                bound = intervals.signed_upper_at(wide(self.woken[count]))
                best, largest = (count, bound) if count == 0 or bound > largest else (best, largest)
                count += 1
        for number in range(count):
            if number != best:
                clocks.let_sleep(intervals, wide(self.woken[number]), largest)
        self.last[0] = self.woken[best]
        return wide(self.last[0])

    def active_count(self, point: Any) -> int:
        return count_reaching(point.intervals, 1, 1)


class TwoClockHeuristic(NamedTuple):
    """a-ASCD."""

    clocks: TwoClocks
    floor: Heap  # of the lower bounds
    members: Array
    before: Array  # [x of the last pick as it was then]
    state: Array  # [the last pick (−1 before the first), its place in the list (−1: outside), the length of the list]

    @staticmethod
    def start(parts: Any, oracle: Any, steepness: Any) -> TwoClockHeuristic:
        n = parts.norm.size
        clocks, members = TwoClocks.of(parts, oracle, steepness), np.empty(n, dtype=np.int32)
        return TwoClockHeuristic(clocks, Heap.of(n), members, np.zeros(1), np.array([-1, -1, 0]))

    def select(self, point: Any, t: int, rng: Any) -> int:
        intervals, state = point.intervals, self.state
        largest = self.follow(intervals, rng)
        self.wake_those_above(intervals, largest)
        level = largest - 2.0 * self.clocks.rounding(intervals)  # below which keys are surely below max ℓ
        vain = 0
        while state[LIST_SIZE] > 0 and vain <= state[LIST_SIZE]:
            state[ITS_PLACE] = int(rng.random() * state[LIST_SIZE])
            state[LAST_PICK] = wide(self.members[state[ITS_PLACE]])
            if intervals.signed_upper_at(state[LAST_PICK]) >= largest:
                self.before[0] = point.x[state[LAST_PICK]]
                return state[LAST_PICK]
            vain += 1
            self.send_to_sleep(intervals, level)
        state[ITS_PLACE] = self.place_that_reaches(intervals, largest, rng)
        if state[ITS_PLACE] >= 0:
            state[LAST_PICK] = wide(self.members[state[ITS_PLACE]])
            self.before[0] = point.x[state[LAST_PICK]]
        else:
            state[LAST_PICK] = int(rng.random() * point.x.size)
        return state[LAST_PICK]

    @helper
    def follow(self, intervals: Any, rng: Any) -> float:
        """Bring list and bounds up to date after a step; returns max ℓ."""
        state, clocks = self.state, self.clocks
        is_new = clocks.advance(intervals)
        if is_new or state[ITS_PLACE] < 0:  # also after the visit of one that slept, where nobody could move
            arrange_lower(self.floor, intervals, clocks)
        else:
            raise_lower(self.floor, intervals, clocks, state[LAST_PICK], self.before[0])
        largest = max(largest_lower(self.floor, intervals, clocks, self.members, state[LIST_SIZE]), LEAST)
        if is_new or state[ITS_PLACE] < 0:
            state[LIST_SIZE] = let_all_sleep(clocks, intervals, self.members, largest, False, rng)
        elif not intervals.signed_upper_at(state[LAST_PICK]) >= largest:
            self.send_to_sleep(intervals, largest - 2.0 * clocks.rounding(intervals))
        return largest

    @helper
    def wake_those_above(self, intervals: Any, largest: float) -> None:
        """Those that may have become large enough come in, without a look: a draw has one anyway."""
        clocks, state = self.clocks, self.state
        while clocks.count_asleep() > 0 and clocks.highest(intervals) >= largest - clocks.rounding(intervals):
            self.members[state[LIST_SIZE]] = clocks.take_highest(intervals)
            state[LIST_SIZE] += 1

    @helper
    def send_to_sleep(self, intervals: Any, level: float) -> None:
        """The coordinate at the place in question leaves the list where it may; the last one takes its place."""
        j, state = self.state[LAST_PICK], self.state
        if may_sleep(intervals, j, level):
            state[LIST_SIZE] -= 1
            self.members[state[ITS_PLACE]] = self.members[state[LIST_SIZE]]
            self.clocks.let_sleep(intervals, j, level)

    @helper
    def place_that_reaches(self, intervals: Any, largest: float, rng: Any) -> int:
        """Many draws were in vain: the place of one of those in the list with u ≥ max ℓ, at random; −1 if none."""
        found, count = -1, 0
        for place in range(self.state[LIST_SIZE]):
            if intervals.signed_upper_at(wide(self.members[place])) >= largest:
                count += 1
                found = place if int(rng.random() * count) == 0 else found
        return found

    def active_count(self, point: Any) -> int:
        return count_reaching(point.intervals, 1, 0) or point.x.size


@helper
def may_sleep(intervals: Any, j: int, level: float) -> bool:
    """Is there a clock that keeps j below the level?"""
    path, plane = upper_bounds(intervals, j)
    return path < level or plane < level


@helper
def let_all_sleep(
    clocks: TwoClocks, intervals: Any, order: Array, level: float, without_exception: bool, rng: Any
) -> int:
    """Start, or a new reference: those below the level sleep, or all.

    Returns how many are left; they come first in ``order``.  Before the first reference many bounds may be equal, all
    of them infinite: then the order is a random one.
    """
    count = order.size
    for position in range(count):
        order[position] = position
    if intervals.extra.place[REFRESHES] == 0.0:
        shuffle(order, count, rng)
    awake, paths, planes = 0, 0, 0
    for position in range(count):
        j = wide(order[position])
        path, plane = upper_bounds(intervals, j)
        if not (without_exception or plane < level or path < level):
            order[awake] = j
            awake += 1
        elif plane <= path:
            clocks.by_plane().put(planes, j, never_or(intervals, j, plane, clocks.plane_shift()))
            planes += 1
        else:
            clocks.by_path.put(paths, j, never_or(intervals, j, path, clocks.path_shift(intervals)))
            paths += 1
    clocks.by_path.take_first(paths)
    clocks.by_plane().take_first(planes)
    return awake
