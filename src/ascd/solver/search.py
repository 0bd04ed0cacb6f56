"""Going towards a model's minimum, as far as F itself falls.

The model of a quadratic loss is F.  For other losses F may fall less than the model promised, because some samples have
left the range in which their curvature H holds.  What they did on the way tells a better number: the tangents of sample
k's loss at both ends of the step d meet above it, and

    w = (f'(z + d) − f'(z))² / (2·D),      D = f(z) − f(z + d) + f'(z + d)·d,

is the curvature of the parabola that touches the loss at z and the tangent at z + d.  For a parabola w = f'', for any
loss w is at most the bound of f''; a sample far on the wrong side gets w = 1/(2·distance).  The next model takes the
larger of H and w (``stiffness``).  After a few of those the step is shortened, and all curvatures are raised
(``damping``) until models are believed again.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ascd._base.checks import Array
from ascd.data.matrices import add_columns
from ascd.problem.problem import Problem
from ascd.solver.samples import cost_of, stiffen
from ascd.solver.state import ROUNDING, State, Trial

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


class Line(NamedTuple):
    """A step that a model proposes, from ``before`` to ``end`` on some columns; it adds ``direction`` to Ax + c.

    At its beginning the losses have the ``slope``, the penalties the ``cost``, F about the ``size``; F would change by
    ``promised`` if slopes stayed as they are.  ``drift`` is the intercept's part: it follows the columns.
    """

    columns: Array
    before: Array
    end: Array
    direction: Array
    drift: float
    slope: float
    cost: float
    promised: float
    size: float

    def point(self, t: float) -> Array:
        """The coordinates after the share t of the step; rounding must not lead beyond its ends."""
        if t == 1.0:
            return self.end
        there: Array = self.before + t * (self.end - self.before)
        return np.clip(there, np.minimum(self.before, self.end), np.maximum(self.before, self.end))


class Search(State):
    """A state that moves; ``damping`` is in units of ``typical_curvature``."""

    def __init__(self, problem: Problem, x: Array, intercept: bool, constant: float) -> None:
        super().__init__(problem, x, intercept, constant)
        bound = self.parts.loss.curvature_bound()
        self.typical_curvature = float(np.mean(self.parts.sample.weight)) * (bound if math.isfinite(bound) else 1.0)
        self.damping, self.tries, self.most_tries = 1e-6, 0, MOST_TRIES if math.isfinite(bound) else 0
        self.stiffness: Array | None = None

    def model_curvatures(self) -> Array:
        """H for the next model: the loss's own, damped and stiffer where it has disappointed."""
        if self.is_quadratic:
            return self.curvature
        weight = self.curvature + self.damping * self.typical_curvature
        return weight if self.stiffness is None else np.maximum(weight, self.stiffness)

    def follow(self, columns: Array, before: Array) -> None:
        """From ``before`` to x on these columns, or as far as F falls."""
        change = self.x[columns] - before
        self.other_reads += int(np.count_nonzero(change))
        if self.is_quadratic:
            self._step(columns, before, change)
        else:
            self._search(columns, before, change)

    def _step(self, columns: Array, before: Array, change: Array) -> None:
        old_loss, old_cost = self.loss_sum, cost_of(self.penalty, columns, before)
        new_cost = cost_of(self.penalty, columns, self.x[columns])
        add_columns(self.parts.matrix, columns, change, self.image)
        self.look()
        rise = self.loss_sum - old_loss + new_cost - old_cost
        if not rise <= WORTHLESS * (abs(old_loss) + abs(old_cost)):
            self.x[columns] = before
            self.recompute_image()

    def _search(self, columns: Array, before: Array, change: Array) -> None:
        """Along the change as far as F falls; where the whole is too far, stiffer samples for the next model first."""
        line = self._line(columns, before, change)
        self.x[columns] = before
        t = 1.0
        while t >= SMALLEST_STEP:
            trial, there = self.try_out(line.direction, t), line.point(t)
            end_slope = float(trial.slope @ line.direction)
            if self._falls_enough(line, t, trial.loss, end_slope, there):
                self.accept(trial, -t * line.drift)
                self.x[columns] = there
                break
            if t == 1.0 and self.tries < self.most_tries:
                self._stiffen(trial)
                return
            # where a straight line from the slope promised to the one at the end has its zero
            rise = end_slope - line.slope
            t *= min(max(-line.promised / rise, SHORTEST), LONGEST) if rise > 0.0 else LONGEST
        else:
            t = 0.0
        self.stiffness, self.tries = None, 0
        self.damping = max(4.0 * self.damping, 1e-3) if t < 1.0 else max(0.25 * self.damping, 1e-10)

    def _line(self, columns: Array, before: Array, change: Array) -> Line:
        end, drift = self.x[columns], float(self.means[columns] @ change)
        direction = np.full(self.d, -drift)
        add_columns(self.parts.matrix, columns, change, direction)
        slope, cost = float(self.slope @ direction), float(cost_of(self.penalty, columns, before))
        promised = slope + float(cost_of(self.penalty, columns, end)) - cost
        return Line(columns, before, end, direction, drift, slope, cost, promised, abs(self.loss_sum) + abs(cost))

    def _falls_enough(self, line: Line, t: float, loss: float, end_slope: float, there: Array) -> bool:
        """Has F kept a share of the fall that was promised?  F is a sum with rounding errors, which are forgiven."""
        fall = loss - self.loss_sum
        if -line.promised <= HARDLY_SEEN * line.size:
            fall = min(fall, 0.5 * t * (line.slope + end_slope))
        fall += float(cost_of(self.penalty, line.columns, there)) - line.cost
        noise = ROUNDING * (4.0 + math.sqrt(self.d)) * line.size
        return fall <= ENOUGH_FALL * t * line.promised + (noise if -line.promised <= noise else 0.0)

    def _stiffen(self, trial: Trial) -> None:
        if self.stiffness is None:
            self.stiffness = np.zeros(self.d)
        self.tries += 1
        stiffen(self.parts.sample, self.parts.loss, self.image, trial.image, self.slope, trial.slope, self.stiffness)
