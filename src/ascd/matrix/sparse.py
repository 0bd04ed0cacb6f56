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
from ascd.matrix.base import Matrix
from ascd.matrix.columns import first_at
from ascd.matrix.costs import LEFT_BY_MEANS
from ascd.matrix.dense import NOTHING, Local

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

    That is 32 bits wherever they are enough: one compiled form instead of one for each integer type.
    """
    is_short = max(columns.nnz, *columns.shape) < LARGEST_SHORT
    known, seen = (np.int32, np.uint32) if is_short else (np.int64, np.uint64)
    return columns.data, *(index.astype(known, copy=False).view(seen) for index in (columns.indices, columns.indptr))


def signed(data: Array, indices: Array, indptr: Array) -> tuple[Array, Array, Array]:
    """Return the arrays as SciPy takes them, on the same memory."""
    known = np.int32 if indices.itemsize == 4 else np.int64
    return data, indices.view(known), indptr.view(known)


def as_rows(matrix: CSC, d: int) -> tuple[Array, Array, Array]:
    """Return the row-wise copy (data, indices, indptr) of a sparse matrix, unsigned like its columns."""
    return unsigned(matrix.to_scipy(d, matrix.indptr.size - 1).tocsr())


class LocalSparse(Local):
    """Sparse columns in memory."""

    matrix: CSC
    is_sparse = True

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
        kept: dict[Any, Any] = {}
        size, store = entries.size, np.empty((m, m), order="F")
        gram = np.empty((size + ones * T,) * 2)
        listed = [np.flatnonzero(entries % T == t) for t in range(T)]
        taken = [entries[one] // T for one in listed]
        for t, other in combinations_with_replacement(range(T), 2):
            weight = (own[:, t] if t == other else 0.0) - shared[:, t] * shared[:, other]
            if taken[t].size and taken[other].size:
                self.fill_products(store, columns, taken[t], taken[other], weight, None, kept)
                part = store[np.ix_(taken[t], taken[other])]
                gram[np.ix_(listed[t], listed[other])] = part
                gram[np.ix_(listed[other], listed[t])] = part.T
            if ones:
                gram[size + t, size + other] = gram[size + other, size + t] = weight.sum()
                for row, column in ((t, other), (other, t)):
                    beside = self.dots(columns[taken[row]], weight)
                    gram[listed[row], size + column] = gram[size + column, listed[row]] = beside
        return gram

    def fill_products(self, *given: Any) -> None:
        fill_sparse(self, *given)


# ---- products of columns with each other


class RowLists(NamedTuple):
    """Entries of some columns, row by row: those of row k stand from offsets[k] to offsets[k + 1].

    ``filled`` lists the rows that have any; from each column its number in ``less`` is taken (s, see the top).
    """

    offsets: Array
    filled: Array
    name: Array
    number: Array
    less: Array


def fill_sparse(
    source: Matrix, store: Array, columns: Array, left: Array, right: Array, weight: Array, means: Array | None,
    kept: dict[Any, Any] | None = None,
) -> None:  # fmt: skip
    """``fill_products`` by rows; the entries are listed once for all curvatures where lists are ``kept``."""
    part, is_same, own = source.take(columns), left is right, None if means is None else means[columns]

    def listed(positions: Array) -> RowLists:
        key = own is None, positions.tobytes()
        found = None if kept is None else kept.get(key)
        if found is None:
            taken = None if own is None else own[positions]
            found = rows_of(part.matrix, part.places[positions], positions, source.shape[0], taken)
        if kept is not None:
            kept[key] = found
        return found

    right_rows = listed(right)
    left_rows = right_rows if is_same else listed(left)
    filled = min(left_rows.filled, right_rows.filled, key=len)
    cost = costs.SPARSE_PRODUCT * left_rows.name.size / max(1, filled.size) * right_rows.name.size
    share(cost, right.size, add_products, left, left_rows, right, right_rows, filled, is_same, weight, store)
    if own is None and not is_same:
        return
    less = [NOTHING] * 2 if own is None else [own[left] - left_rows.less, own[right] - right_rows.less]
    cost = costs.SPARSE_PRODUCT * left.size * right.size
    share(cost, right.size, centre_and_mirror, left, right, *less, float(weight.sum()), is_same, store)


@kernel
def centre_and_mirror(
    left: Array, right: Array, left_mean: Array, right_mean: Array, total: float, upper: bool, store: Array,
    start: int, stop: int,
) -> None:  # fmt: skip
    """Columns less their means, where there are some, as they are listed (see the top); where ``upper``, both sides.

    What rounding leaves of a product is 0.
    """
    for b in range(start, stop):
        i = right[b]
        for a in range(b + 1 if upper else left.size):
            found = store[left[a], i]
            if left_mean.size:
                taken = total * (left_mean[a] * right_mean[b])
                rest = found - taken
                found = rest if abs(rest) > LEFT_BY_MEANS * abs(taken) else 0.0
                store[left[a], i] = found
            if upper:
                store[i, left[a]] = found


@kernel
def add_products(
    left: Array, left_rows: RowLists, right: Array, right_rows: RowLists, filled: Array, upper: bool, weight: Array,
    out: Array, start: int, stop: int,
) -> None:  # fmt: skip
    """out[left, right] = A_leftᵀ H A_right, row by row: each adds the products of its entries.

    A thread has the right columns from ``start`` to ``stop``, and reads all rows, which ``filled`` lists.  Names rise
    in every row.  Where ``upper``, both are the same rows, and only entries up to the right one are multiplied.
    """
    lowest, highest = right[start], right[stop - 1]
    for i in right[start:stop]:
        for other in left:
            out[other, i] = 0.0
    for f in range(filled.size):
        k = wide(filled[f])
        first, last = wide(left_rows.offsets[k]), wide(left_rows.offsets[k + 1])
        for q in range(wide(right_rows.offsets[k]), wide(right_rows.offsets[k + 1])):
            i = right_rows.name[q]
            if i > highest:
                break
            if i >= lowest:
                factor = weight[k] * right_rows.number[q]
                for p in range(first, q + 1 if upper else last):
                    out[left_rows.name[p], i] += factor * left_rows.number[p]


def rows_of(matrix: Any, columns: Array, names: Array, d: int, means: Array | None) -> RowLists:
    """Return the entries of these columns row by row; ``names``, which rise, stand for the columns.

    Columns that are stored in every row are listed less their means.
    """
    counts = matrix.indptr[columns + 1] - matrix.indptr[columns]
    less = np.zeros(columns.size) if means is None else np.where(counts == d, means, 0.0)
    stored, offsets = int(counts.sum()), np.zeros(d + 1, dtype=np.int64)
    name, number = np.empty(stored, dtype=np.uint32), np.empty(stored)
    cost = 0.5 * costs.LISTED * stored
    share(cost, d, count_rows, matrix, columns, offsets)
    filled = np.flatnonzero(offsets[1:])
    offsets = np.cumsum(offsets) - offsets
    share(cost, d, list_rows, matrix, columns, names, less, offsets, name, number)
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
    matrix: Any, columns: Array, names: Array, less: Array, offsets: Array, name: Array, number: Array, start: int,
    stop: int,
) -> None:  # fmt: skip
    """The entries of some columns, row by row from ``start`` to ``stop``, in the order of the columns.

    Where a row begins stands one place further until its entries are listed; then it is the place where it ends.
    """
    for i in range(columns.size):
        j = wide(columns[i])
        p, end = first_at(matrix, j, start), wide(matrix.stop(j))
        while p < end and matrix.row(p) < stop:
            k = wide(matrix.row(p)) + 1
            name[offsets[k]] = names[i]
            number[offsets[k]] = matrix.entry(p, j) - less[i]
            offsets[k] += 1
            p += wide(1)
