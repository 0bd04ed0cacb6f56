"""Sweeps from 0 where every block is one column with several outputs, and most of them will move.

``sweeps`` keeps all gradients up to date, which stores a number for every product.  Here the gradient of a row is
computed when the row's turn comes,

    g_j = Γ_j + Σ_k G_jk x_k,

as inner products of a row of G with the outputs, which lie one after the other in ``across``: sums that stay in vector
registers.  Points beyond the sweeps are combined as in ``sweeps``; from x to y, Q changes by ⟨y − x, Γ + ½G(y + x)⟩ and
what the penalty changes by.
"""

from __future__ import annotations

from typing import Any

from ascd._core.checks import Array
from ascd._core.jit import helper, kernel, wide
from ascd.blocks.sweeps import combine, weigh_past
from ascd.solver.tuning import VISITED


@helper
def multiply(row: Array, across: Array, out: Array) -> None:
    """out_t = Σ_k row_k·across_tk, four at a time: they share what is read of the row."""
    outputs, first = out.size, 0
    while first + 4 <= outputs:
        one, two, three, four = 0.0, 0.0, 0.0, 0.0
        a, b, c, d = across[first], across[first + 1], across[first + 2], across[first + 3]
        for k in range(row.size):
            one += row[k] * a[k]
            two += row[k] * b[k]
            three += row[k] * c[k]
            four += row[k] * d[k]
        out[first], out[first + 1], out[first + 2], out[first + 3] = one, two, three, four
        first += 4
    for t in range(first, outputs):
        total, a = 0.0, across[t]
        for k in range(row.size):
            total += row[k] * a[k]
        out[t] = total


@helper
def sweep_rows(penalty: Any, gram: Array, start: Array, x: Array, across: Array, rooms: Array, target: float) -> float:
    """Every row once; the largest violation met."""
    violation, outputs, local, trial = 0.0, across.shape[0], rooms[0], rooms[1]
    for number in range(gram.shape[0]):
        j = wide(number)
        here, step = x[j * wide(outputs) : (j + wide(1)) * wide(outputs)], 1.0 / gram[j, j]
        multiply(gram[j], across, local)
        for t in range(outputs):
            local[t] += start[j, t]
        away = penalty.block_distance(here, local, j)
        violation = max(violation, away)
        if away > VISITED * target:
            for t in range(outputs):
                trial[t] = here[t] - step * local[t]
            penalty.block_prox(trial, step, j)
            for t in range(outputs):
                here[t] = across[t, j] = trial[t]
    return violation


@helper
def lay_across(x: Array, across: Array) -> None:
    outputs, rows = across.shape
    for j in range(rows):
        for t in range(outputs):
            across[t, j] = x[wide(j * outputs + t)]


@helper
def is_lower(penalty: Any, gram: Array, start: Array, x: Array, there: Array, across: Array, local: Array) -> bool:
    """Is Q lower there than at x?  ``across`` is laid out anew."""
    (outputs, rows), fall = across.shape, 0.0
    for j in range(rows):
        for t in range(outputs):
            across[t, j] = x[wide(j * outputs + t)] + there[wide(j * outputs + t)]
    for j in range(rows):
        low, high = wide(j * outputs), wide((j + 1) * outputs)
        old, new = x[low:high], there[low:high]
        multiply(gram[j], across, local)
        for t in range(outputs):
            fall += (new[t] - old[t]) * (start[j, t] + 0.5 * local[t])
        fall += penalty.block_cost(new, wide(j)) - penalty.block_cost(old, wide(j))
    return fall < 0.0


@kernel
def sweep_rows_from_zero(
    penalty: Any, gram: Array, gradient: Array, x: Array, across: Array, rooms: Array, past: Array, system: Array,
    share: float, least: float, most: int,
) -> tuple[float, float]:  # fmt: skip
    """Sweeps until the violation is this share of that at 0, or ``least``: it, and that.  The gradient follows."""
    outputs, rows, kept, target, violation = across.shape[0], across.shape[1], 0, 0.0, 0.0
    for j in range(rows):
        target = max(target, penalty.block_distance(x[j * outputs : (j + 1) * outputs], gradient[j], j))
    target = max(share * target, least)
    lay_across(x, across)
    for _ in range(most):
        violation = sweep_rows(penalty, gram, gradient, x, across, rooms, target)
        if violation <= target:
            break
        for p in range(x.size):
            past[0, kept, p] = x[p]
        kept += 1
        if kept == past.shape[1]:
            if weigh_past(past, system):
                there = past[1, 0]
                combine(past[0], system, there)
                if is_lower(penalty, gram, gradient, x, there, across, rooms[0]):
                    for p in range(x.size):
                        x[p] = there[p]
                lay_across(x, across)
            for p in range(x.size):
                past[0, 0, p] = x[p]
            kept = 1
    for j in range(rows):
        multiply(gram[j], across, rooms[0])
        for t in range(outputs):
            gradient[j, t] += rooms[0, t]
    return violation, target
