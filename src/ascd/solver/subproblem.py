"""The subproblem on a working set: choose a quadratic model, minimise it and go towards its minimum.

A quadratic loss has one model, which is F.  For the others every step has its own, with the curvatures of the loss at
the present predictor: Newton's method, several steps on a working set until little is left to gain there.  Models of a
quadratic loss take in all columns of the Gram matrix, which are those of earlier working sets too.

| working set | model |
|---|---|
| single coordinates, quadratic loss | Gram matrix of the columns; for many short ones as for other losses |
| single coordinates, other losses | sweeps over the columns, until they have cost as much as a Gram matrix; then that |
| single coordinates, too large for a Gram matrix | sweeps over the columns |
| single coordinates, Gram matrix kept on a device | proximal steps there |
| blocks | Gram matrix of the columns; sweeps over the columns where it would be too large |
| blocks, outputs are coupled (softmax) | one Gram matrix of all coefficients, of parts of the set where they are many |

Where outputs have curvatures of their own, a Gram matrix of the columns has a bound of them: an upper model.

**Line search.**  The model of a quadratic loss is F itself, and its whole step is taken.  For other losses F may
decrease less than the model predicts, because some samples have left the range in which their curvature H holds.  Then
the step is shortened (Armijo's rule), and the next models are damped (Levenberg, Marquardt): every sample's curvature
is at least a multiple of

    w = v² / (f(z) − min f),        v = f'(z),

twice that of the parabola through z with this slope whose minimum is the loss's own.  The multiple grows after every
step that was cut and falls after every whole one; at first it is ½.  For a parabola w is 2f''; a Huber loss far from
its target has no curvature, but w is little more than threshold / distance, the weight of iteratively reweighted least
squares.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd.matrix.costs import CONSTANT_CENTRED
from ascd.problem.arithmetic import nonzero_rows, norm
from ascd.problem.block_penalties import BlockNorm, Entrywise
from ascd.problem.samples import Curvature
from ascd.problem.softmax import solve_singular
from ascd.solver import models, tuning
from ascd.solver.bounds import GradientBounds
from ascd.solver.state import State
from ascd.solver.sweeps import mark_movable
from ascd.solver.working_set import WorkingSet


class Subproblem:
    """Models on working sets; products of columns are kept from one to the next."""

    def __init__(self, state: State, bounds: GradientBounds) -> None:
        self.state, self.bounds, self.matrix = state, bounds, state.matrix
        self.line_search = Backtracking(state)
        self.is_quadratic = state.loss.is_quadratic
        self.gram = models.GramMatrix(state.matrix, state.intercept)
        self.means = np.zeros(state.n)  # of the columns, weighted by curvatures; for the intercept
        kept = state.matrix.kept_products(state.intercept, CONSTANT_CENTRED)
        self.remote: Any = kept if state.terms.is_by_coordinate else None
        room = tuning.GRAM_SHARE * state.matrix.nbytes if self.remote is None else self.remote.room
        floor = tuning.GRAM_FLOOR if state.terms.is_by_coordinate else tuning.BLOCK_GRAM_FLOOR
        self.largest_gram = math.isqrt(int(max(floor, room)) // 8)
        self.given_up = 0.0  # the cost of the products instead of which sweeps did not do

    def improve(self, working: WorkingSet, violation: float) -> None:
        """Take steps until the ``violation`` meets the set's target or hardly falls; one step for a quadratic loss."""
        for part in self._parts(working):
            if self.is_quadratic:
                self._step(part, part.target)
                self.bounds.update(self.state.raw_gradient)
            else:
                self._improve(part, violation)

    def _parts(self, working: WorkingSet) -> list[WorkingSet]:
        """Return the working set, or parts of it where coupled outputs have too many coefficients for one matrix."""
        if not self.state.loss.is_coupled:
            return [working]
        sizes = self._movable(working, self.state.x[working.rows], self._exact(working.blocks, working.rows))[1]
        number = np.cumsum(sizes) // self.largest_gram
        parts = np.split(working.blocks, np.flatnonzero(np.diff(number)) + 1)
        return [WorkingSet(working.problem, blocks, working.target) for blocks in parts]

    def _improve(self, working: WorkingSet, violation: float) -> None:
        state, rows = self.state, working.rows
        # one matrix of all coefficients costs more than sweeps over it
        precision = 0.1 if state.loss.is_coupled else 1.0
        for _ in range(8):
            before = self.line_search.damping
            target = precision * max(0.01 * violation, 0.15 * working.target) if working.target else 0.0
            share = self._step(working, target)
            if math.isnan(share) or (share == 0.0 and self.line_search.damping == before):
                break
            if share == 0.0:
                continue
            self.bounds.update(state.raw_gradient)
            self.bounds.read(working.blocks, state.raw_gradient)
            violation = state.terms.violation_on(working.blocks, state.x[rows], self.bounds.estimate[rows])
            if violation <= working.target:
                break

    def _step(self, working: WorkingSet, target: float) -> float:
        """Minimise the model at the present point and go there; return the share of the step that was taken."""
        self.partial: ModelStep | None = None
        try:
            step = self._minimise(working, target)
        except KeyboardInterrupt:
            if self.partial is not None:
                self.line_search.take(self.partial)
            raise
        return self.line_search.take(step)

    def _minimise(self, working: WorkingSet, target: float) -> ModelStep:
        curvature = self.line_search.curvature()
        if not working.is_by_coordinate:
            return self._minimise_blocks(working, curvature, target)
        state, columns, weight = self.state, working.columns, curvature.most
        if self.remote is not None and tuning.LARGEST_HOST_MODEL < columns.size <= self.largest_gram:
            return self._minimise_remotely(working, weight, target)
        sweeps = self._sweeps_over_columns(columns)
        if sweeps:
            if state.intercept:
                self.means[columns] = self.matrix.means(columns, weight)
            x, raw_gradient = state.x[columns, 0], state.raw_gradient[:, 0].copy()
            self.partial = ModelStep(working, x[:, None], np.zeros(1))
            given = state.penalty, self.matrix, columns, weight, self.means, raw_gradient, x
            violation, reads = models.minimise_on_columns(*given, target, sweeps)
            state.reads += reads
            if sweeps == tuning.MOST_SWEEPS or violation <= target:
                return self._step_to(working, x)
            self.given_up = self.matrix.products_cost(columns.size, self.matrix.entries(columns))
        self._admit(self.gram, columns, weight)
        columns = self.gram.columns  # those of earlier sets too, where the loss is quadratic
        if sweeps:
            swept, x = x, state.x[columns, 0]
            x[self.gram.position[working.columns]] = swept
            gradient = self.matrix.dots(columns, raw_gradient)
            state.reads += columns.size
        else:
            x, gradient = state.x[columns, 0], self._exact(columns, columns)[:, 0]
        working = WorkingSet(state.problem, columns)
        self.partial = ModelStep(working, x[:, None], np.zeros(1))
        models.GramModel(state.penalty, columns, self.gram.store, gradient, x).minimise(target, tuning.MOST_SWEEPS)
        return self._step_to(working, x)

    def _step_to(self, working: WorkingSet, x: Array) -> ModelStep:
        """Return the step to coefficients x (m,) of single coordinates, with the constant that follows in the model."""
        shift = -self.means[working.columns] @ (x - self.state.x[working.columns, 0])
        return ModelStep(working, x[:, None], np.array([shift]))

    def _sweeps_over_columns(self, columns: Array) -> int:
        """Return as many sweeps as cost no more than the products of the columns would."""
        if columns.size > self.largest_gram:
            self.gram.keep(columns[:0])
            return tuning.MOST_SWEEPS
        stored = self.matrix.entries(columns)
        # products of a quadratic loss serve the whole run; sweeps over many cost more where columns have few entries
        is_short = columns.size > tuning.LARGEST_SET and stored < columns.size**2
        products = self.matrix.products_cost(columns.size, stored)  # sweeps are tried again where they cost far more
        if products <= 2.0 * self.given_up or (self.is_quadratic and not is_short):
            return 0
        return min(int(products / self.matrix.sweep_cost(columns)), tuning.MOST_SWEEPS - 1)

    def _exact(self, blocks: Array, rows: Array) -> Array:
        """Return the exact gradient of these blocks, whose ``rows`` these are, of shape (m, T)."""
        unread = blocks[self.bounds.radius[blocks] > 0.0]
        if unread.size:
            self.bounds.read(unread, self.state.raw_gradient)
        return np.ascontiguousarray(self.bounds.estimate[rows])

    def _admit(self, gram: Any, columns: Array, weight: Array) -> None:
        """Make a Gram matrix contain these columns, with these curvatures."""
        if not self.is_quadratic:  # other curvatures, other products
            gram.clear()
        if np.count_nonzero(gram.position[columns] < 0) + gram.columns.size > self.largest_gram:
            gram.keep(columns)
        joining = columns[gram.position[columns] < 0]
        if joining.size:
            if self.state.intercept:
                self.means[joining] = self.matrix.means(joining, weight)
            gram.admit(joining, weight, self.means)

    def _minimise_remotely(self, working: WorkingSet, weight: Array, target: float) -> ModelStep:
        """Minimise with products that stay on a device: short ones, or exact ones where those do not do."""
        state, remote = self.state, self.remote
        self.gram.clear()
        if np.union1d(remote.columns, working.columns).size > self.largest_gram:
            remote.clear()
        self._admit(remote, working.columns, weight)
        columns = remote.columns
        gradient, x = self._exact(columns, columns)[:, 0], state.x[columns, 0]
        model = models.DeviceModel(state.penalty, remote, gradient, x)
        if not remote.is_exact and not model.minimise_refined(target, tuning.MOST_SWEEPS):
            remote.widen()
            self._admit(remote, columns, weight)
            model = models.DeviceModel(state.penalty, remote, model.gradient, model.x)
        if remote.is_exact:
            model.minimise(target, tuning.MOST_SWEEPS)
        return self._step_to(WorkingSet(state.problem, columns), model.x)

    # ---- blocks

    def _minimise_blocks(self, working: WorkingSet, curvature: Curvature, target: float) -> ModelStep:
        state, blocks, starts, columns = self.state, working.blocks, working.starts, working.columns
        x, gradient = state.x[working.rows], self._exact(working.blocks, working.rows)
        # the violation that rounding of the gradient leaves: sweeps do not get below it
        rounding = tuning.ROUNDING_FLOOR * norm(state.raw_gradient) * float(self.bounds.length.max())
        target = max(target, rounding) if math.isfinite(rounding) else target
        if state.loss.is_coupled:
            entries, sizes = self._movable(working, x, gradient)
            if entries.size <= 2 * self.largest_gram:
                return self._minimise_coupled(working, curvature, target, x, gradient, entries, sizes)
        self.partial, before = ModelStep(working, x, np.zeros(state.outputs)), x.copy()
        # with one output a sweep over the columns costs little
        most = max(1000, 2 * state.d) if state.outputs == 1 else columns.size
        if not state.loss.is_coupled and columns.size > min(self.largest_gram, most):
            part = self.matrix.take(columns)
            by_columns = models.BlockColumnModel(
                state.penalty, part, blocks, starts, curvature, state.raw_gradient, x, state.intercept
            )
            by_columns.minimise(target, tuning.MOST_BLOCK_SWEEPS)
            state.reads += by_columns.reads
            return ModelStep(working, x, by_columns.shift)
        self._admit(self.gram, columns, curvature.most)
        gram = self.gram.store.T  # by rows
        if not (columns.size == gram.shape[0] and np.array_equal(self.gram.columns, columns)):
            positions = self.gram.position[columns]
            gram = np.ascontiguousarray(self.gram.store[np.ix_(positions, positions)])
        model = models.BlockGramModel(state.penalty, blocks, starts, gram, gradient, x)
        model.minimise(target, model.most_sweeps)
        return ModelStep(working, x, -self.means[columns] @ (x - before))

    def _minimise_coupled(
        self, working: WorkingSet, curvature: Curvature, target: float, x: Array, gradient: Array, entries: Array,
        sizes: Array,
    ) -> ModelStep:  # fmt: skip
        """Minimise over these coefficients, ``sizes`` of each block, with one matrix of them all."""
        state, columns = self.state, working.columns
        step = self.partial = ModelStep(working, x, np.zeros(state.outputs))
        if not entries.size:
            return step
        blocks, starts = working.blocks[sizes > 0], np.r_[0, np.cumsum(sizes[sizes > 0])]
        gram = self.matrix.coupled_gram(columns, entries, curvature.own, curvature.shared, state.intercept)
        state.reads += columns.size
        if state.intercept:
            # the constants, whose rows are the last, follow every step: G − CᵀM⁻¹C with δ = −M⁻¹CΔ
            size = entries.size
            crossed = gram[size:, :size]
            constants = -solve_singular(gram[size:, size:], crossed)
            gram = gram[:size, :size] + crossed.T @ constants
        values = x.reshape(-1, 1)[entries]
        model = models.BlockGramModel(state.penalty, blocks, starts, gram, gradient.reshape(-1, 1)[entries], values)
        model.minimise(target, model.most_sweeps)
        change = values[:, 0] - x.ravel()[entries]
        x.ravel()[entries] = values[:, 0]
        return step._replace(shift=constants @ change) if state.intercept else step

    def _movable(self, working: WorkingSet, x: Array, gradient: Array) -> tuple[Array, Array]:
        """Return the coefficients of the working set that may move, j·T + t, and their number in each block."""
        penalty, starts, moves = self.state.penalty, working.starts, np.ones(x.shape, dtype=np.bool_)
        if isinstance(penalty, BlockNorm | Entrywise):  # the others may know their coefficients by number
            given = x.ravel(), gradient.ravel(), np.empty(x.size), x.shape[1], moves.ravel()
            mark_movable(penalty, working.blocks, starts, *given)
        return np.flatnonzero(moves), np.add.reduceat(moves.sum(axis=1), starts[:-1])


# ---- line search


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
        # a model that rounding errors spoilt may promise a rise; rounding errors of F are forgiven
        noise, promised = tuning.OBJECTIVE_ROUNDING * (4.0 + math.sqrt(state.d)) * size, min(predicted, 0.0)
        forgiven = noise if -predicted <= noise else 0.0
        if state.loss.is_quadratic:  # the model is F: only useless products would make it rise
            promised, forgiven = 0.0, 1e-3 * size
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
            if decrease <= tuning.ENOUGH_FALL * t * promised + forgiven:
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

    def _adapt(self, t: float) -> None:
        """Damp more where the step was cut, less where it was taken whole."""
        if not self.is_damped:
            return
        if t < 1.0:
            self.damping = min(max(tuning.MORE_DAMPING * self.damping, tuning.LEAST_AFTER_FAILURE), 1.0)
        else:
            self.damping = max(0.5 * self.damping, 1e-10)
