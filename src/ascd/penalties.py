"""Penalties: the separable part Σ_j Ψ_j(x_j), one coordinate at a time.

Each penalty is a NamedTuple whose compiled methods speak of one coordinate j:

====================  ==================================================================================
``cost``              Ψ_j(x)
``prox``              argmin_z ½(z − v)² + step·Ψ_j(z)
``subgradient``       the ends of the interval ∂Ψ_j(x); infinite at the ends of a box
``cost_conjugate``    Ψ_j*(u) = sup_x {u·x − Ψ_j(x)}, +inf outside its domain; for duality gaps
``dual_scale``        the largest s in [0, 1] with Ψ_j*(s·u) finite, −1 if there is none
====================  ==================================================================================

Every parameter is one number for all coordinates or an array with one for each; ``at(parameter, j)`` reads both.
``weights`` multiply the penalty of a coordinate (0 leaves it unpenalised); ``linear`` adds c_j·x_j.
``check`` validates the parameters for n coordinates and returns the penalty with them in compiled form.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._checks import as_parameter
from ascd._jit import at, check_methods, helper
from ascd.protocols import Penalty

#: A scaled dual point may leave the conjugate's domain by rounding alone; this much is forgiven.
ROUNDING = 1e-12


class Zero(NamedTuple):
    """No penalty: Ψ_j(x) = linear_j·x.

    Examples
    --------
    >>> import ascd
    >>> ascd.Zero().prox(2.0, 0.5, 0)
    2.0
    """

    linear: Any = 0.0

    def cost(self, x: float, j: int) -> float:
        return at(self.linear, j) * x

    def prox(self, v: float, step: float, j: int) -> float:
        return v - step * at(self.linear, j)

    def subgradient(self, x: float, j: int) -> tuple[float, float]:
        return at(self.linear, j), at(self.linear, j)

    def cost_conjugate(self, u: float, j: int) -> float:
        return even_conjugate(u - at(self.linear, j), 0.0, 0.0, abs(at(self.linear, j)))

    def dual_scale(self, u: float, j: int) -> float:
        return scale_between(u, at(self.linear, j), at(self.linear, j))

    def check(self, n: int) -> Zero:
        return Zero(as_parameter(self.linear, "Zero linear", n))

    def is_smooth(self) -> bool:
        return True


class L1(NamedTuple):
    """``Ψ_j(x) = strength·weights_j·|x| + linear_j·x``.

    Examples
    --------
    >>> import ascd
    >>> ascd.L1(1.0).prox(3.0, 0.5, 0)
    2.5
    """

    strength: Any
    weights: Any = 1.0
    linear: Any = 0.0

    def cost(self, x: float, j: int) -> float:
        return at(self.strength, j) * at(self.weights, j) * abs(x) + at(self.linear, j) * x

    def prox(self, v: float, step: float, j: int) -> float:
        threshold = step * at(self.strength, j) * at(self.weights, j)
        return soft_threshold(v - step * at(self.linear, j), threshold)

    def subgradient(self, x: float, j: int) -> tuple[float, float]:
        return absolute_subgradient(x, at(self.strength, j) * at(self.weights, j), at(self.linear, j))

    def cost_conjugate(self, u: float, j: int) -> float:
        limit = at(self.strength, j) * at(self.weights, j)
        return even_conjugate(u - at(self.linear, j), limit, 0.0, abs(at(self.linear, j)))

    def dual_scale(self, u: float, j: int) -> float:
        limit = at(self.strength, j) * at(self.weights, j)
        return scale_between(u, at(self.linear, j) - limit, at(self.linear, j) + limit)

    def check(self, n: int) -> L1:
        return L1(
            as_parameter(self.strength, "L1 strength", n, low=0.0),
            as_parameter(self.weights, "L1 weights", n, low=0.0),
            as_parameter(self.linear, "L1 linear", n),
        )

    def is_smooth(self) -> bool:
        return not np.any(np.asarray(self.strength) * self.weights)


class L2(NamedTuple):
    """Ψ_j(x) = ½·strength·weights_j·x² + linear_j·x.

    Examples
    --------
    >>> import ascd
    >>> ascd.L2(1.0).prox(3.0, 0.5, 0)
    2.0
    """

    strength: Any
    weights: Any = 1.0
    linear: Any = 0.0

    def cost(self, x: float, j: int) -> float:
        return (0.5 * at(self.strength, j) * at(self.weights, j) * x + at(self.linear, j)) * x

    def prox(self, v: float, step: float, j: int) -> float:
        shrink = 1.0 + step * at(self.strength, j) * at(self.weights, j)
        return (v - step * at(self.linear, j)) / shrink

    def subgradient(self, x: float, j: int) -> tuple[float, float]:
        slope = at(self.strength, j) * at(self.weights, j) * x + at(self.linear, j)
        return slope, slope

    def cost_conjugate(self, u: float, j: int) -> float:
        strength = at(self.strength, j) * at(self.weights, j)
        return even_conjugate(u - at(self.linear, j), 0.0, strength, abs(at(self.linear, j)))

    def dual_scale(self, u: float, j: int) -> float:
        if at(self.strength, j) * at(self.weights, j) > 0.0:
            return 1.0
        return scale_between(u, at(self.linear, j), at(self.linear, j))

    def check(self, n: int) -> L2:
        return L2(
            as_parameter(self.strength, "L2 strength", n, low=0.0),
            as_parameter(self.weights, "L2 weights", n, low=0.0),
            as_parameter(self.linear, "L2 linear", n),
        )

    def is_smooth(self) -> bool:
        return True


class ElasticNet(NamedTuple):
    """``Ψ_j(x) = weights_j·(l1·|x| + ½·l2·x²) + linear_j·x``.

    Examples
    --------
    >>> import ascd
    >>> ascd.ElasticNet(l1=1.0, l2=1.0).prox(3.0, 1.0, 0)
    1.0
    """

    l1: Any
    l2: Any
    weights: Any = 1.0
    linear: Any = 0.0

    def cost(self, x: float, j: int) -> float:
        size = at(self.l1, j) * abs(x) + 0.5 * at(self.l2, j) * x * x
        return at(self.weights, j) * size + at(self.linear, j) * x

    def prox(self, v: float, step: float, j: int) -> float:
        weighted = step * at(self.weights, j)
        moved = soft_threshold(v - step * at(self.linear, j), weighted * at(self.l1, j))
        return moved / (1.0 + weighted * at(self.l2, j))

    def subgradient(self, x: float, j: int) -> tuple[float, float]:
        weight = at(self.weights, j)
        return absolute_subgradient(x, weight * at(self.l1, j), weight * at(self.l2, j) * x + at(self.linear, j))

    def cost_conjugate(self, u: float, j: int) -> float:
        weight, linear = at(self.weights, j), at(self.linear, j)
        return even_conjugate(u - linear, weight * at(self.l1, j), weight * at(self.l2, j), abs(linear))

    def dual_scale(self, u: float, j: int) -> float:
        weight = at(self.weights, j)
        if weight * at(self.l2, j) > 0.0:
            return 1.0
        limit = weight * at(self.l1, j)
        return scale_between(u, at(self.linear, j) - limit, at(self.linear, j) + limit)

    def check(self, n: int) -> ElasticNet:
        return ElasticNet(
            as_parameter(self.l1, "ElasticNet l1", n, low=0.0),
            as_parameter(self.l2, "ElasticNet l2", n, low=0.0),
            as_parameter(self.weights, "ElasticNet weights", n, low=0.0),
            as_parameter(self.linear, "ElasticNet linear", n),
        )

    def is_smooth(self) -> bool:
        return not np.any(np.asarray(self.l1) * self.weights)


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
        elif abs(tilt) <= ROUNDING * (abs(u) + abs(at(self.linear, j))):
            best = 0.0  # scaled onto the edge of the domain: rounding must not push it over
        else:
            best = math.inf if tilt > 0.0 else -math.inf
        best = max(at(self.lower, j), min(at(self.upper, j), best))
        if math.isinf(best):
            return math.inf
        return (tilt - 0.5 * l2 * best) * best

    def dual_scale(self, u: float, j: int) -> float:
        if at(self.l2, j) > 0.0:
            return 1.0
        low = at(self.linear, j) if math.isinf(at(self.lower, j)) else -math.inf
        high = at(self.linear, j) if math.isinf(at(self.upper, j)) else math.inf
        return scale_between(u, low, high)

    def check(self, n: int) -> Box:
        lower = as_parameter(self.lower, "Box lower", n, finite=False)
        upper = as_parameter(self.upper, "Box upper", n, finite=False)
        if np.any(np.asarray(lower) > np.asarray(upper)):
            raise ValueError(f"Box lower must not exceed upper; got lower {self.lower!r}, upper {self.upper!r}")
        if np.any(np.asarray(lower) == math.inf) or np.any(np.asarray(upper) == -math.inf):
            raise ValueError("Box lower must be below +inf and upper above -inf: the box is empty otherwise")
        l2 = as_parameter(self.l2, "Box l2", n, low=0.0)
        return Box(lower, upper, l2, as_parameter(self.linear, "Box linear", n))

    def is_smooth(self) -> bool:
        return bool(np.all(np.isinf(self.lower)) and np.all(np.isinf(self.upper)))


@helper
def soft_threshold(v: float, threshold: float) -> float:
    """argmin_z ½(z − v)² + threshold·|z|."""
    if v > threshold:
        return v - threshold
    if v < -threshold:
        return v + threshold
    return 0.0


@helper
def absolute_subgradient(x: float, strength: float, slope: float) -> tuple[float, float]:
    """∂(strength·|x|) + slope."""
    low = strength if x > 0.0 else -strength
    high = -strength if x < 0.0 else strength
    return low + slope, high + slope


@helper
def even_conjugate(u: float, l1: float, l2: float, size: float) -> float:
    """The conjugate of l1·|x| + ½·l2·x² at u, which without l2 is the indicator of |u| ≤ l1.

    ``size`` is that of the numbers whose difference u is: rounding of theirs is forgiven too.
    """
    beyond = max(0.0, abs(u) - l1)
    if l2 > 0.0:
        return 0.5 * beyond * beyond / l2
    return 0.0 if beyond <= ROUNDING * (l1 + size) else math.inf


@helper
def scale_between(u: float, low: float, high: float) -> float:
    """The largest s in [0, 1] with low ≤ s·u ≤ high, −1 if there is none."""
    if u > high:
        return high / u if high >= 0.0 else -1.0
    if u < low:
        return low / u if low <= 0.0 else -1.0
    return 1.0


def as_penalty(penalty: Any, n: int) -> Any:
    """The penalty in compiled form for n coordinates: ours checked, the user's own held to the protocol."""
    if penalty is None:
        return Zero()
    check_methods(penalty, Penalty, "penalty")
    return penalty.check(n) if hasattr(penalty, "check") else penalty


def nearest_allowed(penalty: Any, n: int) -> Any:
    """The point nearest to 0 in every coordinate that the penalty allows: the default start."""
    return np.clip(np.zeros(n), getattr(penalty, "lower", -math.inf), getattr(penalty, "upper", math.inf))
