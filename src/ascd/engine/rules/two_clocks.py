"""Selection without scanning where intervals come from a reference: coordinates sleep by one of two clocks.

The interval of j is the intersection of the clock's g ± r and of m ± h (``oracles/reference.py``), with m = s·g_ref and
h = ‖e‖·w + ε‖a_j‖.  Let σ be the signed slack, whose positive part is the score GS-s or GSL-s.  While j is not visited
and the reference stays, its upper bound is at most each of

    σ(g) + r      which rises with the path of v, the clock of "norm";
    σ(m) + h      which changes with s and ‖e‖ alone: the **clock of the plane**.

σ is convex and changes by l_j at most where its entry changes by 1 (l_j = 1, or 1/√L_j).  With S = s‖v_ref‖, a
correlation κ_j = l_j|g_ref,j|/‖v_ref‖ and ω_j = l_j·w_j,

    σ(m) rises by at most κ_j·dS with S,   and falls by at least c·|dS| towards S = 0  where  σ(m) − σ(0) ≥ c·S;
    h changes by exactly ω_j·d‖e‖ (and by that of ε).

For a coordinate at zero of a symmetric penalty, c = κ_j: its bound is a *linear* function of the plane.  So columns
whose κ_j are alike share a clock that goes forth and back almost as their bounds do.  There is a kind of columns for
each half of the largest κ.  With κ in [κ₀, κ₁] and ω in [ω₀, ω₁] the clock advances by

    κ₁·dS or κ₀·dS   and   ω₁·d‖e‖ or ω₀·d‖e‖,   as each of them rises or falls;

and by κ₁·|dS| for those of the kind where σ(m) is not known to fall with S: two classes.  A coordinate that was visited
sleeps by the path of v at first, as r is small, and by the plane as soon as that lasts longer.  Those on top are
evaluated: what comes out is what a scan would have found.  A refresh of the reference reads all columns, and evaluates
all bounds anew; so does a step after which ‖e‖ is a number again, or no longer is one (v_ref = 0, say).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.contracts import asked
from ascd._core.jit import helper, wide
from ascd.engine import tuning
from ascd.engine.intervals import CLOCK_AND_EPSILON
from ascd.engine.oracles.reference import ACROSS, ALONG, LENGTH, REFRESHES, ROUNDING
from ascd.engine.tuning import KEY_ROUNDING, PLANE_KINDS
from ascd.problem.optimality import added
from ascd.problem.tuning import NO_LIMIT, SQUARE_ROUNDING

#: What ``Clocks.state`` holds: S, ‖e‖ and ε as they were seen last, refreshes seen and the shift of the path at the
#: last, how far all has moved in the plane, forth and back, the largest ω, and the clock as it was seen last.
SEEN_ALONG, SEEN_ACROSS, SEEN_ROUNDING, SEEN_REFRESHES, PATH_BEFORE, TRAVELLED, LARGEST_WIDTH, SEEN_CLOCK = range(8)
#: Class k is that of kind k where σ(m) falls with S, class PLANE_KINDS + k where it may not.  Those who sleep do so by
#: the path, or by the plane: clock BY_PLANE + k is that of class k.
BY_PATH, BY_PLANE = range(2)
CLASSES = PLANE_KINDS + PLANE_KINDS
CLOCKS = BY_PLANE + CLASSES
#: What ``Clocks.limit`` holds of a kind or class: κ₁, κ₀, ω₁, ω₀, and the smallest l_j‖a_j‖.
STEEPEST, FLATTEST, WIDEST, NARROWEST, SLOWEST = range(5)


def two_clocks_apply(n: int, oracle: Any, steepness: Any) -> bool:
    """Do the arguments above hold, and is the problem large enough to profit?"""
    return n >= tuning.SMALLEST_LAZY and asked(oracle, "has_plane", False) and hasattr(steepness, "slack_slope")


class Clocks(NamedTuple):
    """How far bounds may have moved since the last reference: by the path of v, and in the classes of the plane."""

    path_rate: float
    kind: Array  # of a coordinate
    end: Array  # how many coordinates there are of each kind and those before it
    limit: Array  # of the classes
    shift: Array  # what the upper bounds of those who sleep by each clock may have risen by
    lower_shift: Array  # and the lower bounds of each class
    unseen: Array  # what is too small to be seen in both, by class
    state: Array

    @staticmethod
    def of(parts: Any, steepness: Any) -> Clocks:
        """Before the first reference."""
        kinds = np.zeros(parts.norm.size, dtype=np.int8), np.zeros(PLANE_KINDS, dtype=np.int64)
        moved = np.zeros(CLOCKS), np.zeros(CLASSES), np.zeros((2, CLASSES)), np.full(8, -1.0)
        return Clocks(float(steepness.rates(parts.norm).max()), *kinds, np.zeros((CLASSES, 5)), *moved)

    @helper
    def advance(self, intervals: Any) -> bool:
        """Follow s and ‖e‖; is there another reference than at the last time, or did they move by what is no number?"""
        state, place = self.state, intervals.extra.place
        along, across, rounding = place[ALONG] * min(place[LENGTH], NO_LIMIT), place[ACROSS], place[ROUNDING]
        is_known = max(across, rounding) < NO_LIMIT
        was_known = max(state[SEEN_ACROSS], state[SEEN_ROUNDING]) < NO_LIMIT
        self.shift[BY_PATH] = self.path_rate * intervals.clock[CLOCK_AND_EPSILON]
        is_new = place[REFRESHES] != state[SEEN_REFRESHES] or is_known != was_known
        if is_new:
            self.see_reference(intervals)
        elif along != state[SEEN_ALONG] or across != state[SEEN_ACROSS] or rounding != state[SEEN_ROUNDING]:
            ahead, farther = along - state[SEEN_ALONG], across - state[SEEN_ACROSS]
            # σ(m) is known to fall with s only where s is positive
            forth = ahead if min(along, state[SEEN_ALONG]) >= 0.0 else abs(ahead)
            more = (rounding - state[SEEN_ROUNDING]) * self.path_rate
            self.move(forth, farther, more, intervals.clock[CLOCK_AND_EPSILON] - state[SEEN_CLOCK])
        state[SEEN_ALONG], state[SEEN_ACROSS], state[SEEN_ROUNDING] = along, across, rounding
        state[SEEN_CLOCK] = intervals.clock[CLOCK_AND_EPSILON]
        return is_new

    @helper
    def move(self, forth: float, farther: float, rounding: float, path: float) -> None:
        """S and ‖e‖ have moved by this much, and v along a path of this length."""
        limit, shift, lower, unseen = self.limit, self.shift, self.lower_shift, self.unseen
        which, wider = STEEPEST if forth > 0.0 else FLATTEST, WIDEST if farther > 0.0 else NARROWEST
        closer = NARROWEST if farther > 0.0 else WIDEST
        for k in range(CLASSES):
            beside = limit[k, which] * forth + rounding
            upper = beside + limit[k, wider] * farther
            shift[BY_PLANE + k], unseen[0, k] = added(shift[BY_PLANE + k], unseen[0, k], upper)
            nearer = max(beside - limit[k, closer] * farther, -limit[k, SLOWEST] * path)
            lower[k], unseen[1, k] = added(lower[k], unseen[1, k], nearer)
        rest = limit[PLANE_KINDS - 1, STEEPEST] * abs(forth) + self.state[LARGEST_WIDTH] * abs(farther)
        self.state[TRAVELLED] += rest + rounding

    @helper
    def see_reference(self, intervals: Any) -> None:
        """Begin anew: kinds and classes of this reference."""
        state, limit = self.state, self.limit
        self.find_kinds(intervals)
        state[LARGEST_WIDTH] = 0.0
        for k in range(PLANE_KINDS):
            finish(limit[k])
            for which in range(limit.shape[1]):
                limit[PLANE_KINDS + k, which] = limit[k, which]
            limit[PLANE_KINDS + k, FLATTEST] = -limit[k, STEEPEST]
            state[LARGEST_WIDTH] = max(state[LARGEST_WIDTH], limit[k, WIDEST])
        limit[0, FLATTEST] = 0.0
        state[SEEN_REFRESHES], state[PATH_BEFORE] = intervals.extra.place[REFRESHES], self.shift[BY_PATH]
        state[TRAVELLED], self.shift[BY_PLANE:], self.lower_shift[:], self.unseen[:] = 0.0, 0.0, 0.0, 0.0

    @helper
    def find_kinds(self, intervals: Any) -> None:
        """The kind of each column, how many there are of each, and the smallest and largest numbers in it."""
        limit, largest = self.limit, 0.0
        for j in range(self.kind.size):
            largest = max(largest, correlation(intervals, j))
        limit[:, STEEPEST], limit[:, WIDEST] = 0.0, 0.0
        limit[:, FLATTEST], limit[:, NARROWEST], limit[:, SLOWEST] = math.inf, math.inf, math.inf
        self.end[:] = 0
        for j in range(self.kind.size):
            beside = correlation(intervals, j)
            k = kind_of(beside, largest)
            self.kind[j] = k
            self.end[k] += 1
            if intervals.reach[j] > 0.0:
                slope = intervals.steepness.slack_slope(j)
                extend(limit[k], beside, slope * intervals.extra.width[j], slope * intervals.reach[j])
        for k in range(1, PLANE_KINDS):
            self.end[k] += self.end[k - 1]

    @helper
    def members_of(self, k: int) -> int:
        """How many columns may be in a class."""
        begin, end, _ = self.segment(k)
        return end - begin

    @helper
    def segment(self, k: int) -> tuple[int, int, int]:
        """Of n numbers, where those for a class begin and end, and which way they go.

        Both classes of a kind share what its columns need, from the ends.
        """
        kind = k % PLANE_KINDS
        return self.end[kind - 1] if kind > 0 else 0, self.end[kind], 1 if k < PLANE_KINDS else -1

    @helper
    def slot_of(self, k: int, position: int) -> int:
        """Of n numbers, which is that for a position in a class."""
        begin, end, way = self.segment(k)
        return begin + position if way > 0 else end - 1 - position

    @helper
    def rounding(self) -> float:
        """What a key's bound may be wrong by."""
        return KEY_ROUNDING * self.shift[BY_PATH] + self.rounding_of_plane()

    @helper
    def rounding_of_plane(self) -> float:
        """The same where the path is not in the key."""
        return KEY_ROUNDING * self.state[TRAVELLED]

    @helper
    def class_now(self, intervals: Any, j: int) -> int:
        """The class of j: σ(m) must be above σ(0) by as much as those of its kind fall."""
        steepness, penalty, x, along = intervals.steepness, intervals.penalty, intervals.x[j], self.state[SEEN_ALONG]
        here = steepness.signed_upper(penalty, j, x, intervals.extra.interval_at(j)[0], 0.0)
        rise = here - steepness.signed_upper(penalty, j, x, 0.0, 0.0) if here > -math.inf else 0.0
        k = wide(self.kind[j])
        return k if along >= 0.0 and rise >= self.limit[k, FLATTEST] * along else PLANE_KINDS + k

    @helper
    def prefers_plane(self, which: int, left: float, other: float) -> bool:
        """Does this clock of the plane use up ``other`` later than the path's ``left``, at their speeds so far?"""
        if left > 0.0 and other > 0.0:
            gone = self.shift[BY_PATH] - self.state[PATH_BEFORE]
            return other * gone >= left * max(self.shift[which], 0.0)
        return other >= left

    @helper
    def upper_bounds(self, intervals: Any, j: int) -> tuple[float, float]:
        """max(σ) over what the clock knows of j, and over what the reference knows."""
        steepness, penalty, x = intervals.steepness, intervals.penalty, intervals.x[j]
        middle, half = intervals.extra.interval_at(j)
        path = steepness.signed_upper(penalty, j, x, intervals.estimate[j], intervals.width_at(j))
        if intervals.reach[j] == 0.0 or half == math.inf:  # a zero column stays, also where the plane's clock goes back
            return path, math.inf
        return path, steepness.signed_upper(penalty, j, x, middle, half)

    @helper
    def best_clock(self, intervals: Any, j: int, level: float) -> tuple[int, float]:
        """The clock that is expected to keep j below the level for longer, and the bound of j that it moves."""
        path, plane = self.upper_bounds(intervals, j)
        if path <= plane and not plane < level:
            return BY_PATH, path
        which = BY_PLANE + self.class_now(intervals, j)
        by_plane = self.prefers_plane(which, level - path, level - plane)
        return which if by_plane else BY_PATH, plane if by_plane else path

    @helper
    def sleep_key(self, intervals: Any, j: int, which: int, bound: float) -> float:
        """The key of a bound; a zero column that cannot be steep never will be until it is visited."""
        return -math.inf if intervals.reach[j] == 0.0 and bound <= 0.0 else bound - self.shift[which]


@helper
def correlation(intervals: Any, j: int) -> float:
    """κ_j; zero columns are of the first kind."""
    length, product = intervals.extra.place[LENGTH], abs(intervals.extra.product[j])
    return intervals.steepness.slack_slope(j) * (product / length) if length > 0.0 and intervals.reach[j] > 0.0 else 0.0


@helper
def kind_of(beside: float, largest: float) -> int:
    """The last kind holds the upper half of all correlations, the one before it half of the rest, and so on."""
    k = PLANE_KINDS - 1
    while k > 0 and 2.0 * beside <= largest:
        beside *= 2.0
        k -= 1
    return k


@helper
def extend(limit: Array, beside: float, width: float, length: float) -> None:
    """Make room for a column in the limits of a kind."""
    limit[STEEPEST], limit[FLATTEST] = max(limit[STEEPEST], beside), min(limit[FLATTEST], beside)
    limit[WIDEST], limit[NARROWEST] = max(limit[WIDEST], width), min(limit[NARROWEST], width)
    limit[SLOWEST] = min(limit[SLOWEST], length)


@helper
def finish(limit: Array) -> None:
    """Leave room for rounding; a kind without columns does not move."""
    limit[STEEPEST] *= 1.0 + SQUARE_ROUNDING
    limit[WIDEST] *= 1.0 + SQUARE_ROUNDING
    for which in (FLATTEST, NARROWEST, SLOWEST):
        limit[which] = limit[which] * (1.0 - SQUARE_ROUNDING) if limit[which] < math.inf else 0.0
