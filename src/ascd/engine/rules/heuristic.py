"""The heuristic variants of ASCD, whose active sets need no average:

    u-ASCD  argmax_i u_i        ℓ-ASCD  argmax_i ℓ_i        a-ASCD  {i : u_i ≥ max_k ℓ_k}

with a uniform pick in each.  The steepest coordinate is always in a-ASCD's set.  Where all ℓ are 0 that set is {u > 0}
(see ``scan.py``).

With the "norm" oracle large problems are not scanned (``lazy_rules.py``, ``lazy_draws.py``), nor by u-ASCD and a-ASCD
with "reference" (``two_clock_rules.py``, ``two_clock_draws.py``); the picks are the same.  ``scan=True`` forces it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, as_flag
from ascd._core.jit import helper
from ascd.engine.rules.lazy import Rates, lazy_applies
from ascd.engine.rules.lazy_draws import LazyHeuristic
from ascd.engine.rules.lazy_rules import LazyLower, LazyUpper
from ascd.engine.rules.scan import count_at_least, fill_bounds, highest, least_threshold, pick_at_least
from ascd.engine.rules.two_clock_draws import TwoClockHeuristic
from ascd.engine.rules.two_clock_rules import TwoClockUpper
from ascd.engine.rules.two_clocks import two_clocks_apply


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
        return _lazy_or_scan(self.scan, LazyUpper, (1, 1), parts, oracle, steepness, TwoClockUpper)


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
        return _lazy_or_scan(self.scan, LazyLower, (0, 0), parts, oracle, steepness)


class HeuristicASCD(NamedTuple):
    """a-ASCD: everything that may still be steepest.

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
        return _lazy_or_scan(self.scan, LazyHeuristic, (1, 0), parts, oracle, steepness, TwoClockHeuristic)


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


def _lazy_or_scan(
    scan: bool, lazy: Any, kinds: tuple[int, int], parts: Any, oracle: Any, steepness: Any, with_plane: Any = None
) -> Any:
    """The rule without scanning, where there is one for the oracle: ``lazy``, or ``with_plane`` for a reference."""
    n, is_lazy = parts.norm.size, not as_flag(scan, "scan")
    if is_lazy and with_plane is not None and two_clocks_apply(n, oracle, steepness):
        return with_plane.start(parts, steepness)
    if is_lazy and lazy_applies(n, oracle, steepness):
        return lazy.start(n, Rates.of(parts, steepness))
    return LevelSet(np.empty(n), np.empty(n), *kinds)
