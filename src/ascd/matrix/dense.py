"""Columns in the memory of this process: what all storages share, and dense columns of any type of number.

Sums are float64, products of dense columns with each other come from the linear algebra library.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ascd._core.checks import Array
from ascd._core.jit import kernel, wide
from ascd._core.threads import share
from ascd.matrix import costs
from ascd.matrix.base import ColumnStats, Matrix, Part
from ascd.matrix.columns import add_columns, add_to_several, fill_column_stats, fill_dots, fill_several

NOTHING = np.empty(0)


class Local(Matrix):
    """Columns in memory; ``matrix`` is their compiled storage, the library's or a user's.  Threads share every pass."""

    def __init__(self, matrix: Any, shape: tuple[int, int]) -> None:
        self.matrix, self.shape = matrix, shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shape[0]} x {self.shape[1]}, {type(self.matrix).__name__})"

    @property
    def nbytes(self) -> int:
        return sum(field.nbytes for field in self.matrix if isinstance(field, np.ndarray))

    def column_stats(self, weight: Any, vectors: Array) -> ColumnStats:
        (d, n), count = self.shape, len(vectors)
        vectors = vectors if count else np.zeros((1, d))
        square, plain, total = np.empty((3, n))
        products = np.empty((len(vectors), n))
        scale, weights = (float(weight), NOTHING) if np.ndim(weight) == 0 else (0.0, weight)
        given = self.matrix, scale, weights, vectors, square, plain, total, products
        share(self.pass_cost(), n, fill_column_stats, *given)
        return ColumnStats(square, plain, total, products[:count])

    def dots(self, columns: Array, vectors: Array) -> Array:
        if vectors.ndim == 2:
            return self.dots_with_several(columns, vectors)
        out = np.empty(columns.size)
        share(self.pass_cost(columns), columns.size, fill_dots, self.matrix, columns, vectors, out)
        return out

    def add(self, columns: Array, factors: Array, out: Array) -> None:
        if out.ndim == 2:
            self.add_several(columns, factors, out)
        else:
            share(self.pass_cost(columns), self.shape[0], add_columns, self.matrix, columns, factors, out)

    def dots_with_several(self, columns: Array, vectors: Array) -> Array:
        """Return ``dots`` for vectors of shape (n_samples, T)."""
        out = np.zeros((columns.size, vectors.shape[1]))
        cost = vectors.shape[1] * self.pass_cost(columns)
        share(cost, columns.size, fill_several, self.matrix, columns, vectors, out)
        return out

    def add_several(self, columns: Array, factors: Array, out: Array) -> None:
        """Do what ``add`` does for ``out`` of shape (n_samples, T)."""
        cost = out.shape[1] * self.pass_cost(columns)
        share(cost, self.shape[0], add_to_several, self.matrix, columns, factors, out)

    def take(self, columns: Array) -> Part:
        return Part(self.matrix, columns)


class Dense(NamedTuple):
    """Column-major storage of numbers of any type; what is read of them is float64."""

    values: Array

    def start(self, j: int) -> int:
        return 0

    def stop(self, j: int) -> int:
        return self.values.shape[0]

    def row(self, p: int) -> int:
        return p

    def entry(self, p: int, j: int) -> float:
        return np.float64(self.values[p, j])

    def stored(self) -> Array:
        """All entries."""
        return self.values

    def to_scipy(self, d: int, n: int) -> Array:
        """As an array of float64, on the same memory where it is that."""
        return self.values.astype(np.float64, copy=False)


class LocalDense(Local):
    """A dense matrix in memory; ``matrix`` has ``values`` of its shape, which products are made of."""

    matrix: Dense

    def dots_with_several(self, columns: Array, vectors: Array) -> Array:
        out = np.empty((columns.size, vectors.shape[1]))
        for there, part in self._runs(columns):
            out[there] = part.T @ vectors
        return out

    def add_several(self, columns: Array, factors: Array, out: Array) -> None:
        for there, part in self._runs(columns):
            out += part @ np.asfortranarray(factors[there])  # twice as fast where columns lie together

    def _runs(self, columns: Array) -> Iterator[tuple[slice, Array]]:
        """Some columns at a time: a view where they are neighbours, a copy where they are not."""
        step = max(1, costs.BLOCK // self.shape[0])
        for start in range(0, columns.size, step):
            there = slice(start, min(start + step, columns.size))
            chosen = columns[there]
            is_run = bool((np.diff(chosen) == 1).all())
            yield there, self.matrix.values[:, slice(chosen[0], chosen[-1] + 1) if is_run else chosen]

    def fill_products(self, *given: Any) -> None:
        fill_dense(self, *given)


def fill_dense(
    source: Matrix, store: Array, columns: Array, left: Array, right: Array, weight: Array, means: Array | None,
    kept: dict[Any, Any] | None = None,
) -> None:  # fmt: skip
    """``fill_products`` by blocks of rows, which are gathered, centred and weighted."""
    (matrix, places), root = source.take(columns), np.sqrt(weight)
    given = matrix.values, places, NOTHING if means is None else means[columns]
    block, step = np.zeros((left.size, right.size)), max(costs.ROWS, costs.BLOCK // (left.size + right.size))
    for start in range(0, root.size, step):
        rows = root[start : start + step]
        first = _gather(*given, start, rows, left)
        second = first if left is right else _gather(*given, start, rows, right)
        cost = costs.DENSE_PRODUCT * first.size * right.size
        share(cost, left.size, add_strip, first, second, left is right, block)
    place(block, left, right, left is right, store)


def _gather(values: Array, places: Array, means: Array, row: int, root: Array, chosen: Array) -> Array:
    """Weighted and centred rows from ``row`` on, a column a row."""
    part, mean = np.empty((chosen.size, root.size)), means[chosen] if means.size else NOTHING
    share(costs.DENSE_ENTRY * part.size, chosen.size, gather_rows, values, places[chosen], row, root, mean, part)
    return part


@kernel
def gather_rows(
    values: Array, columns: Array, row: int, root: Array, mean: Array, out: Array, start: int, stop: int
) -> None:
    first = wide(row)
    for number in range(start, stop):
        i = wide(number)
        j, less = wide(columns[i]), mean[i] if mean.size else 0.0
        for k in range(root.size):
            out[i, k] = root[k] * (values[first + wide(k), j] - less)


def add_strip(first: Array, second: Array, upper: bool, block: Array, start: int, stop: int) -> None:
    """block += first·secondᵀ on these rows; where ``upper``, a part of the rows is multiplied from its diagonal on."""
    there = start if upper else 0
    block[start:stop, there:] += first[start:stop] @ second[there:].T


@kernel
def place(block: Array, left: Array, right: Array, upper: bool, store: Array) -> None:
    """store[left, right] = block, of which only the upper triangle is known where ``upper``."""
    for b in range(right.size):
        for a in range(left.size):
            store[left[a], right[b]] = block[b, a] if upper and a > b else block[a, b]


def entry_cost(matrix: Any) -> float:
    """Return the nanoseconds to read one entry of a compiled storage; a sweep reads it twice."""
    return 0.5 * (costs.DENSE_ENTRY if isinstance(matrix, Dense) else costs.SPARSE_ENTRY)
