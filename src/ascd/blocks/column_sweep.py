"""Sweeps over the blocks of a model that is read from its columns (``column_model``): one prox step a block."""

from __future__ import annotations

from typing import Any

import numpy as np

from ascd._base.checks import Array
from ascd._base.jit import kernel, wide
from ascd.blocks.pieces import Working, held
from ascd.data.design import Design
from ascd.solver.tuning import VISITED


def curvatures_of(design: Design, columns: Array, working: Working, most: Array) -> Array:
    """L_b = λ_max(A_bᵀ diag(most) A_b), or a little more."""
    if columns.size == working.blocks.size:
        return held(design.squares(most, columns))
    multiplier, largest = design.multiplier(False), np.empty(working.blocks.size)
    for i, (first, last) in enumerate(working.spans):
        inside = np.arange(last - first)
        store = np.empty((inside.size, inside.size), order="F")
        multiplier.fill(store, columns[first:last], inside, inside, most, None)
        largest[i] = np.linalg.eigvalsh(store)[-1] * (1.0 + 1e-10)
    return held(largest)


@kernel
def sweep_columns(
    penalty: Any, matrix: Any, places: Array, starts: Array, blocks: Array, lipschitz: Array, own: Array, shared: Array,
    slope: Array, x: Array, rooms: Array, target: float,
) -> float:  # fmt: skip
    """One prox step a block; the largest violation met."""
    violation, outputs = 0.0, slope.shape[1]
    for i in range(blocks.size):
        b, first, last = wide(blocks[i]), wide(starts[i]), wide(starts[i + 1])
        low, size = first * outputs, (last - first) * outputs
        here, gradient, trial = x[low : low + size], rooms[0, :size], rooms[1, :size]
        gradient[:] = 0.0
        for q in range(first, last):
            j, at = wide(places[q]), (q - first) * outputs
            for p in range(matrix.start(j), matrix.stop(j)):
                k, entry = wide(matrix.row(p)), matrix.entry(p, j)
                for t in range(outputs):
                    gradient[at + t] += entry * slope[k, t]
        away = penalty.block_distance(here, gradient, b)
        violation = max(violation, away)
        if away <= VISITED * target:
            continue
        step = 1.0 / lipschitz[i]
        for p in range(size):
            trial[p] = here[p] - step * gradient[p]
        penalty.block_prox(trial, step, b)
        for p in range(size):
            moved = trial[p] - here[p]
            trial[p], here[p] = moved, trial[p]
        for q in range(first, last):
            j, at = wide(places[q]), (q - first) * outputs
            for p in range(matrix.start(j), matrix.stop(j)):
                k, entry = wide(matrix.row(p)), matrix.entry(p, j)
                along = 0.0
                if shared.shape[0] > 0:
                    for t in range(outputs):
                        along += shared[k, t] * entry * trial[at + t]
                for t in range(outputs):
                    slope[k, t] += own[k, t] * entry * trial[at + t]
                if shared.shape[0] > 0:
                    for t in range(outputs):
                        slope[k, t] -= shared[k, t] * along
    return violation
