"""From a model's minimum to the next point: exactly for quadratic losses, by a line search for the others.

The model of a quadratic loss is F.  For other losses F may fall less than the model promised, because some samples have
left the range in which their curvature H holds.  What they did on the way tells a better number: the tangents of sample
k's loss at both ends of the step d meet below it, and

    w = (f'(z + d) − f'(z))² / (2·D),      D = f(z) − f(z + d) + f'(z + d)·d,

is the curvature of the parabola that touches the loss at z and the tangent at z + d.  For a parabola w = f'', for any
loss w is at most the bound of f''; a sample far on the wrong side gets w = 1/(2·distance).  The next model takes the
larger of H and w (``secants``).  After a few of those the step is shortened, and all curvatures are raised
(``damping``) until models are believed again.  Of a step that led very far secants hold back all samples on the way:
where F then falls by a small part of what the first model promised, the next step is shortened instead.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

from ascd._core.checks import Array
from ascd.matrix.arithmetic import elementwise
from ascd.solver import tuning
from ascd.solver.fit import Fit, Trial
from ascd.solver.samples import cost_of


class Follower(Protocol):
    """How the fit goes to a model's minimum."""

    #: Models on one working set, at most.
    most_models: int

    def curvatures(self) -> Array:
        """H for the next model."""

    def goal(self, left: float, target: float) -> float:
        """The violation that a model may keep, where ``left`` is the present one and ``target`` is asked for."""

    def follow(self, columns: Array, before: Array) -> bool:
        """From ``before`` to x on these columns, or as far as F falls; False where the model was wrong."""

    def interrupted(self, columns: Array, before: Array) -> None:
        """x after Ctrl-C inside a model."""


def follower_of(fit: Fit) -> Follower:
    return ExactStep(fit) if fit.samples.is_quadratic else LineSearch(fit)


class ExactStep:
    """For quadratic losses: the model is F itself."""

    most_models = 1

    def __init__(self, fit: Fit) -> None:
        self.fit = fit

    def curvatures(self) -> Array:
        return self.fit.curvature

    def goal(self, left: float, target: float) -> float:
        return target

    def follow(self, columns: Array, before: Array) -> bool:
        fit, change = self.fit, self.fit.x[columns] - before
        fit.reads += int(np.count_nonzero(change))
        old_loss, old_cost, constant = fit.loss_sum, cost_of(fit.penalty, columns, before), fit.constant
        new_cost = cost_of(fit.penalty, columns, fit.x[columns])
        fit.add(columns, change)
        rise = fit.loss_sum - old_loss + new_cost - old_cost
        if not rise <= tuning.WORTHLESS * (abs(old_loss) + abs(old_cost)):
            fit.x[columns], fit.constant = before, constant
            fit.recompute()
        return True

    def interrupted(self, columns: Array, before: Array) -> None:
        """Every step has lowered F; the image is still that of ``before``."""
        self.fit.is_fresh = False


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
    there: Array | None  # the image at its end, where a pass has brought that too

    def point(self, t: float) -> Array:
        """The coordinates after the share t of the step; rounding must not lead beyond its ends."""
        if t == 1.0:
            return self.end
        there: Array = self.before + t * (self.end - self.before)
        return np.clip(there, np.minimum(self.before, self.end), np.maximum(self.before, self.end))


class LineSearch:
    """For all other losses; ``damping`` is in units of the typical curvature."""

    def __init__(self, fit: Fit) -> None:
        self.fit, self.most_models = fit, tuning.MOST_MODELS
        self.damping, self.tries = tuning.DAMPING, 0
        self.usual_tries = self.most_tries = tuning.MOST_TRIES if fit.samples.has_bound else 0
        self.secants: Array | None = None
        self.promised = 0.0  # by the model that disappointed first

    def curvatures(self) -> Array:
        """The loss's own, damped, and the secants' where a model has disappointed."""
        weight = elementwise(np.add, self.fit.curvature, self.damping * self.fit.samples.typical_curvature)
        return weight if self.secants is None else elementwise(np.maximum, weight, self.secants, weight)

    def goal(self, left: float, target: float) -> float:
        return max(tuning.MODEL_SHARE * left, tuning.LAST_MODEL_SHARE * target) if target else 0.0

    def interrupted(self, columns: Array, before: Array) -> None:
        """F may be higher at the model's minimum."""
        self.fit.x[columns] = before

    def follow(self, columns: Array, before: Array) -> bool:
        """Along the change as far as F falls; where the whole is too far, secants for the next model first."""
        fit, change = self.fit, self.fit.x[columns] - before
        fit.reads += int(np.count_nonzero(change))
        line = self._line(columns, before, change)
        fit.x[columns] = before
        t = 1.0
        while t >= tuning.SMALLEST_STEP:
            trial, there = fit.try_out(line.direction, t, line.there), line.point(t)
            end_slope = float(trial.slope @ line.direction)
            if self._falls_enough(line, t, trial.loss, end_slope, there):
                self._judge_secants(line, trial.loss, there)
                fit.accept(trial, -t * line.drift, is_fresh=t == 1.0 and line.there is not None)
                fit.x[columns] = there
                break
            if t == 1.0 and self.tries < self.most_tries:
                self._learn_from(trial, line.promised)
                return False
            # where a straight line from the slope promised to the one at the end has its zero
            rise = end_slope - line.slope
            longest, shortest = tuning.LONGEST, tuning.SHORTEST
            t *= min(max(-line.promised / rise, shortest), longest) if rise > 0.0 else longest
        else:
            t = 0.0
        self.secants, self.tries = None, 0
        if t < 1.0:
            self.damping = max(tuning.MORE_DAMPING * self.damping, tuning.LEAST_AFTER_FAILURE)
        else:
            self.damping = max(tuning.LESS_DAMPING * self.damping, tuning.LEAST_DAMPING)
        return True

    def _line(self, columns: Array, before: Array, change: Array) -> Line:
        fit = self.fit
        end, drift = fit.x[columns], float(fit.means[columns] @ change)
        direction, there = np.full(fit.d, -drift), None
        if fit.design.in_rounds:
            there = self._both(columns, change, direction) + (fit.constant - drift)
        else:
            fit.design.add(columns, change, direction)
        slope, cost = float(fit.slope @ direction), float(cost_of(fit.penalty, columns, before))
        promised = slope + float(cost_of(fit.penalty, columns, end)) - cost
        size = abs(fit.loss_sum) + abs(cost)
        return Line(columns, before, end, direction, drift, slope, cost, promised, size, there)

    def _both(self, columns: Array, change: Array, direction: Array) -> Array:
        """A·x at the end of the step, beside the direction, from one pass: no other is needed to prove that point."""
        fit = self.fit
        steps = np.zeros(fit.n)
        steps[columns] = change
        moved, both = np.flatnonzero((steps != 0.0) | (fit.x != 0.0)), np.zeros((fit.d, 2), order="F")
        fit.design.add_several(moved, np.stack([steps[moved], fit.x[moved]], axis=1), both)
        direction += both[:, 0]
        return both[:, 1]

    def _falls_enough(self, line: Line, t: float, loss: float, end_slope: float, there: Array) -> bool:
        """Has F kept a share of the fall that was promised?  F is a sum with rounding errors, which are forgiven."""
        fall = loss - self.fit.loss_sum
        if -line.promised <= tuning.HARDLY_SEEN * line.size:
            fall = min(fall, 0.5 * t * (line.slope + end_slope))
        fall += float(cost_of(self.fit.penalty, line.columns, there)) - line.cost
        noise = tuning.OBJECTIVE_ROUNDING * (4.0 + math.sqrt(self.fit.d)) * line.size
        return fall <= tuning.ENOUGH_FALL * t * line.promised + (noise if -line.promised <= noise else 0.0)

    def _judge_secants(self, line: Line, loss: float, there: Array) -> None:
        """Are they worth another try at the next step?"""
        self.most_tries = self.usual_tries
        if self.secants is None:
            return
        fall = loss - self.fit.loss_sum + float(cost_of(self.fit.penalty, line.columns, there)) - line.cost
        if fall > tuning.SECANTS_WORTH * self.promised:
            self.most_tries = 0

    def _learn_from(self, trial: Trial, promised: float) -> None:
        """Secant curvatures from a step that was too long."""
        fit = self.fit
        if self.secants is None:
            self.secants, self.promised = np.zeros(fit.d), promised
        self.tries += 1
        fit.samples.secants(fit.image, trial.image, fit.slope, trial.slope, self.secants)
