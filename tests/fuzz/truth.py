"""The objective of a case, in long double, with a bound on the rounding error of its own evaluation.

    F(x, c) = Σ_k s_k·loss(b_k, (Ax)_k + c) + Σ_j (l1_j·|x_j| + ½·l2_j·x_j² + linear_j·x_j)   over lower ≤ x ≤ upper

Nothing here comes from the library.  Data are float64 numbers; sums, products and functions are of 64 bits or more
(u = 2⁻⁶³ or better) and of an exponent range in which nothing overflows.  With z computed to e = (n + 3)·u·Σ|terms|,
the error of F is at most Σ s·(slope·e + 8u·|value|) plus (d + n + 8)·u times the sum of the absolute terms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray
Long = np.longdouble
UNIT = np.finfo(Long).eps
#: The rounding errors of float64 in units of those here, with some room for another order of the sums.
FLOAT64 = 4.0 * float(np.finfo(float).eps / UNIT)
LOSSES = ("squared", "logistic", "huber", "squared_hinge", "poisson", "hinge")
#: The largest argument whose exponential is a finite long double.
LARGEST_EXPONENT = Long(11000.0)


@dataclass(frozen=True)
class Truth:
    """A problem in the judge's own terms; penalties of every kind are five numbers a coordinate."""

    A: Array
    b: Array
    s: Array
    loss: str
    threshold: float
    l1: Array
    l2: Array
    linear: Array
    lower: Array
    upper: Array
    intercept: bool

    @property
    def n(self) -> int:
        return self.A.shape[1]

    def is_allowed(self, x: Array) -> bool:
        return bool(np.all((x >= self.lower) & (x <= self.upper)) and np.isfinite(x).all())

    def nearest(self) -> Array:
        """The allowed point nearest to zero."""
        return np.clip(np.zeros(self.n), self.lower, self.upper)

    def values(self, X: Array, c: Array, unit: Any = UNIT) -> tuple[Array, Array, Array]:
        """F, its error bound and the sum of its absolute terms, for the columns of X and the entries of c.

        The bound is for arithmetic with this unit.
        """
        X, c = np.asarray(X, dtype=float).reshape(self.n, -1), np.atleast_1d(np.asarray(c, dtype=float))
        A, Xl = self.A.astype(Long), X.astype(Long)
        with np.errstate(all="ignore"):
            z = A @ Xl + c.astype(Long)
            size = np.abs(A) @ np.abs(Xl) + np.abs(c.astype(Long))
            error = (self.n + 3) * unit * size
            live = self.s > 0.0
            s, y, z, error = self.s.astype(Long)[live, None], self.b.astype(Long)[live, None], z[live], error[live]
            value, slope, size = loss_terms(self.loss, y, z, Long(self.threshold))
            if self.loss == "poisson":  # exp grows by as much as the error of its argument says
                slope = slope * np.maximum(1, np.expm1(np.minimum(error, LARGEST_EXPONENT)) / np.maximum(error, UNIT))
            uncertain = s * ((slope + error) * (error + unit * argument_size(self.loss, y)) + 8 * unit * size)
            x = Xl
            l1, l2, linear = (p.astype(Long)[:, None] for p in (self.l1, self.l2, self.linear))
            pieces = [l1 * np.abs(x), l2 * x * x / 2, linear * x]
            terms = [s * value, *pieces]
            total = sum(t.sum(axis=0) for t in terms)
            absolute = sum(np.abs(t).sum(axis=0) for t in terms)
            bound = uncertain.sum(axis=0) + (len(self.b) + 3 * self.n + 8) * unit * absolute
        outside = np.array([not self.is_allowed(X[:, i]) for i in range(X.shape[1])])
        total = np.where(outside | np.isnan(total), Long(np.inf), total)
        return total, np.where(np.isfinite(total), bound, Long(0)), absolute

    def value(self, x: Array, c: float = 0.0) -> tuple[Any, Any, Any]:
        total, bound, absolute = self.values(np.asarray(x)[:, None], np.array([c]))
        return total[0], bound[0], absolute[0]


def argument_size(loss: str, y: Array) -> Array:
    """What the rounding of a loss's argument is relative to: y for differences, 1 for margins and exponents."""
    return np.abs(y) if loss in ("squared", "huber") else np.maximum(np.abs(y), 1)


def loss_terms(loss: str, y: Array, z: Array, threshold: Any) -> tuple[Array, Array, Array]:
    """loss(y, z), a bound on |∂loss/∂z|, and the size of the terms that the value is a sum of."""
    if loss == "squared":
        r = z - y
        return r * r / 2, np.abs(r), r * r / 2
    if loss == "huber":
        size = np.abs(z - y)
        value = np.where(size <= threshold, size * size / 2, threshold * (size - threshold / 2))
        return value, np.minimum(size, threshold), threshold * size
    if loss == "logistic":
        m = y * z
        value = np.log1p(np.exp(-np.abs(m))) + np.maximum(-m, 0)
        return value, 1 / (1 + np.exp(np.minimum(m, LARGEST_EXPONENT))), value
    if loss in ("hinge", "squared_hinge"):
        missing = np.maximum(1 - y * z, 0)
        if loss == "hinge":
            return missing, np.ones_like(missing), missing
        return missing * missing, 2 * missing + UNIT, missing * missing
    if loss == "poisson":
        mean = np.where(z > LARGEST_EXPONENT, Long(np.inf), np.exp(np.minimum(z, LARGEST_EXPONENT)))
        entropy = np.where(y > 0, y * np.log(np.where(y > 0, y, Long(1))), Long(0))
        return mean - y * z + entropy - y, mean + y, mean + y * np.abs(z) + np.abs(entropy) + y
    raise ValueError(loss)


def penalty_arrays(name: str, parameters: dict[str, Any], n: int, factor: float = 1.0) -> dict[str, Array]:
    """The five numbers a coordinate of a penalty, its strength times ``factor`` (a float64 product, as in paths)."""

    def read(key: str, default: float) -> Array:
        return np.broadcast_to(np.asarray(parameters.get(key, default), dtype=Long), n).copy()

    def strength(key: str) -> Array:
        with np.errstate(over="ignore"):
            return np.broadcast_to(factor * np.asarray(parameters.get(key, 0.0), dtype=float), n).astype(Long)

    weights = read("weights", 1.0)
    l1, l2 = np.zeros(n, dtype=Long), np.zeros(n, dtype=Long)
    if name == "L1":
        l1 = strength("strength") * weights
    elif name == "L2":
        l2 = strength("strength") * weights
    elif name in ("L1L2", "BoundedL1L2"):
        l1, l2 = strength("l1") * weights, strength("l2") * weights
    elif name == "Box":
        l2 = strength("l2")
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    if name in ("Box", "BoundedL1L2"):
        free = 0.0 if name == "Box" else -np.inf
        lower, upper = read("lower", free).astype(float), read("upper", np.inf).astype(float)
    return {"l1": l1, "l2": l2, "linear": read("linear", 0.0), "lower": lower, "upper": upper}


def make_truth(
    A: Array, b: Array, weight: Array | None, loss: str, threshold: float, arrays: dict[str, Array], intercept: bool
) -> Truth:
    """The problem that these arrays state."""
    s = np.ones(len(b)) if weight is None else np.asarray(weight, dtype=Long)
    return Truth(np.asarray(A, dtype=float), np.asarray(b), s, loss, float(threshold), **arrays, intercept=intercept)
