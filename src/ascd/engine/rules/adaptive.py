"""Adaptive sampling on ASCD's active set: chances are moved from coordinates that cannot be steep to those that are.

Let I be ASCD's smallest active set, k its size, and choose a level θ.  With A = {i ∈ I : ℓ_i ≥ θ} and
B = {i ∈ I : u_i < θ}, draw uniformly from I; if the draw falls into B, draw again from A with chances ∝ ℓ_i².

**Never worse than ASCD.**  Every unit of probability leaves some b ∈ B, whose score is below θ, and arrives at some
a ∈ A, whose score is at least θ.  So for every gradient inside the intervals Σ p_i score_i² ≥ (1/k) Σ_I score_i²: the
expected progress is at least ASCD's, and by the sandwich at least UCD's.

**The level.**  The gain is at least |B|/k·(Σ_A ℓ⁴/Σ_A ℓ² − mean_B u²).  Among ``LEVELS`` values of θ below max ℓ the
one with the largest such gain is taken; where none is positive, the pick is ASCD's.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper
from ascd.engine.rules.ascd import smallest_set_threshold
from ascd.engine.rules.scan import bucket_of, count_at_least, fill_bounds, highest, pick_at_least
from ascd.engine.tuning import BUCKETS, LEVELS

LOWER2, LOWER4, MEMBERS, UPPER2 = range(4)


class Adaptive(NamedTuple):
    """ASCD's active set, sampled by its bounds.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> ascd.minimize(problem, rule=ascd.Adaptive(), rng=0).x
    array([ 2.,  0., -1.])
    """

    unit: float = 1.0

    def is_patient(self) -> bool:
        return True

    def prepare(self, parts: Any, oracle: Any, steepness: Any) -> AdaptiveSet:
        n = parts.norm.size
        work = (np.empty(n), np.empty(n), np.empty((BUCKETS, 2)), np.empty(n, dtype=np.int32), np.empty((LEVELS, 4)))
        return AdaptiveSet(*work)


class AdaptiveSet(NamedTuple):
    """Bounds, work for the smallest active set, and sums over the levels of θ."""

    lower: Array
    upper: Array
    buckets: Array
    members: Array
    sums: Array

    @helper
    def find_threshold(self, point: Any) -> float:
        fill_bounds(point.intervals, self.lower, self.upper)
        return smallest_set_threshold(self.lower, self.upper, highest(self.lower), self.buckets, self.members)

    def select(self, point: Any, t: int, rng: Any) -> int:
        threshold = self.find_threshold(point)
        level = best_level(self.lower, self.upper, threshold, highest(self.lower), self.sums)
        pick = pick_at_least(self.upper, threshold, rng)
        if self.upper[pick] >= level:
            return pick
        return pick_by_square(self.lower, level, rng)

    def active_count(self, point: Any) -> int:
        return count_at_least(self.upper, self.find_threshold(point), 0, self.upper.size)


@helper
def best_level(lower: Array, upper: Array, threshold: float, largest: float, sums: Array) -> float:
    """The θ with the largest guaranteed gain, 0 where there is none."""
    if not largest > 0.0:
        return 0.0
    levels = sums.shape[0]
    scale = levels / largest
    sums[:] = 0.0
    for j in range(lower.size):
        if upper[j] >= threshold:
            square = lower[j] * lower[j]
            row = bucket_of(lower[j], scale, levels)
            sums[row, LOWER2] += square
            sums[row, LOWER4] += square * square
            if upper[j] < largest:
                # counted one level up: the whole of its level is at least u
                row = min(bucket_of(upper[j], scale, levels) + 1, levels - 1)
                if upper[j] * scale < row:
                    sums[row, MEMBERS] += 1.0
                    sums[row, UPPER2] += upper[j] * upper[j]
    return level_of_gain(sums, scale)


@helper
def level_of_gain(sums: Array, scale: float) -> float:
    """Go through θ = row/scale from below: B gathers what lies under it, A loses it."""
    levels = sums.shape[0]
    above2, above4, under, under2 = 0.0, 0.0, 0.0, 0.0
    for row in range(levels):
        above2 += sums[row, LOWER2]
        above4 += sums[row, LOWER4]
    best, level = 0.0, 0.0
    for row in range(1, levels):
        above2 -= sums[row - 1, LOWER2]
        above4 -= sums[row - 1, LOWER4]
        under += sums[row, MEMBERS]
        under2 += sums[row, UPPER2]
        if above2 > 0.0 and under * above4 / above2 - under2 > best:
            best, level = under * above4 / above2 - under2, row / scale
    return level


@helper
def pick_by_square(lower: Array, level: float, rng: Any) -> int:
    """At random among {ℓ_j ≥ level} with chances ∝ ℓ_j²."""
    total = 0.0
    for j in range(lower.size):
        total += lower[j] * lower[j] if lower[j] >= level else 0.0
    ticket, last = rng.random() * total, 0
    for j in range(lower.size):
        if lower[j] >= level:
            last = j
            ticket -= lower[j] * lower[j]
            if ticket < 0.0:
                return j
    return last
