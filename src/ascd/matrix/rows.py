"""Data that lie by rows, dense in C order or sparse (CSR), read in place: products are sums over rows, Σ_k v_k·a_k.

Threads share the columns, so sums do not depend on their number.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ascd._core.checks import Array
from ascd._core.jit import helper, kernel, wide
from ascd._core.threads import share
from ascd.matrix import costs
from ascd.matrix.base import ColumnStats
from ascd.matrix.cached import CachedMatrix
from ascd.matrix.costs import TILE, TILE_ROWS
from ascd.matrix.dense import Dense, LocalDense
from ascd.matrix.sparse import CSC, LocalSparse, count_rows, signed


class Rows(CachedMatrix):
    """Rows as they lie, ``turned``: they are the columns of Aᵀ.  No column is cached where ``cache_bytes`` is 0."""

    def __init__(self, turned: Any, cache_bytes: float | None = None) -> None:
        self.turned, self.shape, self.every = turned, turned.shape[::-1], np.arange(turned.shape[1])
        room = max(costs.NEAR_FLOOR, costs.NEAR_SHARE * turned.nbytes)
        self.cache_bytes = room if cache_bytes is None else cache_bytes

    @property
    def nbytes(self) -> int:
        return int(self.turned.nbytes)

    def read_dots(self, columns: Array, vectors: Array) -> Array:
        return self._dots(vectors)[columns]

    def _dots(self, vectors: Array) -> Array:
        """Aᵀ·vectors."""
        self.bytes_read += self.nbytes
        out = np.zeros((self.shape[1], *vectors.shape[1:]))
        self.turned.add(self.every, vectors, out)
        return out

    def read_add(self, columns: Array, factors: Array, out: Array) -> None:
        self.bytes_read += self.nbytes
        x = np.zeros((self.shape[1], *factors.shape[1:]))
        x[columns] = factors
        out += self.turned.dots(self.every, x)


class DenseRows(Rows):
    """A dense array in C order, of which a pass reads all."""

    def __init__(self, values: Array, cache_bytes: float | None = None) -> None:
        super().__init__(LocalDense(Dense(values.T), values.shape[::-1]), cache_bytes)
        self.values = values

    def column_stats(self, weight: Any, vectors: Array) -> ColumnStats:
        ones, count = np.ones(self.shape[0]), len(vectors)
        weights = [] if np.ndim(weight) == 0 else [weight]
        sums = self._sums(np.stack([*vectors, ones, ones, *weights]), count + 1)
        total, plain, *square = sums[count:]
        return ColumnStats(square[0] if weights else weight * plain, plain, total, sums[:count])

    def _dots(self, vectors: Array) -> Array:
        rows = np.ascontiguousarray(vectors.reshape(self.shape[0], -1).T)
        return self._sums(rows, len(rows)).T.reshape(-1, *vectors.shape[1:])

    def _sums(self, vectors: Array, squared: int) -> Array:
        """vectors·A; of the last ones, from number ``squared`` on, with the squares of the entries."""
        self.bytes_read += self.nbytes
        out = np.zeros((len(vectors), self.shape[1]))
        share(len(out) * self.pass_cost(), self.shape[1], sum_rows, self.values, vectors, squared, out)
        return out

    def fetch(self, columns: Array) -> LocalDense:
        self.bytes_read += min(self.nbytes, self.shape[0] * columns.size * 64)  # an entry costs its cache line or page
        values = np.empty((self.shape[0], columns.size), order="F")
        share(costs.DENSE_ENTRY * values.size, len(values), copy_columns, self.values, columns, values)
        return LocalDense(Dense(values), values.shape)


class SparseRows(Rows):
    """Compressed sparse rows."""

    is_sparse = True

    @cached_property
    def counts(self) -> Array:
        found = np.zeros(self.shape[1] + 1, dtype=np.int64)
        share(self.turned.pass_cost(), self.shape[1], count_rows, self.turned.matrix, self.every, found)
        return found[1:]

    def column_stats(self, weight: Any, vectors: Array) -> ColumnStats:
        (d, n), (data, indices, ends) = self.shape, self.turned.matrix
        ones, squares = np.ones(d), np.zeros((n, 2))
        sums, weights = self._dots(np.column_stack([ones, *vectors])), np.column_stack([weight * ones, ones])
        step = max(1, int(costs.BLOCK * d // max(1, data.size)))
        for rows in (slice(start, min(start + step, d)) for start in range(0, d, step)):
            here = slice(ends[rows.start], ends[rows.stop])
            entries, offsets = data[here].astype(np.float64), ends[rows.start : rows.stop + 1] - ends[rows.start]
            some = LocalSparse(CSC(entries * entries, indices[here], offsets), (n, offsets.size - 1))
            some.add(self.every[: offsets.size - 1], weights[rows], squares)
        return ColumnStats(squares[:, 0].copy(), squares[:, 1].copy(), sums[:, 0].copy(), sums[:, 1:].T.copy())

    def fetch(self, columns: Array) -> LocalSparse:
        self.bytes_read += self.nbytes if columns.size else 0
        rows = csr_array(signed(*self.turned.matrix), shape=self.shape)
        return LocalSparse.of(rows[:, columns].tocsc().astype(np.float64))


@kernel
def sum_rows(values: Array, vectors: Array, squared: int, out: Array, start: int, stop: int) -> None:
    """out += vectors·A, and of the last vectors, from number ``squared`` on, with the squares of the entries.

    Few rows of few columns at a time, so that a second reading finds them in the cache.
    """
    d = values.shape[0]
    for row in range(0, d, TILE_ROWS):
        end = min(row + TILE_ROWS, d)
        for first in range(start, stop, TILE):
            last = min(first + TILE, stop)
            for m in range(vectors.shape[0]):
                add_whole_rows(values, vectors[m], m >= squared, row, end, out[m], first, last)


@helper
def add_whole_rows(
    values: Array, vector: Array, is_squared: bool, row: int, end: int, out: Array, first: int, last: int
) -> None:
    """Four rows at a time, the last ones with factors of 0: the sums are read and written once for them."""
    for k in range(row, end, 4):
        k1, k2, k3 = min(k + 1, end - 1), min(k + 2, end - 1), min(k + 3, end - 1)
        v0, v1 = vector[k], vector[k1] if k1 > k else 0.0
        v2, v3 = vector[k2] if k2 > k1 else 0.0, vector[k3] if k3 > k2 else 0.0
        for number in range(first, last):
            j = wide(number)
            a, b = np.float64(values[k, j]), np.float64(values[k1, j])
            c, e = np.float64(values[k2, j]), np.float64(values[k3, j])
            if is_squared:
                a, b, c, e = a * a, b * b, c * c, e * e
            ahead = v0 * a + v1 * b
            out[j] += ahead + (v2 * c + v3 * e)


@kernel
def copy_columns(values: Array, columns: Array, out: Array, start: int, stop: int) -> None:
    for number in range(start, stop):
        k = wide(number)
        for i in range(columns.size):
            out[k, i] = values[k, wide(columns[i])]
