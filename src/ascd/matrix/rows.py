"""Data that lie by rows, dense in C order or sparse (CSR), read in place.

Products with a vector are sums over rows, Σ_k v_k·a_k: all columns at once, one row after the other.  Threads share the
columns of dense rows.  A sparse row scatters its entries over all columns, so threads add up rows of their own, in a
fixed number of parts: sums do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ascd._core.checks import Array, finite_values
from ascd._core.jit import at, helper, kernel, wide
from ascd._core.threads import share
from ascd.matrix import costs
from ascd.matrix.base import ColumnStats, add_each, dots_of_each
from ascd.matrix.cached import CachedMatrix
from ascd.matrix.costs import TILE, TILE_ROWS
from ascd.matrix.dense import Dense, LocalDense
from ascd.matrix.sparse import CSC, LocalSparse

EVERYTHING = np.empty(0, dtype=np.int64)


class DenseRows(CachedMatrix):
    """A dense array in C order; no columns are cached where ``cache_bytes`` is 0."""

    def __init__(self, values: Array, cache_bytes: float | None = None) -> None:
        self.values, self.shape = values, values.shape
        room = max(costs.NEAR_FLOOR, costs.NEAR_SHARE * values.nbytes)
        self.cache_bytes = room if cache_bytes is None else cache_bytes

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes)

    def column_stats(self, weight: Any, vectors: Array) -> ColumnStats:
        self._count(None)
        sums = np.zeros((3 + len(vectors), self.shape[1]))
        share(2.0 * self.pass_cost(), self.shape[1], column_stats_of_rows, self.values, weight, vectors, sums)
        return stats_of(sums)

    def read_dots(self, columns: Array, vectors: Array) -> Array:
        if vectors.ndim == 2:
            return dots_of_each(self.read_dots, columns, vectors)
        self._count(columns)
        out = np.zeros(columns.size)
        share(self.pass_cost(columns), out.size, add_row_dots, self.values, self._listed(columns), vectors, out)
        return out

    def read_add(self, columns: Array, factors: Array, out: Array) -> None:
        if out.ndim == 2:
            add_each(self.read_add, columns, factors, out)
            return
        self._count(columns)
        share(self.pass_cost(columns), out.size, add_to_rows, self.values, self._listed(columns), factors, out)

    def fetch(self, columns: Array) -> LocalDense:
        self._count(columns)
        values = np.empty((self.shape[0], columns.size), order="F")
        for rows in self._row_pieces() if columns.size else ():
            some = self.values[rows]
            cost = costs.DENSE_ENTRY * columns.size * len(some)
            share(cost, columns.size, copy_columns, some, columns, values[rows])
        return LocalDense(Dense(values), values.shape)

    def check_finite(self) -> None:
        self._count(None)
        for rows in self._row_pieces():
            finite_values(self.values[rows], "A")

    def _listed(self, columns: Array) -> Array:
        """The columns as kernels take them: an empty array for all in their order, which are read faster."""
        are_all = columns.size == self.shape[1] and bool((np.diff(columns) == 1).all())
        return EVERYTHING if are_all else columns

    def _count(self, columns: Array | None) -> None:
        """Count what a pass reads: rows lie together, so each entry costs its cache line or page."""
        touched = self.nbytes if columns is None else self.shape[0] * columns.size * 64
        self.bytes_read += min(self.nbytes, touched)

    def _row_pieces(self) -> Iterator[slice]:
        """Rows of ``costs.BLOCK_BYTES`` at a time."""
        d = self.shape[0]
        step = max(1, costs.BLOCK_BYTES * d // max(self.nbytes, 1))
        return (slice(start, min(start + step, d)) for start in range(0, d, step))


class SparseRows(CachedMatrix):
    """Compressed sparse rows: data, indices and offsets (unsigned) as they lie."""

    is_sparse = True

    def __init__(self, data: Array, indices: Array, indptr: Array, shape: tuple[int, int]) -> None:
        self.data, self.indices, self.indptr, self.shape = data, indices, indptr, shape
        self.stored = (data, indices, indptr)
        self.cache_bytes = max(costs.NEAR_FLOOR, costs.NEAR_SHARE * self.nbytes)
        self._counts = np.zeros(shape[1], dtype=np.int64)
        count_columns(indices, self._counts)
        self.cost = costs.SPARSE_ENTRY * data.size
        self.parts = int(min(costs.SPARSE_PARTS, max(1, data.size // (8 * shape[1]))))

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.stored)

    @property
    def counts(self) -> Array:
        return self._counts

    def column_stats(self, weight: Any, vectors: Array) -> ColumnStats:
        self.bytes_read += self.nbytes
        sums = np.zeros((self.parts, 3 + len(vectors), self.shape[1]))
        share(self.cost, self.parts, column_stats_of_sparse_rows, *self.stored, weight, vectors, sums)
        return stats_of(sums.sum(axis=0))

    def read_dots(self, columns: Array, vectors: Array) -> Array:
        if vectors.ndim == 2:
            return dots_of_each(self.read_dots, columns, vectors)
        self.bytes_read += self.nbytes
        sums = np.zeros((self.parts, self.shape[1]))
        share(self.cost, self.parts, add_sparse_rows, *self.stored, vectors, sums)
        return np.asarray(sums.sum(axis=0)[columns])

    def read_add(self, columns: Array, factors: Array, out: Array) -> None:
        if out.ndim == 2:
            add_each(self.read_add, columns, factors, out)
            return
        self.bytes_read += self.nbytes
        x = np.zeros(self.shape[1])
        x[columns] = factors
        share(self.cost, out.size, multiply_sparse_rows, *self.stored, x, out)

    def fetch(self, columns: Array) -> LocalSparse:
        self.bytes_read += self.nbytes if columns.size else 0
        offsets = np.concatenate([[0], np.cumsum(self.counts[columns])])
        kind = self.indices.dtype
        data, rows = np.empty(offsets[-1]), np.empty(offsets[-1], dtype=kind)
        where = np.full(self.shape[1], -1, dtype=np.int64)
        where[columns] = np.arange(columns.size)
        if columns.size:
            pick_columns(*self.stored, where, offsets[:-1].copy(), data, rows)
        return LocalSparse(CSC(data, rows, offsets.astype(kind)), (self.shape[0], columns.size))

    def check_finite(self) -> None:
        finite_values(self.data, "A")


def stats_of(sums: Array) -> ColumnStats:
    """Return the sums of a first pass, one a row: Σ s·a², Σ a², Σ a, and products with vectors."""
    return ColumnStats(sums[0], sums[1], sums[2], sums[3:])


@kernel
def column_stats_of_rows(values: Array, weight: Any, vectors: Array, sums: Array, start: int, stop: int) -> None:
    """Few rows of few columns at a time, so that a second reading finds them in the cache."""
    d = values.shape[0]
    for row in range(0, d, TILE_ROWS):
        end = min(row + TILE_ROWS, d)
        for first in range(start, stop, TILE):
            last = min(first + TILE, stop)
            add_row_sums(values, weight, row, end, sums[0], sums[1], sums[2], first, last)
            for m in range(vectors.shape[0]):
                add_whole_rows(values[row:end], vectors[m, row:end], sums[3 + m], first, last)


@helper
def add_row_sums(
    values: Array, weight: Any, row: int, end: int, square: Array, plain: Array, total: Array, first: int, last: int
) -> None:
    """Σ s·a², Σ a² and Σ a of these columns, four rows at a time as in ``add_whole_rows``."""
    whole = end - (end - row) % 4
    for k in range(row, whole, 4):
        a, b, c, e = at(weight, k), at(weight, k + 1), at(weight, k + 2), at(weight, k + 3)
        for number in range(first, last):
            j = wide(number)
            p, q = np.float64(values[k, j]), np.float64(values[k + 1, j])
            r, s = np.float64(values[k + 2, j]), np.float64(values[k + 3, j])
            square[j] += (a * p * p + b * q * q) + (c * r * r + e * s * s)
            plain[j] += (p * p + q * q) + (r * r + s * s)
            total[j] += (p + q) + (r + s)
    for k in range(whole, end):
        for number in range(first, last):
            j = wide(number)
            entry = np.float64(values[k, j])
            square[j] += at(weight, k) * entry * entry
            plain[j] += entry * entry
            total[j] += entry


@kernel
def add_row_dots(values: Array, columns: Array, vector: Array, out: Array, start: int, stop: int) -> None:
    """out_i += Σ_k v_k·a_k,columns_i; without columns, all in their order.

    Few rows at a time: what is read next lies beside what was read.
    """
    d = values.shape[0]
    for row in range(0, d, TILE_ROWS):
        end = min(row + TILE_ROWS, d)
        for first in range(start, stop, TILE):
            last = min(first + TILE, stop)
            if columns.size == 0:
                add_whole_rows(values[row:end], vector[row:end], out, first, last)
            else:
                add_some_columns(values, columns, vector, out, row, end, first, last)


@helper
def add_some_columns(
    values: Array, columns: Array, vector: Array, out: Array, row: int, end: int, first: int, last: int
) -> None:
    for k in range(row, end):
        factor = vector[k]
        for number in range(first, last):
            i = wide(number)
            out[i] += factor * np.float64(values[k, wide(columns[i])])


@helper
def add_whole_rows(values: Array, vector: Array, out: Array, first: int, last: int) -> None:
    """Four rows at a time: the sums are read and written once for them."""
    d = values.shape[0]
    for k in range(0, d - d % 4, 4):
        a, b, c, e = vector[k], vector[k + 1], vector[k + 2], vector[k + 3]
        for number in range(first, last):
            j = wide(number)
            ahead = a * np.float64(values[k, j]) + b * np.float64(values[k + 1, j])
            out[j] += ahead + (c * np.float64(values[k + 2, j]) + e * np.float64(values[k + 3, j]))
    for k in range(d - d % 4, d):
        factor = vector[k]
        for number in range(first, last):
            j = wide(number)
            out[j] += factor * np.float64(values[k, j])


@kernel
def add_to_rows(values: Array, columns: Array, factors: Array, out: Array, start: int, stop: int) -> None:
    """out_k += Σ_i factors_i·a_k,columns_i."""
    for number in range(start, stop):
        k, total = wide(number), 0.0
        for i in range(factors.size):
            total += factors[i] * np.float64(values[k, i if columns.size == 0 else wide(columns[i])])
        out[k] += total


@kernel
def copy_columns(values: Array, columns: Array, out: Array, start: int, stop: int) -> None:
    for k in range(values.shape[0]):
        for number in range(start, stop):
            i = wide(number)
            out[k, i] = np.float64(values[k, wide(columns[i])])


@kernel
def count_columns(indices: Array, counts: Array) -> None:
    for p in range(indices.size):
        counts[wide(indices[p])] += 1


@kernel
def pick_columns(
    data: Array, indices: Array, indptr: Array, where: Array, reached: Array, picked: Array, rows: Array
) -> None:
    """The entries of columns that have a place, column by column; ``reached`` is where each goes on."""
    for k in range(indptr.size - 1):
        for p in range(indptr[k], indptr[k + 1]):
            place = where[wide(indices[p])]
            if place >= 0:
                picked[reached[place]] = np.float64(data[p])
                rows[reached[place]] = k
                reached[place] += 1


@kernel
def column_stats_of_sparse_rows(
    data: Array, indices: Array, indptr: Array, weight: Any, vectors: Array, sums: Array, start: int, stop: int
) -> None:
    d = indptr.size - 1
    for part in range(start, stop):
        for k in range(part * d // sums.shape[0], (part + 1) * d // sums.shape[0]):
            share_of = at(weight, k)
            for p in range(indptr[k], indptr[k + 1]):
                j, entry = wide(indices[p]), np.float64(data[p])
                sums[part, 0, j] += share_of * entry * entry
                sums[part, 1, j] += entry * entry
                sums[part, 2, j] += entry
                for m in range(vectors.shape[0]):
                    sums[part, 3 + m, j] += vectors[m, k] * entry


@kernel
def add_sparse_rows(
    data: Array, indices: Array, indptr: Array, vector: Array, sums: Array, start: int, stop: int
) -> None:
    d = indptr.size - 1
    for part in range(start, stop):
        for k in range(part * d // sums.shape[0], (part + 1) * d // sums.shape[0]):
            factor = vector[k]
            for p in range(indptr[k], indptr[k + 1]):
                sums[part, wide(indices[p])] += factor * np.float64(data[p])


@kernel
def multiply_sparse_rows(
    data: Array, indices: Array, indptr: Array, x: Array, out: Array, start: int, stop: int
) -> None:
    for k in range(start, stop):
        total = 0.0
        for p in range(indptr[k], indptr[k + 1]):
            total += np.float64(data[p]) * x[wide(indices[p])]
        out[k] += total
