"""Where the solver stands: the point, its image z = Ax + c·1, and the loss there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ascd._checks import Array
from ascd.matrices import add_columns
from ascd.problem import Problem
from ascd.solver.samples import balance, cost_of, loss_along
from ascd.solver.samples import look as look_at

#: A step of the line search must keep this share of the fall that the model promised.
ENOUGH_FALL = 1e-4
SMALLEST_STEP = 1e-14
#: F is a sum with rounding errors.  Where the model promises less than those, F cannot tell whether the step was good;
#: near that, the slopes at both ends of a step tell its fall better than the difference of two sums.
ROUNDING, HARDLY_SEEN = 1e-15, 1e-9
#: The model of a quadratic loss is F itself; where F rises by more than this share of it, its products are worthless.
WORTHLESS = 1e-3


class State:
    """The point x with the constant c, and what follows from it.

    ``damping`` is added to the curvatures of a model, in units of ``typical_curvature``: more after a step that had to
    be shortened, less after one that was taken whole.
    """

    penalty: Any

    def __init__(self, problem: Problem, x: Array, intercept: bool, constant: float) -> None:
        self.parts, self.intercept = problem.parts, intercept
        self.n, self.d = problem.n_features, problem.n_samples
        self.x, self.constant = x, constant
        self.is_quadratic = self.parts.loss.is_quadratic()
        self.image, self.slope, self.curvature = np.empty(self.d), np.empty(self.d), np.empty(self.d)
        self.means = np.zeros(self.n)  # of the columns, weighted by the curvatures; for the intercept
        bound = self.parts.loss.curvature_bound()
        self.typical_curvature = float(np.mean(self.parts.sample.weight)) * (bound if math.isfinite(bound) else 1.0)
        self.most_curvature = self.typical_curvature * self.d if math.isfinite(bound) else math.inf
        self.damping = 0.0 if self.is_quadratic else 1e-6
        self.other_reads = 0
        self.zero_objective = self.start()

    def start(self) -> float:
        """F at zero coefficients with the best constant; then the slopes at x."""
        constant, self.constant = self.constant, 0.0
        self.image[:] = 0.0
        at_zero = self.look()
        if self.x.any():
            self.constant = constant
            self.recompute_image()
        return at_zero

    def recompute_image(self) -> None:
        moved = np.flatnonzero(self.x)
        self.image[:] = self.constant
        add_columns(self.parts.matrix, moved, self.x[moved], self.image)
        self.other_reads += moved.size
        self.look()

    def look(self) -> float:
        """Losses, slopes and curvatures at the image; with an intercept, the best one first."""
        arrays = (self.parts.sample, self.parts.loss, self.image, self.slope, self.curvature)
        if self.intercept:
            self.loss_sum, shift = balance(*arrays, self.most_curvature)
            self.constant += shift
        else:
            self.loss_sum = look_at(*arrays)
        return float(self.loss_sum)

    def move(self, columns: Array, before: Array) -> None:
        """From ``before`` to the model's minimum; for other losses than quadratic ones, as far as F falls."""
        change = self.x[columns] - before
        self.other_reads += int(np.count_nonzero(change))
        if self.is_quadratic:
            self._step(columns, before, change)
        else:
            self._search(columns, before, change)
            self.look()

    def _step(self, columns: Array, before: Array, change: Array) -> None:
        new_cost, there, old_loss = self._cost(columns), self.x[columns], self.loss_sum
        self.x[columns] = before
        old_cost = self._cost(columns)
        self.x[columns] = there
        add_columns(self.parts.matrix, columns, change, self.image)
        self.look()
        rise = self.loss_sum - old_loss + new_cost - old_cost
        if not rise <= WORTHLESS * (abs(old_loss) + abs(old_cost)):
            self.x[columns] = before
            self.recompute_image()

    def _search(self, columns: Array, before: Array, change: Array) -> None:
        drift = float(self.means[columns] @ change)  # the intercept follows the columns
        direction = np.full(self.d, -drift)
        add_columns(self.parts.matrix, columns, change, direction)
        slope = float(self.slope @ direction)
        new_cost, there = self._cost(columns), self.x[columns]
        self.x[columns] = before
        old_cost = self._cost(columns)
        promised = slope + new_cost - old_cost
        size = abs(self.loss_sum) + abs(old_cost)
        noise = ROUNDING * (4.0 + math.sqrt(self.d)) * size
        allowed = noise if -promised <= noise else 0.0
        t = 1.0
        while t >= SMALLEST_STEP:
            self.x[columns] = there if t == 1.0 else np.clip(before + t * change, *np.sort([before, there], axis=0))
            loss, end_slope = loss_along(self.parts.sample, self.parts.loss, self.image, direction, t)
            fall = loss - self.loss_sum
            if -promised <= HARDLY_SEEN * size:
                fall = min(fall, 0.5 * t * (slope + end_slope))
            fall += self._cost(columns) - old_cost
            if fall <= ENOUGH_FALL * t * promised + allowed:
                break
            t *= 0.5
        else:
            t = 0.0
            self.x[columns] = before
        self.damping = max(4.0 * self.damping, 1e-3) if t < 1.0 else max(0.25 * self.damping, 1e-10)
        if t > 0.0:  # a step that is not taken may be infinite
            self.image += t * direction
            self.constant -= t * drift

    def _cost(self, columns: Array) -> float:
        return float(cost_of(self.penalty, columns, self.x))
