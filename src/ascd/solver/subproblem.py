"""The subproblem on a working set: choose a quadratic model, minimise it and go to its minimum.

A quadratic loss has one model, which is F.  For the others every step has its own, with the curvatures of the loss at
the present predictor: Newton's method, several steps on a working set until little is left to gain there.  Models of a
quadratic loss take in all columns of the Gram matrix, which are those of earlier working sets too.

| working set | model |
|---|---|
| single coordinates, quadratic loss | Gram matrix of the columns |
| single coordinates, other losses | sweeps over the columns, until they have cost as much as a Gram matrix; then that |
| single coordinates, too large for a Gram matrix | sweeps over the columns |
| single coordinates, Gram matrix kept on a device | proximal steps there (``device``) |
| blocks | Gram matrix of the columns; sweeps over the columns where it would be too large |
| blocks, outputs are coupled (softmax) | one Gram matrix of all coefficients, of parts of the set where they are many |

Where outputs have curvatures of their own, a Gram matrix of the columns has a bound of them: an upper model.
"""

from __future__ import annotations

import math

import numpy as np

from ascd._core.checks import Array
from ascd.matrix.costs import CONSTANT_CENTRED
from ascd.problem.arithmetic import norm
from ascd.problem.block_penalties import BlockNorm, Entrywise
from ascd.problem.samples import Curvature
from ascd.solver import tuning
from ascd.solver.bounds import GradientBounds
from ascd.solver.device import DeviceModel
from ascd.solver.line_search import Backtracking, ModelStep
from ascd.solver.models import (
    BlockColumnModel,
    BlockGramModel,
    GramMatrix,
    GramModel,
    minimise_on_columns,
    without_constants,
)  # fmt: skip
from ascd.solver.state import State
from ascd.solver.sweeps import mark_movable
from ascd.solver.working_set import BlockLayout, WorkingSet


class Subproblem:
    """Models on working sets; products of columns are kept from one to the next."""

    def __init__(self, state: State, bounds: GradientBounds) -> None:
        self.state, self.bounds, self.matrix = state, bounds, state.matrix
        self.line_search = Backtracking(state)
        self.is_quadratic = state.loss.is_quadratic
        self.gram = GramMatrix(state.matrix, state.intercept)
        self.means = np.zeros(state.n)  # of the columns, weighted by curvatures; for the intercept
        self.remote = state.matrix.kept_products(state.intercept, CONSTANT_CENTRED)
        if not state.terms.is_by_coordinate:
            self.remote = None
        room = tuning.GRAM_SHARE * state.matrix.nbytes if self.remote is None else self.remote.room
        floor = tuning.GRAM_FLOOR if state.terms.is_by_coordinate else tuning.BLOCK_GRAM_FLOOR
        self.largest_gram = math.isqrt(int(max(floor, room)) // 8)
        self.needs_gram = False

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
        for _ in range(8):
            before = self.line_search.damping
            share = self._step(working, self._model_target(working, violation))
            if math.isnan(share):
                break
            if share == 0.0:
                if self.line_search.damping == before:
                    break
                continue
            self.bounds.update(state.raw_gradient)
            self.bounds.read(working.blocks, state.raw_gradient)
            violation = state.terms.violation_on(working.blocks, state.x[rows], self.bounds.estimate[rows])
            if violation <= working.target:
                break

    def _model_target(self, working: WorkingSet, violation: float) -> float:
        """Return the violation that a model may keep."""
        if not working.target:
            return 0.0
        target = max(0.01 * violation, 0.15 * working.target)
        # one matrix of all coefficients costs more than sweeps over it
        return 0.1 * target if self.state.loss.is_coupled else target

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
        sweeps, x, products = self._sweeps_over_columns(columns), None, None
        if sweeps:
            self._weigh_means(columns, weight)
            x, gradient = state.x[columns, 0], state.raw_gradient[:, 0].copy()
            self.partial = ModelStep(working, x[:, None], np.zeros(1))
            given = state.penalty, self.matrix, columns, weight, self.means, gradient, x
            violation, reads = minimise_on_columns(*given, target, sweeps)
            state.reads += reads
            if sweeps == tuning.MOST_SWEEPS or violation <= target:
                return ModelStep(working, x[:, None], self._shift(columns, x - state.x[columns, 0]))
            products = self.matrix.dots(columns, gradient)
            state.reads += columns.size
        self.needs_gram = True
        self._prepare_gram(columns, weight)
        return self._by_gram(x, products, target)

    def _by_gram(self, x: Array | None, gradient: Array | None, target: float) -> ModelStep:
        """Minimise on the columns of the Gram matrix, from x and the gradient there, or from the state without."""
        state, columns = self.state, self.gram.columns
        if x is None or gradient is None:
            x, gradient = state.x[columns, 0], self._exact(columns, columns)[:, 0]
        working = WorkingSet(state.problem, columns)
        self.partial = ModelStep(working, x[:, None], np.zeros(1))
        GramModel(state.penalty, columns, self.gram.store, gradient, x).minimise(target, tuning.MOST_SWEEPS)
        return ModelStep(working, x[:, None], self._shift(columns, x - state.x[columns, 0]))

    def _shift(self, columns: Array, change: Array) -> Array:
        """Return how the constant follows a change of these columns in the model."""
        return np.array([-float(self.means[columns] @ change)]) if self.state.intercept else np.zeros(1)

    def _sweeps_over_columns(self, columns: Array) -> int:
        """Return as many sweeps as cost no more than the products of the columns would."""
        if columns.size > self.largest_gram:
            self.gram.keep(columns[:0])
            return tuning.MOST_SWEEPS
        if self.is_quadratic or self.needs_gram:  # products of a quadratic loss serve the whole run
            return 0
        products = self.matrix.products_cost(columns.size, self.matrix.entries(columns))
        return min(int(products / self.matrix.sweep_cost(columns)), tuning.MOST_SWEEPS - 1)

    def _exact(self, blocks: Array, rows: Array) -> Array:
        """Return the exact gradient of these blocks, whose ``rows`` these are, of shape (m, T)."""
        unread = blocks[self.bounds.radius[blocks] > 0.0]
        if unread.size:
            self.bounds.read(unread, self.state.raw_gradient)
        return np.ascontiguousarray(self.bounds.estimate[rows])

    def _weigh_means(self, columns: Array, weight: Array) -> None:
        """Compute the means of these columns for these curvatures; they stay 0 without an intercept."""
        if self.state.intercept:
            self.means[columns] = self.matrix.means(columns, weight)

    def _prepare_gram(self, columns: Array, weight: Array) -> None:
        """Make the Gram matrix contain these columns, with these curvatures."""
        gram = self.gram
        if not self.is_quadratic:  # other curvatures, other products
            gram.clear()
        joining = columns[gram.position[columns] < 0]
        if joining.size + gram.columns.size > self.largest_gram:
            gram.keep(columns)
        if joining.size:
            self._weigh_means(joining, weight)
            gram.admit(joining, weight, self.means)

    # ---- Gram matrices that stay on a device

    def _minimise_remotely(self, working: WorkingSet, weight: Array, target: float) -> ModelStep:
        """Minimise with products that stay where the data are: short ones, or exact ones where those do not do."""
        state, remote, columns = self.state, self.remote, working.columns
        self.gram.clear()
        joining = columns[remote.position[columns] < 0]
        if not self.is_quadratic or joining.size + remote.columns.size > self.largest_gram:
            remote.clear()
            joining = columns
        if joining.size:
            self._weigh_means(joining, weight)
            remote.admit(joining, weight, self.means)
        columns = remote.columns
        gradient, x = self._exact(columns, columns)[:, 0], state.x[columns, 0]
        model = DeviceModel(state.penalty, remote, gradient, x)
        if not remote.is_exact and not model.minimise_refined(target, tuning.MOST_SWEEPS):
            remote.widen()
            self._weigh_means(columns, weight)
            remote.admit(columns, weight, self.means)
            model = DeviceModel(state.penalty, remote, model.state.gradient, model.x)
        if remote.is_exact:
            model.minimise(target, tuning.MOST_SWEEPS)
        every = WorkingSet(state.problem, columns)
        return ModelStep(every, model.x[:, None], self._shift(columns, model.x - x))

    # ---- blocks

    def _minimise_blocks(self, working: WorkingSet, curvature: Curvature, target: float) -> ModelStep:
        state, layout, columns = self.state, working.layout, working.columns
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
            return self._sweep_over_blocks(working, curvature, target, x)
        model = BlockGramModel(state.penalty, layout, self._block_gram(columns, curvature.most), gradient, x)
        model.minimise(target, model.most_sweeps)
        shift = -self.means[columns] @ (x - before)
        return ModelStep(working, x, shift)

    def _sweep_over_blocks(self, working: WorkingSet, curvature: Curvature, target: float, x: Array) -> ModelStep:
        state, layout, part = self.state, working.layout, self.matrix.take(working.columns)
        model = BlockColumnModel(state.penalty, part, layout, curvature, state.raw_gradient, x, state.intercept)
        model.minimise(target, tuning.MOST_BLOCK_SWEEPS)
        state.reads += model.reads
        return ModelStep(working, x, model.shift)

    def _minimise_coupled(
        self, working: WorkingSet, curvature: Curvature, target: float, x: Array, gradient: Array, entries: Array,
        sizes: Array,
    ) -> ModelStep:  # fmt: skip
        """Minimise over these coefficients, ``sizes`` of each block, with one matrix of them all."""
        state, columns = self.state, working.columns
        step = self.partial = ModelStep(working, x, np.zeros(state.outputs))
        if not entries.size:
            return step
        layout = BlockLayout(working.blocks[sizes > 0], np.r_[0, np.cumsum(sizes[sizes > 0])], 1)
        gram = self.matrix.coupled_gram(columns, entries, curvature.own, curvature.shared, state.intercept)
        state.reads += columns.size
        if state.intercept:
            gram, constants = without_constants(gram, state.outputs)
        values = x.reshape(-1, 1)[entries]
        model = BlockGramModel(state.penalty, layout, gram, gradient.reshape(-1, 1)[entries], values)
        model.minimise(target, model.most_sweeps)
        change = values[:, 0] - x.ravel()[entries]
        x.ravel()[entries] = values[:, 0]
        return step._replace(shift=constants @ change) if state.intercept else step

    def _movable(self, working: WorkingSet, x: Array, gradient: Array) -> tuple[Array, Array]:
        """Return the coefficients of the working set that may move, j·T + t, and their number in each block."""
        layout, penalty, moves = working.layout, self.state.penalty, np.ones(x.shape, dtype=np.bool_)
        if isinstance(penalty, BlockNorm | Entrywise):  # the others may know their coefficients by number
            given = x.ravel(), gradient.ravel(), np.empty(layout.longest), x.shape[1], moves.ravel()
            mark_movable(penalty, layout.blocks, layout.starts, *given)
        return np.flatnonzero(moves), np.add.reduceat(moves.sum(axis=1), layout.starts[:-1])

    def _block_gram(self, columns: Array, weight: Array) -> Array:
        """Return the Gram matrix of these columns by rows."""
        self._prepare_gram(columns, weight)
        gram, positions = self.gram, self.gram.position[columns]
        if columns.size == gram.store.shape[0] and np.array_equal(gram.columns, columns):
            return gram.store.T
        return np.ascontiguousarray(gram.store[np.ix_(positions, positions)])
