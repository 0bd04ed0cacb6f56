"""What is known of every gradient entry, from the columns read so far.

A column read when the slope was v_r left its product g = ⟨a_j, v_r⟩ behind.  For the present slope v = s·v_r + e with
e ⟂ v_r the entry lies, by Cauchy and Schwarz, in

    ⟨a_j, v⟩  ∈  s·g ± ‖e‖·√(‖a_j‖² − g²/‖v_r‖²),

whatever the loss.  Several slopes v_r are kept, and each column refers to the last one it was read at; so a column is
read again only where its interval leaves a decision open.  With an intercept the slopes sum to zero, but for rounding,
and the part of a_j along the ones is taken out of ‖a_j‖ too: with m the mean of a_j,

    |⟨a_j, e⟩|  ≤  ‖a_j − m·1‖·‖e‖ + |m|·|Σ_k e_k|.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ascd._base.checks import Array
from ascd._base.jit import kernel, wide
from ascd.data.matrices import column_sums, dot, weighted_squares
from ascd.solver.threads import share

#: Slopes remembered.
SLOTS = 4
#: Squares of lengths are sums with rounding errors: they are taken this much longer.
ROUNDING = 1e-12


class Knowledge:
    """An interval for every gradient entry: ``estimate`` ± ``radius`` after ``locate``."""

    def __init__(self, parts: Any, intercept: bool, n_jobs: int) -> None:
        n, d = parts.norm.size, parts.sample.target.size
        self.matrix, self.n_jobs = parts.matrix, n_jobs
        self.square = parts.norm**2 if np.ndim(parts.sample.weight) == 0 else np.empty(n)
        if np.ndim(parts.sample.weight):
            weighted_squares(parts.matrix, 1.0, self.square)
        self.mean = np.zeros(n)
        if intercept:
            column_sums(parts.matrix, 1.0, self.mean)
            self.square = np.maximum(self.square - self.mean**2 / d, 0.0) + ROUNDING * self.square
            self.mean = np.abs(self.mean) / d
        self.slopes = np.zeros((SLOTS, d))
        self.length, self.total = np.zeros(SLOTS), np.zeros(SLOTS)  # ‖v_r‖² and the sum of v_r
        self.count = np.zeros(SLOTS, dtype=np.int64)
        self.work = np.full((3, SLOTS + 1), np.inf)  # the last for columns that were never read
        self.work[2] = 0.0
        self.slot = np.full(n, -1, dtype=np.int8)
        self.product, self.width = np.zeros(n), np.full(n, np.inf)
        self.estimate, self.radius = np.zeros(n), np.full(n, np.inf)
        self.reads = 0
        self.is_moved = False  # has the slope moved since all columns were read?

    def locate(self, slope: Array) -> None:
        """Intervals for a slope that has moved, without reading a column."""
        self.is_moved = True
        place_intervals(
            slope, self.slopes, self.length, self.total, self.count, self.work, self.slot, self.product, self.width,
            self.mean, self.estimate, self.radius,
        )  # fmt: skip

    def read(self, columns: Array, slope: Array) -> None:
        """Read these columns at the present slope: their intervals become points."""
        is_all = columns.size == self.slot.size
        here = 0 if is_all else int(self.count.argmin())  # the slope that the fewest columns refer to goes
        if not is_all and self.count[here]:
            leaving = self.slot == here
            leaving[columns] = True
            columns = np.flatnonzero(leaving)
        length, total = remember(slope, self.slopes[here], columns, self.slot, here, self.count)
        self.length[here], self.total[here] = length, total
        arrays = (self.square, self.mean, self.product, self.width, self.estimate, self.radius)
        numbers = (1.0 / max(length, 1e-300), abs(total))
        share(self.n_jobs, columns.size, read_columns, self.matrix, columns, slope, *numbers, *arrays)
        self.reads += columns.size
        self.is_moved = self.is_moved and not is_all


@kernel
def remember(slope: Array, place: Array, columns: Array, slot: Array, here: int, count: Array) -> tuple[float, float]:
    """Keep the slope; the columns refer to it from now on.  Its squared length and its sum."""
    length, total = 0.0, 0.0
    for k in range(slope.size):
        place[k] = slope[k]
        length += slope[k] * slope[k]
        total += slope[k]
    if columns.size == slot.size:
        count[:], slot[:] = 0, here
    else:
        for i in range(columns.size):
            j = wide(columns[i])
            if slot[j] >= 0:
                count[slot[j]] -= 1
            slot[j] = here
    count[here] += columns.size
    return length, total


@kernel
def read_columns(
    matrix: Any, columns: Array, slope: Array, inverse: float, total: float, square: Array, mean: Array,
    product: Array, width: Array, estimate: Array, radius: Array, start: int, stop: int,
) -> None:  # fmt: skip
    """Exact products of some columns with the slope, and the lengths of their parts across it."""
    for i in range(start, stop):
        j = wide(columns[i])
        g = dot(matrix, j, slope)
        along = max(0.0, abs(g) - mean[j] * total)  # of the part across the ones
        across = square[j] - along * along * inverse
        width[j] = np.sqrt(max(across, 0.0) + ROUNDING * square[j])
        product[j] = estimate[j] = g
        radius[j] = 0.0


@kernel
def place_intervals(
    slope: Array, slopes: Array, length: Array, total: Array, count: Array, work: Array, slot: Array, product: Array,
    width: Array, mean: Array, estimate: Array, radius: Array,
) -> None:  # fmt: skip
    """``work`` takes, for every slope remembered, the share s of it in the present one, ‖e‖ and |Σe| of the rest."""
    for r in range(count.size):
        if count[r] > 0:
            along, rest, size, sum_here = 0.0, 0.0, 0.0, 0.0
            for k in range(slope.size):
                along += slopes[r, k] * slope[k]
                size += slope[k] * slope[k]
                sum_here += slope[k]
            along /= max(length[r], 1e-300)
            for k in range(slope.size):
                away = slope[k] - along * slopes[r, k]
                rest += away * away
            work[0, r], work[1, r] = along, np.sqrt(rest + ROUNDING * ROUNDING * size)
            work[2, r] = abs(sum_here - along * total[r])
    for j in range(slot.size):
        r = slot[j]
        estimate[j] = work[0, r] * product[j]
        radius[j] = work[1, r] * width[j] + work[2, r] * mean[j]
