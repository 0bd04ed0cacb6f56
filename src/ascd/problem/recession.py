"""Is the problem bounded below?  Asked before any work where a linear term could make it fall for ever.

A convex F falls for ever iff its recession function F∞(δ) = lim_{t→∞} F(tδ)/t is negative for some direction δ.
Each loss is bounded below, so is F where no Ψ_j falls for ever, and there is nothing more to ask.  Where one does,

    F∞(δ) = Σ_k s_k·loss∞((Aδ)_k) + Σ_j Ψ_j∞(δ_j),

where each term is piecewise linear, so its minimum over the unit box is a linear program.  The slopes at
infinity are read off the parts' own derivatives far away.  Programs above ``LARGEST_PROGRAM`` entries of A are
not solved (zero columns are still looked at); a run on such a problem ends with the status "diverged".
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ascd._base.checks import Array
from ascd._base.jit import at, kernel
from ascd.data.design import Design
from ascd.data.local import as_block
from ascd.problem import tuning
from ascd.problem.tuning import BEYOND_BOUNDS, FAR, FARTHEST, INFINITE


def check_bounded(design: Design, parts: Any, intercept: bool = False) -> None:
    """Raise where F falls for ever."""
    if falls_forever(design, parts, intercept):
        raise ValueError(
            "the problem is unbounded below: some direction lowers the penalty's linear term for ever while "
            f"the loss does not grow{' (the intercept follows)' if intercept else ''}; remove the linear term or "
            "bound the coordinates"
        )


def falls_forever(design: Design, parts: Any, intercept: bool = False) -> bool:
    """True if some direction lowers F without end; with an intercept, it may move too."""
    n, d = parts.norm.size, parts.sample.target.size
    up, down = np.empty(n), np.empty(n)
    penalty_slopes(parts.penalty, up, down)
    falling = np.minimum(up, down) < 0.0
    if not falling.any():
        return False
    if (falling & (parts.norm == 0.0)).any():
        return True
    return n * d <= tuning.LARGEST_PROGRAM and _program_is_negative(design, parts, up, down, intercept)


@kernel
def penalty_slopes(penalty: Any, up: Array, down: Array) -> None:
    """Ψ_j∞(1) and Ψ_j∞(−1), +inf where the penalty grows faster than linearly or forbids the direction."""
    for j in range(up.size):
        up[j], down[j] = math.inf, math.inf
        right, left = penalty.prox(FAR, 1.0, j), penalty.prox(-FAR, 1.0, j)
        farther_right, farther_left = penalty.prox(FARTHEST, 1.0, j), penalty.prox(-FARTHEST, 1.0, j)
        if right > INFINITE and farther_right > BEYOND_BOUNDS:
            slope = penalty.subgradient(right, j)[0]  # -inf at a bound that lies that far out
            up[j] = slope if slope > -math.inf else penalty.subgradient(farther_right, j)[0]
        if left < -INFINITE and farther_left < -BEYOND_BOUNDS:
            slope = penalty.subgradient(left, j)[1]
            down[j] = -slope if slope < math.inf else -penalty.subgradient(farther_left, j)[1]


@kernel
def loss_slopes(sample: Any, loss: Any, up: Array, down: Array) -> None:
    """s_k·loss∞(1) and s_k·loss∞(−1)."""
    for k in range(up.size):
        weight, target = at(sample.weight, k), sample.target[k]
        up[k] = weight * loss.derivative(target, FAR) if weight > 0.0 else 0.0
        down[k] = -weight * loss.derivative(target, -FAR) if weight > 0.0 else 0.0


def _program_is_negative(design: Design, parts: Any, up: Array, down: Array, intercept: bool) -> bool:
    from scipy.optimize import linprog

    block = as_block(design.take(np.arange(parts.norm.size)), parts.sample.target.size)
    if intercept:
        block = np.c_[block, np.ones(block.shape[0])]
        up, down = np.append(up, 0.0), np.append(down, 0.0)
    rise, fall = np.empty((2, block.shape[0]))
    loss_slopes(parts.sample, parts.loss, rise, fall)
    # columns of length 1: for the program's tolerances a short column would be no column
    size = np.linalg.norm(block, axis=0)
    size[size == 0.0] = 1.0
    block = block / size
    with np.errstate(over="ignore"):  # looked at below
        costs = np.concatenate([up / size, down / size, rise, fall])
    forbidden = costs > INFINITE
    upper = np.where(forbidden, 0.0, np.r_[np.ones(2 * up.size), np.full(2 * rise.size, np.inf)])
    identity = np.eye(rise.size)
    constraint = np.hstack([block, -block, -identity, identity])
    bounds = np.c_[np.zeros(upper.size), upper]
    if not (np.isfinite(constraint).all() and np.isfinite(costs[~forbidden]).all()):
        return False  # beyond float64: the run itself will tell
    result = linprog(np.where(forbidden, 0.0, costs), A_eq=constraint, b_eq=np.zeros(rise.size), bounds=bounds)
    scale = np.abs(costs[~forbidden]).max(initial=1.0)
    return bool(result.status == 3 or (result.status == 0 and result.fun < -tuning.NEGATIVE * scale))
