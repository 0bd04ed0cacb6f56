"""The quadratic model on a working set, minimised by sweeps and Newton steps.

At the present point the objective on the columns W is, exactly for a quadratic loss and to second order for others,

    Q(Δ, δ) = ⟨V, D⟩ + ½Σ_k ⟨D_k, H_kD_k⟩ + Σ_b Ψ_b(x_b + Δ_b),        D = A_WΔ + 1δᵀ.

Sweeps find out which coordinates stand at a kink of their penalty (zero, a bound); with those fixed Q is smooth in the
others, and a Newton step goes straight to their minimum.  ``GramModel`` and ``BlockGramModel`` work on the matrix
G = A_WᵀHA_W, ``ColumnModel`` and ``BlockColumnModel`` on the columns themselves, for sets too large for G and for
losses that couple outputs; their Newton systems are solved by conjugate gradients where they are large.  A penalty
without pieces (``piece``, ``block_piece``) gets sweeps alone.

Models move a copy ``x`` of the coefficients of the working set; the state follows by a line search.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd.matrix.base import Matrix, as_block
from ascd.matrix.columns import add_columns
from ascd.problem.groups import add, products
from ascd.problem.samples import Curvature
from ascd.problem.softmax import constant_step
from ascd.solver import tuning
from ascd.solver.gram import GramMatrix
from ascd.solver.newton import (
    PenaltyPieces,
    coupled_newton,
    cut_step,
    find_free,
    gram_newton,
    newton_direction,
    pieces_of,
    take_newton_step,
    try_lengths,
)  # fmt: skip
from ascd.solver.sweeps import (
    column_curvatures,
    products_with,
    rooms_for_past,
    sweep_block_columns,
    sweep_blocks,
    sweep_columns,
    sweep_gram,
)  # fmt: skip
from ascd.solver.tuning import RUN
from ascd.solver.working_set import BlockLayout


class KnownGram(NamedTuple):
    """A Gram matrix of which all columns are known."""

    columns: Array
    store: Array
    known: Array

    def learn(self, positions: Array) -> None:
        """All columns are known."""


class GramModel:
    """Q on the columns of a Gram matrix, for penalties by coordinate; x and gradient have shape (m,) and move."""

    def __init__(self, penalty: Any, gram: GramMatrix | KnownGram, gradient: Array, x: Array) -> None:
        self.penalty, self.gram, self.gradient, self.x = penalty, gram, gradient, x
        self.columns = gram.columns
        self.has_pieces = hasattr(penalty, "piece")
        size = self.columns.size
        self.wanted = np.zeros(size, dtype=np.bool_)
        self.free, self.work = np.empty(size, dtype=np.int64), np.empty((8, size))
        self.sweeps = self.newtons = 0

    def minimise(self, target: float, most_sweeps: int) -> float:
        """Sweep until no coordinate violates optimality by more than ``target``; return the violation left."""
        sweeps = cycles = stale = 0
        budget, lowest = tuning.FEWEST_SWEEPS, math.inf
        while True:
            violation, done = sweep_gram(
                self.penalty, self.columns, self.gram.store, self.gram.known, self.wanted, self.gradient, self.x,
                target, min(budget, most_sweeps - sweeps),
            )  # fmt: skip
            sweeps += done
            self.sweeps = sweeps
            if self.wanted.any():
                self.gram.learn(np.flatnonzero(self.wanted))
                self.wanted[:] = False
                continue
            stale = 0 if violation < lowest else stale + 1
            lowest = min(lowest, violation)
            if violation <= target or sweeps >= most_sweeps or stale > tuning.MOST_STALE:
                return float(violation)
            if self.has_pieces:
                size = self._descend_faces(1 + cycles // 2)
                cycles += 1
                sweeps_worth = min(tuning.MOST_SWEEPS_BETWEEN, int(self._newton_cost(size)))
                budget = max(tuning.FEWEST_SWEEPS, sweeps_worth)

    def _newton_cost(self, size: int) -> float:
        """Return the cost of a Newton step on so many free coordinates, in sweeps over them."""
        return (size**2 / tuning.BLOCKED_GAIN + tuning.OVERHEAD / max(size, 1)) / self.columns.size

    def _descend_faces(self, allowed: int) -> int:
        """Take Newton steps while they are cut and cheaper than sweeps; return the number of free coordinates."""
        size = 0
        # a step that is cut takes a coordinate out of the free set, unless the step is too small to move it
        for steps in range(1, self.columns.size + 2):
            size, is_cut = self._newton_step()
            self.newtons += 1
            if not is_cut or (steps >= allowed and self._newton_cost(size) > 1.0):
                break
        return size

    def _newton_step(self) -> tuple[int, bool]:
        """Return the number of free coordinates, and whether the step towards their minimum was cut."""
        gram, known = self.gram.store, self.gram.known
        count = find_free(self.penalty, self.columns, known, self.gradient, self.x, self.free, self.work)
        if count == 0:
            return 0, False
        free = self.free[:count]
        direction = newton_direction(gram, free, self.work, -self.work[0, :count])
        if direction is None:
            return count, False
        return count, take_newton_step(gram, self.columns, free, direction, self.work, self.gradient, self.x) == 1


class ColumnModel:
    """Q on columns that are read anew in every sweep, for penalties by coordinate; x has shape (m,) and moves.

    With an intercept the constant is one number beside the raw gradient during a sweep, so that a step costs the
    entries of its column and no more.
    """

    def __init__(
        self, penalty: Any, matrix: Matrix, columns: Array, weight: Array, means: Array, gradient: Array, x: Array
    ) -> None:
        self.penalty, self.columns, self.x = penalty, columns, x
        self.matrix, self.positions = matrix.take(columns)
        self.weight: Any = float(weight[0]) if np.ptp(weight) == 0.0 else weight  # one number is read faster
        self.means, self.total = means[columns], float(weight.sum())
        self.raw_gradient = gradient.copy()
        self.lipschitz = np.empty(columns.size)
        column_curvatures(self.matrix, self.positions, self.weight, self.means, self.total, self.lipschitz)
        self.reads = columns.size
        self.free, self.work = np.empty(columns.size, dtype=np.int64), np.empty((6, columns.size))
        self.gradient = np.empty(columns.size)
        self.turn, self.seed = np.empty(columns.size // RUN + 1, dtype=np.int64), np.zeros(1, dtype=np.int64)

    def minimise(self, target: float, most_sweeps: int) -> float:
        sweeps = 0
        while True:
            violation, done, reads = sweep_columns(
                self.penalty, self.matrix, self.positions, self.columns, self.lipschitz, self.weight, self.means,
                self.total, self.raw_gradient, self.x, self.free, self.turn, self.seed, target,
                min(100, most_sweeps - sweeps),
            )  # fmt: skip
            sweeps += done
            self.reads += reads
            if violation <= target or sweeps >= most_sweeps:
                return float(violation)
            if hasattr(self.penalty, "piece"):
                self._newton_step()

    def _newton_step(self) -> None:
        products_with(self.matrix, self.positions, self.raw_gradient, self.gradient)
        self.reads += self.columns.size
        known = np.ones(self.columns.size, dtype=np.bool_)
        count = find_free(self.penalty, self.columns, known, self.gradient, self.x, self.free, self.work)
        if count == 0:
            return
        free = self.free[:count]
        derivative, curvature, low, high = self.work[:4, :count]
        direction = self._conjugate_gradients(free, curvature, -derivative)
        here = self.x[free]
        whole, straight = np.empty(count), np.empty(count)
        is_cut = cut_step(here, direction, low, high, whole, straight)
        best, gain, moved = None, 0.0, self.raw_gradient
        for change in (whole, straight)[: 1 + is_cut]:
            predictor = self._predictor(free, change)
            value = derivative @ change + 0.5 * (predictor @ (self.weight * predictor) + curvature @ (change * change))
            if value < gain:
                best, gain, moved = change, value, predictor
        if best is not None:
            self.raw_gradient += self.weight * moved
            self.x[free] = np.clip(here + best, low, high)

    def _predictor(self, free: Array, change: Array) -> Array:
        """Return A_free·change + c·1 with the best constant c (zero without an intercept)."""
        predictor = np.full(self.raw_gradient.size, -float(self.means[free] @ change))
        add_columns(self.matrix, self.positions[free], change, predictor, 0, predictor.size)
        self.reads += free.size
        return predictor

    def _conjugate_gradients(self, free: Array, curvature: Array, right: Array) -> Array:
        """Return (G + curvature)⁻¹·right on the free coordinates, to a hundredth of its size."""

        def times(change: Array) -> Array:
            bent, product = self.weight * self._predictor(free, change), np.empty(free.size)
            products_with(self.matrix, self.positions[free], bent, product)
            self.reads += free.size
            return product + curvature * change

        return conjugate_gradients(
            times, self.lipschitz[free] + curvature, right, tuning.MOST_CG_STEPS, tuning.CG_ACCURACY
        )


def conjugate_gradients(times: Any, diagonal: Array, right: Array, most_steps: int, accuracy: float) -> Array:
    """Return an approximate solution of M·x = right by preconditioned conjugate gradients.

    ``times`` multiplies by M, ``diagonal`` is its diagonal; the squared residual falls to ``accuracy`` of its size.
    """
    diagonal = np.where(diagonal > 0.0, diagonal, 1.0)
    x, residual = np.zeros(right.shape), right.copy()
    step = residual / diagonal
    direction, size = step.copy(), float(np.vdot(residual, step))
    enough = accuracy * size
    for _ in range(most_steps):
        if not size > enough:
            break
        product = times(direction)
        curvature = float(np.vdot(direction, product))
        if not curvature > 0.0:
            break
        x += size / curvature * direction
        residual -= size / curvature * product
        step = residual / diagonal
        before, size = size, float(np.vdot(residual, step))
        direction = step + size / before * direction
    return x


class BlockGramModel:
    """Q on a Gram matrix that all outputs share; x and gradient have shape (m, T) and move.

    With ``classes`` > 1 coefficients are (m·classes, 1), and Q's smooth part does not change where all classes of a
    column move by one number.
    """

    def __init__(
        self,
        penalty: Any,
        layout: BlockLayout,
        gram: Array,
        lipschitz: Array,
        gradient: Array,
        x: Array,
        classes: int = 1,
    ) -> None:
        self.penalty, self.layout, self.gram, self.gradient, self.x = penalty, layout, gram, gradient, x
        self.classes = classes
        self.lipschitz = lipschitz
        self.rooms = np.empty((3, layout.longest))
        self.past, self.system = rooms_for_past(x.size)

    def minimise(self, target: float, most_sweeps: int = tuning.MOST_BLOCK_SWEEPS) -> float:
        """Sweep until no block violates optimality by more than ``target``; return the violation left."""
        sweeps, violation, best, stale = 0, math.inf, math.inf, 0
        can_newton = hasattr(self.penalty, "block_piece")
        # some 10 ms: 400 sweeps leave nearly parallel columns far from their minimum
        most = max(most_sweeps, 10_000_000 // (self.x.shape[0] * self.x.size))
        while sweeps < most:
            between = min(self._between() if can_newton else tuning.MOST_BETWEEN_STEPS, most - sweeps)
            violation, done = sweep_blocks(
                self.penalty, self.gram, self.gradient.ravel(), self.x.ravel(), self.layout.starts, self.layout.blocks,
                self.lipschitz, self.rooms, self.past, self.system, self.x.shape[1], target, between,
            )  # fmt: skip
            sweeps += done
            stale = 0 if violation < 0.9 * best else stale + 1
            best = min(best, violation)
            if violation <= target or stale > tuning.MOST_STALE:
                break
            if can_newton:
                self._newton_step()
        return float(violation)

    def _between(self) -> int:
        """Return as many sweeps as cost what a Newton step costs."""
        moved, outputs = int(np.count_nonzero(self.x.any(axis=1))), self.x.shape[1]
        cost = 2.0 * moved**3 / tuning.BLOCKED_GAIN + 2.0 * moved**2 * outputs + tuning.BLOCK_OVERHEAD
        return int(min(max(cost / max(moved * self.x.size, 1), tuning.FEWEST_SWEEPS), tuning.MOST_BETWEEN_STEPS))

    def _direction(self) -> tuple[Array, Array] | None:
        """Return Newton's direction on the free coefficients and the right side; None where there is none."""
        found = pieces_of(self.penalty, self.layout, self.x)
        right = np.where(found.is_free, -(self.gradient + found.derivative), 0.0)
        step = gram_newton(self.gram, found, right)
        return None if step is None else (step, right)

    def _newton_step(self) -> None:
        """Take Newton's step; where it is cut, also without what moves all classes of a column by one number.

        The penalty alone bounds that part, so it may be so long that nothing is left of the rest.
        """
        found = self._direction()
        if found is None:
            return
        change, right = found
        taken = self._take(change, 0.5 * float(np.vdot(right, change)))
        if self.classes > 1 and np.vdot(taken, change) < 0.5 * np.vdot(change, change):
            by_class = change.reshape(-1, self.classes)
            is_moved = by_class.all(axis=1, keepdims=True)
            centred = by_class - np.where(is_moved, by_class.mean(axis=1, keepdims=True), 0.0)
            self._take(centred.reshape(change.shape), 0.5 * float(np.vdot(right.ravel(), centred.ravel())))

    def _take(self, change: Array, predicted: float) -> Array:
        """Go along a direction as far as Q decreases; return the change of x."""
        rows = np.flatnonzero(change.any(axis=1))
        gram, gradient = self.gram[np.ix_(rows, rows)], self.gradient[rows]

        def model(moved: Array, length: float) -> float:
            here = moved[rows]
            return float(np.vdot(gradient, here) + 0.5 * np.vdot(here, gram @ here))

        taken = try_lengths(self.penalty, self.layout, self.x, change, model, predicted)
        if taken is None:
            return np.zeros(change.shape)
        self.gradient += self.gram[rows].T @ taken[rows]
        self.x += taken
        return taken


class BlockColumnModel:
    """Q on columns that are read in every sweep; x has shape (m, T) and moves, ``shift`` is the intercepts' change.

    A sweep takes one prox step a block, with the curvature λ_max(A_bᵀ diag(most) A_b), then the Newton step of the
    intercepts.
    """

    def __init__(
        self, penalty: Any, matrix: Matrix, columns: Array, layout: BlockLayout, lipschitz: Array, curvature: Curvature,
        gradient: Array, x: Array, intercept: bool,
    ) -> None:  # fmt: skip
        self.penalty, self.matrix, self.columns, self.layout = penalty, matrix, columns, layout
        self.curvature, self.raw_gradient, self.x, self.intercept = curvature, gradient.copy(), x, intercept
        self.shift = np.zeros(x.shape[1])
        self.part = matrix.take(columns)
        self.lipschitz = lipschitz
        self.rooms, self.reads = np.empty((3, layout.longest)), 0
        self.block: Array | None = None
        # least squares, or one output
        self.has_one_curvature = curvature.shared is None and bool((curvature.own == curvature.most[:, None]).all())
        empty = np.empty((0, x.shape[1]))
        self.shared = empty if curvature.shared is None else curvature.shared

    def minimise(self, target: float, most_sweeps: int = tuning.MOST_BLOCK_SWEEPS) -> float:
        sweeps, violation, best, stale = 0, math.inf, math.inf, 0
        can_newton = hasattr(self.penalty, "block_piece")
        while sweeps < most_sweeps:
            for _ in range(self._between()):
                violation = self._sweep(target)
                sweeps += 1
                if violation <= target:
                    return violation
            is_fast = self.has_one_curvature and violation < 0.3 * best
            stale = 0 if violation < 0.9 * best else stale + 1
            best = min(best, violation)
            if stale > 3:
                break
            if is_fast:
                continue
            cuts, most = 0, 1 if self.has_one_curvature else 30
            while can_newton and cuts < most and self._newton_step():
                cuts += 1
        return violation

    def _between(self) -> int:
        """Return, where outputs share their curvatures, as many sweeps as cost what a Newton step costs."""
        if not self.has_one_curvature:
            return tuning.FEWEST_SWEEPS
        (d, outputs), moved = self.raw_gradient.shape, max(int(np.count_nonzero(self.x.any(axis=1))), 1)
        cost = 2.0 * d * d * moved + (moved**2 * (d + moved / 3.0) if outputs > 1 else 0.0)
        sweeps = (cost / tuning.BLOCKED_GAIN + tuning.BLOCK_OVERHEAD) / (4.0 * d * moved * outputs)
        return int(min(max(sweeps, tuning.FEWEST_SWEEPS), tuning.MOST_SWEEPS_BETWEEN))

    def _sweep(self, target: float) -> float:
        violation = sweep_block_columns(
            self.penalty, self.part.matrix, self.part.places, self.layout.starts, self.layout.blocks, self.lipschitz,
            self.curvature.own.ravel(), self.shared.ravel(), self.raw_gradient.ravel(), self.x.ravel(), self.rooms,
            self.x.shape[1], target,
        )  # fmt: skip
        self.reads += self.columns.size
        if self.intercept:
            sums = self.raw_gradient.sum(axis=0)
            violation = max(violation, float(np.linalg.norm(sums)) / math.sqrt(self.raw_gradient.shape[0]))
            self._move_intercept(self._intercept_step(sums))
        return float(violation)

    def _intercept_step(self, sums: Array) -> Array:
        """Return the change of the constants that makes these sums of raw gradients 0."""
        total = self.curvature.own.sum(axis=0)
        if self.curvature.shared is None:
            return -np.divide(sums, total, out=np.zeros(sums.shape), where=total > 0.0)
        return constant_step(np.diag(total) - self.shared.T @ self.shared, sums)

    def _move_intercept(self, change: Array) -> None:
        self.shift += change
        self.raw_gradient += self.curvature.times(np.broadcast_to(change, self.raw_gradient.shape))

    def _newton_step(self) -> bool:
        """Return True where the step was cut because coefficients became 0: without those the next one goes further.

        So it is where a sum of free coefficients does not change the losses (all classes of a feature, say).
        """
        found = pieces_of(self.penalty, self.layout, self.x)
        if not found.is_free.any():
            return False
        self.reads += self.columns.size
        gradient = products(self.matrix, self.columns, self.raw_gradient)
        right = np.where(found.is_free, -(gradient + found.derivative), 0.0)
        change = self._direction(found, right)
        whole = self._predictor(change)

        def model(moved: Array, length: float) -> float:
            predictor = length * whole
            corrected = moved - length * change  # of coefficients that are tried at 0
            if corrected.any():
                predictor += self._predictor(corrected)
            if self.intercept:
                predictor += self._best_constant(predictor)
            value = np.vdot(self.raw_gradient, predictor)
            return float(value + 0.5 * np.vdot(predictor, self.curvature.times(predictor)))

        predicted = 0.5 * float(np.vdot(right, change))
        taken = try_lengths(self.penalty, self.layout, self.x, change, model, predicted)
        if taken is None:
            return False
        predictor = self._predictor(taken)
        constant = self._best_constant(predictor)
        self.raw_gradient += self.curvature.times(predictor + constant)
        self.shift += constant
        was_moving = self.x != 0.0
        self.x += taken
        return bool(np.any(was_moving & (self.x == 0.0)))

    def _direction(self, found: PenaltyPieces, right: Array) -> Array:
        """Return Newton's direction, by Cholesky's method where a matrix is small, else by conjugate gradients."""
        (d, _), change = self.raw_gradient.shape, np.zeros(right.shape)
        rows = np.flatnonzero(found.is_free.any(axis=1))
        some, count, step = found.of_rows(rows), int(found.is_free.sum()), None
        size = rows.size if self.has_one_curvature else count
        if size <= tuning.LARGEST_DENSE and size**2 * (d + size) <= 3e10:
            block, weight = self._dense()[:, rows], self.curvature.most
            if self.has_one_curvature:
                if self.intercept:
                    block = block - (weight @ block) / weight.sum()
                step = gram_newton(block.T @ (weight[:, None] * block), some, right[rows])
            else:
                step = coupled_newton(block, self.curvature, some, right[rows], self.intercept)
        if step is None:
            return self._conjugate_gradients(found, right, -self.raw_gradient.sum(axis=0) * self.intercept)
        change[rows] = step
        return change

    def _dense(self) -> Array:
        """Return the columns as a dense block."""
        if self.block is None:
            self.block = as_block(self.part, self.raw_gradient.shape[0])
        return self.block

    def _best_constant(self, predictor: Array) -> Array:
        """Return the intercepts' change that lowers Q most after a step with this predictor."""
        if not self.intercept:
            return np.zeros(predictor.shape[1])
        return self._intercept_step(self.raw_gradient.sum(axis=0) + self.curvature.times(predictor).sum(axis=0))

    def _predictor(self, change: Array) -> Array:
        if self.block is not None:
            product: Array = self.block @ change
            return product
        predictor = np.zeros(self.raw_gradient.shape)
        moved = np.flatnonzero(change.any(axis=1))
        add(self.matrix, self.columns[moved], change[moved], predictor)
        self.reads += moved.size
        return predictor

    def _times(self, found: PenaltyPieces, stacked: Array) -> Array:
        """Return the Hessian of Q times a direction of free coefficients and, in the last row, constants."""
        change, constant = stacked[:-1], stacked[-1]
        bent = self.curvature.times(self._predictor(change) + constant)
        self.reads += self.columns.size
        out = products(self.matrix, self.columns, bent) + (found.kappa + found.ridge)[:, None] * change
        sums = np.add.reduceat((found.unit * change).sum(axis=1), self.layout.starts[:-1])
        along = np.repeat(sums, np.diff(self.layout.starts)) * found.kappa
        out = np.where(found.is_free, out - along[:, None] * found.unit, 0.0)
        return np.concatenate([out, bent.sum(axis=0, keepdims=True) * self.intercept])

    def _conjugate_gradients(self, found: PenaltyPieces, right: Array, constant: Array) -> Array:
        own = np.ascontiguousarray(self.curvature.own.T)
        diagonal = np.stack([self.matrix.squares(h, self.columns) for h in own], axis=1)
        diagonal = np.concatenate([diagonal + (found.kappa + found.ridge)[:, None], [self.curvature.own.sum(axis=0)]])
        solved = conjugate_gradients(
            lambda stacked: self._times(found, stacked), diagonal, np.concatenate([right, [constant]]),
            60, 1e-6,
        )  # fmt: skip
        return solved[:-1]
