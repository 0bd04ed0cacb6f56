"""Columns in the memory of this process: what all storages share, and dense columns of any type of number.

Sums are float64, products of dense columns with each other come from the linear algebra library.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ascd._core import contracts
from ascd._core.checks import Array
from ascd._core.jit import kernel, wide
from ascd._core.threads import share
from ascd.matrix import costs
from ascd.matrix.base import NOTHING, Matrix, Part
from ascd.matrix.columns import add_columns, add_to_several, fill_dots, fill_several
from ascd.matrix.costs import LEFT_BY_MEANS
from ascd.protocols import ColumnStorage


class Local(Matrix):
    """Columns in memory; ``matrix`` is their compiled storage, the library's or a user's.  Threads share every pass."""

    portion_bytes = math.inf

    def __init__(self, matrix: Any, shape: tuple[int, int]) -> None:
        self.matrix, self.shape = matrix, shape

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shape[0]} x {self.shape[1]}, {type(self.matrix).__name__})"

    @property
    def nbytes(self) -> int:
        return sum(field.nbytes for field in self.matrix if isinstance(field, np.ndarray))

    def dots(self, columns: Array, vectors: Array) -> Array:
        out = np.zeros((columns.size, *vectors.shape[1:]))
        fill, count = (fill_dots, 1) if out.ndim == 1 else (fill_several, out.shape[1])
        share(count * self.pass_cost(columns), columns.size, fill, self.matrix, columns, vectors, out)
        return out

    def add(self, columns: Array, factors: Array, out: Array) -> None:
        fill, count = (add_columns, 1) if out.ndim == 1 else (add_to_several, out.shape[1])
        share(count * self.pass_cost(columns), self.shape[0], fill, self.matrix, columns, factors, out)

    def take(self, columns: Array) -> Part:
        return Part(self.matrix, columns)

    def pass_cost(self, columns: Array | None = None) -> float:
        return entry_cost(self.matrix) * self.entries(columns)


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


def dense_products(
    source: Matrix, first: Array, second: Array, weight: Array, means: Array | None, kept: Any = None
) -> Array:
    """``products`` by blocks of rows, which are gathered, centred and weighted."""
    root, is_same, size = np.sqrt(weight), first is second, first.size
    columns = first if is_same else np.concatenate([first, second])
    (matrix, places), mean = source.take(columns), NOTHING if means is None else means[columns]
    block, step = np.zeros((size, second.size)), max(costs.ROWS, costs.BLOCK // (size + second.size))
    for start in range(0, root.size, step):
        rows = root[start : start + step]
        part = np.empty((columns.size, rows.size))
        share(costs.DENSE_ENTRY * part.size, len(part), gather_rows, matrix.values, places, start, rows, mean, part)
        left, right = part[:size], part[columns.size - second.size :]
        share(costs.DENSE_PRODUCT * left.size * len(right), size, add_strip, left, right, is_same, block)
    if is_same:
        share(costs.SPARSE_PRODUCT * block.size, size, centre_and_mirror, NOTHING, NOTHING, 0.0, True, block)
    return block


class LocalDense(Local):
    """A dense matrix in memory; ``matrix`` has ``values`` of its shape, which products are made of."""

    matrix: Dense
    products = dense_products

    def dots(self, columns: Array, vectors: Array) -> Array:
        if vectors.ndim == 1:
            return super().dots(columns, vectors)
        out = np.empty((columns.size, vectors.shape[1]))
        for there, part in self._runs(columns):
            out[there] = part.T @ vectors
        return out

    def add(self, columns: Array, factors: Array, out: Array) -> None:
        if out.ndim == 1:
            super().add(columns, factors, out)
            return
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


def check_design(design: Any, name: str) -> None:
    """Raise an error unless this is a matrix, and what it stores fits its shape; remember classes of the user's."""
    kind = type(getattr(design, "matrix", design)).__name__
    if not isinstance(design, Matrix):
        raise TypeError(f"{name}: {kind} must be a subclass of ascd.matrix.base.Matrix (of a storage: Local(A, shape))")
    if isinstance(design, Local):
        check_storage(design.matrix, design.shape, name)
    if isinstance(design, LocalDense) and np.shape(getattr(design.matrix, "values", ())) != design.shape:
        raise TypeError(f"{name}: LocalDense needs a storage with values of shape {design.shape}; Local takes {kind}")
    if not contracts.is_ours(type(design)) or contracts.users_classes(getattr(design, "matrix", None)):
        contracts.detours.add("users' classes")  # what is compiled for their columns is not stored


def check_storage(storage: Any, shape: tuple[int, int], name: str) -> None:
    """Raise an error unless the ends of a hundred columns fit the shape: compiled code checks no index."""
    contracts.check_methods(storage, ColumnStorage, f"{name}: a storage")
    for j in (*range(0, shape[1], 1 + shape[1] // 100), shape[1] - 1):
        try:
            start, stop = int(storage.start(j)), int(storage.stop(j))
            for p in (start, stop - 1) if start < stop else ():
                storage.entry(p, j)
                row = int(storage.row(p))
                if p < 0 or not 0 <= row < shape[0]:
                    raise IndexError(f"entry {p} is in row {row}")
        except IndexError as error:
            kind = type(storage).__name__
            raise ValueError(f"{name}: {kind} does not fit the shape {shape}: in column {j} {error}") from error


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
def centre_and_mirror(
    left: Array, right: Array, total: float, upper: bool, block: Array, start: int, stop: int
) -> None:
    """Take means from products (see ``sparse``), where there are some; where ``upper``, fill in the other triangle.

    What rounding leaves of a product is 0.
    """
    for b in range(start, stop):
        for a in range(b + 1 if upper else len(block)):
            found = block[a, b]
            if left.size:
                taken = total * (left[a] * right[b])
                rest = found - taken
                found = rest if abs(rest) > LEFT_BY_MEANS * abs(taken) else 0.0
                block[a, b] = found
            if upper:
                block[b, a] = found


def entry_cost(matrix: Any) -> float:
    """Return the nanoseconds to read one entry of a storage, by its methods or in an array; a sweep reads it twice."""
    return 0.5 * (costs.DENSE_ENTRY if hasattr(matrix, "values") else costs.SPARSE_ENTRY)
