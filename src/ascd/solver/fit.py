"""Where the solver stands: the point x, the intercept c, the image z = Ax + c·1, and the losses there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd.matrix.arithmetic import elementwise, support
from ascd.problem.problem import Problem
from ascd.solver import tuning
from ascd.solver.samples import Samples


class Trial(NamedTuple):
    """A place that is tried: its image, slopes and curvatures, the sum of losses, and what it adds to the constant."""

    image: Array
    slope: Array
    curvature: Array
    loss: float
    shift: float


class Saved(NamedTuple):
    """A point, without its zeros, and what follows from it."""

    support: Array
    values: Array
    constant: float
    image: Array
    slope: Array
    curvature: Array
    loss: float


class Fit:
    """x and c, and what follows from them; ``reads`` counts the columns read to follow them.

    ``penalty`` is the one that is minimised with: a path changes it.  Where the image ``may_wait``, a point to start
    from is left to those who look at it where the samples are.
    """

    def __init__(self, problem: Problem, x: Array, intercept: bool, constant: float, may_wait: bool = False) -> None:
        self.design, self.intercept, self.penalty = problem.design, intercept, problem.parts.penalty
        self.norm = problem.parts.norm
        self.samples = Samples(problem.parts, intercept)
        self.n, self.d = problem.n_features, problem.n_samples
        self.x, self.constant = x, constant
        self.image, self.slope, self.curvature = np.empty((3, self.d))
        room = 0 if self.samples.is_quadratic else self.d
        self.elsewhere = tuple(np.empty((3, room)))  # room for a place that is tried
        self.means = np.zeros(self.n)  # of the columns, weighted by the curvatures; for the intercept
        self.reads = 0
        self.is_fresh = True  # is the image the sum over x itself, rather than one of steps?
        self.is_behind = False  # has x moved where the samples are, while the image here stayed?
        self.zero_objective = self._begin(may_wait)

    def _begin(self, may_wait: bool) -> float:
        """F at zero coefficients with the best constant; then the slopes at x."""
        constant, self.constant = self.constant, 0.0
        self.image[:] = 0.0
        self.evaluate()
        at_zero = self.loss_sum
        if self.x.any():
            self.constant = constant
            self.is_behind, self.is_fresh = may_wait, not may_wait
            if not may_wait:
                self.recompute()
        return at_zero

    def recompute(self) -> None:
        """The image from x itself: rounding errors of steps are gone."""
        moved = support(self.x)
        while True:
            before = self.constant
            self._compute(moved)
            if not abs(before) > tuning.CANCELS * abs(self.constant):  # a large constant leaves Ax few digits, or none
                break
        self.reads += moved.size
        self.is_fresh, self.is_behind = True, False

    def _compute(self, moved: Array) -> None:
        self.image[:] = self.constant
        self.design.add(moved, self.x[moved], self.image)
        self.evaluate()

    def evaluate(self, guess: float = 0.0) -> None:
        """Losses, slopes and curvatures at the image; with an intercept, the best one first, which moves by a guess."""
        self.loss_sum, shift = self.samples.evaluate(self.image, self.slope, self.curvature, guess)
        self.constant += shift

    def add(self, columns: Array, change: Array) -> None:
        """The image follows a change of these coordinates, which x has made."""
        before = self.constant
        is_first = np.array_equal(self.x[columns], change) and np.count_nonzero(self.x) == np.count_nonzero(change)
        self.design.add(columns, change, self.image)
        self.evaluate(-float(self.means[columns] @ change))  # the means are 0 without an intercept
        self.is_fresh = is_first and abs(before) <= tuning.CANCELS * abs(self.constant)

    def place(self, columns: Array, values: Array, product: Array) -> None:
        """Go to the point that has these values, and zeros elsewhere; ``product`` is its Ax."""
        self.x[:] = 0.0
        self.x[columns] = values
        while True:
            before = self.constant
            elementwise(np.add, product, before, self.image)
            self.evaluate()
            if not abs(before) > tuning.CANCELS * abs(self.constant):
                break
        self.is_fresh, self.is_behind = True, False

    def saved(self) -> Saved:
        """A copy of the present point."""
        there = support(self.x)
        vectors = (self.image.copy(), self.slope.copy(), self.curvature.copy())
        return Saved(there, self.x[there], self.constant, *vectors, self.loss_sum)

    def restore(self, saved: Saved) -> None:
        """Go to a point that was saved when its image had been computed afresh."""
        self.x[:] = 0.0
        self.x[saved.support] = saved.values
        self.constant, self.loss_sum = saved.constant, saved.loss
        self.image[:], self.slope[:], self.curvature[:] = saved.image, saved.slope, saved.curvature
        self.is_fresh, self.is_behind = True, False

    def try_out(self, direction: Array, t: float, end: Array | None = None) -> Trial:
        """The losses at the image plus t times the direction; at its ``end``, where that is known by itself."""
        image, slope, curvature = self.elsewhere
        if end is not None and t == 1.0:
            image[:] = end
        else:
            elementwise(np.multiply, direction, t, image)
            elementwise(np.add, image, self.image, image)
        return Trial(image, slope, curvature, *self.samples.evaluate(image, slope, curvature))

    def accept(self, trial: Trial, shift: float, is_fresh: bool = False) -> None:
        """The place that was tried is the present one now; ``shift`` is the direction's part of the constant."""
        before = self.constant + shift
        self.is_fresh = is_fresh and abs(before) <= tuning.CANCELS * abs(before + trial.shift)
        self.elsewhere = (self.image, self.slope, self.curvature)
        self.image, self.slope, self.curvature = trial.image, trial.slope, trial.curvature
        self.loss_sum = trial.loss
        self.constant += trial.shift + shift

    def weigh_means(self, columns: Array, weight: Array) -> None:
        """The means of these columns for other curvatures; 0 where there is no intercept."""
        if self.intercept:
            self.means[columns] = self.design.means(columns, weight)
