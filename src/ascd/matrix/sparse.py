"""Sparse columns in memory (CSC), and their products with each other.

The entries of the columns are listed by rows once (``rows_of``); then every row adds the products of its entries,
weighted by its curvature.  Each thread multiplies columns of its own, and reads all rows.

With means m, n of two columns, and any numbers s, t,

    Σ h·(a − m)·(b − n) = Σ h·(a − s)·(b − t) − Σh·(m − s)·(n − t).

A column that is stored in every row is listed less its mean, s = m, or that of the curvatures it was first listed for:
one that lies far from zero loses no digits then.  For the others s = 0, and what rounding leaves of a product is 0.
"""

from __future__ import annotations

from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array, unlocked
from ascd._core.jit import kernel, wide
from ascd._core.threads import share
from ascd.matrix import costs
from ascd.matrix.base import NOTHING, Matrix
from ascd.matrix.columns import first_at
from ascd.matrix.dense import Local, centre_and_mirror

#: A matrix whose sizes and offsets are all smaller has indices of 32 bits.
LARGEST_SHORT = 2**31 - 1


class CSC(NamedTuple):
    """Compressed sparse columns.

    Rows and offsets are unsigned: a signed index may count from the end, and a test for that at every access takes a
    third of the time of a sparse product.
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
        return np.float64(self.data[p])

    def stored(self) -> Array:
        """All entries that are stored."""
        return self.data

    def to_scipy(self, d: int, n: int) -> Any:
        """As a SciPy matrix of float64, on the same memory where it is that."""
        from scipy.sparse import csc_array

        return csc_array(signed(*self), shape=(d, n)).astype(np.float64, copy=False)


def unsigned(columns: Any) -> tuple[Array, Array, Array]:
    """Return data, indices and indptr of a SciPy matrix, on the same memory where their integers are of this width.

    That is 32 bits wherever they are enough: one compiled form instead of one for each integer type.  Booleans are read
    as bytes.
    """
    is_short = max(columns.nnz, *columns.shape) < LARGEST_SHORT
    known, seen = (np.int32, np.uint32) if is_short else (np.int64, np.uint64)
    data = columns.data.view(np.uint8) if columns.data.dtype == np.bool_ else columns.data
    return data, *(index.astype(known, copy=False).view(seen) for index in (columns.indices, columns.indptr))


def signed(data: Array, indices: Array, indptr: Array) -> tuple[Array, Array, Array]:
    """Return the arrays as SciPy takes them, on the same memory."""
    known = np.int32 if indices.itemsize == 4 else np.int64
    return data, indices.view(known), indptr.view(known)


def as_rows(matrix: CSC, d: int) -> tuple[Array, Array, Array]:
    """Return the row-wise copy (data, indices, indptr) of a sparse matrix, unsigned like its columns."""
    return unsigned(matrix.to_scipy(d, matrix.indptr.size - 1).tocsr())


class RowLists(NamedTuple):
    """Entries of some columns, row by row: those of row k stand from offsets[k] to offsets[k + 1].

    ``filled`` lists the rows that have any, ``name`` says which of the columns an entry is in; from each column its
    number in ``less`` is taken (s, see the top).
    """

    offsets: Array
    filled: Array
    name: Array
    number: Array
    less: Array


def sparse_products(
    source: Matrix, first: Array, second: Array, weight: Array, means: Array | None, kept: dict[Any, Any] | None = None
) -> Array:
    """``products`` by rows; the entries are listed once for all curvatures where lists are ``kept``."""
    is_same, kept = first is second, {} if kept is None else kept
    matrix, places = source.take(first if is_same else np.concatenate([first, second]))
    lists: list[RowLists] = []
    for columns, there in ((first, places[: first.size]), (second, places[places.size - second.size :])):
        key = means is None, columns.tobytes()
        if key not in kept:
            kept[key] = rows_of(matrix, there, source.shape[0], None if means is None else means[columns])
        lists.append(kept[key])
    left, right = lists
    filled, block = min(left.filled, right.filled, key=len), np.zeros((first.size, second.size), order="F")
    cost = costs.SPARSE_PRODUCT * left.name.size / max(1, filled.size) * right.name.size
    share(cost, second.size, add_products, left, right, filled, is_same, weight, block)
    if means is not None or is_same:
        less = [NOTHING] * 2 if means is None else [means[first] - left.less, means[second] - right.less]
        cost = costs.SPARSE_PRODUCT * block.size
        share(cost, second.size, centre_and_mirror, *less, float(weight.sum()), is_same, block)
    return block


class LocalSparse(Local):
    """Sparse columns in memory."""

    matrix: CSC
    is_sparse = True
    products = sparse_products

    @classmethod
    def of(cls, columns: Any) -> LocalSparse:
        """Wrap a SciPy CSC matrix without duplicates, on the same memory where its rows are sorted."""
        columns.sort_indices()
        return cls(CSC(*map(unlocked, unsigned(columns))), columns.shape)

    @cached_property
    def counts(self) -> Array:
        return np.diff(self.matrix.indptr).astype(np.int64)

    def coupled_gram(self, columns: Array, entries: Array, own: Array, shared: Array, ones: bool) -> Array:
        """By products for every pair of outputs, where that costs less than dense rows."""
        (d, m), T = (self.shape[0], columns.size), own.shape[1]
        if 0.5 * self.products_cost(m, self.entries(columns)) > costs.DENSE_PRODUCT * d * m * m:
            return super().coupled_gram(columns, entries, own, shared, ones)
        size, kept = entries.size, dict[Any, Any]()
        gram = np.empty((size + ones * T,) * 2)
        listed = [np.flatnonzero(entries % T == t) for t in range(T)]
        taken = [columns[entries[one] // T] for one in listed]
        for t, other in combinations_with_replacement(range(T), 2):
            weight = (own[:, t] if t == other else 0.0) - shared[:, t] * shared[:, other]
            if taken[t].size and taken[other].size:
                part = self.products(taken[t], taken[other], weight, None, kept)
                gram[np.ix_(listed[t], listed[other])] = part
                gram[np.ix_(listed[other], listed[t])] = part.T
            if ones:
                gram[size + t, size + other] = gram[size + other, size + t] = weight.sum()
                for row, column in ((t, other), (other, t)):
                    beside = self.dots(taken[row], weight)
                    gram[listed[row], size + column] = gram[size + column, listed[row]] = beside
        return gram


# ---- loops of products


@kernel
def add_products(
    left: RowLists, right: RowLists, filled: Array, upper: bool, weight: Array, out: Array, start: int, stop: int
) -> None:
    """out += A_leftᵀ H A_right, row by row: each adds the products of its entries.

    A thread has the right columns from ``start`` to ``stop``, and reads all rows, which ``filled`` lists.  Names rise
    in every row.  Where ``upper``, both are the same rows, and only entries up to the right one are multiplied.
    """
    for f in range(filled.size):
        k = wide(filled[f])
        first, last = wide(left.offsets[k]), wide(left.offsets[k + 1])
        for q in range(wide(right.offsets[k]), wide(right.offsets[k + 1])):
            i = right.name[q]
            if i >= stop:
                break
            if i >= start:
                factor = weight[k] * right.number[q]
                for p in range(first, q + 1 if upper else last):
                    out[left.name[p], i] += factor * left.number[p]


def rows_of(matrix: Any, columns: Array, d: int, means: Array | None) -> RowLists:
    """Return the entries of these columns row by row; columns stored in every row are listed less their means."""
    if isinstance(matrix, CSC):
        counts = matrix.indptr[columns + 1] - matrix.indptr[columns]
    else:
        counts = np.array([matrix.stop(j) - matrix.start(j) for j in columns.tolist()], dtype=np.int64)
    less = np.zeros(columns.size) if means is None else np.where(counts == d, means, 0.0)
    stored, offsets = int(counts.sum()), np.zeros(d + 1, dtype=np.int64)
    name, number = np.empty(stored, dtype=np.uint32), np.empty(stored)
    cost = 0.5 * costs.LISTED * stored
    share(cost, d, count_rows, matrix, columns, offsets)
    filled = np.flatnonzero(offsets[1:])
    offsets = np.cumsum(offsets) - offsets
    share(cost, d, list_rows, matrix, columns, less, offsets, name, number)
    return RowLists(offsets, filled, name, number, less)


@kernel
def count_rows(matrix: Any, columns: Array, offsets: Array, start: int, stop: int) -> None:
    """Count the entries of some columns in the rows from ``start`` to ``stop``, each one place further."""
    for i in range(columns.size):
        j = wide(columns[i])
        p, end = first_at(matrix, j, start), wide(matrix.stop(j))
        while p < end and matrix.row(p) < stop:
            offsets[wide(matrix.row(p)) + 1] += 1
            p += wide(1)


@kernel
def list_rows(
    matrix: Any, columns: Array, less: Array, offsets: Array, name: Array, number: Array, start: int, stop: int
) -> None:
    """The entries of some columns, row by row from ``start`` to ``stop``, in the order of the columns.

    Where a row begins stands one place further until its entries are listed; then it is the place where it ends.
    """
    for i in range(columns.size):
        j = wide(columns[i])
        p, end = first_at(matrix, j, start), wide(matrix.stop(j))
        while p < end and matrix.row(p) < stop:
            k = wide(matrix.row(p)) + 1
            name[offsets[k]] = i
            number[offsets[k]] = matrix.entry(p, j) - less[i]
            offsets[k] += 1
            p += wide(1)
