"""Bounds on the coordinates."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import as_parameter
from ascd._core.jit import at
from ascd.problem.penalties.formulas import extended, scale_between, untilted


class Box(NamedTuple):
    """The constraint lower_j ≤ x ≤ upper_j, plus ½·l2_j·x² + linear_j·x inside it.

    ``Box(0, inf)`` is non-negative least squares; with ``linear=lam`` it is the non-negative Lasso.

    Examples
    --------
    >>> import ascd
    >>> ascd.Box(0.0, 1.0).prox(-3.0, 1.0, 0), ascd.Box(0.0, 1.0).prox(0.25, 1.0, 0)
    (0.0, 0.25)
    """

    lower: Any = 0.0
    upper: Any = math.inf
    l2: Any = 0.0
    linear: Any = 0.0

    def cost(self, x: float, j: int) -> float:
        if x < at(self.lower, j) or x > at(self.upper, j):
            return math.inf
        return (0.5 * at(self.l2, j) * x + at(self.linear, j)) * x

    def cost_size(self, x: float, j: int) -> float:
        return untilted(self.cost(x, j), at(self.linear, j) * x)

    def prox(self, v: float, step: float, j: int) -> float:
        free = (v - step * at(self.linear, j)) / (1.0 + step * at(self.l2, j))
        return max(at(self.lower, j), min(at(self.upper, j), free))

    def subgradient(self, x: float, j: int) -> tuple[float, float]:
        slope = at(self.l2, j) * x + at(self.linear, j)
        low = -math.inf if x <= at(self.lower, j) else slope
        high = math.inf if x >= at(self.upper, j) else slope
        return low, high

    def cost_conjugate(self, u: float, j: int) -> float:
        tilt, l2 = u - at(self.linear, j), at(self.l2, j)
        if l2 > 0.0:
            best = tilt / l2
        elif tilt == 0.0:
            best = 0.0
        else:
            best = math.inf if tilt > 0.0 else -math.inf
        best = max(at(self.lower, j), min(at(self.upper, j), best))
        if math.isinf(best):
            return math.inf
        return (tilt - 0.5 * l2 * best) * best

    def dual_scale(self, u: float, j: int) -> float:
        if at(self.l2, j) > 0.0:
            return 1.0
        linear = at(self.linear, j)
        low = linear if math.isinf(at(self.lower, j)) else -math.inf
        high = linear if math.isinf(at(self.upper, j)) else math.inf
        return scale_between(u, low, high, 0.0)

    def piece(self, x: float, j: int) -> tuple[float, float, float]:
        low, high = at(self.lower, j), at(self.upper, j)
        return (at(self.l2, j), low, high) if low < x < high else (at(self.l2, j), x, x)

    def scaled(self, factor: float) -> Box:
        return self._replace(l2=factor * self.l2)

    def check(self, n: int) -> Box:
        lower, upper = as_bounds(self.lower, self.upper, "Box", n)
        l2 = as_parameter(self.l2, "Box l2", n, low=0.0)
        return Box(lower, upper, l2, as_parameter(self.linear, "Box linear", n))

    def is_smooth(self) -> bool:
        return bool(np.all(np.isinf(self.lower)) and np.all(np.isinf(self.upper)))

    def is_held(self) -> bool:
        return bool(np.all(np.isfinite(self.upper) | (np.asarray(self.l2) > 0.0)))

    def with_free(self, n: int) -> Box:
        return extended(self, n, lower=-math.inf, upper=math.inf)


def as_bounds(lower: Any, upper: Any, name: str, n: int) -> tuple[Any, Any]:
    """Both ends of a box that is not empty, in compiled form."""
    low = as_parameter(lower, f"{name} lower", n, finite=False)
    high = as_parameter(upper, f"{name} upper", n, finite=False)
    if np.any(np.asarray(low) > np.asarray(high)):
        raise ValueError(f"{name} lower must not exceed upper; got lower {lower!r}, upper {upper!r}")
    if np.any(np.asarray(low) == math.inf) or np.any(np.asarray(high) == -math.inf):
        raise ValueError(f"{name} lower must be below +inf and upper above -inf: the box is empty otherwise")
    return low, high
