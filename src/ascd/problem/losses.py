"""Losses by sample, f(Z) = Σ_kt s_k·loss(b_kt, z_kt), and their targets.

Their methods are those of ``ascd.protocols.Loss``.  What the solver sees is a loss of all predictions, made of these
by ``ascd.problem.samples``.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, as_number, as_numbers, finite_values, refuse_masks, unlocked
from ascd._core.devices import to_host
from ascd._core.jit import helper, optional_method
from ascd.problem.arithmetic import square_times
from ascd.problem.tuning import DOMAIN_ROUNDING, FEW_UNITS, LARGEST

# ---- formulas without overflow and cancellation


@helper
def entropy_term(p: float) -> float:
    """Return p·log p, 0 for p ≤ 0."""
    return 0.0 if p <= 0.0 else p * math.log(p)


@helper
def apart(first: float, second: float) -> float:
    """Return |first − second| at most, where both are rounded; 0 where they are equal."""
    away = abs(first - second)
    return away + 2.0**-51 * (abs(first) + abs(second)) if away > 0.0 else 0.0


@helper
def log_share(p: float, q: float, log_q: float, away: float) -> float:
    """Return p·log(p/q), where p − q = ``away``."""
    if p <= 0.0:
        return 0.0
    return p * (math.log1p(away / q) if abs(away) <= 0.5 * q else math.log(p) - log_q)


@optional_method
def divergence(loss: Any, y: float, z: float, u: float) -> float:
    """Return loss(y, z) + loss*(y, u) − u·z, rounding errors added: 0 where u is the derivative at z."""
    value, conjugate, product = loss.value(y, z), loss.conjugate(y, u), u * z
    return max(0.0, value + conjugate - product) + FEW_UNITS * (abs(value) + abs(conjugate) + abs(product))


def check_signs(target: Array, name: str, argument: str = "b") -> None:
    """Raise unless all labels are −1 or +1."""
    wrong = target[np.abs(target) != 1.0]
    if wrong.size:
        raise ValueError(f"{argument} must hold labels -1 and +1 for the {name} loss; got {wrong[0]:g} among others")


# ---- the library's losses


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
        return square_times(z - y, 0.5)

    def derivative(self, y: float, z: float) -> float:
        return z - y

    def curvature(self, y: float, z: float) -> float:
        return 1.0

    def conjugate(self, y: float, u: float) -> float:
        return u * y + square_times(u, 0.5)

    def divergence(self, y: float, z: float, u: float) -> float:
        return square_times(apart(z - y, u), 0.5)

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
            return 0.5 * away * away
        end = self.threshold if r > 0.0 else -self.threshold
        away = apart(end, u)
        return away * abs(r - 0.5 * (end + u)) if away > 0.0 else 0.0

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
        if a < -DOMAIN_ROUNDING:
            return math.inf
        return 0.25 * a * a - a

    def divergence(self, y: float, z: float, u: float) -> float:
        a, missing = -u * y, 1.0 - y * z
        if a < 0.0:
            return math.inf
        if missing <= 0.0:
            return a * (0.25 * a - missing) if a > 0.0 else 0.0
        away = apart(missing, 0.5 * a)
        return away * away

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
        return math.log1p(math.exp(-abs(margin))) + max(-margin, 0.0)

    def derivative(self, y: float, z: float) -> float:
        small = math.exp(-abs(y * z))
        return -y * ((1.0 if y * z <= 0.0 else small) * (1.0 / (1.0 + small)))

    def curvature(self, y: float, z: float) -> float:
        small = math.exp(-abs(y * z))
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
        p, margin = min(p, 1.0), y * z
        small = math.exp(-abs(margin))
        larger = 1.0 / (1.0 + small)
        q, rest = (small * larger, larger) if margin >= 0.0 else (larger, small * larger)
        away = p - q if p + q <= 1.0 else rest - (1.0 - p)
        is_close = abs(away) <= 0.5 * min(q, rest)  # then no logarithm of q is needed
        log_larger = 0.0 if is_close else -math.log1p(small)
        share = log_share(p, q, log_larger - max(margin, 0.0), away)
        other = log_share(1.0 - p, rest, log_larger - max(-margin, 0.0), -away)
        return max(0.0, share + other) + FEW_UNITS * abs(away)

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
        return max(0.0, log_share(max(mean, 0.0), q, z, away) - away) + FEW_UNITS * abs(away)

    def curvature_bound(self) -> float:
        return math.inf

    def is_quadratic(self) -> bool:
        return False

    def check_target(self, target: Array) -> None:
        if target.min() < 0.0:
            raise ValueError(f"b must not be negative for the poisson loss; the smallest entry is {target.min():g}")


# ---- targets


class Sample(NamedTuple):
    """Targets b and weights s (the number 1.0 where all weigh the same)."""

    target: Array
    weight: Any


def as_targets(values: Any, name: str, n_samples: int) -> Array:
    """Return finite numbers of shape (n_samples,) or (n_samples, n_outputs) in C order."""
    shape = np.shape(values)
    if len(shape) not in (1, 2) or 0 in shape:
        raise ValueError(f"{name} must have the shape ({n_samples},) or ({n_samples}, n_outputs); got {shape}")
    array = np.ascontiguousarray(as_numbers(values, name), dtype=np.float64)
    if len(array) != n_samples:
        raise ValueError(f"{name} must have length {n_samples}; got {len(array)}")
    finite_values(array, name)
    check_range(np.abs(array).max(keepdims=True), name, LARGEST)
    return unlocked(array)


def check_range(sizes: Array, name: str, largest: float) -> None:
    """Raise a ValueError unless these sizes are 0 or in the range of input."""
    wrong = sizes[(sizes > largest) | ((sizes > 0.0) & (sizes < 1.0 / largest))]
    if wrong.size:
        raise ValueError(f"{name} must be 0 or between {1.0 / largest:g} and {largest:g} in size; got {wrong[0]:g}")


def as_classes(b: Any, n_samples: int) -> Array:
    """Return the labels of the softmax loss: integers from 0, one a sample."""
    refuse_masks(b, "b")
    labels = np.asarray(to_host(b))
    if labels.ndim != 1 or labels.size != n_samples:
        raise ValueError(f"b must have length {n_samples}; got shape {labels.shape}")
    if labels.dtype.kind not in "iu" or labels.min() < 0:
        raise ValueError("b must hold the classes 0, 1, 2, ... as integers for the softmax loss")
    if labels.max() >= 1_000_000:  # a label, not a class
        raise ValueError(
            f"b must hold the classes 0, 1, 2, ... below {1_000_000:,}; the largest is {labels.max()}: number them "
            "without gaps, as np.unique(b, return_inverse=True) does"
        )
    return labels.astype(np.int64)
