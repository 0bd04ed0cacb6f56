"""Where the solver stands: X and c, the image Z = AX + 1cᵀ, and the losses there."""

from __future__ import annotations

from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd.blocks.pieces import Working
from ascd.problem.lengths import lengths_of_blocks
from ascd.problem.losses.outputs import Look
from ascd.problem.penalties.resting import Resting
from ascd.problem.problem import Problem
from ascd.problem.products import add
from ascd.solver.tuning import CANCELS


class Fit:
    """X in the order of the blocks, ``moved`` those that are not 0; ``reads`` counts the columns read to follow it.

    ``penalty`` is the one that is minimised with: a path changes it.  ``is_fresh`` where the image was computed from X
    itself, and not followed through steps.
    """

    def __init__(self, problem: Problem, x: Array, intercept: bool, constant: Array) -> None:
        self.problem, self.intercept, self.penalty = problem, intercept, problem.penalty
        self.resting = Resting(problem.penalty, problem.ends)
        self.x, self.constant, self.reads = x, np.zeros(problem.n_outputs), 0
        self.image = np.zeros((problem.n_samples, problem.n_outputs))
        self.moved = np.zeros(problem.groups.count, dtype=np.bool_)
        self.is_fresh = not self.is_shifted
        self.evaluate()
        self.zero_constant, self.zero_objective = self.constant.copy(), self.seen.value
        if x.any():
            self.constant = constant.copy()
            self._find_moved()
            self.recompute()

    def use(self, penalty: Any) -> None:
        """Minimise with this penalty from here on."""
        if penalty is not self.penalty:
            self.penalty, self.resting = penalty, Resting(penalty, self.problem.ends)

    def go_to_zero(self) -> None:
        """All coefficients 0, with the best constant there."""
        self.x[:], self.constant = 0.0, self.zero_constant.copy()
        self.moved[:] = False
        self.recompute()

    def set(self, working: Working, x: Array) -> None:
        """The coefficients of a working set, which holds all that were not 0."""
        self.x[working.places] = x
        self.moved[working.blocks] = np.logical_or.reduceat(x.any(axis=1), working.starts[:-1])

    def _find_moved(self) -> None:
        self.moved = np.logical_or.reduceat(self.x.any(axis=1), self.problem.groups.starts[:-1])

    @property
    def places(self) -> Array:
        """The rows of the blocks that are not 0."""
        return self.problem.groups.columns(np.flatnonzero(self.moved))

    @property
    def spread(self) -> float:
        """Σ_b ‖X_b‖."""
        blocks = np.flatnonzero(self.moved)
        if blocks.size == 0:
            return 0.0
        sizes = self.problem.groups.sizes[blocks]
        return float(lengths_of_blocks(self.x[self.places], np.append(0, np.cumsum(sizes))).sum())

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
        if self.is_shifted:
            self._centre()
        before = np.abs(self.constant)
        while True:
            self._compute()
            if not self.has_cancelled(before):
                break
            # the smallest so far of each: those that are nothing but rounding would go to and fro for ever
            before = np.minimum(before, np.abs(self.constant))
        self.is_fresh = not self.is_shifted

    @property
    def is_shifted(self) -> bool:
        """May outputs that meet be moved by a number for all of them?  That is taken out in the end."""
        return bool(self.problem.loss.is_coupled and (self.intercept or self.resting.has_free))

    def has_cancelled(self, before: Array) -> bool:
        """A large constant leaves AX few digits, or none."""
        return bool(np.any(np.abs(before) > CANCELS * np.abs(self.constant)))

    def _centre(self) -> None:
        """The same number for all outputs changes nothing that has no penalty: it becomes 0."""
        rows = np.repeat(self.resting.is_free, self.problem.groups.sizes)
        self.x[rows] -= self.x[rows].mean(axis=1, keepdims=True)
        self._find_moved()
        self.constant = self.constant - self.constant.mean()

    def _compute(self) -> None:
        places = self.places
        self.image = self.constant + self.image_of(places, self.x[places])
        self.evaluate()

    def image_of(self, places: Array, x: Array) -> Array:
        """A times coefficients at these places."""
        moved = np.flatnonzero(x.any(axis=1))
        image = np.zeros(self.image.shape)
        add(self.problem.design, self.problem.groups.order[places[moved]], x[moved], image)
        self.reads += moved.size
        return image

    def cost(self) -> float:
        """Σ_b Ψ_b(X_b)."""
        return self.resting.cost(self.x.ravel(), self.moved)
