"""a-ASCD without scanning (see ``lazy.py``): draws from a list of those awake, which holds all with u ≥ max ℓ.

The others sleep with their keys u − ρG as of their last evaluation (``sleepers.py``).  Between visits u_j rises and
max ℓ falls.  So a coordinate becomes a member of the set only when its key reaches the threshold max ℓ − ρG, and it
leaves the set only when it was visited, or when another visit has raised max ℓ.

**Early waking.**  The threshold falls by a little in almost every step.  So those wake whose turn is expected within an
eighth of the time in which all of the list are drawn once: then nothing wakes for as many steps.  A draw is kept if
u ≥ max ℓ, else drawn again (as a rule one in sixteen), so that picks stay uniform on the set.  One that was visited
stays where it is if it would soon wake again.  Where many draws in turn are in vain (max ℓ has risen, or the threshold
stands still), the list is gone through, and those that do not belong to the set fall asleep.

**Drawing ahead.**  The random numbers of the next two picks are known: the memory of what they will probably be is
asked for.  A processor foresees by itself what "uniform" picks next, but not what depends on the outcome of this step.

A lower bound that is 0 after a visit need not be filed: max ℓ counts from 0 on.  Where max ℓ = 0, everything with u > 0
is active (see ``scan.py``); where there is no such coordinate either, any is picked.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._base.checks import Array
from ascd._base.jit import helper, wide
from ascd.engine.rules.lazy import LazyBounds, Rates
from ascd.engine.rules.lazy_rules import ask_for_column, ask_for_numbers, count_reaching
from ascd.engine.rules.scan import LEAST
from ascd.engine.rules.sleepers import Sleepers
from ascd.engine.tuning import DRAWS_IN_VAIN, EARLY_SHARE, KEY_ROUNDING

LAST_PICK, ITS_PLACE, LIST_SIZE, LAST_WAKING = range(4)
CEILING, THRESHOLD_THEN = range(2)


class LazyHeuristic(NamedTuple):
    """a-ASCD."""

    floor: LazyBounds
    asleep: LazyBounds
    members: Array
    # the last pick (−1 before the first), its place in the list (−1: outside), the length of the list, the step of the
    # last waking
    state: Array
    real: Array  # [what no key of those asleep reaches, the threshold at the last waking]
    tickets: Array  # the random numbers of the next two draws

    @staticmethod
    def start(n: int, rates: Rates) -> LazyHeuristic:
        asleep = LazyBounds(Sleepers.of(n), 1, np.array([rates.rise]), rates.are_even)
        numbers = np.array([-1, -1, 0, 0]), np.array([np.inf, np.inf]), np.zeros(2)
        return LazyHeuristic(LazyBounds.lower(n, rates), asleep, np.empty(n, dtype=np.int32), *numbers)

    def select(self, point: Any, t: int, rng: Any) -> int:
        intervals, state = point.intervals, self.state
        if state[LAST_PICK] < 0:
            self.let_all_sleep_first(intervals, rng)
        elif intervals.bounds_at(state[LAST_PICK])[0] > 0.0:
            self.floor.renew(intervals, state[LAST_PICK])
        largest = max(self.floor.largest_bound(intervals), LEAST)
        if state[LAST_PICK] >= 0:
            self.follow_visit(intervals, largest)
        threshold = self.wake_threshold(intervals, largest)
        if threshold < self.real[CEILING]:
            self.wake_early(intervals, t, threshold)
        return self.draw(point, largest, threshold, rng)

    @helper
    def let_all_sleep_first(self, intervals: Any, rng: Any) -> None:
        """Start: the keys of all coordinates, and two random numbers ahead."""
        self.floor.evaluate_all(intervals, rng)
        for j in range(self.members.size):
            self.asleep.heap.put_in(j, self.asleep.key_of(intervals, j, intervals.signed_upper_at(j)))
        self.tickets[0], self.tickets[1] = rng.random(), rng.random()

    @helper
    def draw(self, point: Any, largest: float, threshold: float, rng: Any) -> int:
        """Uniformly from those of the list with u ≥ max ℓ."""
        intervals, state, in_vain = point.intervals, self.state, 0
        while state[LIST_SIZE] > 0:
            state[ITS_PLACE] = self.place_of(0)
            self.tickets[0], self.tickets[1] = self.tickets[1], rng.random()
            state[LAST_PICK] = wide(self.members[state[ITS_PLACE]])
            bound = intervals.signed_upper_at(state[LAST_PICK])
            if bound >= largest:
                ask_for_column(point, wide(self.members[self.place_of(0)]))
                ask_for_numbers(point, wide(self.members[self.place_of(1)]))
                return state[LAST_PICK]
            if not self.falls_asleep(intervals, bound):
                in_vain += 1
                if in_vain == DRAWS_IN_VAIN:
                    self.go_through_list(intervals, largest, threshold)
        state[LAST_PICK], state[ITS_PLACE] = int(rng.random() * point.x.size), -1
        return state[LAST_PICK]

    @helper
    def place_of(self, ticket: int) -> int:
        """The place in the list that a ticket stands for."""
        return int(self.tickets[ticket] * self.state[LIST_SIZE])

    @helper
    def follow_visit(self, intervals: Any, largest: float) -> None:
        """The coordinate visited last leaves the list where it has become so small that it will not wake soon.

        One from outside the list, picked where nobody could move, comes in where it can, with all others.
        """
        bound = intervals.signed_upper_at(self.state[LAST_PICK])
        if self.state[ITS_PLACE] >= 0:
            self.falls_asleep(intervals, bound)
        elif bound >= largest:
            self.real[CEILING] = -math.inf
            self.state[LIST_SIZE] = self.asleep.heap.wake_above(-math.inf, 0.0, self.members, self.state[LIST_SIZE])

    @helper
    def falls_asleep(self, intervals: Any, bound: float) -> bool:
        """Let the last pick sleep, if it will not wake soon; the last of the list takes its place."""
        place, j = self.state[ITS_PLACE], self.state[LAST_PICK]
        key = self.asleep.key_of(intervals, j, bound)
        if not key < self.real[CEILING]:
            return False
        self.state[LIST_SIZE] -= 1
        self.members[place] = self.members[self.state[LIST_SIZE]]
        self.asleep.heap.put_in(j, key)
        return True

    @helper
    def go_through_list(self, intervals: Any, largest: float, threshold: float) -> None:
        """Let all of the list sleep that do not belong to the set."""
        state = self.state
        self.real[CEILING] = threshold
        for place in range(state[LIST_SIZE] - 1, -1, -1):
            j = wide(self.members[place])
            bound = intervals.signed_upper_at(j)
            if not bound >= largest:
                state[LIST_SIZE] -= 1
                self.members[place] = self.members[state[LIST_SIZE]]
                self.asleep.heap.put_in(j, min(self.asleep.key_of(intervals, j, bound), threshold))

    @helper
    def wake_early(self, intervals: Any, t: int, threshold: float) -> None:
        """Wake those that the threshold is expected to reach while a share of the list is drawn."""
        state, real, before = self.state, self.real, self.state[LIST_SIZE]
        steps, fall, distance = t - state[LAST_WAKING], real[THRESHOLD_THEN] - threshold, 0.0
        if steps > 0 and 0.0 < fall < math.inf:
            distance = fall / steps * EARLY_SHARE * before
        real[CEILING], real[THRESHOLD_THEN], state[LAST_WAKING] = threshold - distance, threshold, t
        state[LIST_SIZE] = self.asleep.heap.wake_above(real[CEILING], distance, self.members, before)
        if not self.asleep.is_static:
            self.look_again(intervals, before)

    @helper
    def look_again(self, intervals: Any, before: int) -> None:
        """Keys may have fallen since they were evaluated: those that should not have woken sleep on."""
        kept = before
        for place in range(before, self.state[LIST_SIZE]):
            j = wide(self.members[place])
            key = self.asleep.key_of(intervals, j, intervals.signed_upper_at(j))
            if key < self.real[CEILING]:
                self.asleep.heap.put_in(j, key)
            else:
                self.members[kept] = j
                kept += 1
        self.state[LIST_SIZE] = kept

    @helper
    def wake_threshold(self, intervals: Any, largest: float) -> float:
        """No key up to this belongs to an upper bound of ``largest``, also if it was rounded."""
        shift = self.asleep.drift[0] * intervals.clock[0]
        return largest - shift - KEY_ROUNDING * (shift + largest)

    def active_count(self, point: Any) -> int:
        return count_reaching(point.intervals, 1, 0) or point.x.size
