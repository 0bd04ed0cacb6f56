"""Where the solver stands: the point, its image z = Ax + c·1, and the loss there."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._base.checks import Array
from ascd.data.matrices import add_columns
from ascd.problem.problem import Problem
from ascd.solver.samples import balance
from ascd.solver.samples import look as look_at

#: F is a sum with rounding errors.  Where a model promises less than those, F cannot tell whether the step was good.
ROUNDING = 1e-15


class Trial(NamedTuple):
    """A place that is tried: its image, slopes and curvatures, the sum of losses, and what it adds to the constant."""

    image: Array
    slope: Array
    curvature: Array
    loss: float
    shift: float


class State:
    """The point x with the constant c, and what follows from it."""

    penalty: Any

    def __init__(self, problem: Problem, x: Array, intercept: bool, constant: float) -> None:
        self.parts, self.intercept = problem.parts, intercept
        self.n, self.d = problem.n_features, problem.n_samples
        self.x, self.constant = x, constant
        self.is_quadratic = self.parts.loss.is_quadratic()
        self.image, self.slope, self.curvature = np.empty((3, self.d))
        self.elsewhere = tuple(np.empty((3, 0 if self.is_quadratic else self.d)))  # room for a place that is tried
        self.means = np.zeros(self.n)  # of the columns, weighted by the curvatures; for the intercept
        bound, weight = self.parts.loss.curvature_bound(), float(np.mean(self.parts.sample.weight))
        self.most_curvature = weight * bound * self.d if math.isfinite(bound) else math.inf
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
        self.loss_sum, shift = self._look_at(self.image, self.slope, self.curvature)
        self.constant += shift
        return self.loss_sum

    def _look_at(self, image: Array, slope: Array, curvature: Array) -> tuple[float, float]:
        """The sum of losses, and how far the intercept (if there is one) has moved the image for it."""
        arrays = (self.parts.sample, self.parts.loss, image, slope, curvature)
        loss, shift = balance(*arrays, self.most_curvature) if self.intercept else (look_at(*arrays), 0.0)
        return float(loss), float(shift)

    def try_out(self, direction: Array, t: float) -> Trial:
        """The losses at the image plus t times the direction."""
        image, slope, curvature = self.elsewhere
        np.multiply(direction, t, out=image)
        image += self.image
        return Trial(image, slope, curvature, *self._look_at(image, slope, curvature))

    def accept(self, trial: Trial, shift: float) -> None:
        """The place that was tried is the present one now; ``shift`` is the direction's part of the constant."""
        self.elsewhere = (self.image, self.slope, self.curvature)
        self.image, self.slope, self.curvature = trial.image, trial.slope, trial.curvature
        self.loss_sum = trial.loss
        self.constant += trial.shift + shift
