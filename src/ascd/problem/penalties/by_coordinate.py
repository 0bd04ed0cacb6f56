"""The library's penalties by coordinate: none, L1, L2, the elastic net, and both inside a box.

All are Ψ_j(x) = l1·|x| + ½·l2·x² + linear·x, inside lower ≤ x ≤ upper for the last two.  ``l1_l2_linear`` of a class
gives the three numbers of a coordinate; the formulas are written once, for free and for bounded coordinates.  Terms
that a class does not have are the constant 0.0, whose branches the compiler removes.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import as_parameter
from ascd._core.jit import at, helper
from ascd.problem.penalties.formulas import (
    absolute_subgradient,
    even_conjugate,
    half_square_times,
    piece_beside_zero,
    scale_between,
    soft_threshold,
    untilted,
)

#: Fields that multiply the penalty; others are weights, bounds and the linear term.
STRENGTHS = ("strength", "l1", "l2")
#: All coordinates at once, where a penalty runs uncompiled.
ALL: Any = slice(None)


@helper
def net_cost(x: float, l1: float, l2: float, linear: float) -> float:
    """Return l1·|x| + ½·l2·x² + linear·x."""
    cost = linear * x
    if l1 > 0.0:
        cost += l1 * abs(x)
    if l2 > 0.0:
        cost += half_square_times(x, l2)
    return cost


@helper
def net_prox(v: float, step: float, l1: float, l2: float, linear: float) -> float:
    """Return argmin_z ½(z − v)² + step·(l1·|z| + ½·l2·z² + linear·z)."""
    moved = v - step * linear
    if l1 > 0.0:
        moved = soft_threshold(moved, step * l1)
    return moved / (1.0 + step * l2) if l2 > 0.0 else moved


@helper
def net_subgradient(x: float, l1: float, l2: float, linear: float) -> tuple[float, float]:
    """Return the ends of ∂(l1·|x| + ½·l2·x² + linear·x)."""
    return absolute_subgradient(x, l1, l2 * x + linear if l2 > 0.0 else linear)


class Net:
    """Formulas of coordinates without bounds."""

    __slots__ = ()

    @helper
    def l1_l2_linear(self, j: int) -> tuple[float, float, float]:
        raise NotImplementedError

    def cost(self, x: float, j: int) -> float:
        l1, l2, linear = self.l1_l2_linear(j)
        return net_cost(x, l1, l2, linear)

    def cost_size(self, x: float, j: int) -> float:
        return untilted(self.cost(x, j), self.l1_l2_linear(j)[2] * x)

    def prox(self, v: float, step: float, j: int) -> float:
        l1, l2, linear = self.l1_l2_linear(j)
        return net_prox(v, step, l1, l2, linear)

    def subgradient(self, x: float, j: int) -> tuple[float, float]:
        l1, l2, linear = self.l1_l2_linear(j)
        return net_subgradient(x, l1, l2, linear)

    def cost_conjugate(self, u: float, j: int) -> float:
        l1, l2, linear = self.l1_l2_linear(j)
        return even_conjugate(u - linear, l1, l2)

    def dual_scale(self, u: float, j: int) -> float:
        l1, l2, linear = self.l1_l2_linear(j)
        if l2 > 0.0:
            return 1.0
        return scale_between(u, linear - l1, linear + l1, abs(linear) + l1 if l1 > 0.0 else 0.0)

    def piece(self, x: float, j: int) -> tuple[float, float, float]:
        l1, l2, _ = self.l1_l2_linear(j)
        return piece_beside_zero(x, l1, l2)

    def scaled(self: Any, factor: float) -> Any:
        return self._replace(**{name: factor * getattr(self, name) for name in STRENGTHS if name in self._fields})

    def check(self: Any, n: int) -> Any:
        """Return the penalty for n coordinates, its parameters checked."""
        kind, checked = type(self).__name__, {}
        for name, value in self._asdict().items():
            low, is_bound = -math.inf if name == "linear" else 0.0, name in ("lower", "upper")
            checked[name] = as_parameter(
                value, f"{kind} {name}", n, low=-math.inf if is_bound else low, finite=not is_bound
            )
        found = self._replace(**checked)
        check_weighted(found)
        return found

    def is_smooth(self) -> bool:
        return not np.any(self.l1_l2_linear(ALL)[0])

    def with_free(self: Any, n: int) -> Any:
        """Return the penalty for n + 1 coordinates, of which the last has none."""
        free = {"lower": -math.inf, "upper": math.inf}
        values = self._asdict().items()
        return self._replace(**{name: np.append(np.broadcast_to(at, n), free.get(name, 0.0)) for name, at in values})


class BoundedNet(Net):
    """Formulas inside lower ≤ x ≤ upper, with +inf outside.

    In one dimension the minimiser over an interval is the free minimiser, moved to the nearest end: the prox and the
    point where the conjugate's supremum is taken are those of the elastic net, clipped.
    """

    __slots__ = ()
    lower: Any
    upper: Any

    def cost(self, x: float, j: int) -> float:
        if x < at(self.lower, j) or x > at(self.upper, j):
            return math.inf
        l1, l2, linear = self.l1_l2_linear(j)
        return net_cost(x, l1, l2, linear)

    def prox(self, v: float, step: float, j: int) -> float:
        l1, l2, linear = self.l1_l2_linear(j)
        return max(at(self.lower, j), min(at(self.upper, j), net_prox(v, step, l1, l2, linear)))

    def subgradient(self, x: float, j: int) -> tuple[float, float]:
        l1, l2, linear = self.l1_l2_linear(j)
        low, high = net_subgradient(x, l1, l2, linear)
        if x <= at(self.lower, j):
            low = -math.inf
        if x >= at(self.upper, j):
            high = math.inf
        return low, high

    def cost_conjugate(self, u: float, j: int) -> float:
        l1, l2, linear = self.l1_l2_linear(j)
        tilt = u - linear
        best = soft_threshold(tilt, l1) if l1 > 0.0 else tilt
        if l2 > 0.0:
            best = best / l2
        elif best != 0.0:
            best = math.inf if best > 0.0 else -math.inf
        best = max(at(self.lower, j), min(at(self.upper, j), best))
        if math.isinf(best):
            return math.inf
        gain = (tilt if best > 0.0 else -tilt) - l1  # one product: a difference of two might be inf - inf
        return (gain - 0.5 * l2 * abs(best)) * abs(best)

    def dual_scale(self, u: float, j: int) -> float:
        l1, l2, linear = self.l1_l2_linear(j)
        if l2 > 0.0:
            return 1.0
        low = linear - l1 if math.isinf(at(self.lower, j)) else -math.inf
        high = linear + l1 if math.isinf(at(self.upper, j)) else math.inf
        return scale_between(u, low, high, abs(linear) + l1 if l1 > 0.0 else 0.0)

    def piece(self, x: float, j: int) -> tuple[float, float, float]:
        l1, l2, _ = self.l1_l2_linear(j)
        low, high = at(self.lower, j), at(self.upper, j)
        if not low < x < high or (x == 0.0 and l1 > 0.0):
            return l2, x, x
        if l1 > 0.0:
            low, high = (max(low, 0.0), high) if x > 0.0 else (low, min(high, 0.0))
        return l2, low, high

    def check(self: Any, n: int) -> Any:
        found, name = Net.check(self, n), type(self).__name__
        if np.any(np.asarray(found.lower) > np.asarray(found.upper)):
            raise ValueError(f"{name} lower must not exceed upper; got lower {self.lower!r}, upper {self.upper!r}")
        if np.any(np.asarray(found.lower) == math.inf) or np.any(np.asarray(found.upper) == -math.inf):
            raise ValueError(f"{name} lower must be below +inf and upper above -inf: the box is empty otherwise")
        return found

    def is_smooth(self) -> bool:
        return bool(np.isinf(self.lower).all() and np.isinf(self.upper).all()) and Net.is_smooth(self)

    def is_held(self) -> bool:
        l1, l2, _ = self.l1_l2_linear(ALL)
        return not np.any(l1) and bool(np.all(np.isfinite(self.upper) | (np.asarray(l2) > 0.0)))


class _Zero(NamedTuple):
    linear: Any = 0.0


class Zero(Net, _Zero):
    """No penalty: Ψ_j(x) = linear_j·x.

    Examples
    --------
    >>> import ascd
    >>> ascd.Zero().prox(2.0, 0.5, 0)
    2.0
    """

    __slots__ = ()

    def l1_l2_linear(self, j: int) -> tuple[float, float, float]:
        return 0.0, 0.0, at(self.linear, j)


class _Strength(NamedTuple):
    strength: Any
    weights: Any = 1.0
    linear: Any = 0.0


class L1(Net, _Strength):
    """``Ψ_j(x) = strength·weights_j·|x| + linear_j·x``.

    Examples
    --------
    >>> import ascd
    >>> ascd.L1(1.0).prox(3.0, 0.5, 0)
    2.5
    """

    __slots__ = ()

    def l1_l2_linear(self, j: int) -> tuple[float, float, float]:
        return at(self.strength, j) * at(self.weights, j), 0.0, at(self.linear, j)


class L2(Net, _Strength):
    """Ψ_j(x) = ½·strength·weights_j·x² + linear_j·x.

    Examples
    --------
    >>> import ascd
    >>> ascd.L2(1.0).prox(3.0, 0.5, 0)
    2.0
    """

    __slots__ = ()

    def l1_l2_linear(self, j: int) -> tuple[float, float, float]:
        return 0.0, at(self.strength, j) * at(self.weights, j), at(self.linear, j)


class _L1L2(NamedTuple):
    l1: Any
    l2: Any
    weights: Any = 1.0
    linear: Any = 0.0


class L1L2(Net, _L1L2):
    """``Ψ_j(x) = weights_j·(l1·|x| + ½·l2·x²) + linear_j·x``.

    Examples
    --------
    >>> import ascd
    >>> ascd.L1L2(l1=1.0, l2=1.0).prox(3.0, 1.0, 0)
    1.0
    """

    __slots__ = ()

    def l1_l2_linear(self, j: int) -> tuple[float, float, float]:
        weight = at(self.weights, j)
        return weight * at(self.l1, j), weight * at(self.l2, j), at(self.linear, j)


class _Box(NamedTuple):
    lower: Any = 0.0
    upper: Any = math.inf
    l2: Any = 0.0
    linear: Any = 0.0


class Box(BoundedNet, _Box):
    """The constraint lower_j ≤ x ≤ upper_j, plus ½·l2_j·x² + linear_j·x inside it.

    ``Box(0, inf)`` is non-negative least squares; with ``linear=lam`` it is the non-negative Lasso.

    Examples
    --------
    >>> import ascd
    >>> ascd.Box(0.0, 1.0).prox(-3.0, 1.0, 0), ascd.Box(0.0, 1.0).prox(0.25, 1.0, 0)
    (0.0, 0.25)
    """

    __slots__ = ()

    def l1_l2_linear(self, j: int) -> tuple[float, float, float]:
        return 0.0, at(self.l2, j), at(self.linear, j)


class _BoundedL1L2(NamedTuple):
    l1: Any
    l2: Any = 0.0
    lower: Any = -math.inf
    upper: Any = math.inf
    weights: Any = 1.0
    linear: Any = 0.0


class BoundedL1L2(BoundedNet, _BoundedL1L2):
    """``weights_j·(l1·|x| + ½·l2·x²) + linear_j·x`` inside ``lower_j ≤ x ≤ upper_j``, +inf outside.

    Examples
    --------
    >>> import ascd
    >>> ascd.BoundedL1L2(l1=1.0, l2=1.0, lower=-0.5, upper=0.5).prox(3.0, 1.0, 0)
    0.5
    """

    __slots__ = ()

    def l1_l2_linear(self, j: int) -> tuple[float, float, float]:
        weight = at(self.weights, j)
        return weight * at(self.l1, j), weight * at(self.l2, j), at(self.linear, j)


def check_weighted(penalty: Any) -> None:
    """Raise unless strengths are finite with their weights, too: 0·inf is nan."""
    for name in STRENGTHS if "weights" in penalty._fields else ():
        if name in penalty._fields:
            strength, weights = getattr(penalty, name), penalty.weights
            with np.errstate(over="ignore"):
                is_finite = np.isfinite(strength * weights)
            if not np.all(is_finite):
                raise ValueError(
                    f"{type(penalty).__name__} weights times {name} must be finite; they are up to {np.max(weights):g} "
                    f"and {np.max(strength):g}"
                )
