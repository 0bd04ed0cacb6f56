"""The iterate, and all that follows from it.

x has shape (n_features, n_outputs) in the order of the blocks, Z = o + Ax + 1cᵀ with the offset o and V = ∇f(Z) have
shape (n_samples, n_outputs).  Whoever changes x goes through ``State``, which changes the predictor, the raw gradient
and the loss in the same call, or when they are next asked for (``postpone``).  With an intercept, c is kept where it
minimises f(Z): then V sums to zero, c needs no column of ones and drops out of every gradient entry.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd.problem.arithmetic import add, nonzero_rows
from ascd.problem.certificate import Point
from ascd.solver import tuning


class Evaluation(NamedTuple):
    """The loss at a predictor: its value, the raw gradient (d, T) and the curvature."""

    predictor: Array
    value: float
    raw_gradient: Array
    curvature: Any


class State:
    """x, the intercepts c and the loss there.

    ``penalty`` is the one that is minimised (a path changes it), ``terms`` the sums over it; ``reads`` counts the
    columns read for predictors and in sweeps (products of columns are not counted).  ``is_fresh`` says that the
    predictor was computed from x itself, without rounding errors of steps.  Where samples are far away, moves may be
    ``postponed``.
    """

    def __init__(self, problem: Any, x: Array, intercept: bool, constant: Array) -> None:
        self.problem, self.matrix, self.loss, self.intercept = problem, problem.design, problem.loss, intercept
        self.n, self.outputs = x.shape
        self.d = problem.n_samples
        self.order = problem.groups.order
        self.reads = 0
        self.penalty, self.terms = problem.penalty, problem.terms()
        self.x, self.is_fresh = np.zeros(x.shape), True
        self._seen: Any  # an Evaluation, or None where it is postponed
        self._seen, self.constant = self.evaluate_at(np.zeros((self.d, self.outputs)) + problem.offset)
        self.zero_value, self.zero_constant = self.seen.value, self.constant
        if x.any():
            self.postpone(x, constant.copy())

    def use(self, penalty: Any) -> None:
        """Minimise with this penalty from here on."""
        if penalty is not self.penalty:
            self.penalty, self.terms = penalty, self.problem.terms(penalty)

    @property
    def seen(self) -> Evaluation:
        """The loss at the point."""
        if self._seen is None:
            self.recompute()
        return self._seen

    @property
    def is_postponed(self) -> bool:
        """Return whether nothing is known of the loss at the point."""
        return self._seen is None

    @property
    def raw_gradient(self) -> Array:
        return self.seen.raw_gradient

    @property
    def point(self) -> Point:
        """What a certificate needs."""
        seen = self.seen
        return Point(self.x, self.constant, seen.predictor, seen.raw_gradient, seen.curvature, self.intercept)

    @property
    def support(self) -> Array:
        """Rows of x that are not zero."""
        return nonzero_rows(self.x)

    def evaluate_at(self, predictor: Array) -> tuple[Evaluation, Array]:
        """Return the loss at a predictor, which the best intercepts move first, and how far."""
        value, gradient, curvature, shift = self.loss.evaluate(predictor, self.intercept)
        return Evaluation(predictor, value, gradient, curvature), shift

    def product_of(self, rows: Array, x: Array) -> Array:
        """Return A·x for coefficients x of shape (len(rows), T) at these rows."""
        moved = nonzero_rows(x)
        product = np.zeros((self.d, self.outputs))
        add(self.matrix, self.order[rows[moved]], x[moved], product)
        self.reads += moved.size
        return product

    def recompute(self) -> None:
        """Compute the predictor from x itself, again where a large constant has left it few digits.

        Where a number may be added to all outputs, it is 0: constants and unpenalised coefficients have a mean of 0.
        """
        if self.is_invariant:
            free = np.repeat(self.terms.is_unpenalised, self.problem.groups.sizes)
            centred = self.x.copy()
            centred[free] -= centred[free].mean(axis=1, keepdims=True)
            if self.terms.cost(centred) <= self.terms.cost(self.x):  # not so where a penalty is not convex
                self.x = centred
            self.constant = self.constant - self.constant.mean()
        before = np.abs(self.constant)
        while True:
            rows = self.support
            predictor = self.product_of(rows, self.x[rows]) + (self.constant + self.problem.offset)
            self._seen, shift = self.evaluate_at(predictor)
            self.constant = self.constant + shift
            if not self.has_cancelled(before):
                break
            # the smallest so far of each: constants that are nothing but rounding would change for ever
            before = np.minimum(before, np.abs(self.constant))
        self.is_fresh = not self.is_invariant

    def has_cancelled(self, before: Array) -> bool:
        """Return whether a constant was so much larger than it is now that Ax beside it has lost digits."""
        return bool(np.any(np.abs(before) > tuning.CANCELS * np.abs(self.constant)))

    def set(self, x: Array, constant: Array, seen: Evaluation, is_fresh: bool, start: Array | None = None) -> None:
        """Go to a point where the loss is known; the predictor was computed with the constants ``start``, if given."""
        self.is_fresh = False  # also where the run is interrupted here
        self.x, self.constant, self._seen = x, constant, seen
        has_cancelled = start is not None and self.has_cancelled(start)
        self.is_fresh = is_fresh and not (has_cancelled or self.is_invariant)

    def postpone(self, x: Array, constant: Array) -> None:
        """Go to a point whose predictor is computed when it is needed."""
        self.is_fresh, self._seen = False, None
        self.x, self.constant = x, constant

    def move_to(self, x: Array, constant: Array) -> None:
        """Go to a point whose predictor is computed from it; stay here where that fails or is interrupted."""
        before = self.saved()
        try:
            self.postpone(x, constant)
            self.recompute()
        except BaseException:
            self.set(*before)
            raise

    def saved(self) -> tuple[Array, Array, Evaluation, bool]:
        """Return what ``set`` takes to come back here; whoever moves on makes other arrays."""
        return self.x, self.constant, self.seen, self.is_fresh

    @property
    def is_invariant(self) -> bool:
        """Return whether the loss is invariant to one number added to all outputs (softmax) that nothing penalises."""
        return bool(self.loss.is_coupled and (self.intercept or self.terms.unpenalised.size))
