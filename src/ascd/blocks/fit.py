"""Where the solver stands: X and c, the image Z = AX + 1cᵀ, and the losses there."""

from __future__ import annotations

import numpy as np

from ascd._base.checks import Array
from ascd.blocks.losses import Look
from ascd.blocks.problem import BlockProblem
from ascd.blocks.products import add
from ascd.blocks.terms import total_cost, unpenalised
from ascd.solver.tuning import CANCELS


class Fit:
    """X in the order of the blocks; ``reads`` counts the columns read to follow it.

    ``penalty`` is the one that is minimised with: a path changes it.
    """

    def __init__(self, problem: BlockProblem, x: Array, intercept: bool, constant: Array) -> None:
        self.problem, self.intercept, self.penalty = problem, intercept, problem.penalty
        self.x, self.constant, self.reads = x, np.zeros(problem.n_outputs), 0
        self.image = np.zeros((problem.n_samples, problem.n_outputs))
        self.evaluate()
        self.zero_constant, self.zero_objective = self.constant.copy(), self.seen.value
        if x.any():
            self.constant = constant.copy()
            self.recompute()

    @property
    def slope(self) -> Array:
        return self.seen.slope

    def evaluate(self) -> None:
        """Losses at the image; with an intercept, the best one first."""
        if self.intercept:
            self.constant = self.constant + self.problem.loss.balance(self.image)
        self.seen: Look = self.problem.loss.look(self.image)

    def recompute(self) -> None:
        """The image from X itself: rounding errors of steps are gone."""
        if self.problem.loss.is_coupled:
            self._centre()
        moved, before = np.flatnonzero(self.x.any(axis=1)), self.constant
        self._compute(moved)
        if np.any(np.abs(before) > CANCELS * np.abs(self.constant)):  # a large constant leaves AX few digits, or none
            self._compute(moved)

    def _centre(self) -> None:
        """Where outputs meet, the same number for all of them changes nothing that has no penalty: it becomes 0."""
        rows = np.repeat(unpenalised(self.penalty, self.problem.ends), self.problem.groups.sizes)
        self.x[rows] -= self.x[rows].mean(axis=1, keepdims=True)
        self.constant = self.constant - self.constant.mean()

    def _compute(self, moved: Array) -> None:
        self.image[:] = self.constant
        add(self.problem.design, self.problem.groups.order[moved], self.x[moved], self.image)
        self.reads += moved.size
        self.evaluate()

    def direction(self, places: Array, change: Array) -> Array:
        """A times a change of the coefficients at these places."""
        moved = np.flatnonzero(change.any(axis=1))
        image = np.zeros(self.image.shape)
        add(self.problem.design, self.problem.groups.order[places[moved]], change[moved], image)
        self.reads += moved.size
        return image

    def cost(self) -> float:
        """Σ_b Ψ_b(X_b)."""
        return float(total_cost(self.penalty, self.x.ravel(), self.problem.ends))
