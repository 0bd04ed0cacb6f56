"""What bound-based rules share: one pass for the bounds, uniform picks above a threshold, and orders of lists.

Every active set of the paper is a level set {j : bound_j ≥ threshold}, also ASCD's: its set never cuts through
coordinates with equal upper bounds (see ``rules/ascd.py``).

**Where all lower bounds are 0** the paper's conditions leave nothing out.  A coordinate with the upper bound 0 is at
its minimum, though: the set is {u > 0} there, a definition of ours, unless all upper bounds are 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper
from ascd.engine.intervals import INFLATION
from ascd.engine.tuning import PICK_BLOCK

#: The smallest threshold that an upper bound of 0 does not reach.
LEAST = float(np.finfo(np.float64).smallest_subnormal)


@helper
def fill_bounds(intervals: Any, lower: Array, upper: Array) -> None:
    """Compute the bounds on all scores; ``lower`` and ``upper`` have shape (n_features,)."""
    inflation = intervals.lengths[INFLATION]  # read once: the compiler cannot know that the loop does not change it
    for j in range(lower.size):
        radius = intervals.offset[j] + inflation * intervals.norm[j]
        g, r = intervals.extra.tighten(j, intervals.estimate[j], radius if radius > 0.0 else 0.0)
        lower[j], upper[j] = intervals.steepness.bounds(intervals.penalty, j, intervals.x[j], g, r)


@helper
def highest(values: Array) -> float:
    """Return max_j values_j, by four running maxima that do not wait for each other."""
    a, b, c, d = values[0], values[0], values[0], values[0]
    whole = values.size - values.size % 4
    for j in range(0, whole, 4):
        a = values[j] if values[j] > a else a
        b = values[j + 1] if values[j + 1] > b else b
        c = values[j + 2] if values[j + 2] > c else c
        d = values[j + 3] if values[j + 3] > d else d
    for j in range(whole, values.size):
        a = values[j] if values[j] > a else a
    return max(max(a, b), max(c, d))


@helper
def bucket_of(value: float, scale: float, size: int) -> int:
    """Return the bucket of a value: the last one where value·scale is too large or not a number, the first one where it
    is negative, which a user's score may be."""
    place = value * scale
    return int(max(place, 0.0)) if place < size - 1 else size - 1


@helper
def count_at_least(values: Array, threshold: float, first: int, last: int) -> int:
    """Count the values[first:last] that reach the threshold."""
    count = 0
    for j in range(first, last):
        count += values[j] >= threshold
    return count


@helper
def least_threshold(upper: Array) -> float:
    """Return the threshold where all lower bounds are 0: positive upper bounds reach it; 0 where there is none."""
    for j in range(upper.size):  # usually the first few decide
        if upper[j] > 0.0:
            return LEAST
    return 0.0


@helper
def pick_at_least(values: Array, threshold: float, rng: Any) -> int:
    """Return a uniform pick from {j : values_j ≥ threshold}; from all coordinates where that is empty (nan)."""
    total = count_at_least(values, threshold, 0, values.size)
    if total == 0:
        return int(rng.random() * values.size)
    rank = int(rng.random() * total)
    for first in range(0, values.size, PICK_BLOCK):
        last = min(first + PICK_BLOCK, values.size)
        inside = count_at_least(values, threshold, first, last)
        if rank < inside:
            for j in range(first, last):
                if values[j] >= threshold:
                    if rank == 0:
                        return j
                    rank -= 1
        rank -= inside
    return values.size - 1


@helper
def sort_decreasing(members: Array, count: int, key: Array) -> None:
    """Sort members by decreasing key (Shell's sort: NumPy's sort would cost a second of compiling)."""
    gap = 1
    while gap < count // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for end in range(gap, count):
            member, position = members[end], end
            while position >= gap and key[members[position - gap]] < key[member]:
                members[position] = members[position - gap]
                position -= gap
            members[position] = member
        gap //= 3


@helper
def shuffle(members: Array, count: int, rng: Any) -> None:
    """Put the first ``count`` members in random order."""
    for i in range(count - 1, 0, -1):
        other = int(rng.random() * (i + 1))
        members[i], members[other] = members[other], members[i]


@helper
def put_steep_first(members: Array, count: int, upper: Array, work: Array, first: Array) -> None:
    """Sort members by halves of the largest upper bound: those above a half, above a quarter, and so on."""
    largest = highest(upper)
    if not 0.0 < largest < math.inf:
        return
    for bucket in range(first.size):
        first[bucket] = 0
    for i in range(count):
        work[i] = members[i]
        first[halving_of(upper[members[i]], largest, first.size) + 1] += 1
    for bucket in range(1, first.size):
        first[bucket] += first[bucket - 1]
    for i in range(count):
        j = work[i]
        bucket = halving_of(upper[j], largest, first.size)
        members[first[bucket]] = j
        first[bucket] += 1


@helper
def halving_of(value: float, largest: float, buckets: int) -> int:
    """Return how often the largest is halved before it falls below the value."""
    return int(min(math.log2(largest / value), buckets - 2.0))


@helper
def put_largest_first(order: Array, key: Array, size: int, count: int) -> None:
    """Rearrange order[:size] so that its ``count`` largest keys come first (Hoare's selection)."""
    low, high = 0, size - 1
    while low < high:
        pivot = key[order[(low + high) // 2]]
        i, j = low, high
        while i <= j:
            while key[order[i]] > pivot:
                i += 1
            while key[order[j]] < pivot:
                j -= 1
            if i <= j:
                swapped = order[i]
                order[i] = order[j]
                order[j] = swapped
                i += 1
                j -= 1
        if count - 1 <= j:
            high = j
        elif count - 1 >= i:
            low = i
        else:
            return
