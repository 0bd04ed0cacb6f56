"""Penalties by coordinate, Σ_j Ψ_j(x_j), with the methods of ``ascd.protocols.Penalty``.

The library's are Ψ_j(x) = l1·|x| + ½·l2·x² + linear·x, inside lower ≤ x ≤ upper for ``Box`` and ``BoundedL1L2``.  Every
parameter is one number for all coordinates or an array with one for each; ``at(parameter, j)`` reads both.  ``weights``
multiply the penalty of a coordinate (0 leaves it unpenalised).  ``l1_l2_linear`` of a class returns the numbers of a
coordinate; terms that a class does not have are the constant 0.0, whose branches the compiler removes.

All else that the library needs follows from the contract's five methods, for a user's penalty as for these: the allowed
point nearest to 0 from ``cost`` and ``prox``, whether Ψ_j falls for ever from ``cost_conjugate``.
"""

from __future__ import annotations

import math
from collections import namedtuple
from contextlib import suppress
from typing import Any

import numpy as np

from ascd._core.checks import Array, as_parameter
from ascd._core.contracts import check_methods, is_ours
from ascd._core.jit import at, helper, kernel, optional_method
from ascd.problem.arithmetic import square_times
from ascd.problem.tuning import LAST_PLACES
from ascd.protocols import Penalty

#: Fields that multiply the penalty; others are weights, bounds and the linear term.
STRENGTHS = ("strength", "l1", "l2")
#: All coordinates at once, where a penalty runs uncompiled.
ALL: Any = slice(None)


# ---- formulas of one coordinate


@helper
def soft_threshold(v: float, threshold: float, positive: bool = False) -> float:
    """Return argmin_z ½(z − v)² + threshold·|z|, over z ≥ 0 alone where ``positive``."""
    if v > threshold:
        return v - threshold
    return v + threshold if v < -threshold and not positive else 0.0


# ---- the library's penalties


class Net:
    """l1·|x| + ½·l2·x² + linear·x for lower ≤ x ≤ upper, +inf outside.

    The minimiser over an interval is the free minimiser, moved to the nearest end: so prox and conjugate clip.
    """

    __slots__ = ()
    linear: Any

    @helper
    def l1_l2_linear(self, j: int) -> tuple[float, float, float]:
        return 0.0, 0.0, at(self.linear, j)

    @helper
    def limits_of(self, j: int) -> tuple[float, float]:
        return -math.inf, math.inf

    def cost(self, x: float, j: int) -> float:
        (l1, l2, linear), (lower, upper) = self.l1_l2_linear(j), self.limits_of(j)
        if x < lower or x > upper:
            return math.inf
        cost = linear * x
        if l1 > 0.0:
            cost += l1 * abs(x)
        if l2 > 0.0:
            cost += square_times(x, 0.5 * l2)
        return cost

    def cost_size(self, x: float, j: int) -> float:
        return self.cost(x, j) + 2.0 * max(0.0, -self.l1_l2_linear(j)[2] * x)

    def prox(self, v: float, step: float, j: int) -> float:
        (l1, l2, linear), (lower, upper) = self.l1_l2_linear(j), self.limits_of(j)
        moved = v - step * linear
        if l1 > 0.0:
            moved = soft_threshold(moved, step * l1)
        if l2 > 0.0:
            moved = moved / (1.0 + step * l2)
        return max(min(moved, upper), lower)

    def subgradient(self, x: float, j: int) -> tuple[float, float]:
        (l1, l2, linear), (lower, upper) = self.l1_l2_linear(j), self.limits_of(j)
        smooth = l2 * x + linear if l2 > 0.0 else linear
        low, high = (l1 if x > 0.0 else -l1) + smooth, (-l1 if x < 0.0 else l1) + smooth
        if x <= lower:
            low = -math.inf
        if x >= upper:
            high = math.inf
        return low, high

    def cost_conjugate(self, u: float, j: int) -> float:
        (l1, l2, linear), (lower, upper) = self.l1_l2_linear(j), self.limits_of(j)
        tilt = u - linear
        best = soft_threshold(tilt, l1) if l1 > 0.0 else tilt
        if l2 > 0.0:
            best = best / l2
        elif best != 0.0:
            best = math.inf if best > 0.0 else -math.inf
        best = max(lower, min(upper, best))
        if math.isinf(best):
            return math.inf
        gain = (tilt if best > 0.0 else -tilt) - l1  # one product: a difference of two might be inf - inf
        return (gain - 0.5 * l2 * abs(best)) * abs(best)

    def dual_scale(self, u: float, j: int) -> float:
        (l1, l2, linear), (lower, upper) = self.l1_l2_linear(j), self.limits_of(j)
        if l2 > 0.0:
            return 1.0
        low = linear - l1 if math.isinf(lower) else -math.inf
        high = linear + l1 if math.isinf(upper) else math.inf
        # s·u keeps away from ends that are rounded; a single point is exact, and no scale meets it if it is not 0
        edge = LAST_PLACES * (abs(linear) + l1) if l1 > 0.0 else 0.0
        if low + edge <= u <= high - edge or low == u == high:
            return 1.0
        if low == high:
            return 0.0 if low == 0.0 else -1.0
        end, sign = (high, 1.0) if u > high - edge else (-low, -1.0)
        room = end - 2.0 * edge - LAST_PLACES * end
        if room > 0.0:
            return room / (sign * u)
        return 0.0 if end >= 0.0 else -1.0

    def piece(self, x: float, j: int) -> tuple[float, float, float]:
        (l1, l2, _), (low, high) = self.l1_l2_linear(j), self.limits_of(j)
        if not low < x < high or (x == 0.0 and l1 > 0.0):
            return l2, x, x
        if l1 > 0.0:
            low, high = (max(low, 0.0), high) if x > 0.0 else (low, min(high, 0.0))
        return l2, low, high

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
        weights = checked.get("weights", 1.0)
        for name in STRENGTHS:
            with np.errstate(over="ignore"):
                largest = np.max(checked.get(name, 0.0) * weights)
            if not math.isfinite(largest):  # 0·inf is nan
                most = f"{np.max(weights):g} and {np.max(checked[name]):g}"
                raise ValueError(f"{kind} weights times {name} must be finite; they are up to {most}")
        return self._replace(**checked)

    def is_smooth(self) -> bool:
        is_open = all(np.isinf(end).all() for end in self.limits_of(ALL))
        return is_open and not np.any(self.l1_l2_linear(ALL)[0])

    def with_free(self: Any, n: int) -> Any:
        """Return the penalty for n + 1 coordinates, of which the last has none."""
        free = {"lower": -math.inf, "upper": math.inf}
        values = self._asdict().items()
        return self._replace(**{name: np.append(np.broadcast_to(at, n), free.get(name, 0.0)) for name, at in values})


class BoundedNet(Net):
    """A ``Net`` with fields for its bounds."""

    __slots__ = ()
    lower: Any
    upper: Any

    @helper
    def limits_of(self, j: int) -> tuple[float, float]:
        return at(self.lower, j), at(self.upper, j)

    def check(self: Any, n: int) -> Any:
        found, name = Net.check(self, n), type(self).__name__
        if np.any(np.asarray(found.lower) > np.asarray(found.upper)):
            raise ValueError(f"{name} lower must not exceed upper; got lower {self.lower!r}, upper {self.upper!r}")
        if np.any(np.asarray(found.lower) == math.inf) or np.any(np.asarray(found.upper) == -math.inf):
            raise ValueError(f"{name} lower must be below +inf and upper above -inf: the box is empty otherwise")
        return found


class Zero(Net, namedtuple("Zero", "linear", defaults=[0.0])):
    """No penalty: Ψ_j(x) = linear_j·x.

    Examples
    --------
    >>> import ascd
    >>> ascd.Zero().prox(2.0, 0.5, 0)
    2.0
    """

    __slots__ = ()


class L1(Net, namedtuple("L1", "strength weights linear", defaults=[1.0, 0.0])):
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


class L2(Net, namedtuple("L2", "strength weights linear", defaults=[1.0, 0.0])):
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


class L1L2(Net, namedtuple("L1L2", "l1 l2 weights linear", defaults=[1.0, 0.0])):
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


class Box(BoundedNet, namedtuple("Box", "lower upper l2 linear", defaults=[0.0, math.inf, 0.0, 0.0])):
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


class BoundedL1L2(
    BoundedNet,
    namedtuple("BoundedL1L2", "l1 l2 lower upper weights linear", defaults=[0.0, -math.inf, math.inf, 1.0, 0.0]),
):
    """``weights_j·(l1·|x| + ½·l2·x²) + linear_j·x`` inside ``lower_j ≤ x ≤ upper_j``, +inf outside.

    Examples
    --------
    >>> import ascd
    >>> ascd.BoundedL1L2(l1=1.0, l2=1.0, lower=-0.5, upper=0.5).prox(3.0, 1.0, 0)
    0.5
    """

    __slots__ = ()
    l1_l2_linear = L1L2.l1_l2_linear


# ---- what follows from the methods of any penalty


@optional_method
def piece(penalty: Any, x: float, j: int) -> tuple[float, float, float]:
    """Return curvature and ends of the quadratic piece around x; no piece for penalties without this method."""
    return 0.0, x, x


@optional_method
def cost_size(penalty: Any, x: float, j: int) -> float:
    """Return the sum of the sizes of the terms of Ψ_j(x), which may cancel: its rounding errors are a part of that."""
    return abs(penalty.cost(x, j))


@helper
def derivative_size(penalty: Any, x: float, j: int) -> float:
    """Return the sum of the sizes of the terms of Ψ_j'(x), which may cancel; 0 at zero where Ψ_j(0) is not 0."""
    if x != 0.0:
        size = cost_size(penalty, x, j) / abs(x)
        return size if size < math.inf else 0.0
    size, near = 0.0, 2.0**-500  # nothing but the first derivative is left there, and squares still are normal numbers
    if penalty.cost(0.0, j) == 0.0:
        for beside in (near, -near):
            cost = cost_size(penalty, beside, j)
            size = max(size, cost / near) if cost < math.inf else size
    return size


def as_penalty(penalty: Any, n: int) -> Any:
    """Return the penalty for n coordinates, its methods and parameters checked."""
    if penalty is None:
        return Zero()
    check_methods(penalty, Penalty, "penalty")
    checked = penalty.check(n) if hasattr(penalty, "check") else penalty
    check_methods(checked, Penalty, f"what {type(penalty).__name__}.check(n) returns as penalty")
    kind: Any = type(checked)
    if is_ours(kind):
        return checked
    try:  # compiled code does not check indices
        with suppress(ArithmeticError):  # zero may be outside the domain
            checked.subgradient(0.0, n - 1), checked.cost(0.0, n - 1)
    except IndexError as error:
        raise ValueError(
            f"penalty {type(checked).__name__}: there is no coordinate {n - 1} ({error}); its arrays must have one "
            f"entry for each of the {n} coordinates"
        ) from error
    return checked


def nearest_allowed(penalty: Any, n: int) -> Array:
    """Return the point nearest to 0 in every coordinate that the penalty allows: the default start."""
    x = np.zeros(n)
    lost = find_nearest(penalty, x)
    if lost >= 0:
        raise ValueError(
            f"penalty {type(penalty).__name__}: cost(0, {lost}) is not finite, nor is it at {x[lost]:g}, where "
            f"prox(0, step, {lost}) leads: either it overflows there, or its cost and its prox do not belong together"
        )
    return x


@kernel
def find_nearest(penalty: Any, x: Array) -> int:
    """Fill in x; return a coordinate for which no allowed point was found, or −1.

    Proximal points of 0 are nearest for short steps; none leads there for −log x, whose domain is open.
    """
    for j in range(x.size):
        step = 1e-300
        while not math.isfinite(penalty.cost(x[j], j)):
            if step > 2.0:
                return j
            x[j] = penalty.prox(0.0, step, j)
            step *= 1e50
    return -1


def check_bounded(penalty: Any, norm: Array) -> None:
    """Raise where the penalty of a zero column falls for ever; other ways to −inf are found by the run ("diverged")."""
    if norm.all():
        return
    lowest = np.empty(norm.size)  # −Ψ_j*(0) is the lower bound of Ψ_j
    penalty_conjugates(penalty, np.zeros(norm.size), lowest)
    falling = np.flatnonzero((norm == 0.0) & (lowest == math.inf))
    if falling.size:
        raise ValueError(
            f"the problem is unbounded below: column {falling[0]} is zero and the penalty's linear term lowers its "
            "coefficient for ever; remove the linear term or bound the coordinates"
        )


@kernel
def penalty_conjugates(penalty: Any, products: Array, out: Array) -> None:
    for j in range(out.size):
        out[j] = penalty.cost_conjugate(products[j], j)
