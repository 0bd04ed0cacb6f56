"""The variables of a smooth problem: the coefficients themselves, or ones in which F is nearly round.

With ridges D and curvatures H of the samples at the start (one number each, the mean over outputs),

    X = R⁻¹W,      RᵀR = AᵀHA + D,        F(W) = f(A R⁻¹ W + 1cᵀ) + ½‖D^½ R⁻¹ W‖²:

where H is right, all curvatures are 1, and few steps of L-BFGS lead far.  Where columns outnumber the samples, X is
D⁻¹Aᵀ times something at the minimum, so that with A D⁻¹ Aᵀ = L Lᵀ

    X = D⁻¹Aᵀ L⁻ᵀ Z,      F(Z) = f(LZ + 1cᵀ) + ½‖Z‖²,

a problem with as many columns as there are samples; then as before, with L for A.  Both need A as a dense matrix and
one of products, which pays where the smaller side of A is small.

Where it does not, and columns outnumber the samples, X = D⁻¹AᵀB still holds for all that gradients lead to from X = 0.
With ⟨B, C⟩ = tr BᵀKC, K = AD⁻¹Aᵀ, the vectors B have as many rows as there are samples, the image of one is KB, and the
gradient is V + B for slopes V: two products with the data give its image, and directions have theirs for nothing.

Nothing is proved here: what comes out is a point.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular

from ascd._core.checks import Array
from ascd.blocks import tuning
from ascd.blocks.fit import Fit
from ascd.blocks.products import add, products
from ascd.matrix.base import as_block
from ascd.matrix.sparse import CSC, LocalSparse, as_rows


def variables_of(fit: Fit) -> Any:
    """Those that suit the size of the problem; the coefficients where numbers leave float64's range."""
    d, n = fit.problem.n_samples, fit.problem.n_features
    if min(d, n) <= tuning.ROUNDED_SIDE * fit.problem.n_outputs and d * n <= tuning.LARGEST_WIDE:
        with np.errstate(all="ignore"):
            try:
                return Rounded(fit)
            except (LinAlgError, ValueError):  # singular, or not finite
                pass
    is_wide = tuning.SPAN_SIDE * d <= n and not fit.x.any()
    return Span(fit) if is_wide else Coefficients(fit)


def ridges(fit: Fit) -> Array:
    """One a row of X."""
    return np.repeat(fit.penalty.ridge, fit.problem.groups.sizes)[:, None]


def rows_of(design: Any) -> LocalSparse | None:
    """Aᵀ where A is sparse and not large: a row that is summed up costs less than columns that are added."""
    if not isinstance(design, LocalSparse) or design.entries() > tuning.LARGEST_ROWS:
        return None
    d, n = design.shape
    return LocalSparse(CSC(*as_rows(design.matrix, d)), (n, d))


class Coefficients:
    """X itself; two passes over the data a step.  The constants of the intercept are in units of ``unit``."""

    has_duals = False

    def __init__(self, fit: Fit) -> None:
        self.fit, self.ridge = fit, ridges(fit)
        self.start, self.unit = fit.x.copy(), 1.0
        self.rows = rows_of(fit.problem.design)

    def image(self, x: Array) -> Array:
        problem = self.fit.problem
        self.fit.reads += x.shape[0]
        if self.rows is not None:
            return products(self.rows, np.arange(problem.n_samples), problem.as_columns(x))
        image = np.zeros(self.fit.image.shape)
        add(problem.design, problem.groups.order, x, image)
        return image

    def bend(self, x: Array) -> Array:
        """The gradient of Ψ, which is ½⟨x, bend(x)⟩."""
        bent: Array = self.ridge * x
        return bent

    def pull(self, slope: Array, bent: Array) -> Array:
        """The gradient of F, from the slopes of the losses and that of Ψ."""
        return self._products(slope) + bent

    def _products(self, slope: Array) -> Array:
        self.fit.reads += self.ridge.size
        return products(self.fit.problem.design, self.fit.problem.groups.order, slope)

    def gap_of(self, gradient: Array, dual: Array) -> float:
        """Σ_b ‖∇_b F‖²/(2·ridge_b)."""
        return 0.5 * float(np.sum(gradient * (gradient / self.ridge)))

    def coefficients(self, x: Array) -> Array:
        return x


class Span(Coefficients):
    """B with X = D⁻¹AᵀB, and KB as its dual."""

    has_duals = True

    def __init__(self, fit: Fit) -> None:
        super().__init__(fit)
        self.start = np.zeros(fit.image.shape)

    def dual(self, b: Array) -> Array:
        return super().image(self.coefficients(b))

    def bend(self, b: Array) -> Array:
        return b

    def pull(self, slope: Array, bent: Array) -> Array:
        return slope + bent

    def gap_of(self, gradient: Array, dual: Array) -> float:
        return 0.5 * float(np.vdot(gradient, dual))

    def coefficients(self, b: Array) -> Array:
        found = self._products(b)
        found /= self.ridge
        return found


class Rounded:
    """W; products with two small matrices a step."""

    has_duals = False

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
        self.bending, self.scale = square.T @ square, np.sqrt(ridge)
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

    def bend(self, w: Array) -> Array:
        bent: Array = self.bending @ w
        return bent

    def pull(self, slope: Array, bent: Array) -> Array:
        return self.products.T @ slope + bent

    def gap_of(self, gradient: Array, dual: Array) -> float:
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
