"""A ball for the gradient of every block, from the columns read so far.

A block read when the raw gradient was V_r, a *reference*, left its products G = A_bᵀV_r behind.  For the present raw
gradient V = s·V_r + E with E ⟂ V_r the gradient of the block is s·G + A_bᵀE, and by Cauchy and Schwarz

    ‖A_bᵀV − s·G‖  ≤  ‖E‖·‖A_b‖,

whatever the loss.  With one output the part of A_b along V_r is known, and ‖A_b‖² becomes ‖A_b‖² − ‖G‖²/‖V_r‖².  With
an intercept the raw gradients sum to zero, but for rounding, and the means m_b of the columns are taken out too: the
gradient is within ‖A_b − 1m_bᵀ‖·‖E‖ + ‖m_b‖·‖1ᵀE‖.  Several references are kept and each block refers to the last one
it was read at, so that a block is read again only where its ball leaves a decision open.  Rounding errors are not
counted here: the certificate does.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import kernel, wide
from ascd._core.threads import share
from ascd.matrix import costs
from ascd.problem.arithmetic import inverse_square, length_across, length_of, share_along, width_across
from ascd.problem.groups import products
from ascd.problem.tuning import SAMPLES_A_PART, SQUARE_ROUNDING
from ascd.solver import tuning


class Wanted(NamedTuple):
    """The ends of all subdifferentials, and how many of the worst columns outside may be cached with their products."""

    low: Array
    high: Array
    most: int


class GradientBounds:
    """Gradients within ``radius`` (one a block) of ``estimate`` (n, T), in the order of the blocks.

    ``update`` makes balls for a raw gradient that has moved, ``read`` exact entries.
    """

    def __init__(self, problem: Any, intercept: bool) -> None:
        self.problem, self.matrix, self.intercept = problem, problem.design, intercept
        (d, n), groups, outputs = problem.design.shape, problem.groups, problem.n_outputs
        self.ends, self.starts, self.count = problem.ends, groups.starts, groups.count
        self.has_one_output = outputs == 1
        square, total = problem.first.column_stats.plain[groups.order], problem.first.column_stats.total[groups.order]
        mean = total / d if intercept else np.zeros(n)
        if intercept:
            square = np.maximum(square - total**2 / d, 0.0) + SQUARE_ROUNDING * square
        self.square, self.mean = self._sums(square), np.sqrt(self._sums(mean**2))
        slots = tuning.SLOTS
        self.references = np.zeros((slots, d * outputs))
        self.length, self.total = np.zeros(slots), np.zeros((slots, outputs))  # ‖V_r‖² and the sums of V_r
        self.used = np.zeros(slots, dtype=np.int64)  # blocks that refer to V_r
        self.place = np.full((3, slots + 1), np.inf)  # s, ‖E‖, ‖1ᵀE‖; the last for blocks that were never read
        self.place[2] = 0.0
        self.slot = np.full(self.count, -1, dtype=np.int8)
        self.product, self.estimate = np.zeros((2, n, outputs))
        self.width, self.radius = np.full((2, self.count), np.inf)
        self.everything = np.arange(self.count)
        self.is_small = n <= tuning.LARGEST_SET and not (self.matrix.at_once or self.matrix.is_dear)
        self.reads = 0
        self.exact_for: Array | None = None  # the raw gradient at which all blocks were read last, if that is known

    def _sums(self, values: Array) -> Array:
        """Return the sums over the columns of each block."""
        return values if self.count == values.size else np.add.reduceat(values, self.starts[:-1])

    def is_exact(self, gradient: Array) -> bool:
        """Return whether all entries were read at this raw gradient, the array itself.

        A run may be interrupted between a step and ``update``: then the estimates are those of another point.
        """
        return self.exact_for is gradient

    def update(self, gradient: Array) -> None:
        """Make balls for a raw gradient that has moved, without reading a column; few columns in memory are read."""
        if self.is_small:
            self.read_all(gradient)
            return
        self.exact_for = None
        self._compare(gradient)
        given = (self.place, self.slot, self.product.ravel(), self.ends, self.width, self.mean)
        price = costs.COORDINATE * self.product.size
        if self.count == self.product.size:
            share(price, self.count, move_intervals, *given, self.estimate.ravel(), self.radius)
        else:
            share(price, self.count, move_balls, *given, self.estimate.ravel(), self.radius)

    def read(self, blocks: Array, gradient: Array, wanted: Wanted | None = None) -> None:
        """Read these blocks at the present raw gradient: their balls become points.

        With ``wanted``, a remote matrix returns the worst columns too, so that they are cached.
        """
        is_all = blocks.size == self.count
        blocks = self.everything if is_all else blocks  # in their order
        here = 0 if is_all else int(self.used.argmin())  # the reference with the fewest blocks is replaced
        if not is_all and self.used[here]:
            leaving = self.slot == here
            leaving[blocks] = True
            blocks = np.flatnonzero(leaving)
        found = None
        if self.reads == 0 and is_all and self.has_one_output:
            found = self.problem.first.products_at(gradient.ravel())
            found = None if found is None else found[self.problem.groups.order, None]
        if found is None and wanted is not None:
            low, high = wanted.low[blocks], wanted.high[blocks]
            found = self.matrix.dots_and_worst(blocks, gradient.ravel(), low, high, wanted.most)[:, None]
        elif found is None:
            found = products(self.matrix, self.problem.groups.order[self.rows(blocks)], gradient)
        self._set_exact(blocks, found, here, gradient)
        self.reads += found.shape[0]

    def read_all(self, gradient: Array) -> None:
        self.read(self.everything, gradient)

    def read_once(self, blocks: Array, gradient: Array) -> None:
        """Read these blocks for the present raw gradient alone; they keep their references."""
        rows = self.rows(blocks)
        found = products(self.matrix, self.problem.groups.order[rows], gradient)
        self.exact_for = self.exact_for if self.is_exact(gradient) else None
        self.estimate[rows] = found
        self.radius[blocks] = 0.0
        self.reads += rows.size

    def set_all(self, found: Array, gradient: Array) -> None:
        """Take over the products (n, T) of all columns with this raw gradient."""
        self._set_exact(self.everything, found, 0, gradient)

    def rows(self, blocks: Array) -> Array:
        """Return the rows of x that belong to these blocks."""
        return blocks if self.count == self.product.shape[0] else self.problem.groups.columns(blocks)

    def _set_exact(self, blocks: Array, found: Array, here: int, gradient: Array) -> None:
        flat, rows = gradient.ravel(), self.rows(blocks)
        is_exact, self.exact_for = self.is_exact(gradient) or blocks.size == self.count, None
        self.references[here] = flat
        self.length[here] = square_length(flat)
        self.total[here] = gradient.sum(axis=0)
        self._refer(blocks, here)
        inverse = inverse_square(self.length[here]) if self.has_one_output else 0.0
        total, cost = abs(float(self.total[here].sum())), costs.COORDINATE * found.size
        arrays = (self.square, self.mean, self.product.ravel(), self.width, self.estimate.ravel(), self.radius)
        if self.count < self.product.size:
            self.product[rows] = self.estimate[rows] = found
            self.radius[blocks] = 0.0
            share(cost, blocks.size, fill_widths, blocks, self.ends, inverse, total, *arrays[:4])
        elif blocks is self.everything:
            share(cost, blocks.size, set_all_exact, found.ravel(), inverse, total, *arrays)
        else:
            share(cost, blocks.size, set_exact, blocks, found.ravel(), inverse, total, *arrays)
        self.exact_for = gradient if is_exact else None

    def _refer(self, blocks: Array, here: int) -> None:
        """Let these blocks refer to a reference."""
        if blocks.size == self.count:
            self.used[:], self.slot[:] = 0, here
        else:
            before = self.slot[blocks]
            self.used -= np.bincount(before[before >= 0], minlength=self.used.size)
            self.slot[blocks] = here
        self.used[here] += blocks.size

    def _compare(self, gradient: Array) -> None:
        """Fill in ``place``: how the raw gradient lies to the references."""
        flat, slots = gradient.ravel(), np.flatnonzero(self.used)
        sums = np.zeros((-(-flat.size // SAMPLES_A_PART), 1 + slots.size))
        price = costs.SAMPLE * flat.size
        share(price, len(sums), products_with_references, flat, self.references, slots, sums)
        size, *along = sums.sum(axis=0).tolist()
        shares = np.array([share_along(one, self.length[r]) for one, r in zip(along, slots, strict=True)])
        rest = np.zeros((len(sums), slots.size))
        share(price, len(sums), distances_from_references, flat, self.references, slots, shares, rest)
        rounding = SQUARE_ROUNDING * SQUARE_ROUNDING * size
        self.place[0, slots] = shares
        self.place[1, slots] = [length_across(square, rounding, size) for square in rest.sum(axis=0).tolist()]
        if self.intercept:
            away = gradient.sum(axis=0) - shares[:, None] * self.total[slots]
            self.place[2, slots] = np.linalg.norm(away, axis=1)


def square_length(vector: Array) -> float:
    """Return ‖vector‖², summed up in parts of fixed size."""
    sums = np.zeros((-(-vector.size // SAMPLES_A_PART), 1))
    share(
        costs.SUMMED * vector.size, len(sums), products_with_references, vector, vector[None, :0],
        np.empty(0, dtype=np.int64), sums,
    )  # fmt: skip
    return float(sums.sum())


@kernel
def products_with_references(vector: Array, references: Array, slots: Array, out: Array, start: int, stop: int) -> None:
    """Fill in, for each part of the samples, Σv² and ⟨v_r, v⟩ for the references."""
    for part in range(start, stop):
        first, last = part * SAMPLES_A_PART, min((part + 1) * SAMPLES_A_PART, vector.size)
        size = 0.0
        for number in range(first, last):
            size += vector[wide(number)] * vector[wide(number)]
        out[part, 0] = size
        for i in range(slots.size):
            r, along = wide(slots[i]), 0.0
            for number in range(first, last):
                along += references[r, wide(number)] * vector[wide(number)]
            out[part, 1 + i] = along


@kernel
def distances_from_references(
    vector: Array, references: Array, slots: Array, shares: Array, out: Array, start: int, stop: int
) -> None:
    """Fill in, for each part of the samples, ‖v − s·v_r‖² for the references."""
    for part in range(start, stop):
        first, last = part * SAMPLES_A_PART, min((part + 1) * SAMPLES_A_PART, vector.size)
        for i in range(slots.size):
            r, along, rest = wide(slots[i]), shares[i], 0.0
            for number in range(first, last):
                away = vector[wide(number)] - along * references[r, wide(number)]
                rest += away * away
            out[part, i] = rest


@kernel
def move_intervals(
    place: Array, slot: Array, product: Array, ends: Array, width: Array, mean: Array, estimate: Array, radius: Array,
    start: int, stop: int,
) -> None:  # fmt: skip
    """``move_balls`` for blocks of one column and one output, several at a time."""
    for number in range(start, stop):
        j = wide(number)
        r = slot[j]
        estimate[j] = place[0, r] * product[j]
        radius[j] = place[1, r] * width[j] + place[2, r] * mean[j]


@kernel
def move_balls(
    place: Array, slot: Array, product: Array, ends: Array, width: Array, mean: Array, estimate: Array, radius: Array,
    start: int, stop: int,
) -> None:  # fmt: skip
    """Fill in estimates and radii of some blocks from the place of the raw gradient beside their references."""
    for number in range(start, stop):
        b = wide(number)
        r = slot[b]
        for p in range(ends[b], ends[b + 1]):
            estimate[p] = place[0, r] * product[p]
        radius[b] = place[1, r] * width[b] + place[2, r] * mean[b]


@kernel
def set_exact(
    columns: Array, found: Array, inverse: float, total: float, square: Array, mean: Array, product: Array,
    width: Array, estimate: Array, radius: Array, start: int, stop: int,
) -> None:  # fmt: skip
    """Set the products of some columns with the raw gradient, and the lengths of the columns' parts across it.

    ``inverse`` is 1/‖V_r‖², 0 where nothing is known along it.
    """
    for number in range(start, stop):
        i = wide(number)
        j, g = wide(columns[i]), found[i]
        width[j] = width_across(square[j], max(0.0, abs(g) - mean[j] * total), inverse)
        product[j] = estimate[j] = g
        radius[j] = 0.0


@kernel
def set_all_exact(
    found: Array, inverse: float, total: float, square: Array, mean: Array, product: Array, width: Array,
    estimate: Array, radius: Array, start: int, stop: int,
) -> None:  # fmt: skip
    """``set_exact`` for all columns: one after the other, several at a time."""
    for number in range(start, stop):
        j = wide(number)
        g = found[j]
        width[j] = width_across(square[j], max(0.0, abs(g) - mean[j] * total), inverse)
        product[j] = estimate[j] = g
        radius[j] = 0.0


@kernel
def fill_widths(
    blocks: Array, ends: Array, inverse: float, total: float, square: Array, mean: Array, product: Array, width: Array,
    start: int, stop: int,
) -> None:  # fmt: skip
    """Fill in √(‖A_b‖² − ‖G_b‖²/‖V_r‖²) for some blocks; ``inverse`` is 1/‖V_r‖², 0 where nothing is known along it."""
    for number in range(start, stop):
        b = wide(blocks[wide(number)])
        along = max(0.0, length_of(product[ends[b] : ends[b + 1]]) - mean[b] * total) if inverse > 0.0 else 0.0
        width[b] = width_across(square[b], along, inverse) if square[b] < math.inf else math.inf
