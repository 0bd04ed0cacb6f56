"""A matrix in the memory of this process; what depends on the storage is left to ``dense`` and ``sparse``."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from ascd._core.checks import Array, finite_values
from ascd._core.threads import share
from ascd.matrix import prices
from ascd.matrix.arithmetic import careful_products
from ascd.matrix.base import ColumnStats, Matrix, Part
from ascd.matrix.columns import add_columns, fill_column_stats, fill_dots, fill_squares

NO_WEIGHTS = np.empty(0)


class Local(Matrix):
    """Columns in memory; ``matrix`` is their compiled storage.  Threads share every pass."""

    def __init__(self, matrix: Any, shape: tuple[int, int]) -> None:
        self.matrix, self.shape = matrix, shape

    @abstractmethod
    def beside(self, other: Any) -> Local:
        """Return these columns followed by those of another matrix of this kind."""

    @abstractmethod
    def running_entries(self, columns: Array | None) -> Array | None:
        """Return the cumulated numbers of stored entries of these columns; None where all have the same number."""

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.matrix)

    def pass_price(self, columns: Array | None = None) -> float:
        """Return the nanoseconds to read these columns (all) once."""
        return prices.reading(self.is_sparse, self.entries(columns))

    def price_of_products(self, count: int, stored: int) -> float:
        """Return the nanoseconds of the products of all pairs of so many columns with so many entries."""
        return prices.products(self.is_sparse, count, stored, self.shape[0])

    def column_stats(self, weight: Any, vectors: Array) -> ColumnStats:
        n = self.shape[1]
        square, plain, total = np.empty((3, n))
        products = np.empty((len(vectors), n))
        scale, weights = (float(weight), NO_WEIGHTS) if np.ndim(weight) == 0 else (0.0, weight)
        self._share(None, fill_column_stats, self.matrix, scale, weights, vectors, square, plain, total, products)
        return ColumnStats(square, plain, total, products)

    def squares(self, weight: Any, columns: Array) -> Array:
        out = np.empty(columns.size)
        self._share(columns, fill_squares, self.matrix, columns, weight, out)
        return out

    def dots(self, columns: Array, vector: Array) -> Array:
        out = np.empty(columns.size)
        self._share(columns, fill_dots, self.matrix, columns, vector, out)
        return out

    def careful_dots(self, columns: Array, vector: Array) -> tuple[Array, Array]:
        product, error = np.empty((2, columns.size))
        self._share(columns, careful_products, self.matrix, columns, vector, product, error)
        return product, error

    def add(self, columns: Array, factors: Array, out: Array) -> None:
        share(self.pass_price(columns), self.shape[0], add_columns, self.matrix, columns, factors, out)

    def take(self, columns: Array) -> Part:
        return Part(self.matrix, columns)

    def in_memory(self) -> Local:
        return self

    def check_finite(self) -> None:
        finite_values(self.matrix.stored(), "A")

    def _share(self, columns: Array | None, kernel: Any, *arguments: Any) -> None:
        """Share a pass over these columns (all) among threads, in parts with equally many entries."""
        size = self.shape[1] if columns is None else columns.size
        price = self.pass_price(columns)
        share(price, size, kernel, *arguments, weigh=lambda: self.running_entries(columns))
