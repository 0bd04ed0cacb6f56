"""Huber regression with a scale that is fitted too (Huber's "proposal 2", scikit-learn's HuberRegressor).

With residuals r = y − Xw − c and H(t) = t² for |t| ≤ ε, 2ε|t| − ε² beyond, minimise over w, c and σ > 0

    P(w, c, σ) = Σ_k s_k·(σ + σ·H(r_k/σ)) + Σ_j Φ_j(w_j),

which is jointly convex.  For a fixed σ it is a problem of this library: P = σ·Σs + (2/σ)·F with the Huber loss of
threshold εσ and the penalty (σ/2)·Φ.  What remains is one convex function of σ, whose slope at the minimiser is

    G'(σ) = Σ s_k − ε²·Σ_{|r_k| > εσ} s_k − Σ_{|r_k| ≤ εσ} s_k r_k²/σ²:

its zero is found by secant steps inside a bracket, with warm-started fits.  The dual, max Σ s_k u_k y_k − Σ_j Φ_j*(p_j)
with p = Xᵀ(s∘u) over |u_k| ≤ 2ε, Σ s_k u_k²/4 ≤ Σ s_k and (for the intercept) Σ s_k u_k = 0, gives the gap of all
three together; u_k = 2·clip(r_k, ±εσ)/σ, centred and scaled down until it is allowed, is the dual point.

Rounding is counted: sums of d terms are wrong by (d + 16)·2⁻⁵³ of the sum of their sizes; u is scaled down by as much;
and where Σ s_k u_k = ρ instead of 0, the dual point is u − ρ/Σs, whose products differ by |ρ|/√Σs·‖a_j‖ at most.  With
an intercept Σ s_k u_k y_k does not depend on the origin of y, which is then put where the residuals are small.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np

from ascd._core.checks import Array
from ascd.estimators._fitting import frames_to_the_user
from ascd.estimators._scale_terms import dual, primal, rounding_of, scale_of, slope_in_scale
from ascd.estimators._tuning import (
    LONGEST_STEP,
    MOST_SCALE_FITS,
    NARROW,
    POLISH,
    POLISHING,
    SCALE_SHARE,
    SMALLEST_SCALE,
)  # fmt: skip
from ascd.matrix.base import DataGone
from ascd.problem.problem import Problem
from ascd.results.lost import tell_of_loss
from ascd.results.solution import Solution, Status


@dataclass(frozen=True)
class ScaledFit(Solution):
    """A solution with its scale and its residuals, in the units of P."""

    scale: float = math.nan
    residuals: Array = field(default_factory=lambda: np.empty(0), repr=False)


class SolveAt(Protocol):
    """Solves a problem from a start to a tolerance, in at most so many rounds (None for the user's own limit)."""

    def __call__(self, problem: Problem, x0: Any, intercept0: Any, tol: float, rounds: int | None) -> Any: ...


@np.errstate(over="ignore")  # what overflows is infinite, and no certificate is given for it
def fit_with_scale(
    problem_at: Callable[[float], Problem],
    solve_at: SolveAt,
    epsilon: float,
    intercept: bool,
    tol: float,
    start: tuple[Any, Any, float | None] = (None, None, None),
) -> ScaledFit:
    """Minimise P, where ``problem_at(σ)`` states the problem for a scale and ``solve_at`` solves it."""
    sample = problem_at(1.0).parts.sample
    weight = np.broadcast_to(np.asarray(sample.weight, dtype=float), sample.target.shape)
    search = _Search(*_first_scale(sample.target, weight, epsilon, intercept, start[2]))
    spent, points = np.zeros(4), []
    x, constant, zero = start[0], start[1], math.nan
    solution: Any = None
    ended: Status | None = None
    can_overflow = not math.isfinite(float(weight @ sample.target**2))  # a start may then have an infinite objective
    for number in range(MOST_SCALE_FITS + 1):
        problem, last = problem_at(search.sigma), number == MOST_SCALE_FITS or search.ended
        try:
            solution = solve_at(problem, x, constant, *((POLISH, POLISHING) if last else (SCALE_SHARE * tol, None)))
            x, constant = (None, None) if can_overflow else (solution.x, solution.intercept)
            spent += (solution.n_iter, solution.reads, solution.seconds, solution.compile_seconds)
            if math.isnan(zero):
                zero = float(search.sigma * weight.sum() + 2.0 / search.sigma * solution.zero_objective)
            look = partial(_Point, problem, solution, weight, search, epsilon, intercept)
            points.append(look())
        except (KeyboardInterrupt, DataGone) as error:
            if solution is None:
                raise  # there is no point yet
            ended = _why(error, solution)
            points = points or [look() if ended is Status.INTERRUPTED else _Unseen(solution, weight, search)]
        if ended is not None or last or solution.status in (Status.INTERRUPTED, Status.UNREACHABLE):
            break
        search.ended = points[-1].settles(tol * zero) or not search.moves(points[-1].slope, points[-1].scale)
        rounds: int = problem.design.rounds
        if search.ended and problem.design.is_dear and rounds:
            break  # the last digits are not worth a round
    point = points[-1]
    if len(points) > 1 and points[-2].gap < point.gap:
        point = points[-2]  # the last one is precise for its scale, but farther from the best scale
    status = ended or solution.status
    if point.gap <= tol * zero:
        status = Status.CONVERGED
    elif point.is_stationary(tol * zero) or search.at_floor():
        status = Status.STATIONARY
    elif status.is_answer:
        status = Status.ITERATION_LIMIT
    return ScaledFit(
        x=point.x, intercept=point.intercept, scale=point.scale, residuals=point.residuals, objective=point.objective,
        gap=point.gap, zero_objective=zero, status=status, n_iter=int(spent[0]), reads=int(spent[1]),
        seconds=float(spent[2]), compile_seconds=float(spent[3]),
    )  # fmt: skip


class _Point:
    """P, its gap and its slope in σ where a solve for one σ ended; the scale is the best one for its residuals."""

    def __init__(
        self, problem: Problem, solution: Any, weight: Array, search: _Search, epsilon: float, intercept: bool
    ) -> None:
        self.x, self.intercept, self.sigma = solution.x, solution.intercept, search.sigma
        self.residuals = problem.parts.sample.target - problem.image(solution.x) - solution.intercept
        self.scale = max(search.floor, scale_of(self.residuals, weight, epsilon))
        self.objective = primal(problem, solution, self.residuals, weight, self.sigma, self.scale)
        origin = self.intercept if intercept else 0.0
        value, error = dual(problem, self.residuals, weight, self.sigma, epsilon, intercept, origin)
        size = float(np.abs(self.x) @ problem.parts.norm) + abs(self.intercept) * math.sqrt(float(weight.sum()))
        error += rounding_of(weight.size) * abs(self.objective)
        error += rounding_of(self.x.size) * 2.0 * epsilon * math.sqrt(float(weight.sum())) * size  # of the residuals
        self.gap = max(0.0, self.objective - value) + error if math.isfinite(value) else math.inf
        self.has_proof = math.isfinite(self.gap) or solution.converged
        self.is_fitted = solution.status.is_answer
        self.gap = min(self.gap, self._gap_of_the_fit(solution, weight, epsilon, size))
        self.slope = slope_in_scale(self.residuals, weight, self.sigma, epsilon)

    def _gap_of_the_fit(self, solution: Any, weight: Array, epsilon: float, size: float) -> float:
        """The joint gap that follows from the gap of the fit for σ alone, whatever the penalty is.

        The dual point u* of that fit is within r = √(8·gap)/σ of u = 2·clip(r_k, ±εσ)/σ, because its gap is at least
        (σ/4)·Σ s_k (u*_k − u_k)².  t·u* with t·‖u*‖ ≤ 2·√Σs is allowed for all three together, and its value is at
        least t·L, L = (2/σ)·(F − gap) + (σ/4)·‖u*‖²: Φ_j*(t·p) ≤ t·Φ_j*(p), as Φ is not negative.
        """
        sigma, total, rounding = self.sigma, float(weight.sum()), rounding_of(weight.size)
        if not (math.isfinite(solution.gap) and math.isfinite(solution.objective)):
            return math.inf
        u = 2.0 * np.clip(self.residuals / sigma, -epsilon, epsilon)
        length = math.sqrt(float(weight @ u**2))
        zeta = rounding_of(self.x.size) * size  # how far the residuals can be off
        away = math.sqrt(8.0 * solution.gap) / sigma + 2.0 / sigma * zeta + rounding * length
        fitted, longest = 2.0 / sigma * (solution.objective - solution.gap), 2.0 * math.sqrt(total)
        least = fitted + 0.25 * sigma * max(0.0, length - away) ** 2
        share = min(1.0, longest / (length + away) * (1.0 - 4.0 * rounding)) if length + away > 0.0 else 1.0
        error = 4.0 * rounding * (abs(self.objective) + abs(fitted) + 2.0 / sigma * abs(solution.objective))
        error += 2.0 * (2.0 * epsilon * math.sqrt(total) * zeta + zeta**2 / sigma)  # of P and of F
        return max(0.0, self.objective - max(0.0, share * least)) + error

    def settles(self, tolerance: float) -> bool:
        return self.gap <= tolerance or self.is_stationary(tolerance)

    def is_stationary(self, tolerance: float) -> bool:
        """By the slope in σ, where no dual point is known."""
        return self.is_fitted and not self.has_proof and abs(self.slope) * self.sigma <= tolerance


class _Unseen(_Point):
    """Where the first solve ended, if the data are gone before its residuals are known: P follows from F at σ."""

    def __init__(self, solution: Any, weight: Array, search: _Search) -> None:
        self.x, self.intercept, self.sigma, self.scale = solution.x, solution.intercept, search.sigma, search.sigma
        self.residuals = np.empty(0)
        self.objective = float(self.sigma * weight.sum() + 2.0 / self.sigma * solution.objective)
        self.gap, self.slope, self.has_proof, self.is_fitted = math.inf, math.nan, False, False


def _why(error: BaseException, solution: Solution) -> Status:
    """Why the search has to end; lost data are told of, unless the solve has done so."""
    if isinstance(error, DataGone) and solution.status is not Status.UNREACHABLE:
        tell_of_loss(error, frames_to_the_user())
    return Status.UNREACHABLE if isinstance(error, DataGone) else Status.INTERRUPTED


def _first_scale(
    target: Array, weight: Array, epsilon: float, intercept: bool, known: float | None
) -> tuple[float, float, bool]:
    """The smallest scale allowed, the one to start from, and whether there is nothing to search: a constant target."""
    centered = target - _weighted_median(target, weight) if intercept else target
    size = float(weight @ np.abs(centered) / weight.sum()) or 1.0
    first = (scale_of(centered, weight, epsilon) or size) if known is None else known
    return SMALLEST_SCALE * size, max(first, SMALLEST_SCALE * size), not centered.any()


class _Search:
    """The zero of an increasing function of σ: secant steps on log σ that stay in the bracket."""

    def __init__(self, floor: float, sigma: float, ended: bool) -> None:
        self.low, self.high, self.floor, self.sigma = floor, math.inf, floor, sigma
        self.last: tuple[float, float] | None = None
        self.ended = ended

    def moves(self, slope: float, alternate: float) -> bool:
        """Go on from the slope here and the best scale for the current residuals; False where σ cannot move."""
        if slope > 0.0:
            self.high = self.sigma
        else:
            self.low = self.sigma
        if self.high <= self.low * (1.0 + NARROW):
            return False
        before, self.last = self.last, (math.log(self.sigma), slope)
        candidate = alternate if before is None else self._secant(before, alternate)
        self.sigma = self._inside(max(candidate, self.sigma * math.exp(-LONGEST_STEP)))
        return True

    def at_floor(self) -> bool:
        """A perfect fit: the smallest scale is the best."""
        return self.high <= self.floor * (1.0 + NARROW)

    def _secant(self, before: tuple[float, float], alternate: float) -> float:
        assert self.last is not None
        (x0, y0), (x1, y1) = before, self.last
        if y0 == y1:
            return alternate
        step = y1 * (x1 - x0) / (y1 - y0)
        return math.exp(x1 - max(-LONGEST_STEP, min(LONGEST_STEP, step)))

    def _inside(self, candidate: float) -> float:
        if self.low < candidate < self.high:
            return candidate
        if candidate <= self.low and self.low == self.floor:
            return self.floor
        return math.sqrt(self.low * self.high) if self.high < math.inf else 4.0 * self.sigma


def _weighted_median(values: Array, weight: Array) -> float:
    order = np.argsort(values)
    reached = np.cumsum(weight[order]) >= 0.5 * weight.sum()
    return float(values[order][np.argmax(reached)])
