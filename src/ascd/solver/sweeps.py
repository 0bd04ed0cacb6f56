"""Sweeps of coordinate descent over a quadratic model, compiled.

    Q(Δ) = ⟨Γ, Δ⟩ + ½⟨Δ, GΔ⟩ + Σ_b Ψ_b(x_b + Δ_b),          G = A_WᵀHA_W,   Γ = A_WᵀV.

A sweep goes through the blocks and moves each to its minimum (one prox step for a single column; prox steps until
little is left inside a larger block).  On the Gram matrix G a step updates all gradient entries; on columns it updates
the raw gradient, and a gradient entry is an inner product.  Penalties by coordinate have kernels of their own, 1.5 to 3
times as fast as those for blocks.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import at, helper, kernel, wide
from ascd.matrix.columns import clear, dot, scatter, weighted_square
from ascd.matrix.costs import LEFT_BY_MEANS
from ascd.problem.arithmetic import violation_of
from ascd.solver.tuning import VISITED

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


@helper
def curvatures_of_columns(matrix: Any, positions: Array, weight: Any, means: Array, total: float, out: Array) -> None:
    """⟨a_j, H a_j⟩, less the share of the intercept."""
    for i in range(positions.size):
        square = weighted_square(matrix, positions[i], weight)
        varying = square - total * means[i] * means[i]
        out[i] = varying if varying > LEFT_BY_MEANS * square else square  # see GramMatrix


column_curvatures = kernel(curvatures_of_columns)


@helper
def sweep_over_columns(
    penalty: Any, matrix: Any, positions: Array, columns: Array, lipschitz: Array, weight: Any, means: Array,
    total: float, gradient: Array, x: Array, order: Array, target: float, most: int,
) -> tuple[float, int, int]:  # fmt: skip
    """Sweeps until the largest violation met in one is at most ``target``; that violation, their number, the reads.

    Coordinates inside their optimality condition by more than the largest violation of the sweep before are left out of
    the next ones (shrinking).
    """
    worst, done, reads, offset, active = math.inf, 0, 0, 0.0, columns.size
    for i in range(active):
        order[i] = i
    while done < most:
        before, worst, kept = worst, 0.0, 0
        for a in range(active):
            i = wide(order[a])
            j, position = wide(columns[i]), wide(positions[i])
            g = dot(matrix, position, gradient) + offset * total * means[i]
            low, high = penalty.subgradient(x[i], j)
            violation = violation_of(low, high, g)
            if violation < -before:  # shrinking
                continue
            order[kept] = i
            kept += 1
            if violation > VISITED * target:
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
        active = kept
        if worst <= target:
            break
    for k in range(gradient.size):
        gradient[k] += offset * at(weight, k)
    return worst, done, reads


sweep_columns = kernel(sweep_over_columns)


@helper
def move_gradient(matrix: Any, j: int, change: float, weight: Any, gradient: Array) -> None:
    for p in range(matrix.start(j), matrix.stop(j)):
        k = matrix.row(p)
        gradient[k] += change * at(weight, k) * matrix.entry(p, j)


# ---- blocks of columns and outputs; coefficients and gradients are flat, the outputs of a row together


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


@kernel
def sweep_blocks(
    penalty: Any, gram: Array, gradient: Array, x: Array, starts: Array, blocks: Array, lipschitz: Array, room: Array,
    outputs: int, target: float, most: int,
) -> tuple[float, int]:  # fmt: skip
    """Sweeps, one prox step a block, until none violates by more than ``target``; the last violation, and how many."""
    violation, done = 0.0, 0
    while done < most:
        violation = 0.0
        for i in range(blocks.size):
            b, first, last = wide(blocks[i]), wide(starts[i]), wide(starts[i + 1])
            low, high = first * outputs, last * outputs
            here, gradient_here, moved = x[low:high], gradient[low:high], room[: high - low]
            away = penalty.block_distance(here, gradient_here, b)
            violation = max(violation, away)
            if away > VISITED * target:
                prox_step(penalty, here, gradient_here, 1.0 / lipschitz[i], b, moved)
                for j in range(first, last):
                    at = (j - first) * outputs
                    add_products(gram[j], moved[at : at + outputs], gradient)
        done += 1
        if violation <= target:
            break
    return violation, done


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
def step_curvature(matrix: Array) -> float:
    """A bound of a symmetric matrix's largest eigenvalue: its largest sum of a row, or its length; inf for nan."""
    size, top, most, square = matrix.shape[0], 0.0, 0.0, 0.0
    for i in range(size):
        top = max(top, matrix[i, i])
    if size == 1 or not 0.0 < top < math.inf:
        return top
    for i in range(size):
        total = 0.0
        for j in range(size):
            entry = matrix[i, j] / top
            total += abs(entry)
            square += entry * entry
        most = max(most, total)
    bound = top * min(most, math.sqrt(square))
    return bound if bound < math.inf else math.inf


@kernel
def fill_curvatures(gram: Array, starts: Array, out: Array) -> None:
    """``step_curvature`` of every block of a working set, from the products of all its columns."""
    for i in range(out.size):
        first, last = wide(starts[i]), wide(starts[i + 1])
        out[i] = step_curvature(gram[first:last, first:last])


@kernel
def fill_column_curvatures(
    matrix: Any, positions: Array, weight: Array, column: Array, gram: Array, starts: Array, out: Array
) -> None:
    """``step_curvature`` of every block from its columns; ``column`` is a vector of zeros as long as the samples."""
    for i in range(out.size):
        first, last = wide(starts[i]), wide(starts[i + 1])
        size = last - first
        for q in range(size):
            j = wide(positions[first + q])
            scatter(matrix, j, weight, column)
            for r in range(size):
                gram[r, q] = dot(matrix, wide(positions[first + r]), column)
            clear(matrix, j, column)
        out[i] = step_curvature(gram[:size, :size])


def block_curvatures(fill: Any, starts: Array, *given: Any) -> Array:
    """Return curvatures L_b ≥ λ_max(G_bb) of blocks, whose inverses are the lengths of their prox steps.

    ``fill`` is one of the two kernels above, for what is ``given``.  They are positive also where all columns are 0:
    there the penalty alone decides.
    """
    found = np.empty(starts.size - 1)
    fill(*given, starts, found)
    largest = float(found.max(initial=0.0))
    return np.where(found > 0.0, found, 1e-9 * largest if largest > 0.0 else 1.0)
