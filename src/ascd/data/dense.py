"""Dense storage: column-major float64, products by the linear algebra library."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ascd._base.checks import Array
from ascd._base.jit import kernel
from ascd.data import prices
from ascd.data.local import Local


class Dense(NamedTuple):
    """Column-major float64 storage."""

    values: Array

    def start(self, j: int) -> int:
        return 0

    def stop(self, j: int) -> int:
        return self.values.shape[0]

    def row(self, p: int) -> int:
        return p

    def entry(self, p: int, j: int) -> float:
        return self.values[p, j]

    def ahead(self, j: int) -> None:
        """Columns are long: the machine sees by itself what comes next."""

    def stored(self) -> Array:
        """All entries."""
        return self.values

    def to_scipy(self, d: int, n: int) -> Array:
        """As libraries take it, on the same memory."""
        return self.values


class LocalDense(Local):
    """A dense matrix in memory."""

    matrix: Dense

    def entries(self, columns: Array | None = None) -> int:
        return self.shape[0] * (self.shape[1] if columns is None else columns.size)

    def sweep_price(self, columns: Array) -> float:
        return prices.DENSE_ENTRY * self.entries(columns) + prices.VISIT * columns.size

    def products_price(self, columns: Array) -> float:
        return prices.DENSE_PRODUCT * columns.size * self.entries(columns) + prices.CALLS

    def multiplier(self, keeps: bool) -> DenseMultiplier:
        return DenseMultiplier(self.matrix.values, keeps)


class DenseMultiplier:
    """Products by blocks of rows, gathered, centred and weighted."""

    #: means are taken from the entries themselves
    constant = 1e-24

    def __init__(self, values: Array, keeps: bool) -> None:
        self.transposed, self.keeps = values.T, keeps

    def is_cheap(self, count: int, size: int) -> bool:
        return self.keeps or count * size * self.transposed.shape[1] <= prices.CHEAP

    def forget(self) -> None:
        """Nothing is kept."""

    def fill(self, store: Array, columns: Array, left: Array, right: Array, weight: Array, means: Array | None) -> None:
        root = np.sqrt(weight)
        block = np.zeros((left.size, right.size), order="F")
        step = max(64, prices.BLOCK // (left.size + right.size))
        for start in range(0, root.size, step):
            there = slice(start, start + step)
            first = self._gather(columns[left], there, root, means)
            second = first if left is right else self._gather(columns[right], there, root, means)
            block += first @ second.T
        place(block, left, right, store)

    def _gather(self, columns: Array, there: slice, root: Array, means: Array | None) -> Array:
        part: Array = self.transposed[columns, there].astype(np.float64, copy=False)
        if means is not None:
            part -= means[columns, None]
        part *= root[there]
        return part


@kernel
def place(block: Array, left: Array, right: Array, store: Array) -> None:
    """store[left, right] = block."""
    for b in range(right.size):
        for a in range(left.size):
            store[left[a], right[b]] = block[a, b]
