"""What the bound-based rules share: one pass for the bounds, and a uniform pick above a threshold.

Every active set of the paper is a level set {j : bound_j ≥ threshold}, also ASCD's: its set never cuts through
coordinates with equal upper bounds (see ``rules/ascd.py``).

**Where all lower bounds are 0** the paper's conditions leave nothing out.  A coordinate with the upper bound 0 is at
its minimum for certain, though, and a pick of it is wasted: leaving it out raises the mean of score² over the set, and
the steepest coordinate stays inside.  So the set is {u > 0} there, a definition of ours, unless all upper bounds are 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper
from ascd.engine.intervals import CLOCK_AND_EPSILON
from ascd.engine.tuning import PICK_BLOCK

#: The smallest threshold that an upper bound of 0 does not reach.
LEAST = float(np.finfo(np.float64).smallest_subnormal)


@helper
def fill_bounds(intervals: Any, lower: Array, upper: Array) -> None:
    """Bounds on all scores."""
    clock = intervals.clock[CLOCK_AND_EPSILON]  # read once: the compiler cannot know that the loop does not change it
    for j in range(lower.size):
        radius = intervals.offset[j] + clock * intervals.reach[j]
        g, r = intervals.extra.tighten(j, intervals.estimate[j], radius if radius > 0.0 else 0.0)
        lower[j], upper[j] = intervals.steepness.bounds(intervals.penalty, j, intervals.x[j], g, r)


@helper
def highest(values: Array) -> float:
    """max_j values_j, by four running maxima that do not wait for each other."""
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
    """The bucket of a value; the last one also where value·scale is beyond all integers, or no number.

    The first one where it is negative, which a score of the user's own may be.
    """
    place = value * scale
    return int(max(place, 0.0)) if place < size - 1 else size - 1


@helper
def count_at_least(values: Array, threshold: float, first: int, last: int) -> int:
    """How many of values[first:last] reach the threshold."""
    count = 0
    for j in range(first, last):
        count += values[j] >= threshold
    return count


@helper
def least_threshold(upper: Array) -> float:
    """The threshold where all lower bounds are 0: what may still move reaches it; 0 where nothing may."""
    for j in range(upper.size):  # as a rule the first few decide
        if upper[j] > 0.0:
            return LEAST
    return 0.0


@helper
def pick_at_least(values: Array, threshold: float, rng: Any) -> int:
    """Uniform among {j : values_j ≥ threshold}, by one random number; any coordinate where none reaches it (nan)."""
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
