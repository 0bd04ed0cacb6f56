"""A check that the problem is bounded below, before any work, where a linear term could make it fall for ever.

A convex F falls for ever iff its recession function F∞(δ) = lim_{t→∞} F(tδ)/t is negative for some direction δ.
Each loss is bounded below, and so is F where no Ψ_j falls for ever.  Where one does,

    F∞(δ) = Σ_k s_k·loss∞((Aδ)_k) + Σ_j Ψ_j∞(δ_j),

where each term is piecewise linear, so its minimum over the unit box is a linear program.  The derivatives at
infinity are read off the parts' own derivatives far away.  Programs above ``LARGEST_PROGRAM`` entries of A are
not solved (zero columns are still looked at); a run on such a problem ends with the status "diverged".
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import at, kernel, wide
from ascd._core.threads import share
from ascd.matrix import costs
from ascd.matrix.base import Matrix, as_block
from ascd.problem import tuning
from ascd.problem.tuning import BEYOND_BOUNDS, FAR, FARTHEST, INFINITE


def check_bounded(design: Matrix, parts: Any, intercept: bool = False) -> None:
    """Raise where F falls for ever."""
    if falls_forever(design, parts, intercept):
        raise ValueError(
            "the problem is unbounded below: some direction lowers the penalty's linear term for ever while "
            f"the loss does not grow{' (the intercept follows)' if intercept else ''}; remove the linear term or "
            "bound the coordinates"
        )


def falls_forever(design: Matrix, parts: Any, intercept: bool = False) -> bool:
    """True if some direction lowers F without end; with an intercept, it may move too."""
    n, d = parts.norm.size, parts.sample.target.size
    up, down = np.empty(n), np.empty(n)
    share(costs.COORDINATE * n, n, penalty_at_infinity, parts.penalty, up, down)
    falling = np.minimum(up, down) < 0.0
    if not falling.any():
        return False
    if (falling & (parts.norm == 0.0)).any():
        return True
    return n * d <= tuning.LARGEST_PROGRAM and _program_is_negative(design, parts, up, down, intercept)


@kernel
def penalty_at_infinity(penalty: Any, up: Array, down: Array, start: int, stop: int) -> None:
    """Ψ_j∞(1) and Ψ_j∞(−1), +inf where the penalty grows faster than linearly or forbids the direction."""
    for number in range(start, stop):
        j = wide(number)
        up[j], down[j] = math.inf, math.inf
        right, left = penalty.prox(FAR, 1.0, j), penalty.prox(-FAR, 1.0, j)
        farther_right, farther_left = penalty.prox(FARTHEST, 1.0, j), penalty.prox(-FARTHEST, 1.0, j)
        if right > INFINITE and farther_right > BEYOND_BOUNDS:
            derivative = penalty.subgradient(right, j)[0]  # -inf at a bound that lies that far out
            up[j] = derivative if derivative > -math.inf else penalty.subgradient(farther_right, j)[0]
        if left < -INFINITE and farther_left < -BEYOND_BOUNDS:
            derivative = penalty.subgradient(left, j)[1]
            down[j] = -derivative if derivative < math.inf else -penalty.subgradient(farther_left, j)[1]


@kernel
def loss_at_infinity(sample: Any, loss: Any, up: Array, down: Array) -> None:
    """s_k·loss∞(1) and s_k·loss∞(−1)."""
    for k in range(up.size):
        weight, target = at(sample.weight, k), sample.target[k]
        up[k] = weight * loss.derivative(target, FAR) if weight > 0.0 else 0.0
        down[k] = -weight * loss.derivative(target, -FAR) if weight > 0.0 else 0.0


def _program_is_negative(design: Matrix, parts: Any, up: Array, down: Array, intercept: bool) -> bool:
    block = as_block(design.take(np.arange(parts.norm.size)), parts.sample.target.size)
    if intercept:
        block = np.c_[block, np.ones(block.shape[0])]
        up, down = np.append(up, 0.0), np.append(down, 0.0)
    rise, fall = np.empty((2, block.shape[0]))
    loss_at_infinity(parts.sample, parts.loss, rise, fall)
    # columns of length 1: for the program's tolerances a short column would be no column
    size = np.linalg.norm(block, axis=0)
    size[size == 0.0] = 1.0
    with np.errstate(over="ignore"):  # looked at below
        program = _Program(block / size, up / size, down / size, rise, fall)
    return program.is_finite() and program.is_negative()


class _Program(NamedTuple):
    """min Σ up·δ⁺ + down·δ⁻ + rise·z⁺ + fall·z⁻ with Bδ = z over 0 ≤ δ⁺, δ⁻ ≤ 1; costs above ``INFINITE`` forbid."""

    block: Array
    up: Array
    down: Array
    rise: Array
    fall: Array

    def is_finite(self) -> bool:
        """Return False beyond float64; the run itself ends as diverged then."""
        costs = np.concatenate(self[1:])
        return bool(np.isfinite(self.block).all() and np.isfinite(costs[costs <= INFINITE]).all())

    def is_negative(self) -> bool:
        """With its own costs, and with costs of at most 1: the method has absolute tolerances.

        Where costs differ by twenty orders of magnitude its presolve writes beyond its memory, and it may not
        end (HiGHS in SciPy 1.17 and 1.18): it has limits, and beyond them the problem counts as bounded.
        """
        from scipy.optimize import linprog

        costs = np.concatenate(self[1:])
        forbidden = costs > INFINITE
        costs = np.where(forbidden, 0.0, costs)
        largest = float(np.abs(costs).max())
        if largest == 0.0:  # too small for float64 beside the lengths of their columns
            return False
        upper = np.where(forbidden, 0.0, np.r_[np.ones(2 * self.up.size), np.full(2 * self.rise.size, np.inf)])
        identity = np.eye(self.rise.size)
        given = {
            "A_eq": np.hstack([self.block, -self.block, -identity, identity]),
            "b_eq": np.zeros(self.rise.size),
            "bounds": np.c_[np.zeros(upper.size), upper],
            "options": {
                "presolve": False,
                "maxiter": tuning.PIVOTS_A_VARIABLE * upper.size,
                "time_limit": tuning.LONGEST_PROGRAM,
            },
        }
        for unit in (1.0, largest):
            result = linprog(costs / unit, **given)
            if result.status == 3 or (result.x is not None and self._falls_along(result.x)):
                return True
        return False

    def _falls_along(self, found: Array) -> bool:
        """Is the recession function negative in this direction, beyond rounding and the method's tolerance?"""
        n = self.up.size
        way = found[:n] - found[n : 2 * n]
        product = self.block @ way
        product[np.abs(product) <= tuning.NEGATIVE * (np.abs(self.block) @ np.abs(way))] = 0.0
        terms = np.concatenate([_linear_terms(way, self.up, self.down), _linear_terms(product, self.rise, self.fall)])
        return bool(terms.sum() < -tuning.NEGATIVE * np.abs(terms).sum())


def _linear_terms(values: Array, up: Array, down: Array) -> Array:
    """up·v for positive v, down·|v| for negative ones, 0 at 0 (whatever the derivatives are there)."""
    terms = np.zeros(values.size)
    right, left = values > 0.0, values < 0.0
    terms[right], terms[left] = up[right] * values[right], -down[left] * values[left]
    return terms
