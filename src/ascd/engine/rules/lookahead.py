"""ASCD with look-ahead: an active set that stays valid while the descent travels a given distance.

After steps γ_t of coordinates i_t no gradient entry has moved further than T·‖a_j‖ with the travel
T = M·Σ|γ_t|‖a_{i_t}‖, whatever the oracle says.  So take ASCD's smallest active set I for the intervals *widened by
Δ‖a_j‖*: with the bounds ℓ', u' over them, u'_j² < av_I(ℓ'²) for all j outside I.  While T ≤ Δ the widened intervals of
unvisited coordinates contain the truth; a visited one gets its ℓ' renewed over what is left of the window.  As long as

    max_{j∉I} u'_j²  <  av_I(ℓ'²)

still holds, every j outside has score_j² ≤ u'_j² < av_I(ℓ'²) ≤ av_I(score²), which is all that the proof of
τ_UCD ≤ τ_ASCD ≤ τ_SCD uses: the sandwich holds at every step, for a pick that is uniform on I.  It also holds where
u'_j = 0 for all j outside, whatever ℓ' is.  A step changes both sides of the condition in O(1); the rounding of the
right one, from which squares are subtracted, is counted.  When it fails, or the window is used up, I is built anew.

A wide window gives a large set that lasts, a narrow one a small set that does not.  Δ is doubled when a set lasted
for fewer than n/64 steps and halved when for more than n/8, so that building costs no more than the steps it buys.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper
from ascd.engine.rules.ascd import smallest_set_threshold
from ascd.engine.rules.scan import highest
from ascd.engine.tuning import BUCKETS, FIRST_SHARE, LASTS_AT_LEAST, LASTS_AT_MOST, SUM_ROUNDING

#: Rows of ``WindowedSet.whole``: the last pick, the size of the set, steps since it was built.
LAST, SET_SIZE, STEPS_TAKEN = range(3)
#: Rows of ``WindowedSet.real``: travel since the set was built, window Δ, largest u'² outside, Σ ℓ'² inside, x of the
#: last pick before its step, rounding of the sum.
TRAVEL, WINDOW, OUTSIDE, TOTAL, OLD, ROUNDED = range(6)


class LookAhead(NamedTuple):
    """ASCD on sets that stay valid for a while; the pick is uniform on the set.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> ascd.minimize(problem, rule=ascd.LookAhead(), rng=0).x
    array([ 2.,  0., -1.])
    """

    unit: float = 1.0

    def is_patient(self) -> bool:
        return True

    def prepare(self, parts: Any, oracle: Any, steepness: Any) -> WindowedSet:
        n = parts.norm.size
        return WindowedSet(
            lower=np.empty(n),
            upper=np.empty(n),
            buckets=np.empty((BUCKETS, 2)),
            members=np.empty(n, dtype=np.int32),
            whole=np.array([-1, 0, 0]),
            real=np.array([0.0, -1.0, 0.0, 0.0, 0.0, 0.0]),
        )


class WindowedSet(NamedTuple):
    """Bounds over the widened intervals, the set, and the numbers that say whether it is still valid."""

    lower: Array
    upper: Array
    buckets: Array
    members: Array
    whole: Array
    real: Array

    def select(self, point: Any, t: int, rng: Any) -> int:
        whole, real = self.whole, self.real
        if whole[LAST] < 0:
            self.build_set(point)
        else:
            self.renew(point.intervals, whole[LAST])
            real[TRAVEL] += self.distance(point, whole[LAST])
            is_valid = real[OUTSIDE] <= 0.0 or real[TOTAL] - real[ROUNDED] > real[OUTSIDE] * whole[SET_SIZE]
            if real[TRAVEL] > real[WINDOW] or not is_valid:
                self.build_set(point)
        whole[STEPS_TAKEN] += 1
        whole[LAST] = int(self.members[int(rng.random() * whole[SET_SIZE])])
        real[OLD] = point.x[whole[LAST]]
        return whole[LAST]

    @helper
    def distance(self, point: Any, j: int) -> float:
        """M·|γ|·‖a_j‖ of the last step."""
        return abs(point.x[j] - self.real[OLD]) * point.problem.norm[j] * (point.problem.gain + point.problem.slack)

    @helper
    def renew(self, intervals: Any, j: int) -> None:
        """A visited member: its ℓ' over what is left of the window."""
        real, before = self.real, self.lower[j] * self.lower[j]
        self.widened(intervals, j, max(real[WINDOW] - real[TRAVEL], 0.0))
        after = self.lower[j] * self.lower[j]
        real[ROUNDED] += SUM_ROUNDING * (real[TOTAL] + before + after)
        real[TOTAL] += after - before

    @helper
    def widened(self, intervals: Any, j: int, travel: float) -> None:
        """ℓ' and u' of coordinate j over its interval widened by travel·‖a_j‖."""
        g, r = intervals.extra.tighten(j, intervals.estimate[j], intervals.width_at(j))
        bounds = intervals.steepness.bounds(intervals.penalty, j, intervals.x[j], g, r + travel * intervals.norm[j])
        self.lower[j], self.upper[j] = bounds

    @helper
    def build_set(self, point: Any) -> None:
        """The smallest active set for intervals widened by the window."""
        intervals, real, whole, n = point.intervals, self.real, self.whole, point.x.size
        self.adjust_window(point)
        for j in range(n):
            self.widened(intervals, j, real[WINDOW])
        threshold = smallest_set_threshold(self.lower, self.upper, highest(self.lower), self.buckets, self.members)
        whole[SET_SIZE], whole[STEPS_TAKEN] = 0, 0
        real[TRAVEL], real[OUTSIDE], real[TOTAL] = 0.0, -1.0, 0.0
        for j in range(n):
            if self.upper[j] >= threshold:
                self.members[whole[SET_SIZE]] = j
                whole[SET_SIZE] += 1
                real[TOTAL] += self.lower[j] * self.lower[j]
            else:
                real[OUTSIDE] = max(real[OUTSIDE], self.upper[j] * self.upper[j])
        real[ROUNDED] = SUM_ROUNDING * whole[SET_SIZE] * real[TOTAL]
        if whole[SET_SIZE] == 0:  # bounds that are not numbers any more: any coordinate
            whole[SET_SIZE] = n
            for j in range(n):
                self.members[j] = j

    @helper
    def adjust_window(self, point: Any) -> None:
        """Δ by how long the last set lasted; for the first see ``first_window``."""
        real, steps, n = self.real, self.whole[STEPS_TAKEN], point.x.size
        if real[WINDOW] < 0.0:
            real[WINDOW] = first_window(point)
        elif steps * LASTS_AT_LEAST < n:
            real[WINDOW] *= 2.0
        elif steps * LASTS_AT_MOST > n:
            real[WINDOW] *= 0.5

    def active_count(self, point: Any) -> int:
        return max(int(self.whole[SET_SIZE]), 1)


@helper
def first_window(point: Any) -> float:
    """Return a window that widens a typical interval by a quarter of the steepest score; else a share of ‖v‖."""
    steepest, norms, square = 0.0, 0.0, 0.0
    for j in range(point.x.size):
        upper = point.intervals.bounds_at(j)[1]
        steepest = max(steepest, upper if upper < math.inf else 0.0)
        norms += point.problem.norm[j]
    for k in range(point.raw_gradient.size):
        square += point.raw_gradient[k] * point.raw_gradient[k]
    known = steepest > 0.0 and norms > 0.0
    return 0.25 * steepest * point.x.size / norms if known else max(FIRST_SHARE * math.sqrt(square), 1e-300)
