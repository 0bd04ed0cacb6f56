"""Sweeps of coordinate descent over a quadratic model, compiled.

    Q(Δ) = ⟨Γ, Δ⟩ + ½⟨Δ, GΔ⟩ + Σ_b Ψ_b(x_b + Δ_b),          G = A_WᵀHA_W,   Γ = A_WᵀV.

A sweep goes through the blocks and moves each to its minimum (one prox step for a single column; prox steps until
little is left inside a larger block).  On the Gram matrix G a step updates all gradient entries; on columns it updates
the raw gradient, and a gradient entry is an inner product.  Penalties by coordinate have kernels of their own, 1.5 to 3
times as fast as those for blocks.

Sweeps approach the minimum along few directions.  With the last points x_0, …, x_K of them

    x = Σ_i c_i x_i,     c = argmin ‖Σ_i c_i (x_i − x_{i−1})‖  with  Σ_i c_i = 1,     i = 1, …, K,

leads far ahead (Anderson extrapolation; Bertrand and Massias, 2021).  Gradients of the smooth part are affine in x, so
that Σ c_i g_i is the gradient there, and Q changes by ½⟨x − x_K, g + g_K⟩ and what the penalty changes by.  Where that
is a decrease, x is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import at, helper, kernel, wide
from ascd.matrix.base import Part
from ascd.matrix.columns import dot, weighted_square
from ascd.problem.arithmetic import violation_of
from ascd.solver.tuning import (
    ABOVE_HALF,
    ABOVE_POWER,
    CONSTANT,
    CURVATURE_STEPS,
    LARGEST_FACTORS,
    PAST_SHIFT,
    RUN,
    STEPS_INSIDE,
    VISITED,
)  # fmt: skip
from ascd.solver.working_set import BlockLayout

# ---- single coordinates


@kernel
def sweep_gram(
    penalty: Any, columns: Array, gram: Array, gradient: Array, x: Array, target: float, most: int
) -> tuple[float, int]:
    """Sweeps until the largest violation met in one is at most ``target``; that violation, and their number."""
    size = columns.size
    worst, done = 0.0, 0
    while done < most:
        worst = 0.0
        for i in range(size):
            j, g = columns[i], gradient[i]
            low, high = penalty.subgradient(x[i], j)
            violation = violation_of(low, high, g)
            if violation > VISITED * target:
                worst = max(worst, violation)
                lipschitz = gram[i, i] if gram[i, i] > 1e-300 else 1.0
                new = penalty.prox(x[i] - g / lipschitz, 1.0 / lipschitz, j)
                change = new - x[i]
                if change != 0.0:
                    x[i] = new
                    for other in range(size):
                        gradient[other] += change * gram[other, i]
        done += 1
        if worst <= target:
            break
    return worst, done


@kernel
def column_curvatures(matrix: Any, positions: Array, weight: Any, means: Array, total: float, out: Array) -> None:
    """⟨a_j, H a_j⟩, less the share of the intercept."""
    for i in range(positions.size):
        square = weighted_square(matrix, positions[i], weight)
        varying = square - total * means[i] * means[i]
        out[i] = varying if varying > CONSTANT * square else square  # see GramMatrix


@kernel
def sweep_columns(
    penalty: Any, matrix: Any, positions: Array, columns: Array, lipschitz: Array, weight: Any, means: Array,
    total: float, gradient: Array, x: Array, order: Array, turn: Array, seed: Array, target: float, most: int,
) -> tuple[float, int, int]:  # fmt: skip
    """Sweeps until the largest violation met in one is at most ``target``; that violation, their number, the reads.

    Coordinates that are further inside their rest than any violation of the sweep before are left out of the next ones.
    The others come in runs of neighbours, whose memory lies together, and the runs in another order in every sweep.
    """
    worst, done, reads, offset = math.inf, 0, 0, 0.0
    seed[0], active = most, columns.size
    for i in range(active):
        order[i] = i
    while done < most:
        before, worst = worst, 0.0
        runs = shuffle_runs(turn, active, seed)
        for b in range(runs):
            first = RUN * wide(turn[b])
            last = min(first + RUN, active)
            shuffle(order, first, last, seed)
            if b + 1 < runs:
                following = RUN * wide(turn[b + 1])
                for a in range(following, min(following + RUN, active)):
                    matrix.ahead(wide(positions[wide(order[a])]))
            for a in range(first, last):
                i = wide(order[a])
                j, position = wide(columns[i]), wide(positions[i])
                g = dot(matrix, position, gradient) + offset * total * means[i]
                low, high = penalty.subgradient(x[i], j)
                violation = violation_of(low, high, g)
                if violation < -before:  # deep at rest: inactive for the rest of these sweeps
                    order[a] = -1
                elif violation > VISITED * target:
                    worst = max(worst, violation)
                    bound = lipschitz[i] if lipschitz[i] > 1e-300 else 1.0
                    new = penalty.prox(x[i] - g / bound, 1.0 / bound, j)
                    change = new - x[i]
                    if change != 0.0:
                        x[i] = new
                        move_gradient(matrix, position, change, weight, gradient)
                        offset -= change * means[i]
        done += 1
        reads += active
        active = close_gaps(order, active)
        if worst <= target:
            break
    for k in range(gradient.size):
        gradient[k] += offset * at(weight, k)
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
def move_gradient(matrix: Any, j: int, change: float, weight: Any, gradient: Array) -> None:
    for p in range(matrix.start(j), matrix.stop(j)):
        k = matrix.row(p)
        gradient[k] += change * at(weight, k) * matrix.entry(p, j)


# ---- blocks of columns and outputs; coefficients and gradients are flat, the outputs of a row together


def rooms_for_past(size: int) -> tuple[Array, Array]:
    """For the last points and their gradients, of so many numbers, and for the system of their factors."""
    count = 5
    return np.empty((2, count + 1, size)), np.empty((count, count + 1))


@helper
def add_products(row: Array, change: Array, out: Array) -> None:
    """out_k += row_k·change for all rows k of ``out``, which is flat; most changes are 0 where blocks are sparse."""
    size = change.size
    if size == 1:  # the same sums, written so that the compiler can use vector registers
        factor = change[0]
        if factor != 0.0:
            for k in range(row.size):
                out[k] += row[k] * factor
        return
    first = 0
    while first + 4 <= size:  # four at a time: a row is a product of vector registers
        one, two, three, four = change[first], change[first + 1], change[first + 2], change[first + 3]
        if one != 0.0 or two != 0.0 or three != 0.0 or four != 0.0:
            for k in range(row.size):
                product, at = row[k], wide(k * size + first)
                out[at] += product * one
                out[at + wide(1)] += product * two
                out[at + wide(2)] += product * three
                out[at + wide(3)] += product * four
        first += 4
    for t in range(first, size):
        factor = change[t]
        if factor != 0.0:
            for k in range(row.size):
                out[wide(k * size + t)] += row[k] * factor


@helper
def prox_step(penalty: Any, here: Array, gradient: Array, step: float, b: int, moved: Array) -> None:
    """A block goes to the prox of its gradient step; how far is in ``moved``."""
    for p in range(here.size):
        moved[p] = here[p] - step * gradient[p]
    penalty.block_prox(moved, step, b)
    for p in range(here.size):
        there = moved[p]
        moved[p], here[p] = there - here[p], there


@helper
def sweep(
    penalty: Any, gram: Array, gradient: Array, x: Array, starts: Array, blocks: Array, lipschitz: Array, rooms: Array,
    outputs: int, target: float,
) -> float:  # fmt: skip
    """Every block once; the largest violation met."""
    violation = 0.0
    for i in range(blocks.size):
        b, first, last = wide(blocks[i]), wide(starts[i]), wide(starts[i + 1])
        low, high = first * outputs, last * outputs
        size = high - low
        here, gradient_here = x[low:high], gradient[low:high]
        away = penalty.block_distance(here, gradient_here, b)
        violation = max(violation, away)
        if away <= VISITED * target:
            continue
        old, local, trial = rooms[0, :size], rooms[1, :size], rooms[2, :size]
        for p in range(size):
            old[p], local[p] = here[p], gradient_here[p]
        step = 1.0 / lipschitz[i]
        for turn in range(STEPS_INSIDE if last - first > 1 else 1):
            prox_step(penalty, here, local, step, b, trial)
            if last - first > 1:
                for j in range(first, last):
                    at = (j - first) * outputs
                    add_products(gram[j, first:last], trial[at : at + outputs], local)
                if turn > 0 and penalty.block_distance(here, local, b) <= 0.1 * away:
                    break
        for j in range(first, last):
            at = (j - first) * outputs
            for t in range(outputs):
                trial[t] = here[at + t] - old[at + t]
            add_products(gram[j], trial[:outputs], gradient)
    return violation


@helper
def extrapolation_factors(past: Array, system: Array) -> bool:
    """The factors c of the last points, in the last column of ``system``; are they of use?"""
    count, trace, total, size = past.shape[1] - 1, 0.0, 0.0, 0.0
    for i in range(count):
        for j in range(i + 1):
            product = 0.0
            for p in range(past.shape[2]):
                product += (past[0, i + 1, p] - past[0, i, p]) * (past[0, j + 1, p] - past[0, j, p])
            system[i, j] = system[j, i] = product
        system[i, count] = 1.0
        trace += system[i, i]
    for i in range(count):
        system[i, i] += PAST_SHIFT * trace
    for i in range(count):  # positive definite: no pivots are looked for
        if not system[i, i] > 0.0:
            return False
        for other in range(count):
            share = system[other, i] / system[i, i]
            if other != i:
                for j in range(i, count + 1):
                    system[other, j] -= share * system[i, j]
    for i in range(count):
        system[i, count] /= system[i, i]
    for i in range(count):
        total += system[i, count]
        size += abs(system[i, count])
    if not size <= LARGEST_FACTORS * abs(total):
        return False
    for i in range(count):
        system[i, count] /= total
    return True


@helper
def combine(points: Array, system: Array, out: Array) -> None:
    """out = Σ c_i·points_i over all but the oldest."""
    count = system.shape[0]
    for p in range(out.size):
        out[p] = 0.0
    for i in range(count):
        factor, point = system[i, count], points[i + 1]
        for p in range(out.size):
            out[p] += factor * point[p]


@helper
def extrapolate(
    penalty: Any, past: Array, system: Array, gradient: Array, x: Array, starts: Array, blocks: Array, outputs: int
) -> None:
    """To the combination of the last points where Q is lower there."""
    if not extrapolation_factors(past, system):
        return
    there, gradient_here, fall = past[0, 0], past[1, 0], 0.0  # the oldest point is not needed any more
    combine(past[0], system, there)
    combine(past[1], system, gradient_here)
    for p in range(x.size):
        fall += 0.5 * (there[p] - x[p]) * (gradient_here[p] + gradient[p])
    for i in range(blocks.size):
        b, low, high = wide(blocks[i]), wide(starts[i]) * outputs, wide(starts[i + 1]) * outputs
        fall += penalty.block_cost(there[low:high], b) - penalty.block_cost(x[low:high], b)
    if fall < 0.0:
        for p in range(x.size):
            x[p], gradient[p] = there[p], gradient_here[p]


@helper
def sweep_until(
    penalty: Any, gram: Array, gradient: Array, x: Array, starts: Array, blocks: Array, lipschitz: Array, rooms: Array,
    past: Array, system: Array, outputs: int, target: float, most: int,
) -> tuple[float, int]:  # fmt: skip
    """Sweeps over the blocks of a model until none violates by more than the target; the violation, and how many."""
    violation, sweeps, kept = 0.0, 0, 0
    for _ in range(most):
        violation = sweep(penalty, gram, gradient, x, starts, blocks, lipschitz, rooms, outputs, target)
        sweeps += 1
        if violation <= target:
            break
        for p in range(x.size):
            past[0, kept, p], past[1, kept, p] = x[p], gradient[p]
        kept += 1
        if kept == past.shape[1]:
            extrapolate(penalty, past, system, gradient, x, starts, blocks, outputs)
            for p in range(x.size):
                past[0, 0, p], past[1, 0, p] = x[p], gradient[p]
            kept = 1
    return violation, sweeps


sweep_blocks = kernel(sweep_until)


@kernel
def sweep_block_columns(
    penalty: Any, matrix: Any, positions: Array, starts: Array, blocks: Array, lipschitz: Array, own: Array,
    raw_gradient: Array, x: Array, rooms: Array, outputs: int, target: float,
) -> float:  # fmt: skip
    """One prox step a block on the columns; the largest violation met.  Arrays of samples and coefficients are flat."""
    violation = 0.0
    for i in range(blocks.size):
        b, first, last = wide(blocks[i]), wide(starts[i]), wide(starts[i + 1])
        low, size = first * outputs, (last - first) * outputs
        here, gradient, moved = x[low : low + size], rooms[0, :size], rooms[1, :size]
        for q in range(first, last):
            fill_gradient(matrix, wide(positions[q]), raw_gradient, outputs, gradient, wide((q - first) * outputs))
        away = penalty.block_distance(here, gradient, b)
        violation = max(violation, away)
        if away > VISITED * target:
            prox_step(penalty, here, gradient, 1.0 / lipschitz[i], b, moved)
            for q in range(first, last):
                add_to_gradient(
                    matrix, wide(positions[q]), moved, wide((q - first) * outputs), own, raw_gradient, outputs
                )
    return violation


@helper
def fill_gradient(matrix: Any, j: int, raw_gradient: Array, outputs: int, out: Array, first: int) -> None:
    """out[first + t] = ⟨a_j, raw_gradient_t⟩ for all outputs t."""
    if outputs == 1:  # the same sum, written so that the compiler can use vector registers
        out[first] = dot(matrix, j, raw_gradient)
        return
    for t in range(outputs):
        out[first + t] = 0.0
    for p in range(matrix.start(j), matrix.stop(j)):
        at, entry = wide(matrix.row(p)) * outputs, matrix.entry(p, j)
        for t in range(outputs):
            out[first + t] += entry * raw_gradient[at + t]


@helper
def add_to_gradient(
    matrix: Any, j: int, change: Array, first: int, own: Array, raw_gradient: Array, outputs: int
) -> None:
    """raw_gradient += H·a_j·change with H = diag(own)."""
    if outputs == 1:
        if change[first] != 0.0:
            for p in range(matrix.start(j), matrix.stop(j)):
                k = wide(matrix.row(p))
                raw_gradient[k] += own[k] * (matrix.entry(p, j) * change[first])
        return
    for p in range(matrix.start(j), matrix.stop(j)):
        at, entry = wide(matrix.row(p)) * outputs, matrix.entry(p, j)
        for t in range(outputs):
            raw_gradient[at + t] += own[at + t] * (entry * change[first + t])


@kernel
def mark_movable(
    penalty: Any, blocks: Array, starts: Array, x: Array, gradient: Array, room: Array, outputs: int, out: Array
) -> None:
    """Mark the coefficients that are not zero, and those that leave it in a prox step of their block."""
    for i in range(blocks.size):
        low, high = wide(starts[i]) * outputs, wide(starts[i + 1]) * outputs
        moved = room[: high - low]
        for p in range(low, high):
            moved[p - low] = x[p] - gradient[p]
        penalty.block_prox(moved, 1.0, wide(blocks[i]))
        for p in range(low, high):
            out[p] = x[p] != 0.0 or moved[p - low] != 0.0


# ---- curvature of the prox steps of a block


@helper
def step_curvature(matrix: Array, one: Array, other: Array) -> float:
    """More than half of a symmetric matrix's largest eigenvalue, and near it; inf where entries have overflowed."""
    size, top, most, square, start = matrix.shape[0], 0.0, 0.0, 0.0, 0
    for i in range(size):
        if matrix[i, i] > top:
            top, start = matrix[i, i], i
    if size == 1 or not 0.0 < top < math.inf:
        return top
    for i in range(size):
        total, squares = 0.0, 0.0
        for j in range(size):
            entry = matrix[i, j] / top
            total += abs(entry)
            squares += entry * entry
        most = max(most, total)
        square += squares
    bound = min(most, math.sqrt(square))
    if not bound < math.inf:
        return math.inf
    for i in range(size):
        one[i] = matrix[start, i] / top
    found = 1.0
    for _ in range(CURVATURE_STEPS):
        length, along = 0.0, 0.0
        for i in range(size):
            product = 0.0
            for j in range(size):
                product += matrix[i, j] * one[j]
            other[i] = product / top
        for i in range(size):
            length += one[i] * one[i]
            along += one[i] * other[i]
        found = max(found, along / length)
        for i in range(size):
            one[i] = other[i] / found
    return top * min(max(ABOVE_POWER * found, ABOVE_HALF * bound), bound)


@kernel
def fill_curvatures(gram: Array, starts: Array, blocks: Array, rooms: Array, out: Array) -> None:
    """``step_curvature`` of some blocks, from products of all columns."""
    for i in range(blocks.size):
        first, last = wide(starts[blocks[i]]), wide(starts[blocks[i] + 1])
        out[i] = step_curvature(gram[first:last, first:last], rooms[0, : last - first], rooms[1, : last - first])


@kernel
def fill_column_curvatures(
    matrix: Any, positions: Array, starts: Array, blocks: Array, weight: Array, column: Array, gram: Array,
    rooms: Array, out: Array,
) -> None:  # fmt: skip
    """``step_curvature`` of some blocks from their columns; ``column`` is a vector of zeros as long as the samples."""
    for i in range(blocks.size):
        first, last = wide(starts[blocks[i]]), wide(starts[blocks[i] + 1])
        size = last - first
        for q in range(size):
            j = wide(positions[first + q])
            for p in range(matrix.start(j), matrix.stop(j)):
                k = wide(matrix.row(p))
                column[k] = weight[k] * matrix.entry(p, j)
            for r in range(size):
                gram[r, q] = dot(matrix, wide(positions[first + r]), column)
            for p in range(matrix.start(j), matrix.stop(j)):
                column[wide(matrix.row(p))] = 0.0
        out[i] = step_curvature(gram[:size, :size], rooms[0, :size], rooms[1, :size])


class ProxCurvature:
    """The curvatures L_b of blocks, whose inverses are the lengths of their prox steps: λ_max(A_bᵀHA_b), or nearly.

    A prox step of the length 1/L lowers a convex model by (L − λ_max/2)·‖step‖² at least, so more than half of λ_max is
    enough.  What was computed for a block is kept where ``keeps``: where H never changes.
    """

    def __init__(self, count: int, keeps: bool) -> None:
        self.keeps, self.known = keeps, np.full(count, np.nan)

    def of_gram(self, layout: BlockLayout, gram: Array) -> Array:
        """Return L_b of a working set from the products of all its columns."""
        return self._known(layout, partial(fill_curvatures, gram), np.empty((2, gram.shape[0])))

    def of_columns(self, layout: BlockLayout, part: Part, weight: Array) -> Array:
        """Return L_b of a working set from its columns, with H = diag(weight)."""

        def fill(starts: Array, new: Array, rooms: Array, found: Array) -> None:
            room = np.empty((layout.longest, layout.longest))
            fill_column_curvatures(
                part.matrix, part.places, starts, new, weight, np.zeros(weight.size), room, rooms, found
            )

        return self._known(layout, fill, np.empty((2, layout.longest)))

    def _known(self, layout: BlockLayout, fill: Callable[..., None], rooms: Array) -> Array:
        new = np.arange(layout.blocks.size)
        if self.keeps:
            new = np.flatnonzero(np.isnan(self.known[layout.blocks]))
        found = np.empty(new.size)
        fill(layout.starts, new, rooms, found)
        self.known[layout.blocks[new]] = found
        return positive(self.known[layout.blocks])


def positive(curvature: Array) -> Array:
    """Return curvatures of blocks, positive also where all columns are 0: there the penalty alone decides."""
    largest = float(curvature.max(initial=0.0))
    return np.where(curvature > 0.0, curvature, 1e-9 * largest if largest > 0.0 else 1.0)
