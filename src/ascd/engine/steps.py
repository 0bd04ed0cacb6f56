"""Steps, the paper's M: how far to move coordinate i, and the interval of its own gradient entry after the step.

A step's ``take(point, i, g)`` gets the exact entry g = ∇_i f(x) and returns (new x_i, g̃, r) with
|∇_i f(new x) − g̃| ≤ r.  For a quadratic loss the entry changes by γ·L_i exactly; otherwise by something between
0 and γ·L_i, so that the middle is the estimate and half the width its error.  A line search ends by evaluating the
entry, which is then exact.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

from ascd._core.checks import Array
from ascd._core.jit import at, helper, optional_method
from ascd.engine.tuning import LARGEST_GROWTH, LEAST_CURVATURE, MOST_BISECTIONS, ROUNDING_SHARE, SMALL_GROWTH
from ascd.problem.problem import Parts


class Coordinate(NamedTuple):
    """Step length 1/L_i, or 1/max_j L_j for every coordinate where it is fixed."""

    is_fixed: bool = False

    def take(self, point: Any, i: int, g: float) -> tuple[float, float, float]:
        problem, old = point.problem, point.x[i]
        lipschitz = problem.largest if self.is_fixed else problem.lipschitz[i]
        new = model_minimiser(problem.penalty, i, old, g, lipschitz)
        return new, *gradient_after(g, new - old, problem.norm[i], problem.gain, problem.slack)


class LocalCurvature(NamedTuple):
    """Step length by the curvature h at x and how fast it may grow (logistic loss); 1/L_i for other losses.

    For a loss with |ℓ‴| ≤ ℓ″ (logistic) the curvature along a_i is at most h·exp(m|t|) at x_i + t, m = max_k |a_ki|.
    So F(x + t·e_i) ≤ F(x) + g·t + h·κ(m·T)·t²/2 + Ψ's change for |t| ≤ T, with κ(z) = 2(e^z − z − 1)/z².  A larger
    curvature gives a shorter step; hence T = the step for h alone bounds the step for min(h·κ(mT), L_i), which is
    taken: it lowers F, and is never shorter than 1/L_i's.
    """

    unit: float = 1.0

    def prepare(self, parts: Parts) -> LocalCurvature | Coordinate:
        return self if hasattr(parts.loss, "curvature_from") else Coordinate()

    def take(self, point: Any, i: int, g: float) -> tuple[float, float, float]:
        problem, old = point.problem, point.x[i]
        largest = problem.lipschitz[i]
        new = model_minimiser(problem.penalty, i, old, g, largest)
        if new != old:
            here, entry = curvature_along(problem.matrix, i, problem.sample, problem.loss, point.raw_gradient)
            here = max(here, LEAST_CURVATURE * largest)
            farthest = abs(model_minimiser(problem.penalty, i, old, g, here) - old)
            curvature = here * growth(entry * farthest)
            if curvature < largest:
                new = model_minimiser(problem.penalty, i, old, g, curvature)
        return new, *gradient_after(g, new - old, problem.norm[i], problem.gain, problem.slack)


class ExactLineSearch(NamedTuple):
    """The exact minimiser along the coordinate, by Newton's method kept inside a shrinking bracket.

    For the squared loss it is the step 1/L_i in closed form.
    """

    unit: float = 1.0

    def prepare(self, parts: Parts) -> ExactLineSearch | Coordinate:
        return Coordinate() if parts.slack == 0.0 else self

    def take(self, point: Any, i: int, g: float) -> tuple[float, float, float]:
        problem, old = point.problem, point.x[i]
        # The majorant's minimiser is a safe first guess, and the true one lies beyond it (or at it).
        guess = model_minimiser(problem.penalty, i, old, g, problem.lipschitz[i])
        if guess == old:
            return old, g, 0.0
        sign = 1.0 if guess > old else -1.0
        near, far = guess, sign * math.inf
        x, first = guess, g
        for left in range(MOST_BISECTIONS, 0, -1):
            first, second = along(problem.matrix, i, x - old, problem.sample, problem.loss, point.predictor)
            point.reads[0] += 1.0
            low, high = problem.penalty.subgradient(x, i)
            subgradient = max(first + low, 0.0) + min(first + high, 0.0)  # the one nearest to 0
            if subgradient == 0.0:
                break
            if subgradient * sign < 0.0:
                near = x
            else:
                far = x
            curvature = max(second, LEAST_CURVATURE * problem.lipschitz[i])
            new = model_minimiser(problem.penalty, i, x, first, curvature)  # a Newton step with the exact penalty
            if (new - near) * sign <= 0.0 or (far - new) * sign <= 0.0:  # it leaves the bracket: to its middle
                new = 0.5 * (near + far) if not math.isinf(far) else near + 2.0 * (new - x)
            if left == 1 or abs(new - x) <= ROUNDING_SHARE * max(abs(new), abs(x)):
                break
            x = new
        return x, first, 0.0


@optional_method
def curvature_from(loss: Any, u: float) -> float:
    """Return ℓ″(z) from u = ℓ′(z), for losses with |ℓ‴| ≤ ℓ″: from z to z + t it grows at most by exp(|t|)."""
    return math.inf


@helper
def model_minimiser(penalty: Any, i: int, x: float, g: float, lipschitz: float) -> float:
    """Return x + argmin_y g·y + L/2·y² + Ψ_i(x + y)."""
    return penalty.prox(x - g / lipschitz, 1.0 / lipschitz, i)


@helper
def along(matrix: Any, j: int, change: float, sample: Any, loss: Any, Xw: Array) -> tuple[float, float]:
    """First and second derivative of f along a_j, at Xw + change·a_j."""
    first, second = 0.0, 0.0
    for p in range(matrix.start(j), matrix.stop(j)):
        k, entry = matrix.row(p), matrix.entry(p, j)
        z = Xw[k] + change * entry
        weighted = at(sample.weight, k) * entry
        first += weighted * loss.derivative(sample.target[k], z)
        second += weighted * entry * loss.curvature(sample.target[k], z)
    return first, second


@helper
def curvature_along(matrix: Any, j: int, sample: Any, loss: Any, raw_gradient: Array) -> tuple[float, float]:
    """Return the curvature along column j, computed from the raw gradient, and the column's largest |entry|."""
    second, largest = 0.0, 0.0
    for p in range(matrix.start(j), matrix.stop(j)):
        k, entry = matrix.row(p), matrix.entry(p, j)
        weight = at(sample.weight, k)
        if weight > 0.0:
            second += weight * entry * entry * curvature_from(loss, raw_gradient[k] / weight)
            largest = max(largest, abs(entry))
    return second, largest


@helper
def growth(z: float) -> float:
    """Return 2(e^z − z − 1)/z² = Σ 2z^k/(k + 2)!, the factor for a curvature that may grow by e^z."""
    if z < SMALL_GROWTH:
        return 1.0 + z * (1.0 / 3.0 + z * (1.0 / 12.0 + z * (1.0 / 60.0 + z / 360.0)))
    return 2.0 * (math.exp(z) - z - 1.0) / (z * z) if z < LARGEST_GROWTH else math.inf


@helper
def gradient_after(g: float, change: float, norm: float, gain: float, slack: float) -> tuple[float, float]:
    """Return the moved coordinate's own entry after the step, and its error."""
    moved = change * norm * norm
    return g + gain * moved, slack * abs(moved)


STEPS: dict[str, Any] = {
    "fixed": partial(Coordinate, True),
    "coordinate": Coordinate,
    "local": LocalCurvature,
    "line-search": ExactLineSearch,
}
