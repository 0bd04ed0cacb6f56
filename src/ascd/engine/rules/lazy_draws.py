"""a-ASCD without scanning (see ``lazy.py``): draws from a list of those awake (``draw_list.py``), which holds all with
u ≥ max ℓ.

The others sleep with their keys u − ρG as of their last evaluation (``sleepers.py``).  Between visits u_j rises and
max ℓ falls.  So a coordinate becomes a member of the set only when its key reaches the threshold max ℓ − ρG, and it
leaves the set only when it was visited, or when another visit has raised max ℓ.

**Early waking.**  The threshold falls by a little in almost every step.  So those wake whose turn is expected within an
eighth of the time in which all of the list are drawn once: then nothing wakes for as many steps.  A draw is kept if
u ≥ max ℓ, else drawn again (as a rule one in sixteen), so that picks stay uniform on the set.  One that was visited
stays where it is if it would soon wake again.  Where many draws in turn are in vain (max ℓ has risen, or the threshold
stands still), the list is gone through, and those that do not belong to the set fall asleep.

A lower bound that is 0 after a visit need not be filed: max ℓ counts from 0 on.  Where max ℓ = 0, everything with u > 0
is active (see ``scan.py``); where there is no such coordinate either, any is picked.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._core.jit import helper, wide
from ascd.engine.intervals import CLOCK_AND_EPSILON
from ascd.engine.rules.draw_list import ITS_PLACE, LAST_PICK, LIST_SIZE, DrawList
from ascd.engine.rules.lazy import LazyBounds, Rates
from ascd.engine.rules.lazy_rules import count_reaching
from ascd.engine.rules.scan import LEAST
from ascd.engine.rules.sleepers import CEILING, Rooms
from ascd.engine.tuning import DRAWS_IN_VAIN, KEY_ROUNDING


class LazyHeuristic(NamedTuple):
    """a-ASCD."""

    floor: LazyBounds
    asleep: LazyBounds  # its holder: Sleepers
    awake: DrawList

    @staticmethod
    def start(n: int, rates: Rates) -> LazyHeuristic:
        asleep = LazyBounds(Rooms.of(n, 1).room_of(0), 1, np.array([rates.rise]), rates.are_even)
        return LazyHeuristic(LazyBounds.lower(n, rates), asleep, DrawList.of(n))

    def select(self, point: Any, t: int, rng: Any) -> int:
        intervals, last = point.intervals, self.awake.state[LAST_PICK]
        if last < 0:
            self.let_all_sleep_first(intervals, rng)
        elif intervals.bounds_at(last)[0] > 0.0:
            self.floor.renew(intervals, last)
        largest = max(self.floor.largest_bound(intervals), LEAST)
        if last >= 0:
            self.follow_visit(intervals, largest)
        threshold = self.wake_threshold(intervals, largest)
        if threshold < self.asleep.holder.real[CEILING]:
            self.wake_soon(intervals, t, threshold)
        return self.draw(point, largest, threshold, rng)

    @helper
    def let_all_sleep_first(self, intervals: Any, rng: Any) -> None:
        """Start: the keys of all coordinates."""
        self.floor.evaluate_all(intervals, rng)
        for j in range(intervals.x.size):
            self.asleep.holder.put_in(j, self.asleep.key_of(intervals, j, intervals.signed_upper_at(j)))

    @helper
    def draw(self, point: Any, largest: float, threshold: float, rng: Any) -> int:
        """Uniformly from those of the list with u ≥ max ℓ."""
        intervals, awake, in_vain = point.intervals, self.awake, 0
        while awake.state[LIST_SIZE] > 0:
            j = awake.draw_one(rng)
            bound = intervals.signed_upper_at(j)
            if bound >= largest:
                awake.foresee(point)
                return j
            if not self.falls_asleep(intervals, bound):
                in_vain += 1
                if in_vain == DRAWS_IN_VAIN:
                    self.go_through_list(intervals, largest, threshold)
        return awake.draw_outside(point.x.size, rng)

    @helper
    def follow_visit(self, intervals: Any, largest: float) -> None:
        """The coordinate visited last leaves the list where it has become so small that it will not wake soon.

        One from outside the list, picked where nobody could move, comes in where it can, with all others.
        """
        bound = intervals.signed_upper_at(self.awake.state[LAST_PICK])
        if self.awake.state[ITS_PLACE] >= 0:
            self.falls_asleep(intervals, bound)
        elif bound >= largest:
            self.asleep.holder.wake_all(self.awake)

    @helper
    def falls_asleep(self, intervals: Any, bound: float) -> bool:
        """Let the last pick sleep, if it will not wake soon."""
        j = self.awake.state[LAST_PICK]
        key = self.asleep.key_of(intervals, j, bound)
        if not key < self.asleep.holder.real[CEILING]:
            return False
        self.awake.remove_at(self.awake.state[ITS_PLACE])
        self.asleep.holder.put_in(j, key)
        return True

    @helper
    def go_through_list(self, intervals: Any, largest: float, threshold: float) -> None:
        """Let all of the list sleep that do not belong to the set."""
        awake = self.awake
        self.asleep.holder.real[CEILING] = threshold
        for place in range(awake.state[LIST_SIZE] - 1, -1, -1):
            j = wide(awake.members[place])
            bound = intervals.signed_upper_at(j)
            if not bound >= largest:
                awake.remove_at(place)
                self.asleep.holder.put_in(j, min(self.asleep.key_of(intervals, j, bound), threshold))

    @helper
    def wake_soon(self, intervals: Any, t: int, threshold: float) -> None:
        """Wake those that the threshold will soon reach; keys may have fallen since they were evaluated."""
        before = self.awake.state[LIST_SIZE]
        self.asleep.holder.wake_early(threshold, t, self.awake)
        if not self.asleep.is_static:
            self.look_again(intervals, before)

    @helper
    def look_again(self, intervals: Any, before: int) -> None:
        """Of those that woke, the ones whose keys have fallen sleep on."""
        awake = self.awake
        for place in range(awake.state[LIST_SIZE] - 1, before - 1, -1):
            j = wide(awake.members[place])
            key = self.asleep.key_of(intervals, j, intervals.signed_upper_at(j))
            if key < self.asleep.holder.real[CEILING]:
                awake.remove_at(place)
                self.asleep.holder.put_in(j, key)

    @helper
    def wake_threshold(self, intervals: Any, largest: float) -> float:
        """No key up to this belongs to an upper bound of ``largest``, also if it was rounded."""
        shift = self.asleep.drift[0] * intervals.clock[CLOCK_AND_EPSILON]
        return largest - shift - KEY_ROUNDING * (shift + largest)

    def active_count(self, point: Any) -> int:
        return count_reaching(point.intervals, 1, 0) or point.x.size
