"""Sweeps over the blocks of a model that is read from its columns (``column_model``): one prox step a block."""

from __future__ import annotations

from typing import Any

from ascd._core.checks import Array
from ascd._core.jit import helper, kernel, wide
from ascd.blocks.sweeps import prox_step
from ascd.solver.tuning import VISITED


@helper
def fill_gradient(matrix: Any, j: int, slope: Array, outputs: int, out: Array) -> None:
    """out = ⟨a_j, slope_t⟩ for all outputs t; ``slope`` is flat, a sample's outputs together."""
    if outputs == 1:  # the same sum, written so that the compiler can use vector registers
        total = 0.0
        for p in range(matrix.start(j), matrix.stop(j)):
            total += matrix.entry(p, j) * slope[wide(matrix.row(p))]
        out[0] = total
        return
    out[:] = 0.0
    for p in range(matrix.start(j), matrix.stop(j)):
        at, entry = wide(matrix.row(p)) * outputs, matrix.entry(p, j)
        for t in range(outputs):
            out[t] += entry * slope[at + t]


@helper
def follow_column(matrix: Any, j: int, change: Array, own: Array, shared: Array, slope: Array, outputs: int) -> None:
    """slope += H·a_j·change, with H = diag(own) − shared·sharedᵀ for every sample."""
    if outputs == 1 and shared.size == 0:
        for p in range(matrix.start(j), matrix.stop(j)):
            k = wide(matrix.row(p))
            slope[k] += own[k] * (matrix.entry(p, j) * change[0])
        return
    for p in range(matrix.start(j), matrix.stop(j)):
        at, entry, along = wide(matrix.row(p)) * outputs, matrix.entry(p, j), 0.0
        if shared.size > 0:
            for t in range(outputs):
                along += shared[at + t] * entry * change[t]
        for t in range(outputs):
            slope[at + t] += own[at + t] * entry * change[t]
        if shared.size > 0:
            for t in range(outputs):
                slope[at + t] -= shared[at + t] * along


@kernel
def sweep_columns(
    penalty: Any, matrix: Any, places: Array, starts: Array, blocks: Array, lipschitz: Array, own: Array, shared: Array,
    slope: Array, x: Array, rooms: Array, outputs: int, target: float,
) -> float:  # fmt: skip
    """One prox step a block; the largest violation met.  All arrays of samples and coefficients are flat."""
    violation = 0.0
    for i in range(blocks.size):
        b, first, last = wide(blocks[i]), wide(starts[i]), wide(starts[i + 1])
        low, size = first * outputs, (last - first) * outputs
        here, gradient, moved = x[low : low + size], rooms[0, :size], rooms[1, :size]
        for q in range(first, last):
            at = (q - first) * outputs
            fill_gradient(matrix, wide(places[q]), slope, outputs, gradient[at : at + outputs])
        away = penalty.block_distance(here, gradient, b)
        violation = max(violation, away)
        if away <= VISITED * target:
            continue
        prox_step(penalty, here, gradient, 1.0 / lipschitz[i], b, moved)
        is_moving = False
        for p in range(size):
            is_moving = is_moving or moved[p] != 0.0
        if is_moving:
            for q in range(first, last):
                at = (q - first) * outputs
                follow_column(matrix, wide(places[q]), moved[at : at + outputs], own, shared, slope, outputs)
    return violation
