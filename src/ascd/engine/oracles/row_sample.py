"""Rows drawn in proportion to what they contribute, and the sums that estimate ⟨a_j, e⟩ for all columns at once.

Row k has the probability p_k = |e_k|ρ_k/S with ρ_k = max_j |a_kj|/‖a_j‖ and S = Σ|e_k|ρ_k.  A draw gives
y_j = sign(e_k)·a_kj/(ρ_k‖a_j‖) ∈ [−1, 1] with the mean ⟨a_j, e⟩/(S‖a_j‖), whatever j is.  Also E y² ≤ E|y| ≤ ‖e‖/S.

The m draws come in order of their rows, from m sorted uniform numbers made by m + 1 exponential gaps: one pass over e
finds S, a second one all rows.  Dense columns are read where they are; sparse data are copied by rows.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper, kernel
from ascd.matrix.columns import fill_squares
from ascd.matrix.sparse import CSC, as_rows
from ascd.problem.optimality import has_digits


class RowsInPlace(NamedTuple):
    """The drawn rows of dense columns, column by column: each is read from its beginning to its end."""

    matrix: Any

    @helper
    def add_drawn(self, drawn: Array, factor: Array, total: Array, squares: Array) -> int:
        """Σ factor·a_kj and Σ (factor·a_kj)² over the drawn rows, for all columns; returns how many were read."""
        for j in range(total.size):
            first, second = 0.0, 0.0
            for i in range(drawn.size):
                share = factor[i] * self.matrix.entry(drawn[i], j)
                first += share
                second += share * share
            total[j], squares[j] = first, second
        return drawn.size * total.size


class RowsCopied(NamedTuple):
    """The drawn rows of sparse data, row by row: ``copy`` is a matrix whose columns are the rows."""

    copy: Any

    @helper
    def add_drawn(self, drawn: Array, factor: Array, total: Array, squares: Array) -> int:
        entries = 0
        for j in range(total.size):
            total[j], squares[j] = 0.0, 0.0
        for i in range(drawn.size):
            k = drawn[i]
            entries += self.copy.stop(k) - self.copy.start(k)
            for p in range(self.copy.start(k), self.copy.stop(k)):
                j, share = self.copy.row(p), factor[i] * self.copy.entry(p, k)
                total[j] += share
                squares[j] += share * share
        return entries


class RowSample(NamedTuple):
    """The rows, ‖a_j‖, ρ_k, Σy_j and Σy_j² over the draws, the drawn rows, their factors, and room for the gaps."""

    rows: Any
    length: Array
    weight: Array
    total: Array
    squares: Array
    drawn: Array
    factor: Array
    gaps: Array

    @helper
    def weigh_rows(self, slope: Array, anchor: Array) -> tuple[float, float, int]:
        """S, ‖e‖ (inf where its square has lost digits) and the last row that may be drawn, for e = slope − anchor."""
        mass, square, last = 0.0, 0.0, -1
        for k in range(slope.size):
            away = slope[k] - anchor[k]
            part = abs(away) * self.weight[k]
            mass += part
            square += away * away
            last = k if part > 0.0 else last
        return mass, math.sqrt(square) if has_digits(square) else math.inf, last

    @helper
    def draw_rows(self, slope: Array, anchor: Array, mass: float, last: int, rng: Any) -> int:
        """Σy and Σy² of a sample; returns how many entries it has read."""
        scale = mass / self.fill_gaps(rng)
        k, reached, wanted = -1, 0.0, 0.0
        for i in range(self.drawn.size):
            wanted += self.gaps[i] * scale
            while (reached < wanted or k < 0) and k < last:  # rounding may leave the sum below the last number
                k += 1
                reached += abs(slope[k] - anchor[k]) * self.weight[k]
            self.drawn[i] = k
            self.factor[i] = (1.0 if slope[k] > anchor[k] else -1.0) / self.weight[k]
        entries = self.rows.add_drawn(self.drawn, self.factor, self.total, self.squares)
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


def start_sample(parts: Any, draws: int) -> RowSample:
    """Room for samples of so many rows."""
    matrix, n, d = parts.matrix, parts.norm.size, parts.sample.target.size
    square, weight = np.empty(n), np.zeros(d)
    fill_squares(matrix, np.arange(n), 1.0, square, 0, n)
    length = np.sqrt(square)
    fill_weights(matrix, length, weight)
    rows = RowsCopied(CSC(*as_rows(matrix, d))) if isinstance(matrix, CSC) else RowsInPlace(matrix)
    drawn = (np.zeros(draws, dtype=np.int64), np.empty(draws), np.empty(draws + 1))
    return RowSample(rows, length, weight, np.empty(n), np.empty(n), *drawn)


@kernel
def fill_weights(matrix: Any, length: Array, weight: Array) -> None:
    """ρ_k = max_j |a_kj|/‖a_j‖."""
    for j in range(length.size):
        scale = 1.0 / length[j] if length[j] > 0.0 else 0.0
        for p in range(matrix.start(j), matrix.stop(j)):
            k = matrix.row(p)
            share = abs(matrix.entry(p, j)) * scale
            weight[k] = share if share > weight[k] else weight[k]
