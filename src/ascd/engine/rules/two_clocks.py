"""Selection without scanning where intervals come from a reference: coordinates sleep by one of two clocks.

The interval of j is the clock's g ± r, or its intersection with m ± h where h < r (``oracles/reference.py``), with
m = s·g_ref and h = ‖e‖·w + ε‖a_j‖.  Let σ be the signed slack, whose positive part is the score GS-s or GSL-s.  While j
is not visited and the reference stays, its upper bound is at most each of

    σ(g) + r                      which rises with the path of v, the clock of "norm";
    max(σ(m), σ(g)) + h           which changes with s and ‖e‖ alone.

The second holds because the interval is inside m ± h where h < r, and inside g ± h elsewhere.  There is no need to
count σ(g) while r is far larger than h: where σ(g) − σ(m) ≤ ν(r − h), h cannot reach r before ν times its rise has made
up for the difference.  m moves by c·‖a_j‖ times the change of s‖v_ref‖, with c = |g_ref|/(‖a_j‖‖v_ref‖), a correlation
that is small for all columns as a rule; h moves with ‖e‖ by w, almost ‖a_j‖.  So in units of ρ = max ‖a_j‖ (over √L_j),
with c* = max c and w* = min w/ρ, the **clock of the plane** advances by

    c*·|d(s‖v_ref‖)| + (1 + ν)·d‖e‖   where ‖e‖ rises,      c*·|d(s‖v_ref‖)| − w*·|d‖e‖|   where it falls.

It goes back where ‖e‖ falls, and back and forth of ‖e‖ hardly counts.  A coordinate that was visited sleeps by the path
of v at first, as r is small, and by the plane as soon as that lasts longer.  Those on top are evaluated: what comes out
is what a scan would have found.  A refresh of the reference reads all columns, and evaluates all bounds anew.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._base.checks import Array
from ascd._base.contracts import asked
from ascd._base.jit import helper, wide
from ascd.engine import tuning
from ascd.engine.oracles.reference import ACROSS, ALONG, LENGTH, REFRESHES, ROUNDING
from ascd.engine.rules.queue import Queue
from ascd.engine.tuning import KEY_ROUNDING, NEARNESS
from ascd.problem.tuning import SQUARE_ROUNDING

#: What ``TwoClocks.state`` holds: s‖v_ref‖, ‖e‖ and ε as they were seen last, refreshes seen and the clock of "norm" at
#: the last, the clocks of upper and of lower bounds in the plane, c* and w*.
SEEN_ALONG, SEEN_ACROSS, SEEN_ROUNDING, SEEN_REFRESHES, CLOCK_BEFORE, UP, DOWN, SIDEWAYS, BACK = range(9)


def two_clocks_apply(n: int, oracle: Any, steepness: Any) -> bool:
    """Do the arguments above hold, and is the problem large enough to profit?"""
    return n >= tuning.SMALLEST_LAZY and asked(oracle, "has_plane", False) and asked(steepness, "falls_evenly", False)


class TwoClocks(NamedTuple):
    """Those asleep, in a queue for each clock; a queue's keys are bounds minus ρ times its clock."""

    by_path: Queue
    edge: Array  # and so on: those of the other queue, on the same memory
    end: Array
    sample: Array
    path_rate: float
    plane_rate: float
    evenness: float  # the smallest rate of a nonzero column in the plane over the largest
    state: Array

    @staticmethod
    def of(parts: Any, oracle: Any, steepness: Any) -> TwoClocks:
        """Nobody is asleep.  Each coordinate sleeps in one queue at most, so both share their memory from its ends."""
        first = Queue.empty(parts.norm.size)
        second = first.edge.copy(), first.end.copy(), first.sample.copy()
        rates = steepness.rates(np.sqrt(oracle.square)) * (1.0 + SQUARE_ROUNDING)
        moving = rates[oracle.square > 0.0]
        plane = float(moving.max()) if moving.size else 1.0
        evenness = float(moving.min()) / plane * (1.0 - 4.0 * SQUARE_ROUNDING) if moving.size else 0.0
        return TwoClocks(first, *second, float(steepness.rates(parts.norm).max()), plane, evenness, np.full(9, -1.0))

    @helper
    def by_plane(self) -> Queue:
        return Queue(self.by_path.key[::-1], self.by_path.order[::-1], self.edge, self.end, self.sample)

    @helper
    def advance(self, intervals: Any) -> bool:
        """Follow s and ‖e‖; is there another reference than at the last time (or the first)?"""
        state, place = self.state, intervals.extra.place
        along, across, rounding = place[ALONG] * place[LENGTH], place[ACROSS], place[ROUNDING]
        is_new = place[REFRESHES] != state[SEEN_REFRESHES]
        if is_new:
            self.see_reference(intervals)
        elif along != state[SEEN_ALONG] or across != state[SEEN_ACROSS] or rounding != state[SEEN_ROUNDING]:
            farther = across - state[SEEN_ACROSS]
            rest = state[SIDEWAYS] * abs(along - state[SEEN_ALONG])
            rest += (rounding - state[SEEN_ROUNDING]) * self.path_rate / self.plane_rate
            state[UP] += rest + (1.0 + NEARNESS if farther > 0.0 else state[BACK]) * farther
            state[DOWN] += rest - (state[BACK] if farther > 0.0 else 1.0) * farther
        state[SEEN_ALONG], state[SEEN_ACROSS], state[SEEN_ROUNDING] = along, across, rounding
        return is_new

    @helper
    def see_reference(self, intervals: Any) -> None:
        """Begin anew: c* and w* of this reference."""
        state, angle, sideways, back = self.state, intervals.extra, 0.0, 1.0
        length = angle.place[LENGTH]
        for j in range(angle.product.size):
            beside = abs(angle.product[j]) / length if length > 0.0 else 0.0
            size = math.sqrt(beside * beside + angle.width[j] * angle.width[j])
            if size > 0.0:
                sideways = max(sideways, beside / size)
                back = min(back, angle.width[j] / size)
        state[SEEN_REFRESHES], state[CLOCK_BEFORE] = angle.place[REFRESHES], intervals.clock[0]
        state[UP], state[DOWN], state[SIDEWAYS], state[BACK] = 0.0, 0.0, sideways, back * self.evenness

    @helper
    def path_shift(self, intervals: Any) -> float:
        return self.path_rate * intervals.clock[0]

    @helper
    def plane_shift(self) -> float:
        return self.plane_rate * self.state[UP]

    @helper
    def lower_shift(self) -> float:
        return self.plane_rate * self.state[DOWN]

    @helper
    def rounding(self, intervals: Any) -> float:
        """What a key's bound may be wrong by."""
        travelled = abs(self.state[UP]) + abs(self.state[DOWN])
        return KEY_ROUNDING * (self.path_shift(intervals) + self.plane_rate * travelled)

    @helper
    def count_asleep(self) -> int:
        return self.by_path.queued() + self.end[self.end.size - 1]

    @helper
    def path_on_top(self, intervals: Any) -> float:
        """What no upper bound of those who sleep by the path exceeds."""
        return self.by_path.key[0] + self.path_shift(intervals) if self.by_path.queued() > 0 else -math.inf

    @helper
    def plane_on_top(self) -> float:
        """The same for the plane."""
        return self.by_plane().key[0] + self.plane_shift() if self.by_plane().queued() > 0 else -math.inf

    @helper
    def highest(self, intervals: Any) -> float:
        """A number that no upper bound of those asleep exceeds."""
        path, plane = self.path_on_top(intervals), self.plane_on_top()
        return plane if plane > path else path

    @helper
    def is_by_plane(self, intervals: Any) -> bool:
        """Does the one with the highest key sleep by the plane?"""
        return self.by_path.queued() == 0 or self.plane_on_top() > self.path_on_top(intervals)

    @helper
    def take_highest(self, intervals: Any) -> int:
        """Wake the one with the highest key; somebody must be asleep."""
        return self.wake_top(self.is_by_plane(intervals))

    @helper
    def wake_top(self, of_plane: bool) -> int:
        """Wake the one with the highest key of a queue."""
        if of_plane:
            j = wide(self.by_plane().order[0])
            self.by_plane().drop_top()
        else:
            j = wide(self.by_path.order[0])
            self.by_path.drop_top()
        return j

    @helper
    def prefers_plane(self, intervals: Any, left: float, other: float) -> bool:
        """Does the plane's clock use up ``other`` later than the path's ``left``, at their speeds so far?"""
        if left > 0.0 and other > 0.0:
            gone = intervals.clock[0] - self.state[CLOCK_BEFORE]
            return other * gone >= left * max(self.state[UP], 0.0)
        return other >= left

    @helper
    def let_sleep(self, intervals: Any, j: int, level: float) -> None:
        """Let j sleep by the clock that is expected to keep it below the level for longer."""
        path, plane = upper_bounds(intervals, j)
        self.file_under(intervals, j, path, plane, self.prefers_plane(intervals, level - path, level - plane))

    @helper
    def file_under(self, intervals: Any, j: int, path: float, plane: float, by_plane: bool) -> None:
        """Put j with these upper bounds into one of the queues."""
        if by_plane:
            self.by_plane().put_in(j, never_or(intervals, j, plane, self.plane_shift()))
        else:
            self.by_path.put_in(j, never_or(intervals, j, path, self.path_shift(intervals)))

    @helper
    def lower_highest(self, intervals: Any, level: float) -> bool:
        """Renew the highest key where a clock keeps it below the level and the key falls, or where another clock does.

        Was it renewed?  If not, it is as low as it can be.  Each question is asked once: a compiler may round what is
        asked twice in two ways, and another one than j would be woken, or j put back where it was.
        """
        is_by_plane = self.is_by_plane(intervals)
        j = wide(self.by_plane().order[0]) if is_by_plane else wide(self.by_path.order[0])
        path, plane = upper_bounds(intervals, j)
        if not (path < level or plane < level):
            return False
        should_be = self.prefers_plane(intervals, level - path, level - plane)
        if should_be != is_by_plane:
            self.wake_top(is_by_plane)
            self.file_under(intervals, j, path, plane, should_be)
            return True
        if is_by_plane:
            return lower_top(self.by_plane(), never_or(intervals, j, plane, self.plane_shift()))
        return lower_top(self.by_path, never_or(intervals, j, path, self.path_shift(intervals)))


@helper
def lower_top(queue: Queue, key: float) -> bool:
    """Give the top a smaller key; has it fallen?  Where it has not, that is a difference of rounding."""
    has_fallen = key < queue.key[0]
    if has_fallen:
        queue.replace_top(key)
    return has_fallen


@helper
def never_or(intervals: Any, j: int, bound: float, shift: float) -> float:
    """The key of a bound; a zero column that cannot be steep never will be until it is visited."""
    return -math.inf if intervals.reach[j] == 0.0 and bound <= 0.0 else bound - shift


@helper
def upper_bounds(intervals: Any, j: int) -> tuple[float, float]:
    """max(σ) over what the clock knows of j, and what the reference knows: see the top of this module."""
    steepness, penalty, g, x = intervals.steepness, intervals.penalty, intervals.estimate[j], intervals.x[j]
    middle, half = intervals.extra.interval_at(j)
    path = steepness.signed_upper(penalty, j, x, g, intervals.width_at(j))
    one, other = steepness.signed_upper(penalty, j, x, middle, half), steepness.signed_upper(penalty, j, x, g, half)
    if intervals.reach[j] == 0.0 or half == math.inf:  # a zero column stays, also where the plane's clock goes back
        return path, math.inf
    if other - one <= NEARNESS * (path - other):
        return path, one
    return path, other if other > one else one
