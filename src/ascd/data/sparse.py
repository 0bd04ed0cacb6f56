"""Sparse storage: compressed columns, products row by row."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ascd._base.checks import Array
from ascd._base.jit import kernel, wide
from ascd._base.scalars import fetch
from ascd.data import prices
from ascd.data.local import Local

#: A matrix whose sizes and offsets are all smaller has indices of 32 bits.
LARGEST_SHORT = 2**31 - 1
#: Integers as libraries know them, and as compiled code reads them.
UNSIGNED: dict[Any, Any] = {np.dtype(np.int32): np.dtype(np.uint32), np.dtype(np.int64): np.dtype(np.uint64)}
SIGNED = {seen: known for known, seen in UNSIGNED.items()}


class CSC(NamedTuple):
    """Compressed sparse columns.

    Rows and offsets are unsigned: a signed index may count from the end, and every access would have to ask whether it
    does, which takes a third of the time of a sparse product.
    """

    data: Array
    indices: Array
    indptr: Array

    def start(self, j: int) -> int:
        return self.indptr[j]

    def stop(self, j: int) -> int:
        return self.indptr[j + 1]

    def row(self, p: int) -> int:
        return self.indices[p]

    def entry(self, p: int, j: int) -> float:
        return self.data[p]

    def ahead(self, j: int) -> None:
        fetch(self.indices, self.indptr[j])
        fetch(self.data, self.indptr[j])

    def stored(self) -> Array:
        """All entries that are stored."""
        return self.data

    def to_scipy(self, d: int, n: int) -> Any:
        """As libraries take it, on the same memory."""
        from scipy.sparse import csc_array

        signed = SIGNED[self.indices.dtype]
        return csc_array((self.data, self.indices.view(signed), self.indptr.view(signed)), shape=(d, n))


def unsigned(columns: Any, width: Any) -> tuple[Array, Array, Array]:
    """data, indices, indptr of a SciPy matrix, on the same memory where its indices have that width."""
    places = (index.astype(width, copy=False).view(UNSIGNED[width]) for index in (columns.indices, columns.indptr))
    return columns.data, *places


def short_width(columns: Any) -> Any:
    """32 bits wherever they are enough: one compiled form instead of one for each integer type."""
    return np.dtype(np.int32 if max(columns.nnz, *columns.shape) < LARGEST_SHORT else np.int64)


def as_rows(matrix: CSC, d: int) -> tuple[Array, Array, Array]:
    """The row-wise copy (data, indices, indptr) of a sparse matrix, unsigned like its columns."""
    rows = matrix.to_scipy(d, matrix.indptr.size - 1).tocsr()
    return unsigned(rows, SIGNED[matrix.indices.dtype])


class LocalSparse(Local):
    """Sparse columns in memory."""

    matrix: CSC

    def entries(self, columns: Array | None = None) -> int:
        if columns is None:
            return int(self.matrix.data.size)
        return int((self.matrix.indptr[columns + 1] - self.matrix.indptr[columns]).sum())

    def sweep_price(self, columns: Array) -> float:
        return prices.SPARSE_ENTRY * self.entries(columns) + prices.VISIT * columns.size

    def products_price(self, columns: Array) -> float:
        stored = self.entries(columns)
        return (prices.SPARSE_PRODUCT * stored / self.shape[0] + prices.LISTED) * stored + prices.CALLS

    def multiplier(self, keeps: bool) -> SparseMultiplier:
        return SparseMultiplier(self, keeps)


class Rows(NamedTuple):
    """Entries of some columns, row by row: those of row k stand from offsets[k] to offsets[k + 1].

    ``filled`` lists the rows that have any.
    """

    offsets: Array
    filled: Array
    name: Array
    number: Array


class SparseMultiplier:
    """Products by rows: the entries of the columns are listed by rows once, and again with every other H used."""

    #: means are taken out of the products
    constant = 1e-12

    def __init__(self, design: LocalSparse, keeps: bool) -> None:
        self.design, self.keeps = design, keeps
        self.rows: dict[bytes, Rows] = {}

    def is_cheap(self, count: int, size: int) -> bool:
        """One list of rows serves all columns, now and with other curvatures."""
        return self.keeps

    def forget(self) -> None:
        self.rows.clear()

    def fill(self, store: Array, columns: Array, left: Array, right: Array, weight: Array, means: Array | None) -> None:
        right_rows = self._list(columns, right)
        left_rows = right_rows if left is right else self._list(columns, left)
        filled = min(left_rows.filled, right_rows.filled, key=len)
        reached = right_rows.offsets[filled]
        for start in range(0, right.size, prices.PASSING):
            part = right[start : start + prices.PASSING]
            add_products(left, left_rows, part, right_rows, filled, reached, left is right, weight, store)
        if left is right:
            mirror_upper(left, store)
        if means is not None:
            mean, total = means[columns], float(weight.sum())
            store[np.ix_(left, right)] -= total * np.outer(mean[left], mean[right])

    def _list(self, columns: Array, positions: Array) -> Rows:
        """The entries of the columns at these positions, row by row."""
        key = positions.tobytes() if self.keeps else b""
        if key in self.rows:
            return self.rows[key]
        chosen, d = columns[positions], self.design.shape[0]
        stored = self.design.entries(chosen)
        offsets, filled = np.zeros(d + 2, dtype=np.int64), np.empty(min(d, stored) + 1, dtype=np.int64)
        rows = Rows(offsets, filled, np.empty(stored, dtype=np.uint32), np.empty(stored))
        rows = rows._replace(filled=filled[: list_rows(self.design.matrix, chosen, positions, rows)])
        if self.keeps:
            self.rows[key] = rows
        return rows


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
