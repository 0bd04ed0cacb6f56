"""Foresight on a path: where a pass over the data is dear, the next penalties share one.

When a penalty is done, the minima of the next few are guessed: F is minimised over those coordinates that may move
until then, whose columns are near, and nothing else is read.  (Where they have no room there, the products of a
quadratic loss are enough, and one pass more for the images.)  Who may move tells the strong rule (Tibshirani et al.,
2012): gradient entries change no faster than the kinks of the penalty, as a rule, so coordinate j stays at rest where

    g_j ± max(|low_j − low'_j|, |high_j − high'_j|)

lies inside −∂Ψ'_j, with the ends of the subdifferentials now and for the last of those penalties (').  One pass over
the data then gives the gradient entries of all columns at all guesses.

A guess is a start with exact entries, and nothing more: the solver proves it, or goes on from there as it always does.
Where it has to read on, the guesses that follow are dropped, and the next ones are fewer.  None are made while
penalties cost less without: what they have read lately is compared with their share of a pass.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd.matrix.arithmetic import support
from ascd.solver import tuning
from ascd.solver.fit import Saved
from ascd.solver.gram_model import GramModel
from ascd.solver.loop import Solver
from ascd.solver.screening import subgradients, worst_violation
from ascd.solver.subproblem import Task


class Foresight:
    """Guesses for the penalties that come next on a path: ``penalty`` times falling factors."""

    def __init__(self, solver: Solver, penalty: Any, tolerance: float) -> None:
        self.solver, self.fit, self.penalty, self.tolerance = solver, solver.fit, penalty, tolerance
        self.waiting: deque[tuple[Saved, Array]] = deque()
        self.at_once, self.reads, self.is_guess = tuning.MOST_GUESSES, 0, False
        self.usual = 0.0  # the share of the columns that a penalty reads without a guess, lately

    @staticmethod
    def pays(solver: Solver) -> bool:
        """Is a pass dear, and answers for several points at once?"""
        return solver.in_rows is None and solver.fit.design.answers_several

    def begin(self, factors: Array) -> None:
        """Go to the guess for the first of the factors that are left, if there is one."""
        if not self.waiting:
            self._guess(factors)
        self.is_guess = bool(self.waiting)
        if self.is_guess:
            saved, products = self.waiting.popleft()
            self.fit.restore(saved)
            self.solver.bounds.adopt(products, self.fit.slope)
            self.solver.n_iter += 1
        self.reads = self.solver.bounds.reads

    def end(self) -> None:
        """The penalty is done: was the guess right?"""
        share = (self.solver.bounds.reads - self.reads) / self.fit.n
        if not self.is_guess:
            self.usual = 0.5 * (self.usual + share)
            self.at_once = min(self.at_once + 1, tuning.MOST_GUESSES)
        elif share > tuning.RIGHT_GUESS:
            self.waiting.clear()
            self.at_once = max(self.at_once // 2, 1)
        elif not self.waiting:
            self.at_once = min(2 * self.at_once, tuning.MOST_GUESSES)

    def _guess(self, factors: Array) -> None:
        fit, bounds = self.fit, self.solver.bounds
        count, there = self._count(factors.size), support(fit.x)
        if count * self.usual < tuning.WORTH_A_PASS or there.size == 0:
            return
        penalties, start = [self.penalty.scaled(float(factor)) for factor in factors[:count]], fit.saved()
        try:
            guesses = self._minima(penalties, there)
        except BaseException:  # x may have moved without its image
            fit.restore(start)
            raise
        if not guesses:
            return
        slopes = np.stack([guess.slope for guess in guesses], axis=1)
        if not np.isfinite(slopes).all():
            fit.restore(start)
            fit.recompute()
            bounds.read_all(fit.slope)  # what was read at such a guess is no number either
            return
        products = fit.design.dots_with_several(bounds.everything, slopes)
        bounds.reads += fit.n
        self.waiting.extend(zip(guesses, np.ascontiguousarray(products.T), strict=True))

    def _minima(self, penalties: list[Any], there: Array) -> list[Saved]:
        """From columns near, where they have room; from their products, where the loss is quadratic; or none."""
        subproblem = self.solver.subproblem
        near = int(tuning.ROOM_SHARE * self.fit.design.most_near)
        is_near = there.size <= tuning.MOVED_SHARE * near
        room = near if is_near else min(subproblem.largest_gram, int(there.size / tuning.MOVED_SHARE))
        if not is_near and (there.size > room or not subproblem.is_quadratic):
            return []
        columns = self._may_move(penalties[-1], there, room)
        if not is_near:
            return self._from_products(penalties, columns)
        subproblem.gram.keep(columns)
        return [self._minimum(penalty, columns) for penalty in penalties]

    def _count(self, left: int) -> int:
        """How many penalties may be guessed at once: there is room for so many vectors of samples and of columns."""
        size = 8 * (4 * self.fit.d + 2 * self.fit.n)
        return min(left, self.at_once, int(tuning.GUESSES_SHARE * self.fit.design.nbytes / size))

    def _may_move(self, last: Any, there: Array, room: int) -> Array:
        """Those that have moved, and the likeliest to do so before the last penalty: as many as there is room for."""
        score = self._score(last)
        score[there] = -np.inf
        most = min(room - there.size, int(np.count_nonzero(score > 0.0)))
        return np.union1d(there, np.argsort(-score, kind="stable")[:most])

    def _score(self, last: Any) -> Array:
        """How far coordinates may leave rest before the last penalty, by the strong rule; not above 0: they stay."""
        fit, bounds = self.fit, self.solver.bounds
        now, then = np.empty((2, fit.n)), np.empty((2, fit.n))
        subgradients(fit.penalty, fit.x, *now)
        subgradients(last, fit.x, *then)
        change = np.nan_to_num(np.abs(now - then).max(axis=0), nan=0.0)  # inf − inf: a bound, which does not change
        outside = np.maximum(then[0] + bounds.estimate, -bounds.estimate - then[1])
        return (outside + bounds.radius + change) / np.maximum(fit.norm, np.finfo(np.float64).tiny)

    def _minimum(self, penalty: Any, columns: Array) -> Saved:
        """The minimum over these coordinates, from the present point; its image is computed afresh."""
        fit, bounds = self.fit, self.solver.bounds
        fit.penalty = penalty
        bounds.look_at(columns, fit.slope)
        left = float(worst_violation(penalty, fit.x, bounds.estimate, columns))
        target = self._target(left)
        if left > target:
            self.solver.subproblem.improve(Task(columns, target, tuning.MOST_SWEEPS), left)
        if not fit.is_fresh:
            fit.recompute()
        return fit.saved()

    def _from_products(self, penalties: list[Any], columns: Array) -> list[Saved]:
        """The minima of a quadratic loss, for which products of the columns are enough; their images in one pass."""
        fit, subproblem = self.fit, self.solver.subproblem
        columns, gradient = subproblem.known_products(columns)
        points = np.empty((columns.size, len(penalties)))
        for number, penalty in enumerate(penalties):
            left = float(self.solver.standing.violation)
            GramModel(penalty, subproblem.gram, gradient, fit.x).minimise(self._target(left), tuning.MOST_SWEEPS)
            points[:, number] = fit.x[columns]
        moved = np.flatnonzero(points.any(axis=1))
        images = np.zeros((fit.d, len(penalties)))
        fit.design.add_several(columns[moved], points[moved], images)
        fit.reads += moved.size
        guesses = []
        for number in range(len(penalties)):
            fit.place(columns, points[:, number], images[:, number].copy())
            guesses.append(fit.saved())
        return guesses

    def _target(self, left: float) -> float:
        """The violation that a guess may keep; ``left`` is the present one."""
        spread = float(np.abs(self.fit.x).sum())
        return tuning.GUESS_SHARE * self.tolerance / spread if spread > 0.0 else tuning.LAST_SHARE * left
