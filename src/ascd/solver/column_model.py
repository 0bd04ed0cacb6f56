"""The quadratic model on a working set too large for a Gram matrix: sweeps over columns, Newton steps by CG.

The same Q as in ``gram_model``.  The columns are taken once from the design, and lie in local memory from then on.  The
slope of the smooth part, u = v + H·(A_WΔ + c·1), follows every step, and a gradient entry is a product ⟨a_j, u⟩.  With
an intercept, c is one number beside u during a sweep, so that a step costs the entries of its column and no more.
Newton's system on the free coordinates is solved by conjugate gradients, preconditioned by its diagonal.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import at, helper, kernel, wide
from ascd.matrix.base import Design
from ascd.matrix.columns import add_columns, dot, weighted_square
from ascd.problem.optimality import violation_of
from ascd.solver import tuning
from ascd.solver.gram_model import Outcome, cut_step, find_free
from ascd.solver.tuning import CONSTANT, RUN, VISITED


class ColumnModel:
    """Q on ``columns``, read anew in every sweep; ``x`` is the solver's own vector and moves."""

    def __init__(
        self, penalty: Any, design: Design, columns: Array, weight: Array, means: Array, slope: Array, x: Array
    ) -> None:
        self.penalty, self.columns, self.x = penalty, columns, x
        self.matrix, self.places = design.take(columns)
        self.weight: Any = float(weight[0]) if np.ptp(weight) == 0.0 else weight  # one number is read faster
        self.means, self.total = means[columns], float(weight.sum())
        self.slope = slope.copy()
        self.lipschitz = np.empty(columns.size)
        column_curvatures(self.matrix, self.places, self.weight, self.means, self.total, self.lipschitz)
        self.reads = columns.size
        self.free, self.work = np.empty(columns.size, dtype=np.int64), np.empty((6, columns.size))
        self.gradient = np.empty(columns.size)
        self.turn, self.seed = np.empty(columns.size // RUN + 1, dtype=np.int64), np.zeros(1, dtype=np.int64)

    def minimise(self, target: float, most_sweeps: int) -> Outcome:
        """Until no coordinate of W violates its optimality condition by more than ``target``."""
        sweeps = newtons = 0
        while True:
            violation, done, reads = sweep_columns(
                self.penalty, self.matrix, self.places, self.columns, self.lipschitz, self.weight, self.means,
                self.total, self.slope, self.x, self.free, self.turn, self.seed, target,
                min(tuning.SWEEPS_BETWEEN_CG, most_sweeps - sweeps),
            )  # fmt: skip
            sweeps += done
            self.reads += reads
            if violation <= target or sweeps >= most_sweeps:
                return Outcome(violation, sweeps, newtons)
            if hasattr(self.penalty, "piece"):
                newtons += 1
                self._newton_step()

    def _newton_step(self) -> None:
        products_with(self.matrix, self.places, self.slope, self.gradient)
        self.reads += self.columns.size
        known = np.ones(self.columns.size, dtype=np.bool_)
        count = find_free(self.penalty, self.columns, known, self.gradient, self.x, self.free, self.work)
        if count == 0:
            return
        free = self.free[:count]
        slope, curvature, low, high = self.work[:4, :count]
        direction = self._conjugate_gradients(free, curvature, -slope)
        here = self.x[self.columns[free]]
        whole, straight = np.empty(count), np.empty(count)
        cut = cut_step(here, direction, low, high, whole, straight)
        best, gain, moved = None, 0.0, self.slope
        for change in (whole, straight)[: 1 + cut]:
            image = self._image(free, change)
            value = slope @ change + 0.5 * (image @ (self.weight * image) + curvature @ (change * change))
            if value < gain:
                best, gain, moved = change, value, image
        if best is not None:
            self.slope += self.weight * moved
            self.x[self.columns[free]] = np.clip(here + best, low, high)

    def _image(self, free: Array, change: Array) -> Array:
        """A_free·change + c·1 with the best constant c (zero without an intercept)."""
        image = np.full(self.slope.size, -float(self.means[free] @ change))
        add_columns(self.matrix, self.places[free], change, image, 0, image.size)
        self.reads += free.size
        return image

    def _conjugate_gradients(self, free: Array, curvature: Array, right: Array) -> Array:
        """(G + curvature)⁻¹·right on the free coordinates, to a hundredth of its size."""
        diagonal = self.lipschitz[free] + curvature
        diagonal[diagonal <= 0.0] = 1.0
        solution, residual = np.zeros(free.size), right.copy()
        step = residual / diagonal
        product, size = step.copy(), float(residual @ step)
        enough = tuning.CG_ACCURACY * size
        for _ in range(tuning.MOST_CG_STEPS):
            image = self.weight * self._image(free, product)
            curved = curvature * product
            products_with(self.matrix, self.places[free], image, step)
            self.reads += free.size
            curved += step
            bend = float(product @ curved)
            if bend <= 0.0:
                break
            solution += size / bend * product
            residual -= size / bend * curved
            step = residual / diagonal
            before, size = size, float(residual @ step)
            if size <= enough:
                break
            product = step + size / before * product
        return solution


@kernel
def column_curvatures(matrix: Any, places: Array, weight: Any, means: Array, total: float, out: Array) -> None:
    """⟨a_j, H a_j⟩, less the share of the intercept."""
    for i in range(places.size):
        square = weighted_square(matrix, places[i], weight)
        varying = square - total * means[i] * means[i]
        out[i] = varying if varying > CONSTANT * square else square  # see Gram


@kernel
def products_with(matrix: Any, places: Array, slope: Array, out: Array) -> None:
    """Products of the columns with the slope."""
    for i in range(places.size):
        out[i] = dot(matrix, places[i], slope)


@kernel
def sweep_columns(
    penalty: Any, matrix: Any, places: Array, columns: Array, lipschitz: Array, weight: Any, means: Array,
    total: float, slope: Array, x: Array, order: Array, turn: Array, seed: Array, target: float, most: int,
) -> tuple[float, int, int]:  # fmt: skip
    """Sweeps until the largest violation met in one is at most ``target``; that violation, their number, the reads.

    Coordinates that are further inside their rest than any violation of the sweep before are left out of the next ones.
    The others come in runs of neighbours, whose memory lies together, and the runs in another order in every sweep.
    """
    worst, done, reads, offset = math.inf, 0, 0, 0.0
    seed[0], awake = most, columns.size
    for i in range(awake):
        order[i] = i
    while done < most:
        before, worst = worst, 0.0
        runs = shuffle_runs(turn, awake, seed)
        for b in range(runs):
            first = RUN * wide(turn[b])
            last = min(first + RUN, awake)
            shuffle(order, first, last, seed)
            if b + 1 < runs:
                following = RUN * wide(turn[b + 1])
                for a in range(following, min(following + RUN, awake)):
                    matrix.ahead(wide(places[wide(order[a])]))
            for a in range(first, last):
                i = wide(order[a])
                j, place = wide(columns[i]), wide(places[i])
                g = dot(matrix, place, slope) + offset * total * means[i]
                low, high = penalty.subgradient(x[j], j)
                violation = violation_of(low, high, g)
                if violation < -before:  # deep at rest: asleep for the rest of these sweeps
                    order[a] = -1
                elif violation > VISITED * target:
                    worst = max(worst, violation)
                    bound = lipschitz[i] if lipschitz[i] > 1e-300 else 1.0
                    new = penalty.prox(x[j] - g / bound, 1.0 / bound, j)
                    change = new - x[j]
                    if change != 0.0:
                        x[j] = new
                        move_slope(matrix, place, change, weight, slope)
                        offset -= change * means[i]
        done += 1
        reads += awake
        awake = close_gaps(order, awake)
        if worst <= target:
            break
    for k in range(slope.size):
        slope[k] += offset * at(weight, k)
    return worst, done, reads


@helper
def shuffle_runs(turn: Array, count: int, seed: Array) -> int:
    """An order for the runs of neighbours among so many, and the number of runs."""
    runs = (count + RUN - 1) // RUN
    for run in range(runs):
        turn[run] = run
    shuffle(turn, 0, runs, seed)
    return runs


@helper
def shuffle(order: Array, first: int, last: int, seed: Array) -> None:
    """order[first:last] in another order, by a linear congruential generator."""
    for a in range(last - 1, first, -1):
        seed[0] = (seed[0] * 25214903917 + 11) & 0xFFFFFFFFFFFF
        b = first + ((seed[0] >> 16) * (a + 1 - first) >> 32)
        order[a], order[b] = order[b], order[a]


@helper
def close_gaps(order: Array, size: int) -> int:
    """Keep the entries that are not −1, in their order; their number."""
    kept = 0
    for a in range(size):
        order[kept] = order[a]
        kept += order[a] >= 0
    return kept


@helper
def move_slope(matrix: Any, j: int, change: float, weight: Any, slope: Array) -> None:
    for p in range(matrix.start(j), matrix.stop(j)):
        k = matrix.row(p)
        slope[k] += change * at(weight, k) * matrix.entry(p, j)
