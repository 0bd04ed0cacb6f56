"""``Entrywise``: a penalty by coordinate as a penalty of blocks, Ψ_b(x) = Σ_i Ψ_j(x_i) with j = b.

A block is one column with its T outputs, and each of its entries has the penalty Ψ_j of the column.  So block code
accepts every penalty by coordinate, users' own included.  A product u_i known within a radius lies in an interval; Ψ_j*
is convex and its domain an interval, so both are worst at its ends (as in ``ascd.problem.terms``).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper, kernel, optional_method
from ascd.problem.optimality import violation_of
from ascd.problem.penalties.formulas import cost_size
from ascd.problem.terms import derivative_size
from ascd.problem.tuning import LAST_PLACES


@optional_method
def piece(penalty: Any, x: float, j: int) -> tuple[float, float, float]:
    """Return curvature and ends of the quadratic piece around x; no piece for penalties without this method."""
    return 0.0, x, x


@helper
def largest_conjugate(penalty: Any, u: float, radius: float, j: int) -> float:
    """Return the largest Ψ_j*(u') for |u' − u| ≤ radius, also within the rounding errors of Ψ_j* itself."""
    left, right = u - radius, u + radius
    if not (penalty.dual_scale(left, j) >= 1.0 and penalty.dual_scale(right, j) >= 1.0):
        return math.inf
    value = max(penalty.cost_conjugate(left, j), penalty.cost_conjugate(right, j))
    around = LAST_PLACES * (abs(left) + abs(right) + derivative_size(penalty, 0.0, j))
    for end in (left - around, right + around):
        wider = penalty.cost_conjugate(end, j)
        value = max(value, wider) if wider < math.inf else value
    return value


class Entrywise(NamedTuple):
    """A penalty by coordinate for ``n_columns`` columns, applied to every entry of their rows of coefficients.

    Examples
    --------
    >>> import numpy as np, ascd
    >>> from ascd.problem.penalties.entrywise import Entrywise
    >>> float(Entrywise(ascd.L1(2.0), 1).block_cost(np.array([1.0, -3.0]), 0))
    8.0
    """

    penalty: Any
    n_columns: int

    def block_cost(self, x: Array, b: int) -> float:
        total = 0.0
        for i in range(x.size):
            cost = self.penalty.cost(x[i], b)
            total += cost
            if abs(cost) < math.inf:  # where terms of the cost cancel, their rounding errors are counted here
                total += LAST_PLACES * max(0.0, cost_size(self.penalty, x[i], b) - abs(cost))
        return total

    def block_prox(self, v: Array, step: float, b: int) -> None:
        for i in range(v.size):
            v[i] = self.penalty.prox(v[i], step, b)

    def block_distance(self, x: Array, g: Array, b: int) -> float:
        distance = 0.0
        for i in range(x.size):
            low, high = self.penalty.subgradient(x[i], b)
            distance = math.hypot(distance, max(0.0, violation_of(low, high, g[i])))
        return distance

    def block_conjugate(self, u: Array, radius: float, b: int) -> float:
        total = 0.0
        for i in range(u.size):
            total += largest_conjugate(self.penalty, u[i], radius, b)
        return total

    def block_scale(self, u: Array, radius: float, b: int) -> float:
        scale = 1.0
        for i in range(u.size):
            scale = min(scale, self.penalty.dual_scale(u[i] - radius, b), self.penalty.dual_scale(u[i] + radius, b))
        return scale

    def block_piece(self, x: Array, b: int, slope: Array) -> tuple[float, float]:
        most = 0.0
        for i in range(x.size):
            curvature, low, high = piece(self.penalty, x[i], b)
            most = max(most, curvature)
            slope[i] = self.penalty.subgradient(x[i], b)[0] if low < x[i] < high else math.nan
        return 0.0, most

    def resting_radii(self) -> Array | None:
        """Return how long the gradient of each block may be so that it stays at 0; None where zero has a cost."""
        radii = np.empty(self.n_columns)
        return radii if fill_radii(self.penalty, radii) else None

    def is_smooth(self) -> bool:
        return bool(hasattr(self.penalty, "is_smooth") and self.penalty.is_smooth())

    def scaled(self, factor: float) -> Entrywise:
        return self._replace(penalty=self.penalty.scaled(factor))


@kernel
def fill_radii(penalty: Any, radii: Array) -> bool:
    """Fill in the radius around 0 that ∂Ψ_j(0) contains, negative if it does not contain 0; False if Ψ_j(0) ≠ 0."""
    for j in range(radii.size):
        if penalty.cost(0.0, j) != 0.0:
            return False
        low, high = penalty.subgradient(0.0, j)
        size = 4.0 * LAST_PLACES * derivative_size(penalty, 0.0, j)  # as far as ``largest_conjugate`` looks
        radii[j] = min(-low, high) - size
    return True
