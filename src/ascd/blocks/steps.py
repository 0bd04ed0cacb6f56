"""From a working set to the next point: a model is minimised, and F followed as far as it falls.

Least squares has one model, which is F, from products of columns that are kept for the whole run.  Other losses with
one output have a model a step, with their own curvatures; where outputs meet (softmax), and for working sets too
large for products, models read their columns anew in every sweep.
"""

from __future__ import annotations

import numpy as np

from ascd._base.checks import Array
from ascd.blocks import tuning
from ascd.blocks.column_model import ColumnModel
from ascd.blocks.fit import Fit
from ascd.blocks.gram_model import GramModel
from ascd.blocks.pieces import Working, blocks_cost
from ascd.blocks.products import products
from ascd.blocks.terms import fill_distances
from ascd.solver import tuning as shared
from ascd.solver.gram import Gram


class Steps:
    """Models on working sets."""

    def __init__(self, fit: Fit) -> None:
        self.fit, self.problem = fit, fit.problem
        self.is_quadratic = fit.problem.loss.is_quadratic
        self.gram = Gram(fit.problem.design, fit.intercept, keeps=False)
        self.means = np.zeros(fit.problem.n_features)

    def improve(self, working: Working, target: float, left: float) -> None:
        """Until the violation, now ``left``, is at most the target on the working set, or little is gained."""
        for _ in range(1 if self.is_quadratic else shared.MOST_MODELS):
            goal = target if self.is_quadratic else max(0.5 * target, tuning.BLOCK_MODEL_SHARE * left)
            if not self._step(working, goal):
                break
            if self.is_quadratic:
                break
            left = self._violation(working)
            if left <= target:
                break

    def _step(self, working: Working, target: float) -> bool:
        """Minimise the model at the present point, and go there; False where F did not fall."""
        fit, problem = self.fit, self.problem
        x = fit.x[working.places].copy()
        columns = problem.groups.order[working.places]
        by_products = self.is_quadratic or (working.outputs == 1 and not problem.loss.is_coupled)
        if by_products and columns.size <= tuning.LARGEST_GRAM:
            weight = fit.seen.curvature.most.copy()
            gram = self._products(columns, weight)
            gradient = products(problem.design, columns, fit.slope)
            GramModel(fit.penalty, working, gram, gradient, x).minimise(target)
            shift = -self.means[columns] @ (x - fit.x[working.places]) if fit.intercept else np.zeros(working.outputs)
        else:
            model = ColumnModel(
                fit.penalty, problem.design, columns, working, fit.seen.curvature, fit.slope, x, fit.intercept
            )
            model.minimise(target)
            fit.reads += model.reads
            shift = model.shift
        return self._follow(working, x, shift)

    def _products(self, columns: Array, weight: Array) -> Array:
        """Products of these columns; kept where curvatures never change."""
        gram, fit = self.gram, self.fit
        if not self.is_quadratic:
            gram.clear()
        joining = columns[gram.position[columns] < 0]
        if joining.size + gram.columns.size > tuning.LARGEST_GRAM:
            gram.keep(columns)
        if fit.intercept and joining.size:
            self.means[joining] = self.problem.design.means(joining, weight)
        if joining.size:
            gram.admit(joining, weight, self.means)
            waiting = np.flatnonzero(~gram.known[: gram.columns.size])
            if waiting.size:
                gram.learn(waiting)
        positions = gram.position[columns]
        return np.ascontiguousarray(gram.store[np.ix_(positions, positions)])

    def _follow(self, working: Working, x: Array, shift: Array) -> bool:
        """Go from the present point to x, or as far as F falls."""
        fit, places = self.fit, working.places
        before = fit.x[places]
        change = x - before
        if not (change.any() or np.any(shift)) or not (np.isfinite(change).all() and np.isfinite(shift).all()):
            return False
        return self._search(working, x, fit.direction(places, change) + shift, shift)

    def _search(self, working: Working, x: Array, direction: Array, shift: Array) -> bool:
        """Halve the step until F falls by a share of what its slope promises."""
        fit, loss = self.fit, self.problem.loss
        before, start = fit.x[working.places].copy(), fit.seen.value
        cost = self._cost(working, before)
        promised = float(np.vdot(fit.slope, direction)) + self._cost(working, x) - cost
        rounding = tuning.UNSEEN_FALL * (abs(start) + abs(cost))
        length, image, constant = 1.0, fit.image, fit.constant
        for _ in range(tuning.MOST_HALVINGS):
            there = x if length == 1.0 else before + length * (x - before)
            fit.image, fit.constant = image + length * direction, constant + length * shift
            if fit.intercept:
                fit.constant = fit.constant + loss.balance(fit.image)
            seen = loss.look(fit.image)
            fall = seen.value - start + self._cost(working, there) - cost
            is_seen = -length * promised > rounding
            if fall <= (shared.ENOUGH_FALL * length * promised if is_seen else rounding):
                fit.seen = seen
                fit.x[working.places] = there
                return True
            length *= 0.5
        fit.image, fit.constant = image, constant
        return False

    def _cost(self, working: Working, x: Array) -> float:
        return float(blocks_cost(self.fit.penalty, working.blocks, working.starts, x.ravel(), working.outputs))

    def _violation(self, working: Working) -> float:
        """The largest violation on the working set, at the present slope."""
        fit, problem = self.fit, self.problem
        gradient = np.zeros(fit.x.shape)
        gradient[working.places] = products(problem.design, problem.groups.order[working.places], fit.slope)
        fit.reads += working.places.size
        room = np.empty(problem.groups.count)
        return float(fill_distances(fit.penalty, fit.x.ravel(), gradient.ravel(), problem.ends, working.blocks, room))
