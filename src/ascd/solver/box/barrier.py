"""An interior point method for quadratic problems in a box whose columns are short: every step solves a d × d system.

Boxes are finite here and μ = 0, as in the dual of the hinge.  With p = β − l, q = u − β and multipliers s, t ≥ 0 of the
two ends, optimality reads

    ∇ = AᵀH(Aβ − b) + λ = s − t,      p·s = 0,      q·t = 0.

Newton's step for p·s = q·t = τ has the matrix AᵀHA + D, D = s/p + t/q diagonal, and with h = 1/D

    (AᵀHA + D)⁻¹  =  h − h·Aᵀ (H⁻¹ + A h Aᵀ)⁻¹ A·h.

Coordinates that are surely at an end have a tiny h, and are left out of A h Aᵀ.  Mehrotra's predictor and corrector
choose τ.  Ten to thirty steps are enough whatever C is, where sweeps take thousands.

The start is the point that sweeps have reached, moved inside: at an end with gradient entry ∇ the distance becomes
τ/|∇|, and inside the box the multipliers become τ/p and τ/q, with τ the gap there, a share for each end.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import kernel, wide
from ascd.matrix.local import Local
from ascd.solver import tuning

#: Rows of the state and of a step: distances to both ends, and their multipliers.
BELOW, ABOVE, LOWER, UPPER = range(4)


class Barrier:
    """The problem on some columns, whose boxes are finite."""

    def __init__(self, design: Local, weight: Any, penalty: Any, columns: Array) -> None:
        self.design, self.columns = design, columns
        d, n = design.shape
        self.weight = np.broadcast_to(np.asarray(weight, dtype=np.float64), d)
        ends = (penalty.lower, penalty.upper, penalty.linear)
        low, high, self.linear = (np.broadcast_to(np.asarray(one, dtype=np.float64), n)[columns] for one in ends)
        self.low, self.high, self.reads = low, high, 0
        self.norm = design.squares(1.0, columns)

    def entries(self, slope: Array) -> Array:
        """Gradient entries, with the linear term."""
        self.reads += self.columns.size
        return self.design.dots(self.columns, slope) + self.linear

    def image(self, factors: Array) -> Array:
        out = np.zeros(self.weight.size)
        self.design.add(self.columns, factors, out)
        self.reads += self.columns.size
        return out

    def gap(self, x: Array, gradient: Array) -> float:
        """See ``sweeps.gap_term``."""
        return float(np.where(gradient > 0.0, (x - self.low) * gradient, (x - self.high) * gradient).sum())

    def minimise(self, x: Array, slope: Array, goal: float, most: int) -> tuple[Array, Array, int]:
        """From x with this slope: the best point found, its slope, and the steps taken."""
        gradient = self.entries(slope)
        gap = self.gap(x, gradient)
        best = x, slope, gap
        state = self._start(x, gradient, gap)
        here = self._inside(self.low + state[BELOW])
        slope = slope + self.weight * self.image(here - x)
        for step in range(1, most + 1):
            gradient = self.entries(slope)
            gap = self.gap(here, gradient)
            if gap < best[2]:
                best = here, slope, gap
            if gap <= goal or not math.isfinite(gap):
                return best[0], best[1], step
            move = self._step(state, gradient)
            if move is None:
                return best[0], best[1], step
            here = self._inside(here + move)
            slope = slope + self.weight * self.image(move)
        return best[0], best[1], most

    def _inside(self, x: Array) -> Array:
        """Distances to both ends are kept by themselves, and x may be rounded to a number beyond an end."""
        return np.clip(x, self.low, self.high)

    def _start(self, x: Array, gradient: Array, gap: float) -> Array:
        share = max(gap, 1e-300) / (2.0 * x.size)
        width = np.maximum(self.high - self.low, 1e-300)
        pull = np.minimum(share / np.maximum(np.abs(gradient), tuning.BARRIER_SMALL), 0.5 * width)
        below = np.clip(x - self.low, pull, width - pull)
        above = width - below
        lower, upper = np.maximum(gradient, share / below), np.maximum(-gradient, share / above)
        return np.stack([below, above, lower, upper])

    def _step(self, state: Array, gradient: Array) -> Array | None:
        """A predictor and a corrector: the move, after which the state has followed; None where there is none."""
        step, (spread, right) = np.zeros_like(state), np.empty((2, gradient.size))
        share = complementarity(state, step, 0.0) / (2.0 * gradient.size)
        spread_out(state, spread)
        factor = self._factor(spread)
        if factor is None:
            return None
        aim, length = 0.0, 0.0
        for _ in range(2):
            right_side(state, step, aim, gradient, right)
            length = float(complete(state, aim, self._solve(factor, spread, right), step))
            after = max(complementarity(state, step, length), 0.0) / (2.0 * gradient.size)
            rest = after / share if share > 0.0 else 0.0
            aim = share * rest * rest * rest  # no power: one that overflows is an error in Python
        length = min(1.0, tuning.BARRIER_BACK * length)
        if not (0.0 < length <= 1.0 and np.isfinite(step[BELOW]).all()):
            return None
        advance(state, step, length)
        return length * step[BELOW]

    def _factor(self, spread: Array) -> Array | None:
        """The Cholesky factor of H⁻¹ + A h Aᵀ."""
        from scipy.linalg.lapack import dpotrf  # here, so that importing ascd stays cheap

        matrix = self._products(spread)
        matrix[np.diag_indices(self.weight.size)] += 1.0 / self.weight
        factor, trouble = dpotrf(matrix, lower=1, overwrite_a=1, clean=0)
        return factor if trouble == 0 else None

    def _products(self, spread: Array) -> Array:
        """The lower triangle of A h Aᵀ without columns that hardly count: all of them change it by 1e-3 of H⁻¹."""
        d = self.weight.size
        counts = spread * self.norm * self.weight.max() > tuning.BARRIER_TINY / spread.size
        columns, spread = self.columns[counts], spread[counts]
        self.reads += columns.size
        if hasattr(self.design.matrix, "values"):
            block = self.design.matrix.values[:, columns] * np.sqrt(spread)
            return np.asfortranarray(block @ block.T)
        out = np.zeros((d, d), order="F")
        part = self.design.take(columns)
        add_squares(part.matrix, part.places, spread, out)
        return out

    def _solve(self, factor: Array, spread: Array, right: Array) -> Array:
        from scipy.linalg.lapack import dpotrs

        first = spread * right
        middle, _ = dpotrs(factor, self.image(first), lower=1)
        self.reads += self.columns.size
        return first - spread * self.design.dots(self.columns, middle)


@kernel
def spread_out(state: Array, spread: Array) -> None:
    """h = 1/(s/p + t/q)."""
    for i in range(spread.size):
        spread[i] = 1.0 / (state[LOWER, i] / state[BELOW, i] + state[UPPER, i] / state[ABOVE, i])


@kernel
def right_side(state: Array, step: Array, aim: float, gradient: Array, out: Array) -> None:
    """The right side of Newton's system for p·s = q·t = ``aim``, corrected by the products of the step before."""
    for i in range(out.size):
        first = aim - step[BELOW, i] * step[LOWER, i]
        second = aim - step[ABOVE, i] * step[UPPER, i]
        out[i] = first / state[BELOW, i] - second / state[ABOVE, i] - gradient[i]


@kernel
def complete(state: Array, aim: float, move: Array, step: Array) -> float:
    """The step with this move, in place of the one before; how far it may go, at most 1."""
    longest = 1.0
    for i in range(move.size):
        first = aim - step[BELOW, i] * step[LOWER, i]
        second = aim - step[ABOVE, i] * step[UPPER, i]
        step[BELOW, i], step[ABOVE, i] = move[i], -move[i]
        step[LOWER, i] = (first - state[LOWER, i] * move[i]) / state[BELOW, i] - state[LOWER, i]
        step[UPPER, i] = (second + state[UPPER, i] * move[i]) / state[ABOVE, i] - state[UPPER, i]
        for row in range(4):
            if step[row, i] < 0.0 and state[row, i] < -longest * step[row, i]:
                longest = state[row, i] / -step[row, i]
    return longest


@kernel
def complementarity(state: Array, step: Array, length: float) -> float:
    """Σ p·s + q·t after a part of the step."""
    total = 0.0
    for i in range(state.shape[1]):
        total += (state[BELOW, i] + length * step[BELOW, i]) * (state[LOWER, i] + length * step[LOWER, i])
        total += (state[ABOVE, i] + length * step[ABOVE, i]) * (state[UPPER, i] + length * step[UPPER, i])
    return total


@kernel
def advance(state: Array, step: Array, length: float) -> None:
    for row in range(4):
        for i in range(state.shape[1]):
            state[row, i] += length * step[row, i]


@kernel
def add_squares(matrix: Any, columns: Array, factors: Array, out: Array) -> None:
    """out += Σ_i factors_i·a_i a_iᵀ, the lower triangle: rows rise within a column."""
    for i in range(columns.size):
        j, factor = wide(columns[i]), factors[i]
        for p in range(matrix.start(j), matrix.stop(j)):
            k, entry = matrix.row(p), factor * matrix.entry(p, j)
            for q in range(p, matrix.stop(j)):
                out[matrix.row(q), k] += entry * matrix.entry(q, j)
