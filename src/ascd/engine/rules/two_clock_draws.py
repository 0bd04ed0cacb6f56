"""a-ASCD with a reference (see ``two_clocks.py``): draws from a list, as with one clock (``lazy_draws.py``).

Everything with u ≥ max ℓ is in the list.  The others sleep by a clock of the path or of the plane, and wake a little
early, as soon as max ℓ minus what it has moved bounds by comes near to their keys.  One that is drawn and has u < max ℓ
is sent to sleep where a clock keeps it below max ℓ; where none does, or where it would soon wake, it stays and is drawn
in vain at times.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper, wide
from ascd.engine.rules.draw_list import ITS_PLACE, LAST_PICK, LIST_SIZE, DrawList
from ascd.engine.rules.lazy_rules import count_reaching
from ascd.engine.rules.scan import LEAST
from ascd.engine.rules.sleepers import CEILING, Rooms
from ascd.engine.rules.two_clock_lower import LowerBounds, signed_bounds
from ascd.engine.rules.two_clocks import CLOCKS, Clocks
from ascd.engine.tuning import DRAWS_IN_VAIN, ROOM_FOR_LOWER


class TwoClockHeuristic(NamedTuple):
    """a-ASCD."""

    clocks: Clocks
    asleep: Rooms  # by clock
    floor: LowerBounds
    awake: DrawList
    before: Array  # [x of the last pick as it was then]

    @staticmethod
    def start(parts: Any, steepness: Any) -> TwoClockHeuristic:
        n, clocks = parts.norm.size, Clocks.of(parts, steepness)
        rest = LowerBounds.of(n), DrawList.of(n, ROOM_FOR_LOWER), np.zeros(1)
        return TwoClockHeuristic(clocks, Rooms.of(n, CLOCKS), *rest)

    def select(self, point: Any, t: int, rng: Any) -> int:
        intervals, awake = point.intervals, self.awake
        largest = self.follow(intervals)
        self.wake_those_above(largest, t)
        in_vain = 0
        while awake.state[LIST_SIZE] > 0 and in_vain <= awake.state[LIST_SIZE]:
            if intervals.signed_upper_at(awake.draw_one(rng)) >= largest:
                awake.foresee(point)
                return self.picked(point)
            in_vain += 1
            if in_vain == DRAWS_IN_VAIN:
                self.tidy_list(intervals, largest)
            else:
                self.send_to_sleep(intervals, largest, awake.state[ITS_PLACE])
        place = self.place_that_reaches(intervals, largest, rng)
        if place < 0:
            return awake.draw_outside(point.x.size, rng)
        awake.state[ITS_PLACE], awake.state[LAST_PICK] = place, wide(awake.members[place])
        return self.picked(point)

    @helper
    def picked(self, point: Any) -> int:
        """The last pick, whose x is kept."""
        j = self.awake.state[LAST_PICK]
        self.before[0] = point.x[j]
        return j

    @helper
    def follow(self, intervals: Any) -> float:
        """Bring list and bounds up to date after a step; returns max ℓ."""
        clocks, state = self.clocks, self.awake.state
        is_new = clocks.advance(intervals)
        if is_new or state[ITS_PLACE] < 0:  # also after the visit of one that slept, where nobody could move
            self.floor.arrange_all(intervals, clocks)
            largest = self.max_lower(intervals)
            self.divide_all(intervals, largest)
            return largest
        j = state[LAST_PICK]
        lower, upper = signed_bounds(intervals, j)
        if lower > 0.0 or intervals.x[j] != self.before[0]:
            self.floor.raise_one(intervals, clocks, j)
        largest = self.max_lower(intervals)
        if not upper >= largest and self.may_sleep(upper):
            self.send_to_sleep(intervals, largest, state[ITS_PLACE])
        return largest

    @helper
    def max_lower(self, intervals: Any) -> float:
        awake = self.awake
        found = self.floor.find_largest(intervals, self.clocks, awake.members, awake.state[LIST_SIZE])
        return found if found > LEAST else LEAST

    @helper
    def may_sleep(self, upper: float) -> bool:
        """Could somebody with this upper bound be laid down?  No clock's bound is smaller."""
        found = False
        for which in range(CLOCKS):
            found = found or upper - self.clocks.shift[which] < self.asleep.real[which, CEILING]
        return found

    @helper
    def divide_all(self, intervals: Any, largest: float) -> None:
        """Start, or a new reference: all that a clock keeps below max ℓ sleep, and the others are the list."""
        awake = self.awake
        self.asleep.forget_all()
        awake.state[LIST_SIZE] = intervals.x.size
        for place in range(intervals.x.size):
            awake.members[place] = place
        for place in range(intervals.x.size - 1, -1, -1):
            self.send_to_sleep(intervals, largest, place)

    @helper
    def threshold_by(self, which: int, largest: float) -> float:
        """Keys below this belong to upper bounds below max ℓ, also if they were rounded."""
        return largest - self.clocks.rounding() - self.clocks.shift[which]

    @helper
    def wake_those_above(self, largest: float, t: int) -> None:
        """Those that may have become large enough, or soon may, come in without a look: a draw has one anyway."""
        for which in range(CLOCKS):
            threshold = self.threshold_by(which, largest)
            if threshold < self.asleep.real[which, CEILING]:
                self.asleep.room_of(which).wake_early(threshold, t, self.awake)

    @helper
    def send_to_sleep(self, intervals: Any, largest: float, place: int) -> None:
        """Who is at this place leaves the list if a clock keeps it below max ℓ, and not only for a moment."""
        j, clocks = wide(self.awake.members[place]), self.clocks
        level = largest - 2.0 * clocks.rounding()  # bounds below it have keys below the thresholds
        which, bound = clocks.best_clock(intervals, j, level)
        key = clocks.sleep_key(intervals, j, which, bound)
        if bound < level and key < self.asleep.real[which, CEILING]:
            self.awake.remove_at(place)
            self.asleep.room_of(which).put_in(j, key)

    @helper
    def tidy_list(self, intervals: Any, largest: float) -> None:
        """Many draws were in vain: all of the list that a clock keeps below max ℓ sleep."""
        for which in range(CLOCKS):
            self.asleep.real[which, CEILING] = self.threshold_by(which, largest)
        for place in range(self.awake.state[LIST_SIZE] - 1, -1, -1):
            if not intervals.signed_upper_at(wide(self.awake.members[place])) >= largest:
                self.send_to_sleep(intervals, largest, place)

    @helper
    def place_that_reaches(self, intervals: Any, largest: float, rng: Any) -> int:
        """Many draws were in vain: the place of one of those in the list with u ≥ max ℓ, at random; −1 if none."""
        found, count = -1, 0
        for place in range(self.awake.state[LIST_SIZE]):
            if intervals.signed_upper_at(wide(self.awake.members[place])) >= largest:
                count += 1
                found = place if int(rng.random() * count) == 0 else found
        return found

    def active_count(self, point: Any) -> int:
        return count_reaching(point.intervals, 1, 0) or point.x.size
