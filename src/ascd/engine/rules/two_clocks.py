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
from ascd._base.jit import helper
from ascd.engine import tuning
from ascd.engine.oracles.reference import ACROSS, ALONG, LENGTH, REFRESHES, ROUNDING
from ascd.engine.tuning import KEY_ROUNDING, NEARNESS
from ascd.problem.tuning import SQUARE_ROUNDING

#: What ``Clocks.state`` holds: s‖v_ref‖, ‖e‖ and ε as they were seen last, refreshes seen and the clock of "norm" at
#: the last, the clocks of upper and of lower bounds in the plane, c* and w*.
SEEN_ALONG, SEEN_ACROSS, SEEN_ROUNDING, SEEN_REFRESHES, CLOCK_BEFORE, UP, DOWN, SIDEWAYS, BACK = range(9)


def two_clocks_apply(n: int, oracle: Any, steepness: Any) -> bool:
    """Do the arguments above hold, and is the problem large enough to profit?"""
    return n >= tuning.SMALLEST_LAZY and asked(oracle, "has_plane", False) and asked(steepness, "falls_evenly", False)


class Clocks(NamedTuple):
    """How far the path of v and the plane have moved, in the units of upper and of lower bounds."""

    path_rate: float
    plane_rate: float
    evenness: float  # the smallest rate of a nonzero column in the plane over the largest
    state: Array

    @staticmethod
    def of(parts: Any, oracle: Any, steepness: Any) -> Clocks:
        """Before the first reference."""
        rates = steepness.rates(np.sqrt(oracle.square)) * (1.0 + SQUARE_ROUNDING)
        moving = rates[oracle.square > 0.0]
        plane = float(moving.max()) if moving.size else 1.0
        evenness = float(moving.min()) / plane * (1.0 - 4.0 * SQUARE_ROUNDING) if moving.size else 0.0
        return Clocks(float(steepness.rates(parts.norm).max()), plane, evenness, np.full(9, -1.0))

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
    def prefers_plane(self, intervals: Any, left: float, other: float) -> bool:
        """Does the plane's clock use up ``other`` later than the path's ``left``, at their speeds so far?"""
        if left > 0.0 and other > 0.0:
            gone = intervals.clock[0] - self.state[CLOCK_BEFORE]
            return other * gone >= left * max(self.state[UP], 0.0)
        return other >= left


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
