"""Problems for the production solver, stated in NumPy, and their minima from SciPy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import formulas
import numpy as np
import scipy.sparse as sp
from scipy import optimize, special

import ascd

INF = math.inf
TINY = 1e-300


def poisson(y, z):
    return np.exp(z) - y * z + special.xlogy(y, y) - y


#: name → value(y, z), slope(y, z), are targets labels?
LOSSES = {**formulas.LOSSES, "poisson": (poisson, lambda y, z: np.exp(z) - y, False)}


def alike(shape, rng):
    """Sparse rows; those of the second half are nearly those of the first."""
    half = rng.standard_normal((shape[0] // 2, shape[1])) * (rng.random((shape[0] // 2, shape[1])) < 0.7)
    return np.vstack([half, half * (1.0 + 0.1 * rng.standard_normal(half.shape))])


def target_of(loss, A, rng):
    """Targets for rows that are alike: two of three pairs get opposite labels, so that no direction separates them."""
    norms = np.maximum(np.linalg.norm(A, axis=0), TINY)
    z = A / norms @ rng.standard_normal(A.shape[1]) + 0.5 * rng.standard_normal(A.shape[0])
    if LOSSES[loss][2]:
        labels = np.sign(z[: len(z) // 2])
        return np.r_[labels, np.where(np.arange(len(labels)) % 3 > 0, -labels, labels)]
    return rng.poisson(np.exp(np.clip(z, -2.0, 2.0))).astype(float) if loss == "poisson" else 2.0 * z + 1.0


@dataclass(frozen=True, eq=False)
class Terms:
    """Ψ(x) = Σ l1·|x| + ½·l2·x² + linear·x over lower ≤ x ≤ upper; each an array."""

    l1: Any
    l2: Any
    linear: Any
    lower: Any
    upper: Any

    def cost(self, x):
        if np.any(x < self.lower) or np.any(x > self.upper):
            return INF
        return float(np.sum(self.l1 * np.abs(x) + 0.5 * self.l2 * x**2 + self.linear * x))


def terms(n, l1=0.0, l2=0.0, linear=0.0, lower=-INF, upper=INF):
    return Terms(*(np.broadcast_to(part, n).astype(float) for part in (l1, l2, linear, lower, upper)))


def some_weights(n):
    """One of three coordinates is free of penalty."""
    return np.where(np.arange(n) % 3 == 1, 0.0, 1.0 + np.arange(n) / n)


def signs(n, size):
    return size * (-1.0) ** np.arange(n)


#: name → (n, largest gradient entry at zero) → the library's penalty, and its terms
PENALTIES = {
    "none": lambda n, top: (None, terms(n)),
    "l1": lambda n, top: (ascd.L1(0.2 * top), terms(n, 0.2 * top)),
    "l1 weighted": lambda n, top: (ascd.L1(0.1 * top, some_weights(n)), terms(n, 0.1 * top * some_weights(n))),
    "l1 linear": lambda n, top: (
        ascd.L1(0.2 * top, 1.0, signs(n, 0.1 * top)),
        terms(n, 0.2 * top, 0.0, signs(n, 0.1 * top)),
    ),
    "l1 of strength 0": lambda n, top: (ascd.L1(0.0), terms(n)),
    "l2": lambda n, top: (ascd.L2(0.5), terms(n, 0.0, 0.5)),
    "l2 weighted, linear": lambda n, top: (
        ascd.L2(0.5, 0.1 + some_weights(n), signs(n, 0.3)),
        terms(n, 0.0, 0.5 * (0.1 + some_weights(n)), signs(n, 0.3)),
    ),
    "elastic net": lambda n, top: (ascd.L1L2(0.1 * top, 0.4), terms(n, 0.1 * top, 0.4)),
    "elastic net weighted": lambda n, top: (
        ascd.L1L2(0.1 * top, 0.4, some_weights(n)),
        terms(n, 0.1 * top * some_weights(n), 0.4 * some_weights(n)),
    ),
    "bounded elastic net": lambda n, top: (
        ascd.BoundedL1L2(0.05 * top, 0.2, -0.1, 0.2, some_weights(n)),
        terms(n, 0.05 * top * some_weights(n), 0.2 * some_weights(n), 0.0, -0.1, 0.2),
    ),
    "non-negative": lambda n, top: (ascd.Box(), terms(n, lower=0.0)),
    "non-negative lasso": lambda n, top: (ascd.Box(linear=0.1 * top), terms(n, linear=0.1 * top, lower=0.0)),
    "box": lambda n, top: (ascd.Box(-0.1, 0.2), terms(n, lower=-0.1, upper=0.2)),
    "box away from 0": lambda n, top: (ascd.Box(0.1, 0.6, 0.2), terms(n, l2=0.2, lower=0.1, upper=0.6)),
}


@dataclass(frozen=True, eq=False)
class Case:
    """min_{x,c} Σ s·loss(b, Ax + c) + Ψ(x), with c = 0 unless there is an intercept."""

    A: np.ndarray
    b: np.ndarray
    loss: str
    penalty: Any
    terms: Terms
    weights: np.ndarray
    intercept: bool

    def problem(self, storage="dense"):
        A = storage if not isinstance(storage, str) else sp.csc_array(self.A) if storage == "sparse" else self.A
        weights = None if np.all(self.weights == 1.0) else self.weights
        return ascd.Problem(A, self.b, self.loss, self.penalty, weights)

    def objective(self, x, c=0.0):
        return float(self.weights @ LOSSES[self.loss][0](self.b, self.A @ x + c)) + self.terms.cost(x)

    def at_zero(self):
        """The smallest F that a constant reaches with all coefficients zero, or as near to it as they may be."""
        x = np.clip(np.zeros(self.A.shape[1]), self.terms.lower, self.terms.upper)
        if not self.intercept:
            return self.objective(x)
        return float(optimize.minimize_scalar(lambda c: self.objective(x, c), bracket=(-1.0, 1.0), tol=1e-12).fun)

    def minimum(self):
        """F* by L-BFGS-B on x = p − q with p, q ≥ 0 (x = p inside a box), and the constant."""
        n, psi = self.A.shape[1], self.terms
        split = np.c_[np.eye(n), -np.eye(n)] if psi.l1.any() else np.eye(n)
        bounds = list(zip(psi.lower, psi.upper, strict=True))
        if psi.l1.any():  # the box, if there is one, contains 0
            bounds = [(0.0, end) for end in (*psi.upper, *-psi.lower)]
        bounds.append((None, None) if self.intercept else (0.0, 0.0))
        kinks = np.tile(psi.l1, 2) if psi.l1.any() else np.zeros(n)

        def value_and_slope(point):
            p, c = point[:-1], point[-1]
            x = split @ p
            z = self.A @ x + c
            v = self.weights * LOSSES[self.loss][1](self.b, z)
            value = self.weights @ LOSSES[self.loss][0](self.b, z)
            value += kinks @ p + np.sum(0.5 * psi.l2 * x**2 + psi.linear * x)
            return value, np.append(split.T @ (self.A.T @ v + psi.l2 * x + psi.linear) + kinks, v.sum())

        start = np.append(np.clip(np.zeros(split.shape[1]), [low for low, _ in bounds[:-1]], None), 0.0)
        options = {"ftol": 0.0, "gtol": 1e-13, "maxiter": 20_000, "maxfun": 100_000, "maxcor": 50}
        with np.errstate(over="ignore"):
            found = optimize.minimize(
                value_and_slope, start.astype(float), jac=True, method="L-BFGS-B", bounds=bounds, options=options
            )
        return float(found.fun)


def make_case(loss, penalty, intercept=False, weighted=False, shape=(28, 5), seed=0):
    rng = np.random.default_rng(seed)
    A = alike(shape, rng)
    b = target_of(loss, A, rng)
    weights = np.where(np.arange(shape[0]) % 9 == 2, 0.0, 0.5 + rng.random(shape[0])) if weighted else np.ones(shape[0])
    slope = weights * LOSSES[loss][1](b, np.zeros(shape[0]))
    library, psi = PENALTIES[penalty](shape[1], np.abs(A.T @ slope).max())
    return Case(A, b, loss, library, psi, weights, intercept)
