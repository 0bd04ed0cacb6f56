"""The elastic net inside a box."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import as_parameter
from ascd._core.jit import at
from ascd.problem.penalties.box import as_bounds
from ascd.problem.penalties.formulas import (
    absolute_subgradient,
    check_weighted,
    extended,
    half_square_times,
    scale_between,
    soft_threshold,
    untilted,
)


class BoundedL1L2(NamedTuple):
    """``weights_j·(l1·|x| + ½·l2·x²) + linear_j·x`` inside ``lower_j ≤ x ≤ upper_j``, +inf outside.

    In one dimension the minimiser over an interval is the free minimiser, moved to the nearest end: the prox and the
    point where the conjugate's supremum is taken are those of the elastic net, clipped.

    Examples
    --------
    >>> import ascd
    >>> ascd.BoundedL1L2(l1=1.0, l2=1.0, lower=-0.5, upper=0.5).prox(3.0, 1.0, 0)
    0.5
    """

    l1: Any
    l2: Any = 0.0
    lower: Any = -math.inf
    upper: Any = math.inf
    weights: Any = 1.0
    linear: Any = 0.0

    def cost(self, x: float, j: int) -> float:
        if x < at(self.lower, j) or x > at(self.upper, j):
            return math.inf
        size = at(self.l1, j) * abs(x) + half_square_times(x, at(self.l2, j))
        return at(self.weights, j) * size + at(self.linear, j) * x

    def cost_size(self, x: float, j: int) -> float:
        return untilted(self.cost(x, j), at(self.linear, j) * x)

    def prox(self, v: float, step: float, j: int) -> float:
        weighted = step * at(self.weights, j)
        moved = soft_threshold(v - step * at(self.linear, j), weighted * at(self.l1, j))
        free = moved / (1.0 + weighted * at(self.l2, j))
        return max(at(self.lower, j), min(at(self.upper, j), free))

    def subgradient(self, x: float, j: int) -> tuple[float, float]:
        weight = at(self.weights, j)
        slope = weight * at(self.l2, j) * x + at(self.linear, j)
        low, high = absolute_subgradient(x, weight * at(self.l1, j), slope)
        if x <= at(self.lower, j):
            low = -math.inf
        if x >= at(self.upper, j):
            high = math.inf
        return low, high

    def cost_conjugate(self, u: float, j: int) -> float:
        l1, l2 = at(self.weights, j) * at(self.l1, j), at(self.weights, j) * at(self.l2, j)
        tilt = u - at(self.linear, j)
        best = soft_threshold(tilt, l1)
        if l2 > 0.0:
            best = best / l2
        elif best != 0.0:
            best = math.inf if best > 0.0 else -math.inf
        best = max(at(self.lower, j), min(at(self.upper, j), best))
        if math.isinf(best):
            return math.inf
        slope = (tilt if best > 0.0 else -tilt) - l1  # one product: a difference of two might be inf - inf
        return (slope - 0.5 * l2 * abs(best)) * abs(best)

    def dual_scale(self, u: float, j: int) -> float:
        l1, linear = at(self.weights, j) * at(self.l1, j), at(self.linear, j)
        if at(self.weights, j) * at(self.l2, j) > 0.0:
            return 1.0
        low = linear - l1 if math.isinf(at(self.lower, j)) else -math.inf
        high = linear + l1 if math.isinf(at(self.upper, j)) else math.inf
        return scale_between(u, low, high, abs(linear) + l1 if l1 > 0.0 else 0.0)

    def piece(self, x: float, j: int) -> tuple[float, float, float]:
        curvature, low, high = at(self.weights, j) * at(self.l2, j), at(self.lower, j), at(self.upper, j)
        kink = at(self.weights, j) * at(self.l1, j)
        if not low < x < high or (x == 0.0 and kink > 0.0):
            return curvature, x, x
        if kink > 0.0:
            low, high = (max(low, 0.0), high) if x > 0.0 else (low, min(high, 0.0))
        return curvature, low, high

    def scaled(self, factor: float) -> BoundedL1L2:
        return self._replace(l1=factor * self.l1, l2=factor * self.l2)

    def check(self, n: int) -> BoundedL1L2:
        name = "BoundedL1L2"
        lower, upper = as_bounds(self.lower, self.upper, name, n)
        checked = BoundedL1L2(
            as_parameter(self.l1, f"{name} l1", n, low=0.0),
            as_parameter(self.l2, f"{name} l2", n, low=0.0),
            lower,
            upper,
            as_parameter(self.weights, f"{name} weights", n, low=0.0),
            as_parameter(self.linear, f"{name} linear", n),
        )
        check_weighted(checked, "l1", "l2")
        return checked

    def is_smooth(self) -> bool:
        free = np.all(np.isinf(self.lower)) and np.all(np.isinf(self.upper))
        return bool(free) and not np.any(np.asarray(self.l1) * self.weights)

    def is_held(self) -> bool:
        return not np.any(self.l1) and bool(np.all(np.isfinite(self.upper) | (np.asarray(self.l2) > 0.0)))

    def with_free(self, n: int) -> BoundedL1L2:
        return extended(self, n, lower=-math.inf, upper=math.inf)
