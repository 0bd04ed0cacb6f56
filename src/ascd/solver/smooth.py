"""Smooth problems (a ridge on every block and nothing else): L-BFGS on all coefficients at once.

Working sets are made for few blocks; here all take part.  L-BFGS ends where

    Σ_b ‖∇_b F‖² / (2·ridge_b)  ≤  a share of the tolerance,

which is about the gap of the raw gradient as a dual point.  The point is certified like every other; the usual steps go
on where L-BFGS makes no more progress.

**Variables.**  With ridges D and curvatures H of the samples at the start, W replaces X:

- ``Preconditioned``: X = R⁻¹W with RᵀR = AᵀHA + D, so that all curvatures are 1 where H is right.  Where columns
  outnumber samples, first X = D⁻¹AᵀL⁻ᵀZ with AD⁻¹Aᵀ = LLᵀ, then as before with L for A.  For data with a short side.
- ``Span``: X = D⁻¹AᵀW with one row of W a sample, in the inner product ⟨V, W⟩ = tr VᵀKW, K = AD⁻¹Aᵀ.  KW, the "dual" of
  W, is its predictor, and the gradient is raw gradient + W.  For long sparse rows: W is shorter than X.
- ``Coefficients``: X itself.

SciPy's L-BFGS-B needs 0.18 s a step for 700,000 coefficients, ten times the two products with the data (news20), and
knows no other inner product.  Along a line F costs no product with the data, because predictors are linear.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular

from ascd._core.checks import Array
from ascd.matrix.base import as_block
from ascd.problem.block_penalties import BlockNorm
from ascd.problem.groups import add, products
from ascd.problem.problem import Problem
from ascd.solver import tuning
from ascd.solver.state import State


class Smooth:
    """Steps on all blocks at once; ``is_over`` where they do not help any more."""

    def __init__(self, state: State) -> None:
        self.state, self.penalty, self.is_over = state, None, False
        self.is_for_newton = is_for_newton(state.problem)
        is_few = state.x.size < tuning.FEW_COEFFICIENTS
        self.share = self.first_share = tuning.FINE_SHARE if is_few else tuning.SMOOTH_SHARE

    def applies(self) -> bool:
        """Return True if F is smooth, strongly convex, not quadratic, and not for Newton's method."""
        penalty, loss = self.state.penalty, self.state.problem.loss
        if penalty is not self.penalty:  # another one on the path: a fresh start
            self.penalty, self.share, self.is_over = penalty, self.first_share, False
        is_left = self.is_over or self.is_for_newton or loss.is_quadratic
        return not is_left and self._is_smooth() and math.isfinite(loss.bound)

    def takes_all(self) -> bool:
        """Return True if the working set should hold all blocks, for Newton steps on one matrix."""
        return self.is_for_newton and self._is_smooth()

    def _is_smooth(self) -> bool:
        penalty = self.state.penalty
        return isinstance(penalty, BlockNorm) and penalty.is_smooth() and bool((penalty.ridge > 0.0).all())

    def improve(self, tolerance: float, until: float) -> None:
        """Minimise until a gap of a share of the tolerance is likely, or until the time ``until``."""
        state, descent = self.state, _Descent(self.state, self.share * tolerance, until)
        self.share *= tuning.SMOOTH_AGAIN
        start = descent.point
        try:
            self.is_over = not descent.run()
        finally:  # also after an interrupt
            if descent.point is start:
                self.is_over = True
            else:
                state.x, state.constant = descent.coefficients()
                state.recompute()


def is_for_newton(problem: Problem) -> bool:
    """Return True if the Hessian of all coefficients (``coupled_gram``) costs less than ten steps of L-BFGS."""
    d, n = problem.n_samples, problem.n_features
    size, share = n * problem.n_outputs, problem.design.entries() / (d * n)
    is_small = tuning.FEW_COEFFICIENTS <= size <= tuning.LARGEST_COUPLED and size * size <= tuning.TALL_FOR_NEWTON * d
    return bool(problem.loss.is_coupled and is_small and share * share * size <= tuning.PAIRS_FOR_NEWTON)


# ---- variables


def variables_of(state: State) -> Any:
    """Return those that suit the size of the problem; the coefficients where numbers leave float64's range."""
    d, n = state.problem.n_samples, state.problem.n_features
    if min(d, n) <= tuning.SHORT_SIDE * state.problem.n_outputs and d * n <= tuning.LARGEST_WIDE:
        with np.errstate(all="ignore"):
            try:
                return Preconditioned(state)
            except (LinAlgError, ValueError):  # not finite
                pass
    is_wide = tuning.SPAN_SIDE * d <= n and not state.x.any()
    return Span(state) if is_wide else Coefficients(state)


class Coefficients:
    """X itself; intercepts are in units of ``unit``."""

    has_duals = False

    def __init__(self, state: State) -> None:
        self.state, self.ridge = state, np.repeat(state.penalty.ridge, state.problem.groups.sizes)[:, None]
        self.start, self.unit = state.x.copy(), 1.0

    def predictor(self, x: Array) -> Array:
        self.state.reads += x.shape[0]
        found = np.zeros(self.state.seen.predictor.shape)
        add(self.state.problem.design, self.state.problem.groups.order, x, found)
        return found

    def pull(self, raw_gradient: Array) -> Array:
        """Return the gradient of the loss with respect to the variables."""
        self.state.reads += self.ridge.size
        return products(self.state.problem.design, self.state.problem.groups.order, raw_gradient)

    def penalty_gradient(self, x: Array) -> Array:
        found: Array = self.ridge * x
        return found

    def gap(self, gradient: Array, dual: Array) -> float:
        """Return Σ_b ‖∇_b F‖²/(2·ridge_b)."""
        return 0.5 * float(np.vdot(gradient / self.ridge, dual))

    def coefficients(self, x: Array) -> Array:
        return x


class Span(Coefficients):
    """W with X = D⁻¹AᵀW."""

    has_duals = True

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self.start = np.zeros(state.seen.predictor.shape)

    def predictor(self, w: Array) -> Array:
        """Return KW, which is the dual of W, too."""
        return super().predictor(self.coefficients(w))

    def pull(self, raw_gradient: Array) -> Array:
        return raw_gradient

    def penalty_gradient(self, w: Array) -> Array:
        return w

    def gap(self, gradient: Array, dual: Array) -> float:
        return 0.5 * float(np.vdot(gradient, dual))

    def coefficients(self, w: Array) -> Array:
        return super().pull(w) / self.ridge


class Preconditioned:
    """W with X = R⁻¹W; two products with a dense matrix a step."""

    has_duals = False

    def __init__(self, state: State) -> None:
        problem, ridge = state.problem, np.repeat(state.penalty.ridge, state.problem.groups.sizes)[:, None]
        matrix = as_block(problem.design.take(problem.groups.order), problem.n_samples)
        state.reads += ridge.size
        is_wide = matrix.shape[0] < matrix.shape[1]
        if is_wide:
            scaled = matrix / ridge.T
            values, vectors = eigh(scaled @ matrix.T)
            kept = values > tuning.LEAST_RANK * values[-1]
            root, vectors = np.sqrt(values[kept]), vectors[:, kept]
            matrix, back, ridge = vectors * root, scaled.T @ (vectors / root), np.ones((root.size, 1))
        own, between, _ = state.seen.curvature
        curvature = (own - (0.0 if between is None else between**2)).mean(axis=1)
        self.factor = cholesky((matrix.T * curvature) @ matrix + np.diag(ridge[:, 0]))
        self.root = np.sqrt(ridge)
        self.products = solve_triangular(self.factor, matrix.T, trans="T").T
        half = solve_triangular(self.factor, np.diag(self.root[:, 0]), trans="T")
        self.hessian = half @ half.T  # of the penalty
        inverse = solve_triangular(self.factor, np.eye(ridge.size))
        self.back = back @ inverse if is_wide else inverse
        start = (vectors / root).T @ (state.seen.predictor - state.constant) if is_wide else state.x
        self.start = self.factor @ start if state.x.any() else np.zeros((ridge.size, problem.n_outputs))
        self.unit = 1.0 / math.sqrt(float(curvature.sum()) or 1.0)

    def predictor(self, w: Array) -> Array:
        found: Array = self.products @ w
        return found

    def pull(self, raw_gradient: Array) -> Array:
        found: Array = self.products.T @ raw_gradient
        return found

    def penalty_gradient(self, w: Array) -> Array:
        found: Array = self.hessian @ w
        return found

    def gap(self, gradient: Array, dual: Array) -> float:
        return 0.5 * float(np.sum((self.factor.T @ gradient / self.root) ** 2))

    def coefficients(self, w: Array) -> Array:
        found: Array = self.back @ w
        return found


# ---- L-BFGS

# A vector is an array of shape (1, size), or (2, size) with its dual as the second row: ⟨u, v⟩ = u[0] @ v[-1].


class Pairs:
    """Steps s_i and changes y_i of the gradient, rows 2i and 2i + 1, with the matrix of their inner products.

    With R the upper triangle of SᵀY, D its diagonal and γ = ⟨s, y⟩/⟨y, y⟩ of the last pair,

        −p = γ·g + S·R⁻ᵀ[(D + γYᵀY)a − γYᵀg] − γY·a,      a = R⁻¹Sᵀg      (Byrd, Nocedal and Schnabel 1994).
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.memory = tuning.LONG_MEMORY if shape[1] >= tuning.LONG_VECTOR else tuning.SMOOTH_MEMORY
        self.rows = np.empty((2 * self.memory, *shape))
        self.gram, self.order = np.zeros((2 * self.memory, 2 * self.memory)), list[int]()

    def add(self, step: Array, change: Array) -> None:
        used = len(self.order)
        i = self.order.pop(0) if used == self.memory else used
        self.order.append(i)
        self.rows[2 * i], self.rows[2 * i + 1] = step, change
        used = 2 * len(self.order)
        new = self.rows[:used, 0] @ self.rows[2 * i : 2 * i + 2, -1].T
        self.gram[:used, 2 * i : 2 * i + 2], self.gram[2 * i : 2 * i + 2, :used] = new, new.T

    def direction(self, gradient: Array) -> Array:
        """Return −H⁻¹∇, with H⁻¹ the approximation by the pairs; −∇ where there are none."""
        if not self.order:
            return -gradient
        used, steps = 2 * len(self.order), 2 * np.array(self.order)
        changes, known = steps + 1, self.rows[:used, 0] @ gradient[-1]
        upper = self.gram[steps[:, None], changes]  # solve_triangular reads the upper triangle alone
        gamma = upper[-1, -1] / self.gram[changes[-1], changes[-1]]
        a = solve_triangular(upper, known[steps])
        right = np.diagonal(upper) * a + gamma * (self.gram[changes[:, None], changes] @ a - known[changes])
        factors = np.zeros(used)
        factors[steps], factors[changes] = -solve_triangular(upper, right, trans="T"), gamma * a
        found: Array = (factors @ self.rows[:used].reshape(used, -1)).reshape(gradient.shape)
        found -= gamma * gradient
        return found


class Line(NamedTuple):
    """F at a length t: its value, its derivative along the line, and the raw gradient."""

    value: float
    slope: float
    raw_gradient: Any


def search(at: Callable[[float], Line], start: Line, length: float) -> tuple[float, Line] | None:
    """Return a length that meets Wolfe's conditions, and F there; None where rounding hides it.

    F is convex: where it still falls steeply the length is too short, where it rises too long.
    """
    low, high, slope_low, slope_high = 0.0, math.inf, start.slope, math.nan
    for _ in range(tuning.MOST_LENGTHS):
        there = at(length)
        most = start.value + tuning.LEAST_FALL * length * start.slope + tuning.UNSEEN_FALL * abs(start.value)
        if not (there.value <= most and there.slope <= -tuning.FLAT_ENOUGH * start.slope):
            high, slope_high = length, there.slope
        elif there.slope < tuning.FLAT_ENOUGH * start.slope:
            low, slope_low = length, there.slope
        else:
            return length, there
        if high == math.inf:
            length *= tuning.LONGER
            continue
        share = slope_low / (slope_low - slope_high) if slope_high > 0.0 else 0.5  # where the derivative would be 0
        share = share if math.isfinite(share) else tuning.LINE_MARGIN
        length = low + min(max(share, tuning.LINE_MARGIN), 1.0 - tuning.LINE_MARGIN) * (high - low)
    return None


class _Point(NamedTuple):
    """A vector of variables and intercepts with its predictor and the gradient of the penalty; both are linear."""

    at: Array
    predictor: Array
    ridge_gradient: Array

    def penalty(self, other: _Point) -> float:
        """Return ⟨x, Ψ′(other)⟩: twice the penalty where both are the same."""
        return float(self.at[-1, : self.ridge_gradient.size] @ other.ridge_gradient.ravel())

    def plus(self, length: float, way: _Point) -> _Point:
        return _Point(*(mine + length * its for mine, its in zip(self, way, strict=True)))


class _Descent:
    """One run of L-BFGS; ``point`` is the best one found."""

    def __init__(self, state: State, enough: float, until: float) -> None:
        self.state, self.enough, self.until = state, enough, until
        self.variables = variables_of(state)
        self.shape, self.size = self.variables.start.shape, self.variables.start.size
        constants = state.constant / self.variables.unit if state.intercept else np.empty(0)
        plain = np.concatenate([self.variables.start.ravel(), constants])
        # variables with a dual start at 0, which is its own
        self.point = self._with_predictor(np.tile(plain, (2 if self.variables.has_duals else 1, 1)))

    def run(self) -> bool:
        """Minimise; return True if the gap is likely to be small enough."""
        evaluate, pairs, is_settled = self.state.loss.value_and_gradient, Pairs(self.point.at.shape), False
        value, raw_gradient = evaluate(self.point.predictor)
        value, gradient = value + 0.5 * self.point.penalty(self.point), self._gradient(raw_gradient)
        for _ in range(tuning.SMOOTH_STEPS):
            left = self.variables.gap(self._part(gradient[0]), self._part(gradient[-1]))
            if left <= self.enough:
                if is_settled or not self.state.intercept:
                    return True
                value, raw_gradient = self._settle_intercept()
                gradient, is_settled = self._gradient(raw_gradient), True
                continue
            if not math.isfinite(left) or time.perf_counter() > self.until:
                return False
            way = self._with_predictor(pairs.direction(gradient))
            start = Line(value, float(gradient[-1] @ way.at[0]), raw_gradient)
            found = search(self._along(way), start, 1.0 if pairs.order else self._newton_length(way, start))
            if found is None and not pairs.order:
                return False
            if found is not None:
                length, (value, _, raw_gradient) = found
                self.point, is_settled = self.point.plus(length, way), False
                before, gradient = gradient, self._gradient(raw_gradient)
                step, change = length * way.at, gradient - before
                if float(step[0] @ change[-1]) > tuning.STRAIGHT * abs(length * start.slope):
                    pairs.add(step, change)
                    continue
            pairs = Pairs(self.point.at.shape)  # rounding has spoiled the pairs
        return False

    def _settle_intercept(self) -> tuple[float, Array]:
        """Move the constants to their best, which the certificate takes too; return F and the raw gradient there.

        Where they are not, the gradient of the coefficients may be small and still change with them.
        """
        at, predictor = self.point.at.copy(), self.point.predictor.copy()
        at[:, self.size :] += self.state.loss.balance(predictor) / self.variables.unit
        self.point = _Point(at, predictor, self.point.ridge_gradient)
        value, raw_gradient = self.state.loss.value_and_gradient(predictor)
        return value + 0.5 * self.point.penalty(self.point), raw_gradient

    def _part(self, vector: Array) -> Array:
        return vector[: self.size].reshape(self.shape)

    def _with_predictor(self, at: Array) -> _Point:
        plain = self._part(at[0])
        found = self._part(at[-1]).copy() if self.variables.has_duals else self.variables.predictor(plain)
        if self.state.intercept:
            found += self.variables.unit * at[0, self.size :]
        return _Point(at, found, self.variables.penalty_gradient(plain))

    def _gradient(self, raw_gradient: Array) -> Array:
        part = self.variables.pull(raw_gradient) + self.point.ridge_gradient
        constants = self.variables.unit * raw_gradient.sum(axis=0) if self.state.intercept else np.empty(0)
        rows = [part, self.variables.predictor(part)] if self.variables.has_duals else [part]
        return np.stack([np.concatenate([row.ravel(), constants]) for row in rows])

    def _along(self, way: _Point) -> Callable[[float], Line]:
        here, evaluate = self.point, self.state.loss.value_and_gradient
        penalty, cross, own = 0.5 * here.penalty(here), way.penalty(here), way.penalty(way)

        def at(length: float) -> Line:
            value, raw_gradient = evaluate(here.predictor + length * way.predictor)
            value += penalty + length * (cross + 0.5 * length * own)
            return Line(value, float(np.vdot(raw_gradient, way.predictor)) + cross + length * own, raw_gradient)

        return at

    def _newton_length(self, way: _Point, start: Line) -> float:
        hessian = self.state.loss.evaluate(self.point.predictor, False)[2]
        curvature = float(np.vdot(way.predictor, hessian.times(way.predictor))) + way.penalty(way)
        length = -start.slope / curvature if curvature > 0.0 else 1.0
        return length if math.isfinite(length) and length > 0.0 else 1.0

    def coefficients(self) -> tuple[Array, Array]:
        """Return X and the intercepts at the best point."""
        plain = self.point.at[0]
        constant = self.variables.unit * plain[self.size :] if self.state.intercept else self.state.constant
        return self.variables.coefficients(self._part(plain)), constant
