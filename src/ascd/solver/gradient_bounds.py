"""An interval for every gradient entry, from the columns read so far.

A column read when the slope was v_r left its product g = ⟨a_j, v_r⟩ behind.  For the present slope v = s·v_r + e with
e ⟂ v_r the entry lies, by Cauchy and Schwarz, in

    ⟨a_j, v⟩  ∈  s·g ± ‖e‖·√(‖a_j‖² − g²/‖v_r‖²),

whatever the loss.  Several slopes v_r, the references, are kept, and each column refers to the last one it was read at;
so a column is read again only where its interval leaves a decision open.  With an intercept the slopes sum to zero, but
for rounding, and the part of a_j along the ones is taken out of ‖a_j‖ too: with m the mean of a_j,

    |⟨a_j, e⟩|  ≤  ‖a_j − m·1‖·‖e‖ + |m|·|Σ_k e_k|.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import kernel, wide
from ascd._core.threads import share
from ascd.matrix import prices
from ascd.problem.norms import FirstPass
from ascd.problem.optimality import inverse_square, width_across
from ascd.problem.tuning import SQUARE_ROUNDING
from ascd.solver import tuning
from ascd.solver.samples import Samples


class Rest(NamedTuple):
    """The subgradients of all penalties, and how many columns outside may come near."""

    low: Array
    high: Array
    most: int


class GradientBounds:
    """``estimate`` ± ``radius``: after ``locate`` for the slope there, after ``read`` exact for the columns read."""

    def __init__(self, design: Any, samples: Samples, first: FirstPass) -> None:
        d, n = design.shape
        self.design, self.samples, self.first = design, samples, first
        self.square = first.survey.plain
        self.mean = np.zeros(n)
        if samples.intercept:
            self.mean = first.survey.total
            self.square = np.maximum(self.square - self.mean**2 / d, 0.0) + SQUARE_ROUNDING * self.square
            self.mean = np.abs(self.mean) / d
        slots = tuning.SLOTS
        self.length, self.total = np.zeros(slots), np.zeros(slots)  # ‖v_r‖² and the sum of v_r
        self.count = np.zeros(slots, dtype=np.int64)  # columns that refer to v_r
        self.place = np.full((3, slots + 1), np.inf)  # s, ‖e‖, |Σe|; the last for columns that were never read
        self.place[2] = 0.0
        self.slot = np.full(n, -1, dtype=np.int8)
        self.product, self.width = np.zeros(n), np.full(n, np.inf)
        self.estimate, self.radius = np.zeros(n), np.full(n, np.inf)
        self.everything = np.arange(n)
        self.reads = 0
        self.is_moved = False  # has the slope moved since all columns were read?

    def locate(self, slope: Array) -> None:
        """Intervals for a slope that has moved, without reading a column."""
        self.is_moved = True
        self.samples.compare(slope, self.length, self.total, self.count, self.place)
        n = self.slot.size
        given = (self.place, self.slot, self.product, self.width, self.mean, self.estimate, self.radius)
        share(prices.COORDINATE * n, n, place_intervals, *given)

    def read(self, columns: Array, slope: Array, rest: Rest | None = None) -> None:
        """Read these columns at the present slope: their intervals become points.

        Where ``rest`` is given, the worst of those outside it come near.
        """
        is_all = columns.size == self.slot.size
        here = 0 if is_all else int(self.count.argmin())  # the reference that the fewest columns refer to goes
        if not is_all and self.count[here]:
            leaving = self.slot == here
            leaving[columns] = True
            columns = np.flatnonzero(leaving)
        numbers = self._refer(columns, here, slope)
        products = self.first.products_at(slope) if self.reads == 0 and is_all else None
        if products is None and rest is not None:
            products = self.design.dots_and_worst(columns, slope, rest.low[columns], rest.high[columns], rest.most)
        elif products is None:
            products = self.design.dots(columns, slope)
        self._pin(columns, products, *numbers)
        self.reads += columns.size
        self.is_moved = self.is_moved and not is_all

    def read_all(self, slope: Array) -> None:
        self.read(self.everything, slope)

    def look_at(self, columns: Array, slope: Array) -> None:
        """Exact entries of these columns until the slope moves; they refer to the slopes they referred to."""
        self.estimate[columns], self.radius[columns] = self.design.dots(columns, slope), 0.0
        self.reads += columns.size

    def adopt(self, products: Array, slope: Array) -> None:
        """All columns, read at this slope in a pass that somebody else has made."""
        self._pin(self.everything, products, *self._refer(self.everything, 0, slope))
        self.is_moved = False

    def _refer(self, columns: Array, here: int, slope: Array) -> tuple[float, float]:
        """The columns refer to this slope from now on; 1/‖v‖² and |Σv|."""
        length, total = self.samples.keep(here, slope)
        refer(columns, self.slot, here, self.count)
        self.length[here], self.total[here] = length, total
        return inverse_square(length), abs(total)

    def _pin(self, columns: Array, products: Array, inverse: float, total: float) -> None:
        """The intervals of these columns become points."""
        arrays = (self.square, self.mean, self.product, self.width, self.estimate, self.radius)
        price = prices.COORDINATE * columns.size
        if columns is self.everything:  # in their order
            share(price, columns.size, pin_all, products, inverse, total, *arrays)
        else:
            share(price, columns.size, pin_columns, columns, products, inverse, total, *arrays)


@kernel
def refer(columns: Array, slot: Array, here: int, count: Array) -> None:
    """The columns refer to the slope at ``here`` from now on."""
    if columns.size == slot.size:
        count[:], slot[:] = 0, here
    else:
        for i in range(columns.size):
            j = wide(columns[i])
            if slot[j] >= 0:
                count[slot[j]] -= 1
            slot[j] = here
    count[here] += columns.size


@kernel
def pin_columns(
    columns: Array, products: Array, inverse: float, total: float, square: Array, mean: Array, product: Array,
    width: Array, estimate: Array, radius: Array, start: int, stop: int,
) -> None:  # fmt: skip
    """Exact products of some columns with the slope, and the lengths of their parts across it."""
    for number in range(start, stop):
        i = wide(number)
        j, g = wide(columns[i]), products[i]
        along = max(0.0, abs(g) - mean[j] * total)  # of the part across the ones
        width[j] = width_across(square[j], along, inverse)
        product[j] = estimate[j] = g
        radius[j] = 0.0


@kernel
def pin_all(
    products: Array, inverse: float, total: float, square: Array, mean: Array, product: Array, width: Array,
    estimate: Array, radius: Array, start: int, stop: int,
) -> None:  # fmt: skip
    """``pin_columns`` for all of them: one after the other, several at a time."""
    for number in range(start, stop):
        j = wide(number)
        g = products[j]
        width[j] = width_across(square[j], max(0.0, abs(g) - mean[j] * total), inverse)
        product[j] = estimate[j] = g
        radius[j] = 0.0


@kernel
def place_intervals(
    place: Array, slot: Array, product: Array, width: Array, mean: Array, estimate: Array, radius: Array, start: int,
    stop: int,
) -> None:  # fmt: skip
    for number in range(start, stop):
        j = wide(number)
        r = slot[j]
        estimate[j] = place[0, r] * product[j]
        radius[j] = place[1, r] * width[j] + place[2, r] * mean[j]
