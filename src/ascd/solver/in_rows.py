"""Newton's method for rows in parts that are elsewhere: one round a step, and no vector of samples travels.

At the present point a look (``problem.at_rows``) has brought F, the gradient g, the sum S of the slopes and moments of
the columns: m, their means weighted by the curvatures H, and G, the products of the columns less these.  With an
intercept the constant follows the coordinates, and the model is

    Q(Δ) = (g − S·m)ᵀΔ + ½ ΔᵀGΔ + Σ Ψ_j(x_j + Δ_j),       Δc = −S/ΣH − mᵀΔ,

without it (g, A'HA = G + ΣH·m·mᵀ and no Δc).  Its minimum is where the next look is taken, together with points on the
way there and beyond: the first steps of a logistic loss are far too short.  The best of them is the next point, whose
gradient has come with the same round.  A look at a step's end is a certificate too (``problem.proof_from_sums``).

Products are most of a look's work, and of what travels.  So a look brings those of the columns W alone that are free to
move at the end of its step, violate optimality there, or are the next to do so; the others rest for a round.

For a quadratic loss moments never change, and the first pass has brought them: the second round proves the answer.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ascd._core.cache import may_be_stored
from ascd._core.checks import Array
from ascd.matrix.base import RowParts
from ascd.matrix.requests import Moments
from ascd.problem.at_rows import Look, Step, look_at_rows, rows_of
from ascd.problem.problem import Parts, Problem
from ascd.problem.proof_from_sums import gap_from_sums
from ascd.results.limits import Limits
from ascd.results.solution import Status
from ascd.solver import tuning
from ascd.solver.assessment import Assessment, Standing
from ascd.solver.fit import Fit
from ascd.solver.gram_model import GramModel, Known
from ascd.solver.next_columns import next_columns
from ascd.solver.samples import cost_of
from ascd.solver.screening import worst_violation

GRID, TRIED, WHOLE = np.array(tuning.DUAL_SCALES), np.array(tuning.STEP_LENGTHS), np.ones(1)
NONE = np.empty(0, dtype=np.int64)


class Point(NamedTuple):
    """Where the run is; ``look`` is one at the end of a step that led here, if there was one.

    ``means`` are those of all columns, the moments' those of their own.
    """

    x: Array
    constant: float
    loss: float
    gradient: Array
    total: float
    moments: Moments
    means: Array
    look: Look | None


class Proposal(NamedTuple):
    """A model's minimum, the gradient there and by how much F would fall if the model were right."""

    x: Array
    constant: float
    gradient: Array
    fall: float


def row_parts_of(problem: Problem) -> RowParts | None:
    """Parts of the rows that take functions and know the loss, where there are such."""
    rows = problem.design.row_parts
    return rows if rows is not None and may_be_stored(problem.parts.loss) else None


class InRows:
    """One problem whose rows are elsewhere; the last point is kept between penalties."""

    def __init__(self, fit: Fit, parts: Parts, assessment: Assessment, rows: RowParts) -> None:
        self.fit, self.parts, self.assessment, self.rows = fit, parts, assessment, rows
        self.is_quadratic = fit.samples.is_quadratic
        self.kept: list[Any] = []
        self.point: Point | None = None
        self.damping = 0.0
        self.columns = np.arange(fit.n)

    def minimise(self, tolerance: float, limits: Limits, watch: Callable[[], bool]) -> Status | None:
        """Until the gap is at most ``tolerance``; None where the rest needs the samples themselves.

        ``watch`` is called before every round, and may end the run.
        """
        failures, lowest, began = 0, math.inf, time.perf_counter()
        point, self.damping = self._begin(), 0.0
        for rounds in range(min(limits.max_iter, tuning.MOST_ROW_ROUNDS) + 1):
            if point is None or failures > tuning.MOST_FAILURES:
                return None
            self._arrive(point)
            gap = self.assessment.standing.gap
            if gap <= tolerance:
                return Status.CONVERGED if self.fit.is_behind else None  # else the proof is a matter of this process
            if rounds == limits.max_iter:
                return Status.ITERATION_LIMIT
            if time.perf_counter() - began > limits.max_time:
                return Status.TIME_LIMIT
            proposal = self._propose(point, tolerance)
            is_known = point.look is not None or not self.fit.is_behind
            is_slow = not gap < tuning.HALF_THE_GAP * lowest
            if is_known and is_slow and not proposal.fall > tuning.HARDLY_FALLS * tolerance and self._has_all(point):
                return None
            lowest = min(lowest, gap)
            if watch():
                return Status.INTERRUPTED
            following = self._follow(point, proposal)
            failures = failures + 1 if following is point else 0
            point = following
        return None

    def _begin(self) -> Point | None:
        """The last point, if x is still there; the present one from what is known here; or from a round."""
        fit, last = self.fit, self.point
        if last is not None and last.constant == fit.constant and np.array_equal(last.x, fit.x):
            return last
        bounds = self.assessment.bounds
        moments = None if fit.is_behind else self.rows.all_moments(fit.curvature)
        if moments is None or bounds.is_moved or bounds.radius.any():
            look = self._look(fit.x, fit.x, (fit.constant, fit.constant), WHOLE, self.columns)
            return self._at(fit.x.copy(), fit.constant, look, 0, None)
        if not 0.0 < moments.total < math.inf:  # no sample curves its loss here
            return None
        total = float(fit.slope.sum())
        gradient, means = bounds.estimate.copy(), moments.means
        return Point(fit.x.copy(), fit.constant, fit.loss_sum, gradient, total, moments, means, None)

    def _look(self, before: Array, end: Array, constants: tuple[float, float], lengths: Array, columns: Array) -> Look:
        """A round: what the rows tell of a step, with moments of these columns."""
        if not self.kept:
            sample, loss = self.parts.sample, self.parts.loss
            self.kept = self.rows.keep_beside([rows_of(sample, loss, span) for span in self.rows.spans])
        cost = np.array([self._cost(before + t * (end - before)) for t in lengths.tolist()]) / self.fit.d
        step = Step(before, end, np.array(constants), lengths, cost, GRID, columns, self.fit.intercept)
        self.fit.reads += self.fit.n + int(np.count_nonzero(end))
        found: Look = self.rows.over_rows(look_at_rows, self.kept, *step)
        return found

    def _at(self, x: Array, constant: float, look: Look, number: int, last: Point | None) -> Point | None:
        """The point that a length leads to; None where nothing finite is known of it.

        Where the look has no moments, those of the last point are the same.
        """
        loss, gradient = float(look.losses[number]), look.products[number]
        moments = look.moments if last is None or look.moments is not None else last.moments
        if moments is None or not (math.isfinite(loss) and np.isfinite(gradient).all()):
            return None
        if not (0.0 < moments.total < math.inf and np.isfinite(moments.products).all()):
            return None
        means = look.sums / moments.total if last is None or look.moments is not None else last.means
        kept = look if number == 0 else None
        return Point(x, constant, loss, gradient, float(look.totals[number]), moments, means, kept)

    def _arrive(self, point: Point) -> None:
        """The fit is there, without its samples; and how good it is."""
        fit, self.point = self.fit, point
        if point.look is None and not fit.is_behind and np.array_equal(fit.x, point.x):
            self.assessment.look()
            return
        fit.x[:], fit.constant, fit.loss_sum = point.x, point.constant, point.loss
        fit.is_behind, fit.is_fresh = True, False
        gap, look = math.inf, point.look
        if look is not None:
            gap = gap_from_sums(self.parts, fit.penalty, point.x, point.constant, look, GRID, fit.intercept)
        violation = float(worst_violation(fit.penalty, point.x, self._gradient(point), self.columns))
        objective = point.loss + self._cost(point.x)
        self.assessment.standing = Standing(objective, gap, violation, math.isfinite(gap), math.inf)

    def _gradient(self, point: Point) -> Array:
        """With the best constant, if there is an intercept."""
        return point.gradient - point.total * point.means if self.fit.intercept else point.gradient

    def _has_all(self, point: Point) -> bool:
        """Is the worst violation one of the columns whose moments are known?"""
        worst = worst_violation(self.fit.penalty, point.x, self._gradient(point), point.moments.columns)
        return float(worst) >= self.assessment.standing.violation

    def _propose(self, point: Point, tolerance: float) -> Proposal:
        """The model's minimum."""
        moments, x, gradient = point.moments, point.x.copy(), self._gradient(point).copy()
        products = self._products(moments)
        violation = self.assessment.standing.violation
        spread = float(np.abs(x).sum()) or self.assessment.standing.objective / max(violation, 1e-300)
        target = tuning.ROUND_SHARE * min(tuning.ENOUGH * tolerance / max(spread, 1e-300), violation)
        columns = moments.columns
        known = Known(columns, products, np.ones(columns.size, dtype=np.bool_))
        model = GramModel(self.fit.penalty, known, gradient[columns], x)
        model.minimise(target, tuning.MOST_SWEEPS)
        change = (x - point.x)[columns]
        fall = -float(change @ (gradient[columns] + 0.5 * (products @ change))) + self._cost(point.x) - self._cost(x)
        gradient[columns] = model.gradient
        if not self.fit.intercept:
            return Proposal(x, point.constant, gradient, fall)
        own = -point.total / moments.total
        constant = point.constant + own - float(moments.means @ change)
        return Proposal(x, constant, gradient, fall - 0.5 * own * point.total)

    def _products(self, moments: Moments) -> Array:
        """G in column order; a column that the intercept can replace is held where it is, and all are damped."""
        own = moments.total * moments.means**2
        if self.fit.intercept:
            store, diagonal = np.array(moments.products, order="F"), moments.products.diagonal().copy()
            constant = self.fit.design.multiplier(False).constant
            diagonal[diagonal <= constant * own] = own[diagonal <= constant * own]
        else:
            store = np.asfortranarray(moments.products + moments.total * np.outer(moments.means, moments.means))
            diagonal = store.diagonal().copy()
        np.fill_diagonal(
            store, diagonal + self.damping * self.fit.samples.typical_curvature * self.parts.norm[moments.columns] ** 2
        )
        return store

    def _follow(self, point: Point, proposal: Proposal) -> Point | None:
        """The best point on the way to the proposal and beyond; the same one again where F falls nowhere."""
        lengths = WHOLE if self.is_quadratic else TRIED
        constants = point.constant, proposal.constant
        ends = (point.x, self._gradient(point)), (proposal.x, proposal.gradient)
        columns = NONE if self.is_quadratic else next_columns(self.fit.penalty, self.parts.norm, ends)
        look = self._look(point.x, proposal.x, constants, lengths, columns)
        change, drift = proposal.x - point.x, proposal.constant - point.constant
        there = [proposal.x if t == 1.0 else point.x + t * change for t in lengths.tolist()]
        values = look.losses + np.array([self._cost(x) for x in there])
        values[np.isnan(values)] = math.inf
        now = point.loss + self._cost(point.x)
        noise = tuning.OBJECTIVE_ROUNDING * (4.0 + math.sqrt(self.fit.d)) * abs(now)
        best = int(np.argmin(values))
        best = 0 if values[0] <= values[best] + noise else best
        if not values[best] <= now + noise:
            self.damping = max(tuning.MORE_DAMPING * self.damping, tuning.LEAST_AFTER_FAILURE)
            return point
        self.damping = 0.0 if best == 0 else self.damping
        t = float(lengths[best])
        constant = proposal.constant if t == 1.0 else point.constant + t * drift
        return self._at(there[best], constant, look, best, point)

    def _cost(self, x: Array) -> float:
        return float(cost_of(self.fit.penalty, self.columns, x))
