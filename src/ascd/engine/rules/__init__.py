"""Selection rules: the choice of the next coordinate; ``docs/paper.md`` has a table.

A rule is a NamedTuple with the compiled method ``select(point, t, rng)`` that returns a coordinate.  A plain
``prepare(parts, oracle, steepness)`` may return another one with its work arrays, and ``active_count(point)``
tells the trace how many coordinates it chooses from.  Rules that do not look at the gradient are here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, as_number
from ascd.engine.rules.ascd import ASCD
from ascd.engine.rules.largest import Block, HeuristicASCD, LowerASCD, Steepest, UpperASCD
from ascd.engine.rules.working_set import WorkingSetSweeps


class Cyclic(NamedTuple):
    """0, 1, …, n − 1 and again from the start.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> ascd.minimize(problem, rule=ascd.Cyclic()).x
    array([ 2.,  0., -1.])
    """

    unit: float = 1.0

    def select(self, point: Any, t: int, rng: Any) -> int:
        return t % point.x.size


class Uniform(NamedTuple):
    """Uniformly at random: UCD.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.eye(3), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> ascd.minimize(problem, rule=ascd.Uniform(), rng=0).x
    array([ 2.,  0., -1.])
    """

    unit: float = 1.0

    def select(self, point: Any, t: int, rng: Any) -> int:
        return int(rng.random() * point.x.size)


class Importance(NamedTuple):
    """At random with probability proportional to L_i^power (power 0 is uniform).

    Examples
    --------
    >>> import numpy as np, ascd
    >>> problem = ascd.Problem(np.diag([1.0, 2.0, 3.0]), [3.0, 1.0, -2.0], penalty=ascd.L1(1.0))
    >>> ascd.minimize(problem, rule=ascd.Importance(power=1.0), rng=0).converged
    True
    """

    power: float = 0.5

    def prepare(self, parts: Any, oracle: Any, steepness: Any) -> Weighted:
        power = as_number(self.power, "Importance power", low=0.0, high=100.0)
        # relative to the largest, so that powers of huge or tiny constants stay within float64
        return Weighted(np.cumsum((parts.lipschitz / parts.largest) ** power))


class Weighted(NamedTuple):
    """Sampling through cumulative weights, O(log n) a pick."""

    cumulative: Array

    def select(self, point: Any, t: int, rng: Any) -> int:
        ticket = rng.random() * self.cumulative[-1]
        return min(int(np.searchsorted(self.cumulative, ticket, side="right")), point.x.size - 1)


RULES: dict[str, Any] = {
    "cyclic": Cyclic,
    "uniform": Uniform,
    "importance": Importance,
    "steepest": Steepest,
    "ascd": ASCD,
    "u-ascd": UpperASCD,
    "l-ascd": LowerASCD,
    "a-ascd": HeuristicASCD,
    "block": Block,
    "working-set": WorkingSetSweeps,
}
