"""How the solver moves: to the minimum of a model on the working set, as far as F itself falls.

A quadratic loss has one model, which is F.  For the others every step has its own, with the curvatures H of the loss at
the present image: Newton's method, several steps on a working set until little is left to gain there.

Where F falls too little at the model's minimum, some samples have left the range in which their H holds.  What they did
on the way tells a better number: the tangents of sample k's loss at both ends of the step d meet above it, and

    w = (f'(z + d) − f'(z))² / (2·D),      D = f(z) − f(z + d) + f'(z + d)·d,

is the curvature of the parabola that touches the loss at z and the tangent at z + d.  For a parabola w = f'', for any
loss w is at most the bound of f''; a sample far on the wrong side gets w = 1/(2·distance).  The next model takes the
larger of H and w (``stiffness``).  After a few of those the step is shortened, and all curvatures are raised
(``damping``) until models are believed again.
"""

from __future__ import annotations

import math

import numpy as np

from ascd._checks import Array
from ascd.matrices import add_columns, input_bytes, weighted_means
from ascd.problem import Problem
from ascd.solver.certificate import worst_violation
from ascd.solver.columns import ColumnModel
from ascd.solver.gram import Gram
from ascd.solver.model import GramModel
from ascd.solver.proof import Proof
from ascd.solver.samples import cost_of, stiffen
from ascd.solver.state import ROUNDING, Trial

#: Newton steps on a working set.
MOST_STEPS = 8
#: Products are kept for so many times as many columns as the working set holds.
MOST_OTHERS = 2
#: The model of a Newton step may keep this share of the violation that it starts with.
SHARE = 0.03
#: Models with stiffer samples before a step is shortened; none where curvatures have no bound (exp far out).
MOST_TRIES = 3
#: A step must keep this share of the fall that the model promised.
ENOUGH_FALL = 1e-4
SMALLEST_STEP = 1e-14
#: A step that was too long is shortened by a factor between these.
SHORTEST, LONGEST = 0.1, 0.5
#: Where the model promises a fall that is hardly seen, the slopes at both ends of a step tell it better than the
#: difference of two sums.
HARDLY_SEEN = 1e-9
#: The model of a quadratic loss is F itself; where F rises by more than this share of it, its products are worthless.
WORTHLESS = 1e-3
#: A Gram matrix may take this share of the input's memory (and always this many bytes).
GRAM_SHARE, GRAM_FLOOR = 0.18, 16_000_000


class Moves(Proof):
    """A point with its proof, that can be improved on a set of columns."""

    is_crowded: bool

    def __init__(self, problem: Problem, x: Array, intercept: bool, constant: float, n_jobs: int) -> None:
        super().__init__(problem, x, intercept, constant, n_jobs)
        self.gram = Gram(self.parts.matrix, self.d, self.n, intercept, keeps_rows=not self.is_quadratic)
        self.largest_gram = math.isqrt(int(max(GRAM_FLOOR, GRAM_SHARE * input_bytes(self.parts.matrix))) // 8)
        bound = self.parts.loss.curvature_bound()
        self.typical_curvature = float(np.mean(self.parts.sample.weight)) * (bound if math.isfinite(bound) else 1.0)
        self.damping, self.tries, self.most_tries = 1e-6, 0, MOST_TRIES if math.isfinite(bound) else 0
        self.stiffness: Array | None = None

    def improve(self, columns: Array, target: float, most_sweeps: int) -> None:
        """Until these columns violate optimality by ``target`` at most, or little is gained."""
        if self.is_quadratic:
            self._go(columns, self.curvature, target, most_sweeps)
            self.knowledge.locate(self.slope)
            return
        left = self.steepest
        for _ in range(MOST_STEPS):
            self._go(columns, self._weight(), max(SHARE * left, 0.3 * target) if target else 0.0, most_sweeps)
            if self.stiffness is None:  # else the model was wrong: another from the same place
                self.knowledge.locate(self.slope)
                self.knowledge.read(columns, self.slope)
                left = float(worst_violation(self.penalty, self.x, self.knowledge.estimate, columns))
                if left <= target:
                    break

    def _weight(self) -> Array:
        """The curvatures of the next model."""
        weight = self.curvature + self.damping * self.typical_curvature
        return weight if self.stiffness is None else np.maximum(weight, self.stiffness)

    def _go(self, columns: Array, weight: Array, target: float, most_sweeps: int) -> None:
        """Minimise the model with these curvatures, and go there."""
        if not self.is_crowded and self._fit_gram(columns, weight):
            columns = self.gram.columns
            unread = columns[self.knowledge.radius[columns] > 0.0]
            if unread.size:
                self.knowledge.read(unread, self.slope)
            gradient = self.knowledge.estimate[columns]
            self._follow(GramModel(self.penalty, self.gram, gradient, self.x), columns, target, most_sweeps)
        else:
            self.gram.keep(columns[:0])
            if self.intercept:
                weighted_means(self.parts.matrix, columns, weight, self.means)
            model = ColumnModel(self.penalty, self.parts.matrix, columns, weight, self.means, self.slope, self.x)
            self._follow(model, columns, target, most_sweeps)
            self.other_reads += model.reads

    def _fit_gram(self, columns: Array, weight: Array) -> bool:
        """Products of these columns with these curvatures, if there is room for them."""
        gram, joining = self.gram, columns[self.gram.position[columns] < 0]
        if not self.is_quadratic and (joining.size or gram.columns.size > MOST_OTHERS * columns.size):
            gram.clear()
            joining = columns
        if joining.size + gram.columns.size > self.largest_gram:
            gram.keep(columns)
        if joining.size + gram.columns.size > self.largest_gram:
            return False
        if self.intercept:  # for a quadratic loss the others keep theirs
            changed = joining if self.is_quadratic or joining.size else gram.columns
            weighted_means(self.parts.matrix, changed, weight, self.means)
        if joining.size:
            gram.admit(joining, weight, self.means)
        elif not self.is_quadratic:
            gram.reweigh(weight, self.means)
        return True

    def _follow(self, model: GramModel | ColumnModel, columns: Array, target: float, most_sweeps: int) -> None:
        before = self.x[columns]
        try:
            self.outcome = model.minimise(target, most_sweeps)
            change = self.x[columns] - before
            self.other_reads += int(np.count_nonzero(change))
            if self.is_quadratic:
                self._step(columns, before, change)
            else:
                self._search(columns, before, change)
        except KeyboardInterrupt:
            if not self.is_quadratic:  # F may be higher at the model's minimum
                self.x[columns] = before
            raise

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
        """Along the change as far as F falls; where the whole is too far, stiffer samples for the next model first."""
        drift = float(self.means[columns] @ change)  # the intercept follows the columns
        direction = np.full(self.d, -drift)
        add_columns(self.parts.matrix, columns, change, direction)
        slope, there, new_cost = float(self.slope @ direction), self.x[columns], self._cost(columns)
        self.x[columns] = before
        old_cost = self._cost(columns)
        promised = slope + new_cost - old_cost
        size = abs(self.loss_sum) + abs(old_cost)
        noise = ROUNDING * (4.0 + math.sqrt(self.d)) * size
        allowed = noise if -promised <= noise else 0.0
        t = 1.0
        while t >= SMALLEST_STEP:
            self.x[columns] = there if t == 1.0 else np.clip(before + t * change, *np.sort([before, there], axis=0))
            trial = self.try_out(direction, t)
            end_slope = float(trial.slope @ direction)
            fall = trial.loss - self.loss_sum
            if -promised <= HARDLY_SEEN * size:
                fall = min(fall, 0.5 * t * (slope + end_slope))
            fall += self._cost(columns) - old_cost
            if fall <= ENOUGH_FALL * t * promised + allowed:
                self.accept(trial, -t * drift)
                break
            if t == 1.0 and self.tries < self.most_tries:
                self._stiffen(trial)
                self.x[columns] = before
                return
            rise = end_slope - slope  # a straight line from the slope promised to the one at the end has its zero here:
            t *= min(max(-promised / rise, SHORTEST), LONGEST) if rise > 0.0 else LONGEST
        else:
            t = 0.0
            self.x[columns] = before
        self.stiffness, self.tries = None, 0
        self.damping = max(4.0 * self.damping, 1e-3) if t < 1.0 else max(0.25 * self.damping, 1e-10)

    def _stiffen(self, trial: Trial) -> None:
        if self.stiffness is None:
            self.stiffness = np.zeros(self.d)
        self.tries += 1
        stiffen(self.parts.sample, self.parts.loss, self.image, trial.image, self.slope, trial.slope, self.stiffness)

    def _cost(self, columns: Array) -> float:
        return float(cost_of(self.penalty, columns, self.x))
