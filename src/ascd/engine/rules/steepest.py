"""Steepest coordinate descent (SCD): the largest score, every score known exactly.

Entries whose interval is already a point (oracle "exact") are taken as they are; all others are read, which makes
a step cost up to n column reads.  Ties go to the first coordinate.

With the "norm" oracle, on large problems, only coordinates that may be steepest are read (``lazy_rules.py``): the pick
is the same.
``scan=True`` reads them all, as the paper's SCD does.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ascd._core.checks import as_flag
from ascd.engine.rules.lazy import Rates, lazy_applies
from ascd.engine.rules.lazy_rules import LazySteepest


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
            return LazySteepest.start(parts.norm.size, Rates.of(parts, steepness))
        return self

    def select(self, point: Any, t: int, rng: Any) -> int:
        best, steepest = -1.0, 0
        for j in range(point.x.size):
            if point.intervals.radius_at(j) > 0.0:
                point.intervals.pin(j, point.partial(j), 0.0)
            score = point.intervals.score_at(j, point.intervals.estimate[j])
            if score > best:
                best, steepest = score, j
        return steepest

    def active_count(self, point: Any) -> int:
        return 1
