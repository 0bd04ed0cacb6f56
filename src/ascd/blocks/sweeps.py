"""Sweeps over the blocks of a model of products, and points beyond them.

A sweep goes through the blocks; inside a block of one column the minimum is one prox, inside a larger one prox steps go
on until little is left.  Sweeps approach the minimum along few directions.  With the last points x_0, …, x_K of them

    x = Σ_i c_i x_i,     c = argmin ‖Σ_i c_i (x_i − x_{i−1})‖  with  Σ_i c_i = 1,     i = 1, …, K,

leads far ahead (Anderson; Bertrand and Massias, 2021).  Gradients of Q's smooth part are affine in x, so that Σ c_i g_i
is the gradient there, and Q changes by ½⟨x − x_K, g + g_K⟩ and what the penalty changes by.  Where that is a fall, x is
taken.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper, kernel, wide
from ascd.blocks import tuning
from ascd.blocks.largest import step_curvature
from ascd.blocks.tuning import LARGEST_FACTORS, PAST_SHIFT, STEPS_INSIDE
from ascd.solver.tuning import VISITED


def rooms_for_past(size: int) -> tuple[Array, Array]:
    """For the last points and their gradients, of so many numbers, and for the system of their factors."""
    count = tuning.PAST_POINTS
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
        here, slope = x[low:high], gradient[low:high]
        away = penalty.block_distance(here, slope, b)
        violation = max(violation, away)
        if away <= VISITED * target:
            continue
        old, local, trial = rooms[0, :size], rooms[1, :size], rooms[2, :size]
        for p in range(size):
            old[p], local[p] = here[p], slope[p]
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
def weigh_past(past: Array, system: Array) -> bool:
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
def go_beyond(
    penalty: Any, past: Array, system: Array, gradient: Array, x: Array, starts: Array, blocks: Array, outputs: int
) -> None:
    """To the combination of the last points where Q is lower there."""
    if not weigh_past(past, system):
        return
    there, slope, fall = past[0, 0], past[1, 0], 0.0  # the oldest point is not needed any more
    combine(past[0], system, there)
    combine(past[1], system, slope)
    for p in range(x.size):
        fall += 0.5 * (there[p] - x[p]) * (slope[p] + gradient[p])
    for i in range(blocks.size):
        b, low, high = wide(blocks[i]), wide(starts[i]) * outputs, wide(starts[i + 1]) * outputs
        fall += penalty.block_cost(there[low:high], b) - penalty.block_cost(x[low:high], b)
    if fall < 0.0:
        for p in range(x.size):
            x[p], gradient[p] = there[p], slope[p]


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
            go_beyond(penalty, past, system, gradient, x, starts, blocks, outputs)
            for p in range(x.size):
                past[0, 0, p], past[1, 0, p] = x[p], gradient[p]
            kept = 1
    return violation, sweeps


sweep_gram = kernel(sweep_until)


@kernel
def sweep_from_zero(
    penalty: Any, gram: Array, gradient: Array, x: Array, starts: Array, blocks: Array, lipschitz: Array, rooms: Array,
    past: Array, system: Array, outputs: int, share: float, least: float, most: int,
) -> tuple[float, float]:  # fmt: skip
    """Curvatures, then sweeps until the violation is this share of that at 0, or ``least``: it, and that."""
    target = 0.0
    for b in range(blocks.size):
        first, last = wide(starts[b]), wide(starts[b + 1])
        low, high, size = first * outputs, last * outputs, last - first
        lipschitz[b] = step_curvature(gram[first:last, first:last], rooms[0, :size], rooms[1, :size])
        target = max(target, penalty.block_distance(x[low:high], gradient[low:high], b))
    target = max(share * target, least)
    violation, _ = sweep_until(
        penalty, gram, gradient, x, starts, blocks, lipschitz, rooms, past, system, outputs, target, most
    )
    return violation, target
