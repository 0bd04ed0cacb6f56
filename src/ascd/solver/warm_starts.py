"""Batched warm starts on a path: where a pass over the data is expensive, the next penalties share one.

When a penalty is done, the minima of the next few are approximated over those coordinates that may move until then,
whose columns are cached; nothing else is read.  (Where they have no room there, the Gram matrix of a quadratic loss is
enough, and one pass more for the predictors.)  The strong rule says which may move (Tibshirani et al. 2012): gradient
entries mostly change no faster than the kinks of the penalty, so coordinate j stays at rest where

    g_j ± max(|low_j − low'_j|, |high_j − high'_j|)

lies inside −∂Ψ'_j, with the ends of the subdifferentials now and for the last of those penalties (').  One pass over
the data then gives the gradient entries of all columns at all these points.

A warm start is a start with exact entries, and nothing more: the solver proves it, or goes on from there.  Where it has
to read on, the warm starts that follow are dropped, and the next batch is smaller.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd.problem.terms import subgradients
from ascd.solver import tuning
from ascd.solver.loop import Solver
from ascd.solver.models import GramModel
from ascd.solver.state import Saved
from ascd.solver.working_set import WorkingSet


class WarmStarts:
    """Warm starts for the penalties that come next on a path: ``penalty`` times falling factors."""

    def __init__(self, solver: Solver, penalty: Any, tolerance: float) -> None:
        self.solver, self.state, self.penalty, self.tolerance = solver, solver.state, penalty, tolerance
        self.waiting: deque[tuple[Saved, Array]] = deque()
        self.at_once, self.reads, self.is_warm = tuning.MOST_GUESSES, 0, False
        self.usual = 0.0  # the share of the columns that a penalty reads without a warm start, lately

    @staticmethod
    def pays(solver: Solver) -> bool:
        """Return whether a pass is expensive, and one serves several points at once."""
        return solver.rows is None and solver.problem.is_by_coordinate and solver.state.matrix.answers_several

    def begin(self, factors: Array) -> None:
        """Go to the warm start for the first of the factors that are left, if there is one."""
        if not self.waiting:
            self._prepare(factors)
        self.is_warm = bool(self.waiting)
        if self.is_warm:
            saved, products = self.waiting.popleft()
            self.state.restore(saved)
            self.solver.bounds.set_all(products[:, None], self.state.raw_gradient)
            self.solver.n_iter += 1
        self.reads = self.solver.bounds.reads

    def end(self) -> None:
        """Adapt the size of batches to how much the penalty has read."""
        share = (self.solver.bounds.reads - self.reads) / self.state.n
        if not self.is_warm:
            self.usual = 0.5 * (self.usual + share)
            self.at_once = min(self.at_once + 1, tuning.MOST_GUESSES)
        elif share > tuning.RIGHT_GUESS:
            self.waiting.clear()
            self.at_once = max(self.at_once // 2, 1)
        elif not self.waiting:
            self.at_once = min(2 * self.at_once, tuning.MOST_GUESSES)

    def _prepare(self, factors: Array) -> None:
        state, bounds = self.state, self.solver.bounds
        count, support = self._count(factors.size), state.support
        if count * self.usual < tuning.WORTH_A_PASS or support.size == 0:
            return
        penalties, start = [self.penalty.scaled(float(factor)) for factor in factors[:count]], state.saved()
        try:
            points = self._minima(penalties, support)
        except BaseException:
            state.restore(start)
            raise
        if not points:
            return
        gradients = np.concatenate([point.seen.raw_gradient for point in points], axis=1)
        if not np.isfinite(gradients).all():
            state.restore(start)
            bounds.read_all(state.raw_gradient)  # what was read at such a point is no number either
            return
        products = state.matrix.dots_with_several(bounds.everything, gradients)
        bounds.reads += state.n
        self.waiting.extend(zip(points, np.ascontiguousarray(products.T), strict=True))

    def _minima(self, penalties: list[Any], support: Array) -> list[Saved]:
        """Minimise over cached columns, where they have room; over a Gram matrix, where the loss is quadratic."""
        subproblem = self.solver.subproblem
        cached = int(tuning.ROOM_SHARE * self.state.matrix.most_near)
        is_cached = support.size <= tuning.MOVED_SHARE * cached
        room = cached if is_cached else min(subproblem.largest_gram, int(support.size / tuning.MOVED_SHARE))
        if not is_cached and (support.size > room or not subproblem.is_quadratic):
            return []
        columns = self._may_move(penalties[-1], support, room)
        if not is_cached:
            return self._by_gram(penalties, columns)
        subproblem.gram.keep(columns)
        return [self._minimum(penalty, columns) for penalty in penalties]

    def _count(self, left: int) -> int:
        """Return how many warm starts there is room for, with their vectors of samples and of columns."""
        size = 8 * (4 * self.state.d + 2 * self.state.n)
        return min(left, self.at_once, int(tuning.GUESSES_SHARE * self.state.matrix.nbytes / size))

    def _may_move(self, last: Any, support: Array, room: int) -> Array:
        """Return those that have moved, and the likeliest to do so before the last penalty."""
        score = self._score(last)
        score[support] = -np.inf
        most = min(room - support.size, int(np.count_nonzero(score > 0.0)))
        return np.union1d(support, np.argsort(-score, kind="stable")[:most])

    def _score(self, last: Any) -> Array:
        """Return how far coordinates may leave rest before the last penalty, by the strong rule."""
        state, bounds = self.state, self.solver.bounds
        now, then, x, g = np.empty((2, state.n)), np.empty((2, state.n)), state.x.ravel(), bounds.estimate.ravel()
        subgradients(state.penalty, x, *now)
        subgradients(last, x, *then)
        change = np.nan_to_num(np.abs(now - then).max(axis=0), nan=0.0)  # inf − inf: a bound, which does not change
        outside = np.maximum(then[0] + g, -g - then[1])
        return (outside + bounds.radius + change) / np.maximum(state.problem.norm, np.finfo(np.float64).tiny)

    def _minimum(self, penalty: Any, columns: Array) -> Saved:
        """Return the minimum over these coordinates, from the present point; its predictor is computed from x."""
        state, bounds = self.state, self.solver.bounds
        state.use(penalty)
        bounds.read_once(columns, state.raw_gradient)
        left = state.terms.violation_on(columns, state.x[columns], bounds.estimate[columns])
        working = WorkingSet(state.problem, columns)
        working.target = self._target(left)
        if left > working.target:
            self.solver.subproblem.improve(working, left)
        if not state.is_fresh:
            state.recompute()
        return state.saved()

    def _by_gram(self, penalties: list[Any], columns: Array) -> list[Saved]:
        """Return the minima of a quadratic loss from the Gram matrix; their predictors take one pass."""
        state, subproblem = self.state, self.solver.subproblem
        columns, gradient = subproblem.known_products(columns)
        x, points = state.x[columns, 0], np.empty((columns.size, len(penalties)))
        target = self._target(float(self.solver.report.violation))
        for number, penalty in enumerate(penalties):
            GramModel(penalty, subproblem.gram, gradient, x).minimise(target, tuning.MOST_SWEEPS)
            points[:, number] = x
        moved = np.flatnonzero(points.any(axis=1))
        predictors = np.zeros((state.d, len(penalties)))
        state.matrix.add_several(columns[moved], points[moved], predictors)
        state.reads += moved.size
        found = []
        for number in range(len(penalties)):
            whole = np.zeros(state.x.shape)
            whole[columns, 0] = points[:, number]
            seen, shift = state.evaluate_at(predictors[:, [number]] + state.constant)
            state.set(whole, state.constant + shift, seen, True)
            found.append(state.saved())
        return found

    def _target(self, left: float) -> float:
        """Return the violation that a warm start may keep; ``left`` is the present one."""
        spread = float(np.abs(self.state.x).sum())
        return tuning.GUESS_SHARE * self.tolerance / spread if spread > 0.0 else tuning.LAST_SHARE * left
