"""Losses: one sample's share of f(Ax) = Σ_k s_k · loss(b_k, (Ax)_k).

Each loss is a NamedTuple whose compiled methods speak of one sample, with target y and prediction z:

==================  =============================================================================
``value``           loss(y, z)
``derivative``      ∂loss/∂z
``curvature``       ∂²loss/∂z² (one side's where it jumps), used by line search only
``conjugate``       sup_z {u·z − loss(y, z)}, +inf outside its domain; for duality gaps
``is_quadratic``    is the curvature constant?  Then it must be the curvature bound
``divergence``      (optional) value + conjugate(u) − u·z ≥ 0 without cancellation; for certificates
==================  =============================================================================

Plain Python methods tell the rest: ``curvature_bound`` (M, with 0 ≤ curvature ≤ M everywhere; inf where there is none,
then ``solve`` takes the loss and ``minimize`` does not) and, if the loss cannot take every target, ``check_target``.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._base.checks import Array, as_number, unknown_name
from ascd._base.elementary import exp_of_negative, log_of, log_of_one_plus
from ascd._base.jit import check_methods, helper, optional_method
from ascd.protocols import Loss

#: A dual point s·loss'/s may leave the conjugate's domain by rounding of its own last digit; this much is forgiven.
ROUNDING = 8.0 * 2.0**-52
#: Relative errors of the functions in ``elementary``, and of what divergences do with them.
FEW_UNITS = 16.0 * 2.0**-52


class Squared(NamedTuple):
    """½(z − y)².

    Examples
    --------
    >>> import ascd
    >>> ascd.Squared().value(1.0, 3.0)
    2.0
    """

    unit: float = 1.0

    def value(self, y: float, z: float) -> float:
        return 0.5 * (z - y) * (z - y)

    def derivative(self, y: float, z: float) -> float:
        return z - y

    def curvature(self, y: float, z: float) -> float:
        return 1.0

    def conjugate(self, y: float, u: float) -> float:
        return u * y + 0.5 * u * u

    def divergence(self, y: float, z: float, u: float) -> float:
        away = apart(z - y, u)
        return 0.5 * away * away

    def curvature_bound(self) -> float:
        return 1.0

    def is_quadratic(self) -> bool:
        return True

    def check_target(self, target: Array) -> None:
        """Every real target is fine."""


class Logistic(NamedTuple):
    """log(1 + exp(−y z)) for labels y = ±1.

    Examples
    --------
    >>> import ascd
    >>> round(ascd.Logistic().value(1.0, 0.0), 4)
    0.6931
    """

    unit: float = 1.0

    def value(self, y: float, z: float) -> float:
        margin = y * z
        return log_of_one_plus(exp_of_negative(-abs(margin))) + max(-margin, 0.0)

    def derivative(self, y: float, z: float) -> float:
        return -y * sigmoid(-y * z)

    def curvature(self, y: float, z: float) -> float:
        small = exp_of_negative(-abs(y * z))
        inverse = 1.0 / (1.0 + small)
        return small * inverse * inverse

    def conjugate(self, y: float, u: float) -> float:
        p = -u * y
        if p < -ROUNDING or p > 1.0 + ROUNDING:
            return math.inf
        return entropy_term(p) + entropy_term(1.0 - p)

    def divergence(self, y: float, z: float, u: float) -> float:
        """The Kullback–Leibler divergence of the probability p = −u·y from q = σ(−y·z)."""
        p = -u * y
        if p < 0.0 or p > 1.0 + ROUNDING:
            return math.inf
        p = min(p, 1.0)
        q, rest = sigmoid(-y * z), sigmoid(y * z)
        away = p - q if p + q <= 1.0 else rest - (1.0 - p)
        share, other = log_share(p, q, -self.value(y, -z), away), log_share(1.0 - p, rest, -self.value(y, z), -away)
        return max(0.0, share + other) + FEW_UNITS * abs(away)

    def curvature_bound(self) -> float:
        return 0.25

    def is_quadratic(self) -> bool:
        return False

    def check_target(self, target: Array) -> None:
        check_signs(target, "logistic")


class Huber(NamedTuple):
    """``½r²`` for ``|r| ≤ threshold``, ``threshold·(|r| − threshold/2)`` beyond, with ``r = z − y``.

    Examples
    --------
    >>> import ascd
    >>> ascd.Huber(1.0).value(0.0, 3.0)
    2.5
    """

    threshold: float = 1.35

    def value(self, y: float, z: float) -> float:
        size = abs(z - y)
        if size <= self.threshold:
            return 0.5 * size * size
        return self.threshold * (size - 0.5 * self.threshold)

    def derivative(self, y: float, z: float) -> float:
        return max(-self.threshold, min(self.threshold, z - y))

    def curvature(self, y: float, z: float) -> float:
        return 1.0 if abs(z - y) <= self.threshold else 0.0

    def conjugate(self, y: float, u: float) -> float:
        if abs(u) > self.threshold * (1.0 + ROUNDING):
            return math.inf
        return u * y + 0.5 * u * u

    def divergence(self, y: float, z: float, u: float) -> float:
        r = z - y
        if abs(u) > self.threshold * (1.0 + ROUNDING):
            return math.inf
        if abs(r) <= self.threshold:
            away = apart(r, u)
            return 0.5 * away * away
        end = self.threshold if r > 0.0 else -self.threshold
        return apart(end, u) * abs(r - 0.5 * (end + u))

    def curvature_bound(self) -> float:
        return 1.0

    def is_quadratic(self) -> bool:
        return False

    def check_target(self, target: Array) -> None:
        as_number(self.threshold, "Huber threshold", low=0.0, strict=True)


class SquaredHinge(NamedTuple):
    """max(0, 1 − y z)² for labels y = ±1.

    Examples
    --------
    >>> import ascd
    >>> ascd.SquaredHinge().value(1.0, -1.0)
    4.0
    """

    unit: float = 1.0

    def value(self, y: float, z: float) -> float:
        missing = max(0.0, 1.0 - y * z)
        return missing * missing

    def derivative(self, y: float, z: float) -> float:
        return -2.0 * y * max(0.0, 1.0 - y * z)

    def curvature(self, y: float, z: float) -> float:
        return 2.0 * y * y if y * z < 1.0 else 0.0

    def conjugate(self, y: float, u: float) -> float:
        a = -u * y
        if a < -ROUNDING:
            return math.inf
        return 0.25 * a * a - a

    def divergence(self, y: float, z: float, u: float) -> float:
        a, missing = -u * y, 1.0 - y * z
        if a < 0.0:
            return math.inf
        if missing <= 0.0:
            return 0.25 * a * a - a * missing
        away = apart(missing, 0.5 * a)
        return away * away

    def curvature_bound(self) -> float:
        return 2.0

    def is_quadratic(self) -> bool:
        return False

    def check_target(self, target: Array) -> None:
        check_signs(target, "squared_hinge")


class Poisson(NamedTuple):
    """exp(z) − y·z + y·log y − y for counts y ≥ 0: half the Poisson deviance of the mean exp(z).

    Examples
    --------
    >>> import ascd
    >>> float(ascd.Poisson().value(1.0, 0.0))
    0.0
    """

    unit: float = 1.0

    def value(self, y: float, z: float) -> float:
        return np.exp(z) - y * z + entropy_term(y) - y

    def derivative(self, y: float, z: float) -> float:
        return np.exp(z) - y

    def curvature(self, y: float, z: float) -> float:
        return np.exp(z)

    def conjugate(self, y: float, u: float) -> float:
        mean = u + y
        if mean < -ROUNDING * (1.0 + y):
            return math.inf
        return entropy_term(mean) - mean - entropy_term(y) + y

    def divergence(self, y: float, z: float, u: float) -> float:
        """The divergence mean·log(mean/q) − mean + q of Poisson's means, u + y from q = exp(z)."""
        mean, q = u + y, np.exp(z)
        if mean < -ROUNDING * y or q == math.inf:
            return math.inf
        away = max(mean, 0.0) - q
        return max(0.0, log_share(max(mean, 0.0), q, z, away) - away) + FEW_UNITS * abs(away)

    def curvature_bound(self) -> float:
        return math.inf

    def is_quadratic(self) -> bool:
        return False

    def check_target(self, target: Array) -> None:
        if target.min() < 0.0:
            raise ValueError(f"b must not be negative for the poisson loss; the smallest entry is {target.min():g}")


@helper
def sigmoid(t: float) -> float:
    """1 / (1 + exp(−t)) without overflow."""
    small = exp_of_negative(-abs(t))
    return (1.0 if t >= 0.0 else small) * (1.0 / (1.0 + small))


@helper
def entropy_term(p: float) -> float:
    p = max(p, 0.0)
    return p * log_of(p)


@helper
def apart(first: float, second: float) -> float:
    """|first − second|, at most, where both are rounded; 0 where they are the same."""
    away = abs(first - second)
    return away + 2.0**-51 * (abs(first) + abs(second)) if away > 0.0 else 0.0


@helper
def log_share(p: float, q: float, log_q: float, away: float) -> float:
    """p·log(p/q), where p − q = ``away``."""
    if p <= 0.0:
        return 0.0
    return p * (math.log1p(away / q) if abs(away) <= 0.5 * q else math.log(p) - log_q)


@optional_method
def divergence(loss: Any, y: float, z: float, u: float) -> float:
    """How far u is from being the derivative at z: loss(y, z) + loss*(y, u) − u·z, rounding errors added."""
    value, conjugate, product = loss.value(y, z), loss.conjugate(y, u), u * z
    rounding = FEW_UNITS * (abs(value) + abs(conjugate) + abs(product))
    return max(0.0, value + conjugate - product) + rounding


def check_signs(target: Array, name: str, argument: str = "b") -> None:
    """Classification losses take labels −1 and +1 only."""
    wrong = target[np.abs(target) != 1.0]
    if wrong.size:
        raise ValueError(f"{argument} must hold labels -1 and +1 for the {name} loss; got {wrong[0]:g} among others")


LOSSES: dict[str, Any] = {
    "squared": Squared,
    "logistic": Logistic,
    "huber": Huber,
    "squared_hinge": SquaredHinge,
    "poisson": Poisson,
}


def as_loss(loss: Any) -> Any:
    """The loss for a name, or the user's own after a check of its methods."""
    if isinstance(loss, str):
        if loss not in LOSSES:
            raise unknown_name(loss, "loss", LOSSES)
        return LOSSES[loss]()
    check_methods(loss, Loss, "loss")
    if not hasattr(loss, "curvature_bound"):
        raise TypeError(f"loss {type(loss).__name__} lacks the method curvature_bound(self)")
    as_number(loss.curvature_bound(), f"{type(loss).__name__}.curvature_bound()", low=0.0, strict=True)
    return loss
