"""Products of the columns in the working set: G = A_Wᵀ H A_W, with H the curvatures.

A column of G is computed when its coordinate first moves, as in covariance updates: coordinates that only wait in the
working set cost nothing.  With an intercept the best constant follows every step, so the columns of A enter less
their H-weighted means.  For a quadratic loss H never changes, and the products are kept for the whole run; for other
losses nearly all columns move, so that all are computed at once, and again with every H (``reweigh``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._base.checks import Array
from ascd._base.jit import kernel, wide
from ascd.data.matrices import Dense, count_entries

#: Entries of a dense matrix gathered at a time: the size of the work space.
BLOCK = 1 << 18
#: Sparse columns multiplied at a time: their part of G stays in the cache while all rows pass.
PASSING = 128
#: Products of numbers that take less time than a few calls from Python.
CHEAP = 300_000
#: A column that varies by less than this share of its square is constant, up to rounding: where the means are taken
#: from products, and where they are taken from the entries themselves.
CONSTANT, CONSTANT_CENTRED = 1e-12, 1e-24


class Rows(NamedTuple):
    """Entries of some columns, row by row: those of row k stand from offsets[k] to offsets[k + 1].

    ``filled`` lists the rows that have any.
    """

    offsets: Array
    filled: Array
    name: Array
    number: Array


class Gram:
    """The products of ``columns`` with each other: column i of ``store`` is valid where ``known`` says so.

    Where curvatures will change (``reweigh``), the rows of sparse columns are listed once and kept.
    """

    def __init__(self, matrix: Any, d: int, n: int, intercept: bool, keeps_rows: bool) -> None:
        self.matrix, self.d, self.intercept, self.keeps_rows = matrix, d, intercept, keeps_rows
        self.rows: dict[bytes, Rows] = {}
        self.position = np.full(n, -1, dtype=np.int32)
        self.columns = np.empty(0, dtype=np.int64)
        self.store = np.empty((0, 0), order="F")
        self.known = np.empty(0, dtype=np.bool_)

    def clear(self) -> None:
        self.position[self.columns] = -1
        self.columns = self.columns[:0]
        self.known[:] = False
        self.rows.clear()

    def keep(self, columns: Array) -> None:
        """Forget all but these columns, and give back their memory."""
        position = self.position[columns]
        position = position[position >= 0]
        kept, known = self.columns[position], self.known[position]
        self.store = np.asfortranarray(self.store[np.ix_(position, position)])
        self.clear()
        self.columns, self.known = kept, known
        self.position[kept] = np.arange(kept.size)

    def admit(self, joining: Array, weight: Array, means: Array) -> None:
        """Let columns join; ``weight`` is H's diagonal, ``means`` the columns' weighted means (for the intercept)."""
        old, self.weight, self.means = self.columns.size, weight, means
        self.columns = np.concatenate([self.columns, joining])
        self.position[joining] = np.arange(old, self.columns.size)
        self._reserve(self.columns.size)
        known = np.flatnonzero(self.known)
        new = np.arange(old, self.columns.size)
        if known.size:
            self._multiply(new, known)
        if self._is_cheap(new.size):
            self.learn(new)

    def reweigh(self, weight: Array, means: Array) -> None:
        """The same columns with other curvatures: what was known is computed again."""
        self.weight, self.means = weight, means
        known = np.flatnonzero(self.known[: self.columns.size])
        self.known[:] = False
        if known.size:
            self.learn(known)

    def _is_cheap(self, count: int) -> bool:
        """Are all products of so many new columns cheaper than finding out which of them are needed?

        So they are where rows are kept: one list of rows serves all columns, now and with other curvatures.
        """
        return self.keeps_rows or (isinstance(self.matrix, Dense) and count * self.columns.size * self.d <= CHEAP)

    def learn(self, positions: Array) -> None:
        """Compute the columns at these positions; each pair is multiplied once."""
        self._multiply(positions, positions)
        if self.intercept:
            self._hold_constants(positions)
        known = self.known[: self.columns.size]
        before = np.flatnonzero(known)
        if before.size:
            mirror(self.store, before, positions)
        known[positions] = True
        waiting = np.flatnonzero(~known)
        if waiting.size:
            self._multiply(waiting, positions)

    def _hold_constants(self, positions: Array) -> None:
        """A constant column does nothing that the intercept does not do: its own curvature keeps it where it is."""
        own = float(self.weight.sum()) * self.means[self.columns[positions]] ** 2
        diagonal = self.store[positions, positions]
        share = CONSTANT_CENTRED if isinstance(self.matrix, Dense) else CONSTANT
        self.store[positions, positions] = np.where(diagonal <= share * own, own, diagonal)

    def _reserve(self, size: int) -> None:
        capacity = self.store.shape[0]
        if size > capacity:
            store = np.empty((max(size, capacity + capacity // 4),) * 2, order="F")
            store[:capacity, :capacity] = self.store
            self.store = store
            self.known = np.concatenate([self.known, np.zeros(store.shape[0] - capacity, dtype=np.bool_)])

    def _multiply(self, left: Array, right: Array) -> None:
        """The products of the columns at two sets of positions, disjoint or the same."""
        if isinstance(self.matrix, Dense):
            self._multiply_dense(left, right)
        else:
            self._multiply_sparse(left, right)

    def _multiply_dense(self, left: Array, right: Array) -> None:
        transposed, root = self.matrix.values.T, np.sqrt(self.weight)
        block = np.zeros((left.size, right.size), order="F")
        step = max(64, BLOCK // (left.size + right.size))
        for start in range(0, self.d, step):
            there = slice(start, start + step)
            first = self._gather(transposed, self.columns[left], there, root)
            second = first if left is right else self._gather(transposed, self.columns[right], there, root)
            block += first @ second.T
        place(block, left, right, self.store)

    def _gather(self, transposed: Array, columns: Array, there: slice, root: Array) -> Array:
        part: Array = transposed[columns, there]
        if self.intercept:
            part -= self.means[columns, None]
        part *= root[there]
        return part

    def _multiply_sparse(self, left: Array, right: Array) -> None:
        right_rows = self._list(right)
        left_rows = right_rows if left is right else self._list(left)
        filled = min(left_rows.filled, right_rows.filled, key=len)
        reached = right_rows.offsets[filled]
        for start in range(0, right.size, PASSING):
            part = right[start : start + PASSING]
            add_products(left, left_rows, part, right_rows, filled, reached, left is right, self.weight, self.store)
        if left is right:
            mirror_upper(left, self.store)
        if self.intercept:
            mean, total = self.means[self.columns], float(self.weight.sum())
            self.store[np.ix_(left, right)] -= total * np.outer(mean[left], mean[right])

    def _list(self, positions: Array) -> Rows:
        """The entries of the columns at these positions, row by row."""
        key = positions.tobytes() if self.keeps_rows else b""
        if key in self.rows:
            return self.rows[key]
        columns = self.columns[positions]
        stored = count_entries(self.matrix, columns)
        offsets, filled = np.zeros(self.d + 2, dtype=np.int64), np.empty(min(self.d, stored) + 1, dtype=np.int64)
        rows = Rows(offsets, filled, np.empty(stored, dtype=np.uint32), np.empty(stored))
        rows = rows._replace(filled=filled[: list_rows(self.matrix, columns, positions, rows)])
        if self.keeps_rows:
            self.rows[key] = rows
        return rows


@kernel
def place(block: Array, left: Array, right: Array, store: Array) -> None:
    """store[left, right] = block."""
    for b in range(right.size):
        for a in range(left.size):
            store[left[a], right[b]] = block[a, b]


@kernel
def mirror(store: Array, known: Array, joining: Array) -> None:
    """Rows of the known columns, as columns of those that join."""
    for i in joining:
        for other in known:
            store[other, i] = store[i, other]


@kernel
def mirror_upper(positions: Array, store: Array) -> None:
    for i in positions:
        for other in positions:
            if other > i:
                store[other, i] = store[i, other]


@kernel
def list_rows(matrix: Any, columns: Array, names: Array, rows: Rows) -> int:
    """The entries of some columns, row by row, in the order of the columns; the number of rows that have any."""
    offsets, count = rows.offsets, 0
    for i in range(columns.size):
        for p in range(matrix.start(columns[i]), matrix.stop(columns[i])):
            offsets[wide(matrix.row(p)) + 2] += 1
    for k in range(offsets.size - 2):
        rows.filled[count] = k
        count += 1 if offsets[k + 2] > 0 else 0
        offsets[k + 2] += offsets[k + 1]
    for i in range(columns.size):
        j, name = columns[i], names[i]
        for p in range(matrix.start(j), matrix.stop(j)):
            k = wide(matrix.row(p)) + 1
            rows.name[offsets[k]] = name
            rows.number[offsets[k]] = matrix.entry(p, j)
            offsets[k] += 1
    return count


@kernel
def add_products(
    left: Array, left_rows: Rows, right: Array, right_rows: Rows, filled: Array, reached: Array, upper: bool,
    weight: Array, out: Array,
) -> None:  # fmt: skip
    """out[left, right] = A_leftᵀ H A_right, row by row: each adds the products of its entries.

    Rows come one after the other, so that their entries stream through the cache; ``filled`` lists them.  ``right`` is
    the next part of the right rows' names, which rise in every row; ``reached`` tells how far each row is.  Where
    ``upper``, both are the same rows, and only entries up to the right one are multiplied.
    """
    for i in right:
        for other in left:
            out[other, i] = 0.0
    end = right[-1]
    for f in range(reached.size):
        k = wide(filled[f])
        first, last = wide(left_rows.offsets[k]), wide(left_rows.offsets[k + 1])
        q, stop = wide(reached[f]), wide(right_rows.offsets[k + 1])
        while q < stop and right_rows.name[q] <= end:
            i, factor = right_rows.name[q], weight[k] * right_rows.number[q]
            q += 1
            for p in range(first, q if upper else last):
                out[left_rows.name[p], i] += factor * left_rows.number[p]
        reached[f] = q
