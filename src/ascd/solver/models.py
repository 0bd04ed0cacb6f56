"""The quadratic model on a working set, minimised by sweeps and Newton steps.

At the present point the objective on the columns W is, exactly for a quadratic loss and to second order for others,

    Q(Δ, δ) = ⟨V, D⟩ + ½Σ_k ⟨D_k, H_kD_k⟩ + Σ_b Ψ_b(x_b + Δ_b),        D = A_WΔ + 1δᵀ.

Sweeps find out which coordinates stand at a kink of their penalty (zero, a bound); with those fixed Q is smooth in the
others, and a Newton step goes straight to their minimum (``Model.minimise``).  ``GramModel`` and ``BlockGramModel``
work on the matrix G = A_WᵀHA_W, ``ColumnModel`` and ``BlockColumnModel`` on the columns themselves, for sets too large
for G and for losses that couple outputs; their Newton systems are solved by conjugate gradients where they are large.
A penalty without pieces (``piece``, ``block_piece``) gets sweeps alone.

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
    cut_steps,
    find_free,
    gram_newton,
    newton_direction,
    pieces_of,
    try_lengths,
    wide_newton,
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


class Model:
    """Sweeps and Newton steps in turns; ``sweeps`` counts all sweeps so far.

    ``patience`` is the number of times that both may fail to lower the violation: then rounding errors are left.  A
    kind of model has ``budget()``, the sweeps between Newton steps; ``sweep(target, most)``, which returns the last
    violation met and the number of sweeps; and ``take_newton_steps()``.
    """

    patience, sweeps = 20, 0

    def minimise(self: Any, target: float, most_sweeps: int) -> float:
        """Move x until nothing violates optimality by more than ``target``; return the violation left."""
        sweeps, stale, lowest = 0, 0, math.inf
        while True:
            violation, done = self.sweep(target, min(self.budget(), most_sweeps - sweeps))
            sweeps += done
            self.sweeps += done
            stale = 0 if violation < lowest else stale + 1
            lowest = min(lowest, violation)
            if violation <= target or sweeps >= most_sweeps or stale > self.patience:
                return float(violation)
            if self.has_pieces:
                self.take_newton_steps()


# ---- single coordinates


class CoordinateModel(Model):
    """Q for penalties by coordinate; x has shape (m,) and moves.

    A kind of model has ``gradient_now()`` of Q's smooth part, ``direction(free, curvature, right)`` that solves
    Newton's system, ``image_of(free, change)`` with what ``move(free, values, image)`` needs and G·change.
    """

    def __init__(self, penalty: Any, columns: Array, x: Array) -> None:
        self.penalty, self.columns, self.x = penalty, columns, x
        self.has_pieces = hasattr(penalty, "piece")
        self.known = np.ones(columns.size, dtype=np.bool_)
        self.free, self.work = np.empty(columns.size, dtype=np.int64), np.empty((4, columns.size))

    def _newton_step(self: Any) -> tuple[int, bool]:
        """Go to the minimum over the free coordinates, or as far as all stay on their pieces.

        Returns the number of free coordinates, and whether the step was cut.
        """
        gradient = self.gradient_now()
        count = int(find_free(self.penalty, self.columns, self.known, gradient, self.x, self.free, self.work))
        free = self.free[:count]
        derivative, curvature, low, high = self.work[:, :count]
        direction = self.direction(free, curvature, -derivative) if count else None
        if direction is None:
            return count, False
        here, best, gain, image = self.x[free], None, 0.0, None
        trials = cut_steps(here, direction, low, high)
        for change in trials:
            found, curved = self.image_of(free, change)
            value = float(change @ (derivative + 0.5 * (curved + curvature * change)))
            if value < gain:
                best, gain, image = change, value, found
        if best is None:
            return count, False
        self.move(free, np.clip(here + best, low, high), image)  # rounding must not leave the piece
        return count, len(trials) > 1


class KnownGram(NamedTuple):
    """A Gram matrix of which all columns are known."""

    columns: Array
    store: Array
    known: Array

    def learn(self, positions: Array) -> None:
        """All columns are known."""


class GramModel(CoordinateModel):
    """Q on the columns of a Gram matrix, whose columns are computed when their coordinate first moves.

    ``gradient`` of shape (m,) moves with x; ``newtons`` counts Newton steps.
    """

    def __init__(self, penalty: Any, gram: GramMatrix | KnownGram, gradient: Array, x: Array) -> None:
        super().__init__(penalty, gram.columns, x)
        self.gram, self.gradient = gram, gradient
        self.wanted = np.zeros(x.size, dtype=np.bool_)
        self.between, self.cycles, self.newtons = tuning.FEWEST_SWEEPS, 0, 0

    def budget(self) -> int:
        return self.between

    def sweep(self, target: float, most: int) -> tuple[float, int]:
        sweeps = 0
        while True:
            violation, done = sweep_gram(
                self.penalty, self.columns, self.gram.store, self.gram.known, self.wanted, self.gradient, self.x,
                target, most,
            )  # fmt: skip
            sweeps += done
            if not self.wanted.any():
                return violation, sweeps
            self.gram.learn(np.flatnonzero(self.wanted))
            self.wanted[:] = False

    def take_newton_steps(self) -> None:
        """Take Newton steps while they are cut and cheaper than sweeps."""
        self.known, size = self.gram.known, 0
        allowed = 1 + self.cycles // 2
        # a step that is cut takes a coordinate out of the free set, unless the step is too small to move it
        for steps in range(1, self.columns.size + 2):
            size, is_cut = self._newton_step()
            self.newtons += 1
            if not is_cut or (steps >= allowed and self._newton_cost(size) > 1.0):
                break
        self.cycles += 1
        self.between = max(tuning.FEWEST_SWEEPS, min(tuning.MOST_SWEEPS_BETWEEN, int(self._newton_cost(size))))

    def _newton_cost(self, size: int) -> float:
        """Return the cost of a Newton step on so many free coordinates, in sweeps over them."""
        return (size**2 / tuning.BLOCKED_GAIN + tuning.OVERHEAD / max(size, 1)) / self.columns.size

    def gradient_now(self) -> Array:
        return self.gradient

    def direction(self, free: Array, curvature: Array, right: Array) -> Array | None:
        return newton_direction(self.gram.store, free, curvature, right)

    def image_of(self, free: Array, change: Array) -> tuple[Array, Array]:
        image = self.gram.store[: self.x.size, free] @ change
        return image, image[free]

    def move(self, free: Array, values: Array, image: Array) -> None:
        self.x[free] = values
        self.gradient += image


class ColumnModel(CoordinateModel):
    """Q on columns that are read anew in every sweep.

    With an intercept the constant is one number beside the raw gradient during a sweep, so that a step costs the
    entries of its column and no more.
    """

    def __init__(
        self, penalty: Any, matrix: Matrix, columns: Array, weight: Array, means: Array, gradient: Array, x: Array
    ) -> None:
        super().__init__(penalty, columns, x)
        self.matrix, self.positions = matrix.take(columns)
        self.weight: Any = float(weight[0]) if np.ptp(weight) == 0.0 else weight  # one number is read faster
        self.means, self.total = means[columns], float(weight.sum())
        self.raw_gradient = gradient.copy()
        self.lipschitz = np.empty(columns.size)
        column_curvatures(self.matrix, self.positions, self.weight, self.means, self.total, self.lipschitz)
        self.reads = columns.size
        self.turn, self.seed = np.empty(columns.size // RUN + 1, dtype=np.int64), np.zeros(1, dtype=np.int64)

    def budget(self) -> int:
        return 100

    def sweep(self, target: float, most: int) -> tuple[float, int]:
        violation, done, reads = sweep_columns(
            self.penalty, self.matrix, self.positions, self.columns, self.lipschitz, self.weight, self.means,
            self.total, self.raw_gradient, self.x, self.free, self.turn, self.seed, target, most,
        )  # fmt: skip
        self.reads += reads
        return violation, done

    def take_newton_steps(self) -> None:
        self._newton_step()

    def gradient_now(self) -> Array:
        return self._products(np.arange(self.x.size), self.raw_gradient)

    def _products(self, listed: Array, vector: Array) -> Array:
        out = np.empty(listed.size)
        products_with(self.matrix, self.positions[listed], vector, out)
        self.reads += listed.size
        return out

    def image_of(self, free: Array, change: Array) -> tuple[Array, Array]:
        """Return the change H(A_free·change + c·1) of the raw gradient, with the best c, and its products."""
        predictor = np.full(self.raw_gradient.size, -float(self.means[free] @ change))
        add_columns(self.matrix, self.positions[free], change, predictor, 0, predictor.size)
        self.reads += free.size
        predictor *= self.weight
        return predictor, self._products(free, predictor)

    def move(self, free: Array, values: Array, image: Array) -> None:
        self.x[free] = values
        self.raw_gradient += image

    def direction(self, free: Array, curvature: Array, right: Array) -> Array:
        """Return the direction to a thousandth of its size, by conjugate gradients."""

        def times(change: Array) -> Array:
            return self.image_of(free, change)[1] + curvature * change

        return conjugate_gradients(times, self.lipschitz[free] + curvature, right, 100)


def conjugate_gradients(times: Any, diagonal: Array, right: Array, most_steps: int) -> Array:
    """Return an approximate solution of M·x = right by preconditioned conjugate gradients.

    ``times`` multiplies by M, ``diagonal`` is its diagonal; the residual falls to a thousandth of its size.
    """
    diagonal = np.where(diagonal > 0.0, diagonal, 1.0)
    x, residual = np.zeros(right.shape), right.copy()
    step = residual / diagonal
    direction, size = step.copy(), float(np.vdot(residual, step))
    enough = 1e-6 * size
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


# ---- blocks


class BlockModel(Model):
    """Q for penalties by block; x has shape (m, T) and moves.

    A kind of model has ``gradient_now()``, ``direction(found, right)`` that solves Newton's system,
    ``value_along(change)``, which returns Q's smooth part as a function of a move and the length it is near to, and
    ``move(taken)``.
    """

    def __init__(self, penalty: Any, layout: BlockLayout, lipschitz: Array, x: Array) -> None:
        self.penalty, self.layout, self.lipschitz, self.x = penalty, layout, lipschitz, x
        self.has_pieces = hasattr(penalty, "block_piece")
        self.rooms = np.empty((3, layout.longest))

    def _newton_step(self: Any) -> tuple[Array, Array, Array]:
        """Go along Newton's direction as far as Q decreases; return the right side, the direction, the change of x."""
        found = pieces_of(self.penalty, self.layout, self.x)
        right = np.where(found.is_free, -(self.gradient_now() + found.derivative), 0.0)
        change = self.direction(found, right) if found.is_free.any() else None
        if change is None:
            change = np.zeros(self.x.shape)
        return right, change, self._go_along(change, right)

    def _go_along(self: Any, change: Array, right: Array) -> Array:
        """Take the length of those tried that lowers Q most; return the change of x."""
        value, predicted = self.value_along(change), 0.5 * float(np.vdot(right, change))
        taken = try_lengths(self.penalty, self.layout, self.x, change, value, predicted) if change.any() else None
        if taken is None:
            return np.zeros(change.shape)
        self.move(taken)
        self.x += taken
        return taken


class BlockGramModel(BlockModel):
    """Q on a Gram matrix that all outputs share; ``gradient`` of shape (m, T) moves with x.

    With ``classes`` > 1 coefficients are (m·classes, 1), and Q's smooth part does not change where all classes of a
    column move by one number.
    """

    def __init__(
        self, penalty: Any, layout: BlockLayout, gram: Array, lipschitz: Array, gradient: Array, x: Array,
        classes: int = 1,
    ) -> None:  # fmt: skip
        super().__init__(penalty, layout, lipschitz, x)
        self.gram, self.gradient, self.classes = gram, gradient, classes
        self.past, self.system = rooms_for_past(x.size)

    def budget(self) -> int:
        """Return as many sweeps as cost what a Newton step costs."""
        if not self.has_pieces:
            return tuning.MOST_BETWEEN_STEPS
        moved, outputs = int(np.count_nonzero(self.x.any(axis=1))), self.x.shape[1]
        # beside its factors a step costs a million products of a sweep
        cost = 2.0 * moved**3 / tuning.BLOCKED_GAIN + 2.0 * moved**2 * outputs + 1e6
        return int(min(max(cost / max(moved * self.x.size, 1), tuning.FEWEST_SWEEPS), tuning.MOST_BETWEEN_STEPS))

    def sweep(self, target: float, most: int) -> tuple[float, int]:
        found: tuple[float, int] = sweep_blocks(
            self.penalty, self.gram, self.gradient.ravel(), self.x.ravel(), self.layout.starts, self.layout.blocks,
            self.lipschitz, self.rooms, self.past, self.system, self.x.shape[1], target, most,
        )  # fmt: skip
        return found

    def take_newton_steps(self) -> None:
        """Take Newton's step; where it is cut, also without what moves all classes of a column by one number.

        The penalty alone bounds that part, so it may be so long that nothing is left of the rest.
        """
        right, change, taken = self._newton_step()
        if self.classes > 1 and np.vdot(taken, change) < 0.5 * np.vdot(change, change):
            by_class = change.reshape(-1, self.classes)
            is_moved = by_class.all(axis=1, keepdims=True)
            centred = by_class - np.where(is_moved, by_class.mean(axis=1, keepdims=True), 0.0)
            self._go_along(centred.reshape(change.shape), right)

    def gradient_now(self) -> Array:
        return self.gradient

    def direction(self, found: PenaltyPieces, right: Array) -> Array | None:
        return gram_newton(self.gram, found, right)

    def value_along(self, change: Array) -> Any:
        rows = np.flatnonzero(change.any(axis=1))
        gram, gradient = self.gram[np.ix_(rows, rows)], self.gradient[rows]

        def value(moved: Array, length: float) -> float:
            here = moved[rows]
            return float(np.vdot(gradient, here) + 0.5 * np.vdot(here, gram @ here))

        return value

    def move(self, taken: Array) -> None:
        rows = np.flatnonzero(taken.any(axis=1))
        self.gradient += self.gram[rows].T @ taken[rows]


class BlockColumnModel(BlockModel):
    """Q on columns that are read in every sweep; ``shift`` is the intercepts' change.

    A sweep takes one prox step a block, with the curvature λ_max(A_bᵀ diag(most) A_b), then the Newton step of the
    intercepts.
    """

    patience = 3

    def __init__(
        self, penalty: Any, matrix: Matrix, columns: Array, layout: BlockLayout, lipschitz: Array, curvature: Curvature,
        gradient: Array, x: Array, intercept: bool,
    ) -> None:  # fmt: skip
        super().__init__(penalty, layout, lipschitz, x)
        self.matrix, self.columns, self.part = matrix, columns, matrix.take(columns)
        self.curvature, self.raw_gradient, self.intercept = curvature, gradient.copy(), intercept
        self.shift, self.reads = np.zeros(x.shape[1]), 0
        self.block: Array | None = None
        self.shared = np.empty((0, x.shape[1])) if curvature.shared is None else curvature.shared

    def budget(self) -> int:
        """Return as many sweeps as cost what a Newton step costs; a few where outputs are coupled."""
        if self.curvature.shared is not None:
            return tuning.FEWEST_SWEEPS
        (d, outputs), moved = self.raw_gradient.shape, max(int(np.count_nonzero(self.x.any(axis=1))), 1)
        sweeps = (2.0 * d * d * moved / tuning.BLOCKED_GAIN + 1e6) / (4.0 * d * moved * outputs)
        return int(min(max(sweeps, tuning.FEWEST_SWEEPS), tuning.MOST_SWEEPS_BETWEEN))

    def sweep(self, target: float, most: int) -> tuple[float, int]:
        violation, done = math.inf, 0
        while violation > target and done < most:
            violation, done = self._sweep_once(target), done + 1
        return violation, done

    def _sweep_once(self, target: float) -> float:
        violation = sweep_block_columns(
            self.penalty, self.part.matrix, self.part.places, self.layout.starts, self.layout.blocks, self.lipschitz,
            self.curvature.own.ravel(), self.shared.ravel(), self.raw_gradient.ravel(), self.x.ravel(), self.rooms,
            self.x.shape[1], target,
        )  # fmt: skip
        self.reads += self.columns.size
        if self.intercept:
            sums = self.raw_gradient.sum(axis=0)
            violation = max(violation, float(np.linalg.norm(sums)) / math.sqrt(self.raw_gradient.shape[0]))
            self._move_samples(np.zeros(self.raw_gradient.shape), self._intercept_step(sums))
        return float(violation)

    def _intercept_step(self, sums: Array) -> Array:
        """Return the change of the constants that makes these sums of raw gradients 0."""
        total = self.curvature.own.sum(axis=0)
        if self.curvature.shared is None:
            return -np.divide(sums, total, out=np.zeros(sums.shape), where=total > 0.0)
        return constant_step(np.diag(total) - self.shared.T @ self.shared, sums)

    def _move_samples(self, predictor: Array, constant: Array) -> None:
        self.shift += constant
        self.raw_gradient += self.curvature.times(predictor + constant)

    def take_newton_steps(self) -> None:
        """Take a step; where outputs are coupled, more while coefficients become 0, which lets the next one go further.

        So it is where a sum of free coefficients does not change the losses (all classes of a feature, say).
        """
        for _ in range(1 if self.curvature.shared is None else 30):
            was_moving = self.x != 0.0
            self._newton_step()
            if not np.any(was_moving & (self.x == 0.0)):
                break

    def gradient_now(self) -> Array:
        self.reads += self.columns.size
        return products(self.matrix, self.columns, self.raw_gradient)

    def value_along(self, change: Array) -> Any:
        whole = self._predictor(change)

        def value(moved: Array, length: float) -> float:
            predictor = length * whole
            corrected = moved - length * change  # of coefficients that are tried at 0
            if corrected.any():
                predictor += self._predictor(corrected)
            predictor += self._best_constant(predictor)
            linear = np.vdot(self.raw_gradient, predictor)
            return float(linear + 0.5 * np.vdot(predictor, self.curvature.times(predictor)))

        return value

    def move(self, taken: Array) -> None:
        predictor = self._predictor(taken)
        self._move_samples(predictor, self._best_constant(predictor))

    def direction(self, found: PenaltyPieces, right: Array) -> Array:
        """Return Newton's direction, by Cholesky's method where a matrix is small, else by conjugate gradients."""
        d, size = self.raw_gradient.shape[0], int(found.is_free.sum())
        if size <= tuning.LARGEST_DENSE and size**2 * (d + size) <= 3e10:
            if self.block is None:
                self.block = as_block(self.part, d)
            rows, change = np.flatnonzero(found.is_free.any(axis=1)), np.zeros(right.shape)
            block, weight, some = self.block[:, rows], self.curvature.most, found.of_rows(rows)
            if self.curvature.shared is None:  # outputs share their curvatures
                block = block - (weight @ block) / weight.sum() if self.intercept else block
                is_wide = rows.size > d and right.shape[1] == 1
                step = wide_newton(block, weight, some, right[rows]) if is_wide else None
                step = step if step is not None else gram_newton(block.T @ (weight[:, None] * block), some, right[rows])
            else:
                step = coupled_newton(block, self.curvature, some, right[rows], self.intercept)
            if step is not None:
                change[rows] = step
                return change
        return self._conjugate_gradients(found, right)

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
        curved = self.curvature.times(self._predictor(change) + constant)
        self.reads += self.columns.size
        out = products(self.matrix, self.columns, curved) + (found.kappa + found.ridge)[:, None] * change
        sums = np.add.reduceat((found.unit * change).sum(axis=1), self.layout.starts[:-1])
        along = np.repeat(sums, np.diff(self.layout.starts)) * found.kappa
        out = np.where(found.is_free, out - along[:, None] * found.unit, 0.0)
        return np.concatenate([out, curved.sum(axis=0, keepdims=True) * self.intercept])

    def _conjugate_gradients(self, found: PenaltyPieces, right: Array) -> Array:
        own, constant = np.ascontiguousarray(self.curvature.own.T), -self.raw_gradient.sum(axis=0) * self.intercept
        diagonal = np.stack([self.matrix.squares(h, self.columns) for h in own], axis=1)
        diagonal = np.concatenate([diagonal + (found.kappa + found.ridge)[:, None], [self.curvature.own.sum(axis=0)]])
        right = np.concatenate([right, [constant]])
        return conjugate_gradients(lambda stacked: self._times(found, stacked), diagonal, right, 60)[:-1]
