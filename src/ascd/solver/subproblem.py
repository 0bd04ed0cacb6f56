"""The subproblem on a working set: minimise a quadratic model there, and go to its minimum.

A quadratic loss has one model, which is F.  For the others every step has its own, with the curvatures of the loss at
the present image: Newton's method, several steps on a working set until little is left to gain there.

A model is minimised by sweeps over the columns themselves, or by sweeps and Newton steps on their products, which must
be computed first.  Nobody knows how many sweeps it takes: so many are tried as cost what the products would cost, and
then those.  Where the first model needs products, the next ones begin with them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd.matrix.base import DataGone, KeptProducts, Multiplied
from ascd.solver import tuning
from ascd.solver.column_model import ColumnModel
from ascd.solver.fit import Fit
from ascd.solver.following import Follower
from ascd.solver.gradient_bounds import GradientBounds
from ascd.solver.gram import Gram
from ascd.solver.gram_model import GramModel
from ascd.solver.large_model import LargeModel, minimise_refined
from ascd.solver.screening import worst_violation


class Task(NamedTuple):
    """A working set, the violation that it may keep, and the sweeps it may take.

    ``by_columns`` rules products out: there are too many columns.
    """

    columns: Array
    target: float
    most_sweeps: int
    by_columns: bool = False


class Subproblem:
    """Models on working sets; products of columns are kept from one to the next."""

    def __init__(self, fit: Fit, bounds: GradientBounds, follower: Follower) -> None:
        self.fit, self.bounds, self.follower = fit, bounds, follower
        self.is_quadratic = fit.samples.is_quadratic
        self.gram = Gram(fit.design, fit.intercept, keeps=not self.is_quadratic)
        self.there = fit.design.kept_products(fit.intercept, self.gram.multiplier.constant)
        room = tuning.GRAM_SHARE * fit.design.nbytes if self.there is None else self.there.room
        self.largest_gram = math.isqrt(int(max(tuning.GRAM_FLOOR, room)) // 8)
        self.needs_products = False
        self.largest_here = tuning.LARGEST_HOST_MODEL

    def improve(self, task: Task, left: float) -> None:
        """Until the violation, now ``left``, is at most the target on the working set, or little is gained."""
        fit, bounds = self.fit, self.bounds
        for _ in range(self.follower.most_models):
            is_right = self._step(task, self.follower.goal(left, task.target))
            if not is_right:  # another model from the same place
                continue
            bounds.locate(fit.slope)
            if self.is_quadratic:
                break
            self._read_after_step(task.columns)
            left = float(worst_violation(fit.penalty, fit.x, bounds.estimate, task.columns))
            if left <= task.target:
                break

    def _read_after_step(self, columns: Array) -> None:
        """Exact entries where the step has led; where a round is dear, all of them and what the next model needs."""
        fit = self.fit
        if not fit.design.in_rounds:
            self.bounds.read(columns, fit.slope)
            return
        fit.design.expect(self.gram.columns, self.follower.curvatures())
        self.bounds.read_all(fit.slope)

    def _step(self, task: Task, target: float) -> bool:
        """Minimise the model at the present point, and go there."""
        self.begun = task.columns, self.fit.x[task.columns]
        try:
            self._minimise(task, self.follower.curvatures(), target)
            return self.follower.follow(*self.begun)
        except KeyboardInterrupt:
            self.follower.interrupted(*self.begun)
            if self.there is not None and not self.there.is_exact:  # F may be higher than the model says
                self._go_back()
            raise
        except DataGone:  # the image cannot follow any more
            self._go_back()
            raise

    def _go_back(self) -> None:
        columns, before = self.begun
        self.fit.x[columns] = before

    def _minimise(self, task: Task, weight: Array, target: float) -> None:
        """By sweeps over the columns, if a few are enough or there is no room for products; by products else."""
        fit = self.fit
        if self.there is not None and (task.by_columns or task.columns.size > self.largest_here):
            self._minimise_there(self.there, task, weight, target)
            return
        slope, sweeps = fit.slope, self._sweeps_over_columns(task)
        if sweeps:
            slope, violation = self._sweep(task.columns, weight, target, sweeps)
            if sweeps == task.most_sweeps or violation <= target:
                return
        self.needs_products = True
        self._fit_gram(task.columns, weight)
        gradient = self._gradient(self.gram.columns, slope)
        self._begin_with(self.gram.columns)
        GramModel(fit.penalty, self.gram, gradient, fit.x).minimise(target, task.most_sweeps)

    def _minimise_there(self, there: KeptProducts, task: Task, weight: Array, target: float) -> None:
        """By products that stay where the data are, or by passes over the columns where there is no room for those."""
        fit, columns = self.fit, task.columns
        self.gram.clear()
        if task.by_columns or columns.size > self.largest_gram:
            there.clear()
            fit.weigh_means(columns, weight)
            how = tuning.CG_ACCURACY, tuning.MOST_CG_STEPS
            passes = there.by_passes(columns, weight, fit.means, *how)
            self._large_model(passes).minimise(target, task.most_sweeps)
            fit.reads += passes.reads
            return
        joining = columns[there.position[columns] < 0]
        if not self.is_quadratic:
            there.clear()
            joining = columns
        elif joining.size + there.columns.size > self.largest_gram:
            there.keep(columns)
        if joining.size:
            fit.weigh_means(joining, weight)
            there.admit(joining, weight, fit.means)
        self._minimise_products(there, task, weight, target)

    def _minimise_products(self, there: KeptProducts, task: Task, weight: Array, target: float) -> None:
        """Where they are; a hard model by sweeps here, or by exact products where it is too large to come."""
        model, columns = self._large_model(there), there.columns
        may_come = columns.size <= tuning.LARGEST_FETCHED
        steps = min(task.most_sweeps, tuning.MOST_STEPS_THERE) if may_come else task.most_sweeps
        if there.is_exact:
            is_done = model.minimise(target, steps).violation <= target
        else:
            is_done = minimise_refined(model, there, target, steps)
        if is_done or (there.is_exact and not may_come):
            return
        slopes = model.state.gradient
        self.fit.weigh_means(columns, weight)
        if may_come:
            there.clear()
            self.largest_here = tuning.LARGEST_FETCHED
            self._fit_gram(columns, weight)
            ordered = np.empty(columns.size)
            ordered[self.gram.position[columns]] = slopes
            GramModel(self.fit.penalty, self.gram, ordered, self.fit.x).minimise(target, task.most_sweeps)
        else:
            there.widen()
            there.admit(columns, weight, self.fit.means)
            LargeModel(self.fit.penalty, there, slopes, self.fit.x).minimise(target, task.most_sweeps)

    def _large_model(self, products: Multiplied) -> LargeModel:
        fit, columns = self.fit, products.columns
        gradient = self._gradient(columns, fit.slope)
        self.begun = columns, fit.x[columns]
        return LargeModel(fit.penalty, products, gradient, fit.x)

    def _sweeps_over_columns(self, task: Task) -> int:
        """As many as cost no more than the products of the columns would."""
        columns, design = task.columns, self.fit.design
        if task.by_columns or columns.size > self.largest_gram:
            self.gram.keep(columns[:0])
            return task.most_sweeps
        if self.needs_products:
            return 0
        if self.is_quadratic and design.entries(columns) > tuning.FEW_ENTRIES * columns.size * columns.size:
            return 0
        affordable = int(design.products_price(columns) / design.sweep_price(columns))
        return min(affordable, tuning.MOST_TRIED, task.most_sweeps - 1)

    def _sweep(self, columns: Array, weight: Array, target: float, most_sweeps: int) -> tuple[Array, float]:
        """Sweeps over the columns themselves; the model's slope at their end, and the violation left."""
        fit = self.fit
        fit.weigh_means(columns, weight)
        model = ColumnModel(fit.penalty, fit.design, columns, weight, fit.means, fit.slope, fit.x)
        outcome = model.minimise(target, most_sweeps)
        fit.reads += model.reads
        return model.slope, outcome.violation

    def _gradient(self, columns: Array, slope: Array) -> Array:
        """The products of the columns with the model's slope: at its beginning, what is known of them."""
        if slope is self.fit.slope:
            unread = columns[self.bounds.radius[columns] > 0.0]
            if unread.size:
                self.bounds.read(unread, slope)
            return self.bounds.estimate[columns]
        self.fit.reads += columns.size
        return self.fit.design.dots(columns, slope)

    def known_products(self, columns: Array) -> tuple[Array, Array]:
        """Let the products of these columns be known; all columns they are known of, and their gradient entries."""
        self.needs_products = True
        self._fit_gram(columns, self.follower.curvatures())
        return self.gram.columns, self._gradient(self.gram.columns, self.fit.slope)

    def _begin_with(self, columns: Array) -> None:
        """The model has these columns, more than the working set: those begin where they are."""
        fewer, before = self.begun
        values = self.fit.x[columns]
        values[self.gram.position[fewer]] = before
        self.begun = columns, values

    def _fit_gram(self, columns: Array, weight: Array) -> None:
        """Products of these columns with these curvatures."""
        gram, joining = self.gram, columns[self.gram.position[columns] < 0]
        if not self.is_quadratic and (joining.size or gram.columns.size > tuning.MOST_OTHERS * columns.size):
            gram.clear()
            joining = columns
        if joining.size + gram.columns.size > self.largest_gram:
            gram.keep(columns)
        # for a quadratic loss the others keep their means
        self.fit.weigh_means(joining if self.is_quadratic or joining.size else gram.columns, weight)
        if joining.size:
            gram.admit(joining, weight, self.fit.means)
        elif not self.is_quadratic:
            gram.reweigh(weight, self.fit.means)
