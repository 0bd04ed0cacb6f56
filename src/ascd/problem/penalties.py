"""Penalties by coordinate, Σ_j Ψ_j(x_j), with the methods of ``ascd.protocols.Penalty``.

All of the library's are one kind, ``Net``: Ψ_j(x) = l1_j·|x| + ½·l2_j·x² + linear_j·x for lower_j ≤ x ≤ upper_j, and
``L1``, ``Box`` and the other functions name its special cases.  So one compiled kernel serves them all: ``check`` makes
every field a number, or every one an array with an entry for each coordinate.

All else that the library needs follows from the contract's five methods, for a user's penalty as for these: the allowed
point nearest to 0 from ``cost`` and ``prox``, whether Ψ_j falls for ever from ``cost_conjugate``.
"""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, as_parameter
from ascd._core.contracts import check_methods, is_ours
from ascd._core.jit import at, helper, kernel, optional_method
from ascd.problem.arithmetic import square_times
from ascd.problem.tuning import LARGEST, LARGEST_STRENGTH, LAST_PLACES
from ascd.protocols import Penalty


@helper
def soft_threshold(v: float, threshold: float, positive: bool = False) -> float:
    """Return argmin_z ½(z − v)² + threshold·|z|, over z ≥ 0 alone where ``positive``."""
    if v > threshold:
        return v - threshold
    return v + threshold if v < -threshold and not positive else 0.0


class Net(NamedTuple):
    """l1·|x| + ½·l2·x² + linear·x for lower ≤ x ≤ upper, +inf outside.

    The minimiser over an interval is the free minimiser, moved to the nearest end: so prox and conjugate clip.
    """

    l1: Any = 0.0
    l2: Any = 0.0
    linear: Any = 0.0
    lower: Any = -math.inf
    upper: Any = math.inf

    def cost(self, x: float, j: int) -> float:
        if x < at(self.lower, j) or x > at(self.upper, j):
            return math.inf
        return at(self.linear, j) * x + at(self.l1, j) * abs(x) + square_times(x, 0.5 * at(self.l2, j))

    def cost_size(self, x: float, j: int) -> float:
        return self.cost(x, j) + 2.0 * max(0.0, -at(self.linear, j) * x)

    def prox(self, v: float, step: float, j: int) -> float:
        l1, l2, moved = at(self.l1, j), at(self.l2, j), v - step * at(self.linear, j)
        if l1 > 0.0:
            moved = soft_threshold(moved, step * l1)
        if l2 > 0.0:
            moved = moved / (1.0 + step * l2)
        return max(min(moved, at(self.upper, j)), at(self.lower, j))

    def subgradient(self, x: float, j: int) -> tuple[float, float]:
        l1, l2, linear = at(self.l1, j), at(self.l2, j), at(self.linear, j)
        smooth = l2 * x + linear if l2 > 0.0 else linear
        low, high = (l1 if x > 0.0 else -l1) + smooth, (-l1 if x < 0.0 else l1) + smooth
        if x <= at(self.lower, j):
            low = -math.inf
        if x >= at(self.upper, j):
            high = math.inf
        return low, high

    def cost_conjugate(self, u: float, j: int) -> float:
        l1, l2, tilt = at(self.l1, j), at(self.l2, j), u - at(self.linear, j)
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
        if at(self.l2, j) > 0.0:
            return 1.0
        l1, linear = at(self.l1, j), at(self.linear, j)
        low = linear - l1 if math.isinf(at(self.lower, j)) else -math.inf
        high = linear + l1 if math.isinf(at(self.upper, j)) else math.inf
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
        l1, l2, low, high = at(self.l1, j), at(self.l2, j), at(self.lower, j), at(self.upper, j)
        if not low < x < high or (x == 0.0 and l1 > 0.0):
            return l2, x, x
        if l1 > 0.0:
            low, high = (max(low, 0.0), high) if x > 0.0 else (low, min(high, 0.0))
        return l2, low, high

    def scaled(self, factor: float) -> Net:
        return self._replace(l1=factor * self.l1, l2=factor * self.l2)

    def check(self, n: int) -> Net:
        """Return the penalty for n coordinates: all fields numbers, or all arrays."""
        fields: list[float | Array] = []
        for name, value in self._asdict().items():
            sizes, most = np.abs(value), LARGEST_STRENGTH
            if name in ("lower", "upper"):
                sizes, most = np.where(np.isinf(sizes), 0.0, sizes), LARGEST
            if sizes.max() > most:
                raise ValueError(f"penalty {name} must be at most {most:g} with its weights; got {sizes.max():g}")
            fields.append(as_parameter(value, f"penalty {name}", n, finite=False))
        if any(map(np.ndim, fields)):
            fields = [np.array(np.broadcast_to(field, n), dtype=np.float64) for field in fields]
        return Net(*fields)

    def is_smooth(self) -> bool:
        return not (np.any(self.l1) or np.isfinite(self.lower).any() or np.isfinite(self.upper).any())

    def with_free(self, n: int) -> Net:
        """Return the penalty for n + 1 coordinates, of which the last has none."""
        return Net(*(np.append(np.broadcast_to(field, n), free) for field, free in zip(self, Net(), strict=True)))


# ---- its special cases, by name


def _checked(kind: str, **given: Any) -> list[Any]:
    """Return the parameters of a penalty as numbers or vectors of one length; an error names kind and parameter."""
    size, found = max((np.shape(value)[0] for value in given.values() if np.ndim(value) == 1), default=1), {}
    for name, value in given.items():
        low = -math.inf if name in ("linear", "lower", "upper") else 0.0
        found[name] = as_parameter(value, f"{kind} {name}", size, low=low, finite=name not in ("lower", "upper"))
        if name not in ("lower", "upper") and np.abs(found[name]).max() > LARGEST_STRENGTH:
            raise ValueError(f"{kind} {name} must be at most {LARGEST_STRENGTH:g} in size; got {np.max(found[name]):g}")
    lower, upper = found.get("lower", -math.inf), found.get("upper", math.inf)
    if np.any(np.greater(lower, upper)):
        raise ValueError(f"{kind} lower must not exceed upper; got lower {lower!r}, upper {upper!r}")
    if np.any(np.equal(lower, math.inf)) or np.any(np.equal(upper, -math.inf)):
        raise ValueError(f"{kind} lower must be below +inf and upper above -inf: the box is empty otherwise")
    return list(found.values())


def Zero(linear: Any = 0.0) -> Net:
    """No penalty: Ψ_j(x) = linear_j·x.

    Examples
    --------
    >>> import ascd
    >>> ascd.Zero().prox(2.0, 0.5, 0)
    2.0
    """
    return Net(0.0, 0.0, *_checked("Zero", linear=linear))


def L1(strength: Any, weights: Any = 1.0, linear: Any = 0.0) -> Net:
    """``Ψ_j(x) = strength·weights_j·|x| + linear_j·x``; a weight of 0 leaves a coordinate unpenalised.

    Each parameter is one number for all coordinates, or an array with one for each.

    Examples
    --------
    >>> import ascd
    >>> ascd.L1(1.0).prox(3.0, 0.5, 0)
    2.5
    """
    strength, weights, linear = _checked("L1", strength=strength, weights=weights, linear=linear)
    return Net(strength * weights, 0.0, linear)


def L2(strength: Any, weights: Any = 1.0, linear: Any = 0.0) -> Net:
    """Ψ_j(x) = ½·strength·weights_j·x² + linear_j·x.

    Examples
    --------
    >>> import ascd
    >>> ascd.L2(1.0).prox(3.0, 0.5, 0)
    2.0
    """
    strength, weights, linear = _checked("L2", strength=strength, weights=weights, linear=linear)
    return Net(0.0, strength * weights, linear)


def L1L2(l1: Any, l2: Any, weights: Any = 1.0, linear: Any = 0.0) -> Net:
    """``Ψ_j(x) = weights_j·(l1·|x| + ½·l2·x²) + linear_j·x``.

    Examples
    --------
    >>> import ascd
    >>> ascd.L1L2(l1=1.0, l2=1.0).prox(3.0, 1.0, 0)
    1.0
    """
    l1, l2, weights, linear = _checked("L1L2", l1=l1, l2=l2, weights=weights, linear=linear)
    return Net(l1 * weights, l2 * weights, linear)


def Box(lower: Any = 0.0, upper: Any = math.inf, l2: Any = 0.0, linear: Any = 0.0) -> Net:
    """The constraint lower_j ≤ x ≤ upper_j, plus ½·l2_j·x² + linear_j·x inside it.

    ``Box(0, inf)`` is non-negative least squares; with ``linear=lam`` it is the non-negative Lasso.

    Examples
    --------
    >>> import ascd
    >>> ascd.Box(0.0, 1.0).prox(-3.0, 1.0, 0), ascd.Box(0.0, 1.0).prox(0.25, 1.0, 0)
    (0.0, 0.25)
    """
    lower, upper, l2, linear = _checked("Box", lower=lower, upper=upper, l2=l2, linear=linear)
    return Net(0.0, l2, linear, lower, upper)


def BoundedL1L2(
    l1: Any, l2: Any = 0.0, lower: Any = -math.inf, upper: Any = math.inf, weights: Any = 1.0, linear: Any = 0.0
) -> Net:
    """``weights_j·(l1·|x| + ½·l2·x²) + linear_j·x`` inside ``lower_j ≤ x ≤ upper_j``, +inf outside.

    Examples
    --------
    >>> import ascd
    >>> ascd.BoundedL1L2(l1=1.0, l2=1.0, lower=-0.5, upper=0.5).prox(3.0, 1.0, 0)
    0.5
    """
    given = _checked("BoundedL1L2", l1=l1, l2=l2, weights=weights, linear=linear, lower=lower, upper=upper)
    return Net(given[0] * given[2], given[1] * given[2], *given[3:])


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
