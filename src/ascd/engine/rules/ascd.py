"""ASCD, Algorithm 1, and rules on its active set: adaptive sampling, and sets that stay valid (look-ahead).

ASCD picks uniformly from the smallest active set I with u_j² < av(I) for all j outside it, where av(I) is the mean of
ℓ_i² over I.

Such a set is a prefix of the coordinates in order of decreasing u: the first k with u²_(k+1) < av(I_k).  It can be
found without sorting, because

1. all coordinates with u ≥ max ℓ belong to it (no average of ℓ² exceeds max ℓ²), in any order;
2. the rest is sorted into buckets by u, each with its count and Σℓ².  With k coordinates of sum s before a bucket
   whose upper bounds are at least b, no average inside it exceeds (s + Σℓ²)/k; where that is at most b² the set
   cannot end inside, and the bucket is taken whole.  Only a bucket where it may end is sorted;
3. the set never ends between equal upper bounds: if u²_(k+1) = u²_(k) < av(I_k), then ℓ²_(k) < av(I_k) too, so
   av(I_{k−1}) is larger still and the set ended earlier.  So it is the level set {u ≥ threshold}.

The printed algorithm picks from argmax_{i∈I} ℓ_i instead (erratum E3); ``pick="largest-lower"`` does that.

**Adaptive sampling** moves probability from coordinates that cannot be steep to those that are.  Choose a level θ, let
k be the size of I, A = {i ∈ I : ℓ_i ≥ θ} and B = {i ∈ I : u_i < θ}.  Draw uniformly from I; if the draw falls into B,
draw again from A with probabilities ∝ ℓ_i².  Every unit of probability leaves a coordinate with a score below θ and
arrives at one with a score of at least θ, so for every gradient inside the intervals Σ p_i score_i² is at least
(1/k) Σ_I score_i², and the expected progress at least ASCD's.  The gain is at least |B|/k·(Σ_A ℓ⁴/Σ_A ℓ² − mean_B u²);
among ``LEVELS`` values of θ below max ℓ the one with the largest such gain is taken; where none is positive, the pick
is ASCD's.

**Look-ahead** uses a set that stays valid while the descent travels a given distance.
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

from ascd._core.checks import Array, unknown_name
from ascd._core.jit import helper
from ascd.engine.rules.scan import (
    LEAST,
    bucket_of,
    count_at_least,
    fill_bounds,
    highest,
    least_threshold,
    pick_at_least,
    sort_decreasing,
)
from ascd.engine.tuning import BUCKETS, EDGE_SAFETY, FIRST_SHARE, LASTS_AT_LEAST, LASTS_AT_MOST, LEVELS, SUM_ROUNDING

PICKS = ("uniform", "largest-lower")
#: Columns of the sums over levels: Σℓ², Σℓ⁴, and the number and Σu² of those below the level.
LOWER2, LOWER4, MEMBERS, UPPER2 = range(4)
#: Rows of ``WindowedSet.whole``: the last pick, the size of the set, steps since it was built.
LAST, SET_SIZE, STEPS_TAKEN = range(3)
#: Rows of ``WindowedSet.real``: travel since the set was built, window Δ, largest u'² outside, Σ ℓ'² inside, x of the
#: last pick before its step, rounding of the sum.
TRAVEL, WINDOW, OUTSIDE, TOTAL, OLD, ROUNDED = range(6)


class ASCD(NamedTuple):
    """Algorithm 1 with its smallest active set.

    Parameters
    ----------
    pick : {"uniform", "largest-lower"}
        Uniform over the active set, which the theory is about, or the printed choice of the largest lower bound.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> ascd.minimize(problem, rule=ascd.ASCD(), rng=0).x
    array([ 2.,  0., -1.])
    """

    pick: str = "uniform"

    def is_patient(self) -> bool:
        return True

    def prepare(self, parts: Any, oracle: Any, steepness: Any) -> SmallestSet:
        if self.pick not in PICKS:
            raise unknown_name(self.pick, "ASCD pick", PICKS)
        n = parts.norm.size
        work = (np.empty(n), np.empty(n), np.empty((BUCKETS, 2)), np.empty(n, dtype=np.int32))
        return SmallestSet(self.pick == "largest-lower", *work)


class SmallestSet(NamedTuple):
    """Bounds, a count and a sum of squares for every bucket, and room for the members of one bucket."""

    printed_pick: bool
    lower: Array
    upper: Array
    buckets: Array
    members: Array

    @helper
    def find_threshold(self, point: Any) -> float:
        fill_bounds(point.intervals, self.lower, self.upper)
        return smallest_set_threshold(self.lower, self.upper, highest(self.lower), self.buckets, self.members)

    def select(self, point: Any, t: int, rng: Any) -> int:
        threshold = self.find_threshold(point)
        if self.printed_pick and threshold != LEAST:  # where all lower bounds are 0, all of the set are equal
            return pick_at_least(self.lower, highest(self.lower), rng)
        return pick_at_least(self.upper, threshold, rng)

    def active_count(self, point: Any) -> int:
        return count_at_least(self.upper, self.find_threshold(point), 0, self.upper.size)


@helper
def smallest_set_threshold(lower: Array, upper: Array, largest: float, buckets: Array, members: Array) -> float:
    """Return the number that exactly the upper bounds inside the smallest active set reach; 0 if all are inside."""
    if not largest > 0.0:
        return least_threshold(upper)
    size = buckets.shape[0]
    scale = size / largest
    count, total = sort_into_buckets(lower, upper, largest, scale, buckets)
    if count == 0.0:  # lower bounds above the upper ones: no information
        return 0.0
    for b in range(size - 1, -1, -1):
        if buckets[b, 0] == 0.0:
            continue
        floor = b / scale * (1.0 - EDGE_SAFETY)
        if (total + buckets[b, 1]) / count <= floor * floor:
            count += buckets[b, 0]
            total += buckets[b, 1]
            continue
        found = collect_bucket(upper, largest, scale, size, b, members)
        first_outside = end_among(members, found, lower, upper, count, total)
        if first_outside >= 0.0:
            return np.nextafter(first_outside, np.inf)
        count += buckets[b, 0]
        total += buckets[b, 1]
    return 0.0


@helper
def sort_into_buckets(lower: Array, upper: Array, largest: float, scale: float, buckets: Array) -> tuple[float, float]:
    """Fill the buckets below ``largest``; returns the count and Σℓ² of the coordinates that are not below it."""
    buckets[:] = 0.0
    count, total = 0.0, 0.0
    for j in range(lower.size):
        square = lower[j] * lower[j]
        if upper[j] >= largest:
            count += 1.0
            total += square
        else:
            b = bucket_of(upper[j], scale, buckets.shape[0])
            buckets[b, 0] += 1.0
            buckets[b, 1] += square
    return count, total


@helper
def collect_bucket(upper: Array, largest: float, scale: float, size: int, b: int, members: Array) -> int:
    """List the members of bucket b by decreasing upper bound; returns how many there are."""
    found = 0
    for j in range(upper.size):
        if upper[j] < largest and bucket_of(upper[j], scale, size) == b:
            members[found] = j
            found += 1
    sort_decreasing(members, found, upper)
    return found


@helper
def end_among(members: Array, found: int, lower: Array, upper: Array, count: float, total: float) -> float:
    """Return the upper bound of the first member outside the set, or −1 if all are inside."""
    for m in range(found):
        j = members[m]
        if upper[j] * upper[j] < total / count * (1.0 - EDGE_SAFETY):
            return upper[j]
        count += 1.0
        total += lower[j] * lower[j]
    return -1.0


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
        return AdaptiveSet(ASCD().prepare(parts, oracle, steepness), np.empty((LEVELS, 4)))


class AdaptiveSet(NamedTuple):
    """The smallest active set with its bounds, and sums over the levels of θ."""

    smallest: SmallestSet
    sums: Array

    def select(self, point: Any, t: int, rng: Any) -> int:
        threshold, lower, upper = self.smallest.find_threshold(point), self.smallest.lower, self.smallest.upper
        level = best_level(lower, upper, threshold, highest(lower), self.sums)
        pick = pick_at_least(upper, threshold, rng)
        return pick if upper[pick] >= level else pick_by_square(lower, level, rng)

    def active_count(self, point: Any) -> int:
        return self.smallest.active_count(point)


@helper
def best_level(lower: Array, upper: Array, threshold: float, largest: float, sums: Array) -> float:
    """Return the θ with the largest guaranteed gain, 0 where there is none."""
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
    """Return the level θ = row/scale with the largest gain: from below, B gains the rows that A loses."""
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
    """Return a pick from {ℓ_j ≥ level} with probabilities ∝ ℓ_j²."""
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
