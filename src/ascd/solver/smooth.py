"""Smooth problems (a ridge on every block and nothing else): L-BFGS on all coefficients at once.

Working sets are made for few blocks; here all take part.  SciPy's L-BFGS-B ends where Σ_b ‖∇_b F‖²/(2·ridge_b), about
the gap of the raw gradient as a dual point, is at most a share of the tolerance.  The point is certified like every
other; the usual steps go on where L-BFGS makes no more progress.

With ridges D and curvatures H of the samples at the start, W replaces X where A has a short side (``Preconditioned``,
10 times as fast on 2000 × 200 correlated columns): X = R⁻¹W with RᵀR = AᵀHA + D, so that all curvatures are 1 where H
is right.  Where columns outnumber samples, first X = D⁻¹AᵀL⁻ᵀZ with AD⁻¹Aᵀ = LLᵀ, then as before with L for A.
"""

from __future__ import annotations

import math
import time
from contextlib import suppress
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular
from scipy.optimize import minimize

from ascd._core.checks import Array
from ascd.matrix.base import as_block
from ascd.problem.arithmetic import add, products
from ascd.problem.block_penalties import BlockNorm
from ascd.solver import tuning
from ascd.solver.state import State


class Smooth:
    """Steps on all blocks at once; ``is_over`` where they do not help any more."""

    def __init__(self, state: State) -> None:
        self.state, self.penalty, self.is_over, self.share = state, None, False, 1.0
        d, n = state.matrix.shape
        size, share = n * state.outputs, state.matrix.entries() / (d * n)
        most = math.isqrt(int(min(tuning.TALL_FOR_NEWTON * d, tuning.BLOCK_GRAM_FLOOR / 8)))
        # the Hessian of all coefficients (``coupled_gram``) costs less than ten steps of L-BFGS
        is_cheap = tuning.FEW_COEFFICIENTS <= size <= most and share * share * size <= tuning.PAIRS_FOR_NEWTON
        self.is_for_newton = state.loss.is_coupled and is_cheap

    def applies(self) -> bool:
        """Return True if F is smooth, strongly convex, not quadratic, and not for Newton's method."""
        penalty, problem = self.state.penalty, self.state.problem
        if penalty is not self.penalty:  # another one on the path: a fresh start
            self.penalty, self.share, self.is_over = penalty, 1e-3, False
        is_left = self.is_over or self.is_for_newton or problem.loss.is_quadratic
        return not is_left and self._is_smooth() and math.isfinite(problem.loss.bound)

    def takes_all(self) -> bool:
        """Return True if the working set should hold all blocks, for Newton steps on one matrix."""
        return self.is_for_newton and self._is_smooth()

    def _is_smooth(self) -> bool:
        penalty = self.state.penalty
        return isinstance(penalty, BlockNorm) and penalty.is_smooth() and bool((penalty.ridge > 0.0).all())

    def improve(self, tolerance: float, until: float) -> None:
        """Minimise until a gap of a share of the tolerance is likely, or until the time ``until``."""
        state, descent = self.state, Descent(self.state, self.share * tolerance, until)
        start = descent.point
        self.share *= 0.1  # where this is not enough
        try:
            self.is_over = not descent.run()
        finally:  # also after an interrupt
            if descent.point is start:
                self.is_over = True
            else:
                state.x, state.constant = descent.coefficients()
                state.recompute()


# ---- variables


class Coefficients:
    """X itself."""

    def __init__(self, state: State) -> None:
        self.state, self.ridge = state, np.repeat(state.penalty.ridge, state.problem.groups.sizes)[:, None]
        self.start = state.x.copy()

    def product(self, x: Array) -> Array:
        self.state.reads += x.shape[0]
        found = np.zeros(self.state.seen.predictor.shape)
        add(self.state.problem.design, self.state.problem.groups.order, x, found)
        return found

    def loss_gradient(self, raw_gradient: Array) -> Array:
        """Return the gradient of the loss with respect to the variables."""
        self.state.reads += self.ridge.size
        return products(self.state.problem.design, self.state.problem.groups.order, raw_gradient)

    def penalty_gradient(self, x: Array) -> Array:
        return self.ridge * x

    def gap(self, gradient: Array) -> float:
        """Return Σ_b ‖∇_b F‖²/(2·ridge_b)."""
        return 0.5 * float(np.vdot(gradient / self.ridge, gradient))

    def coefficients(self, x: Array) -> Array:
        return x


class Preconditioned:
    """W with X = R⁻¹W; two products with a dense matrix a step."""

    def __init__(self, state: State) -> None:
        problem, ridge = state.problem, np.repeat(state.penalty.ridge, state.problem.groups.sizes)[:, None]
        matrix = as_block(problem.design.take(problem.groups.order), problem.n_samples)
        state.reads += ridge.size
        is_wide = matrix.shape[0] < matrix.shape[1]
        if is_wide:
            scaled = matrix / ridge.T
            values, vectors = eigh(scaled @ matrix.T)
            kept = values > 1e-13 * values[-1]  # the others are rounding errors
            root, vectors = np.sqrt(values[kept]), vectors[:, kept]
            matrix, back, ridge = vectors * root, scaled.T @ (vectors / root), np.ones((root.size, 1))
        self.factor = cholesky((matrix.T * mean_curvature(state)) @ matrix + np.diag(ridge[:, 0]))
        self.root = np.sqrt(ridge)
        self.products = solve_triangular(self.factor, matrix.T, trans="T").T
        half = solve_triangular(self.factor, np.diag(self.root[:, 0]), trans="T")
        self.hessian = half @ half.T  # of the penalty
        inverse = solve_triangular(self.factor, np.eye(ridge.size))
        self.back = back @ inverse if is_wide else inverse
        start = (vectors / root).T @ (state.seen.predictor - state.constant - problem.offset) if is_wide else state.x
        self.start = self.factor @ start if state.x.any() else np.zeros((ridge.size, problem.n_outputs))

    def product(self, w: Array) -> Array:
        return self.products @ w

    def loss_gradient(self, raw_gradient: Array) -> Array:
        return self.products.T @ raw_gradient

    def penalty_gradient(self, w: Array) -> Array:
        return self.hessian @ w

    def gap(self, gradient: Array) -> float:
        return 0.5 * float(np.sum((self.factor.T @ gradient / self.root) ** 2))

    def coefficients(self, w: Array) -> Array:
        return self.back @ w


def mean_curvature(state: State) -> Array:
    """Return the curvature of each sample, the mean over its outputs."""
    own, between, _ = state.seen.curvature
    return (own - (0.0 if between is None else between**2)).mean(axis=1)


# ---- L-BFGS


class Descent:
    """One run of SciPy's L-BFGS-B on the variables and the intercepts; ``point`` is the best iterate.

    Intercepts are in units in which their curvature is 1.
    """

    def __init__(self, state: State, enough: float, until: float) -> None:
        self.state, self.enough, self.until = state, enough, until
        self.variables: Any = Coefficients(state)
        if min(state.d, state.n) <= tuning.SHORT_SIDE * state.outputs and state.d * state.n <= 3e7:
            with np.errstate(all="ignore"), suppress(LinAlgError, ValueError):  # numbers leave float64's range
                self.variables = Preconditioned(state)
        self.shape, self.size = self.variables.start.shape, self.variables.start.size
        self.unit = 1.0 / math.sqrt(max(float(mean_curvature(state).sum()), 0.0) or 1.0)
        constants = state.constant / self.unit if state.intercept else np.empty(0)
        self.point = np.concatenate([self.variables.start.ravel(), constants])
        self.gap = math.inf  # about that of the last point evaluated

    def run(self) -> bool:
        """Minimise; return True if the gap is likely to be small enough."""
        options = {"maxcor": 10, "maxiter": 500, "maxfun": 2000, "ftol": 0.0, "gtol": 0.0}
        minimize(self._evaluate, self.point, jac=True, method="L-BFGS-B", callback=self._watch, options=options)
        return self.gap <= self.enough

    def _watch(self, intermediate_result: Any) -> None:
        """End the run where the gap is small enough or time is over; SciPy calls this after every step."""
        self.point = intermediate_result.x.copy()
        if self.gap <= self.enough or not math.isfinite(self.gap) or time.perf_counter() > self.until:
            raise StopIteration

    def _evaluate(self, at: Array) -> tuple[float, Array]:
        """Return F and its gradient."""
        variables, x = self.variables, at[: self.size].reshape(self.shape)
        predictor = variables.product(x)
        constant = self.unit * at[self.size :] if self.state.intercept else 0.0
        predictor += constant + self.state.problem.offset
        value, raw_gradient = self.state.loss.evaluate(predictor, False)[:2]
        constants = self.unit * raw_gradient.sum(axis=0) if self.state.intercept else np.empty(0)
        penalty_gradient = variables.penalty_gradient(x)
        gradient = variables.loss_gradient(raw_gradient) + penalty_gradient
        self.gap = variables.gap(gradient) + 0.5 * float(constants @ constants)
        return value + 0.5 * float(np.vdot(x, penalty_gradient)), np.concatenate([gradient.ravel(), constants])

    def coefficients(self) -> tuple[Array, Array]:
        """Return X and the intercepts at the best point."""
        constant = self.unit * self.point[self.size :] if self.state.intercept else self.state.constant
        return self.variables.coefficients(self.point[: self.size].reshape(self.shape)), constant
