"""The quadratic model on a working set, minimised by sweeps and Newton steps.

At the present point the objective on the columns W is, exactly for a quadratic loss and to second order for others,

    Q(Δ, δ) = ⟨V, D⟩ + ½Σ_k ⟨D_k, H_kD_k⟩ + Σ_b Ψ_b(x_b + Δ_b),        D = A_WΔ + 1δᵀ.

``minimise_on_columns`` sweeps over the columns themselves: where few sweeps do, and where the set is too large for a
matrix of products.  ``GramModel`` and ``BlockGramModel`` work on that matrix, G = A_WᵀHA_W.  Sweeps find out which
coordinates stand at a kink of their penalty (zero, a bound); with those fixed Q is smooth in the others, and a Newton
step goes straight to their minimum.  Penalties without pieces (``piece``, ``block_piece``) get sweeps alone.

``GramMatrix`` holds the products of columns.  With an intercept the best constant follows every step, so the columns of
A enter less their H-weighted means.  For a quadratic loss H never changes, and the products are kept for the whole run;
for other losses they are computed again with every H.

``DeviceModel`` is for a Gram matrix that stays on a device, which cannot share out sweeps from one coordinate to the
next.  Instead all coordinates move at once, by proximal steps in the metric of G's diagonal D,

    x⁺ = prox(y − (L·D)⁻¹·∇(y)),       y = x⁺ + β·(x⁺ − x),

with momentum β that starts again where it leads uphill; L is raised where a step shows that it is too small.  The
device multiplies and factorises; what is done for each coordinate (prox, pieces of the penalty) is done on the host, so
that every penalty can be used.  G may be approximate (``gram.is_exact``): then Q is minimised to a share of its
violation, the gradients at the point found are computed from the data, and Q is minimised again from there, as in
iterative refinement.

Models move a copy ``x`` of the coefficients of the working set; the state follows by a line search.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import kernel
from ascd.matrix.base import Matrix, Part, as_block
from ascd.matrix.costs import CONSTANT_CENTRED
from ascd.problem.samples import Curvature
from ascd.problem.terms import ByCoordinate, cost_of, largest_violation
from ascd.solver import newton, sweeps, tuning

#: A bound on curvatures that is exceeded by less is exceeded by rounding.
SAME_CURVATURE = 1e-9


class Model:
    """Sweeps and Newton steps in turns.

    ``patience`` is the number of times that both may fail to lower the violation clearly: then rounding errors are
    left.  A kind of model has ``sweep(target, most)``, which returns the last violation met and the number of sweeps,
    and ``newton_step()``, which returns whether its step was cut; there are so many sweeps ``between`` those.
    """

    patience, between, turns = 20, tuning.SWEEPS_BETWEEN, 0

    def minimise(self: Any, target: float, most_sweeps: int) -> float:
        """Move x until no violation exceeds ``target``; return the largest that the last sweep met."""
        sweeps, stale, lowest = 0, 0, math.inf
        while True:
            violation, done = self.sweep(target, min(self.between, most_sweeps - sweeps))
            sweeps += done
            stale, lowest = (0, violation) if violation < 0.9 * lowest else (stale + 1, lowest)
            if violation <= target or sweeps >= most_sweeps or stale > self.patience:
                return float(violation)
            self.turns += 1
            # while they are cut: in a hard model, after many sweeps, several
            for _ in range(1 + self.turns // 2 if self.has_pieces else 0):
                if not self.newton_step():
                    break


# ---- products of columns


class GramMatrix:
    """The products of ``columns`` with each other, in the first rows and columns of ``store``."""

    def __init__(self, matrix: Matrix, intercept: bool) -> None:
        self.matrix, self.intercept = matrix, intercept
        self.position = np.full(matrix.shape[1], -1, dtype=np.int32)
        self.columns = np.empty(0, dtype=np.int64)
        self.store = np.empty((0, 0), order="F")

    def clear(self) -> None:
        self.position[self.columns] = -1
        self.columns = self.columns[:0]

    def keep(self, columns: Array) -> None:
        """Forget all but these columns, and give back their memory."""
        position = self.position[columns]
        position = position[position >= 0]
        kept, self.store = self.columns[position], np.asfortranarray(self.store[np.ix_(position, position)])
        self.clear()
        self.columns = kept
        self.position[kept] = np.arange(kept.size)

    def admit(self, joining: Array, weight: Array, means: Array) -> None:
        """Let columns join; ``weight`` is H's diagonal, ``means`` the columns' weighted means (for the intercept)."""
        old, capacity = self.columns.size, self.store.shape[0]
        self.columns = np.concatenate([self.columns, joining])
        self.position[joining] = np.arange(old, self.columns.size)
        if self.columns.size > capacity:
            store = np.empty((max(self.columns.size, capacity + capacity // 4),) * 2, order="F")
            store[:old, :old] = self.store[:old, :old]
            self.store = store
        new, used = slice(old, self.columns.size), means if self.intercept else None
        found = self.matrix.products(joining, joining, weight, used)
        if self.intercept:
            # a constant column does nothing that the intercept does not do: its own curvature keeps it where it is
            own, diagonal = float(weight.sum()) * means[joining] ** 2, found.diagonal()
            np.fill_diagonal(found, np.where(diagonal <= CONSTANT_CENTRED * own, own, diagonal))
        self.store[new, new] = found
        if old:
            self.store[new, :old] = self.matrix.products(joining, self.columns[:old], weight, used)
            self.store[:old, new] = self.store[new, :old].T


# ---- single coordinates


class GramModel(Model):
    """Q for penalties by coordinate on a Gram matrix, the leading part of ``gram``; ``gradient`` (m,) moves with x."""

    def __init__(self, penalty: Any, columns: Array, gram: Any, gradient: Array, x: Array) -> None:
        self.penalty, self.columns, self.gram, self.gradient, self.x = penalty, columns, gram, gradient, x
        self.has_pieces = hasattr(penalty, "piece")
        self.free, self.work = np.empty(columns.size, dtype=np.int64), np.empty((8, columns.size))

    def sweep(self, target: float, most: int) -> tuple[float, int]:
        return sweeps.sweep_gram(self.penalty, self.columns, self.gram, self.gradient, self.x, target, most)

    def newton_step(self) -> bool:
        """Take a Newton step on the free coordinates, cut in two ways where it leaves a piece; return if it does."""
        count = int(newton.find_inside_pieces(self.penalty, self.columns, self.gradient, self.x, self.free, self.work))
        free = self.free[:count]
        direction = self.direction(free, self.work[1, :count], -self.work[0, :count]) if count else None
        return direction is not None and self.take_step(free, direction)

    def direction(self, free: Array, curvature: Array, right: Array) -> Array | None:
        return newton.newton_direction(self.gram, free, curvature, right)

    def take_step(self, free: Array, direction: Array) -> bool:
        return bool(newton.take_step(self.gram, free, direction, self.work, self.gradient, self.x))


def minimise_on_columns(
    penalty: Any, matrix: Matrix, columns: Array, weight: Array, means: Array, raw_gradient: Array, x: Array,
    target: float, most_sweeps: int,
) -> tuple[float, int]:  # fmt: skip
    """Minimise Q on columns that are read anew in every sweep; x of shape (m,) and the raw gradient move.

    With an intercept the constant is one number beside the raw gradient during a sweep, so that a step costs the
    entries of its column and no more.  Returns the largest violation that the last sweep met, at most ``target`` or
    after so many sweeps, and how many columns were read.
    """
    part, positions = matrix.take(columns)
    own: Any = float(weight[0]) if np.ptp(weight) == 0.0 else weight  # one number is read faster
    lipschitz, order, total = np.empty(columns.size), np.empty(columns.size, dtype=np.int64), float(weight.sum())
    sweeps.column_curvatures(part, positions, own, means[columns], total, lipschitz)
    violation, swept, reads = math.inf, 0, columns.size
    while violation > target and swept < most_sweeps:
        violation, done, read = sweeps.sweep_columns(
            penalty, part, positions, columns, lipschitz, own, means[columns], total, raw_gradient, x, order, target,
            min(100, most_sweeps - swept),
        )  # fmt: skip
        swept += done
        reads += read
    return violation, reads


# ---- single coordinates, products on a device


class DeviceIterate(NamedTuple):
    """A point of the working set, the gradients of Q's smooth part, Q less its first value, and the penalty's cost."""

    x: Array
    gradient: Array
    value: float
    cost: float


class DeviceModel(GramModel):
    """Q on the columns of a Gram matrix on a device; ``state`` has the coefficients of the working set."""

    #: Of 5 to 50 steps, 20 took least on an H200, for 3,000 and for 16,000 columns (``benchmarks/gpu.py``).
    between = 20

    def __init__(self, penalty: Any, products: Any, gradient: Array, x: Array) -> None:
        super().__init__(penalty, products.columns, products, gradient, x)
        self.parts = ByCoordinate(penalty)
        self.scale = np.where(products.diagonal > 1e-300, products.diagonal, 1.0)
        self._go_to(DeviceIterate(x, gradient, 0.0, float(cost_of(self.parts, self.columns, x))))
        products.largest = products.largest or 1.0

    def sweep(self, target: float, most: int) -> tuple[float, int]:
        """Take proximal steps with momentum; the best point is kept."""
        violation = self.violation()
        if violation <= target:
            return violation, 0
        best = self.state
        ahead, derivative, t = best.x.copy(), best.gradient.copy(), 1.0
        for number in range(1, most + 1):
            now = self.state
            found, is_short, is_uphill = self._proximal_step(ahead, derivative)
            if not is_short:  # L was too small: from the point before, with a larger one
                ahead, derivative, t = now.x.copy(), now.gradient.copy(), 1.0
                continue
            self._go_to(found)
            best = found if found.value <= best.value else best
            if number == most or (number % 5 == 0 and self.violation() <= target):
                break
            following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * t * t))
            share, t = (0.0, 1.0) if is_uphill else ((t - 1.0) / following, following)
            ahead = found.x + share * (found.x - now.x)
            derivative = found.gradient + share * (found.gradient - now.gradient)
        # what falls less than rounding errors of the cost is not seen in Q: the last point is the best then
        is_best = self.state.value <= best.value + tuning.OBJECTIVE_ROUNDING * best.cost
        self._go_to(self.state if is_best else best)
        return self.violation(), number

    def minimise_refined(self, target: float, most_steps: int) -> bool:
        """Minimise until the true violation is at most ``target``; False where G is too far from it.

        After each run gradients are computed as they truly are; where Q has not fallen, it goes back.
        """
        left = self.violation()
        while left > target:
            start, before, goal = self.state, left, max(target, 1e-2 * left)
            is_there = self.minimise(goal, most_steps) <= goal
            moved = self.x - start.x
            curved = self.gram.times_exactly(moved)
            fall = float(moved @ (start.gradient + 0.5 * curved)) + self.state.cost - start.cost
            is_lower = fall <= tuning.OBJECTIVE_ROUNDING * start.cost
            self._go_to(DeviceIterate(self.x, start.gradient + curved, 0.0, self.state.cost) if is_lower else start)
            left = self.violation()
            if left > target and not (is_there and is_lower and left <= 0.5 * before):
                return False
        return True

    def violation(self) -> float:
        """The largest one at the present point."""
        return float(largest_violation(self.parts, self.columns, self.x, self.state.gradient))

    def _go_to(self, state: DeviceIterate) -> None:
        self.state, self.x, self.gradient = state, state.x, state.gradient

    def _moved(self, x: Array, change: Array, curved: Array | None = None) -> DeviceIterate:
        """The state at another point, ``change`` from here: one product, if ``curved`` = G·change is not known."""
        now = self.state
        curved = self.gram.times(change) if curved is None else curved
        cost = float(cost_of(self.parts, self.columns, x))
        fall = float(change @ (now.gradient + 0.5 * curved)) + cost - now.cost
        return DeviceIterate(x, now.gradient + curved, now.value + fall, cost)

    def _proximal_step(self, ahead: Array, derivative: Array) -> tuple[DeviceIterate, bool, bool]:
        """The state after a step from ``ahead``, whether it is as short as the bound L promises, and whether uphill."""
        now, bound = self.state, self.gram.largest
        x = np.empty(ahead.size)
        proximal_steps(self.penalty, self.columns, ahead, derivative, bound, self.scale, x)
        change = x - now.x
        found = self._moved(x, change)
        away = x - ahead  # momentum leads uphill where it goes against the change
        length, bend = float(away @ (self.scale * away)), float(away @ (found.gradient - derivative))
        if bend <= bound * length * (1.0 + SAME_CURVATURE):
            return found, True, float(away @ (self.scale * change)) < 0.0
        self.gram.largest = max(1.5 * bound, 1.1 * bend / max(length, 1e-300))
        return found, False, False

    def direction(self, free: Array, curvature: Array, right: Array) -> Array | None:
        directions = (self.gram.solve(free, curvature, right, shift) for shift in tuning.SHIFTS)
        return next((direction for direction in directions if direction is not None), None)

    def take_step(self, free: Array, direction: Array) -> bool:
        derivative, curvature, low, high = self.work[:4, : free.size]
        here, lowest, best = self.x[free], 0.0, None
        ends = newton.cut_steps(here, direction, low, high)
        for there in ends:
            moved, x = there - here, self.x.copy()
            x[free] = there
            image = self.gram.times(x - self.x)
            value = float(moved @ (derivative + 0.5 * (image[free] + curvature * moved)))
            if value < lowest:
                lowest, best = value, (x, image)
        if best is not None:
            self._go_to(self._moved(best[0], best[0] - self.x, best[1]))
        return best is not None and len(ends) > 1


@kernel
def proximal_steps(
    penalty: Any, columns: Array, ahead: Array, derivative: Array, bound: float, scale: Array, x: Array
) -> None:
    """A proximal step of each coordinate from ``ahead``, with a length of its own."""
    for i in range(columns.size):
        step = 1.0 / (bound * scale[i])
        x[i] = penalty.prox(ahead[i] - step * derivative[i], step, columns[i])


# ---- blocks


class BlockModel(Model):
    """Q for penalties by block; x of shape (m, T) moves.

    A kind of model has ``gradient`` of Q's smooth part on the columns, ``direction(rows, found, right)`` that
    solves Newton's system on rows that are free, and ``smooth_part(change)`` and ``move(change)``.
    """

    patience, between = 5, tuning.BLOCK_SWEEPS_BETWEEN

    def newton_step(self: Any) -> bool:
        """Take Newton's step; where most of it is cut, one along a bound of the penalty; return if that was needed.

        A norm that is nearly zero turns far within Newton's step.  The bound ‖x_b‖ ≤ (‖x_b‖² + r²)/2r, r the norm now,
        holds at any length and keeps such blocks where they are (iteratively reweighted least squares).
        """
        for is_bound in (False, True):
            found = newton.pieces_of(self.penalty, self.blocks, self.starts, self.x)
            rows, change = np.flatnonzero(found.is_free.any(axis=1)), np.zeros(self.x.shape)
            if rows.size == 0 or not found.is_free[rows].all():  # all outputs of a column must be free, or none
                return False
            right = -(self.gradient + found.derivative)[rows]
            system = found.quadratic_bound(self.x) if is_bound else found
            step = self.direction(rows, system.of_rows(rows), right)
            if step is None:
                return False
            change[rows] = step
            predicted = 0.5 * float(np.vdot(right, step))
            given = self.penalty, self.blocks, self.starts, self.x
            taken = newton.try_lengths(*given, change, self.smooth_part, predicted)
            if taken is not None:
                self.move(taken)
                if np.vdot(taken, change) >= 0.5 * np.vdot(change, change):
                    return is_bound
        return False


class BlockGramModel(BlockModel):
    """On a Gram matrix that all outputs share; ``gradient`` of shape (m, T) moves with x.

    Coefficients of outputs that are coupled have shape (size, 1).
    """

    def __init__(self, penalty: Any, blocks: Array, starts: Array, gram: Array, gradient: Array, x: Array) -> None:
        self.penalty, self.blocks, self.starts, self.x = penalty, blocks, starts, x
        self.gram, self.gradient, self.room = gram, gradient, np.empty(x.size)
        self.lipschitz = sweeps.block_curvatures(sweeps.fill_curvatures, starts, gram)
        # some 10 ms: 400 sweeps leave nearly parallel columns far from their minimum
        self.most_sweeps = max(tuning.MOST_BLOCK_SWEEPS, 10_000_000 // (gram.shape[0] * x.size))
        self.has_pieces = hasattr(penalty, "block_piece")

    def sweep(self, target: float, most: int) -> tuple[float, int]:
        return sweeps.sweep_blocks(
            self.penalty, self.gram, self.gradient.ravel(), self.x.ravel(), self.starts, self.blocks,
            self.lipschitz, self.room, self.x.shape[1], target, most,
        )  # fmt: skip

    def direction(self, rows: Array, found: newton.PenaltyPieces, right: Array) -> Array | None:
        return newton.block_newton(self.gram[np.ix_(rows, rows)], found, right)

    def smooth_part(self, change: Array) -> float:
        return float(np.vdot(self.gradient + 0.5 * (self.gram @ change), change))

    def move(self, change: Array) -> None:
        self.gradient += self.gram @ change
        self.x += change


class BlockColumnModel(BlockModel):
    """On columns that are read in every sweep, where outputs are not coupled.

    A sweep takes one prox step a block, then the Newton step of the intercepts, whose change is ``shift``.  Newton
    steps are for one output and columns that outnumber the samples.
    """

    patience = 3

    def __init__(
        self, penalty: Any, part: Part, blocks: Array, starts: Array, curvature: Curvature, gradient: Array, x: Array,
        intercept: bool,
    ) -> None:  # fmt: skip
        self.penalty, self.part, self.blocks, self.starts, self.x = penalty, part, blocks, starts, x
        rooms = np.zeros(gradient.shape[0]), np.empty((int(np.diff(starts).max()),) * 2)
        given = part.matrix, part.places, curvature.most, *rooms
        self.lipschitz = sweeps.block_curvatures(sweeps.fill_column_curvatures, starts, *given)
        self.own, self.raw_gradient, self.intercept = curvature.own, gradient.copy(), intercept
        self.shift, self.reads, self.rooms = np.zeros(x.shape[1]), 0, np.empty((2, x.size))
        d, outputs = gradient.shape
        is_wide = outputs == 1 and d < x.size <= tuning.BLOCK_GRAM_FLOOR // (8 * d)
        self.has_pieces = is_wide and hasattr(penalty, "block_piece")
        self.block: Any = as_block(part, d) if self.has_pieces else None

    def sweep(self, target: float, most: int) -> tuple[float, int]:
        violation, done, matrix = math.inf, 0, self.part
        while violation > target and done < most:
            found = sweeps.sweep_block_columns(
                self.penalty, matrix.matrix, matrix.places, self.starts, self.blocks, self.lipschitz,
                self.own.ravel(), self.raw_gradient.ravel(), self.x.ravel(), self.rooms, self.x.shape[1], target,
            )  # fmt: skip
            violation, done = float(found), done + 1
            self.reads += self.x.shape[0]
            if self.intercept:
                sums = self.raw_gradient.sum(axis=0)
                violation = max(violation, float(np.linalg.norm(sums)) / math.sqrt(self.raw_gradient.shape[0]))
                self._move_samples(0.0)
        return violation, done

    def _move_samples(self, predictor: Any) -> None:
        """Add this predictor, with the intercepts' best change."""
        constant = self._best_constant(predictor)
        self.shift += constant
        self.raw_gradient += self.own * (predictor + constant)

    def _best_constant(self, predictor: Any) -> Array:
        total = self.own.sum(axis=0)
        sums = (self.raw_gradient + self.own * predictor).sum(axis=0)
        return -np.divide(sums, total, out=np.zeros(sums.shape), where=(total > 0.0) & self.intercept)

    @property
    def gradient(self) -> Array:
        return self.block.T @ self.raw_gradient

    def direction(self, rows: Array, found: newton.PenaltyPieces, right: Array) -> Array | None:
        """Newton's step on the free columns, where they outnumber the samples."""
        if rows.size <= self.raw_gradient.size:
            return None
        weight, free = self.own[:, 0], self.block[:, rows]
        free = free - (weight @ free) / weight.sum() if self.intercept else free
        return newton.wide_newton(free, weight, found, right)

    def smooth_part(self, change: Array) -> float:
        predictor = self.block @ change
        predictor += self._best_constant(predictor)
        return float(np.vdot(self.raw_gradient + 0.5 * self.own * predictor, predictor))

    def move(self, change: Array) -> None:
        self._move_samples(self.block @ change)
        self.x += change
