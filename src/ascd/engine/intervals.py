"""Intervals that provably contain every gradient entry: what rules, certificate and solver read.

For each coordinate j an estimate g̃_j and a radius r_j with ∇_j f(x) ∈ [g̃_j − r_j, g̃_j + r_j].  The errors of
all oracles of the paper but one are multiples of ‖a_i‖‖a_j‖, so the growth of the radii has the form

    r_j  =  offset_j + clock · reach_j,        reach_j = ‖a_j‖ in the norm weighted by the samples,

with one clock for all coordinates: a step of coordinate i by γ advances it by |γ|·‖a_i‖·(relative error), which
costs O(1) whatever n is.  The offset changes only when j itself is visited (``pin``) or when an oracle knows
more about it.

**Rounding.**  Radii hold in exact arithmetic.  Entries are computed in float64: an inner product ⟨a_j, v⟩ and the clock
carry errors of a few ulps of ‖a_j‖(‖v‖ + clock), a coordinate of a few ulps of |x_j|, which moves its entry by
M‖a_j‖²|x_j| times as much.  All of them are multiples of ‖a_j‖ again, so that one number serves all coordinates: bounds
on scores are taken over g̃_j ± (r_j + ε·reach_j) with

    ε  =  INTERVAL_ROUNDING · (‖v_0‖ + clock + max_i M‖a_i‖|x_i|),    v_0 = v at the start, the maximum over all visits.

Every step adds a column to v, or to Ax, and each sum is rounded, to the same side again and again where steps are too
short to be seen in v.  A step of length l = |γ|‖a_i‖M moves v by at most l, and with the length p of the path so far,
x_0 counted as a step a coordinate, neither v nor M·Ax is longer than ‖v_0‖ + p.  Now and then the one that is added to
is measured anew (``measured``), so that with its length s then and the path p' since it (``stepped``) adds

    INTERVAL_ROUNDING·l + ADDITION_ROUNDING·(s + p')

to ε.  An oracle that moves estimates adds products to them, one a step, which are rounded as often: ``moved`` adds
INTERVAL_ROUNDING·l + SUM_ROUNDING·(‖v_0‖ + p) once more.

Every widening is added to the clock, too.  Steps that are too short to be seen in it, one by one, are kept beside it
until they are (``added``): so the clock is wrong by an ulp of its own at most, which ε counts.

Hence a lower bound below the rounding error of its own computation is 0.  Without ε a coordinate at its minimum keeps a
lower bound of 1e-16, the largest one where all others are 0, and a rule that looks for the largest lower bound never
leaves it.  The definition is ours; the paper computes exactly (ε = 0).  Stored is clock + ε too, so that reading a
radius costs no more than without: ``pin`` takes away the clock alone.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, as_finite_vector, as_radii, unknown_name
from ascd._core.jit import helper
from ascd.engine.tuning import ADDITION_ROUNDING, INTERVAL_ROUNDING, SUM_ROUNDING
from ascd.problem.optimality import added, has_digits
from ascd.problem.problem import Parts
from ascd.problem.tuning import SQUARE_ROUNDING

#: What ``Intervals.clock`` holds: clock + ε, ε, what of ε comes from x, ‖v_0‖ + the path of v, the clock, s + the path
#: since it was measured, and what is not yet seen in the clock.
CLOCK_AND_EPSILON, EPSILON, EPSILON_OF_X, PATH_OF_V, CLOCK_ALONE, SINCE_MEASURED, NOT_YET_SEEN = range(7)


class Intervals(NamedTuple):
    """Estimates, radius offsets, reach, and the clock (an array, so that kernels can advance it).

    The point x, the penalty and the steepness stand beside them, because together they bound every score.
    """

    estimate: Array
    offset: Array
    reach: Array
    clock: Array
    x: Array
    penalty: Any
    steepness: Any
    largest_curvature: float  # M
    extra: Any  # what else is known, as ``tighten(j, g, r)``; see the reference oracle

    def radius_at(self, j: int) -> float:
        """r_j, without rounding: 0 where the entry has been read and nothing has moved since."""
        grown = self.clock[CLOCK_ALONE] * self.reach[j]
        radius = self.offset[j] + grown
        # a pinned offset is minus what the clock had added by then: their difference is 0 only up to rounding
        return radius if radius > INTERVAL_ROUNDING * grown else 0.0

    def width_at(self, j: int) -> float:
        """r_j + ε·reach_j."""
        width = self.offset[j] + self.clock[CLOCK_AND_EPSILON] * self.reach[j]
        return width if width > 0.0 else 0.0

    def pin(self, j: int, gradient: float, error: float) -> None:
        clock = self.clock
        growth = INTERVAL_ROUNDING * self.largest_curvature * self.reach[j] * abs(self.x[j]) - clock[EPSILON_OF_X]
        if growth > 0.0:
            clock[EPSILON_OF_X] += growth
            self.add_rounding(growth)
        self.estimate[j] = gradient
        self.offset[j] = error - clock[CLOCK_ALONE] * self.reach[j]

    def widen(self, amount: float) -> None:
        clock = self.clock
        clock[CLOCK_ALONE], clock[NOT_YET_SEEN] = added(clock[CLOCK_ALONE], clock[NOT_YET_SEEN], amount)
        self.add_rounding(INTERVAL_ROUNDING * amount)

    @helper
    def add_rounding(self, rounding: float) -> None:
        """ε grows; its sum with the clock is taken anew, so that no difference of it is needed."""
        clock = self.clock
        clock[EPSILON] += rounding
        clock[CLOCK_AND_EPSILON] = clock[CLOCK_ALONE] + clock[EPSILON]

    def stepped(self, i: int, change: float) -> None:
        """Count the rounding of v, to which a step of coordinate i by this much was added."""
        length = abs(change) * self.reach[i] * self.largest_curvature
        self.clock[PATH_OF_V] += length
        self.clock[SINCE_MEASURED] += length
        self.add_rounding(INTERVAL_ROUNDING * length + ADDITION_ROUNDING * self.clock[SINCE_MEASURED])

    @helper
    def measured(self, square: float) -> None:
        """What steps add to, v or M·Ax, has this square: where that has lost no digits, it bounds their rounding."""
        if has_digits(square):
            self.clock[SINCE_MEASURED] = min(self.clock[SINCE_MEASURED], (1.0 + SQUARE_ROUNDING) * math.sqrt(square))

    def moved(self, length: float) -> None:
        """Count the rounding of estimates to which the products of a step of this length were added."""
        self.add_rounding(INTERVAL_ROUNDING * length + SUM_ROUNDING * self.clock[PATH_OF_V])

    def score_at(self, j: int, g: float) -> float:
        """The steepness of coordinate j where ∇_j f(x) = g."""
        return self.steepness.score(self.penalty, j, self.x[j], g)

    def signed_upper_at(self, j: int) -> float:
        """The upper bound on the steepness of coordinate j, negative where it certainly has none."""
        g, r = self.extra.tighten(j, self.estimate[j], self.width_at(j))
        return self.steepness.signed_upper(self.penalty, j, self.x[j], g, r)

    def bounds_at(self, j: int) -> tuple[float, float]:
        """Lower and upper bound on the steepness of coordinate j over its interval."""
        g, r = self.extra.tighten(j, self.estimate[j], self.width_at(j))
        return self.steepness.bounds(self.penalty, j, self.x[j], g, r)


class NothingElse(NamedTuple):
    """No knowledge beyond estimate and radius."""

    unit: float = 1.0

    def tighten(self, j: int, g: float, r: float) -> tuple[float, float]:
        return g, r


def start_intervals(init: Any, x: Array, slope: Array, parts: Parts, steepness: Any) -> tuple[Intervals, bool]:
    """The intervals before the first step, and whether the exact gradient is still to be read into them.

    ``init`` is "gradient" (exact), "none" (estimate 0, radius ∞) or the user's (estimate, radius).
    """
    n = x.size
    clock = start_clock(size_of(slope, parts.sample.weight), x, parts)
    rest = (parts.norm, clock, x, parts.penalty, steepness, parts.gain + parts.slack, NothingElse())
    check_init(init)
    if isinstance(init, str):
        return Intervals(np.zeros(n), np.full(n, np.inf), *rest), init == "gradient"
    estimate = as_finite_vector(init[0], "init estimate", n).copy()
    return Intervals(estimate, as_radii(init[1], "init radius", n), *rest), False


def check_init(init: Any) -> None:
    """Refuse what does not say what is known of the gradient at the start."""
    if isinstance(init, str):
        if init not in ("gradient", "none"):
            raise unknown_name(init, "init", ("gradient", "none"))
    elif not (isinstance(init, tuple) and len(init) == 2):
        raise TypeError(f"init must be 'gradient', 'none' or a pair (estimate, radius); got {init!r}")


def start_clock(size: float, x: Array, parts: Any) -> Array:
    """The clock before the first step, where ‖v_0‖ = ``size`` and the coordinates of x_0 have these lengths."""
    path = (parts.gain + parts.slack) * float(np.abs(x) @ parts.norm)
    rounding = INTERVAL_ROUNDING * size + SUM_ROUNDING * np.count_nonzero(x) * path
    return np.array([rounding, rounding, 0.0, size + path, 0.0, size + path, 0.0])


def size_of(slope: Array, weight: Any) -> float:
    """‖v‖ with |⟨a_j, v⟩| ≤ ‖a_j‖‖v‖: where a_j is weighted by the samples, v is divided by the weights."""
    weighs = np.broadcast_to(weight, slope.shape) > 0.0
    scaled = slope[weighs] / np.sqrt(np.broadcast_to(weight, slope.shape)[weighs])
    largest = float(np.abs(scaled).max(initial=0.0))
    # divided by the largest, so that no square overflows
    return largest * float(np.linalg.norm(scaled / largest)) if largest > 0.0 else 0.0
