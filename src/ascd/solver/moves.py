"""How the solver moves: to the minimum of a quadratic model on the working set, see ``model``.

A quadratic loss has one model, which is F.  For the others every step has its own, with the curvatures of the loss at
the present image: Newton's method, several steps on a working set until little is left to gain there.

A model is minimised by sweeps over the columns themselves, or by sweeps and Newton steps on their products, which must
be computed first.  Nobody knows how many sweeps it takes: so many are tried as cost what the products would cost, and
then those.  Where the first model needs products, the next ones begin with them.
"""

from __future__ import annotations

import math

import numpy as np

from ascd._base.checks import Array
from ascd.data.matrices import Dense, count_entries, input_bytes, weighted_means
from ascd.problem.problem import Problem
from ascd.solver.certificate import worst_violation
from ascd.solver.columns import ColumnModel, transposed_part
from ascd.solver.gram import Gram
from ascd.solver.model import GramModel, Outcome
from ascd.solver.proof import Proof

#: Newton steps on a working set.
MOST_STEPS = 8
#: What sweeps and products cost, in nanoseconds: a product of two entries, one entry in a sweep; the same of sparse
#: columns, and listing an entry; a visit of a coordinate; the calls from Python for products.
DENSE_PRODUCT, DENSE_ENTRY, SPARSE_PRODUCT, SPARSE_ENTRY, LISTED, VISIT, CALLS = 0.15, 1.0, 1.6, 2.0, 7.0, 20.0, 3e5
#: Sweeps that are tried at most: very small models have hard ones among them too.
MOST_TRIED = 60
#: Products with a quadratic loss are kept for the whole run, and sweeps over them may be cheaper than over columns:
#: these are tried first where they have fewer entries than so many times the products.
FEW = 2.0
#: Products are kept for so many times as many columns as the working set holds.
MOST_OTHERS = 2
#: The model of a Newton step may keep this share of the violation that it starts with.
SHARE = 0.03
#: A Gram matrix may take this share of the input's memory (and always this many bytes).
GRAM_SHARE, GRAM_FLOOR = 0.08, 8_000_000


class Moves(Proof):
    """A point with its proof, that can be improved on a set of columns."""

    is_crowded: bool

    def __init__(self, problem: Problem, x: Array, intercept: bool, constant: float, n_jobs: int) -> None:
        super().__init__(problem, x, intercept, constant, n_jobs)
        self.gram = Gram(self.parts.matrix, self.d, self.n, intercept, keeps_rows=not self.is_quadratic)
        self.largest_gram = math.isqrt(int(max(GRAM_FLOOR, GRAM_SHARE * input_bytes(self.parts.matrix))) // 8)
        self.needs_products = False
        self.outcome = Outcome(math.inf, 0, 0)

    def improve(self, columns: Array, target: float, most_sweeps: int) -> None:
        """Until these columns violate optimality by ``target`` at most, or little is gained."""
        if self.is_quadratic:
            self._go(columns, target, most_sweeps)
            self.knowledge.locate(self.slope)
            return
        left = self.steepest
        for _ in range(MOST_STEPS):
            self._go(columns, max(SHARE * left, 0.3 * target) if target else 0.0, most_sweeps)
            if self.stiffness is None:  # else the model was wrong: another from the same place
                self.knowledge.locate(self.slope)
                self.knowledge.read(columns, self.slope)
                left = float(worst_violation(self.penalty, self.x, self.knowledge.estimate, columns))
                if left <= target:
                    break

    def _go(self, columns: Array, target: float, most_sweeps: int) -> None:
        """Minimise the model at the present point, and go there."""
        self.begun = columns, self.x[columns]
        try:
            self._minimise(columns, self.model_curvatures(), target, most_sweeps)
            self.follow(*self.begun)
        except KeyboardInterrupt:
            if not self.is_quadratic:  # F may be higher at the model's minimum
                columns, before = self.begun
                self.x[columns] = before
            raise

    def _minimise(self, columns: Array, weight: Array, target: float, most_sweeps: int) -> None:
        """By sweeps over the columns, if a few are enough or there is no room for products; by products else."""
        slope, sweeps = self.slope, self._sweeps_over_columns(columns, most_sweeps)
        if sweeps:
            slope = self._sweep(columns, weight, target, sweeps)
            if sweeps == most_sweeps or self.outcome.violation <= target:
                return
        self.needs_products = True
        self._fit_gram(columns, weight)
        gradient = self._gradient(self.gram.columns, slope)
        self._begin_with(self.gram.columns)
        self.outcome = GramModel(self.penalty, self.gram, gradient, self.x).minimise(target, most_sweeps)

    def _sweeps_over_columns(self, columns: Array, most_sweeps: int) -> int:
        """As many as cost no more than the products of the columns would."""
        if self.is_crowded or columns.size > self.largest_gram:
            self.gram.keep(columns[:0])
            return most_sweeps
        if self.needs_products:
            return 0
        size, stored = columns.size, count_entries(self.parts.matrix, columns)
        if self.is_quadratic and stored > FEW * size * size:
            return 0
        if isinstance(self.parts.matrix, Dense):
            products, sweep = DENSE_PRODUCT * size * stored, DENSE_ENTRY * stored
        else:
            products, sweep = (SPARSE_PRODUCT * stored / self.d + LISTED) * stored, SPARSE_ENTRY * stored
        return min(int((products + CALLS) / (sweep + VISIT * size)), MOST_TRIED, most_sweeps - 1)

    def _sweep(self, columns: Array, weight: Array, target: float, most_sweeps: int) -> Array:
        """Sweeps over the columns themselves; the model's slope at their end."""
        if self.intercept:
            weighted_means(self.parts.matrix, columns, weight, self.means)
        model = ColumnModel(self.penalty, self.parts.matrix, columns, weight, self.means, self.slope, self.x)
        self.outcome = model.minimise(target, most_sweeps)
        self.other_reads += model.reads
        return model.slope

    def _gradient(self, columns: Array, slope: Array) -> Array:
        """The products of the columns with the model's slope: at its beginning, what is known of them."""
        if slope is self.slope:
            unread = columns[self.knowledge.radius[columns] > 0.0]
            if unread.size:
                self.knowledge.read(unread, slope)
            return self.knowledge.estimate[columns]
        gradient = np.empty(columns.size)
        transposed_part(self.parts.matrix, columns, slope, gradient)
        self.other_reads += columns.size
        return gradient

    def _begin_with(self, columns: Array) -> None:
        """The model's columns are these, more than before; where the others began, and these are."""
        fewer, before = self.begun
        values = self.x[columns]
        values[self.gram.position[fewer]] = before
        self.begun = columns, values

    def _fit_gram(self, columns: Array, weight: Array) -> None:
        """Products of these columns with these curvatures."""
        gram, joining = self.gram, columns[self.gram.position[columns] < 0]
        if not self.is_quadratic and (joining.size or gram.columns.size > MOST_OTHERS * columns.size):
            gram.clear()
            joining = columns
        if joining.size + gram.columns.size > self.largest_gram:
            gram.keep(columns)
        if self.intercept:  # for a quadratic loss the others keep theirs
            changed = joining if self.is_quadratic or joining.size else gram.columns
            weighted_means(self.parts.matrix, changed, weight, self.means)
        if joining.size:
            gram.admit(joining, weight, self.means)
        elif not self.is_quadratic:
            gram.reweigh(weight, self.means)
