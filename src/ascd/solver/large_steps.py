"""What ``large_model`` does for each coordinate, compiled: proximal steps, what they show, violations."""

from __future__ import annotations

from typing import Any

from ascd._core.checks import Array
from ascd._core.jit import kernel
from ascd.problem.optimality import violation_of


@kernel
def bends_of(penalty: Any, columns: Array, low: Array, high: Array, curvature: Array) -> None:
    """Slopes at zero, and the curvature beside it."""
    for i in range(columns.size):
        low[i], high[i] = penalty.subgradient(0.0, columns[i])
        curvature[i] = penalty.piece(1.0, columns[i])[0]


@kernel
def violation_at(penalty: Any, columns: Array, values: Array, gradient: Array) -> float:
    """The largest violation of optimality at these values."""
    worst = 0.0
    for i in range(columns.size):
        low, high = penalty.subgradient(values[i], columns[i])
        worst = max(worst, violation_of(low, high, gradient[i]))
    return worst


@kernel
def proximal_step(
    penalty: Any, columns: Array, now: Array, ahead: Array, slope: Array, bound: float, scale: Array, x: Array,
    change: Array,
) -> None:  # fmt: skip
    """A proximal step of each coordinate from ``ahead``, with a length of its own; ``change`` is from ``now``."""
    for i in range(columns.size):
        step = 1.0 / (bound * scale[i])
        x[i] = penalty.prox(ahead[i] - step * slope[i], step, columns[i])
        change[i] = x[i] - now[i]


@kernel
def compare(
    scale: Array, ahead: Array, slope: Array, x: Array, gradient: Array, change: Array
) -> tuple[float, float, float]:
    """With a = x − ahead: its length aᵀDa, its bend aᵀGa, and aᵀD·change, negative where momentum leads uphill."""
    length = bend = along = 0.0
    for i in range(x.size):
        away = x[i] - ahead[i]
        length += away * scale[i] * away
        bend += away * (gradient[i] - slope[i])
        along += away * scale[i] * change[i]
    return length, bend, along


@kernel
def look_ahead(before: Array, now: Array, share: float, out: Array) -> None:
    """now + share·(now − before)."""
    for i in range(now.size):
        out[i] = now[i] + share * (now[i] - before[i])
