"""The variables of a smooth problem: the coefficients themselves, or ones in which F is nearly round.

With ridges D and curvatures H of the samples at the start (one number each, the mean over outputs),

    X = R⁻¹W,      RᵀR = AᵀHA + D,        F(W) = f(A R⁻¹ W + 1cᵀ) + ½‖D^½ R⁻¹ W‖²:

where H is right, all curvatures are 1, and few steps of L-BFGS lead far.  Where columns outnumber the samples, X is
D⁻¹Aᵀ times something at the minimum, so that with A D⁻¹ Aᵀ = L Lᵀ

    X = D⁻¹Aᵀ L⁻ᵀ Z,      F(Z) = f(LZ + 1cᵀ) + ½‖Z‖²,

a problem with as many columns as there are samples; then as before, with L for A.  Both need A as a dense matrix and
one of products, which pays where the smaller side of A is small.  Nothing is proved here: what comes out is a point.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular

from ascd._base.checks import Array
from ascd.blocks import tuning
from ascd.blocks.fit import Fit
from ascd.blocks.products import add, products
from ascd.data.local import as_block


def variables_of(fit: Fit) -> Coefficients | Rounded:
    """Those that suit the size of the problem; the coefficients where numbers leave float64's range."""
    d, n = fit.problem.n_samples, fit.problem.n_features
    if min(d, n) <= tuning.ROUNDED_SIDE * fit.problem.n_outputs and d * n <= tuning.LARGEST_WIDE:
        with np.errstate(all="ignore"):
            try:
                return Rounded(fit)
            except (LinAlgError, ValueError):  # singular, or not finite
                pass
    return Coefficients(fit)


def ridges(fit: Fit) -> Array:
    """One a row of X."""
    return np.repeat(fit.penalty.ridge, fit.problem.groups.sizes)[:, None]


class Coefficients:
    """X itself; two passes over the data a value.  The constants of the intercept are in units of ``unit``."""

    def __init__(self, fit: Fit) -> None:
        self.fit, self.ridge = fit, ridges(fit)
        self.start, self.unit = fit.x.copy(), 1.0

    def image(self, x: Array) -> Array:
        image = np.zeros(self.fit.image.shape)
        add(self.fit.problem.design, self.fit.problem.groups.order, x, image)
        self.fit.reads += x.shape[0]
        return image

    def cost(self, x: Array) -> tuple[float, Array]:
        """Ψ and its gradient."""
        bent = self.ridge * x
        return 0.5 * float(np.vdot(x, bent)), bent

    def pull(self, slope: Array) -> Array:
        """The gradient of the losses."""
        self.fit.reads += self.start.shape[0]
        return products(self.fit.problem.design, self.fit.problem.groups.order, slope)

    def gap_of(self, gradient: Array) -> float:
        """Σ_b ‖∇_b F‖²/(2·ridge_b)."""
        return 0.5 * float(np.sum(gradient * (gradient / self.ridge)))

    def coefficients(self, x: Array) -> Array:
        return x


class Rounded:
    """W; products with two small matrices a value."""

    def __init__(self, fit: Fit) -> None:
        problem, ridge = fit.problem, ridges(fit)
        matrix = as_block(problem.design.take(problem.groups.order), problem.n_samples)
        fit.reads += matrix.shape[1]
        self.back: Any = None
        if matrix.shape[0] < matrix.shape[1]:
            matrix, self.back, ridge = _by_samples(matrix, ridge)
        own, between, _ = fit.seen.curvature
        curvature = (own - (0.0 if between is None else between**2)).mean(axis=1)
        self.factor = cholesky((matrix.T * curvature) @ matrix + np.diag(ridge[:, 0]))
        self.products = _right_divided(matrix, self.factor)
        square = _right_divided(np.diag(np.sqrt(ridge[:, 0])), self.factor)
        self.bend, self.scale = square.T @ square, np.sqrt(ridge)
        self.start, self.unit = self._start(fit, matrix), 1.0 / math.sqrt(float(curvature.sum()) or 1.0)

    def _start(self, fit: Fit, matrix: Array) -> Array:
        """The coefficients where they are variables; else those with the same image."""
        if self.back is None:
            return self.factor @ fit.x
        return self.factor @ (self.back[1] @ (fit.image - fit.constant)) if fit.x.any() else np.zeros(
            (matrix.shape[1], fit.x.shape[1])
        )  # fmt: skip

    def image(self, w: Array) -> Array:
        product: Array = self.products @ w
        return product

    def cost(self, w: Array) -> tuple[float, Array]:
        bent = self.bend @ w
        return 0.5 * float(np.vdot(w, bent)), bent

    def pull(self, slope: Array) -> Array:
        product: Array = self.products.T @ slope
        return product

    def gap_of(self, gradient: Array) -> float:
        return 0.5 * float(np.sum((self.factor.T @ gradient / self.scale) ** 2))

    def coefficients(self, w: Array) -> Array:
        found: Array = solve_triangular(self.factor, w)
        return found if self.back is None else self.back[0] @ found


def _by_samples(matrix: Array, ridge: Array) -> tuple[Array, tuple[Array, Array], Array]:
    """L with A D⁻¹ Aᵀ = L Lᵀ, the matrices from Z to X and from an image to Z, and the ridges of Z."""
    scaled = matrix / ridge.T
    values, vectors = eigh(scaled @ matrix.T)
    kept = values > tuning.ROUNDED_RANK * values[-1]
    root, vectors = np.sqrt(values[kept]), vectors[:, kept]
    inverse = vectors / root
    return vectors * root, (scaled.T @ inverse, inverse.T), np.ones((root.size, 1))


def _right_divided(matrix: Array, factor: Array) -> Array:
    """matrix·factor⁻¹."""
    found: Array = solve_triangular(factor, matrix.T, trans="T").T
    return found
