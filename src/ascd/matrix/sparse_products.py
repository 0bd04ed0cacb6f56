"""Products of sparse columns with each other, row by row.

The entries of the columns are listed by rows once; then every row adds the products of its entries, weighted by its
curvature.  Threads list rows of their own.  They multiply columns of their own, each looking at all rows; or rows of
their own, where the columns are so few and so long that looking at rows is most of the work: the sums of some rows are
then put down apart and added up.  Which of the two it is, and in how many parts, does not depend on the threads.

With means m, n of two columns, and any numbers s, t,

    Σ h·(a − m)·(b − n) = Σ h·(a − s)·(b − t) − Σh·(m − s)·(n − t).

A column that is stored in every row is listed less its mean, s = m, or that of the curvatures it was first listed for:
one that lies far from zero loses no digits then.  For the others s = 0, and what rounding leaves of a product is 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import helper, kernel, wide
from ascd._core.threads import parts_of, share
from ascd._core.tuning import WORTH_A_THREAD
from ascd.matrix import prices
from ascd.matrix.listed_rows import Rows, means_of_whole, rows_of
from ascd.matrix.prices import LEFT_BY_MEANS


class Listed(NamedTuple):
    """Columns listed by rows, each less its number s (see the top)."""

    rows: Rows
    less: Array


class SparseMultiplier:
    """Products by rows: the entries of the columns are listed by rows once, and again with every other H used."""

    #: as of dense columns: where means are taken out of the products, what is rounding alone is 0
    constant = 1e-24

    def __init__(self, design: Any, keeps: bool) -> None:
        self.design, self.keeps = design, keeps
        self.listed: dict[tuple[bool, bytes], Listed] = {}

    def is_cheap(self, count: int, size: int) -> bool:
        """One list of rows serves all columns, now and with other curvatures."""
        return self.keeps

    def forget(self) -> None:
        self.listed.clear()

    def fill(self, store: Array, columns: Array, left: Array, right: Array, weight: Array, means: Array | None) -> None:
        right_rows, right_less = self._list(columns, right, means)
        left_rows, left_less = (right_rows, right_less) if left is right else self._list(columns, left, means)
        filled = min(left_rows.filled, right_rows.filled, key=len)
        price = prices.SPARSE_PRODUCT * left_rows.name.size / max(1, filled.size) * right_rows.name.size
        given = (left, left_rows, right, right_rows, filled, left is right, weight, store)
        looks = prices.FILLED_ROW * max(1, filled.size)
        by_rows = row_parts(price + looks, looks, columns.size, left.size * right.size)
        if by_rows > 1:
            multiply_by_rows(price + looks, by_rows, columns.size, *given)
        else:
            multiply_by_columns(price, looks, *given)
        price = prices.STORED * left.size * right.size
        if means is not None:
            left_mean, right_mean = means[columns[left]] - left_less, means[columns[right]] - right_less
            total = float(weight.sum())
            share(price, right.size, centre_products, left, right, left_mean, right_mean, total, store)
        if left is right:
            share(price, left.size, mirror_upper, left, store)

    def _list(self, columns: Array, positions: Array, means: Array | None) -> Listed:
        """The entries of the columns at these positions, row by row."""
        key = means is None, positions.tobytes() if self.keeps else b""
        if key in self.listed:
            return self.listed[key]
        chosen, d = columns[positions], self.design.shape[0]
        matrix, places = self.design.take(chosen)
        less = np.zeros(chosen.size) if means is None else means_of_whole(matrix, places, d, means[chosen])
        listed = Listed(rows_of(matrix, places, positions, d, less), less)
        if self.keeps:
            self.listed[key] = listed
        return listed


def multiply_by_columns(
    price: float, looks: float, left: Array, left_rows: Rows, right: Array, right_rows: Rows, filled: Array,
    upper: bool, weight: Array, store: Array,
) -> None:  # fmt: skip
    """Threads have columns of their own; every part looks at all rows that are filled."""
    parts = min(parts_of(price), int(price / (2.0 * looks)))
    passing = min(prices.PASSING, -(-right.size // max(1, parts)))
    given = (left, left_rows, right, right_rows, filled, upper, weight, store, passing)
    share(price, -(-right.size // passing), add_products, *given, room=lambda: right_rows.offsets[filled])


def row_parts(price: float, looks: float, names: int, pairs: int) -> int:
    """Parts of the rows to multiply apart, for so many products: 1 where columns are better shared.

    ``price`` is that of everything, ``looks`` that of looking at the rows alone, in nanoseconds.  Putting parts down
    and adding them up must be little work beside, and little memory.
    """
    most = min(prices.ROW_PARTS, prices.ROW_NUMBERS / names**2, 0.1 * price / (prices.STORED * pairs))
    is_long = price < 2.0 * prices.ROW_PARTS * looks  # as many parts of the columns would look at rows most of the time
    return max(1, int(min(most, price / WORTH_A_THREAD))) if is_long else 1


def multiply_by_rows(
    price: float, parts: int, names: int, left: Array, left_rows: Rows, right: Array, right_rows: Rows, filled: Array,
    upper: bool, weight: Array, store: Array,
) -> None:  # fmt: skip
    """Threads have rows of their own."""
    sums = np.empty((names, names, parts), order="F")
    ends = [filled.size * part // parts for part in range(parts + 1)]

    def multiply(start: int, stop: int) -> None:
        for part in range(start, stop):
            there = filled[ends[part] : ends[part + 1]]
            given = (left, left_rows, right, right_rows, there, upper, weight, sums[:, :, part], right.size)
            add_products(*given, right_rows.offsets[there], 0, 1)

    share(price, parts, multiply)
    share(prices.STORED * parts * left.size * right.size, right.size, add_up, left, right, upper, sums, store)


@kernel
def add_up(left: Array, right: Array, upper: bool, sums: Array, store: Array, start: int, stop: int) -> None:
    """store[left, right] = the sum of all parts; where ``upper``, above the diagonal."""
    for b in range(start, stop):
        i = right[b]
        for other in left:
            if other <= i or not upper:
                total = 0.0
                for part in range(sums.shape[2]):
                    total += sums[other, i, part]
                store[other, i] = total


@kernel
def mirror_upper(positions: Array, store: Array, start: int, stop: int) -> None:
    """The columns from ``start`` to ``stop`` below the diagonal, from what stands above it."""
    for a in range(start, stop):
        i = positions[a]
        for other in positions:
            if other > i:
                store[other, i] = store[i, other]


@kernel
def centre_products(
    left: Array, right: Array, left_mean: Array, right_mean: Array, total: float, store: Array, start: int, stop: int
) -> None:
    """Columns less their means; those given are of the columns as they are listed (see the top)."""
    for b in range(start, stop):
        i = right[b]
        for a in range(left.size):
            taken = total * (left_mean[a] * right_mean[b])
            rest = store[left[a], i] - taken
            store[left[a], i] = rest if abs(rest) > LEFT_BY_MEANS * abs(taken) else 0.0


@kernel
def add_products(
    left: Array, left_rows: Rows, right: Array, right_rows: Rows, filled: Array, upper: bool, weight: Array, out: Array,
    passing: int, reached: Array, start: int, stop: int,
) -> None:  # fmt: skip
    """out[left, right] = A_leftᵀ H A_right, row by row: each adds the products of its entries.

    ``passing`` columns at a time, the parts from ``start`` to ``stop``.  Rows come one after the other, so that their
    entries stream through the cache; ``filled`` lists them.  Names rise in every row, and ``reached`` (where the rows
    begin, at first) tells how far each row is.  Where ``upper``, both are the same rows, and only entries up to the
    right one are multiplied.
    """
    if start > 0:
        skip_names(right_rows, filled, right[start * passing], reached)
    for part in range(start, stop):
        last_place = min((part + 1) * passing, right.size) - 1
        for i in right[part * passing : last_place + 1]:
            for other in left:
                out[other, i] = 0.0
        end = right[last_place]
        for f in range(reached.size):
            k = wide(filled[f])
            first, last = wide(left_rows.offsets[k]), wide(left_rows.offsets[k + 1])
            q, ends = wide(reached[f]), wide(right_rows.offsets[k + 1])
            while q < ends and right_rows.name[q] <= end:
                i, factor = right_rows.name[q], weight[k] * right_rows.number[q]
                q += 1
                for p in range(first, q if upper else last):
                    out[left_rows.name[p], i] += factor * left_rows.number[p]
            reached[f] = q


@helper
def skip_names(rows: Rows, filled: Array, name: int, reached: Array) -> None:
    """In every row go on to the first entry with this name or a later one."""
    for f in range(reached.size):
        low, high = reached[f], rows.offsets[filled[f] + 1]
        while low < high:
            middle = (low + high) // 2
            if rows.name[middle] < name:
                low = middle + 1
            else:
                high = middle
        reached[f] = low
