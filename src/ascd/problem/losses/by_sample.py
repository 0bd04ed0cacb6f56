"""The library's losses of one sample with target y and prediction z (see the package for the contract)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ascd._core.checks import Array, as_number
from ascd._core.scalars import exp_of_negative, log_of_one_plus
from ascd.problem.losses.formulas import apart, check_signs, entropy_term, log_share, product_up, sigmoid
from ascd.problem.optimality import square_times
from ascd.problem.tuning import DOMAIN_ROUNDING, FEW_UNITS, LEAST_ORDINARY, UNDERFLOW


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

    def weighted_value(self, weight: float, y: float, z: float) -> float:
        return square_times(z - y, 0.5 * weight)

    def derivative(self, y: float, z: float) -> float:
        return z - y

    def curvature(self, y: float, z: float) -> float:
        return 1.0

    def conjugate(self, y: float, u: float) -> float:
        return u * y + 0.5 * u * u

    def divergence(self, y: float, z: float, u: float) -> float:
        away = apart(z - y, u)
        return product_up(0.5 * away, away)

    def curvature_bound(self) -> float:
        return 1.0

    def is_quadratic(self) -> bool:
        return True


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

    def weighted_value(self, weight: float, y: float, z: float) -> float:
        size = abs(z - y)
        if size <= self.threshold:
            return square_times(size, 0.5 * weight)
        return weight * self.threshold * (size - 0.5 * self.threshold)

    def derivative(self, y: float, z: float) -> float:
        return max(-self.threshold, min(self.threshold, z - y))

    def curvature(self, y: float, z: float) -> float:
        return 1.0 if abs(z - y) <= self.threshold else 0.0

    def conjugate(self, y: float, u: float) -> float:
        if abs(u) > self.threshold * (1.0 + DOMAIN_ROUNDING):
            return math.inf
        return u * y + 0.5 * u * u

    def divergence(self, y: float, z: float, u: float) -> float:
        r = z - y
        if abs(u) > self.threshold * (1.0 + DOMAIN_ROUNDING):
            return math.inf
        if abs(r) <= self.threshold:
            away = apart(r, u)
            return product_up(0.5 * away, away)
        end = self.threshold if r > 0.0 else -self.threshold
        return product_up(apart(end, u), abs(r - 0.5 * (end + u)))

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

    def weighted_value(self, weight: float, y: float, z: float) -> float:
        return square_times(max(0.0, 1.0 - y * z), weight)

    def derivative(self, y: float, z: float) -> float:
        return -2.0 * y * max(0.0, 1.0 - y * z)

    def curvature(self, y: float, z: float) -> float:
        return 2.0 * y * y if y * z < 1.0 else 0.0

    def conjugate(self, y: float, u: float) -> float:
        a = -u * y
        if a < -DOMAIN_ROUNDING:
            return math.inf
        return 0.25 * a * a - a

    def divergence(self, y: float, z: float, u: float) -> float:
        a, missing = -u * y, 1.0 - y * z
        if a < 0.0:
            return math.inf
        if missing <= 0.0:
            return product_up(a, 0.25 * a - missing)
        away = apart(missing, 0.5 * a)
        return product_up(away, away)

    def curvature_bound(self) -> float:
        return 2.0

    def is_quadratic(self) -> bool:
        return False

    def check_target(self, target: Array) -> None:
        check_signs(target, "squared_hinge")


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

    def curvature_from(self, u: float) -> float:
        return abs(u) * max(1.0 - abs(u), 0.0)

    def conjugate(self, y: float, u: float) -> float:
        p = -u * y
        if p < -DOMAIN_ROUNDING or p > 1.0 + DOMAIN_ROUNDING:
            return math.inf
        return entropy_term(p) + entropy_term(1.0 - p)

    def divergence(self, y: float, z: float, u: float) -> float:
        """The Kullback–Leibler divergence of the probability p = −u·y from q = σ(−y·z)."""
        p = -u * y
        if p < 0.0 or p > 1.0 + DOMAIN_ROUNDING:
            return math.inf
        p = min(p, 1.0)
        q, rest = sigmoid(-y * z), sigmoid(y * z)
        away = p - q if p + q <= 1.0 else rest - (1.0 - p)
        share, other = log_share(p, q, -self.value(y, -z), away), log_share(1.0 - p, rest, -self.value(y, z), -away)
        lost = UNDERFLOW if min(q, rest) < LEAST_ORDINARY else 0.0
        return max(0.0, share + other) + FEW_UNITS * abs(away) + lost

    def curvature_bound(self) -> float:
        return 0.25

    def is_quadratic(self) -> bool:
        return False

    def check_target(self, target: Array) -> None:
        check_signs(target, "logistic")


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
        if mean < -DOMAIN_ROUNDING * (1.0 + y):
            return math.inf
        return entropy_term(mean) - mean - entropy_term(y) + y

    def divergence(self, y: float, z: float, u: float) -> float:
        """The divergence mean·log(mean/q) − mean + q of Poisson's means, u + y from q = exp(z)."""
        mean, q = u + y, np.exp(z)
        if mean < -DOMAIN_ROUNDING * y or q == math.inf:
            return math.inf
        away = max(mean, 0.0) - q
        lost = UNDERFLOW if q < LEAST_ORDINARY else 0.0
        return max(0.0, log_share(max(mean, 0.0), q, z, away) - away) + FEW_UNITS * abs(away) + lost

    def curvature_bound(self) -> float:
        return math.inf

    def is_quadratic(self) -> bool:
        return False

    def check_target(self, target: Array) -> None:
        if target.min() < 0.0:
            raise ValueError(f"b must not be negative for the poisson loss; the smallest entry is {target.min():g}")
