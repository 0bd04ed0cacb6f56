"""ASCD, Algorithm 1: uniform picks from the smallest active set.

It is the smallest set I with u_j² < av(I) for all j outside it, where av(I) is the mean of ℓ_i² over I.

Such a set is a prefix of the coordinates in order of decreasing u: the first k with u²_(k+1) < av(I_k).  It can be
found without sorting, because

1. all coordinates with u ≥ max ℓ belong to it (no average of ℓ² exceeds max ℓ²), in any order;
2. the rest is sorted into buckets by u, each with its count and Σℓ².  With k coordinates of sum s before a bucket
   whose upper bounds are at least b, no average inside it exceeds (s + Σℓ²)/k; where that is at most b² the set
   cannot end inside, and the bucket is taken whole.  Only a bucket where it may end is sorted;
3. the set never ends between equal upper bounds: if u²_(k+1) = u²_(k) < av(I_k), then ℓ²_(k) < av(I_k) too, so
   av(I_{k−1}) is larger still and the set ended earlier.  So it is the level set {u ≥ threshold}.

The printed algorithm picks from argmax_{i∈I} ℓ_i instead (erratum E3); ``pick="largest-lower"`` does that.
"""

from __future__ import annotations

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
from ascd.engine.tuning import BUCKETS, EDGE_SAFETY

PICKS = ("uniform", "largest-lower")


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
        floor = b / scale * (1.0 - EDGE_SAFETY)
        if buckets[b, 0] > 0.0 and not (total + buckets[b, 1]) / count <= floor * floor:  # the set may end inside
            found = 0
            for j in range(upper.size):
                if upper[j] < largest and bucket_of(upper[j], scale, size) == b:
                    members[found] = j
                    found += 1
            sort_decreasing(members, found, upper)
            number, square = count, total
            for m in range(found):
                j = members[m]
                if upper[j] * upper[j] < square / number * (1.0 - EDGE_SAFETY):
                    return np.nextafter(upper[j], np.inf)
                number += 1.0
                square += lower[j] * lower[j]
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
