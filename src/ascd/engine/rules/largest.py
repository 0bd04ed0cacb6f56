"""Rules by the largest bound or score: u-ASCD, ℓ-ASCD, a-ASCD and steepest coordinate descent (SCD).

    u-ASCD  argmax_i u_i        ℓ-ASCD  argmax_i ℓ_i        a-ASCD  {i : u_i ≥ max_k ℓ_k}

with a uniform pick in each.  The steepest coordinate is always in a-ASCD's set.  Where all ℓ are 0 that set is {u > 0}
(see ``scan``).  SCD takes the largest score, every score known exactly: entries whose interval is a point (oracle
"exact") are taken as they are, all others are read, up to n column reads a step.  Ties go to the first coordinate.

With the oracle "norm" large problems are not scanned at every step (``lazy``); the picks are the same, and SCD reads
only coordinates that may be steepest.  ``scan=True`` forces scans.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, as_flag
from ascd._core.jit import helper
from ascd.engine.rules.lazy import LazyHeuristic, LazyTop, lazy_applies
from ascd.engine.rules.scan import count_at_least, fill_bounds, highest, least_threshold, pick_at_least


class UpperASCD(NamedTuple):
    """u-ASCD: the largest upper bound.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> ascd.minimize(problem, rule=ascd.UpperASCD()).x
    array([ 2.,  0., -1.])
    """

    scan: bool = False

    def prepare(self, parts: Any, oracle: Any, steepness: Any) -> Any:
        return lazy_or_scan(self.scan, (1, 1), parts, oracle, steepness)


class LowerASCD(NamedTuple):
    """ℓ-ASCD: the largest lower bound.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> ascd.minimize(problem, rule=ascd.LowerASCD(), rng=0).x
    array([ 2.,  0., -1.])
    """

    scan: bool = False

    def prepare(self, parts: Any, oracle: Any, steepness: Any) -> Any:
        return lazy_or_scan(self.scan, (0, 0), parts, oracle, steepness)


class HeuristicASCD(NamedTuple):
    """a-ASCD: every coordinate that may still be steepest.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> ascd.minimize(problem, rule=ascd.HeuristicASCD(), rng=0).x
    array([ 2.,  0., -1.])
    """

    scan: bool = False

    def is_patient(self) -> bool:
        return True

    def prepare(self, parts: Any, oracle: Any, steepness: Any) -> Any:
        return lazy_or_scan(self.scan, (1, 0), parts, oracle, steepness)


class LevelSet(NamedTuple):
    """{j : bound_j ≥ the largest bound of a kind}; the kinds are 0 for lower and 1 for upper bounds."""

    lower: Array
    upper: Array
    which: int
    against: int

    @helper
    def find_threshold(self, point: Any) -> float:
        fill_bounds(point.intervals, self.lower, self.upper)
        threshold = highest(self.upper if self.against == 1 else self.lower)
        return least_threshold(self.upper) if threshold == 0.0 and self.which == 1 else threshold

    def select(self, point: Any, t: int, rng: Any) -> int:
        threshold = self.find_threshold(point)
        return pick_at_least(self.upper if self.which == 1 else self.lower, threshold, rng)

    def active_count(self, point: Any) -> int:
        threshold = self.find_threshold(point)
        return count_at_least(self.upper if self.which == 1 else self.lower, threshold, 0, self.upper.size)


def lazy_or_scan(scan: bool, kinds: tuple[int, int], parts: Any, oracle: Any, steepness: Any) -> Any:
    """Return the rule without scanning where there is one for the oracle, else the one that scans."""
    if as_flag(scan, "scan") or not lazy_applies(parts.norm.size, oracle, steepness):
        return LevelSet(np.empty(parts.norm.size), np.empty(parts.norm.size), *kinds)
    which, against = kinds
    return LazyTop.of(which, False, parts, steepness) if which == against else LazyHeuristic.of(parts, steepness)


class Steepest(NamedTuple):
    """The Gauss–Southwell rule, for the steepness in use.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> solution = ascd.minimize(problem, rule=ascd.Steepest(), max_iter=2)
    >>> solution.x
    array([ 2.,  0., -1.])
    """

    scan: bool = False

    def is_random(self) -> bool:
        return False

    def prepare(self, parts: Any, oracle: Any, steepness: Any) -> Any:
        if not as_flag(self.scan, "scan") and lazy_applies(parts.norm.size, oracle, steepness):
            return LazyTop.of(1, True, parts, steepness)
        return self

    def select(self, point: Any, t: int, rng: Any) -> int:
        best, steepest = -1.0, 0
        for j in range(point.x.size):
            if point.intervals.radius_at(j) > 0.0:
                point.intervals.set_entry(j, point.partial(j), 0.0)
            score = point.intervals.score_at(j, point.intervals.estimate[j])
            if score > best:
                best, steepest = score, j
        return steepest

    def active_count(self, point: Any) -> int:
        return 1
