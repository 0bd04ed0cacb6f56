"""From a model's minimum to the next iterate: as far as the objective decreases.

The model of a quadratic loss is F itself, and its whole step is taken.  For other losses F may decrease less than the
model predicted, because some samples have left the range in which their curvature H holds.  Then the step is shortened
(Armijo's rule), and the next models are damped (Levenberg, Marquardt): every sample's curvature is at least a multiple
of

    w = v² / (f(z) − min f),        v = f'(z),

twice that of the parabola through z with this slope whose minimum is the loss's own.  The multiple grows after every
step that was cut and falls after every whole one; at first it is ½.  For a parabola w is 2f''; a Huber loss far from
its target has no curvature, but w is little more than threshold / distance, the weight of iteratively reweighted least
squares.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd.problem.groups import nonzero_rows
from ascd.problem.samples import Curvature
from ascd.solver import tuning
from ascd.solver.state import State
from ascd.solver.working_set import WorkingSet


class ModelStep(NamedTuple):
    """A step from the state to ``x`` (m, T) on the working set's rows, which moves the constants by ``shift``."""

    working: WorkingSet
    x: Array
    shift: Array


class Backtracking:
    """Steps of one state; ``damping`` is the multiple of w."""

    def __init__(self, state: State) -> None:
        self.state, loss = state, state.loss
        # softmax is curved everywhere, and so are losses that know f'' from f'
        self.is_damped = not (loss.is_quadratic or loss.is_coupled or hasattr(loss.loss, "curvature_from"))
        self.damping = tuning.DAMPING if self.is_damped else 0.0

    def curvature(self) -> Curvature:
        """Return the curvature for the next model: the loss's own, damped."""
        seen = self.state.seen
        found = seen.curvature
        if not self.is_damped:
            return found
        own = np.maximum(found.own, self.damping * self.state.loss.chord_curvature(seen.predictor, seen.raw_gradient))
        return Curvature(own, found.shared, own[:, 0] if own.shape[1] == 1 else own.max(axis=1))

    def take(self, step: ModelStep) -> float:
        """Go along the step as far as F decreases; return the share that was taken, nan where it leads nowhere."""
        state, before, blocks = self.state, self.state.x[step.working.rows], step.working.blocks
        change = step.x - before
        if not (change.any() or step.shift.any()):
            return math.nan
        if not (np.isfinite(change).all() and np.isfinite(step.shift).all()):
            self._adapt(0.0)
            return 0.0
        there, is_fresh = self._predictor_at(step, change)
        direction, terms = there - state.seen.predictor, state.terms
        cost = terms.cost_on(blocks, before)
        slope = float(np.vdot(state.raw_gradient, direction))
        predicted = slope + terms.cost_on(blocks, step.x) - cost
        size = abs(state.seen.value) + abs(cost)
        t = 1.0 if math.isfinite(predicted) else 0.0  # an infinite promise would hold for any rise
        while t >= 1e-14:
            # rounding must not lead beyond the step's ends
            x = step.x if t == 1.0 else np.clip(before + t * change, *np.sort([before, step.x], axis=0))
            trial, moved = state.evaluate_at(there if t == 1.0 else state.seen.predictor + t * direction)
            decrease = trial.value - state.seen.value
            end_slope = float(np.vdot(trial.raw_gradient, direction))
            if -predicted <= 1e-9 * size:  # the derivatives at both ends tell it better than F
                decrease = min(decrease, 0.5 * t * (slope + end_slope))
            decrease += terms.cost_on(blocks, x) - cost
            if self._is_enough(decrease, t, predicted, size):
                start, whole = state.constant + t * step.shift, state.x.copy()
                whole[step.working.rows] = x
                state.set(whole, start + moved, trial, is_fresh and t == 1.0, start)
                self._adapt(t)
                return t
            # where a straight line from the predicted derivative to the one at the end has its zero
            rise = end_slope - slope
            # the loss lies above its tangent at t: F decreases only nearer than where that has come down to F here
            nearest = t - (trial.value - size) / end_slope if end_slope > 0.0 else t
            if 0.0 < nearest < 0.1 * t:  # rounding may lead beyond the start
                t = 0.5 * nearest
            else:
                t *= min(max(-predicted / rise, 0.1), 0.5) if rise > 0.0 else 0.5
        self._adapt(0.0)
        return 0.0

    def _predictor_at(self, step: ModelStep, change: Array) -> tuple[Array, bool]:
        """Return Z at the step's end: from x itself where the working set has all that is not zero, and most moves."""
        state, rows, moved = self.state, step.working.rows, nonzero_rows(change)
        outside = state.support.size - nonzero_rows(state.x[rows]).size
        if outside == 0 and 0.5 * nonzero_rows(step.x).size <= moved.size:
            return state.product_of(rows, step.x) + (state.constant + step.shift + state.problem.offset), True
        added = state.product_of(rows[moved], change[moved])
        return state.seen.predictor + added + step.shift, False

    def _is_enough(self, decrease: float, t: float, predicted: float, size: float) -> bool:
        """Return whether F kept a share of the predicted decrease; its own rounding errors are forgiven."""
        if self.state.loss.is_quadratic:  # the model is F: only useless products would make it rise
            return decrease <= 1e-3 * size
        noise = tuning.OBJECTIVE_ROUNDING * (4.0 + math.sqrt(self.state.d)) * size
        # a model that rounding errors spoilt may promise a rise
        enough = tuning.ENOUGH_FALL * t * min(predicted, 0.0)
        return decrease <= enough + (noise if -predicted <= noise else 0.0)

    def _adapt(self, t: float) -> None:
        """Damp more where the step was cut, less where it was taken whole."""
        if not self.is_damped:
            return
        if t < 1.0:
            self.damping = min(max(tuning.MORE_DAMPING * self.damping, tuning.LEAST_AFTER_FAILURE), 1.0)
        else:
            self.damping = max(0.5 * self.damping, 1e-10)
