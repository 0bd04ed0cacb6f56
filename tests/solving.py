"""Problems for the production solver, stated in NumPy, and their minima from SciPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import formulas
import numpy as np
import scipy.sparse as sp
from penalty_table import PENALTIES
from reference.penalties import Penalty
from scipy import optimize, special

import ascd

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
class Case:
    """min_{x,c} Σ s·loss(b, Ax + c) + Ψ(x), with c = 0 unless there is an intercept."""

    A: np.ndarray
    b: np.ndarray
    loss: str
    penalty: Any
    terms: Penalty
    weights: np.ndarray
    intercept: bool

    def problem(self, storage="dense"):
        A = storage if not isinstance(storage, str) else sp.csc_array(self.A) if storage == "sparse" else self.A
        weights = None if np.all(self.weights == 1.0) else self.weights
        return ascd.Problem(A, self.b, self.loss, self.penalty, weights)

    def objective(self, x, c=0.0):
        return float(self.weights @ LOSSES[self.loss][0](self.b, self.A @ x + c)) + self.cost(x)

    def cost(self, x):
        """Ψ(x)."""
        return sum(self.terms.value(x[j], j) for j in range(x.size))

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


def make_case(loss, penalty, intercept=False, weighted=False, shape=(18, 5), seed=0):
    rng = np.random.default_rng(seed)
    A = alike(shape, rng)
    b = target_of(loss, A, rng)
    weights = np.where(np.arange(shape[0]) % 9 == 2, 0.0, 0.5 + rng.random(shape[0])) if weighted else np.ones(shape[0])
    slope = weights * LOSSES[loss][1](b, np.zeros(shape[0]))
    top = np.abs(A.T @ slope).max()
    library, psi = PENALTIES[penalty](shape[1], top, 0.25 * top)
    return Case(A, b, loss, library, psi, weights, intercept)
