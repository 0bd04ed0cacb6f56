"""From a working set to the next point: a model is minimised, and F followed as far as it falls.

Least squares has one model, which is F, from products of columns that are kept for the whole run.  Other losses with
one output have a model a step, with their own curvatures; where outputs meet (softmax), and for working sets too
large for products, models read their columns anew in every sweep.

Where F does not fall at a model's minimum, or there is none because samples have no curvature (Huber's loss far from
its target), curvatures are damped: a share of the loss's largest is added, more after every failure; with all of it
the model is never below F.  After steps that go all the way the share becomes smaller again, and then 0.  Softmax is
curved everywhere, and is not damped.
"""

from __future__ import annotations

import math

import numpy as np

from ascd._core.checks import Array
from ascd.blocks import tuning
from ascd.blocks.column_model import ColumnModel
from ascd.blocks.coupled_gram import coupled_gram, flat, without_constants
from ascd.blocks.fit import Fit
from ascd.blocks.gram_model import GramModel
from ascd.blocks.largest import Largest
from ascd.blocks.pieces import Working, blocks_cost, largest_distance
from ascd.problem.losses.outputs import Curvature
from ascd.problem.products import products
from ascd.solver import tuning as shared
from ascd.solver.gram import Gram


class Steps:
    """Models on working sets."""

    def __init__(self, fit: Fit) -> None:
        self.fit, self.problem = fit, fit.problem
        self.is_quadratic = fit.problem.loss.is_quadratic
        self.gram = Gram(fit.problem.design, fit.intercept, keeps=False)
        self.largest = Largest(fit.problem.design, fit.problem.groups.count, self.is_quadratic)
        self.means = np.zeros(fit.problem.n_features)
        self.damping = 0.0
        bound = fit.problem.loss.bound
        self.typical = fit.problem.weight * (bound if math.isfinite(bound) else 1.0)

    def improve(self, working: Working, gradient: Array, target: float, left: float) -> None:
        """Until the violation, now ``left``, is at most the target on the working set, or little is gained."""
        if self.is_quadratic:
            self._step(working, gradient, target)
            return
        for _ in range(shared.MOST_MODELS):
            length = self._step(working, gradient, self._model_target(working, target, left))
            is_damped = 0.0 < self.damping <= 1.0
            if math.isnan(length) or (length == 0.0 and not is_damped):
                break
            if length > 0.0:
                left, gradient = self._violation(working)
                if left <= target:
                    break

    def _model_target(self, working: Working, target: float, left: float) -> float:
        """The violation that a model may keep; where its matrix is most of the work, little."""
        if self._is_for_one_matrix(working):
            return tuning.COUPLED_MODEL_SHARE * max(target, tuning.BLOCK_MODEL_SHARE * left)
        return max(0.5 * target, tuning.BLOCK_MODEL_SHARE * left)

    def _step(self, working: Working, gradient: Array, target: float) -> float:
        """Minimise the model at the present point, and go there as far as F falls: the share of the way.

        It is nan where the model's minimum is here.
        """
        fit, problem = self.fit, self.problem
        x = fit.x[working.places].copy()
        columns, curvature = problem.groups.order[working.places], self._damped()
        if self._is_for_products(working) or self._is_off_centre(working, columns, curvature.most):
            gram = self._products(columns, curvature.most)
            lipschitz = self.largest.of_gram(working, gram)
            GramModel(fit.penalty, working, gram, lipschitz, gradient, x).minimise(target)
            shift = -self.means[columns] @ (x - fit.x[working.places]) if fit.intercept else np.zeros(working.outputs)
        elif self._is_for_one_matrix(working):
            shift = self._by_one_matrix(working, columns, curvature, gradient, x, target)
        else:
            lipschitz = self.largest.of_columns(working, columns, curvature.most)
            model = ColumnModel(
                fit.penalty, problem.design, columns, working, lipschitz, curvature, fit.slope, x, fit.intercept
            )
            model.minimise(target)
            fit.reads += model.reads
            shift = model.shift
        length = self._follow(working, x, shift)
        if not self.problem.loss.is_coupled:
            self._damp(length)
        return length

    def _damp(self, length: float) -> None:
        """More where the step was cut short, less where it went all the way."""
        if length < 1.0:
            more = max(shared.MORE_DAMPING * self.damping, shared.LEAST_AFTER_FAILURE)
            self.damping = min(more, shared.MORE_DAMPING)
        else:
            less = shared.LESS_DAMPING * self.damping
            self.damping = less if less > shared.DAMPING else 0.0

    def _damped(self) -> Curvature:
        """The loss's own curvatures, and a share of the largest it can have."""
        own, between, most = self.fit.seen.curvature
        if self.damping == 0.0:
            return Curvature(own, between, most.copy())
        more = self.damping * self.typical
        return Curvature(own + more[:, None], between, most + more)

    def _is_for_products(self, working: Working) -> bool:
        """Do outputs share their curvatures, and is a matrix of products small, beside the columns too?"""
        wide = tuning.WIDE if working.outputs == 1 else tuning.WIDE_SEVERAL
        return self._shares(working) and working.places.size <= min(tuning.LARGEST_GRAM, wide * self.problem.n_samples)

    def _shares(self, working: Working) -> bool:
        """Do outputs share their curvatures?"""
        return self.is_quadratic or (working.outputs == 1 and not self.problem.loss.is_coupled)

    def _is_off_centre(self, working: Working, columns: Array, weight: Array) -> bool:
        """Are columns little but their means, beside an intercept?

        Sweeps that read them take turns with the intercept and hardly move; products are those of columns less means.
        """
        design = self.problem.design
        if not self.fit.intercept or not self._shares(working) or columns.size > tuning.OFF_CENTRE_COLUMNS:
            return False
        if design.is_dear:  # every look at the columns counts
            return False
        means, squares = design.means(columns, weight), design.squares(weight, columns)
        return bool((squares - weight.sum() * means**2 < tuning.OFF_CENTRE * squares).any())

    def _is_for_one_matrix(self, working: Working) -> bool:
        """Where outputs meet: are coefficients so few that a matrix of them all is cheaper than sweeps over columns?"""
        return self.problem.loss.is_coupled and working.places.size * working.outputs <= tuning.LARGEST_COUPLED

    def _by_one_matrix(
        self, working: Working, columns: Array, curvature: Curvature, gradient: Array, x: Array, target: float
    ) -> Array:
        """Minimise the model by one matrix of all coefficients, which move; the change of the constants."""
        fit, all_of_them, before = self.fit, flat(working), x.copy()
        gram = coupled_gram(self.problem.design.take(columns), curvature, fit.intercept)
        fit.reads += columns.size
        constants = np.zeros((working.outputs, x.size))
        if fit.intercept:
            gram, constants = without_constants(gram, working.outputs)
        lipschitz = self.largest.of_gram(all_of_them, gram)
        model = GramModel(fit.penalty, all_of_them, gram, lipschitz, gradient.reshape(-1, 1).copy(), x.reshape(-1, 1))
        model.minimise(target)
        shift: Array = constants @ (x - before).ravel()
        return shift

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
        if joining.size == columns.size == gram.store.shape[0]:  # all of them, in their order
            return gram.store.T
        return np.ascontiguousarray(gram.store[np.ix_(positions, positions)])

    def _follow(self, working: Working, x: Array, shift: Array) -> float:
        """Go from the present point to x, or as far as F falls; the share of the way, nan where there is none."""
        fit = self.fit
        change = x - fit.x[working.places]
        if not (change.any() or np.any(shift)):
            return math.nan
        if not (np.isfinite(change).all() and np.isfinite(shift).all()):
            return 0.0
        # all that is not 0 is in the working set: the image from x itself costs no more than that of the change
        image = fit.image_of(working.places, x) + (fit.constant + shift)
        return self._search(working, x, image, shift)

    def _search(self, working: Working, x: Array, there: Array, shift: Array) -> float:
        """Halve the step to x, whose image is ``there``, until F falls by a share of what its slope promises."""
        fit, before = self.fit, self.fit.x[working.places].copy()
        start, cost, direction = fit.seen.value, self._cost(working, before), there - fit.image
        there_cost = self._cost(working, x)
        promised = float(np.vdot(fit.slope, direction)) + there_cost - cost
        rounding = tuning.UNSEEN_FALL * (abs(start) + abs(cost))
        length, image, constant = 1.0, fit.image, fit.constant
        for _ in range(tuning.MOST_HALVINGS):
            point = x if length == 1.0 else before + length * (x - before)
            fit.image = there if length == 1.0 else image + length * direction
            fit.constant = constant + length * shift
            if fit.intercept:
                fit.constant = fit.constant + self.problem.loss.balance(fit.image)
            seen = self.problem.loss.look(fit.image)
            fall = seen.value - start + (there_cost if length == 1.0 else self._cost(working, point)) - cost
            is_seen = -length * promised > rounding
            if fall <= (shared.ENOUGH_FALL * length * promised if is_seen else rounding):
                is_fresh = length == 1.0 and not fit.is_shifted and not fit.has_cancelled(constant + shift)
                fit.is_fresh, fit.seen = False, seen  # also where the run is interrupted here
                fit.set(working, point)
                fit.is_fresh = is_fresh
                return length
            length *= 0.5
        fit.image, fit.constant = image, constant
        return 0.0

    def _cost(self, working: Working, x: Array) -> float:
        return float(blocks_cost(self.fit.penalty, working.blocks, working.starts, x.ravel(), working.outputs))

    def _violation(self, working: Working) -> tuple[float, Array]:
        """The largest violation on the working set at the present slope, and the gradient there."""
        fit, problem = self.fit, self.problem
        found = products(problem.design, problem.groups.order[working.places], fit.slope)
        fit.reads += working.places.size
        violation = largest_distance(
            fit.penalty, working.blocks, working.starts, fit.x[working.places].ravel(), found.ravel(), working.outputs
        )
        return float(violation), found
