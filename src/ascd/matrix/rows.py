"""Data that lie by rows, dense in C order or sparse (CSR), read in place.

Products with a vector are sums over rows, Σ_k v_k·a_k: all columns at once, one row after the other.  Threads share the
columns of dense rows.  A sparse row scatters its entries over all columns, so threads add up rows of their own, in a
fixed number of parts: sums do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from ascd._core.checks import Array, finite_values
from ascd._core.jit import at, helper, kernel, wide
from ascd._core.threads import share
from ascd.matrix import costs
from ascd.matrix.base import ColumnStats
from ascd.matrix.cached import CachedMatrix
from ascd.matrix.costs import TILE, TILE_ROWS
from ascd.matrix.dense import Dense, LocalDense
from ascd.matrix.sparse import LocalSparse, signed


class DenseRows(CachedMatrix):
    """A dense array in C order, of which a pass reads all; no columns are cached where ``cache_bytes`` is 0."""

    def __init__(self, values: Array, cache_bytes: float | None = None) -> None:
        self.values, self.shape = values, values.shape
        room = max(costs.NEAR_FLOOR, costs.NEAR_SHARE * values.nbytes)
        self.cache_bytes = room if cache_bytes is None else cache_bytes

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes)

    def column_stats(self, weight: Any, vectors: Array) -> ColumnStats:
        self.bytes_read += self.nbytes
        sums = np.zeros((3 + len(vectors), self.shape[1]))
        share(2.0 * self.pass_cost(), self.shape[1], column_stats_of_rows, self.values, weight, vectors, sums)
        return ColumnStats(sums[0], sums[1], sums[2], sums[3:])

    def read_dots(self, columns: Array, vectors: Array) -> Array:
        self.bytes_read += self.nbytes
        out = np.zeros((self.shape[1], *vectors.shape[1:]))
        if vectors.ndim == 1:
            share(self.pass_cost(), len(out), add_row_dots, self.values, vectors, out)
        else:
            for rows, there, tile in self._tiles():
                out[there] += tile.T @ vectors[rows]
        return out[columns]

    def read_add(self, columns: Array, factors: Array, out: Array) -> None:
        self.bytes_read += self.nbytes
        x = np.zeros((self.shape[1], *factors.shape[1:]))
        x[columns] = factors
        if out.ndim == 1:
            share(self.pass_cost(), len(out), add_to_rows, self.values, x, out)
        else:
            for rows, there, tile in self._tiles():
                out[rows] += tile @ x[there]

    def fetch(self, columns: Array) -> LocalDense:
        self.bytes_read += min(self.nbytes, self.shape[0] * columns.size * 64)  # an entry costs its cache line or page
        values = np.empty((self.shape[0], columns.size), order="F")
        for rows in self._row_pieces() if columns.size else ():
            some = self.values[rows]
            cost = costs.DENSE_ENTRY * columns.size * len(some)
            share(cost, columns.size, copy_columns, some, columns, values[rows])
        return LocalDense(Dense(values), values.shape)

    def check_finite(self) -> None:
        self.bytes_read += self.nbytes
        for rows in self._row_pieces():
            finite_values(self.values[rows], "A")

    def _row_pieces(self) -> Iterator[slice]:
        """Rows of ``costs.BLOCK_BYTES`` at a time."""
        d = self.shape[0]
        step = max(1, costs.BLOCK_BYTES * d // max(self.nbytes, 1))
        return (slice(start, min(start + step, d)) for start in range(0, d, step))

    def _tiles(self) -> Iterator[tuple[slice, slice, Array]]:
        """Rows, columns and the entries there in float64, 2 MiB of them: a core's cache."""
        (d, n), tall, wide_ = self.shape, 256, 1024
        for top, left in product(range(0, d, tall), range(0, n, wide_)):
            rows, there = slice(top, top + tall), slice(left, left + wide_)
            yield rows, there, self.values[rows, there].astype(np.float64, copy=False)


class SparseRows(CachedMatrix):
    """Compressed sparse rows: data, indices and offsets (unsigned) as they lie."""

    is_sparse = True

    def __init__(self, data: Array, indices: Array, indptr: Array, shape: tuple[int, int]) -> None:
        self.data, self.stored, self.shape = data, (data, indices, indptr), shape
        self.cache_bytes = max(costs.NEAR_FLOOR, costs.NEAR_SHARE * self.nbytes)
        pieces = (indices[start : start + costs.BLOCK] for start in range(0, data.size, costs.BLOCK))
        self._counts = sum((np.bincount(one, minlength=shape[1]) for one in pieces), np.zeros(shape[1], dtype=np.int64))
        self.parts = int(min(costs.SPARSE_PARTS, max(1, data.size // (8 * shape[1]))))

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.stored)

    @property
    def counts(self) -> Array:
        return self._counts

    def column_stats(self, weight: Any, vectors: Array) -> ColumnStats:
        ones = np.ones(self.shape[0])
        square, plain = self._summed(np.stack([weight * ones, ones], axis=1), True).T
        total, *products = self._summed(np.vstack([ones, vectors]).T, False).T
        return ColumnStats(square, plain, total, np.array(products).reshape(len(vectors), self.shape[1]))

    def read_dots(self, columns: Array, vectors: Array) -> Array:
        several = vectors.reshape(self.shape[0], -1)
        return self._summed(several, False)[columns].reshape(-1, *vectors.shape[1:])

    def _summed(self, vectors: Array, squared: bool) -> Array:
        """Σ_k v_k·a_k for vectors of shape (n_samples, T), or of the squares of the entries; shape (n_features, T)."""
        self.bytes_read += self.nbytes
        vectors, cost = np.ascontiguousarray(vectors), costs.SPARSE_ENTRY * self.data.size * vectors.shape[1]
        sums = np.zeros((self.parts, self.shape[1], vectors.shape[1]))
        share(cost, self.parts, add_sparse_rows, *self.stored, vectors, squared, sums)
        return np.asarray(sums.sum(axis=0))

    def read_add(self, columns: Array, factors: Array, out: Array) -> None:
        self.bytes_read += self.nbytes
        x = np.zeros((self.shape[1], *factors.shape[1:]))
        x[columns] = factors
        given = x.reshape(len(x), -1), out.reshape(len(out), -1)
        share(costs.SPARSE_ENTRY * self.data.size, len(out), multiply_sparse_rows, *self.stored, *given)

    def fetch(self, columns: Array) -> LocalSparse:
        from scipy.sparse import csr_array

        self.bytes_read += self.nbytes if columns.size else 0
        return LocalSparse.of(csr_array(signed(*self.stored), shape=self.shape)[:, columns].tocsc().astype(np.float64))

    def check_finite(self) -> None:
        finite_values(self.data, "A")


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
def add_row_dots(values: Array, vector: Array, out: Array, start: int, stop: int) -> None:
    """out_j += Σ_k v_k·a_kj, few rows at a time: what is read next lies beside what was read."""
    d = values.shape[0]
    for row in range(0, d, TILE_ROWS):
        end = min(row + TILE_ROWS, d)
        for first in range(start, stop, TILE):
            add_whole_rows(values[row:end], vector[row:end], out, first, min(first + TILE, stop))


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
def add_to_rows(values: Array, x: Array, out: Array, start: int, stop: int) -> None:
    """out_k += Σ_j a_kj·x_j."""
    for number in range(start, stop):
        k, total = wide(number), 0.0
        for j in range(x.size):
            total += x[j] * np.float64(values[k, j])
        out[k] += total


def copy_columns(values: Array, columns: Array, out: Array, start: int, stop: int) -> None:
    """Copy some of the columns."""
    out[:, start:stop] = np.take(values, columns[start:stop], axis=1)


@kernel
def add_sparse_rows(
    data: Array, indices: Array, indptr: Array, vectors: Array, squared: bool, sums: Array, start: int, stop: int
) -> None:
    """Σ_k v_k·a_k, or of the squares of the entries, over the rows of each part."""
    d = indptr.size - 1
    for part in range(start, stop):
        for k in range(part * d // sums.shape[0], (part + 1) * d // sums.shape[0]):
            for p in range(indptr[k], indptr[k + 1]):
                j, entry = wide(indices[p]), np.float64(data[p])
                entry = entry * entry if squared else entry
                sums[part, j, 0] += vectors[k, 0] * entry
                for t in range(1, vectors.shape[1]):
                    sums[part, j, t] += vectors[k, t] * entry


@kernel
def multiply_sparse_rows(
    data: Array, indices: Array, indptr: Array, x: Array, out: Array, start: int, stop: int
) -> None:
    for k in range(start, stop):
        first = 0.0
        for p in range(indptr[k], indptr[k + 1]):
            j, entry = wide(indices[p]), np.float64(data[p])
            first += entry * x[j, 0]
            for t in range(1, x.shape[1]):
                out[k, t] += entry * x[j, t]
        out[k, 0] += first
