"""Rows drawn in proportion to what they contribute, and the sums that estimate ⟨a_j, e⟩ for all columns at once.

Row k has the probability p_k = |e_k|ρ_k/S with ρ_k = max_j |a_kj|/‖a_j‖ and S = Σ|e_k|ρ_k.  A draw gives
y_j = sign(e_k)·a_kj/(ρ_k‖a_j‖) ∈ [−1, 1] with the mean ⟨a_j, e⟩/(S‖a_j‖), whatever j is.  Also E y² ≤ E|y| ≤ ‖e‖/S.

The m draws come in order of their rows, from m sorted uniform numbers made by m + 1 exponential gaps: one pass over e
finds S, a second one all rows, and the data are read from their beginning to their end.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._base.checks import Array
from ascd._base.jit import helper
from ascd.data import prices
from ascd.data.dense import Dense
from ascd.data.local import fill_squares
from ascd.data.sparse import CSC, as_rows


class RowSample(NamedTuple):
    """The data by rows, ‖a_j‖, ρ_k, Σy_j and Σy_j² over the draws, and room for the gaps."""

    rows: Any
    length: Array
    weight: Array
    total: Array
    squares: Array
    gaps: Array

    @helper
    def weigh_rows(self, slope: Array, anchor: Array) -> tuple[float, float, int]:
        """S, ‖e‖ and the last row that may be drawn, for e = slope − anchor."""
        mass, square, last = 0.0, 0.0, -1
        for k in range(slope.size):
            away = slope[k] - anchor[k]
            part = abs(away) * self.weight[k]
            mass += part
            square += away * away
            last = k if part > 0.0 else last
        return mass, math.sqrt(square), last

    @helper
    def draw_rows(self, slope: Array, anchor: Array, mass: float, last: int, rng: Any) -> int:
        """Σy and Σy² of a sample; returns how many entries it has read."""
        scale, entries = mass / self.fill_gaps(rng), 0
        for j in range(self.total.size):
            self.total[j], self.squares[j] = 0.0, 0.0
        k, reached, wanted = -1, 0.0, 0.0
        for i in range(self.gaps.size - 1):
            wanted += self.gaps[i] * scale
            while (reached < wanted or k < 0) and k < last:  # rounding may leave the sum below the last number
                k += 1
                reached += abs(slope[k] - anchor[k]) * self.weight[k]
            entries += self.rows.stop(k) - self.rows.start(k)
            self.add_row(k, 1.0 if slope[k] > anchor[k] else -1.0)
        for j in range(self.total.size):
            if self.length[j] > 0.0:
                self.total[j] /= self.length[j]
                self.squares[j] /= self.length[j] * self.length[j]
        return entries

    @helper
    def fill_gaps(self, rng: Any) -> float:
        """m + 1 exponential numbers; returns their sum.  Running sums divided by it are sorted uniform numbers."""
        total = 0.0
        for i in range(self.gaps.size):
            self.gaps[i] = -math.log(1.0 - rng.random())
            total += self.gaps[i]
        return total

    @helper
    def add_row(self, k: int, sign: float) -> None:
        factor = sign / self.weight[k]
        for p in range(self.rows.start(k), self.rows.stop(k)):
            j, share = self.rows.row(p), factor * self.rows.entry(p, k)
            self.total[j] += share
            self.squares[j] += share * share


def start_sample(parts: Any, draws: int) -> RowSample:
    """Room for samples of so many rows, with a copy of the data by rows."""
    n, d = parts.norm.size, parts.sample.target.size
    square = np.empty(n)
    fill_squares(parts.matrix, np.arange(n), 1.0, square, 0, n)
    length = np.sqrt(square)
    is_sparse = isinstance(parts.matrix, CSC)
    rows = CSC(*as_rows(parts.matrix, d)) if is_sparse else Dense(np.ascontiguousarray(parts.matrix.values).T)
    return RowSample(rows, length, row_weights(rows, d, length), np.empty(n), np.empty(n), np.empty(draws + 1))


def row_weights(rows: Any, d: int, length: Array) -> Array:
    """ρ_k = max_j |a_kj|/‖a_j‖."""
    scale = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0.0)[:, None]
    columns = rows.to_scipy(length.size, d)
    if not isinstance(columns, np.ndarray):
        return np.asarray(abs(columns).multiply(scale).max(axis=0).toarray(), dtype=np.float64).ravel()
    step = max(1, prices.BLOCK // length.size)
    return np.concatenate([(np.abs(columns[:, k : k + step]) * scale).max(axis=0) for k in range(0, d, step)])
